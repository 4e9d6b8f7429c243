# Where frames are in the input, of both families.

cdef const uint8_t* find_unusual_frame(Sink* s, Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The frame at p, of either family, whatever it is: where the next one starts."""
    cdef WireFrame f
    cdef Fault fault
    cdef bint v1 = s.protocol.v1 != NULL
    cdef int found = v1_scan(p, end, 0, 0, &f, &fault) if v1 else scan_frame(p, end, 0, 0, 0, &f, &fault)
    e.way = 0
    e.lost = 0
    e.broken = False
    e.no_channel = False
    if found == SCAN_FRAME:
        e.way = FRAME_V1 if v1 else 0
        e.type = FRAME_HEARTBEAT if v1 and f.size == 0 and f.type == V1_FRAME_AMQP else f.type
        e.channel = f.channel
        e.total = f.total
        return p + f.total
    s.unusual_block = True
    e.broken = BROKEN_TYPE
    e.type = 0xFF if v1 else 0
    e.channel = 0
    if found == SCAN_BAD and fault.scope == SCOPE_FRAME:
        e.channel = f.channel       # the type is undefined, the frame is not
        e.total = f.total
        return p + f.total
    e.broken = BROKEN_LOST
    e.total = <uint64_t>(end - p)
    e.no_channel = e.total < (8 if v1 else 7) or (p[5] > V1_FRAME_SASL if v1 else not is_known_type(p[0]))
    if not e.no_channel:
        e.type = p[5] if v1 else p[0]
        e.channel = load16(p + (6 if v1 else 1))
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
    return find_unusual_frame(s, e, p, end)


cdef inline const uint8_t* find_v1_frame(Sink* s, Entry* e, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """As find_frame."""
    cdef uint64_t head, total
    e.start = p
    if AMQP_LIKELY(end - p >= 8):
        head = load64(p)            # size, data offset, type, channel
        total = head >> 32
        # The letters of a protocol header would be a size, too.
        if AMQP_LIKELY(8 < total <= <uint64_t>(end - p) and (head >> 16 & 0xFFFE) == 0x0200
                       and total != 0x414D5150):
            e.total = total
            e.type = <uint8_t>(head >> 16) & 1
            e.way = FRAME_V1
            e.channel = <uint16_t>head
            e.lost = 0
            e.broken = False
            e.no_channel = False
            return p + total
    return find_unusual_frame(s, e, p, end)
