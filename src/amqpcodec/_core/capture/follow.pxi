# Outlines as bytes, and a reader that follows one: see leaps.pxi.

cdef enum:
    OUTLINE_ROWS = 1 << 12  # after which the rows that nobody wants are dropped


# ---- one function writes and reads each part, as in state.pxi ----

cdef void io_left_out(StateIO* io, LeftOut* o) noexcept nogil:
    o.last = <uint64_t>io_ranged(io, <int64_t>o.last, 0, NUMBER_LIMIT)
    o.packets = <uint64_t>io_ranged(io, <int64_t>o.packets, 0, NUMBER_LIMIT)
    o.captured = <uint64_t>io_ranged(io, <int64_t>o.captured, 0, NUMBER_LIMIT)
    o.n_bytes = io_ranged(io, o.n_bytes, 0, LEAP_LIMIT + MAX_U32)
    o.largest = <uint64_t>io_ranged(io, <int64_t>o.largest, 0, NUMBER_LIMIT)
    o.acked = io_flag(io, o.acked)
    o.first_ack = <uint32_t>io_ranged(io, o.first_ack, 0, MAX_U32)
    o.ack = <uint32_t>io_ranged(io, o.ack, 0, MAX_U32)
    o.empty = io_flag(io, o.empty)
    o.first_empty = <uint32_t>io_ranged(io, o.first_empty, 0, MAX_U32)
    o.last_empty = <uint32_t>io_ranged(io, o.last_empty, 0, MAX_U32)
    io_mark(io, &o.mark)


cdef void io_leap_ends(StateIO* io, LeapEnds* ends) noexcept nogil:
    io_end(io, &ends.client)
    io_end(io, &ends.server)
    ends.of_server = io_flag(io, ends.of_server)
    ends.next = <uint32_t>io_ranged(io, ends.next, 0, MAX_U32)
    ends.version = <uint8_t>io_ranged(io, ends.version, 0, MAX_PROTOCOLS)
    ends.may = <uint8_t>io_ranged(io, ends.may, 0, 255)
    io_left_out(io, &ends.left)


cdef void io_outlined(StateIO* io, Outlined* one) noexcept nogil:
    one.kind = <uint8_t>io_ranged(io, one.kind, KEPT_RECORD, LEAP_ENDS)
    one.at = <uint64_t>io_ranged(io, <int64_t>one.at, 0, NUMBER_LIMIT)
    one.before = <uint64_t>io_ranged(io, <int64_t>one.before, 0, NUMBER_LIMIT)


cdef void io_outline(StateIO* io, Reading* r, Outline* o) noexcept nogil:
    """All but what is in it and ports. Counts are added to the reader's where they are read."""
    cdef uint64_t* count = <uint64_t*>&o.left
    cdef size_t i
    cdef int k
    o.start = <uint64_t>io_ranged(io, <int64_t>o.start, 0, NUMBER_LIMIT)
    o.packets = <uint64_t>io_ranged(io, <int64_t>o.packets, 0, NUMBER_LIMIT)
    o.last_at = <uint64_t>io_ranged(io, <int64_t>o.last_at, 0, NUMBER_LIMIT)
    o.last_time = io_number(io, o.last_time)
    o.open_bytes = <size_t>io_ranged(io, <int64_t>o.open_bytes, 0, NUMBER_LIMIT)
    for i in range(sizeof(CaptureCounts) // 8):
        count[i] = <uint64_t>io_ranged(io, <int64_t>count[i], 0, NUMBER_LIMIT)
    for k in range(r.n_protocols):
        for i in range(<size_t>r.protocol[k].n_descs):
            o.methods[k][i] = <uint64_t>io_ranged(io, <int64_t>o.methods[k][i], 0, NUMBER_LIMIT)


# ---- following ----

cdef int drop_rows(Reading* r) noexcept nogil:
    rows_clear(&r.rows)
    return forget_infos(r)


cdef bint is_near_both(uint32_t number, uint32_t first, uint32_t last) noexcept nogil:
    return first - number + NEAR < 2 * NEAR and last - number + NEAR < 2 * NEAR


cdef Conn* leaping(Reading* r, const LeapEnds* ends) noexcept nogil:
    """The connection of a leap, if no segments out of order wait in it, and none of its segments is compared."""
    cdef Conn* c = find_conn(r, &ends.client, &ends.server)
    return NULL if c == NULL or c.original != NULL or is_waiting(c) else c


cdef bint stands_there(Reading* r, const Conn* c, const Half* h, const LeapEnds* ends) noexcept nogil:
    """Whether a direction is where a leap with bytes begins, and would go on from there in the same way."""
    return (is_steady(c, h) and c.spoke and h.next == ends.next and c.version == ends.version
            and c.may & ~ends.may == 0 and ends.left.largest <= sync_limit(r, c))


cdef int follow_begin(Reading* r, const LeapEnds* ends) noexcept nogil:
    """1: a leap can begin."""
    cdef Conn* c = leaping(r, ends)
    cdef Half* h
    cdef int k
    if c == NULL:
        return 0
    h = &c.half[ends.of_server]
    if h.leap != NULL or (ends.left.n_bytes and not stands_there(r, c, h, ends)):
        return 0
    if begin_leap(c, h, 0) < 0:
        return NO_MEMORY
    for k in range(2):
        h.leap.turns[k] = turn_of(&c.half[k])
    return 1


cdef int follow_end(Reading* r, const Outline* base, const LeapEnds* ends) noexcept nogil:
    """1: a direction is where a leap ends."""
    cdef Conn* c = leaping(r, ends)
    cdef const LeftOut* left = &ends.left
    cdef Half* h
    cdef Half* peer
    cdef Mark mark
    cdef int k
    if c == NULL or c.half[ends.of_server].leap == NULL:
        return 0
    h = &c.half[ends.of_server]
    peer = &c.half[1 - ends.of_server]
    for k in range(2):      # nothing waited meanwhile, for which it matters when acknowledgements come
        if h.leap.turns[k] != turn_of(&c.half[k]):
            return 0
    if left.acked and peer.seen:
        if not is_near_both(peer.next, left.first_ack, left.ack):
            return 0
        update_acked(peer, left.ack)
    if left.empty and h.seen:
        if not is_near_both(h.next, left.first_empty, left.last_empty):
            return 0
        h.acked = max(h.acked, position_of(h, left.last_empty))
    if left.n_bytes:
        if not stands_there(r, c, h, ends):
            return 0
        h.next += <uint32_t>left.n_bytes
        h.offset += left.n_bytes
        h.layer.at = h.offset
        h.input.base = h.layer.at
        h.known_end = max(h.known_end, h.offset)
        mark = left.mark
        mark.number += base.packets
        mark.turn += base.left.packets
        mark.file = r.files.slot
        h.marks.at = h.marks.n = 0
        if push_mark(h, &mark, h.layer.at - mark.at, mark.rows) < 0:
            return NO_MEMORY
    if c.newer != NULL:
        unchain_conn(r, c)
        append_conn(r, c)
    free_leap(h)
    return 1


cdef int follow_record(Reading* r, const Outline* base, const Outlined* one, const uint8_t* p) noexcept nogil:
    """1: a record was read, as the one that it is of the file."""
    cdef CapPacket packet
    cdef size_t used = 0
    cdef int found
    r.file.at = one.at
    r.file.packets = base.packets + one.before
    r.count.packets = base.left.packets + one.before
    found = next_packet(&r.file, p, one.size, &packet, &used)
    if used != one.size or found == FILE_MORE or found < 0:
        return NO_MEMORY if found == NO_MEMORY else 0
    if found == FILE_SECRETS and add_secrets(r, packet.data, packet.have) < 0:
        return NO_MEMORY
    if found == FILE_PACKET and read_packet(r, &packet) < 0:
        return NO_MEMORY
    if r.rows.n >= OUTLINE_ROWS and drop_rows(r) < 0:
        return NO_MEMORY
    return r.conns.n + r.conns.translations.n < r.limits.conns     # who is the longest idle is not known between leaps


cdef int follow_all(StateIO* io, Reading* r, const Outline* base, size_t n, size_t open_bytes) noexcept nogil:
    """1: all was followed."""
    cdef Outlined one
    cdef LeapEnds ends
    cdef size_t i
    cdef int status
    for i in range(n):
        memset(&one, 0, sizeof(Outlined))
        io_outlined(io, &one)
        if one.kind == KEPT_RECORD:
            one.size = io_size(io, 0, MAX_U32)
            if io.bad:
                return 0
            status = follow_record(r, base, &one, io.p)
            io.p += one.size
        else:
            memset(&ends, 0, sizeof(LeapEnds))
            io_leap_ends(io, &ends)
            if io.bad:
                return 0
            status = follow_begin(r, &ends) if one.kind == LEAP_BEGINS else follow_end(r, base, &ends)
        if status != 1:
            return status
        if r.level.messages and r.level.open_bytes + open_bytes > OPEN_LIMIT - HIGHEST_FRAME_MAX - 8:
            return 0        # together they might not be kept
    return 1


cdef void add_left_out(Reading* r, const Outline* o) noexcept nogil:
    """Add the counts of the records that the outline left out."""
    cdef uint64_t* count = <uint64_t*>&r.count
    cdef const uint64_t* left = <const uint64_t*>&o.left
    cdef size_t i
    cdef int k
    for i in range(sizeof(CaptureCounts) // 8):
        count[i] += left[i]
    for k in range(r.n_protocols):
        for i in range(<size_t>r.protocol[k].n_descs):
            r.protocol[k].methods[i] += o.methods[k][i]


cdef bint can_skip_ports(ServerPorts* ports, const Outline* o) noexcept nogil:
    """Whether the segments that an outline left out for their ports are those that are skipped by now, and there
    is room for all ports that it detected."""
    cdef int i
    if not ports.detects:
        return True
    for i in range(ports.n_detected):
        if is_read(&o.skipped, ports.detected[i].port):
            return False
    for i in range(o.n_assumed):
        if not is_read(ports, o.skipped.detected[i].port):
            return False
    return ports.n_detected + o.skipped.n_detected <= MOST_DETECTED


cdef void add_headers(ServerPorts* ports, const ServerPorts* part) noexcept nogil:
    """Count the headers of a part that were sent to ports that are not read."""
    cdef DetectedPort* one
    cdef int i
    for i in range(part.n_detected):
        one = add_detected(ports, part.detected[i].port)
        if one != NULL:
            one.n += part.detected[i].n


cdef void add_openings(ServerPorts* ports, const ServerPorts* part) noexcept nogil:
    """Note those of a part after those before it."""
    cdef int i
    for i in range(part.n_openings):
        remember_opening(ports, &part.openings[i].client, &part.openings[i].server, part.openings[i].known)


def follow_outline(CaptureReader reader not None, bytes outline not None):
    """Read what an outline keeps of the part of a file that comes next. False: it does not go on from where
    the reader is; then the reader is of no use any more."""
    cdef InUse held = reader.use()
    cdef Reading* r = reader.r
    cdef StateIO io
    cdef Outline* o = NULL
    cdef Outline base
    cdef int64_t end
    cdef size_t n
    cdef int status = 0
    memset(&io, 0, sizeof(StateIO))
    memset(&base, 0, sizeof(Outline))
    io.p = <const uint8_t*>PyBytes_AS_STRING(outline)
    io.end = io.p + len(outline)
    if r.files.between or r.rows.n or reader.damaged or r.partials.oldest != NULL or r.file.skip:
        return False
    try:
        o = new_outline(r)
        io_outline(&io, r, o)
        io_bytes(&io, o.skipped.read, sizeof(o.skipped.read))
        io_detected(&io, &o.skipped)
        io_openings(&io, &o.skipped)
        o.n_assumed = <int>io_ranged(&io, 0, 0, o.skipped.n_detected)
        end = io_ranged(&io, 0, 0, NUMBER_LIMIT)
        n = io_size(&io, 0, MAX_U32)
        if io.bad or o.start != r.file.at:
            return False
        if o.left.skipped[SKIP_TLS] and is_read(&r.servers, TLS_PORT):
            return False        # a file before this one brought keys
        if not can_skip_ports(&r.servers, o):
            return False
        add_openings(&r.servers, &o.skipped)
        io.files = 1
        base.packets = r.file.packets
        base.left.packets = r.count.packets
        with nogil:
            status = follow_all(&io, r, &base, n, o.open_bytes)
            if status == 1 and drop_rows(r) < 0:
                status = NO_MEMORY
        reader.raise_fault()
        if status < 0:
            raise MemoryError
        if status == 0 or io.p != io.end:
            return False
        r.count.packets = base.left.packets + o.packets - o.left.packets
        add_left_out(r, o)
        if not r.servers.detects:
            add_headers(&r.servers, &o.skipped)
        r.file.packets = base.packets + o.packets
        r.file.at = <uint64_t>end
        if o.packets:
            r.last.time = o.last_time
            r.last.number = r.file.packets
            r.last.file_at = o.last_at
            r.last.turn = r.count.packets
            r.last.file = r.files.slot
        return True
    finally:
        free_outline(o)
