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
