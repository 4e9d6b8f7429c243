# Segments that came too early: a heap for each direction, by position and then by arrival.

cdef enum:
    PIECE_COST = 64                 # bytes beside its data that a segment counts as


cdef inline Piece* first_waiting(const Half* h) noexcept nogil:
    """The one that the stream goes on with; NULL where none waits."""
    return (<Piece**>h.waiting.heap.p)[0] if h.waiting.n else NULL


cdef inline bint is_piece_before(const Piece* a, const Piece* b) noexcept nogil:
    return a.at < b.at or (a.at == b.at and a.turn < b.turn)


cdef int compare_pieces(const void* a, const void* b) noexcept nogil:
    return -1 if is_piece_before((<Piece* const*>a)[0], (<Piece* const*>b)[0]) else 1


cdef inline void sort_pieces(Half* h) noexcept nogil:
    """Whoever looks at them in order: an array in order is a heap, too."""
    if h.waiting.n > 1:
        qsort(h.waiting.heap.p, h.waiting.n, sizeof(Piece*), compare_pieces)


cdef int push_piece(Reading* r, Half* h, Piece* piece) noexcept nogil:
    """Takes the piece over."""
    cdef size_t i = h.waiting.n, up
    cdef Piece** heap
    if items_add(&h.waiting.heap, &h.waiting.n, sizeof(Piece*)) == NULL:
        free(piece)
        return NO_MEMORY
    heap = <Piece**>h.waiting.heap.p
    h.turn += 1
    piece.turn = h.turn
    while i:
        up = (i - 1) >> 1
        r.reorder_steps += 1
        if not is_piece_before(piece, heap[up]):
            break
        heap[i] = heap[up]
        i = up
    heap[i] = piece
    h.waiting.held += piece.n + PIECE_COST
    r.conns.held += piece.n + PIECE_COST
    return 0


cdef inline void drop_piece(Reading* r, Half* h) noexcept nogil:
    """The first one."""
    cdef Piece* piece = first_waiting(h)
    pop_piece(r, h)
    free(piece)


cdef void pop_piece(Reading* r, Half* h) noexcept nogil:
    """Take the first one out of the heap; the caller has it."""
    cdef Piece** heap = <Piece**>h.waiting.heap.p
    cdef Piece* piece = heap[0]
    cdef Piece* last
    cdef size_t i = 0, down = 1, n
    h.waiting.n -= 1
    h.waiting.held -= piece.n + PIECE_COST
    r.conns.held -= piece.n + PIECE_COST
    n = h.waiting.n
    if n == 0:
        block_give(&h.waiting.heap)
        return
    last = heap[n]
    while down < n:
        r.reorder_steps += 2
        if down + 1 < n and is_piece_before(heap[down + 1], heap[down]):
            down += 1
        if not is_piece_before(heap[down], last):
            break
        heap[i] = heap[down]
        i = down
        down = 2 * i + 1
    heap[i] = last


cdef int hold_back(Reading* r, Half* h, const uint8_t* p, uint32_t n, int64_t at, const Mark* mark,
                   uint32_t ack) noexcept nogil:
    cdef Piece* piece = <Piece*>malloc(sizeof(Piece) + n)
    if piece == NULL:
        return NO_MEMORY
    piece.at = at
    piece.n = n
    piece.ack = ack
    piece.mark = mark[0]
    memcpy(piece + 1, p, n)
    return push_piece(r, h, piece)


cdef inline bint is_too_much(const Reading* r, const Half* h) noexcept nogil:
    """Whether more waits than may."""
    return (h.waiting.held > r.limits.hold or r.conns.held > r.limits.hold_total
            or <int64_t>h.waiting.n > r.limits.hold_pieces)
