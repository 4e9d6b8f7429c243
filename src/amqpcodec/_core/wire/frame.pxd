# What other files use of frame.pxi.

cdef enum:
    SCAN_MORE = 0
    SCAN_FRAME = 1
    SCAN_BAD = -1

# A whole frame in the input.
cdef struct WireFrame:
    uint8_t type
    uint16_t channel
    const uint8_t* payload
    uint32_t size           # of the payload
    uint64_t total          # bytes consumed, the envelope included

cdef inline bint is_known_type(uint8_t t) noexcept nogil:
    return t == FRAME_METHOD or t == FRAME_HEADER or t == FRAME_BODY or t == FRAME_HEARTBEAT

cdef int scan_bad(Fault* f, int code, int scope, uint64_t offset, const uint8_t* p,
                  uint64_t need, uint64_t have, uint8_t byte) noexcept nogil

cdef int scan_too_large(Fault* f, uint64_t offset, const uint8_t* p, uint64_t total, uint64_t limit,
                        const char* name) noexcept nogil

cdef inline int scan_frame(const uint8_t* p, const uint8_t* end, uint64_t frame_max, uint64_t header_max,
                           uint64_t offset, WireFrame* out, Fault* f) noexcept nogil:
    """Find the frame at p. frame_max: bytes, envelope included, 0 for no limit. header_max: the same for
    methods and content headers, which RabbitMQ does not split. offset: that of p.

    After SCAN_BAD with scope "frame" the frame is whole and `out.total` is set.
    """
    cdef size_t left = <size_t>(end - p)
    cdef uint64_t total
    if AMQP_UNLIKELY(left < 7):
        return SCAN_MORE
    total = <uint64_t>load32(p + 3) + 8
    if AMQP_UNLIKELY(not is_known_type(p[0])):
        if memcmp(p, <const char*>b"AMQP", 4) == 0:
            return scan_protocol_header(p, left, out)
        return scan_undefined(p, left, frame_max, offset, total, out, f)
    if AMQP_UNLIKELY(frame_max != 0 and total > frame_max):
        if p[0] != FRAME_METHOD and p[0] != FRAME_HEADER:
            return scan_too_large(f, offset, p, total, frame_max, b"frame_max")
        if header_max != 0 and total > header_max:
            return scan_too_large(f, offset, p, total, header_max, b"max_header_frame")
    if AMQP_UNLIKELY(left < total):
        return SCAN_MORE
    if AMQP_UNLIKELY(p[total - 1] != FRAME_END):
        return scan_bad(f, BAD_FRAME_END, SCOPE_CONNECTION, offset + total - 1, p, 0, 0, p[total - 1])
    set_frame(out, p, total)
    return SCAN_FRAME

cdef inline void set_frame(WireFrame* out, const uint8_t* p, uint64_t total) noexcept nogil:
    out.type = p[0]
    out.channel = load16(p + 1)
    out.payload = p + 7
    out.size = <uint32_t>(total - 8)
    out.total = total

cdef int scan_protocol_header(const uint8_t* p, size_t left, WireFrame* out) noexcept nogil

cdef int scan_undefined(const uint8_t* p, size_t left, uint64_t frame_max, uint64_t offset,
                        uint64_t total, WireFrame* out, Fault* f) noexcept nogil

cdef inline uint8_t* store_envelope(uint8_t* w, uint8_t frame_type, uint16_t channel,
                                    uint32_t size) noexcept nogil:
    """Seven bytes; the caller writes `size` bytes and FRAME_END after them."""
    w[0] = frame_type
    store16(w + 1, channel)
    store32(w + 3, size)
    return w + 7
