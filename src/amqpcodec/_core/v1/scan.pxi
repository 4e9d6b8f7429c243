# AMQP 1.0 frames: size, data offset, type and channel, then a performative and its payload (Part 2 §2.3).

cdef int v1_scan_bad(Fault* f, int code, int scope, uint64_t offset, const char* what, uint64_t need,
                     uint64_t have, const uint8_t* p) noexcept nogil:
    memset(f, 0, sizeof(Fault))
    f.code = code
    f.scope = scope
    f.offset = offset
    f.what = what
    f.need = need
    f.have = have
    f.byte = p[5]
    f.in_frame = True
    f.frame_type = p[5]
    f.channel = load16(p + 6)
    return SCAN_BAD


cdef inline int v1_scan(const uint8_t* p, const uint8_t* end, uint64_t limit, uint64_t offset,
                        WireFrame* out, Fault* f) noexcept nogil:
    """Find the frame at p. limit: bytes a frame may take, 0 for any. offset: that of p.

    After SCAN_BAD with scope "frame" the frame is whole and `out.total` is set.
    """
    cdef size_t left = <size_t>(end - p)
    cdef uint64_t size
    cdef uint32_t skip
    cdef const char* other
    if AMQP_UNLIKELY(left >= FOREIGN_BYTES and p[0] >= FOREIGN_LEAST):  # a frame would have 256 MiB
        other = foreign_protocol(p, left)
        if other != NULL:
            if other[0] == 0:
                return SCAN_MORE
            memset(f, 0, sizeof(Fault))
            f.code = V1_BAD_TYPE
            f.scope = SCOPE_CONNECTION
            f.offset = offset
            f.what = other
            return SCAN_BAD
    if left < 8:
        return SCAN_MORE
    if AMQP_UNLIKELY(p[0] == c'A') and memcmp(p, <const char*>b"AMQP", 4) == 0:
        out.type = V1_FRAME_HEADER
        out.channel = 0
        out.payload = p + 4
        out.size = 4
        out.total = 8
        return SCAN_FRAME
    size = load32(p)
    skip = 4 * <uint32_t>p[4]
    if AMQP_UNLIKELY(size < 8):
        return v1_scan_bad(f, V1_BAD_ENVELOPE, SCOPE_CONNECTION, offset,
                           b"the size of a frame is at least 8", size, 0, p)
    if AMQP_UNLIKELY(skip < 8):
        return v1_scan_bad(f, V1_BAD_ENVELOPE, SCOPE_CONNECTION, offset + 4,
                           b"the data offset of a frame is at least 2", p[4], 0, p)
    if AMQP_UNLIKELY(skip > size):
        return v1_scan_bad(f, V1_BAD_ENVELOPE, SCOPE_CONNECTION, offset + 4,
                           b"the data offset of a frame lies inside of it", p[4], 0, p)
    if AMQP_UNLIKELY(limit != 0 and size > limit):
        return v1_scan_bad(f, BAD_FRAME_SIZE, SCOPE_CONNECTION, offset, NULL, size, limit, p)
    if left < size:
        return SCAN_MORE
    out.type = p[5]
    out.channel = load16(p + 6)
    out.payload = p + skip
    out.size = <uint32_t>(size - skip)
    out.total = size
    if AMQP_UNLIKELY(p[5] > V1_FRAME_SASL):
        return v1_scan_bad(f, V1_BAD_TYPE, SCOPE_FRAME, offset + 5, NULL, 0, 0, p)
    return SCAN_FRAME


cdef int v1_bad_descriptor(Cursor* c, const uint8_t* start, const V1Desc* d, bint amqp) noexcept nogil:
    """Note that a frame's body, from start on, is no performative of its layer. d: what it is instead, or
    NULL; then the cursor is at the descriptor."""
    cdef V1Value v
    cdef Fault none
    cdef Cursor at = c[0]
    cdef uint64_t code = 0
    if d != NULL:
        code = d.code
    else:
        none.code = OK
        at.fault = &none
        if v1_read(&at, &v) < 0:
            return v1_read(c, &v)       # once more, with the frame's own fault
        if v.wire_type == V1_ULONG:
            code = v.u
    c.p = start
    return fail(c, V1_BAD_DESCRIPTOR, b"performative" if amqp else b"SASL performative", code, 0)
