# Frames to columns, a block of them kind by kind: each column is written for all of its frames at once.
#
# Methods, content headers and bodies have columns of their own, so that in which order they are written
# makes no difference. All is checked as the fast way does it, frame for frame; where that would give up,
# what stands before this frame is made rows, and the frame is left to the usual way.

cdef extern from "columns/kinds.h" nogil:
    size_t PATTERN_ROOM
    int spot_texts(Spot* at, int n, uint8_t* data, size_t used, int32_t* ends)
    void spot_rests(const Spot* at, int n, uint8_t* data, size_t used, int32_t* ends)
    int spot_octets(Spot* at, int n, int32_t* out)
    int spot_moments(Spot* at, int n, int64_t* out)
    void spot_sizes(const Spot* at, int n, int64_t* out)
    int spot_ended(const Spot* at, int n)
    void spot_bits(const Spot* at, int n, uint8_t* bits)
    void spot_mark(uint8_t* valid, const uint8_t* bits, int n)
    int spot_tables(Spot* at, int n, int before, const Pattern* like, uint8_t* data, size_t used,
                    int32_t* ends)
    void pattern_learn(Pattern* like, const uint8_t* p, const uint8_t* end)


cdef int kind_column(Sink* s, Alike* kind, Column* c) noexcept nogil:
    """Begin to write a column: place for its rows, and for the octets of all frames. A status, or 0."""
    cdef int64_t row = s.kinds.base + kind.at[0].row
    cdef int64_t end = s.kinds.base + kind.at[kind.n - 1].row + 1
    cdef int status
    if end > c.rows and column_grow(c, end) < 0:
        return NO_MEMORY
    if c.kind != AS_TEXT:
        column_fill(c, end)
    else:
        if c.filled < row:
            column_fill(c, row)
        if c.used + s.kinds.octets >= c.full_at:
            status = data_grow(s.table, c, s.kinds.octets)
            if status < 0:
                return status
    s.kinds.column[s.kinds.n] = c
    s.kinds.of[s.kinds.n] = kind
    s.kinds.n += 1
    return 0


cdef inline int32_t* kind_ends(const Sink* s, const Column* c) noexcept nogil:
    return <int32_t*>c.fixed.p + s.kinds.base


cdef inline void kind_text(Sink* s, Text* text, Column* c) noexcept nogil:
    """Write behind what a column has. See text_begin."""
    text.block = &c.data
    text.w = c.data.p + c.used
    text.end = c.data.p + c.data.room
    text.input_end = s.input_end


cdef int kind_tables(Sink* s, Alike* kind, Column* c) noexcept nogil:
    """Tables as JSON; a status below 0, or 0. `used` moves on with them."""
    cdef Pattern* like = &s.kinds.pattern
    cdef Text text
    cdef Spot* at
    cdef size_t n
    cdef int i = 0, before, status
    while True:
        before = kind.at[max(i - 1, 0)].row
        n = s.kinds.octets + <size_t>(kind.n - i) * PATTERN_ROOM
        if c.used + n >= c.full_at:
            status = data_grow(s.table, c, n)
            if status < 0:
                return status
        if like.n:
            n = <size_t>i
            i += spot_tables(&kind.at[i], kind.n - i, before, like, c.data.p, c.used, kind_ends(s, c))
            if <size_t>i > n:
                like.misses = 0
                c.used = <size_t>kind_ends(s, c)[kind.at[i - 1].row + 1]
            if i == kind.n:
                return 0
        # This one is not like the others.
        at = &kind.at[i]
        n = load32(at.p)
        status = GIVE_UP
        if at.end - at.p - 4 >= <int64_t>n:
            kind_text(s, &text, c)
            status = hot_pairs(&text, at.p + 4, at.p + 4 + n, s.shapes, 1)
        if status != 0 or text.w - c.data.p > s.table.limit:
            kind.n = i
            return min(status, 0)
        pattern_learn(like, at.p + 4, at.p + 4 + n)
        at.p += 4 + n
        n = <size_t>(text.w - c.data.p)
        put_end(kind_ends(s, c), kind.at[max(i - 1, 0)].row, at.row, c.used, n)
        c.used = n
        i += 1
        if i == kind.n:
            return 0


cdef int kind_headers(Sink* s, Alike* kind) noexcept nogil:
    """Content headers whose flags are those of s.steps; a status below 0, or 0."""
    cdef const Step* step = s.steps
    cdef const Step* last = step + s.n_steps
    cdef Column* c
    cdef int status = 0
    if s.body_size != NULL:
        status = kind_column(s, kind, s.body_size)
        if status < 0:
            return status
        spot_sizes(kind.at, kind.n, <int64_t*>s.body_size.fixed.p + s.kinds.base)
    if not s.any_property and not s.check:
        return 0
    if s.properties != NULL:
        status = kind_column(s, kind, s.properties)
    while step < last and kind.n and status == 0:
        c = step.c
        status = kind_column(s, kind, c)
        if status < 0:
            return status
        if step.kind == W_SHORTSTR:
            kind.n = spot_texts(kind.at, kind.n, c.data.p, c.used, kind_ends(s, c))
        elif step.kind == W_TABLE:
            status = kind_tables(s, kind, c)
        elif step.kind == W_OCTET:
            kind.n = spot_octets(kind.at, kind.n, kind_ends(s, c))
        else:
            kind.n = spot_moments(kind.at, kind.n, <int64_t*>c.fixed.p + s.kinds.base)
        step += 1
    kind.n = spot_ended(kind.at, kind.n)
    return status


cdef int kind_methods(Sink* s, Alike* kind) noexcept nogil:
    """Methods; a status below 0, or 0."""
    cdef Text text
    cdef Column* c = s.arguments
    cdef const MethodPlan* m
    cdef size_t used
    cdef int i, status, before = kind.at[0].row
    if c != NULL:
        status = kind_column(s, kind, c)
        if status < 0:
            return status
        kind_text(s, &text, c)
        status = hot_arguments(s, s.kinds.plan, kind.at, kind.n, &text, kind_ends(s, c))
        if status < 0:
            return status
        kind.n = status
    c = s.method
    if c == NULL or kind.n == 0:
        return 0
    status = kind_column(s, kind, c)
    if status < 0:
        return status
    used = c.used
    for i in range(kind.n):
        m = s.kinds.plan[i]
        copy_piece(c.data.p + used, m.name, m.name_n)
        put_end(kind_ends(s, c), before, kind.at[i].row, used, used + m.name_n)
        before = kind.at[i].row
        used += m.name_n
    return 0


cdef void kind_rows(Sink* s, Alike* kind, int limit) noexcept nogil:
    """Make rows of the frames before row `limit`."""
    cdef uint64_t[3] bits       # of 128 rows, and up to 7 before them
    cdef Column* c
    cdef int i, row = kind.at[0].row
    while kind.n and kind.at[kind.n - 1].row >= limit:
        kind.n -= 1
    bits[0] = bits[1] = bits[2] = 0
    spot_bits(kind.at, kind.n, <uint8_t*>bits)
    if kind.n:
        row = kind.at[kind.n - 1].row + 1
    for i in range(s.kinds.n):
        c = s.kinds.column[i]
        if s.kinds.of[i] == kind:
            c.filled = s.kinds.base + row
            if c.kind == AS_TEXT:
                c.used = <size_t>kind_ends(s, c)[row]
            spot_mark(c.valid.p + (s.kinds.base >> 3), <uint8_t*>bits, (row + 7) >> 3)


cdef int take_kinds(Sink* s, const Entry* e, int n, int64_t row) noexcept nogil:
    """How many of n frames are rows now, from the first on; or a status below 0."""
    cdef Spot* method = s.kinds.kind[0].at
    cdef Spot* header = s.kinds.kind[1].at
    cdef Spot* body = s.kinds.kind[2].at
    cdef Spot* at
    cdef Alike* kind
    cdef const Desc* d
    cdef const MethodPlan* m = s.plan
    cdef uint32_t key
    cdef int k = 0, first = <int>(row & 7), status = 0
    cdef size_t octets = 0
    cdef bint ask = s.arguments == NULL or s.properties == NULL or s.payload == NULL
    while k < n:
        # Octets of the next block are asked for while columns are written, if these are.
        if AMQP_UNLIKELY(ask):
            AMQP_PREFETCH(e.start + AHEAD)
            AMQP_PREFETCH(e.start + AHEAD + 64)
            AMQP_PREFETCH(e.start + AHEAD + 128)
        if e.way == FRAME_BODY:
            at = body
            body += 1
            at.p = e.start + 7
        elif e.way == FRAME_METHOD:
            if AMQP_UNLIKELY(e.total < 12):
                break
            key = load32(e.start + 7)
            if AMQP_UNLIKELY(key != s.key or m == NULL):
                d = find_method(s, key)
                if d == NULL:
                    break
                s.key = key
                s.plan = m = &s.methods[d - s.descs]
            at = method
            s.kinds.plan[at - s.kinds.kind[0].at] = m
            method += 1
            octets += m.name_n
            at.p = e.start + 11
        elif e.way == FRAME_HEADER:
            if AMQP_UNLIKELY(e.total < 22 or load64(e.start + 11) > HIGHEST_INT64):
                break
            key = <uint32_t>load16(e.start + 7) << 16 | load16(e.start + 19)
            if AMQP_UNLIKELY(key != s.steps_key or s.n_steps < 0):
                if header != s.kinds.kind[1].at or plan_properties(s, key) != 0:
                    break
            if AMQP_UNLIKELY(not s.steps_by_kind):
                s.by_kind = False       # nor are others with the columns that are asked for
                break
            at = header
            header += 1
            at.p = e.start + 21
        else:
            break
        at.end = e.start + e.total - 1
        at.row = first + k
        octets += e.total
        e += 1
        k += 1
    s.kinds.base = row - first
    s.kinds.octets = octets
    s.kinds.n = 0
    s.kinds.kind[0].n = <int>(method - s.kinds.kind[0].at)
    s.kinds.kind[1].n = <int>(header - s.kinds.kind[1].at)
    s.kinds.kind[2].n = <int>(body - s.kinds.kind[2].at)
    k += first              # the first row that is left out
    kind = &s.kinds.kind[1]
    n = kind.n
    if n:
        status = kind_headers(s, kind)
        if kind.n < n:
            k = kind.at[kind.n].row
    kind = &s.kinds.kind[0]
    n = kind.n
    if n and status == 0:
        status = kind_methods(s, kind)
        if kind.n < n:
            k = min(k, kind.at[kind.n].row)
    kind = &s.kinds.kind[2]
    if kind.n and status == 0 and s.payload != NULL:
        status = kind_column(s, kind, s.payload)
        if status == 0:
            spot_rests(kind.at, kind.n, s.payload.data.p, s.payload.used, kind_ends(s, s.payload))
    if AMQP_UNLIKELY(status == NO_MEMORY):
        return status
    if AMQP_UNLIKELY(status != 0):
        k = first           # a column is nearly full: frame by frame as far as it goes
    for n in range(3):
        kind_rows(s, &s.kinds.kind[n], k)
    return k - first
