# The state of a reader between two records, as bytes: what resume() needs to go on as if it never stopped.
#
# Each struct is visited by one function, which writes or reads: so that both agree. Numbers are written
# with 7 bits a byte, the lowest first, the sign in the lowest bit.

cdef bytes STATE_MAGIC = b"AMQPCAP\x04"      # the last byte is the version

cdef struct StateIO:
    bint writing
    bint bad
    Block out
    size_t n
    const uint8_t* p
    const uint8_t* end


cdef void io_bytes(StateIO* io, uint8_t* p, size_t n) noexcept nogil:
    if io.writing:
        if io.out.room < io.n + n and block_room(&io.out, io.n, 2 * (io.n + n) + 4096) < 0:
            io.bad = True
        if n and not io.bad:
            memcpy(io.out.p + io.n, p, n)
            io.n += n
    elif io.bad or <size_t>(io.end - io.p) < n:
        io.bad = True
    elif n:
        memcpy(p, io.p, n)
        io.p += n


cdef int64_t io_number(StateIO* io, int64_t v) noexcept nogil:
    """Write v, or else read a number; what it is."""
    cdef uint64_t x = 0
    cdef int shift = 0
    cdef uint8_t part
    if io.writing:
        x = <uint64_t>v << 1 ^ <uint64_t>(v >> 63)
        while x >= 128:
            part = <uint8_t>(x & 127 | 128)
            io_bytes(io, &part, 1)
            x >>= 7
        part = <uint8_t>x
        io_bytes(io, &part, 1)
        return v
    while True:
        part = 0
        io_bytes(io, &part, 1)
        if io.bad or shift > 63:
            io.bad = True
            return 0
        x |= <uint64_t>(part & 127) << shift
        shift += 7
        if part < 128:
            return <int64_t>(x >> 1) ^ -<int64_t>(x & 1)


cdef uint64_t io_count(StateIO* io, uint64_t v) noexcept nogil:
    return <uint64_t>io_number(io, <int64_t>v)


cdef size_t io_size(StateIO* io, size_t v, size_t limit) noexcept nogil:
    """A number of bytes or items that follow: each takes a byte at least."""
    cdef uint64_t n = io_count(io, v)
    if not io.writing and (n > limit or n > <uint64_t>(io.end - io.p)):
        io.bad = True
        return 0
    return <size_t>n


cdef void io_mark(StateIO* io, Mark* m) noexcept nogil:
    m.at = io_number(io, m.at)
    m.time = io_number(io, m.time)
    m.number = io_count(io, m.number)
    m.file_at = io_count(io, m.file_at)
    m.rows = <int32_t>io_number(io, m.rows)
    m.file = <int32_t>io_number(io, m.file)


cdef int io_pieces(StateIO* io, Reading* r, Half* h) noexcept nogil:
    """Segments that wait."""
    cdef Piece* piece = h.waiting
    cdef Piece* fresh
    cdef Mark mark
    cdef size_t i, size, n = io_size(io, <size_t>h.n_waiting, 1 << 30)
    cdef int64_t at
    memset(&mark, 0, sizeof(Mark))
    for i in range(n):
        if io.writing:
            io_mark(io, &piece.mark)
            io_number(io, piece.at)
            io_size(io, piece.n, RECORD_LIMIT)
            io_bytes(io, <uint8_t*>(piece + 1), piece.n)
            piece = piece.next
            continue
        io_mark(io, &mark)
        at = io_number(io, 0)
        size = io_size(io, 0, RECORD_LIMIT)
        if io.bad or (h.last != NULL and at < h.last.at):
            io.bad = True
            return 0
        fresh = <Piece*>malloc(sizeof(Piece) + size)
        if fresh == NULL:
            return NO_MEMORY
        fresh.next = NULL
        fresh.at = at
        fresh.n = <uint32_t>size
        fresh.mark = mark
        io_bytes(io, <uint8_t*>(fresh + 1), size)
        if h.last == NULL:
            h.waiting = fresh
        else:
            h.last.next = fresh
        h.last = fresh
        h.n_waiting += 1
        h.held += size + PIECE_COST
        r.held += size + PIECE_COST
    return 0


cdef int io_messages(StateIO* io, Reading* r, Half* h) noexcept nogil:
    """Those that are open, the newest first."""
    cdef Open* o = h.open
    cdef Open** at = &h.open
    cdef size_t i, n = 0
    while o != NULL:
        n += 1
        o = o.next
    n = io_size(io, n, 1 << 16)
    for i in range(n):
        if not io.writing:
            if io.bad:
                return 0
            at[0] = <Open*>calloc(1, sizeof(Open))
            if at[0] == NULL:
                return NO_MEMORY
        o = at[0]
        at = &o.next
        h.n_open += not io.writing
        o.channel = <uint16_t>io_number(io, o.channel)
        o.handle = <uint32_t>io_number(io, o.handle)
        o.flags = <uint8_t>(io_number(io, o.flags) & 31)
        o.header = io_number(io, o.header) != 0
        o.size = io_count(io, o.size)
        o.have = io_count(io, o.have)
        o.row.position = <int32_t>io_number(io, o.row.position)
        o.row.file = <int32_t>io_number(io, o.row.file)
        o.row.first_time = io_number(io, o.row.first_time)
        o.row.last_time = io_number(io, o.row.last_time)
        o.row.packet_at = io_count(io, o.row.packet_at)
        o.row.packet = io_count(io, o.row.packet)
        o.row.version = <uint8_t>io_number(io, o.row.version)
        if o.row.version >= r.n_spoken and (r.v1 == NULL or o.row.version != r.v1_number):
            io.bad = True
            o.row.version = 0
        if io.writing:
            io_size(io, o.n, MESSAGE_LIMIT)
            io_bytes(io, o.data.p, o.n)
            continue
        o.n = io_size(io, 0, MESSAGE_LIMIT)
        if o.n == 0 or o.have > o.size:
            io.bad = True
            o.n = 0
            return 0
        if block_room(&o.data, 0, o.n) < 0:
            o.n = 0
            return NO_MEMORY
        r.open_bytes += o.n
        io_bytes(io, o.data.p, o.n)
    return 0


cdef int io_half(StateIO* io, Reading* r, Half* h) noexcept nogil:
    cdef size_t i, n
    cdef Mark mark
    h.seen = io_number(io, h.seen) != 0
    h.started = io_number(io, h.started) != 0
    h.syn = io_number(io, h.syn) != 0
    h.fin = io_number(io, h.fin) != 0
    h.first = <uint32_t>io_number(io, h.first)
    h.next = <uint32_t>io_number(io, h.next)
    h.offset = io_number(io, h.offset)
    h.known_end = io_number(io, h.known_end)
    h.acked = io_number(io, h.acked)
    if io_pieces(io, r, h) < 0:
        return NO_MEMORY
    h.state = <uint8_t>(io_number(io, h.state) & 3)
    h.flags = <uint8_t>io_number(io, h.flags)
    h.broken = <uint8_t>io_number(io, h.broken)
    h.cut_type = <uint8_t>io_number(io, h.cut_type)
    h.cut_method = <uint32_t>io_number(io, h.cut_method)
    h.takes = io_count(io, h.takes)
    h.tls = io_number(io, h.tls) != 0
    h.past_sasl = io_number(io, h.past_sasl) != 0
    h.base = io_number(io, h.base)
    h.expect = io_number(io, h.expect)
    h.scan = <size_t>io_count(io, h.scan)
    h.need = <size_t>io_count(io, h.need)
    n = io_size(io, h.n, 1 << 30)
    if not io.writing and n:
        if block_room(&h.buf, 0, n) < 0:
            return NO_MEMORY
        h.n = n
    io_bytes(io, h.buf.p, n)
    n = io_size(io, <size_t>(h.n_marks - h.mark), 1 << 30)
    for i in range(n):
        if io.writing:
            mark = half_mark(h)[i]
        else:
            memset(&mark, 0, sizeof(Mark))
        io_mark(io, &mark)
        if not io.writing and not io.bad and push_mark(h, &mark) < 0:
            return NO_MEMORY
    if io_messages(io, r, h) < 0:
        return NO_MEMORY
    # What the frame layer takes for granted.
    if not io.writing and (h.scan > h.n or h.broken > LOST_LARGE or h.flags > 31
                           or (h.n and h.n_marks == 0)
                           or (h.state == EXPECTING and h.expect < h.base)
                           or h.base < 0 or h.offset < 0 or h.offset > <int64_t>1 << 60
                           or h.base + <int64_t>h.n > <int64_t>1 << 60
                           or h.expect > <int64_t>1 << 60):
        io.bad = True
    return 0


cdef void io_end(StateIO* io, Endpoint* e) noexcept nogil:
    io_bytes(io, e.address, 16)
    e.port = <uint16_t>io_number(io, e.port)


cdef int io_conn(StateIO* io, Reading* r, Conn* c) noexcept nogil:
    c.info.id = io_count(io, c.info.id)
    c.info.index = <int32_t>io_number(io, c.info.index)
    c.info.family = <uint8_t>io_number(io, c.info.family)
    io_end(io, &c.info.client)
    io_end(io, &c.info.server)
    c.left_out = <uint8_t>io_number(io, c.left_out)
    c.version = <uint8_t>io_number(io, c.version)
    c.may = <uint8_t>io_number(io, c.may)
    c.now = <uint8_t>io_number(io, c.now)
    io_bytes(io, c.fails, MAX_PROTOCOLS)
    c.v1 = io_number(io, c.v1) != 0
    c.sure = io_number(io, c.sure) != 0
    c.resolved = io_number(io, c.resolved) != 0
    c.spoke = io_number(io, c.spoke) != 0
    if c.version >= max(r.n_spoken, 1) or c.may >> r.n_spoken \
            or (c.now >= r.n_spoken and (r.v1 == NULL or c.now != r.v1_number)) \
            or (c.v1 and r.v1 == NULL) or (not c.v1 and r.n_spoken == 0) \
            or (not c.sure and (r.v1 == NULL or r.forced)):
        io.bad = True
        c.version = c.now = 0
        c.v1 = False
    c.frame_max = io_number(io, c.frame_max)
    if io_half(io, r, &c.half[0]) < 0:
        return NO_MEMORY
    return io_half(io, r, &c.half[1])


cdef int io_conns(StateIO* io, Reading* r) noexcept nogil:
    cdef Conn* c = r.oldest
    cdef size_t i, n = 0
    while c != NULL:
        n += 1
        c = c.newer
    n = io_size(io, n, 1 << 30)
    c = r.oldest
    for i in range(n):
        if io.bad:
            return 0
        if not io.writing:
            c = <Conn*>calloc(1, sizeof(Conn))
            if c == NULL:
                return NO_MEMORY
            if io_conn(io, r, c) < 0 or io.bad:
                free_half(r, &c.half[0])
                free_half(r, &c.half[1])
                free(c)
                if io.bad:
                    return 0
                return NO_MEMORY
            link_conn(r, c)
            continue
        if io_conn(io, r, c) < 0:
            return NO_MEMORY
        c = c.newer
    return 0


cdef int io_closing(StateIO* io, Reading* r) noexcept nogil:
    """Connections that are over, in that order, by their index."""
    cdef Conn* c = r.closing
    cdef size_t i, n = io_size(io, <size_t>r.n_closing, CLOSING_LIMIT)
    cdef int64_t index
    for i in range(n):
        if io.writing:
            io_number(io, c.info.index)
            c = c.closing
            continue
        index = io_number(io, 0)
        c = r.oldest
        while c != NULL and c.info.index != index:
            c = c.newer
        if c == NULL or c.closes:
            io.bad = True
            return 0
        if close_conn(r, c, &r.last) < 0:
            return NO_MEMORY
    return 0


cdef int io_file(StateIO* io, CapFile* f) noexcept nogil:
    cdef size_t i, n
    cdef CapInterface* one
    f.format = <int>(io_number(io, f.format))
    f.big = io_number(io, f.big) != 0
    f.nano = io_number(io, f.nano) != 0
    f.link = <uint32_t>io_number(io, f.link)
    f.at = io_count(io, f.at)
    f.skip = io_count(io, f.skip)
    f.packets = io_count(io, f.packets)
    n = io_size(io, <size_t>f.n_interfaces, INTERFACE_LIMIT)
    if not io.writing and n:
        f.interface = <CapInterface*>calloc(n, sizeof(CapInterface))
        if f.interface == NULL:
            return NO_MEMORY
        f.n_interfaces = <int>n
        f.room = <int>n
    for i in range(n):
        one = &f.interface[i]
        one.link = <uint32_t>io_number(io, one.link)
        one.snap = <uint32_t>io_number(io, one.snap)
        one.resolution = <uint8_t>io_number(io, one.resolution)
        one.offset = io_number(io, one.offset)
    return 0


cdef int io_counts(StateIO* io, Reading* r) noexcept nogil:
    """All counts are numbers of 8 bytes."""
    cdef uint64_t* count = <uint64_t*>&r.count
    cdef size_t i
    cdef int k
    for i in range(sizeof(CaptureCounts) // 8):
        count[i] = io_count(io, count[i])
    if r.v1 != NULL:
        for k in range(256):
            r.v1_counts[k] = io_count(io, r.v1_counts[k])
    for k in range(r.n_spoken):
        for i in range(<size_t>r.spoken[k].n_descs):
            r.spoken[k].methods[i] = io_count(io, r.spoken[k].methods[i])
    return 0


cdef int io_reading(StateIO* io, Reading* r) noexcept nogil:
    cdef int status = io_file(io, &r.file)
    if io_number(io, r.n_spoken) != r.n_spoken or (io_number(io, r.v1 != NULL) != 0) != (r.v1 != NULL):
        io.bad = True
        return status
    if (io_number(io, r.messages) != 0) != r.messages:
        io.bad = True
        return status
    r.seed = io_count(io, r.seed)
    r.slot_of_file = <int32_t>io_number(io, r.slot_of_file)
    r.file_number = io_number(io, r.file_number)
    r.begun = io_number(io, r.begun) != 0
    r.between = io_number(io, r.between) != 0
    io_mark(io, &r.last)
    if status == 0:
        status = io_counts(io, r)
    if status == 0:
        status = io_conns(io, r)
    if status == 0:
        status = io_closing(io, r)
    return status
