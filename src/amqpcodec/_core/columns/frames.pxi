# Frames of 0-x: how they are found, and into columns by the fast path or the slow one.

cdef int append_frame_slow(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """Into the columns that not every row has, on the slow path; 0, BAD_FRAME or a status below 0."""
    cdef uint64_t at = <uint64_t>(e.start - e.base)
    if AMQP_UNLIKELY(e.broken):
        return put_no_frame(s, e)
    s.fault.code = OK
    place_begin(&s.fault.at, NULL, NULL)
    s.c.p = e.start + 7
    s.c.end = e.start + e.total - 1
    s.c.base = e.base
    if e.type == FRAME_METHOD:
        return append_method(s, e, row)
    if e.type == FRAME_HEADER:
        return append_header(s, e, row)
    if e.type == FRAME_BODY:
        if s.asked[COL_PAYLOAD] != NULL:
            return append_bytes(s.table, s.asked[COL_PAYLOAD], row, e.start + 7, e.total - 8)
        return 0
    if e.type == FRAME_HEARTBEAT and (e.total != 8 or e.channel != 0):
        s.fault.code = BAD_HEARTBEAT
        s.fault.scope = SCOPE_FRAME
        s.fault.have = e.total - 8
        s.fault.offset = at
        s.fault.channel = e.channel
        return BAD_FRAME
    return 0


cdef inline int append_frame(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """The same; on the fast path where it may be tried."""
    cdef int status = 0
    if e.way == FRAME_METHOD:
        status = fast_method(s, e, row)
    elif e.way == FRAME_HEADER:
        status = fast_header(s, e, row)
    elif e.way == FRAME_BODY:
        if s.asked[COL_PAYLOAD] != NULL:
            return fast_bytes(s.table, s.asked[COL_PAYLOAD], place_of(row), e.start + 7, e.total - 8)
        return 0
    else:
        return append_frame_slow(s, e, row)
    if AMQP_UNLIKELY(status > 0):
        return append_frame_slow(s, e, row)
    return status


# ---- finding ----

cdef const uint8_t* find_unusual_frame(Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p, whatever it is: where the next one starts."""
    cdef WireFrame f
    cdef Fault fault
    cdef int found = scan_frame(p, end, 0, 0, 0, &f, &fault)
    e.way = 0
    e.lost = 0
    e.broken = False
    e.no_channel = False
    if found == SCAN_FRAME:
        e.type = f.type
        e.channel = f.channel
        e.total = f.total
        return p + f.total
    e.broken = BROKEN_TYPE
    e.type = 0
    e.channel = 0
    if found == SCAN_BAD and fault.scope == SCOPE_FRAME:
        e.channel = f.channel       # the type is undefined, the frame is not
        e.total = f.total
        return p + f.total
    e.broken = BROKEN_LOST
    e.total = <uint64_t>(end - p)
    e.no_channel = e.total < 7 or not is_known_type(p[0])
    if not e.no_channel:
        e.type = p[0]
        e.channel = load16(p + 1)
    return end


cdef inline const uint8_t* find_frame(Sink* s, Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p: where the next one starts. e.base and e.row are set by the caller."""
    cdef uint64_t head, total
    e.start = p
    if AMQP_LIKELY(end - p >= 8):
        head = load64(p)            # type, channel, size and a byte of the payload
        total = <uint64_t><uint32_t>(head >> 8) + 8
        if AMQP_LIKELY(total <= <uint64_t>(end - p) and p[total - 1] == FRAME_END
                       and (head >> 56) - 1 <= 2):
            e.total = total
            e.type = <uint8_t>(head >> 56)
            e.way = <uint8_t>(head >> 56) if p + total <= s.input.fast_end else 0
            e.channel = <uint16_t>(head >> 40)
            e.broken = False
            e.no_channel = False
            return p + total
    p = find_unusual_frame(e, p, end)
    if e.broken:
        s.unusual_block = True
    return p
