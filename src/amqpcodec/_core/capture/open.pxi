# Methods whose content has not come yet, or not all of it, by channel; deliveries of 1.0 that more is to come of.

cdef enum:
    MESSAGE_LIMIT = 1 << 26         # bytes of a message that the reader joins, at most
    OPEN_LIMIT = 1 << 27            # bytes of all that are open


cdef void drop_open(Reading* r, Half* h, Open* o) noexcept nogil:
    cdef Open** at = &h.open
    while at[0] != o:
        at = &at[0].next
    at[0] = o.next
    h.n_open -= 1
    r.level.open_bytes -= o.n
    block_give(&o.data)
    free(o)


cdef inline Open* find_open(Half* h, uint16_t channel) noexcept nogil:
    cdef Open* o = h.open
    while o != NULL and o.channel != channel:
        o = o.next
    return o


cdef void free_messages(Reading* r, Half* h) noexcept nogil:
    while h.open != NULL:
        drop_open(r, h, h.open)


cdef int extend_open(Reading* r, Open* o, const uint8_t* p, size_t n, const CapRow* place,
                     uint8_t flags) noexcept nogil:
    if bytes_add(&o.data, &o.n, p, n) < 0:
        return NO_MEMORY
    o.flags |= flags
    o.row.last_time = place.last_time
    r.level.open_bytes += n
    return 0


cdef int open_message(Reading* r, Half* h, const uint8_t* p, size_t n, const CapRow* place,
                      uint8_t flags) noexcept nogil:
    cdef Open* o = <Open*>calloc(1, sizeof(Open))
    if o == NULL:
        return NO_MEMORY
    o.channel = load16(p + 1)
    o.row = place[0]
    o.next = h.open
    h.open = o
    h.n_open += 1
    return extend_open(r, o, p, n, place, flags)
