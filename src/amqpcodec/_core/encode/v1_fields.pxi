# Fields of AMQP 1.0 by their declared type, from columns of any; and composites made of them.

# ---- values of any type ----

cdef int v1e_map_column(Encoder* e, const Source* s, int64_t i, int depth, bint symbols) noexcept nogil:
    """A map that is not null: of JSON text, a struct or a map."""
    cdef Json j
    cdef size_t at
    cdef int status
    if s.input_type == IN_STRUCT or s.input_type == IN_MAP:
        return arrow_map(e, s, i, depth, symbols)
    if not (is_bytes(s) and s.text):
        return refuse(&e.fault, b"a map takes JSON text, a map or a struct, not %s", s.type, 0)
    at = buffer_size(&e.scratch)
    status = json_begin(&j, s, i, &e.fault)
    if status == 0:
        status = json_object(e, &j, depth, symbols)
    if status == 0 and CTOR_WIRE_TYPE[e.scratch.start[at]] != V1_MAP:
        return refuse(&e.fault, b"takes a JSON object that is a map", NULL, 0)
    return json_end(&j) if status == 0 else status


cdef int v1e_any_column(Encoder* e, const Source* s, int64_t i, int depth) noexcept nogil:
    """Any value that is not null: text is JSON, all else as its type says."""
    cdef Json j
    cdef int status
    if not (is_bytes(s) and s.text):
        return arrow_value(e, s, i, depth)
    status = json_begin(&j, s, i, &e.fault)
    if status == 0:
        status = json_value(e, &j, depth)
    return json_end(&j) if status == 0 else status


# ---- message ids and addresses ----

cdef inline bint v1e_begins(const uint8_t* p, uint64_t n, const char* prefix, size_t length) noexcept nogil:
    return n >= length and memcmp(p, prefix, length) == 0


cdef int v1e_ulong_text(Buffer* b, const uint8_t* p, uint64_t n, Fault* f) noexcept nogil:
    """Digits as ulong."""
    cdef uint64_t u = 0, digit
    cdef uint64_t i
    for i in range(n):
        digit = <uint64_t>p[i] - c'0'
        if digit > 9 or u > TENTH_OF_U64 or (u == TENTH_OF_U64 and digit > 5):
            n = 0
            break
        u = u * 10 + digit
    if n == 0:
        return refuse(f, b"AMQP_ULONG: takes digits of a number of 64 bits", NULL, 0)
    return v1e_number(b, V1_ULONG, u)


cdef int v1e_id_json(Encoder* e, const uint8_t* p, uint64_t n) noexcept nogil:
    """JSON text of a value of another type, which decode writes where one stands."""
    cdef Json j
    cdef int status = json_begin_bytes(&j, p, n, &e.fault)
    if status == 0:
        status = json_value(e, &j, 1)
    return json_end(&j) if status == 0 else status


cdef int v1e_id_text(Encoder* e, const uint8_t* p, uint64_t n) noexcept nogil:
    """A string; or what the prefix of the JMS mapping says."""
    cdef Buffer* b = &e.scratch
    cdef uint8_t[16] raw
    cdef size_t at
    if AMQP_LIKELY(not v1e_begins(p, n, b"AMQP_", 5)):
        return v1e_run(b, V1_STRING, p, n, &e.fault)
    if v1e_begins(p, n, b"AMQP_STRING:", 12):
        return v1e_run(b, V1_STRING, p + 12, n - 12, &e.fault)
    if v1e_begins(p, n, b"AMQP_ULONG:", 11):
        return v1e_ulong_text(b, p + 11, n - 11, &e.fault)
    if v1e_begins(p, n, b"AMQP_UUID:", 10):
        if not parse_uuid(raw, p + 10, <size_t>n - 10):
            return refuse(&e.fault, b"AMQP_UUID: takes a UUID", NULL, 0)
        return v1e_sixteen(b, CTOR_UUID, raw)
    if v1e_begins(p, n, b"AMQP_VALUE:", 11):
        return v1e_id_json(e, p + 11, n - 11)
    if not v1e_begins(p, n, b"AMQP_BINARY:", 12):
        return v1e_run(b, V1_STRING, p, n, &e.fault)
    n -= 12
    if buffer_ensure(b, 2 + <size_t>n) < 0:
        return NO_MEMORY
    at = buffer_size(b)
    if not parse_hex(b.p + 2, p + 12, <size_t>n):
        return refuse(&e.fault, b"AMQP_BINARY: takes hexadecimal digits", NULL, 0)
    buffer_commit(b, b.p + 2 + n // 2)
    return v1e_end_run(b, at, V1_BINARY, &e.fault)


cdef int v1e_id(Encoder* e, const V1Op* op, const Source* s, int64_t i) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef int64_t v
    if is_bytes(s):
        if not s.text:
            return arrow_bytes(e, V1_BINARY, s, i)
        if bytes_at(s, i, &p, &n) < 0:
            return BAD_OFFSETS
        return v1e_id_text(e, p, n)
    if not is_integer(s) or s.input_type == IN_BOOL:
        return refuse(&e.fault, b"takes text, binary or integers, not %s", s.type, 0)
    v = signed_at(s.input_type, s.data, s.at + i)
    return v1e_unsigned(&e.scratch, op, <uint64_t>v, v < 0 and s.input_type != IN_UINT64, &e.fault)


# ---- one field ----

cdef int v1e_symbol(Encoder* e, const V1Op* op, const Source* s, int64_t i) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    cdef int status
    if not is_bytes(s):
        return refuse(&e.fault, b"takes text, not %s", s.type, 0)
    if bytes_at(s, i, &p, &n) < 0:
        return BAD_OFFSETS
    status = v1e_choice(op, p, <size_t>n, &e.fault)
    return v1e_run(&e.scratch, V1_SYMBOL, p, n, &e.fault) if status == 0 else status


cdef int v1e_many(Encoder* e, const V1Op* op, const Source* s, int64_t i) noexcept nogil:
    """Symbols: a list of text, JSON text of one, or text that is the only one."""
    cdef Buffer* b = &e.scratch
    cdef const uint8_t* p = NULL
    cdef const Source* item
    cdef uint64_t n = 0
    cdef int64_t first = 0, count = 0, k, row
    cdef size_t at = 0
    cdef Json j
    cdef int status
    if is_bytes(s):
        if bytes_at(s, i, &p, &n) < 0:
            return BAD_OFFSETS
        if n == 0 or p[0] != c'[':
            return v1e_symbol(e, op, s, i)
        status = json_begin(&j, s, i, &e.fault)
        if status == 0:
            status = v1e_json_symbols(e, op, &j)
        return json_end(&j) if status == 0 else status
    if not IN_LIST <= s.input_type <= IN_FIXED_LIST:
        return refuse(&e.fault, b"takes text, not %s", s.type, 0)
    status = items_at(s, i, &first, &count)
    if status == 0:
        status = v1e_open(b, &at)
    for k in range(first, first + count):
        if status != 0:
            return status
        item = s.child
        row = k
        status = find_value(&item, &row)
        if status == NO_VALUE:
            return refuse(&e.fault, b"a symbol in a list is null", NULL, 0)
        if status == HAS_VALUE:
            status = v1e_symbol(e, op, item, row)
    return v1e_symbols(b, at, <uint64_t>count, &e.fault) if status == 0 else status


cdef int v1e_typed(Encoder* e, const V1Op* op, const Source* s, int64_t i) noexcept nogil:
    """A field of one composite type: JSON text."""
    cdef Json j
    cdef int status
    if not (is_bytes(s) and s.text):
        return refuse(&e.fault, b"takes JSON text, not %s", s.type, 0)
    status = json_begin(&j, s, i, &e.fault)
    if status == 0:
        status = v1e_json_field(e, op, &j, 1)
    return json_end(&j) if status == 0 else status


cdef int v1e_field(Encoder* e, const V1Op* op, const Source* s, int64_t i) noexcept nogil:
    """A value that is not null, as a field takes it."""
    cdef Buffer* b = &e.scratch
    cdef uint8_t wire_type = op.wire_type
    cdef uint64_t u = 0
    cdef int64_t v
    cdef int status
    if op.multiple:
        return v1e_many(e, op, s, i)
    if wire_type == V1_STRING or wire_type == V1_BINARY:
        if not is_bytes(s):
            return refuse(&e.fault, (b"takes text, not %s" if wire_type == V1_STRING
                          else b"takes binary or text, not %s"), s.type, 0)
        return arrow_bytes(e, wire_type, s, i)
    if wire_type == V1_SYMBOL:
        return v1e_symbol(e, op, s, i)
    if wire_type == V1_ANY:
        return v1e_id(e, op, s, i) if op.ulong or op.longest else v1e_any_column(e, s, i, 1)
    if wire_type == V1_MAP:
        return v1e_map_column(e, s, i, 1, op.symbol_keys)
    if wire_type == V1_COMPOSITE:
        return v1e_typed(e, op, s, i)
    if wire_type == V1_TIMESTAMP and s.input_type == IN_TIME:
        status = v1e_moment(s, i, &u, &e.fault)
        return v1e_number(b, wire_type, u) if status == 0 else status
    if not is_integer(s):
        return refuse(&e.fault, (
            b"a boolean takes bool, not %s" if wire_type == V1_BOOLEAN
            else b"a timestamp takes timestamp or integers, not %s" if wire_type == V1_TIMESTAMP
            else b"takes integers, not %s"), s.type, 0)
    v = signed_at(s.input_type, s.data, s.at + i)
    if wire_type == V1_BOOLEAN:
        return v1e_number(b, wire_type, v != 0)
    if wire_type == V1_TIMESTAMP:
        if s.input_type == IN_UINT64 and v < 0:
            return refuse(&e.fault, b"a timestamp must fit 64 bits of milliseconds, signed", NULL, 0)
        return v1e_number(b, wire_type, <uint64_t>v)
    return v1e_unsigned(b, op, <uint64_t>v, v < 0 and s.input_type != IN_UINT64, &e.fault)


# ---- composites ----

cdef enum:
    MORE_GIVEN = 0          # the field `more` as the row says
    MORE_NOT
    MORE_YES


cdef inline int v1e_find(const V1Fields* f, int k, int64_t row, const Source** s, int64_t* i,
                         const char** column) noexcept nogil:
    """The value of a field in a column: HAS_VALUE, NO_VALUE or BAD_OFFSETS."""
    cdef const V1Column* c = &f.named[k]
    cdef int status
    for _ in range(2):
        if c.source != NULL and (c.parent == NULL or is_valid(c.parent, row)):
            s[0] = c.source
            i[0] = row
            status = find_value(s, i)
            if status != NO_VALUE:
                column[0] = c.column
                return status
        c = &f.plain[k]
    return NO_VALUE


cdef int v1e_field_of(Encoder* e, const V1Fields* f, int k, int64_t row, const V1Parts* parts,
                      int more) noexcept nogil:
    """Field k: HAS_VALUE where it was written, NO_VALUE where it is null; or worse."""
    cdef const V1Desc* d = f.desc
    cdef const Source* s = NULL
    cdef const char* column = NULL
    cdef int64_t i = 0
    cdef int status
    if d.code == DESC_TRANSFER and k == TRANSFER_MORE and more != MORE_GIVEN:
        if more == MORE_NOT:
            return NO_VALUE
        status = buffer_put_byte(&e.scratch, CTOR_TRUE)
        return HAS_VALUE if status == 0 else status
    status = v1e_find(f, k, row, &s, &i, &column) if k < f.n else NO_VALUE
    if status < 0:
        return status
    if status == HAS_VALUE:
        v1e_place(e, d, k, column)
        status = v1e_field(e, &d.op[k], s, i)
    elif parts != NULL and parts.n[k]:
        status = v1e_part(&e.scratch, parts, k)
    elif d.code == DESC_TRANSFER and (k == TRANSFER_HANDLE
                                      or k == TRANSFER_MESSAGE_FORMAT and not e.v1.whole):
        status = buffer_put_byte(&e.scratch, CTOR_UINT0)
    else:
        return NO_VALUE
    return HAS_VALUE if status == 0 else status


cdef int v1e_composite(Encoder* e, const V1Fields* f, int64_t row, const V1Parts* parts, int more,
                       bint* any_) noexcept nogil:
    """A described list of fields, without the nulls at its end. any_: some field is not null."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = 0, end, before
    cdef int k, count = 0
    cdef int status = v1e_described(b, f.desc.code)
    if status == 0:
        status = v1e_open(b, &at)
    if status != 0:
        return status
    end = at + V1_HEAD_BYTES
    for k in range(f.desc.n):
        before = buffer_size(b)
        status = v1e_field_of(e, f, k, row, parts, more)
        if status == HAS_VALUE:
            if k == TRANSFER_MESSAGE_FORMAT and f.desc.code == DESC_TRANSFER and b.start[before] != CTOR_UINT0:
                e.v1.other_format = True
            if not v1e_is_null(b, before):
                count = k + 1
                end = buffer_size(b)
        elif status == NO_VALUE:
            status = buffer_put_byte(b, CTOR_NULL)
            if status < 0:
                return status
        else:
            return status
    buffer_truncate(b, end)
    any_[0] = count != 0
    return v1e_close(b, at, V1_LIST, <uint64_t>count, &e.fault)
