# Deliveries of AMQP 1.0 that are not whole, by channel and handle.
#
# The input stays where it is until the end, so that what is open is a few pointers for each transfer.

cdef V1Links* v1_links_new() noexcept nogil:
    cdef V1Links* a = <V1Links*>calloc(1, sizeof(V1Links))
    if a == NULL:
        return NULL
    a.mask = 63
    a.factor = (<uint64_t><uintptr_t>a * <uint64_t>0x9E3779B97F4A7C15) | 1
    a.slot = <V1Slot*>calloc(64, sizeof(V1Slot))
    if a.slot == NULL or block_room(&a.open.items, 0, 16 * sizeof(V1Open)) < 0:
        free(a.slot)
        free(a)
        return NULL
    memset(a.open.items.p, 0, sizeof(V1Open))
    return a


cdef void v1_links_drop(V1Links* a) noexcept nogil:
    if a != NULL:
        free(a.slot)
        free(a.channel)
        block_give(&a.open.items)
        block_give(&a.pieces.items)
        block_give(&a.joined)
        free(a)


cdef inline V1Open* v1_open_at(V1Links* a, uint32_t k) noexcept nogil:
    return <V1Open*>a.open.items.p + k


cdef inline V1Piece* v1_piece_at(V1Links* a, uint32_t k) noexcept nogil:
    return <V1Piece*>a.pieces.items.p + k


cdef V1Slot* v1_slot(V1Links* a, uint64_t key) noexcept nogil:
    """The slot of a link, or the one that it may take."""
    cdef uint32_t i = <uint32_t>((key * a.factor) >> 32) & a.mask
    while a.slot[i].used and a.slot[i].key != key:
        i = (i + 1) & a.mask
    return &a.slot[i]


cdef int v1_slots_grow(V1Links* a) noexcept nogil:
    cdef V1Slot* old = a.slot
    cdef uint32_t i, n = a.mask
    a.slot = <V1Slot*>calloc(2 * (<size_t>n + 1), sizeof(V1Slot))
    if a.slot == NULL:
        a.slot = old
        return NO_MEMORY
    a.mask = 2 * n + 1
    a.used = 0
    for i in range(n + 1):
        if old[i].used and old[i].number:
            v1_slot(a, old[i].key)[0] = old[i]
            a.used += 1
    free(old)
    return 0


cdef uint32_t v1_find_open(V1Links* a, uint64_t key) noexcept nogil:
    """The number of what is open on a link, or 0."""
    return v1_slot(a, key).number if a.n_open else 0


cdef V1Open* v1_begin_open(V1Links* a, uint64_t key) noexcept nogil:
    """A delivery of which transfers are to come, or NULL."""
    cdef uint32_t k
    cdef V1Slot* slot
    cdef V1Open* o
    cdef uint32_t* first
    if a.channel == NULL:
        a.channel = <uint32_t*>calloc(65536, sizeof(uint32_t))
        if a.channel == NULL:
            return NULL
    if 2 * a.used > a.mask and v1_slots_grow(a) < 0:
        return NULL
    k = numbered_new(&a.open, sizeof(V1Open))
    if k == 0:
        return NULL
    slot = v1_slot(a, key)
    a.used += not slot.used
    slot.used = True
    slot.key = key
    slot.number = k
    o = v1_open_at(a, k)
    memset(o, 0, sizeof(V1Open))
    o.key = key
    o.before = v1_open_at(a, 0).before
    v1_open_at(a, o.before).after = k
    v1_open_at(a, 0).before = k
    first = &a.channel[key >> V1_KEY_CHANNEL]
    o.below = first[0]
    if o.below:
        v1_open_at(a, o.below).above = k
    first[0] = k
    a.n_open += 1
    return o


cdef void v1_drop_pieces(V1Links* a, V1Open* o) noexcept nogil:
    if o.first:
        numbered_free(&a.pieces, o.first, v1_piece_at(a, o.last))
        o.first = o.last = 0


cdef void v1_close_open(V1Links* a, V1Open* o) noexcept nogil:
    cdef uint32_t k = <uint32_t>(o - <V1Open*>a.open.items.p)
    v1_drop_pieces(a, o)
    v1_slot(a, o.key).number = 0
    v1_open_at(a, o.before).after = o.after
    v1_open_at(a, o.after).before = o.before
    if o.below:
        v1_open_at(a, o.below).above = o.above
    if o.above:
        v1_open_at(a, o.above).below = o.below
    else:
        a.channel[o.key >> V1_KEY_CHANNEL] = o.below
    numbered_free(&a.open, k, o)
    a.n_open -= 1


cdef int v1_add_piece(V1Links* a, V1Open* o, const Entry* e, const uint8_t* payload) noexcept nogil:
    cdef uint32_t k = numbered_new(&a.pieces, sizeof(V1Piece))
    cdef V1Piece* piece
    if k == 0:
        return NO_MEMORY
    piece = v1_piece_at(a, k)
    piece.frame = e[0]
    piece.payload = payload
    piece.n = <uint64_t>(e.start + e.total - payload)
    piece.next = 0
    if o.first:
        v1_piece_at(a, o.last).next = k
    else:
        o.first = k
    o.last = k
    o.have += piece.n
    o.n_bytes += e.total
    return 0


cdef void v1_close_channel(V1Links* a, uint16_t channel) noexcept nogil:
    """Drop what is open on a channel: by its end it is aborted."""
    if a.n_open:
        while a.channel[channel]:
            v1_close_open(a, v1_open_at(a, a.channel[channel]))


cdef void v1_close_all(V1Links* a) noexcept nogil:
    while a.n_open:
        v1_close_open(a, v1_open_at(a, v1_open_at(a, 0).after))
