# Frames to columns, on the slow path: every fault is noted with its place.

# ---- arguments ----

cdef int report_text(Sink* s, const Desc* d, int i) noexcept nogil:
    return report_fault(s, d, i, BAD_TEXT, b"shortstr", s.v[i].p, 0)


cdef inline bint is_zero(const AmqpValue* v) noexcept nogil:
    if v.wire_type >= W_SHORTSTR and v.wire_type != W_TIMESTAMP:
        return v.n == 0 and (v.wire_type != W_CONTENT or v.u == 0)
    return v.u == 0


cdef int json_content(JsonText* t, const AmqpValue* v) noexcept nogil:
    """As a longstr; a reference is {"$reference": the same}."""
    cdef int status
    if not v.u:
        return json_bytes(t, v.p, v.n)
    if json_literal(t, b'{"$reference":', 14) < 0:
        return NO_MEMORY
    status = json_bytes(t, v.p, v.n)
    return json_literal(t, b"}", 1) if status == 0 else status


cdef int write_arguments_json(Sink* s, const Desc* d, const FieldPlan* field, JsonText* t) noexcept nogil:
    """A JSON object of all arguments; reserved ones only where they are not zero."""
    cdef int i, status
    cdef bint first = True
    cdef const AmqpValue* v
    if json_literal(t, b"{", 1) < 0:
        return NO_MEMORY
    for i in range(d.n):
        v = &s.v[i]
        if field[i].reserved and is_zero(v):
            continue
        if json_literal(t, field[i].key + first, field[i].key_n - first) < 0:
            return NO_MEMORY
        first = False
        status = write_value_json(s, d, i, t)
        if status < 0:
            return status
    return json_literal(t, b"}", 1)


cdef int write_value_json(Sink* s, const Desc* d, int i, JsonText* t) noexcept nogil:
    """One argument or property."""
    cdef const AmqpValue* v = &s.v[i]
    cdef int status
    if v.wire_type == W_SHORTSTR:
        status = json_string(t, v.p, v.n)
        if AMQP_UNLIKELY(status == NOT_UTF8):
            report_text(s, d, i)
            status = json_literal(t, b"null", 4)
        return status
    if v.wire_type == W_BIT:
        return json_literal(t, b"true", 4) if v.u else json_literal(t, b"false", 5)
    if v.wire_type == W_TABLE:
        return json_table(t, v.p, v.n, s.options.reading)
    if v.wire_type == W_LONGSTR:
        return json_bytes(t, v.p, v.n)
    if v.wire_type == W_TIMESTAMP:
        return json_timestamp(t, v.u)
    if v.wire_type == W_CONTENT:
        return json_content(t, v)
    return json_u64(t, v.u)


cdef int check_text(Sink* s, const Desc* d) noexcept nogil:
    """Note the first shortstr that is not UTF-8."""
    cdef int i
    for i in range(d.n):
        if s.v[i].wire_type == W_SHORTSTR and not is_utf8(s.v[i].p, s.v[i].n):
            report_text(s, d, i)
    return 0


cdef inline const Desc* find_method(const Sink* s, uint32_t key) noexcept nogil:
    cdef uint32_t i = slot_index(key) & s.protocol.slot_mask
    while s.protocol.slot[i].desc != NULL:
        if s.protocol.slot[i].key == key:
            return s.protocol.slot[i].desc
        i = (i + 1) & s.protocol.slot_mask
    return NULL


cdef int append_method(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    cdef const Desc* d
    cdef const MethodPlan* m
    cdef JsonText text
    cdef int status
    cdef bint unusual, picked
    if AMQP_UNLIKELY(e.total < 12):
        fail(&s.c, BAD_TRUNCATED, b"class id and method id", 4, 0)
        return BAD_FRAME
    d = find_method(s, load32(s.c.p))
    if AMQP_UNLIKELY(d == NULL):
        fail(&s.c, BAD_METHOD, NULL, 0, 0)
        s.fault.class_id = load16(s.c.p)
        s.fault.method_id = load16(s.c.p + 2)
        return BAD_FRAME
    m = &s.protocol.methods[d - s.protocol.descs]
    picked = s.protocol.picked[d - s.protocol.descs]
    if s.asked[COL_METHOD] != NULL:
        status = append_bytes(s.table, s.asked[COL_METHOD], row, d.name, m.name_n)
        if status < 0:
            return status
    if s.asked[COL_ARGUMENTS] == NULL and not picked and not s.options.check:
        return 0
    s.c.p += 4
    if read_arguments(d, &s.c, s.v, s.options.reading, &unusual) < 0:
        return BAD_FRAME
    if s.options.check:
        check_text(s, d)
    if picked:
        status = append_picks(s, d, m, row)
        if status < 0:
            return status
    if s.asked[COL_ARGUMENTS] != NULL:
        status = text_begin(&text, s.asked[COL_ARGUMENTS], s.input.end)
        if status == 0:
            status = write_arguments_json(s, d, m.field, &text)
        if status == 0:
            status = data_commit(s.table, &text.out, s.asked[COL_ARGUMENTS], row)
        if status < 0:
            return status
    return BAD_FRAME if s.fault.code != OK else 0


cdef int append_picks(Sink* s, const Desc* d, const MethodPlan* m, int64_t row) noexcept nogil:
    """Arguments that have columns of their own."""
    cdef const Target* target
    cdef int i, k, status
    for i in range(d.n):
        k = s.protocol.targets[m.first + i]
        while k:
            target = &s.protocol.target[k]
            status = put_field(s, d, i, NULL, s.table.column + target.column, row)
            if status < 0:
                return status
            k = target.next
    return 0


# ---- content headers ----

cdef inline const Desc* find_properties(const Sink* s, uint16_t class_id) noexcept nogil:
    cdef int i
    for i in range(s.protocol.n_contents):
        if s.protocol.contents[i].class_id == class_id:
            return s.protocol.contents[i]
    return NULL


cdef int report_range(Sink* s, const Desc* d, int i, const uint8_t* start) noexcept nogil:
    """Note a value whose number is too large. start: of the property list, or NULL: an argument."""
    cdef Fault unused
    cdef Cursor c = s.c
    cdef AmqpValue v
    cdef int k
    c.fault = &unused
    if start == NULL:
        c.p = c.end - arguments_from(s, d, i)
    else:
        c.p = start
        while load16(c.p) & 1:      # flag words
            c.p += 2
        c.p += 2
        for k in range(i):
            if s.v[k].present and s.v[k].wire_type != W_BIT:
                read_one(&d.op[k], &c, &v, s.options.reading)
    return report_fault(s, d, i, BAD_RANGE, WIRE_NAMES[s.v[i].wire_type], c.p, s.v[i].u)


cdef size_t arguments_from(const Sink* s, const Desc* d, int i) noexcept nogil:
    """Bytes of the arguments from number i on, in a frame that was read."""
    cdef size_t n = 0
    cdef const AmqpValue* v
    for i in range(i, d.n):
        v = &s.v[i]
        if v.wire_type == W_BIT:
            n += d.op[i].run != 0
        elif v.wire_type == W_OCTET:
            n += 1
        elif v.wire_type == W_SHORT:
            n += 2
        elif v.wire_type == W_LONG:
            n += 4
        elif v.wire_type == W_LONGLONG or v.wire_type == W_TIMESTAMP:
            n += 8
        else:
            n += v.n + (1 if v.wire_type == W_SHORTSTR else 5 if v.wire_type == W_CONTENT else 4)
    return n


cdef int put_table(Sink* s, Column* c, const AmqpValue* v, int64_t row) noexcept nogil:
    """A checked table into a column of tables."""
    cdef JsonText text
    cdef int status
    if c.form != FORM_JSON:
        return append_table(s.table, c, row, v.p, v.n, s.variants, s.options.reading, s.input.end)
    status = text_begin(&text, c, s.input.end)
    if status == 0:
        status = json_table(&text, v.p, v.n, s.options.reading)
    return data_commit(s.table, &text.out, c, row) if status == 0 else status


cdef int put_field(Sink* s, const Desc* d, int i, const uint8_t* start, Column* c,
                   int64_t row) noexcept nogil:
    """A value that is there, into its column. c: NULL to check it only. start: of the property list,
    or NULL: an argument."""
    cdef const AmqpValue* v = &s.v[i]
    cdef JsonText text
    cdef int64_t us = 0
    cdef int status
    if v.wire_type == W_SHORTSTR:
        if c == NULL:
            status = 0 if is_utf8(v.p, v.n) else NOT_UTF8
        else:
            status = append_utf8(s.table, c, row, v.p, v.n, s.input.end)
        if AMQP_UNLIKELY(status == NOT_UTF8):
            return report_text(s, d, i)
        return status
    if v.wire_type == W_TIMESTAMP:
        if AMQP_UNLIKELY(not us_from_seconds(v.u, &us)):
            return report_range(s, d, i, start)
        return 0 if c == NULL else append_i64(c, row, us)
    if v.wire_type == W_LONGLONG and v.u > HIGHEST_INT64:
        return report_range(s, d, i, start)
    if c == NULL:
        return 0
    if v.wire_type == W_TABLE:
        return put_table(s, c, v, row)
    if v.wire_type == W_CONTENT and start == NULL:
        status = text_begin(&text, c, s.input.end)
        if status == 0:
            status = json_content(&text, v)
        return data_commit(s.table, &text.out, c, row) if status == 0 else status
    if v.wire_type == W_BIT:
        return append_bool(c, row, v.u != 0)
    if v.wire_type == W_LONGSTR or v.wire_type == W_CONTENT:
        return append_bytes(s.table, c, row, v.p, v.n)
    if c.arrow_type == AS_INT32:
        return append_i32(c, row, <int32_t>v.u)
    return append_i64(c, row, <int64_t>v.u)


cdef int write_properties_json(Sink* s, const Desc* d, const FieldPlan* field, int64_t row) noexcept nogil:
    """A JSON object of the properties that are there."""
    cdef JsonText text
    cdef bint first = True
    cdef int i, status = text_begin(&text, s.asked[COL_PROPERTIES_JSON], s.input.end)
    if status < 0 or json_literal(&text, b"{", 1) < 0:
        return NO_MEMORY
    for i in range(d.n):
        if not s.v[i].present:
            continue
        if json_literal(&text, field[i].key + first, field[i].key_n - first) < 0:
            return NO_MEMORY
        first = False
        status = write_value_json(s, d, i, &text)
        if status < 0:
            return status
    if json_literal(&text, b"}", 1) < 0:
        return NO_MEMORY
    return data_commit(s.table, &text.out, s.asked[COL_PROPERTIES_JSON], row)


cdef int append_header(Sink* s, const Entry* e, int64_t row) noexcept nogil:
    cdef const Desc* d
    cdef const FieldPlan* field
    cdef Column* c
    cdef uint64_t body_size
    cdef int i, status
    cdef bint unusual
    if AMQP_UNLIKELY(e.total < 20):
        fail(&s.c, BAD_TRUNCATED, b"content header", 12, 0)
        return BAD_FRAME
    d = find_properties(s, load16(s.c.p))
    if AMQP_UNLIKELY(d == NULL):
        fail(&s.c, BAD_HEADER_CLASS, NULL, 0, 0)
        s.fault.class_id = load16(s.c.p)
        return BAD_FRAME
    body_size = load64(s.c.p + 4)
    if s.asked[COL_BODY_SIZE] != NULL and body_size <= HIGHEST_INT64:
        if append_i64(s.asked[COL_BODY_SIZE], row, <int64_t>body_size) < 0:
            return NO_MEMORY
    if not s.columns.any_property and not s.options.check:
        return 0
    s.c.p += 12
    if read_properties(d, &s.c, s.v, s.options.reading, &unusual) < 0:
        return BAD_FRAME
    if AMQP_UNLIKELY(body_size > HIGHEST_INT64):
        report_fault(s, NULL, 0, BAD_RANGE, b"body size", e.start + 11, body_size)
    if s.asked[COL_PROPERTIES] != NULL and column_at(s.asked[COL_PROPERTIES], row) < 0:
        return NO_MEMORY
    field = s.protocol.methods[d - s.protocol.descs].field
    for i in range(d.n):
        if not s.v[i].present:
            continue
        if AMQP_UNLIKELY(field[i].child == NO_CHILD) and s.asked[COL_PROPERTIES] != NULL:
            report_fault(s, d, i, BAD_COLUMN, s.protocol.name, e.start + 19, 0)
        c = s.table.column + field[i].child
        status = put_field(s, d, i, e.start + 19, c if c.asked else NULL, row)
        if status < 0:
            return status
        if field[i].headers and (s.columns.n_wanted or s.asked[COL_RAW_HEADERS] != NULL):
            status = append_wanted(s, d, i, s.v[i].p, s.v[i].n, row)
            if status < 0:
                return status
    if s.asked[COL_PROPERTIES_JSON] != NULL:
        status = write_properties_json(s, d, field, row)
        if status < 0:
            return status
    return BAD_FRAME if s.fault.code != OK else 0
