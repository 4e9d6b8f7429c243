# Frames to columns, on the fast path: one pass over frames in which nothing is unusual.
#
# Each reader falls back (FALLS_BACK, with nothing left written) at whatever is unusual: a fault, text
# that needs escapes, a key that comes twice. Then columns/rows.pxi does the
# frame on the slow path; a test holds both equal. Bytes up to COPY_SLACK after a frame can be read.

# ---- frames ----

cdef int fast_method(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """A method frame into method and arguments."""
    cdef const uint8_t* p = e.start + 11
    cdef const uint8_t* end = e.start + e.total - 1
    cdef const Desc* d
    cdef const MethodPlan* m
    cdef RowPlace at = place_of(row)
    cdef JsonText text
    cdef uint32_t key
    cdef int status
    cdef bint picked
    if AMQP_UNLIKELY(e.total < 12):
        return FALLS_BACK
    key = load32(e.start + 7)
    m = s.plan
    if key != s.key or m == NULL:
        d = find_method(s, key)
        if AMQP_UNLIKELY(d == NULL):
            return FALLS_BACK
        s.key = key
        s.plan = m = &s.protocol.methods[d - s.protocol.descs]
    picked = s.protocol.picked[m - s.protocol.methods]
    if picked or (s.options.check and s.asked[COL_ARGUMENTS] == NULL):
        status = fast_picks(s, m, p, end, at)
        if AMQP_UNLIKELY(status != 0):
            table_rewind(s.table, s.columns.picks, s.columns.wants, row)
            return status
    if s.asked[COL_ARGUMENTS] != NULL:
        status = text_begin(&text, s.asked[COL_ARGUMENTS], s.input.end)
        if AMQP_LIKELY(status == 0):
            status = fast_arguments(s, m, p, end, &text)
        if AMQP_LIKELY(status == 0):
            status = fast_commit(s.table, s.asked[COL_ARGUMENTS], at, text.out.p)
        if AMQP_UNLIKELY(status != 0):
            if picked:
                table_rewind(s.table, s.columns.picks, s.columns.wants, row)
            return status
    if s.asked[COL_METHOD] == NULL:
        return 0
    return fast_bytes(s.table, s.asked[COL_METHOD], at, <const uint8_t*>m.name, m.name_n)


cdef inline int fast_arguments(Sink* s, const MethodPlan* m, const uint8_t* p, const uint8_t* end,
                               JsonText* text) noexcept nogil:
    """Arguments as JSON; 0, FALLS_BACK or NO_MEMORY."""
    cdef const FieldPlan* f = m.field
    cdef const FieldPlan* last = f + m.n
    cdef uint8_t* w
    cdef uint8_t bits = 0
    cdef size_t size, start
    cdef int status
    # What strings and numbers take at most; tables and long strings ask for their own room.
    if buffer_ensure(&text.out, m.room + <size_t>(end - p)) < 0:
        return NO_MEMORY
    w = text.out.p
    start = <size_t>(w - text.out.start)
    while f < last:
        # The most frequent ones by branches that can be predicted.
        if AMQP_LIKELY(f.op == FAST_TEXT):
            size = p[0]
            p += 1
            if AMQP_UNLIKELY(end - p < <int64_t>size):
                return FALLS_BACK
            w = copy_piece(w, f.piece, f.piece_n)
            if AMQP_UNLIKELY(not copy_plain(w, p, size)) and not is_plain_utf8(p, size):
                return FALLS_BACK
            w += size
            p += size
        elif AMQP_LIKELY(f.op <= FAST_8):
            size = <size_t>8 >> (f.op - FAST_64)
            if AMQP_UNLIKELY(end - p < <int64_t>size):
                return FALLS_BACK
            w = store_u64(copy_piece(w, f.piece, f.piece_n), load64(p) >> (64 - 8 * size))
            p += size
        elif AMQP_LIKELY(f.op <= FAST_BIT):
            if f.op == FAST_FIRST_BIT:
                if AMQP_UNLIKELY(p == end):
                    return FALLS_BACK
                bits = p[0]
                p += 1
            w = fast_bool(copy_piece(w, f.piece, f.piece_n), bits >> f.bit & 1)
        elif f.op == FAST_ZEROS:
            size = f.zeros
            if AMQP_UNLIKELY(<size_t>(end - p) < size or p[0] or p[size - 1]):
                return FALLS_BACK
            p += size
        elif f.op == FAST_LONG_TEXT or f.op == FAST_TABLE:
            if AMQP_UNLIKELY(not fast_size(&p, end, 4, &size)):
                return FALLS_BACK
            buffer_commit(&text.out, copy_piece(w, f.piece, f.piece_n))
            if f.op == FAST_TABLE:
                status = fast_pairs(text, p, p + size, s.options.shapes, 1)
            else:
                status = json_bytes(text, p, size)
            if status != 0:
                return status
            p += size
            if buffer_ensure(&text.out, m.room + <size_t>(end - p)) < 0:
                return NO_MEMORY
            w = text.out.p
        else:
            return FALLS_BACK
        f += 1
    w[0] = c'"'
    w += m.quoted
    if w == text.out.start + start:
        w += 1
    text.out.start[start] = c'{'      # for the first comma
    w[0] = c'}'
    buffer_commit(&text.out, w + 1)
    return 0 if AMQP_LIKELY(p == end) else FALLS_BACK


cdef int fast_picks(Sink* s, const MethodPlan* m, const uint8_t* p, const uint8_t* end,
                    RowPlace at) noexcept nogil:
    """Arguments into columns of their own; what has none is checked."""
    cdef const FieldPlan* f = m.field
    cdef const FieldPlan* last = f + m.n
    cdef const uint16_t* targets = s.protocol.targets + m.first
    cdef uint8_t wire_type, bits = 0
    cdef size_t n
    cdef uint64_t v
    cdef Column* to
    cdef int k, status
    while f < last:
        k = targets[0]
        targets += 1
        wire_type = f.wire_type
        if wire_type == W_SHORTSTR:
            if AMQP_UNLIKELY(not fast_size(&p, end, 1, &n)):
                return FALLS_BACK
            if k == 0 and s.options.check and AMQP_UNLIKELY(not is_ascii(p, n)) and not is_utf8(p, n):
                return FALLS_BACK
            while k:
                to = s.table.column + s.protocol.target[k].column
                status = fast_text(s.table, to, at, p, n, V1_STRING, to.arrow_type == AS_VIEW)
                if AMQP_UNLIKELY(status != 0):
                    return status
                k = s.protocol.target[k].next
            p += n
        elif wire_type == W_BIT:
            if f.op == FAST_FIRST_BIT:
                if AMQP_UNLIKELY(p == end):
                    return FALLS_BACK
                bits = p[0]
                p += 1
            elif f.op != FAST_BIT:
                return FALLS_BACK
            while k:
                if append_bool(s.table.column + s.protocol.target[k].column, at.row, bits >> f.bit & 1) < 0:
                    return NO_MEMORY
                k = s.protocol.target[k].next
        elif wire_type == W_LONGSTR or wire_type == W_TABLE:
            if AMQP_UNLIKELY(not fast_size(&p, end, 4, &n)):
                return FALLS_BACK
            status = fast_long(s, wire_type, k, p, n, at)
            if AMQP_UNLIKELY(status != 0):
                return status
            p += n
        else:
            n = 8 if wire_type == W_LONGLONG or wire_type == W_TIMESTAMP else 1 << (wire_type - W_OCTET)
            if AMQP_UNLIKELY(<size_t>(end - p) < n):
                return FALLS_BACK
            if wire_type == W_LONGLONG:
                v = load64(p)
                if AMQP_UNLIKELY(k != 0 and v > HIGHEST_INT64):
                    return FALLS_BACK
            elif wire_type == W_SHORT:
                v = load16(p)
            elif wire_type == W_LONG:
                v = load32(p)
            elif wire_type == W_OCTET:
                v = p[0]
            else:
                return FALLS_BACK
            p += n
            while k:
                status = fast_number(s.table.column + s.protocol.target[k].column, at, v)
                if status < 0:
                    return status
                k = s.protocol.target[k].next
        f += 1
    return 0 if p == end else FALLS_BACK


cdef inline int fast_number(Column* c, RowPlace at, uint64_t v) noexcept nogil:
    if c.arrow_type == AS_INT32:
        return fast_i32(c, at, <int32_t>v)
    return fast_i64(c, at, <int64_t>v)


cdef int fast_long(Sink* s, uint8_t wire_type, int k, const uint8_t* p, size_t n, RowPlace at) noexcept nogil:
    """A table or long string into the columns from target k on."""
    cdef Column* c
    cdef int status
    if wire_type == W_TABLE and k == 0:
        return 0 if fast_check(s, p, n) else FALLS_BACK
    while k:
        c = s.table.column + s.protocol.target[k].column
        if c.form != FORM_JSON:
            return FALLS_BACK
        if wire_type == W_LONGSTR:
            status = fast_bytes(s.table, c, at, p, n)
        else:
            status = fast_table(s, c, p, n, at)
        if AMQP_UNLIKELY(status != 0):
            return status
        k = s.protocol.target[k].next
    return 0


cdef inline int fast_table(Sink* s, Column* c, const uint8_t* p, size_t n, RowPlace at) noexcept nogil:
    """A table, not checked yet, into a column of tables."""
    cdef JsonText text
    cdef int status
    if AMQP_UNLIKELY(c.form != FORM_JSON):
        if not fast_check(s, p, n):
            return FALLS_BACK
        return append_table(s.table, c, at.row, p, <uint32_t>n, s.variants, s.options.reading, s.input.end)
    if text_begin(&text, c, s.input.end) < 0:
        return NO_MEMORY
    status = template_pairs(&text, &s.headers, p, p + n, s.options.shapes)
    if AMQP_LIKELY(status == 0):
        s.headers.misses = 0
        return fast_commit(s.table, c, at, text.out.p)
    buffer_truncate(&text.out, c.used)
    if status == FALLS_BACK:
        status = fast_pairs(&text, p, p + n, s.options.shapes, 1)
    if AMQP_UNLIKELY(status != 0):
        return status
    template_learn(&s.headers, p, p + n, s.options.shapes)
    return fast_commit(s.table, c, at, text.out.p)


cdef bint fast_check(Sink* s, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a table is in order."""
    cdef Fault fault
    cdef Cursor c
    begin_cursor(&c, &fault, p, p + n, p, 0)
    return check_pairs(&c, s.options.shapes, 1) == 0


cdef int fast_header(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    """A content header into properties and body_size."""
    cdef const uint8_t* end = e.start + e.total - 1
    cdef uint64_t body_size
    cdef uint32_t key
    cdef RowPlace at = place_of(row)
    cdef Column* c
    cdef int status
    if AMQP_UNLIKELY(e.total < 22):
        return FALLS_BACK
    key = <uint32_t>load16(e.start + 7) << 16 | load16(e.start + 19)
    if AMQP_UNLIKELY(key != s.steps.key or s.steps.n < 0):
        if plan_properties(s, key) != 0:
            return FALLS_BACK
    body_size = load64(e.start + 11)
    if AMQP_UNLIKELY(body_size > HIGHEST_INT64):
        return FALLS_BACK
    if s.columns.any_property or s.options.check:
        status = fast_properties(s, e.start + 21, end, at)
        if AMQP_UNLIKELY(status != 0):
            table_rewind(s.table, COL_RAW_HEADERS, s.columns.picks, row)
            table_rewind(s.table, s.columns.wants, s.table.n, row)
            return status
        c = s.asked[COL_PROPERTIES]
        if c != NULL:
            if AMQP_UNLIKELY(row >= c.rows) and column_grow(c, row + 1) < 0:
                return NO_MEMORY
            c.filled = row + 1
            c.valid.p[at.byte] |= at.bit
    if s.asked[COL_BODY_SIZE] != NULL:
        return fast_i64(s.asked[COL_BODY_SIZE], at, <int64_t>body_size)
    return 0


cdef int plan_properties(Sink* s, uint32_t key) noexcept nogil:
    """Which values a class and flags announce: messages after messages have the same ones.
    key: class id, flag word."""
    cdef const Desc* d = find_properties(s, <uint16_t>(key >> 16))
    cdef const FieldPlan* field
    cdef uint32_t flags = key & 0xFFFF
    cdef Column* c
    cdef int i, n = 0
    s.steps.n = -1
    if d == NULL or flags & 1 or s.asked[COL_PROPERTIES_JSON] != NULL:
        return FALLS_BACK
    field = s.protocol.methods[d - s.protocol.descs].field
    while flags:
        i = leading_zeros_16(flags)
        flags &= <uint32_t>0x7FFF >> i
        if i >= d.n:
            return FALLS_BACK
        if AMQP_UNLIKELY(field[i].child == NO_CHILD) and s.asked[COL_PROPERTIES] != NULL:
            return FALLS_BACK
        c = s.table.column + field[i].child
        s.steps.step[n].wire_type = field[i].wire_type
        s.steps.step[n].headers = field[i].headers and (s.columns.n_wanted != 0 or s.asked[COL_RAW_HEADERS] != NULL)
        s.steps.step[n].c = c if c.asked else NULL
        n += 1
    s.steps.n = n
    s.steps.key = key
    return 0


cdef inline int fast_properties(Sink* s, const uint8_t* p, const uint8_t* end, RowPlace at) noexcept nogil:
    """The planned values, each into its column; 0, FALLS_BACK or a status below 0."""
    cdef Table* t = s.table
    cdef const PropertyStep* step = s.steps.step
    cdef const PropertyStep* last = step + s.steps.n
    cdef Column* c
    cdef size_t n
    cdef uint64_t v
    cdef int64_t us = 0
    cdef int status
    while step < last:
        c = step.c
        if step.wire_type == W_SHORTSTR:
            if AMQP_UNLIKELY(not fast_size(&p, end, 1, &n)):
                return FALLS_BACK
            if AMQP_UNLIKELY(c == NULL):
                if s.options.check and not is_ascii(p, n) and not is_utf8(p, n):
                    return FALLS_BACK
            else:
                status = fast_text(t, c, at, p, n, V1_STRING, c.arrow_type == AS_VIEW)
                if AMQP_UNLIKELY(status != 0):
                    return status
            p += n
        elif step.wire_type == W_OCTET:
            if AMQP_UNLIKELY(p == end):
                return FALLS_BACK
            if c != NULL and fast_number(c, at, p[0]) < 0:
                return NO_MEMORY
            p += 1
        elif step.wire_type == W_TIMESTAMP:
            if AMQP_UNLIKELY(end - p < 8):
                return FALLS_BACK
            if AMQP_UNLIKELY(not us_from_seconds(load64(p), &us)):
                return FALLS_BACK
            if c != NULL and fast_i64(c, at, us) < 0:
                return NO_MEMORY
            p += 8
        elif step.wire_type == W_TABLE:
            if AMQP_UNLIKELY(not fast_size(&p, end, 4, &n)):
                return FALLS_BACK
            if c != NULL:
                status = fast_table(s, c, p, n, at)
                if AMQP_UNLIKELY(status != 0):
                    return status
            elif AMQP_UNLIKELY(not fast_check(s, p, n)):
                return FALLS_BACK
            if step.headers:
                status = append_wanted(s, NULL, 0, p, n, at.row)
                if AMQP_UNLIKELY(status != 0):
                    return status
            p += n
        else:
            return FALLS_BACK
        step += 1
    return 0 if p == end else FALLS_BACK
