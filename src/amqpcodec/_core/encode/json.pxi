# JSON text, as decode writes it, to entries of field tables and to values of AMQP 1.0, without the GIL.
#
# A string is a string, a whole number an int (in AMQP 1.0 a long, or a ulong beyond 63 bits), others a double;
# [...] is a list, {...} a map with strings as keys (symbols in annotations and fields of AMQP 1.0) or one of the
# forms, whose names start with `$`. A key that comes twice, a number that no type holds and a `$...` that means
# nothing are refused.

ctypedef enum JsonMark:
    MARK_NONE = 0
    MARK_SECONDS            # of field tables alone
    MARK_TABLE              # a map that may have a key twice
    MARK_BINARY
    MARK_DECIMAL
    MARK_DOUBLE
    MARK_TIMESTAMP          # from here on of AMQP 1.0 alone
    MARK_UUID
    MARK_CHAR
    MARK_SYMBOL
    MARK_DESCRIBED
    MARK_MAP
    MARK_TYPE
    MARK_DESCRIBED_ARRAY
    MARK_UNKNOWN            # no form at all

cdef enum:
    IS_FORM = 4             # beside REFUSED = 3: a key is the name of a form

cdef const char** MARK_NAMES = [
    "", "$timestamp", "$table", "$binary", "$decimal", "$double", "$timestamp_ms", "$uuid", "$char", "$symbol",
    "$described", "$map", "$type", "$described_array"]


# ---- any value ----

cdef int json_value(Encoder* e, Json* j, int depth) noexcept nogil:
    """Any value. depth: levels that are open around it."""
    cdef size_t at = buffer_size(&e.scratch)
    cdef int status = json_any(e, j, depth)
    if AMQP_UNLIKELY(e.mode & MODE_OLD and status == 0):
        return check_tag(e, at)
    return status


cdef int json_any(Encoder* e, Json* j, int depth) noexcept nogil:
    cdef uint8_t c
    if j.p == j.end:
        return json_expected(j, b"a value")
    c = j.p[0]
    if c == c'"':
        return json_text(e, j, V1_STRING)
    if c == c'{':
        return json_object(e, j, depth, False)
    if c == c'[':
        return json_list(e, j, depth)
    if c == c't' and json_word(j, b"true", 4):
        return put_number(e, V1_BOOLEAN, 1)
    if c == c'f' and json_word(j, b"false", 5):
        return put_number(e, V1_BOOLEAN, 0)
    if c == c'n' and json_word(j, b"null", 4):
        return put_null(e)
    return json_number(e, j)


cdef inline int json_text(Encoder* e, Json* j, uint8_t wire_type) noexcept nogil:
    """A string as string, symbol or binary."""
    cdef size_t at = 0
    cdef int status = begin_text(e, &at)
    if status == 0:
        status = json_parse_text(&e.scratch, j)
    return end_text(e, at, wire_type) if status == 0 else status


cdef int json_number(Encoder* e, Json* j) noexcept nogil:
    cdef JsonNumber number
    cdef int status = json_parse_number(j, &number)
    if status != 0:
        return status
    if not number.whole:
        return put_double(e, double_to_bits(number.d))
    if not number.large:
        if number.n <= HIGHEST_INT64 or (number.negative and number.n - 1 <= HIGHEST_INT64):
            return put_number(e, V1_LONG, 0 - number.n if number.negative else number.n)
        if not number.negative:
            return put_number(e, V1_ULONG, number.n)
    if e.v1 == NULL:
        return refuse_int(e)
    return json_refuse(j, b"JSON: an integer beyond 64 bits (before byte %llu)")


cdef int json_list(Encoder* e, Json* j, int depth) noexcept nogil:
    """[...]"""
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef bint more = False
    cdef int status = enter_level(e, depth)
    if status == 0:
        status = json_first(j, c'[', c']', b"an array", &more)
    if status == 0:
        status = open_compound(e, V1_LIST, &at)
    while status == 0 and more:
        status = json_value(e, j, depth + 1)
        count += 1
        if status == 0:
            status = json_next(j, c']', &more)
    return close_compound(e, at, V1_LIST, count) if status == 0 else status


# ---- objects ----

cdef int json_object(Encoder* e, Json* j, int depth, bint symbols) noexcept nogil:
    """{...} as a map, or whatever its form says. symbols: strings as keys are symbols."""
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef JsonMark form = MARK_NONE
    cdef int status = open_compound(e, V1_MAP, &at)
    if status == 0:
        status = json_pairs(e, j, depth, symbols, &count, &form)
    if status != 0:
        return status
    if AMQP_LIKELY(form == MARK_NONE):
        return close_compound(e, at, V1_MAP, count)
    buffer_truncate(&e.scratch, at)
    if form == MARK_TYPE:
        return v1e_json_typed(e, j, depth)
    status = json_form(e, j, form, depth, symbols)
    return json_require(j, c'}', b"the end of an object whose key starts with $") if status == 0 else status


cdef int json_table(Encoder* e, Json* j) noexcept nogil:
    """{...} as a complete field table, without its length."""
    cdef uint64_t count = 0
    cdef JsonMark form = MARK_NONE
    cdef int status = json_pairs(e, j, 0, False, &count, &form)
    if AMQP_LIKELY(status != 0 or form == MARK_NONE):
        return status
    if form != MARK_TABLE:
        return json_refuse(j, b"JSON: the object has a key with one $ other than $table (before byte %llu)")
    status = json_listed_pairs(e, j, 0, False, &count)
    return json_require(j, c'}', b"the end of an object whose key starts with $") if status == 0 else status


cdef int json_pairs(Encoder* e, Json* j, int depth, bint symbols, uint64_t* count, JsonMark* form) noexcept nogil:
    """{...}: keys and values, counted in `count`. form: what the object is instead, of which the key was read."""
    cdef size_t keys[KEYS_ON_STACK]
    cdef Buffer* b = &e.scratch
    cdef size_t start = buffer_size(b), n = 0
    cdef bint more = False
    cdef int status = json_first(j, c'{', c'}', b"an object", &more)
    if status == 0 and not more:
        return enter_level(e, depth)
    while status == 0 and more:
        if e.v1 != NULL and n < KEYS_ON_STACK:
            keys[n] = buffer_size(b)
        status = json_key(e, j, symbols, form)
        if AMQP_LIKELY(status == 0):
            status = json_require(j, c':', b"a colon")
        elif status == IS_FORM and json_require(j, c':', b"a colon") == 0:
            if n:
                return json_refuse(j, b"JSON: a key with one $ beside others (before byte %llu)")
            buffer_truncate(b, start)
            return 0
        if AMQP_UNLIKELY(status != 0):
            return REFUSED if status == IS_FORM else status
        if n == 0:
            status = enter_level(e, depth)
        if status == 0:
            status = json_value(e, j, depth + 1)
        n += 1
        if status == 0:
            status = json_next(j, c'}', &more)
    count[0] = 2 * n
    if status == 0 and n > 1:
        status = json_key_twice(e, j, keys, start, n)
    return status


cdef int json_key_twice(Encoder* e, Json* j, const size_t* keys, size_t start, size_t n) noexcept nogil:
    """Refuse a key that comes twice in the n pairs from `start` on. keys: where the first of them are."""
    cdef Buffer* b = &e.scratch
    cdef int status
    if e.v1 == NULL:
        status = has_twice(b.start + start, b.p, SHAPES[e.mode & MODE_LETTER])
    else:
        status = v1e_twice(b, keys, start, n)
    if AMQP_LIKELY(status <= 0):
        return status
    return json_refuse(j, b'JSON: an object has a key twice (before byte %llu); '
                       b'{"$table": [[key, value], ...]} may' if e.v1 == NULL
                       else b'JSON: an object has a key twice (before byte %llu); '
                       b'{"$map": [[key, value], ...]} may')


cdef int json_key(Encoder* e, Json* j, bint symbol, JsonMark* form) noexcept nogil:
    """A key: 0; IS_FORM where it is the name of a form instead, or REFUSED or worse."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b), head = 1 if e.v1 == NULL else 2, n
    cdef uint8_t* p
    cdef int status = buffer_leave(b, head)
    if status == 0:
        status = json_parse_text(b, j)
    if status != 0:
        return status
    p = b.start + at + head
    n = <size_t>(b.p - p)
    if AMQP_UNLIKELY(n != 0 and p[0] == c'$'):
        status = json_dollar_key(e, j, p, &n, form)
        if status != 0:
            return status
        buffer_truncate(b, at + head + n)
    if e.v1 != NULL:
        return v1e_end_run(b, at, V1_SYMBOL if symbol else V1_STRING, j.fault)
    if AMQP_UNLIKELY(n > 255):
        return refuse(j.fault, b"a table name takes at most 255 bytes, not %llu", NULL, n)
    b.start[at] = <uint8_t>n
    return 0


cdef int json_dollar_key(Encoder* e, Json* j, uint8_t* p, size_t* n, JsonMark* form) noexcept nogil:
    """A key that starts with `$`: two stand for one, $key: stands before base64, all others name a form."""
    cdef bint v1 = e.v1 != NULL
    cdef int64_t size
    cdef int k
    if n[0] > 1 and p[1] == c'$':
        n[0] -= 1
        memmove(p, p + 1, n[0])
        return 0
    if not v1 and n[0] >= 5 and memcmp(p, <const char*>b"$key:", 5) == 0:
        size = parse_base64(p, p + 5, n[0] - 5)
        if size < 0:
            return json_expected(j, b"base64 in a key $key:... before it")
        n[0] = <size_t>size
        return 0
    form[0] = MARK_UNKNOWN
    for k in range(<int>(MARK_TABLE if v1 else MARK_SECONDS), <int>(MARK_UNKNOWN if v1 else MARK_TIMESTAMP)):
        if strlen(MARK_NAMES[k]) == n[0] and memcmp(p, MARK_NAMES[k], n[0]) == 0:
            form[0] = <JsonMark>k
    return IS_FORM


cdef int json_listed_pairs(Encoder* e, Json* j, int depth, bint symbols, uint64_t* count) noexcept nogil:
    """[[key, value], ...] as the pairs of a map: in any order, also twice."""
    cdef JsonMark form = MARK_NONE
    cdef bint more = False
    cdef int status = enter_level(e, depth)
    if status == 0:
        status = json_first(j, c'[', c']', b"an array of keys and values", &more)
    while status == 0 and more:
        status = json_require(j, c'[', b"a key and a value in an array")
        if status == 0:
            if e.v1 == NULL:
                status = json_key(e, j, False, &form)
            else:
                status = v1e_json_any_key(e, j, depth + 1, symbols)
        if status == IS_FORM:
            return json_refuse(j, b"JSON: a key with one $ that means nothing (before byte %llu)")
        if status == 0:
            status = json_require(j, c',', b"a comma")
        if status == 0:
            status = json_value(e, j, depth + 1)
        if status == 0:
            status = json_require(j, c']', b"the end of a key and a value")
        count[0] += 2
        if status == 0:
            status = json_next(j, c']', &more)
    return status


# ---- forms ----

cdef int json_form(Encoder* e, Json* j, JsonMark form, int depth, bint symbols) noexcept nogil:
    """The value of a key that starts with `$`."""
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef int status
    if form == MARK_MAP or form == MARK_TABLE:
        status = open_compound(e, V1_MAP, &at)
        if status == 0:
            status = json_listed_pairs(e, j, depth, symbols, &count)
        return close_compound(e, at, V1_MAP, count) if status == 0 else status
    elif form == MARK_SECONDS:
        return json_seconds(e, j)
    elif form == MARK_TIMESTAMP:
        return v1e_json_timestamp(e, j)
    elif form == MARK_SYMBOL:
        return json_text(e, j, V1_SYMBOL)
    elif form == MARK_DESCRIBED:
        return v1e_json_described(e, j, depth)
    elif form == MARK_DESCRIBED_ARRAY:
        return v1e_json_described_array(e, j, depth)
    elif (form == MARK_BINARY or form == MARK_DECIMAL or form == MARK_DOUBLE or form == MARK_UUID
            or form == MARK_CHAR):
        return json_coded(e, j, form)
    elif form == MARK_NONE or form == MARK_TYPE or form == MARK_UNKNOWN:
        return json_refuse(j, b"JSON: a key with one $ that means nothing (before byte %llu)")


cdef int json_coded(Encoder* e, Json* j, JsonMark form) noexcept nogil:
    """What is in a string."""
    cdef Buffer* b = &e.scratch
    cdef uint8_t[16] raw
    cdef size_t at = 0, n
    cdef int64_t size
    cdef uint8_t* p
    cdef int status = begin_text(e, &at)
    if status == 0:
        status = json_parse_text(b, j)
    if status != 0:
        return status
    p = b.start + at + text_head(e)
    n = <size_t>(b.p - p)
    if form == MARK_BINARY:
        size = parse_base64(p, p, n)
        if size < 0:
            return json_expected(j, b"base64 before it")
        buffer_truncate(b, at + text_head(e) + <size_t>size)
        return end_text(e, at, V1_BINARY)
    buffer_truncate(b, at)
    if form == MARK_DECIMAL:
        return json_scaled(e, j, p, n) if e.v1 == NULL else v1e_decimal(b, p, n, j.fault)
    if form == MARK_UUID:
        if not parse_uuid(raw, p, n):
            return json_expected(j, b"a UUID before it")
        return v1e_sixteen(b, CTOR_UUID, raw)
    if form == MARK_CHAR:
        return v1e_json_char(b, j, p, n)
    if form == MARK_DOUBLE and n == 3 and memcmp(p, <const char*>b"NaN", 3) == 0:
        return put_double(e, <uint64_t>0x7FF8 << 48)
    if form == MARK_DOUBLE and n == 8 and memcmp(p, <const char*>b"Infinity", 8) == 0:
        return put_double(e, <uint64_t>0x7FF0 << 48)
    if form == MARK_DOUBLE and n == 9 and memcmp(p, <const char*>b"-Infinity", 9) == 0:
        return put_double(e, <uint64_t>0xFFF0 << 48)
    return json_expected(j, b"NaN, Infinity or -Infinity before it")


cdef int json_seconds(Encoder* e, Json* j) noexcept nogil:
    """A timestamp of a field table."""
    cdef JsonNumber number
    cdef int status = json_parse_number(j, &number)
    if status != 0:
        return status
    if not number.whole or number.large or (number.negative and number.n != 0):
        return refuse_seconds(j.fault)
    return put_scalar(e, FORM_timestamp, number.n)


cdef int json_scaled(Encoder* e, Json* j, const uint8_t* p, size_t n) noexcept nogil:
    """The text of a decimal of a field table, such as -1.50: every digit after the point counts."""
    cdef const uint8_t* end = p + n
    cdef uint64_t v = 0
    cdef uint64_t scale = 0
    cdef bint negative = False, point = False
    cdef int digits = 0
    if p < end and p[0] == c'-':
        negative = True
        p += 1
    while p < end:
        if p[0] == c'.' and not point and digits:
            point = True
            digits = 0
        elif c'0' <= p[0] <= c'9':
            v = v * 10 + (p[0] - c'0')
            scale += point
            digits = 1
            if v > MAX_I32 + negative:
                return refuse(j.fault, b"a decimal's unscaled value must fit 32 bits, signed", NULL, 0)
        else:
            return json_expected(j, b"a decimal before it")
        p += 1
    if not digits:
        return json_expected(j, b"a decimal before it")
    if scale > 255:
        return refuse(j.fault, b"a decimal's scale is at most 255, not %llu", NULL, scale)
    return put_scaled(e, <uint8_t>scale, <uint32_t>(0 - v if negative else v))


# ---- described values of AMQP 1.0 ----

cdef int v1e_json_any_key(Encoder* e, Json* j, int depth, bint symbols) noexcept nogil:
    """A key or a descriptor: where these are symbols or ulongs, they can be nothing else."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef uint64_t u = 0
    cdef bint negative = False
    cdef int status
    if not symbols:
        return json_value(e, j, depth)
    if json_at(j, c'"'):
        return json_text(e, j, V1_SYMBOL)
    if json_at(j, c'{'):
        status = json_value(e, j, depth)
        if status == 0 and CTOR_WIRE_TYPE[b.start[at]] != V1_SYMBOL:
            return json_refuse(j, b"JSON: a key or descriptor here is a symbol or ulong (before byte %llu)")
        return status
    status = v1e_whole(j, &u, &negative)
    if status == 0 and negative:
        return json_refuse(j, b"JSON: a key or descriptor here is a symbol or ulong (before byte %llu)")
    return v1e_number(b, V1_ULONG, u) if status == 0 else status


cdef int v1e_json_described(Encoder* e, Json* j, int depth) noexcept nogil:
    """[descriptor, value] of a type that is not the protocol's own."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef Cursor c
    cdef Fault fault
    cdef int status = enter_level(e, depth)
    if status == 0:
        status = buffer_put_byte(b, 0)
    if status == 0:
        status = json_require(j, c'[', b"an array of descriptor and value")
    if status == 0:
        status = v1e_json_any_key(e, j, depth + 1, True)
    if status == 0:
        status = json_require(j, c',', b"a comma")
    if status != 0:
        return status
    begin_cursor(&c, &fault, b.start + at + 1, b.p, b.start, 0)
    if v1_known(e.v1.types, &c) != NULL:
        return json_refuse(j, b'JSON: one of AMQP\'s own types is {"$type": name, ...} (before byte %llu)')
    status = json_value(e, j, depth + 1)
    return json_require(j, c']', b"the end of an array of descriptor and value") if status == 0 else status


cdef int v1e_json_described_array(Encoder* e, Json* j, int depth) noexcept nogil:
    """[descriptor, list]; instead of the list again such an object, where elements have several."""
    cdef Buffer* b = &e.scratch
    cdef uint64_t count = 0
    cdef size_t at = 0, first
    cdef JsonMark form = MARK_NONE
    cdef int levels = 0
    cdef bint more = True
    cdef int status = v1e_open(b, &at)
    while status == 0 and more:
        status = enter_level(e, depth + levels)
        levels += 1
        if status == 0:
            status = buffer_put_byte(b, 0)
        if status == 0:
            status = json_require(j, c'[', b"an array of descriptor and list")
        if status == 0:
            status = v1e_json_any_key(e, j, depth + levels, True)
        if status == 0:
            status = json_require(j, c',', b"a comma")
        if status != 0:
            return status
        json_skip(j)
        more = json_at(j, c'{')
        if more:
            json_require(j, c'{', b"")
            first = buffer_size(b)
            status = json_key(e, j, False, &form)
            buffer_truncate(b, first)
            if status == 0 or status == IS_FORM:
                status = json_require(j, c':', b"a colon")
            if status == 0 and form != MARK_DESCRIBED_ARRAY:
                status = json_expected(j, b"a list or $described_array before it")
    if status == 0:
        status = json_first(j, c'[', c']', b"an array", &more)
    first = buffer_size(b)
    while status == 0 and more:
        status = json_value(e, j, depth + levels)
        count += 1
        if status == 0:
            status = json_next(j, c']', &more)
    if status == 0:
        status = v1e_elements(b, first, count, j.fault)
    while status == 0 and levels:
        levels -= 1
        status = json_require(j, c']', b"the end of an array of descriptor and list")
        if status == 0 and levels:
            status = json_require(j, c'}', b"the end of an object whose key starts with $")
    return v1e_close(b, at, V1_ARRAY, count, j.fault) if status == 0 else status


# ---- types of AMQP 1.0's own ----

cdef int v1e_json_typed(Encoder* e, Json* j, int depth) noexcept nogil:
    """The name of a type, and its fields up to the end of the object."""
    cdef Buffer* b = &e.scratch
    cdef size_t start = buffer_size(b), n
    cdef const V1Desc* d = NULL
    cdef V1Parts parts
    cdef int i
    cdef int status = enter_level(e, depth)
    if status == 0:
        status = json_parse_text(b, j)
    if status != 0:
        return status
    n = buffer_size(b) - start
    buffer_truncate(b, start)
    for i in range(e.v1.types.count):
        if strlen(e.v1.types.desc[i].name) == n and memcmp(e.v1.types.desc[i].name, b.p, n) == 0:
            d = &e.v1.types.desc[i]
    if d == NULL:
        return json_refuse(j, b"JSON: there is no type of this name (before byte %llu)")
    json_skip(j)
    memset(&parts, 0, sizeof(parts))
    if json_at(j, c','):
        json_require(j, c',', b"")
        status = v1e_json_fields(e, d, j, &parts, depth + 1, NULL)
    else:
        status = json_require(j, c'}', b"a comma or the end of an object")
    return v1e_assemble(e, d, start, &parts) if status == 0 else status


cdef int v1e_json_fields(Encoder* e, const V1Desc* d, Json* j, V1Parts* parts, int depth,
                         const char* column) noexcept nogil:
    """Names and values up to the end of the object; those that are null are not there.
    column: of `arguments`, so that errors name the field, or NULL."""
    cdef Buffer* b = &e.scratch
    cdef bint more = True
    cdef int k = 0
    cdef int status = 0
    while status == 0 and more:
        status = json_field_name(e, j, d.field, d.n, &k)
        if status != 0:
            return status
        if parts.n[k]:
            return json_refuse(j, b"JSON: an object has a key twice (before byte %llu)")
        if column != NULL:
            v1e_place(e, d, k, column)
        if not json_word(j, b"null", 4):
            parts.at[k] = buffer_size(b)
            status = v1e_json_field(e, &d.op[k], j, depth)
            parts.n[k] = buffer_size(b) - parts.at[k]
            if status == 0 and not v1e_is_null(b, parts.at[k]):
                parts.last = max(parts.last, k + 1)
        if status == 0:
            status = json_next(j, c'}', &more)
    return status


cdef int v1e_assemble(Encoder* e, const V1Desc* d, size_t start, const V1Parts* parts) noexcept nogil:
    """A described value of fields that were written in any order from `start` on, in their place."""
    cdef Buffer* b = &e.scratch
    cdef size_t from_ = buffer_size(b), at = 0, n
    cdef int k, last = parts.last if d.composite else 1
    cdef int status = 0
    if not d.composite and parts.n[0] == 0 and d.op[0].wire_type != V1_ANY:
        return refuse(&e.fault, b"JSON: a %s has a value", d.name, 0)
    status = v1e_described(b, d.code)
    if status == 0 and d.composite:
        status = v1e_open(b, &at)
    for k in range(last):
        if status == 0:
            status = v1e_part(b, parts, k) if parts.n[k] else buffer_put_byte(b, CTOR_NULL)
    if status == 0 and d.composite:
        status = v1e_close(b, at, V1_LIST, <uint64_t>last, &e.fault)
    if status != 0:
        return status
    n = buffer_size(b) - from_
    memmove(b.start + start, b.start + from_, n)
    buffer_truncate(b, start + n)
    return 0


# ---- fields of these by their declared type ----

cdef int v1e_json_field(Encoder* e, const V1Op* op, Json* j, int depth) noexcept nogil:
    """A field that is not null."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef uint64_t u = 0
    cdef bint negative = False
    cdef uint8_t wire_type = op.wire_type
    cdef int status
    if op.multiple and json_at(j, c'['):
        return v1e_json_symbols(e, op, j)
    if wire_type == V1_SYMBOL and json_at(j, c'"'):
        return v1e_json_symbol(e, op, j)
    if (wire_type == V1_STRING or wire_type == V1_BINARY) and json_at(j, c'"'):
        return json_text(e, j, wire_type)
    if v1_is_unsigned(wire_type) or wire_type == V1_ANY and op.ulong and not json_at(j, c'"') \
            and not json_at(j, c'{'):
        status = v1e_whole(j, &u, &negative)
        return v1e_unsigned(b, op, u, negative, &e.fault) if status == 0 else status
    if wire_type == V1_MAP and json_at(j, c'{'):
        status = json_object(e, j, depth, op.symbol_keys)
    else:
        status = json_value(e, j, depth)
    if status != 0 or wire_type == V1_ANY:
        return status
    if wire_type == V1_COMPOSITE:
        if b.start[at] == 0 and b.start[at + 2] == op.desc.code:
            return 0
    elif CTOR_WIRE_TYPE[b.start[at]] == wire_type:
        return 0
    return refuse(j.fault, b"JSON: takes %s (before byte %llu)",
                  op.desc.name if wire_type == V1_COMPOSITE else V1_NAMES[wire_type], <uint64_t>(j.p - j.start))


cdef int v1e_unsigned(Buffer* b, const V1Op* op, uint64_t u, bint negative, Fault* f) noexcept nogil:
    """A number of a field's type and choices."""
    cdef uint8_t wire_type = V1_ULONG if op.wire_type == V1_ANY else op.wire_type
    cdef uint64_t most = INT_LIMITS[wire_type - V1_UBYTE + W_OCTET]
    if negative or u > most:
        return refuse(f, b"%s takes 0 to %llu", V1_NAMES[wire_type], most)
    if not v1_takes_number(op, u):
        return refuse(f, b"has no choice %llu", NULL, u)
    return v1e_number(b, wire_type, u)


cdef int v1e_json_symbol(Encoder* e, const V1Op* op, Json* j) noexcept nogil:
    """A string as the symbol of a field."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef const uint8_t* p
    cdef size_t n
    cdef int status = json_text(e, j, V1_SYMBOL)
    if status == 0:
        v1_key(b.start + at, &p, &n)
        status = v1e_choice(op, p, n, j.fault)
    return status


cdef int v1e_json_symbols(Encoder* e, const V1Op* op, Json* j) noexcept nogil:
    """[...] for a field of many."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = 0
    cdef uint64_t count = 0
    cdef bint more = False
    cdef int status = json_first(j, c'[', c']', b"an array", &more)
    if status == 0:
        status = v1e_open(b, &at)
    while status == 0 and more:
        status = v1e_json_symbol(e, op, j)
        count += 1
        if status == 0:
            status = json_next(j, c']', &more)
    return v1e_symbols(b, at, count, j.fault) if status == 0 else status


# ---- complete texts ----

cdef int json_begin(Json* j, const Source* s, int64_t i, Fault* f) noexcept nogil:
    """The text of a row, which must be UTF-8."""
    cdef const uint8_t* p = NULL
    cdef uint64_t n = 0
    if bytes_at(s, i, &p, &n) < 0:
        return BAD_OFFSETS
    return json_begin_bytes(j, p, n, f)


cdef int json_begin_bytes(Json* j, const uint8_t* p, uint64_t n, Fault* f) noexcept nogil:
    j.p = j.start = p
    j.end = p + n
    j.fault = f
    if not is_utf8(p, <size_t>n):
        return refuse(f, b"the text is not UTF-8", NULL, 0)
    json_skip(j)
    return 0


cdef int json_end(Json* j) noexcept nogil:
    json_skip(j)
    if j.p != j.end:
        return json_expected(j, b"the end of the text")
    return 0


cdef int json_field_name(Encoder* e, Json* j, const char** names, int count, int* k) noexcept nogil:
    """One of the names, and the colon after it."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b), n
    cdef int status = json_parse_text(b, j)
    if status != 0:
        return status
    n = buffer_size(b) - at
    buffer_truncate(b, at)
    for k[0] in range(count):
        if strlen(names[k[0]]) == n and memcmp(names[k[0]], b.p, n) == 0:
            return json_require(j, c':', b"a colon")
    return json_refuse(j, b"JSON: a name that is none of its fields (before byte %llu)")
