# Message level, views: many messages with one method and the same properties, as traffic has them.
#
# What a method and its flags announce is planned once: each value has the memory that it goes to. While
# such messages follow one another whole, each is read by a function made for its signature
# (spec/emitters/columns.py); columns learn of their new rows when the run ends. Whatever is unusual
# ends it with nothing written, and takes the slow path.

cdef const uint8_t* run_messages(Sink* s, const uint8_t* p, const uint8_t* end, const uint8_t* base,
                                 int64_t value) noexcept nogil:
    """As many messages of the run as follow one another from p: where the next frame is.

    Fields only go forward, and so much may be read after a frame that one test at its end tells
    whether all of them were inside.
    """
    cdef Run* run = &s.run
    cdef const uint8_t* q
    cdef const uint8_t* b
    cdef const uint8_t* next_
    cdef const uint8_t* at
    cdef const uint8_t* piece = s.table.base
    cdef uint64_t head, other, total, size
    cdef uint32_t key = run.key
    cdef uint32_t flags = run.flags
    cdef uint32_t buffer = 1
    cdef uint64_t step = <uint64_t>1 << s.table.shift
    cdef int method = run.method
    cdef int64_t row = s.rows
    cdef int64_t room = run.room
    if end > run.end:
        end = run.end
    while row < room and end - p >= 42:
        AMQP_PREFETCH(p + RUN_AHEAD)
        AMQP_PREFETCH(p + RUN_AHEAD + 64)
        AMQP_PREFETCH(p + RUN_AHEAD + 128)
        AMQP_PREFETCH(p + RUN_AHEAD + 192)
        AMQP_PREFETCH(p + RUN_AHEAD + 256)
        AMQP_PREFETCH(p + RUN_AHEAD + 320)
        # the three frames
        head = load64(p)
        total = <uint64_t><uint32_t>(head >> 8) + 8
        head >>= 40
        if AMQP_UNLIKELY(head >> 16 != FRAME_METHOD or head == FRAME_METHOD << 16 or load32(p + 7) != key
                         or total > <uint64_t>(end - p) - 30 or p[total - 1] != FRAME_END):
            break
        q = p + total
        other = load64(q)
        total = <uint64_t><uint32_t>(other >> 8) + 8
        if AMQP_UNLIKELY(other >> 40 != head + 0x10000 or total > <uint64_t>(end - q) or total < 22
                         or q[total - 1] != FRAME_END or (load32(q + 7) ^ key) >> 16
                         or <uint16_t>load32(q + 17) != flags):
            break
        size = load64(q + 11)
        b = q + total
        next_ = b
        if AMQP_LIKELY(size != 0):
            if AMQP_UNLIKELY(end - b < 9):
                break
            other = load64(b)
            total = <uint64_t><uint32_t>(other >> 8) + 8
            if AMQP_UNLIKELY(other >> 40 != head + 0x20000 or total != size + 8
                             or total > <uint64_t>(end - b) or b[total - 1] != FRAME_END):
                break
            next_ = b + total
        while AMQP_UNLIKELY(<uint64_t>(p - piece) >= step):
            piece += step
            buffer += 1
        if AMQP_UNLIKELY(next_ - p > RUN_LONGEST):
            break
        # the fields
        at = run_arguments(s, run, method, row, p + 11, q - 1, buffer, piece)
        at = q + 21 if AMQP_LIKELY(at == q - 1) else NULL
        at = run_properties(s, run, flags, row, at, b - 1, buffer, piece)
        if AMQP_UNLIKELY(at != b - 1):
            run_undo(run, row)
            break
        if run.channel != NULL:
            run.channel[row] = <int32_t>(head & 0xFFFF)
        if run.body != NULL:
            store_view(run.body + 16 * row, b + 7, size, buffer, <uint32_t>(b + 7 - piece))
        if run.row != NULL:
            run.row[row] = value
        if run.offset != NULL:
            run.offset[row] = p - base
        if run.body_size != NULL:
            run.body_size[row] = <int64_t>size
        row += 1
        p = next_
    s.rows = row
    return p


cdef void run_undo(Run* run, int64_t row) noexcept nogil:
    """Bits are added to what is there: take those of a row that is none back."""
    cdef int i
    for i in range(run.n_bits):
        run.bits[i][row >> 3] &= <uint8_t>~(1 << (row & 7))


# ---- the plan ----

cdef int run_signature(const Desc* d, const char** known, int n) noexcept nogil:
    """Which of the known signatures the fields have, or -1."""
    cdef int i, k
    for i in range(n):
        k = 0
        while k < d.n and known[i][k] == SIGNATURE_LETTERS[d.op[k].wire_type]:
            k += 1
        if k == d.n and known[i][k] == 0:
            return i
    return -1


cdef bint run_fits(uint8_t wire_type, const Column* c) noexcept nogil:
    """Whether runs write values of this type to the column, or NULL."""
    if c == NULL or wire_type == W_SHORTSTR or wire_type == W_LONGSTR or wire_type == W_BIT:
        return True
    if wire_type == W_OCTET or wire_type == W_SHORT:
        return c.arrow_type == AS_INT32
    return c.arrow_type == AS_INT64 and wire_type != W_TABLE


cdef bint run_begin(Sink* s, const Pending* m) noexcept nogil:
    """Plan a run of messages like this one; False where there can be none, or no memory."""
    cdef Run* run = &s.run
    cdef const MethodPlan* plan = s.plan
    cdef const Desc* d = s.protocol.descs + (plan - s.protocol.methods)
    cdef const Desc* properties = find_properties(s, d.class_id)
    cdef const FieldPlan* field
    cdef Column* arguments[MAX_FIELDS]
    cdef Column* listed[MAX_FIELDS]
    cdef uint32_t flags = load16(m.header.start + 19)
    cdef int i, k
    cdef int64_t rows
    run.n_columns = 0
    run.n_bits = 0
    run.key = s.key
    run.flags = flags
    run.method = run_signature(d, RUN_METHODS, RUN_METHODS_N)
    if run.method < 0 or properties == NULL or run_signature(properties, RUN_PROPERTIES, RUN_PROPERTIES_N) < 0:
        return False
    for i in range(d.n):
        k = s.protocol.targets[plan.first + i]
        if k and s.protocol.target[k].next:
            return False
        arguments[i] = s.table.column + s.protocol.target[k].column if k else NULL
        if not run_fits(d.op[i].wire_type, arguments[i]):
            return False
    field = s.protocol.methods[properties - s.protocol.descs].field
    memset(run.property, 0, sizeof(run.property))
    memset(listed, 0, sizeof(listed))
    if flags & (<uint32_t>0xFFFF >> properties.n):
        return False            # more of them, or unknown ones
    while flags:
        i = leading_zeros_16(flags)
        flags &= <uint32_t>0x7FFF >> i
        if field[i].child == NO_CHILD:
            return False
        listed[i] = s.table.column + field[i].child
        if not listed[i].asked:
            listed[i] = NULL
        if not run_fits(field[i].wire_type, listed[i]):
            return False
        if field[i].headers and s.asked[COL_RAW_HEADERS] != NULL:
            listed[i] = s.asked[COL_RAW_HEADERS]
    # What the fields of a message may read too far: each at most a short string, or a table's entry.
    if s.input.total < 320 * <uint64_t>(d.n + properties.n + 2):
        return False
    run.end = s.input.end - 320 * (d.n + properties.n + 2)
    if s.input.progress != NULL:
        run.end = min(run.end, s.input.start + s.input.seen + TOLD_EVERY)   # told of after each run
    if run.end - (s.input.start + s.input.seen) < 4 * <int64_t>m.n_bytes:
        return False        # which would cost more than it gives
    # Room for as many as there will be, if the others are about as large as those until here, and a
    # quarter more. What is not written to costs nothing, to copy columns does.
    rows = <int64_t>((s.input.total - s.input.seen) // min(m.n_bytes, s.input.seen // <uint64_t>max(s.rows, 1) + 1))
    rows = s.rows + rows + (rows >> 2) + 16
    run.room = rows
    for i in range(d.n):
        run.argument[i] = run_memory(run, arguments[i], s.rows, rows)
        if d.op[i].wire_type == W_BIT and arguments[i] != NULL:
            run.bits[run.n_bits] = run.argument[i]
            run.n_bits += 1
    for i in range(properties.n):
        run.property[i] = run_memory(run, listed[i], s.rows, rows)
    # Columns that every message has; one without bytes has a body, too.
    run.names = run_memory(run, s.asked[COL_METHOD], s.rows, rows)
    run.channel = <int32_t*>run_memory(run, s.asked[COL_CHANNEL], s.rows, rows)
    run.body = run_memory(run, s.asked[COL_BODY], s.rows, rows)
    run.row = <int64_t*>run_memory(run, s.asked[COL_ROW], s.rows, rows)
    run.offset = <int64_t*>run_memory(run, s.asked[COL_OFFSET], s.rows, rows)
    run.body_size = <int64_t*>run_memory(run, s.asked[COL_BODY_SIZE], s.rows, rows)
    if run.room == 0:
        return False
    if run.names != NULL:
        if not intern_name(s, <int>(plan - s.protocol.methods)):
            return False
        memcpy(run.name, s.columns.names + 16 * (plan - s.protocol.methods), 16)
    run.first = s.rows
    run.reader = run_messages
    return True


cdef uint8_t* run_memory(Run* run, Column* c, int64_t row, int64_t rows) noexcept nogil:
    """Make place for so many rows of a column that every message of the run has: where they are written, or NULL
    where c is. Without memory the run has no room."""
    if c == NULL:
        return NULL
    if rows > c.rows:
        c.rows = c.filled       # which is all that has to be copied
        if column_grow(c, rows) < 0:
            run.room = 0
            return NULL
    if c.filled < row:
        column_fill(c, row)
    run.columns[run.n_columns] = c
    run.n_columns += 1
    return c.fixed.p


cdef void run_end(Sink* s) noexcept nogil:
    """Tell the columns of their rows."""
    cdef Run* run = &s.run
    cdef int64_t row
    cdef int i
    run.reader = NULL
    if s.rows > run.first:
        s.table.referred = True
        if run.names != NULL:
            for row in range(run.first, s.rows):
                copy_16(run.names + 16 * row, run.name)
        for i in range(run.n_columns):
            mark_rows(run.columns[i], run.first, s.rows - run.first)


cdef bint intern_name(Sink* s, int k) noexcept nogil:
    """The view of a method's name, whose bytes stand once in the column's own."""
    cdef Column* c = s.asked[COL_METHOD]
    cdef const MethodPlan* m = &s.protocol.methods[k]
    cdef uint8_t* view = s.columns.names + 16 * k
    if view[0] != 0:
        return True
    if m.name_n <= <uint32_t>VIEW_INLINE:
        store_short_view(view, <const uint8_t*>m.name, m.name_n)
        return True
    if data_room(s.table, c, m.name_n) < 0:
        return False
    memcpy(c.data.p + c.used, m.name, m.name_n)
    store_long_view(view, <const uint8_t*>m.name, m.name_n, 0, <uint32_t>c.used)
    c.used += m.name_n
    return True
