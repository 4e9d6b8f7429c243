# Frame boundaries: type, channel, size, payload, frame end (0-9-1 §4.2.3; 7 bytes in all versions).

# Beyond this an undefined frame type is taken for a lost stream at once (it is hardly a frame).
cdef uint64_t UNDEFINED_TYPE_LIMIT = 1 << 20


cdef int scan_bad(Fault* f, int code, int scope, uint64_t offset, const uint8_t* p,
                  uint64_t need, uint64_t have, uint8_t byte) noexcept nogil:
    f.code = code
    f.scope = scope
    f.offset = offset
    f.need = need
    f.have = have
    f.byte = byte
    f.what = NULL
    f.in_frame = True
    f.frame_type = p[0]
    f.channel = load16(p + 1)
    return SCAN_BAD


cdef int scan_too_large(Fault* f, uint64_t offset, const uint8_t* p, uint64_t total, uint64_t limit,
                        const char* name) noexcept nogil:
    scan_bad(f, BAD_FRAME_SIZE, SCOPE_CONNECTION, offset, p, total, limit, 0)
    f.what = name
    return SCAN_BAD


cdef int scan_protocol_header(const uint8_t* p, size_t left, WireFrame* out) noexcept nogil:
    """"AMQP" and four bytes, where a frame's type would be 'A' (which no version defines)."""
    if left < 8:
        return SCAN_MORE
    out.type = c'A'
    out.channel = 0
    out.payload = p + 4
    out.size = 4
    out.total = 8
    return SCAN_FRAME


cdef int scan_undefined(const uint8_t* p, size_t left, uint64_t frame_max, uint64_t offset,
                        uint64_t total, WireFrame* out, Fault* f) noexcept nogil:
    """A type that no one defined: skipped as a frame if it ends like one, else the stream is lost."""
    cdef uint64_t limit = frame_max if frame_max != 0 else UNDEFINED_TYPE_LIMIT
    cdef const char* other = foreign_protocol(p, left)
    if other != NULL:
        if other[0] == 0:
            return SCAN_MORE
        scan_bad(f, BAD_FRAME_TYPE, SCOPE_CONNECTION, offset, p, 0, 0, p[0])
        f.what = other
        return SCAN_BAD
    if total > limit:
        return scan_bad(f, BAD_FRAME_TYPE, SCOPE_CONNECTION, offset, p, 0, 0, p[0])
    if left < total:
        return SCAN_MORE
    set_frame(out, p, total)
    if p[total - 1] != FRAME_END:
        return scan_bad(f, BAD_FRAME_TYPE, SCOPE_CONNECTION, offset, p, 0, 0, p[0])
    return scan_bad(f, BAD_FRAME_TYPE, SCOPE_FRAME, offset, p, 0, 0, p[0])
