# Rows in the order of their packets: those that may still come after another one wait, within a window.
#
# A direction keeps the order of its bytes, also where its packets were captured out of order: a row counts
# as sent no sooner than the one before it (put_in_turn). Slots of files are in the order of the files.
#
# Rows are made when their last byte was read. What another direction, a gap or a message that is open may
# still make a row of says up to where the order is known: see order_known_to.

cdef enum:
    ORDER_ROWS = 1 << 16            # rows that may wait for one that comes before them
    ORDER_BYTES = 1 << 23           # and bytes of them
    ORDER_LEAST = 1 << 11           # rows that are put in order at once
    ORDER_LEAST_BYTES = 1 << 18     # and bytes


cdef inline bint is_place_before(const Place* a, const Place* b) noexcept nogil:
    if a.at != b.at and a.file == b.file:
        return a.at < b.at
    return a.position < b.position if a.file == b.file else a.file < b.file


cdef inline void place_of(const CapRow* row, int64_t index, Place* out) noexcept nogil:
    out.file = row.order_file
    out.at = row.order_at
    out.position = row.order_position
    out.index = <int32_t>index


cdef void take_lower(Reading* r, Place* low, int32_t file, uint64_t at, int32_t position) noexcept nogil:
    """Rows may come from here on; where later ones went out already, they will be late in any case."""
    cdef Place here
    here.file = file
    here.at = at
    here.position = position
    if is_place_before(&r.floor, &here) and is_place_before(&here, low):
        low[0] = here


cdef inline void take_lower_mark(Reading* r, const Half* h, const Mark* mark, Place* low) noexcept nogil:
    """A row of this packet may come; it stands after those of the direction that came already."""
    cdef Place here, last
    here.file = mark.file
    here.at = mark.file_at
    here.position = mark.rows
    last.file = h.last_file
    last.at = h.last_at
    last.position = h.last_position
    if not is_place_before(&last, &here):
        here = last
        here.position += 1
    take_lower(r, low, here.file, here.at, here.position)


cdef void order_of_half(Reading* r, const Half* h, Place* low) noexcept nogil:
    cdef const Mark* end = <const Mark*>h.marks.p + h.n_marks
    cdef const Mark* mark
    cdef const Open* o = h.open
    cdef int i
    if h.n:
        mark = <const Mark*>h.marks.p + h.mark
        while mark + 1 < end and mark[1].at <= h.base:
            mark += 1
        take_lower_mark(r, h, mark, low)
    if h.n_waiting:
        if h.n_marks:       # a gap is told of where the bytes before it were sent
            take_lower_mark(r, h, end - 1, low)
        for i in range(h.n_waiting):
            take_lower_mark(r, h, &(<Piece**>h.heap.p)[i].mark, low)
    while o != NULL:
        take_lower(r, low, o.row.order_file, o.row.order_at, o.row.order_position)
        o = o.next


cdef void order_known_to(Reading* r, Place* low) noexcept nogil:
    """The first place of which a row may still come, but for places of packets that were not read."""
    cdef Conn* c = r.holder
    cdef Conn* after
    low.file = 0x7FFFFFFF
    low.at = 0
    low.position = 0
    while c != NULL:
        after = c.holder
        if half_holds(&c.half[0]) or half_holds(&c.half[1]):
            order_of_half(r, &c.half[0], low)
            order_of_half(r, &c.half[1], low)
        else:
            unlink_holder(r, c)
        c = after


cdef void merge_places(const Place* a, size_t n, const Place* b, size_t m, Place* out) noexcept nogil:
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
        memcpy(out, a + i, (n - i) * sizeof(Place))
    elif j < m:
        memcpy(out, b + j, (m - j) * sizeof(Place))


cdef size_t run_length(const Place* p, size_t n) noexcept nogil:
    cdef size_t i = 1
    while i < n and not is_place_before(&p[i], &p[i - 1]):
        i += 1
    return min(i, n)


cdef Place* sort_places(Place* p, Place* spare, size_t n) noexcept nogil:
    """Natural merge sort: where in the two the result is."""
    cdef Place* other
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


cdef Place* places_in_order(Reading* r) noexcept nogil:
    """The rows' places in order: those that were held back, those in order since, and the few between."""
    cdef size_t n = <size_t>r.rows.n, held = <size_t>r.n_sorted, n_main = 0, n_side = 0, i
    cdef const CapRow* row = <const CapRow*>r.rows.row.p
    cdef Place* main
    cdef Place* side
    cdef Place* spare
    cdef Place* out
    if r.places.room < 4 * n * sizeof(Place) and block_room(&r.places, 0, 4 * n * sizeof(Place)) < 0:
        return NULL
    main = <Place*>r.places.p
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
    spare = <Place*>r.places.p + n if side != <Place*>r.places.p + n else <Place*>r.places.p + 2 * n
    merge_places(main, n_main, side, n_side, spare)
    merge_places(<Place*>r.places.p, held, spare, n - held, out)
    return out


cdef bint is_in_order(const CapRows* o) noexcept nogil:
    cdef const CapRow* row = <const CapRow*>o.row.p
    cdef Place a, b
    cdef int64_t i
    for i in range(1, o.n):
        if row[i].order_at > row[i - 1].order_at and row[i].order_file == row[i - 1].order_file:
            continue
        place_of(&row[i - 1], 0, &a)
        place_of(&row[i], 0, &b)
        if is_place_before(&b, &a):
            return False
    return True


cdef int more_rows(CapRows* o, int64_t n, size_t size) noexcept nogil:
    """Room for n more rows with so many bytes in all."""
    cdef size_t have = <size_t>o.n, all_ = <size_t>(o.n + n)
    if o.data.room < o.used + size + 64:
        if block_room(&o.data, o.used, max(o.used + o.used // 2, max(o.used + size + 64, o.hint))) < 0:
            return NO_MEMORY
    if o.end.room < 8 * (all_ + 1) and block_room(&o.end, 8 * (have + 1) if have else 0, 16 * all_ + 8192) < 0:
        return NO_MEMORY
    if o.lost.room < 8 * all_ and block_room(&o.lost, 8 * have, 16 * all_ + 8192) < 0:
        return NO_MEMORY
    if o.row.room < all_ * sizeof(CapRow):
        return block_room(&o.row, have * sizeof(CapRow), (2 * all_ + 128) * sizeof(CapRow))
    return 0


cdef void copy_rows(const CapRows* from_, int64_t first, int64_t n, CapRows* to) noexcept nogil:
    """Rows that lie together, after those that are there; there is room."""
    cdef const int64_t* end = <const int64_t*>from_.end.p + first
    cdef int64_t* to_end = <int64_t*>to.end.p + to.n
    cdef int64_t shift = <int64_t>to.used - end[0]
    cdef size_t size = <size_t>(end[n] - end[0])
    cdef int64_t i
    memcpy(<CapRow*>to.row.p + to.n, <const CapRow*>from_.row.p + first, <size_t>n * sizeof(CapRow))
    memcpy(<uint64_t*>to.lost.p + to.n, <const uint64_t*>from_.lost.p + first, 8 * <size_t>n)
    if size:
        memcpy(to.data.p + to.used, from_.data.p + end[0], size)
    for i in range(n + 1):
        to_end[i] = end[i] + shift
    to.used += size
    to.n += n


cdef int gather_rows(const CapRows* from_, const Place* place, int64_t n, CapRows* to) noexcept nogil:
    """Rows in the order of these places, or where there are none as they lie."""
    cdef const int64_t* end = <const int64_t*>from_.end.p
    cdef int64_t i, k, first
    cdef size_t size = 0
    to.versions |= from_.versions
    if place == NULL:
        if more_rows(to, n, <size_t>end[n]) < 0:
            return NO_MEMORY
        copy_rows(from_, 0, n, to)
        return 0
    for i in range(n):
        size += <size_t>(end[place[i].index + 1] - end[place[i].index])
    if more_rows(to, n, size) < 0:
        return NO_MEMORY
    i = 0
    while i < n:
        first = place[i].index
        k = 1
        while i + k < n and place[i + k].index == first + k:
            k += 1
        copy_rows(from_, first, k, to)
        i += k
    return 0


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
            number = note_info(&r.infos, <const CapInfo*>old.block.p + row[i].info)
            if number < 0:
                status = NO_MEMORY
                break
            known[row[i].info] = number + 1
        row[i].info = known[row[i].info] - 1
    free(known)
    block_give(&old.block)
    return status


cdef int64_t places_before(const Place* place, int64_t n, const Place* low) noexcept nogil:
    cdef int64_t from_ = 0, to = n, i
    while from_ < to:
        i = (from_ + to) >> 1
        if is_place_before(&place[i], low):
            from_ = i + 1
        else:
            to = i
    return from_


cdef void flag_late(Reading* r, int64_t first) noexcept nogil:
    """Of the rows that became ready, from `first` on: those before which later ones went out."""
    cdef CapRow* row = <CapRow*>r.ready.row.p
    cdef Place place
    cdef int64_t i
    for i in range(first, r.ready.n):
        place_of(&row[i], 0, &place)
        if not is_place_before(&place, &r.floor):
            break
        row[i].flags |= CAPTURED_LATE
    place_of(&row[r.ready.n - 1], 0, &place)
    if is_place_before(&r.floor, &place):
        r.floor = place


cdef inline bint is_ready(const Reading* r) noexcept nogil:
    """Whether a batch is full, or a part of the rows that are ready went out."""
    return r.ready.n >= r.batch_rows or r.ready.used >= BATCH_BYTES or r.ready.first != 0


cdef void next_look(Reading* r, bint again) noexcept nogil:
    """When the rows that wait are looked at next: while they are in the processor's cache; but where little
    became ready not before there are twice as many, and not so often that connections count."""
    cdef int64_t least_rows = ORDER_LEAST + r.n_conns, least_bytes = ORDER_LEAST_BYTES + 128 * <int64_t>r.n_conns
    cdef int64_t n = r.rows.n, used = <int64_t>r.rows.used
    if again:
        r.full_rows = max(n + least_rows, min(2 * n, <int64_t>ORDER_ROWS))
        r.full_bytes = <size_t>max(used + least_bytes, min(2 * used, <int64_t>ORDER_BYTES))
    else:
        r.full_rows = max(least_rows, n + ORDER_LEAST // 2)
        r.full_bytes = <size_t>max(least_bytes, used + ORDER_LEAST_BYTES // 2)


cdef int order_rows(Reading* r, bint all_) noexcept nogil:
    """Move rows whose order is known to r.ready, no more than a batch takes. all_: whether known or not."""
    cdef CapRows whole
    cdef Place low, last
    cdef Place* place = NULL
    cdef int64_t n = r.rows.n, split = n, before = r.ready.n
    cdef int64_t room = max(r.batch_rows, <int64_t>ORDER_LEAST) - before
    low.file = 0x7FFFFFFF
    low.at = 0
    low.position = 0
    if not all_:
        order_known_to(r, &low)
    place_of(<CapRow*>r.rows.row.p + n - 1, 0, &last)
    if n > room or not is_in_order(&r.rows) or not is_place_before(&last, &low):
        place = places_in_order(r)
        if place == NULL:
            return NO_MEMORY
        split = places_before(place, n, &low)
        if split < n // 2 and (n >= ORDER_ROWS or r.rows.used >= ORDER_BYTES):
            split = (n + 1) // 2
        split = max(min(split, room), <int64_t>0)
    if split and gather_rows(&r.rows, place, split, &r.ready) < 0:
        return NO_MEMORY
    if split == n:
        rows_clear(&r.rows)
    elif split:
        rows_clear(&r.spare)
        if gather_rows(&r.rows, place + split, n - split, &r.spare) < 0:
            return NO_MEMORY
        whole = r.rows
        r.rows = r.spare
        r.spare = whole
        if r.spare.data.room > 1 << 20:     # memory for once
            rows_free(&r.spare)
            memset(&r.spare, 0, sizeof(CapRows))
    r.n_sorted = n - split if split else 0
    next_look(r, split < n // 2)
    if split:
        flag_late(r, before)
    if all_ and split == n:
        r.floor.file = -1       # what is read next is by itself
    return 0
