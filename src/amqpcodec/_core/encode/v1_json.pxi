# JSON text, as decode writes it for AMQP 1.0, to values, without the GIL.
#
# A string is a string, a whole number a long (a ulong beyond 63 bits), others a double; [...] is a list,
# {...} a map with strings as keys (symbols in annotations and fields) or one of the forms that start with
# `$`. A key that comes twice, a number that no type holds and a `$...` that means nothing are refused.

# ---- any value ----

cdef int v1e_json(Encoder* e, Json* j, int depth) noexcept nogil:
    """Any value. depth: levels that are open around it."""
    cdef Buffer* b = &e.scratch
    cdef uint8_t c
    if j.p == j.end:
        return json_expected(j, b"a value")
    c = j.p[0]
    if c == c'"':
        return v1e_json_text(b, j, V1_STRING)
    if c == c'{':
        return v1e_json_object(e, j, depth, False)
    if c == c'[':
        return v1e_json_list(e, j, depth)
    if c == c't' and v1e_word(j, b"true", 4):
        return buffer_put_byte(b, CTOR_TRUE)
    if c == c'f' and v1e_word(j, b"false", 5):
        return buffer_put_byte(b, CTOR_FALSE)
    if c == c'n' and v1e_word(j, b"null", 4):
        return buffer_put_byte(b, CTOR_NULL)
    return v1e_json_number(b, j)


cdef int v1e_json_list(Encoder* e, Json* j, int depth) noexcept nogil:
    """[...] as a list."""
    cdef Buffer* b = &e.scratch
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef bint more = False
    cdef int status = v1e_enter(depth, j.refusal)
    if status == 0:
        status = v1e_first(j, c'[', c']', &more)
    if status == 0:
        status = v1e_open(b, &at)
    while status == 0 and more:
        status = v1e_json(e, j, depth + 1)
        count += 1
        if status == 0:
            status = v1e_next(j, c']', &more)
    return v1e_close(b, at, V1_LIST, count, j.refusal) if status == 0 else status


cdef int v1e_json_object(Encoder* e, Json* j, int depth, bint symbols) noexcept nogil:
    """{...} as a map, or whatever its form says. symbols: strings as keys are symbols."""
    cdef Buffer* b = &e.scratch
    cdef size_t keys[KEYS_ON_STACK]
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef int form = MARK_NONE
    cdef bint more = False
    cdef int status = v1e_first(j, c'{', c'}', &more)
    if status == 0:
        status = v1e_open(b, &at)
    if status == 0 and not more:
        status = v1e_enter(depth, j.refusal)
    while status == 0 and more:
        if count < KEYS_ON_STACK:
            keys[count] = buffer_size(b)
        status = v1e_json_key(b, j, symbols, &form)
        if status != 0:
            return status
        if AMQP_UNLIKELY(form != MARK_NONE):
            if count:
                return json_refuse(j, b"JSON: a key with one $ beside others (before byte %llu)")
            buffer_truncate(b, at)
            if form == MARK_TYPE:
                return v1e_json_typed(e, j, depth)
            status = v1e_json_form(e, j, form, depth, symbols)
            return json_require(j, c'}', b"the end of an object whose key starts with $") \
                if status == 0 else status
        if count == 0:
            status = v1e_enter(depth, j.refusal)
        if status == 0:
            status = v1e_json(e, j, depth + 1)
        count += 1
        if status == 0:
            status = v1e_next(j, c'}', &more)
    if status == 0 and count > 1:
        status = v1e_twice(b, keys, at + V1_HEAD_BYTES, <size_t>count, j.refusal)
        if status > 0:
            return json_refuse(j, b'JSON: an object has a key twice (before byte %llu); '
                               b'{"$map": [[key, value], ...]} may')
    return v1e_close(b, at, V1_MAP, 2 * count, j.refusal) if status == 0 else status


cdef int v1e_json_map(Encoder* e, Json* j, int depth, bint symbols) noexcept nogil:
    """[[key, value], ...] as a map: any keys, in any order, also twice."""
    cdef Buffer* b = &e.scratch
    cdef uint64_t count = 0
    cdef size_t at = 0
    cdef bint more = False
    cdef int status = v1e_enter(depth, j.refusal)
    if status == 0:
        status = v1e_first(j, c'[', c']', &more)
    if status == 0:
        status = v1e_open(b, &at)
    while status == 0 and more:
        status = json_require(j, c'[', b"a key and a value in an array")
        if status == 0:
            status = v1e_json_any_key(e, j, depth + 1, symbols)
        if status == 0:
            status = json_require(j, c',', b"a comma")
        if status == 0:
            status = v1e_json(e, j, depth + 1)
        if status == 0:
            status = json_require(j, c']', b"the end of a key and a value")
        count += 2
        if status == 0:
            status = v1e_next(j, c']', &more)
    return v1e_close(b, at, V1_MAP, count, j.refusal) if status == 0 else status


cdef int v1e_json_any_key(Encoder* e, Json* j, int depth, bint symbols) noexcept nogil:
    """A key or a descriptor: where these are symbols or ulongs, they can be nothing else."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef uint64_t u = 0
    cdef bint negative = False
    cdef int status
    if not symbols:
        return v1e_json(e, j, depth)
    if json_at(j, c'"'):
        return v1e_json_text(b, j, V1_SYMBOL)
    if json_at(j, c'{'):
        status = v1e_json(e, j, depth)
        if status == 0 and CTOR_WIRE_TYPE[b.start[at]] != V1_SYMBOL:
            return json_refuse(j, b"JSON: a key or descriptor here is a symbol or ulong (before byte %llu)")
        return status
    status = v1e_whole(j, &u, &negative)
    if status == 0 and negative:
        return json_refuse(j, b"JSON: a key or descriptor here is a symbol or ulong (before byte %llu)")
    return v1e_number(b, V1_ULONG, u) if status == 0 else status


# ---- forms ----

cdef int v1e_json_form(Encoder* e, Json* j, int form, int depth, bint symbols) noexcept nogil:
    """The value of a key that starts with `$`."""
    cdef Buffer* b = &e.scratch
    cdef uint64_t u = 0
    cdef bint negative = False
    cdef int status
    if form == MARK_SYMBOL:
        return v1e_json_text(b, j, V1_SYMBOL)
    if form == MARK_MAP or form == MARK_TABLE:
        return v1e_json_map(e, j, depth, symbols)
    if form == MARK_DESCRIBED:
        return v1e_json_described(e, j, depth)
    if form == MARK_DESCRIBED_ARRAY:
        return v1e_json_described_array(e, j, depth)
    if form == MARK_TIMESTAMP:
        status = v1e_whole(j, &u, &negative)
        if status == 0 and not negative and u > HIGHEST_INT64:
            return json_refuse(j, b"JSON: a timestamp has 64 bits, signed (before byte %llu)")
        return v1e_number(b, V1_TIMESTAMP, u) if status == 0 else status
    return v1e_json_coded(b, j, form)


cdef int v1e_json_described(Encoder* e, Json* j, int depth) noexcept nogil:
    """[descriptor, value] of a type that is not the protocol's own."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef Cursor c
    cdef Fault fault
    cdef int status = v1e_enter(depth, j.refusal)
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
    v1_begin(&c, &fault, b.start + at + 1, b.p, b.start, 0)
    if v1_known(e.v1.types, &c) != NULL:
        return json_refuse(j, b'JSON: one of AMQP\'s own types is {"$type": name, ...} (before byte %llu)')
    status = v1e_json(e, j, depth + 1)
    return json_require(j, c']', b"the end of an array of descriptor and value") if status == 0 else status


cdef int v1e_json_described_array(Encoder* e, Json* j, int depth) noexcept nogil:
    """[descriptor, list]; instead of the list again such an object, where elements have several."""
    cdef Buffer* b = &e.scratch
    cdef uint64_t count = 0
    cdef size_t at = 0, first
    cdef int form = MARK_NONE, levels = 0
    cdef bint more = True
    cdef int status = v1e_open(b, &at)
    while status == 0 and more:
        status = v1e_enter(depth + levels, j.refusal)
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
            status = v1e_json_key(b, j, False, &form)
            buffer_truncate(b, first)
            if status == 0 and form != MARK_DESCRIBED_ARRAY:
                status = json_expected(j, b"a list or $described_array before it")
    if status == 0:
        status = v1e_first(j, c'[', c']', &more)
    first = buffer_size(b)
    while status == 0 and more:
        status = v1e_json(e, j, depth + levels)
        count += 1
        if status == 0:
            status = v1e_next(j, c']', &more)
    if status == 0:
        status = v1e_elements(b, first, count, j.refusal)
    while status == 0 and levels:
        levels -= 1
        status = json_require(j, c']', b"the end of an array of descriptor and list")
        if status == 0 and levels:
            status = json_require(j, c'}', b"the end of an object whose key starts with $")
    return v1e_close(b, at, V1_ARRAY, count, j.refusal) if status == 0 else status


# ---- types of the protocol's own ----

cdef int v1e_json_typed(Encoder* e, Json* j, int depth) noexcept nogil:
    """The name of a type, and its fields up to the end of the object."""
    cdef Buffer* b = &e.scratch
    cdef size_t start = buffer_size(b), n
    cdef const V1Desc* d = NULL
    cdef V1Parts parts
    cdef int i
    cdef int status = v1e_enter(depth, j.refusal)
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
        status = v1e_json_name(b, j, d, &k)
        if status != 0:
            return status
        if parts.n[k]:
            return json_refuse(j, b"JSON: an object has a key twice (before byte %llu)")
        if column != NULL:
            v1e_place(e, d, k, column)
        if not v1e_null(j):
            parts.at[k] = buffer_size(b)
            status = v1e_json_field(e, &d.op[k], j, depth)
            parts.n[k] = buffer_size(b) - parts.at[k]
            if status == 0 and not v1e_is_null(b, parts.at[k]):
                parts.last = max(parts.last, k + 1)
        if status == 0:
            status = v1e_next(j, c'}', &more)
    return status


cdef int v1e_json_name(Buffer* b, Json* j, const V1Desc* d, int* k) noexcept nogil:
    """The name of a field, and the colon after it."""
    cdef size_t at = buffer_size(b), n
    cdef int status = json_parse_text(b, j)
    if status != 0:
        return status
    n = buffer_size(b) - at
    buffer_truncate(b, at)
    for k[0] in range(d.n):
        if strlen(d.field[k[0]]) == n and memcmp(d.field[k[0]], b.p, n) == 0:
            return json_require(j, c':', b"a colon")
    return json_refuse(j, b"JSON: a name that is none of its fields (before byte %llu)")


cdef int v1e_assemble(Encoder* e, const V1Desc* d, size_t start, const V1Parts* parts) noexcept nogil:
    """A described value of fields that were written in any order from `start` on, in their place."""
    cdef Buffer* b = &e.scratch
    cdef size_t from_ = buffer_size(b), at = 0, n
    cdef int k, last = parts.last if d.composite else 1
    cdef int status = 0
    if not d.composite and parts.n[0] == 0 and d.op[0].wire_type != V1_ANY:
        return refuse(&e.refusal, b"JSON: a %s has a value", d.name, 0)
    status = v1e_described(b, d.code)
    if status == 0 and d.composite:
        status = v1e_open(b, &at)
    for k in range(last):
        if status == 0:
            status = v1e_part(b, parts, k) if parts.n[k] else buffer_put_byte(b, CTOR_NULL)
    if status == 0 and d.composite:
        status = v1e_close(b, at, V1_LIST, <uint64_t>last, &e.refusal)
    if status != 0:
        return status
    n = buffer_size(b) - from_
    memmove(b.start + start, b.start + from_, n)
    buffer_truncate(b, start + n)
    return 0


# ---- fields by their declared type ----

cdef int v1e_json_field(Encoder* e, const V1Op* op, Json* j, int depth) noexcept nogil:
    """A field that is not null."""
    cdef Buffer* b = &e.scratch
    cdef size_t at = buffer_size(b)
    cdef uint64_t u = 0
    cdef bint negative = False
    cdef uint8_t wire_type = op.wire_type
    cdef int status
    if op.multiple and json_at(j, c'['):
        return v1e_json_symbols(b, op, j)
    if wire_type == V1_SYMBOL and json_at(j, c'"'):
        return v1e_json_symbol(b, op, j)
    if (wire_type == V1_STRING or wire_type == V1_BINARY) and json_at(j, c'"'):
        return v1e_json_text(b, j, wire_type)
    if V1_UBYTE <= wire_type <= V1_ULONG or wire_type == V1_ANY and op.ulong and not json_at(j, c'"') \
            and not json_at(j, c'{'):
        status = v1e_whole(j, &u, &negative)
        return v1e_unsigned(b, op, u, negative, &e.refusal) if status == 0 else status
    if wire_type == V1_MAP and json_at(j, c'{'):
        status = v1e_json_object(e, j, depth, op.symbol_keys)
    else:
        status = v1e_json(e, j, depth)
    if status != 0 or wire_type == V1_ANY:
        return status
    if wire_type == V1_COMPOSITE:
        if b.start[at] == 0 and b.start[at + 2] == op.desc.code:
            return 0
    elif CTOR_WIRE_TYPE[b.start[at]] == wire_type:
        return 0
    return refuse(j.refusal, b"JSON: takes %s (before byte %llu)",
                  op.desc.name if wire_type == V1_COMPOSITE else V1_NAMES[wire_type], <uint64_t>(j.p - j.start))


cdef int v1e_unsigned(Buffer* b, const V1Op* op, uint64_t u, bint negative, Refusal* r) noexcept nogil:
    """A number of a field's type and choices."""
    cdef uint8_t wire_type = V1_ULONG if op.wire_type == V1_ANY else op.wire_type
    cdef uint64_t most = highest_of(wire_type - V1_UBYTE + W_OCTET)
    if negative or u > most:
        return refuse(r, b"%s takes 0 to %llu", V1_NAMES[wire_type], most)
    if op.choices and (u >= <uint64_t>op.choices or op.choice[u] == NULL):
        return refuse(r, b"has no choice %llu", NULL, u)
    return v1e_number(b, wire_type, u)


cdef int v1e_json_symbol(Buffer* b, const V1Op* op, Json* j) noexcept nogil:
    """A string as the symbol of a field."""
    cdef size_t at = buffer_size(b)
    cdef const uint8_t* p
    cdef size_t n
    cdef int status = v1e_json_text(b, j, V1_SYMBOL)
    if status == 0:
        v1_key(b.start + at, &p, &n)
        status = v1e_choice(op, p, n, j.refusal)
    return status


cdef int v1e_json_symbols(Buffer* b, const V1Op* op, Json* j) noexcept nogil:
    """[...] for a field of many."""
    cdef size_t at = 0
    cdef uint64_t count = 0
    cdef bint more = False
    cdef int status = v1e_first(j, c'[', c']', &more)
    if status == 0:
        status = v1e_open(b, &at)
    while status == 0 and more:
        status = v1e_json_symbol(b, op, j)
        count += 1
        if status == 0:
            status = v1e_next(j, c']', &more)
    return v1e_symbols(b, at, count, j.refusal) if status == 0 else status
