# Capture files to packets: pcap and pcapng, one record after the other, out of whatever bytes are there.

cdef enum:
    FILE_UNKNOWN
    FILE_PCAP
    FILE_PCAPNG

# What looking for the next packet came to.
cdef enum:
    FILE_MORE               # bytes are missing
    FILE_PACKET
    FILE_SKIPPED            # something else was skipped
    FILE_SECRETS            # a key log of TLS: `data` and `have` of the packet
    FILE_BAD = -3           # what is here is no record
    FILE_FOREIGN = -4       # the file is no capture

cdef enum:
    RECORD_LIMIT = 1 << 26          # bytes of a packet or block, at most: more is damage
    INTERFACE_LIMIT = 1 << 16
    SECRETS_TLS = 0x544C534B        # a key log, in a decryption secrets block

cdef int64_t LATEST_SECOND = 9000000000     # that int64 nanoseconds reach, but a little
cdef int64_t NO_TIME = -0x7FFFFFFFFFFFFFFF

cdef struct CapInterface:
    uint32_t link
    uint32_t snap           # bytes, 0 for no limit
    uint8_t resolution      # if_tsresol, as in the file
    int64_t offset          # seconds

cdef struct CapFile:
    int format
    bint big                # byte order of the file or section
    bint nano
    uint32_t link
    Block interfaces        # CapInterface
    size_t n_interfaces
    uint32_t limit          # bytes of a packet or block, 0 for RECORD_LIMIT
    uint64_t at             # offset in the file of the next byte to look at
    uint64_t skip           # bytes to skip yet
    uint64_t packets

cdef struct CapPacket:
    const uint8_t* data
    uint32_t have           # bytes captured
    uint32_t wire           # bytes there were, at least those captured
    uint32_t link
    int64_t time            # ns since 1970 UTC, or NO_TIME
    uint64_t number         # from 1
    uint64_t at             # offset of the record in the file


cdef inline uint16_t file16(const CapFile* f, const uint8_t* p) noexcept nogil:
    return load16(p) if f.big else <uint16_t>(p[0] | p[1] << 8)


cdef inline uint32_t file32(const CapFile* f, const uint8_t* p) noexcept nogil:
    if f.big:
        return load32(p)
    return <uint32_t>p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24


cdef int64_t ticks_to_ns(uint64_t ticks, uint8_t resolution, int64_t offset) noexcept nogil:
    """Nanoseconds since 1970. resolution: a power of 10, or with the upper bit set of 2."""
    cdef uint64_t seconds, part, unit = 1
    cdef int i, k = resolution & 0x7F
    if resolution & 0x80:
        if k > 63:
            return NO_TIME
        seconds = ticks >> k
        part = ticks & ((<uint64_t>1 << k) - 1)
        if k > 32:      # in two halves, so that nothing is lost
            part = ((part >> 32) * 1000000000 + ((part & MAX_U32) * 1000000000 >> 32)) >> (k - 32)
        else:
            part = part * 1000000000 >> k
    else:
        if k > 19:
            return NO_TIME
        for i in range(k):
            unit *= 10
        seconds = ticks // unit
        part = ticks % unit
        for i in range(k, 9):
            part *= 10
        for i in range(9, k):
            part //= 10
    if (seconds > <uint64_t>LATEST_SECOND or offset > LATEST_SECOND or offset < -LATEST_SECOND
            or <int64_t>seconds + offset > LATEST_SECOND):
        return NO_TIME
    return (<int64_t>seconds + offset) * 1000000000 + <int64_t>part


cdef int begin_file(CapFile* f, const uint8_t* p, size_t n, size_t* used) noexcept nogil:
    cdef uint32_t magic
    if n < 4:
        return FILE_MORE
    magic = load32(p)
    if magic == 0x0A0D0D0A:
        f.format = FILE_PCAPNG
        used[0] = 0
        return FILE_SKIPPED
    f.big = magic == <uint32_t>0xA1B2C3D4 or magic == <uint32_t>0xA1B23C4D
    f.nano = magic == <uint32_t>0xA1B23C4D or magic == <uint32_t>0x4D3CB2A1
    if not f.big and magic != <uint32_t>0xD4C3B2A1 and magic != <uint32_t>0x4D3CB2A1:
        return FILE_FOREIGN
    if n < 24:
        return FILE_MORE
    # The upper bits tell of a frame check sequence after each packet.
    f.link = file32(f, p + 20) & 0x0FFFFFFF
    f.format = FILE_PCAP
    used[0] = 24
    return FILE_SKIPPED


cdef inline uint32_t record_limit(const CapFile* f) noexcept nogil:
    return f.limit if f.limit else <uint32_t>RECORD_LIMIT


cdef int next_pcap(CapFile* f, const uint8_t* p, size_t n, CapPacket* out, size_t* used) noexcept nogil:
    cdef uint32_t have
    if n < 16:
        return FILE_MORE
    have = file32(f, p + 8)
    if have > record_limit(f):
        return FILE_BAD
    if n - 16 < have:
        return FILE_MORE
    out.data = p + 16
    out.have = have
    out.wire = max(have, file32(f, p + 12))
    out.link = f.link
    out.time = <int64_t>file32(f, p) * 1000000000
    out.time += <int64_t>file32(f, p + 4) * (1 if f.nano else 1000)
    used[0] = 16 + <size_t>have
    return FILE_PACKET


cdef int read_interface(CapFile* f, const uint8_t* p, size_t n) noexcept nogil:
    """An interface description: p and n are the body of its block."""
    cdef CapInterface* found
    cdef size_t at = 8, size
    cdef uint16_t code
    if n < 8 or f.n_interfaces >= INTERFACE_LIMIT:
        return FILE_BAD
    found = <CapInterface*>items_add(&f.interfaces, &f.n_interfaces, sizeof(CapInterface))
    if found == NULL:
        return NO_MEMORY
    memset(found, 0, sizeof(CapInterface))
    found.link = file16(f, p)
    found.snap = file32(f, p + 4)
    found.resolution = 6
    while n - at >= 4:
        code = file16(f, p + at)
        size = file16(f, p + at + 2)
        at += 4
        if code == 0 or size > n - at:
            break
        if code == 9 and size >= 1:
            found.resolution = p[at]
        elif code == 14 and size >= 8:
            if f.big:
                found.offset = <int64_t>load64(p + at)
            else:
                found.offset = <int64_t>(<uint64_t>file32(f, p + at)
                                         | <uint64_t>file32(f, p + at + 4) << 32)
        at += (size + 3) & ~<size_t>3          # which is there: blocks are whole words
    return FILE_SKIPPED


cdef int read_packet_block(CapFile* f, uint32_t block_type, const uint8_t* p, size_t n,
                           CapPacket* out) noexcept nogil:
    """One of the three kinds of block that hold a packet: p and n are its body."""
    cdef CapInterface* interface
    cdef uint32_t index = 0
    cdef uint64_t ticks
    cdef size_t start
    if n < <size_t>(4 if block_type == 3 else 20):
        return FILE_BAD
    if block_type != 3:
        # The obsolete block has 16 bits of interface and 16 of drops in the same place.
        index = file16(f, p) if block_type == 2 else file32(f, p)
    if index >= f.n_interfaces:
        return FILE_BAD
    interface = <CapInterface*>f.interfaces.p + index
    if block_type == 3:
        out.wire = file32(f, p)
        out.have = out.wire
        if interface.snap != 0:
            out.have = min(out.have, interface.snap)
        out.time = NO_TIME
        start = 4
        if out.have > n - start:
            # It was cut, and nothing tells how many of the bytes are padding.
            out.have = <uint32_t>(n - start)
            out.have -= min(out.have, <uint32_t>3)
    else:
        ticks = <uint64_t>file32(f, p + 4) << 32 | file32(f, p + 8)
        out.time = ticks_to_ns(ticks, interface.resolution, interface.offset)
        out.have = file32(f, p + 12)
        out.wire = max(out.have, file32(f, p + 16))
        start = 20
    if out.have > n - start:
        return FILE_BAD
    out.data = p + start
    out.link = interface.link
    return FILE_PACKET


cdef int read_secrets(CapFile* f, const uint8_t* p, size_t n, CapPacket* out) noexcept nogil:
    """A decryption secrets block: p and n are its body."""
    cdef uint32_t size
    if n < 8:
        return FILE_BAD
    size = file32(f, p + 4)
    if size > n - 8:
        return FILE_BAD
    if file32(f, p) != SECRETS_TLS:
        return FILE_SKIPPED
    out.data = p + 8
    out.have = size
    return FILE_SECRETS


cdef int next_pcapng(CapFile* f, const uint8_t* p, size_t n, CapPacket* out, size_t* used) noexcept nogil:
    cdef uint32_t block_type, size
    cdef int found
    if n < 12:
        return FILE_MORE
    if load32(p) == 0x0A0D0D0A:
        # A new section has its own byte order and its own interfaces.
        if load32(p + 8) == 0x1A2B3C4D:
            f.big = True
        elif load32(p + 8) == 0x4D3C2B1A:
            f.big = False
        else:
            return FILE_BAD
        f.n_interfaces = 0
    block_type = file32(f, p)
    size = file32(f, p + 4)
    if size < 12 or size & 3:
        return FILE_BAD
    if block_type == 1 or block_type == 2 or block_type == 3 or block_type == 6 or block_type == 10:
        if size > record_limit(f):
            return FILE_BAD
        if n < size:
            return FILE_MORE
        if block_type == 1:
            found = read_interface(f, p + 8, size - 12)
        elif block_type == 10:
            found = read_secrets(f, p + 8, size - 12, out)
        else:
            found = read_packet_block(f, block_type, p + 8, size - 12, out)
        used[0] = size
        return found
    used[0] = min(n, <size_t>size)
    f.skip = size - used[0]
    return FILE_SKIPPED


cdef int next_packet(CapFile* f, const uint8_t* p, size_t n, CapPacket* out, size_t* used) noexcept nogil:
    """Look for a packet at p; used: bytes that are done with. The packet borrows from p."""
    cdef int found
    used[0] = 0
    if n == 0:
        return FILE_MORE
    if f.skip:
        used[0] = <size_t>min(f.skip, <uint64_t>n)
        f.skip -= used[0]
        f.at += used[0]
        return FILE_SKIPPED
    if f.format == FILE_PCAP:
        found = next_pcap(f, p, n, out, used)
    elif f.format == FILE_PCAPNG:
        found = next_pcapng(f, p, n, out, used)
    else:
        found = begin_file(f, p, n, used)
    if found == FILE_PACKET:
        f.packets += 1
        out.number = f.packets
        out.at = f.at
    if found > 0:
        f.at += used[0]
    return found


# ---- looking for a record ----

cdef enum:
    RECORD_CHAIN = 16               # plausible records in a row that prove the first one
    PLAUSIBLE_SIZE = 1 << 18
    PLAUSIBLE_SECONDS = 7 * 86400   # between neighbours


cdef int64_t plausible_record(const CapFile* f, const uint8_t* p, size_t n, bint first,
                              uint32_t* time) noexcept nogil:
    """Bytes of what may be a record at p; 0: it is none, -1: bytes are missing to tell.

    first: `time` is not that of the record before.
    """
    cdef uint32_t block_type, seconds, size, wire
    if f.format == FILE_PCAP:
        if n < 16:
            return -1
        size = file32(f, p + 8)
        wire = file32(f, p + 12)
        if size == 0 or size > PLAUSIBLE_SIZE or wire < size or wire > 1 << 24:
            return 0
        if file32(f, p + 4) >= <uint32_t>(1000000000 if f.nano else 1000000):
            return 0
        seconds = file32(f, p)
        if not first and seconds - time[0] + PLAUSIBLE_SECONDS > 2 * PLAUSIBLE_SECONDS:
            return 0
        time[0] = seconds
        return 16 + <int64_t>size
    if n < 12:
        return -1
    block_type = file32(f, p)
    size = file32(f, p + 4)
    if size < 12 or size & 3 or size > PLAUSIBLE_SIZE:
        return 0
    if not (1 <= block_type <= 16 or block_type == 0x0BAD or block_type == 0x0A0D0D0A
            or block_type == 0x40000BAD):
        return 0
    if n < size:
        return -1
    return size if file32(f, p + size - 4) == size else 0


cdef int64_t find_record(const CapFile* f, const uint8_t* p, size_t n, size_t end, bint last) noexcept nogil:
    """Where in p the first record begins, before `end`, or -1. last: the file ends after the n bytes."""
    cdef size_t i, at
    cdef int64_t size
    cdef uint32_t time
    cdef int count
    for i in range(min(n, end)):
        at = i
        time = 0
        count = 0
        size = 1
        while count < RECORD_CHAIN and at < n:
            size = plausible_record(f, p + at, n - at, count == 0, &time)
            if size <= 0 or <uint64_t>size > n - at:
                break
            count += 1
            at += <size_t>size
        # At the end of the file fewer must do, and its last one may be cut.
        if count == RECORD_CHAIN or (last and count > 0 and (at == n or (size != 0 and count > 3))):
            return <int64_t>i
    return -1
