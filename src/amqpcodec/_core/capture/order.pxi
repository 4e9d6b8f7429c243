# Rows in the order of their packets: those that may still come after another one wait, within a window.
#
# A direction keeps the order of its bytes, also where its packets were captured out of order: a row counts
# as sent no sooner than the one before it (place_in_turn).
#
# Rows are made when their last byte was read. What another direction, a gap or a message that is open may
# still make a row of says up to where the order is known: see order_known_to.
#
# Rows stay where they were made, in `rows`: only the few that are out of order change places. When a batch is
# full, all of them become `going`, and those whose place is not known yet, or that fill no batch, are copied to new
# `rows`.

cdef enum:
    ORDER_ROWS = 1 << 16            # rows that may wait for one that comes before them
    ORDER_BYTES = 1 << 23           # and bytes of them
    ORDER_LEAST = 1 << 11           # rows that are put in order at once
    ORDER_LEAST_BYTES = 1 << 18     # and bytes

cdef uint64_t LAST_TURN = <uint64_t>1 << 62     # after all packets


cdef inline bint is_place_before(const RowPlace* a, const RowPlace* b) noexcept nogil:
    return a.turn < b.turn or (a.turn == b.turn and a.position < b.position)


cdef inline void place_of(const CapRow* row, int64_t index, RowPlace* out) noexcept nogil:
    out.turn = row.order_turn
    out.position = row.order_position
    out.index = <int32_t>index


cdef void lower_place(Reading* r, RowPlace* low, uint64_t turn, int32_t position) noexcept nogil:
    """Rows may come from here on; where later ones went out already, they will be late in any case."""
    cdef RowPlace here
    here.turn = turn
    here.position = position
    if is_place_before(&r.out.floor, &here) and is_place_before(&here, low):
        low[0] = here


cdef inline void lower_place_to_mark(Reading* r, const Half* h, const Mark* mark, RowPlace* low) noexcept nogil:
    """A row of this packet may come; it stands after those of the direction that came already."""
    if mark.turn < h.last_turn or (mark.turn == h.last_turn and mark.rows <= h.last_position):
        lower_place(r, low, h.last_turn, h.last_position + 1)
    else:
        lower_place(r, low, mark.turn, mark.rows)


cdef void order_of_half(Reading* r, const Half* h, RowPlace* low) noexcept nogil:
    cdef const Mark* end = <const Mark*>h.marks.block.p + h.marks.n
    cdef const Mark* mark
    cdef const Open* o = h.open
    cdef size_t i
    if h.input.n:
        mark = <const Mark*>h.marks.block.p + h.marks.at
        while mark + 1 < end and mark[1].at <= h.input.base:
            mark += 1
        lower_place_to_mark(r, h, mark, low)
    if h.waiting.n:
        if h.marks.n:       # the row of a gap has the place of the bytes before it
            lower_place_to_mark(r, h, end - 1, low)
        for i in range(h.waiting.n):
            lower_place_to_mark(r, h, &(<Piece**>h.waiting.heap.p)[i].mark, low)
    while o != NULL:
        lower_place(r, low, o.row.order_turn, o.row.order_position)
        o = o.next


cdef void order_of_translated(Reading* r, RowPlace* low) noexcept nogil:
    cdef Translated* t
    cdef int i, side
    if r.conns.translations.bytes == 0:
        return
    for i in range(TRANSLATED_BUCKETS):
        t = r.conns.translations.bucket[i]
        while t != NULL:
            for side in range(2):
                if t.half[side].first != NULL:
                    lower_place(r, low, t.half[side].first.mark.turn, 0)
            t = t.bucket


cdef void order_known_to(Reading* r, RowPlace* low) noexcept nogil:
    """The first place of which a row may still come, but for places of packets that were not read."""
    cdef Conn* c = r.conns.holder
    cdef Conn* after
    low.turn = LAST_TURN
    low.position = 0
    order_of_translated(r, low)
    while c != NULL:
        after = c.holder
        if half_holds(&c.half[0]) or half_holds(&c.half[1]) or c.end.pending:
            order_of_half(r, &c.half[0], low)
            order_of_half(r, &c.half[1], low)
            if c.end.pending:
                lower_place_to_mark(r, &c.half[c.end.side], &c.end.mark, low)
        else:
            unlink_holder(r, c)
        c = after


cdef void merge_places(const RowPlace* a, size_t n, const RowPlace* b, size_t m, RowPlace* out) noexcept nogil:
    """Two that are in order."""
    cdef size_t i = 0, j = 0
    while i < n and j < m:
        if is_place_before(&b[j], &a[i]):
            out[0] = b[j]
            j += 1
        else:
            out[0] = a[i]
            i += 1
        out += 1
    if i < n:
        memcpy(out, a + i, (n - i) * sizeof(RowPlace))
    elif j < m:
        memcpy(out, b + j, (m - j) * sizeof(RowPlace))


cdef size_t run_length(const RowPlace* p, size_t n) noexcept nogil:
    cdef size_t i = 1
    while i < n and not is_place_before(&p[i], &p[i - 1]):
        i += 1
    return min(i, n)


cdef RowPlace* sort_places(RowPlace* p, RowPlace* spare, size_t n) noexcept nogil:
    """Natural merge sort: where in the two the result is."""
    cdef RowPlace* other
    cdef size_t at, first, second
    while run_length(p, n) < n:
        at = 0
        while at < n:
            first = run_length(p + at, n - at)
            second = run_length(p + at + first, n - at - first) if at + first < n else 0
            merge_places(p + at, first, p + at + first, second, spare + at)
            at += first + second
        other = p
        p = spare
        spare = other
    return p


cdef RowPlace* places_in_order(Reading* r) noexcept nogil:
    """The places, in order, of the rows that wait: those that are sorted, those in order since, and the few
    between. Indices are from the first of them on."""
    cdef size_t n = <size_t>(r.rows.n - r.rows.ready), n_main = 0, n_side = 0, i
    cdef size_t held = <size_t>(r.rows.sorted - r.rows.ready)
    cdef const CapRow* row = <const CapRow*>r.rows.row.p + r.rows.ready
    cdef RowPlace* main
    cdef RowPlace* side
    cdef RowPlace* spare
    cdef RowPlace* out
    if block_room(&r.out.places, 0, 4 * n * sizeof(RowPlace)) < 0:
        return NULL
    main = <RowPlace*>r.out.places.p
    side = main + n
    spare = side + n
    out = spare + n
    for i in range(held):
        place_of(&row[i], <int64_t>i, &main[i])
    main += held
    for i in range(held, n):
        place_of(&row[i], <int64_t>i, &main[n_main])
        if n_main and is_place_before(&main[n_main], &main[n_main - 1]):
            if n_main == 1 or not is_place_before(&main[n_main], &main[n_main - 2]):
                # The one before came early, rather than this one late.
                side[n_side] = main[n_main - 1]
                main[n_main - 1] = main[n_main]
            else:
                side[n_side] = main[n_main]
            n_side += 1
        else:
            n_main += 1
    side = sort_places(side, spare, n_side)
    if held == 0:
        merge_places(main, n_main, side, n_side, out)
        return out
    spare = <RowPlace*>r.out.places.p + n
    if side == spare:
        spare += n
    merge_places(main, n_main, side, n_side, spare)
    merge_places(<RowPlace*>r.out.places.p, held, spare, n - held, out)
    return out


cdef inline size_t rows_size(const CapRows* o, int64_t first, int64_t n) noexcept nogil:
    """Bytes of n rows."""
    cdef const int64_t* end = <const int64_t*>o.end.p + first
    return <size_t>(end[n] - end[0])


cdef void copy_rows_to(const CapRows* from_, int64_t first, int64_t n, CapRows* to, int64_t at,
                       int64_t bytes_at) noexcept nogil:
    """n rows that lie together, as row `at` and those that follow; their bytes from `bytes_at` on. There is room."""
    cdef const int64_t* end = <const int64_t*>from_.end.p + first
    cdef int64_t* to_end = <int64_t*>to.end.p + at
    cdef int64_t begin = end[0], shift = bytes_at - begin, i
    cdef size_t size = <size_t>(end[n] - begin)
    memmove(<CapRow*>to.row.p + at, <const CapRow*>from_.row.p + first, <size_t>n * sizeof(CapRow))
    memmove(<uint64_t*>to.lost.p + at, <const uint64_t*>from_.lost.p + first, 8 * <size_t>n)
    memmove(to_end + 1, end + 1, 8 * <size_t>n)
    if size:
        memmove(to.data.p + bytes_at, from_.data.p + begin, size)
    to_end[0] = bytes_at
    for i in range(1, n + 1):
        to_end[i] += shift


cdef void copy_rows(const CapRows* from_, int64_t first, int64_t n, CapRows* to) noexcept nogil:
    """Rows that lie together, after those that are there; there is room."""
    cdef size_t size = rows_size(from_, first, n)
    copy_rows_to(from_, first, n, to, to.n, <int64_t>to.used)
    to.used += size
    to.n += n


cdef inline int64_t run_of(const RowPlace* place, int64_t n) noexcept nogil:
    """How many of n > 0 rows lie one after the other."""
    cdef int64_t k = 1
    while k < n and place[k].index == place[0].index + k:
        k += 1
    return k


cdef int arrange_rows(CapRows* o, const RowPlace* place, int64_t n, int64_t start, CapRows* aside) noexcept nogil:
    """Put n rows, from row `start` on, in the order of these places.

    The largest of the runs that stay together is moved; the others go aside, and from there to where they belong.
    """
    cdef int64_t i = 0, k, first, large = 0, large_n = 0, before, begin = (<const int64_t*>o.end.p)[start]
    cdef size_t size, largest = 0
    while i < n:
        k = run_of(place + i, n - i)
        size = rows_size(o, o.ready + place[i].index, k)
        if size >= largest:
            largest = size
            large = i
            large_n = k
        i += k
    if reserve_rows(aside, n - large_n, rows_size(o, start, n) - largest) < 0:
        return NO_MEMORY
    i = before = 0
    while i < n:
        k = run_of(place + i, n - i)
        if i == large:
            before = <int64_t>aside.used
        else:
            copy_rows(o, o.ready + place[i].index, k, aside)
        i += k
    first = start + large
    copy_rows_to(o, o.ready + place[large].index, large_n, o, first, begin + before)
    copy_rows_to(aside, 0, large, o, start, begin)
    copy_rows_to(aside, large, n - large - large_n, o, first + large_n, begin + before + <int64_t>largest)
    aside.n = 0
    aside.used = 0
    return 0


cdef int sort_rows(Reading* r) noexcept nogil:
    """Put the rows that wait in order. What stands right already is not touched."""
    cdef CapRows* o = &r.rows
    cdef int64_t n = o.n - o.ready, i = 0, k, last
    cdef RowPlace* place = places_in_order(r)
    cdef int status = 0
    if place == NULL:
        return NO_MEMORY
    while i < n and status == 0:
        k = i
        last = place[i].index
        while k < last:
            k += 1
            last = max(last, <int64_t>place[k].index)
        if k > i:
            status = arrange_rows(o, place + i, k + 1 - i, o.ready + i, &r.out.rows)   # which is empty
        i = k + 1
    o.sorted = o.n
    o.disordered = False
    return status


cdef int forget_infos(Reading* r) noexcept nogil:
    """All that was ready went out: only what the rows that wait tell of is kept."""
    cdef CapInfos old = r.infos
    cdef CapRow* row = <CapRow*>r.rows.row.p
    cdef int32_t* known = NULL
    cdef int64_t i
    cdef int32_t number
    cdef int status = 0
    if r.rows.n == 0:
        r.infos.n = 0
        r.infos.batch += 1
        return 0
    known = <int32_t*>calloc(<size_t>old.n + 1, sizeof(int32_t))
    if known == NULL:
        return NO_MEMORY
    memset(&r.infos, 0, sizeof(CapInfos))
    r.infos.batch = old.batch + 1
    for i in range(r.rows.n):
        if known[row[i].info] == 0:
            number = add_info(&r.infos, <const CapInfo*>old.block.p + row[i].info)
            if number < 0:
                status = NO_MEMORY
                break
            known[row[i].info] = number + 1
        row[i].info = known[row[i].info] - 1
    free(known)
    block_give(&old.block)
    return status


cdef int64_t rows_before(const CapRows* o, const RowPlace* low) noexcept nogil:
    """How many rows, which are in order, stand before a place."""
    cdef const CapRow* row = <const CapRow*>o.row.p
    cdef int64_t from_ = o.ready, to = o.n, i
    cdef RowPlace place
    while from_ < to:
        i = (from_ + to) >> 1
        place_of(&row[i], i, &place)
        if is_place_before(&place, low):
            from_ = i + 1
        else:
            to = i
    return from_


cdef void flag_late(Reading* r, int64_t first, int64_t end) noexcept nogil:
    """Of the rows that became ready: those before which later ones went out."""
    cdef CapRow* row = <CapRow*>r.rows.row.p
    cdef RowPlace place
    cdef int64_t i
    for i in range(first, end):
        place_of(&row[i], i, &place)
        if not is_place_before(&place, &r.out.floor):
            break
        row[i].flags |= CAPTURED_LATE
    place_of(&row[end - 1], 0, &place)
    if is_place_before(&r.out.floor, &place):
        r.out.floor = place


cdef inline int64_t bytes_before(const CapRows* o, int64_t row) noexcept nogil:
    return (<const int64_t*>o.end.p)[row] if o.n else 0


cdef inline bint is_ready(const Reading* r) noexcept nogil:
    """Whether a batch is full, or a part of one went out."""
    return (r.out.rows.n != 0 or r.rows.ready >= r.out.batch_rows
            or (r.rows.ready != 0 and bytes_before(&r.rows, r.rows.ready) >= BATCH_BYTES))


cdef void next_look(Reading* r, bint again) noexcept nogil:
    """When the rows that wait are looked at next; where little became ready, not before there are twice as
    many, and not so often that connections count."""
    cdef int64_t least_rows = ORDER_LEAST + r.conns.n, least_bytes = ORDER_LEAST_BYTES + 128 * <int64_t>r.conns.n
    cdef int64_t before = bytes_before(&r.rows, r.rows.ready)
    cdef int64_t n = r.rows.n - r.rows.ready, used = <int64_t>r.rows.used - before
    if again:
        n = max(n + least_rows, min(2 * n, <int64_t>ORDER_ROWS))
        used = max(used + least_bytes, min(2 * used, <int64_t>ORDER_BYTES))
    else:
        n = max(least_rows, n + ORDER_LEAST // 2)
        used = max(least_bytes, used + ORDER_LEAST_BYTES // 2)
    r.out.full_rows = r.rows.ready + n
    r.out.full_bytes = <size_t>(before + used)


cdef inline int64_t whole_batches(const Reading* r, int64_t n) noexcept nogil:
    """So many of n rows that no small batch is left at their end."""
    return n if n <= r.out.batch_rows else n - n % r.out.batch_rows


cdef int order_rows(Reading* r, bint all_) noexcept nogil:
    """See which rows are ready: their place is known, and stays. all_: whether it is known or not."""
    cdef CapRows* o = &r.rows
    cdef RowPlace low
    cdef int64_t before = o.ready, split = o.n
    if o.disordered and sort_rows(r) < 0:
        return NO_MEMORY
    if not all_:
        order_known_to(r, &low)
        split = rows_before(o, &low)
    if split - before < (o.n - before) // 2 and (
            o.n - before >= ORDER_ROWS or <int64_t>o.used - bytes_before(o, before) >= ORDER_BYTES):
        split = before + (o.n - before + 1) // 2
    o.sorted = o.n
    o.ready = max(split, before)
    next_look(r, o.ready - before < (o.n - before) // 2)
    if o.ready > before:
        flag_late(r, before, o.ready)
    if all_ and o.ready == o.n:
        r.out.floor.turn = 0    # what is read next is by itself
    return 0


cdef int hand_over(Reading* r) noexcept nogil:
    """The rows that are ready are to go out, in whole batches; the others wait on. None goes out yet."""
    cdef CapRows whole = r.rows
    cdef int64_t going = whole_batches(r, whole.ready), waiting = whole.n - going
    r.rows = r.out.rows
    rows_clear(&r.rows)
    r.rows.hint = max(r.rows.hint, hint_after(&whole))
    r.rows.rows_hint = max(whole.n + whole.n // 16, whole.rows_hint - whole.rows_hint // 64)
    if waiting:
        if reserve_rows(&r.rows, waiting, whole.used - <size_t>bytes_before(&whole, going)) < 0:
            r.out.rows = r.rows
            r.rows = whole
            return NO_MEMORY
        copy_rows(&whole, going, waiting, &r.rows)
        r.rows.versions = whole.versions
        r.rows.ready = whole.ready - going
        r.rows.sorted = max(whole.sorted - going, <int64_t>0)
        r.rows.disordered = whole.disordered
    r.out.rows = whole
    r.out.rows.n = going
    r.out.rows.used = <size_t>bytes_before(&whole, going)
    r.out.full_rows -= going
    r.out.full_bytes -= r.out.rows.used
    return 0
