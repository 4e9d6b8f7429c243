# One field of a row: a value of any column, as its wire type takes it, or text of JSON by names.

# ---- one value ----

cdef int check_shortstr(Fault* f, const uint8_t* p, uint64_t n) noexcept nogil:
    if n > 255:
        return refuse(f, b"a shortstr takes at most 255 bytes, not %llu", NULL, n)
    if not is_utf8(p, <size_t>n):
        return refuse(f, b"text that is not UTF-8", NULL, 0)
    return 0


cdef int load_source(Encoder* e, uint8_t wire_type, const Source* s, int64_t i, AmqpValue* v,
                     size_t* kept) noexcept nogil:
    """A value that is not null, as the wire type takes it. kept: see Encoder."""
    cdef uint64_t n = 0
    cdef int64_t number = 0
    cdef size_t at
    cdef int status
    cdef Fault* f = &e.fault
    v.wire_type = wire_type
    v.present = True
    v.u = 0
    kept[0] = 0
    if wire_type == W_SHORTSTR or wire_type == W_LONGSTR or wire_type == W_CONTENT:
        if not is_bytes(s):
            if wire_type == W_SHORTSTR:
                return refuse(f, b"a shortstr takes text, not %s", s.type, 0)
            return refuse(f, b"a longstr takes binary or text, not %s", s.type, 0)
        if bytes_at(s, i, &v.p, &n) < 0:
            return BAD_OFFSETS
        v.n = <uint32_t>n
        if wire_type == W_SHORTSTR:
            return check_shortstr(f, v.p, n)
        if n > MAX_U32:
            return refuse(f, b"a longstr takes at most 4294967295 bytes, not %llu", NULL, n)
        if s.text and not is_utf8(v.p, <size_t>n):
            return refuse(f, b"text that is not UTF-8", NULL, 0)
        return 0
    if wire_type == W_TABLE:
        at = buffer_size(&e.scratch)
        status = put_source_table(e, s, i)
        n = buffer_size(&e.scratch) - at
        if status == 0 and n > MAX_U32:
            return refuse(f, b"a table takes at most 4294967295 bytes", NULL, 0)
        v.n = <uint32_t>n
        kept[0] = at + 1
        return status
    if wire_type == W_TIMESTAMP and s.input_type == IN_TIME:
        seconds_at(s, i, &number)
        if number < 0:
            return refuse_seconds(f)
        v.u = <uint64_t>number
        return 0
    if not is_integer(s):
        if wire_type == W_BIT:
            return refuse(f, b"a bit takes bool, not %s", s.type, 0)
        if wire_type == W_TIMESTAMP:
            return refuse(f, b"a timestamp takes timestamp or integers, not %s", s.type, 0)
        return refuse(f, b"takes integers, not %s", s.type, 0)
    number = signed_at(s.input_type, s.data, s.at + i)
    return load_number(e, wire_type, number < 0 and s.input_type != IN_UINT64, <uint64_t>number, v)


cdef int load_number(Encoder* e, uint8_t wire_type, bint negative, uint64_t u, AmqpValue* v) noexcept nogil:
    """A whole number as a bit, an integer or a timestamp."""
    v.u = u
    if wire_type == W_BIT:
        v.u = u != 0
    elif wire_type == W_TIMESTAMP:
        return refuse_seconds(&e.fault) if negative else 0
    elif negative or u > INT_LIMITS[wire_type]:
        return refuse(&e.fault, b"%s takes 0 to %llu", WIRE_NAMES[wire_type], INT_LIMITS[wire_type])
    return 0


# ---- JSON text of arguments or properties ----

cdef enum:
    OTHER_TYPE = 5          # beside REFUSED = 3: the field takes no value of this type


cdef inline int load_scalar(Encoder* e, uint8_t wire_type, const Scalar* x, AmqpValue* v) noexcept nogil:
    """A value of a field table as the wire type takes it, or OTHER_TYPE. Of text p is not set, since it moves."""
    cdef ScalarKind kind = x.kind
    v.present = kind != KIND_VOID
    if kind == KIND_VOID:
        return 0
    elif kind == KIND_LONGSTR:
        v.n = x.n
        if wire_type == W_SHORTSTR:
            return check_shortstr(&e.fault, x.p, x.n)
        return 0 if wire_type == W_LONGSTR or wire_type == W_CONTENT else OTHER_TYPE
    elif kind == KIND_BOOLEAN:
        v.u = x.u
        return 0 if wire_type == W_BIT else OTHER_TYPE
    elif kind == KIND_SECONDS:
        v.u = x.u
        return 0 if wire_type == W_TIMESTAMP else OTHER_TYPE
    elif kind == KIND_SIGNED or kind == KIND_UNSIGNED:
        if wire_type >= W_SHORTSTR and wire_type != W_TIMESTAMP:
            return OTHER_TYPE
        return load_number(e, wire_type, kind == KIND_SIGNED and <int64_t>x.u < 0, x.u, v)
    elif (kind == KIND_FLOAT or kind == KIND_DOUBLE or kind == KIND_DECIMAL or kind == KIND_BID32
            or kind == KIND_BID64 or kind == KIND_BID128 or kind == KIND_MILLISECONDS or kind == KIND_CHAR
            or kind == KIND_UUID or kind == KIND_BYTES or kind == KIND_SHORTSTR or kind == KIND_STRING
            or kind == KIND_SYMBOL):
        return OTHER_TYPE


cdef int json_field(Encoder* e, Json* j, uint8_t wire_type, AmqpValue* v, size_t* kept) noexcept nogil:
    """A value of this wire type; null leaves it alone."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef const uint8_t* p
    cdef uintptr_t dialect = e.mode
    cdef Scalar x
    cdef int status
    cdef bint reference
    if wire_type == W_TABLE and not json_at(j, c'n'):
        status = json_table(e, j)
        v.n = <uint32_t>(buffer_size(b) - at)
        v.present = True
        kept[0] = at + 1
        return status
    e.mode = MODE_LETTER        # by it `l` has 64 bits without a sign
    reference = wire_type == W_CONTENT and json_opens(j, b'"$reference"')
    status = json_value(e, j, 1)
    e.mode = dialect
    if status == 0 and reference:
        status = json_require(j, c'}', b"the end of a reference")
    if status != 0:
        return status
    p = e.scratch.start + at
    if p[0] != c'F' and p[0] != c'A':
        form_read(form_of(SHAPES[MODE_LETTER], p[0]), p + 1, &x)
        status = load_scalar(e, wire_type, &x, v)
        if x.kind == KIND_LONGSTR:
            v.u = reference
            kept[0] = at + 6
        if status != OTHER_TYPE:
            return status
    return refuse(&e.fault, b"JSON: %s takes another type of value (before byte %llu)",
                  WIRE_NAMES[wire_type], <uint64_t>(j.p - j.start))


cdef int json_fields(Encoder* e, const Desc* d, const Source* s, int64_t row, AmqpValue* v) noexcept nogil:
    """An object of fields by their names, as decode writes it. s: the column, or NULL."""
    cdef bint seen[MAX_FIELDS]
    cdef Json j
    cdef bint more = False
    cdef int64_t i = row
    cdef int k = 0
    cdef int status = NO_VALUE if s == NULL else find_value(&s, &i)
    if status != HAS_VALUE:
        return status
    place_refusal(e, d, -1, s.name)
    if not (is_bytes(s) and s.text):
        return refuse(&e.fault, b"takes JSON text, not %s", s.type, 0)
    memset(seen, 0, sizeof(seen))
    status = json_begin(&j, s, i, &e.fault)
    if status == 0:
        status = json_first(&j, c'{', c'}', b"an object", &more)
    while status == 0 and more:
        status = json_field_name(e, &j, d.field, d.n, &k)
        if status != 0:
            return status
        if seen[k]:
            return json_refuse(&j, b"JSON: an object has a key twice (before byte %llu)")
        seen[k] = True
        place_refusal(e, d, k, s.name)
        status = json_field(e, &j, d.op[k].wire_type, &v[k], &e.kept[k])
        if status != 0:
            return status
        place_refusal(e, d, -1, s.name)
        status = json_next(&j, c'}', &more)
    return json_end(&j) if status == 0 else status
