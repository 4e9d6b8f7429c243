# Message level, views: many messages of one kind behind each other, as traffic has them.
#
# What a method and its flags announce is planned once, as operations with the place that they write
# to. While messages of that plan follow one another whole, nothing is asked but what the octets must
# answer; columns learn of their new rows when the run ends. Whatever is odd ends it with nothing
# written, and goes the usual way.

cdef inline bint run_table(Sink* s, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether a table is in order. Up to a name, a tag and a length may be read behind the end."""
    cdef const uint8_t* start = p
    cdef size_t n
    cdef uint8_t tag
    cdef int shape
    while p < end:
        p += <size_t>p[0] + 2
        tag = (p - 1)[0]
        # The usual ones need not wait for their length to be looked up.
        if AMQP_LIKELY(tag == c'S'):
            n = load32(p)
            if AMQP_UNLIKELY(end - p < <int64_t>n + 4):
                return False
            p += n + 4
        elif AMQP_LIKELY(tag == c'I'):
            p += 4
        else:
            shape = s.shapes[tag]
            if AMQP_LIKELY(shape >= 0):
                p += shape
            else:
                return hot_check(s, start, <size_t>(end - start))
    return p == end


# The properties of class basic, which most contents have, without operations: a field each, by number.

cdef const char* RUN_BASIC = b"ssToosssstssss"        # SIGNATURE_LETTERS

cdef enum:
    RUN_BASIC_N = 14


cdef inline const uint8_t* basic_text(Run* run, uint32_t flags, int i, int64_t row, const uint8_t* at,
                                      uint32_t buffer, const uint8_t* piece) noexcept nogil:
    """Behind a text, if it is there; NULL where it is not UTF-8, or something before was NULL."""
    cdef uint8_t* out
    cdef size_t n
    if not flags & (<uint32_t>0x8000 >> i) or AMQP_UNLIKELY(at == NULL):
        return at
    out = run.out[i]
    n = at[0]
    at += 1
    out = &run.spare[0] if out == NULL else out + 16 * row
    if AMQP_UNLIKELY(not put_text_view(out, at, n, buffer, <uint32_t>(at - piece))) \
            and not is_utf8(at, n):
        return NULL
    return at + n


cdef inline const uint8_t* basic_octet(const Run* run, uint32_t flags, int i, int64_t row,
                                       const uint8_t* at) noexcept nogil:
    if not flags & (<uint32_t>0x8000 >> i) or AMQP_UNLIKELY(at == NULL):
        return at
    if AMQP_LIKELY(run.out[i] != NULL):
        (<int32_t*>run.out[i])[row] = at[0]
    return at + 1


cdef inline const uint8_t* run_basic(Sink* s, Run* run, uint32_t flags, int64_t row, const uint8_t* at,
                                     const uint8_t* stop, uint32_t buffer,
                                     const uint8_t* piece) noexcept nogil:
    """Behind the properties, or NULL where something is odd."""
    cdef size_t n
    cdef uint64_t v
    at = basic_text(run, flags, 0, row, at, buffer, piece)
    at = basic_text(run, flags, 1, row, at, buffer, piece)
    if flags & (0x8000 >> 2):
        if AMQP_UNLIKELY(at == NULL):
            return NULL
        n = load32(at)
        at += 4
        if AMQP_UNLIKELY(stop - at < <int64_t>n) or AMQP_UNLIKELY(not run_table(s, at, at + n)):
            return NULL
        if AMQP_LIKELY(run.out[2] != NULL):
            put_view(run.out[2] + 16 * row, at, n, buffer, <uint32_t>(at - piece))
        at += n
    at = basic_octet(run, flags, 3, row, at)
    at = basic_octet(run, flags, 4, row, at)
    at = basic_text(run, flags, 5, row, at, buffer, piece)
    at = basic_text(run, flags, 6, row, at, buffer, piece)
    at = basic_text(run, flags, 7, row, at, buffer, piece)
    at = basic_text(run, flags, 8, row, at, buffer, piece)
    if flags & (0x8000 >> 9):
        if AMQP_UNLIKELY(at == NULL):
            return NULL
        v = load64(at)
        if AMQP_UNLIKELY(v > HIGHEST_SECOND):
            return NULL
        if AMQP_LIKELY(run.out[9] != NULL):
            (<int64_t*>run.out[9])[row] = <int64_t>(v * 1000000)
        at += 8
    at = basic_text(run, flags, 10, row, at, buffer, piece)
    at = basic_text(run, flags, 11, row, at, buffer, piece)
    at = basic_text(run, flags, 12, row, at, buffer, piece)
    return basic_text(run, flags, 13, row, at, buffer, piece)


cdef const uint8_t* run_messages(Sink* s, const uint8_t* p, const uint8_t* end, const uint8_t* base,
                                 int64_t value) noexcept nogil:
    """As many messages of the run as follow one another from p: where the next frame is.

    Fields only go forward, and so much may be read behind a frame that one test at its end tells
    whether all of them were inside.
    """
    cdef Run* run = &s.run
    cdef const uint8_t* q
    cdef const uint8_t* b
    cdef const uint8_t* next_
    cdef const uint8_t* at
    cdef const uint8_t* stop
    cdef const uint8_t* piece = s.table.base
    cdef const RunOp* op
    cdef uint64_t head, other, total, size, v
    cdef uint32_t key = run.key
    cdef uint32_t flags = run.flags
    cdef uint32_t buffer = 1
    cdef uint64_t step = <uint64_t>1 << s.table.shift
    cdef size_t n
    cdef uint8_t bits = 0
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
        at = p + 11
        stop = q - 1
        op = run.op
        while True:
            # The usual ones by branches that can be foretold, all others by a jump that is harder to.
            if AMQP_LIKELY(op.code == RUN_TEXT_TO):
                n = at[0]
                at += 1
                if AMQP_UNLIKELY(not put_text_view(op.out + 16 * row, at, n, buffer,
                                                   <uint32_t>(at - piece))):
                    if not is_utf8(at, n):
                        break
                at += n
                op += 1
                continue
            if AMQP_UNLIKELY(op.code == RUN_64_TO):
                v = load64(at)
                if AMQP_UNLIKELY(v > HIGHEST_INT64):
                    break
                (<int64_t*>op.out)[row] = <int64_t>v
                at += 8
                op += 1
                continue
            if AMQP_UNLIKELY(op.code == RUN_BOOL_TO):
                op.out[row >> 3] |= <uint8_t>((at[0] >> op.bit & 1) << (row & 7))
                at += 1
                op += 1
                continue
            if AMQP_UNLIKELY(op.code == RUN_END) and run.basic:
                if AMQP_LIKELY(at == stop):
                    at = q + 21
                    stop = b - 1
                    at = run_basic(s, run, flags, row, at, stop, buffer, piece)
                    op = run.last
                break
            if op.code == RUN_TEXT:
                n = at[0]
                at += 1
                if AMQP_UNLIKELY(not put_text_view(run.spare, at, n, buffer, 0)) and not is_utf8(at, n):
                    break
                at += n
            elif op.code == RUN_BITS:
                bits = at[0]
                at += 1
            elif op.code == RUN_BIT_TO:
                op.out[row >> 3] |= <uint8_t>((bits >> op.bit & 1) << (row & 7))
            elif op.code == RUN_TIME_TO:
                v = load64(at)
                if AMQP_UNLIKELY(v > HIGHEST_SECOND):
                    break
                (<int64_t*>op.out)[row] = <int64_t>(v * 1000000)
                at += 8
            elif op.code == RUN_8_TO_32:
                (<int32_t*>op.out)[row] = at[0]
                at += 1
            elif op.code == RUN_TABLE_TO:
                n = load32(at)
                at += 4
                if AMQP_UNLIKELY(stop - at < <int64_t>n or not run_table(s, at, at + n)):
                    break
                put_view(op.out + 16 * row, at, n, buffer, <uint32_t>(at - piece))
                at += n
            elif op.code == RUN_TABLE:
                n = load32(at)
                at += 4
                if AMQP_UNLIKELY(stop - at < <int64_t>n or not run_table(s, at, at + n)):
                    break
                at += n
            elif op.code == RUN_LONG_TO:
                n = load32(at)
                at += 4
                if AMQP_UNLIKELY(stop - at < <int64_t>n):
                    break
                put_view(op.out + 16 * row, at, n, buffer, <uint32_t>(at - piece))
                at += n
            elif op.code == RUN_LONG:
                n = load32(at)
                at += 4
                if AMQP_UNLIKELY(stop - at < <int64_t>n):
                    break
                at += n
            elif op.code == RUN_8_TO_64:
                (<int64_t*>op.out)[row] = at[0]
                at += 1
            elif op.code == RUN_16_TO_32:
                (<int32_t*>op.out)[row] = load16(at)
                at += 2
            elif op.code == RUN_16_TO_64:
                (<int64_t*>op.out)[row] = load16(at)
                at += 2
            elif op.code == RUN_32_TO_64:
                (<int64_t*>op.out)[row] = load32(at)
                at += 4
            elif op.code == RUN_8:
                at += 1
            elif op.code == RUN_16:
                at += 2
            elif op.code == RUN_32:
                at += 4
            elif op.code == RUN_64:
                at += 8
            elif op.code == RUN_TIME:
                if AMQP_UNLIKELY(load64(at) > HIGHEST_SECOND):
                    break
                at += 8
            elif op.code == RUN_END:
                if AMQP_UNLIKELY(at != stop) or stop == b - 1:
                    break
                at = q + 21
                stop = b - 1
            op += 1
        if AMQP_UNLIKELY(at != stop or op != run.last):
            run_undo(run, row)
            break
        if run.channel != NULL:
            run.channel[row] = <int32_t>(head & 0xFFFF)
        if run.body != NULL:
            put_view(run.body + 16 * row, b + 7, size, buffer, <uint32_t>(b + 7 - piece))
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
    for i in range(run.n):
        if run.op[i].code == RUN_BIT_TO or run.op[i].code == RUN_BOOL_TO:
            run.op[i].out[row >> 3] &= <uint8_t>~(1 << (row & 7))


# ---- the plan ----

cdef inline bint run_field(Run* run, uint8_t kind, int run_of, uint8_t bit, Column* c) noexcept nogil:
    """One more field; False where runs do not read it."""
    cdef RunOp* op = &run.op[run.n]
    cdef bint to = c != NULL
    op.number = -1
    if kind == W_SHORTSTR:
        op.code = RUN_TEXT + to
    elif kind == W_BIT:
        if run_of == 1 and to:
            op.code = RUN_BOOL_TO
            op.bit = bit
            op.column = c
            run.n += 1
            return True
        if run_of:
            op.code = RUN_BITS
            op.column = NULL
            run.n += 1
            op += 1
            op.number = -1
        if not to:
            return True
        op.code = RUN_BIT_TO
        op.bit = bit
    elif kind == W_OCTET:
        op.code = (RUN_8_TO_32 if c.kind == AS_INT32 else RUN_8_TO_64) if to else RUN_8
    elif kind == W_SHORT:
        op.code = (RUN_16_TO_32 if c.kind == AS_INT32 else RUN_16_TO_64) if to else RUN_16
    elif kind == W_LONG:
        op.code = RUN_32_TO_64 if to else RUN_32
    elif kind == W_LONGLONG:
        op.code = RUN_64 + (RUN_64_TO - RUN_64) * to
    elif kind == W_TIMESTAMP:
        op.code = RUN_TIME + to
    elif kind == W_LONGSTR:
        op.code = RUN_LONG + to
    elif kind == W_TABLE and not to:
        op.code = RUN_TABLE
    else:
        return False
    op.column = c
    run.n += 1
    return True


cdef inline void run_close(Run* run) noexcept nogil:
    run.op[run.n].code = RUN_END
    run.op[run.n].number = -1
    run.op[run.n].column = NULL
    run.n += 1


cdef bint run_begin(Sink* s, const Parcel* m) noexcept nogil:
    """Plan a run of messages like this one; False where there can be none, or no memory."""
    cdef Run* run = &s.run
    cdef const MethodPlan* plan = s.plan
    cdef const Desc* d = s.descs + (plan - s.methods)
    cdef const Desc* properties
    cdef const FieldPlan* field
    cdef Column* c
    cdef Column* raw
    cdef uint32_t flags
    cdef int i, k
    cdef int64_t rows
    run.n = 0
    run.n_columns = 0
    run.key = s.key
    for i in range(d.n):
        k = s.targets[plan.first + i]
        if k and s.target[k].next:
            return False
        c = s.table.column + s.target[k].column if k else NULL
        if not run_field(run, d.op[i].kind, d.op[i].run, d.op[i].bit, c):
            return False
    run_close(run)
    properties = find_properties(s, d.class_id)
    flags = load16(m.header.start + 19)
    if properties == NULL or flags & 1:
        return False
    run.flags = flags
    field = s.methods[properties - s.descs].field
    run.basic = properties.n == RUN_BASIC_N
    memset(run.out, 0, sizeof(run.out))
    for i in range(properties.n):
        if run.basic and SIGNATURE_LETTERS[properties.op[i].kind] != RUN_BASIC[i]:
            run.basic = False
    while flags:
        i = leading_zeros_16(flags)
        flags &= <uint32_t>0x7FFF >> i
        if i >= properties.n or properties.op[i].kind == W_BIT:
            return False
        c = s.table.column + field[i].child
        raw = s.raw_headers if field[i].headers else NULL
        k = run.n
        if not run_field(run, field[i].kind, 0, 0, c if c.asked else NULL):
            return False
        if raw != NULL:
            run.op[k].code = RUN_TABLE_TO
            run.op[k].column = raw
        if run.basic:
            run.op[k].number = <int8_t>i
            if run.op[k].code == RUN_8_TO_64:
                run.basic = False
    run_close(run)
    run.last = &run.op[run.n - 1]
    # What the fields of a message may read too far: each at most a short string, or a table's entry.
    if s.total < 320 * <uint64_t>(run.n + 2):
        return False
    run.end = s.input_end - 320 * (run.n + 2)
    if run.end - (s.input + s.seen) < 4 * <int64_t>m.octets:
        return False        # which would cost more than it gives
    # Room for as many as there will be, if the others are about as large as those until here, and a
    # quarter more. What is not written to costs nothing, to copy columns does.
    rows = <int64_t>((s.total - s.seen) // min(m.octets, s.seen // <uint64_t>max(s.rows, 1) + 1))
    rows = s.rows + rows + (rows >> 2) + 16
    for i in range(run.n):
        if run.op[i].column != NULL:
            if not run_column(run, run.op[i].column, s.rows, rows):
                return False
            run.op[i].out = run.op[i].column.fixed.p
            if run.op[i].number >= 0:
                run.out[run.op[i].number] = run.op[i].out
    if s.method != NULL:
        if not intern_name(s, <int>(plan - s.methods)):
            return False
        memcpy(run.name, s.names + 16 * (plan - s.methods), 16)
    # Those that every message has; a message without octets has a body, too.
    if not run_column(run, s.channel, s.rows, rows) or not run_column(run, s.method, s.rows, rows) \
            or not run_column(run, s.body, s.rows, rows) or not run_column(run, s.row, s.rows, rows) \
            or not run_column(run, s.offset, s.rows, rows) \
            or not run_column(run, s.body_size, s.rows, rows) \
            or not run_column(run, s.properties, s.rows, rows):
        return False
    run.channel = <int32_t*>s.channel.fixed.p if s.channel != NULL else NULL
    run.body = s.body.fixed.p if s.body != NULL else NULL
    run.row = <int64_t*>s.row.fixed.p if s.row != NULL else NULL
    run.offset = <int64_t*>s.offset.fixed.p if s.offset != NULL else NULL
    run.body_size = <int64_t*>s.body_size.fixed.p if s.body_size != NULL else NULL
    run.first = s.rows
    run.room = rows
    run.on = True
    return True


cdef bint run_column(Run* run, Column* c, int64_t row, int64_t rows) noexcept nogil:
    """A column that every message of the run has, with place for so many rows."""
    if c == NULL:
        return True
    if rows > c.rows:
        c.rows = c.filled       # which is all that has to be copied
        if column_grow(c, rows) < 0:
            return False
    if c.filled < row:
        column_fill(c, row)
    run.columns[run.n_columns] = c
    run.n_columns += 1
    return True


cdef void run_end(Sink* s) noexcept nogil:
    """Tell the columns of their rows."""
    cdef Run* run = &s.run
    cdef Column* c
    cdef int64_t row
    cdef int i
    run.on = False
    if s.rows > run.first:
        s.table.referred = True
        if s.method != NULL:
            for row in range(run.first, s.rows):
                copy_16(s.method.fixed.p + 16 * row, run.name)
        for i in range(run.n_columns):
            c = run.columns[i]
            if c.nullable:
                mark_rows(c, run.first, s.rows - run.first)
            c.filled = s.rows


cdef bint intern_name(Sink* s, int k) noexcept nogil:
    """The view of a method's name, whose octets stand once in the column's own."""
    cdef Column* c = s.method
    cdef const MethodPlan* m = &s.methods[k]
    cdef uint8_t* view = s.names + 16 * k
    if view[0] != 0:
        return True
    if m.name_n <= <uint32_t>VIEW_INLINE:
        put_short_view(view, <const uint8_t*>m.name, m.name_n)
        return True
    if c.used + m.name_n >= c.full_at and data_grow(s.table, c, m.name_n) < 0:
        return False
    memcpy(c.data.p + c.used, m.name, m.name_n)
    put_long_view(view, <const uint8_t*>m.name, m.name_n, 0, <uint32_t>c.used)
    c.used += m.name_n
    return True
