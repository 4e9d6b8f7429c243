# Values of AMQP 1.0 as JSON text, without the GIL. Only values that v1/verify.pxi has passed come here.
#
# As columns/json.pxi, with {"$timestamp_ms": n}, {"$uuid": text}, {"$char": text}, symbols as plain strings,
# {"$described": [descriptor, value]} and {"$described_array": [descriptor, list]}. A type of the
# protocol's own is an object of the fields that are there, with its name first: {"$type": "accepted"}.
# A map with a key that is no string or symbol is {"$map": [[key, value], ...]}.

cdef void v1_again(Cursor* c, V1Value* v) noexcept nogil:
    """Read what was verified."""
    memset(v, 0, sizeof(V1Value))
    v1_read(c, v)


cdef void v1_pass(Cursor* c) noexcept nogil:
    """Step over a verified value."""
    cdef V1Value v
    v1_again(c, &v)
    if v.wire_type == V1_DESCRIBED:
        v1_skip_described(c, 2, 0)


cdef inline int json_v1_scalar(JsonText* t, const V1Value* v) noexcept nogil:
    cdef Scalar x
    v1_as_scalar(v, &x)
    return json_scalar(t, &x)


# ---- compounds ----

cdef int json_v1(JsonText* t, const V1Types* types, Cursor* c) noexcept nogil:
    """The value at the cursor, which steps over it."""
    cdef V1Value v
    v1_again(c, &v)
    if v.wire_type < V1_LIST:
        return json_v1_scalar(t, &v)
    if v.wire_type == V1_DESCRIBED:
        return json_v1_described(t, types, c)
    return json_v1_compound(t, types, c, &v)


cdef int json_v1_compound(JsonText* t, const V1Types* types, const Cursor* c, const V1Value* v) noexcept nogil:
    """A list, map or array whose head was read."""
    cdef Cursor inner = c[0]
    v1_inside(c, v, &inner)
    if v.wire_type == V1_LIST:
        return json_v1_items(t, types, &inner, v.count, 0)
    if v.wire_type == V1_MAP:
        return json_v1_map(t, types, &inner, v.count >> 1)
    return json_v1_array(t, types, &inner, v.count)


cdef int json_v1_items(JsonText* t, const V1Types* types, Cursor* c, uint32_t count, uint8_t code) noexcept nogil:
    """Values as a list. code: the constructor of them all, or 0: each has its own."""
    cdef V1Value v
    cdef uint32_t i
    cdef int status
    if json_literal(t, b"[", 1) < 0:
        return NO_MEMORY
    memset(&v, 0, sizeof(v))
    v.wire_type = CTOR_WIRE_TYPE[code]
    for i in range(count):
        if i and json_literal(t, b",", 1) < 0:
            return NO_MEMORY
        if code == 0:
            status = json_v1(t, types, c)
        else:
            v1_content(c, &v, code)
            status = json_v1_scalar(t, &v) if v.wire_type < V1_LIST else json_v1_compound(t, types, c, &v)
        if status != 0:
            return status
    return json_literal(t, b"]", 1)


cdef int json_v1_array(JsonText* t, const V1Types* types, Cursor* c, uint32_t count) noexcept nogil:
    """A list of the elements; where these are described, their descriptor once."""
    cdef uint8_t code = c.p[0]
    cdef int status
    c.p += 1
    if AMQP_LIKELY(code != 0):
        return json_v1_items(t, types, c, count, code)
    status = json_literal(t, b'{"$described_array":[', 21)
    if status == 0:
        status = json_v1(t, types, c)
    if status == 0:
        status = json_literal(t, b",", 1)
    if status == 0:
        status = json_v1_array(t, types, c, count)
    return json_literal(t, b"]}", 2) if status == 0 else status


cdef int json_v1_described(JsonText* t, const V1Types* types, Cursor* c) noexcept nogil:
    """A descriptor and its value; the cursor is at the former."""
    cdef const V1Desc* d = v1_known(types, c)
    cdef int status
    if d != NULL:
        return json_v1_known(t, types, d, c)
    status = json_literal(t, b'{"$described":[', 15)
    if status == 0:
        status = json_v1(t, types, c)
    if status == 0:
        status = json_literal(t, b",", 1)
    if status == 0:
        status = json_v1(t, types, c)
    return json_literal(t, b"]}", 2) if status == 0 else status


cdef int json_v1_known(JsonText* t, const V1Types* types, const V1Desc* d, Cursor* c) noexcept nogil:
    """A type of the protocol's own; the cursor is after the descriptor."""
    cdef V1Value v
    cdef Cursor inner = c[0]
    cdef uint32_t i, n = 1
    cdef size_t name_n = strlen(d.name)
    cdef int status
    if buffer_ensure(&t.out, name_n + 11) < 0:
        return NO_MEMORY
    memcpy(t.out.p, <const char*>b'{"$type":"', 10)
    memcpy(t.out.p + 10, d.name, name_n)
    t.out.p[10 + name_n] = c'"'
    buffer_commit(&t.out, t.out.p + 11 + name_n)
    if d.composite:
        v1_again(c, &v)
        v1_inside(c, &v, &inner)
        n = v.count
    for i in range(n):
        if d.composite and inner.p[0] == CTOR_NULL:
            inner.p += 1
            continue
        name_n = strlen(d.field[i])
        if buffer_ensure(&t.out, name_n + 4) < 0:
            return NO_MEMORY
        t.out.p[0] = c','
        t.out.p[1] = c'"'
        memcpy(t.out.p + 2, d.field[i], name_n)
        t.out.p[2 + name_n] = c'"'
        t.out.p[3 + name_n] = c':'
        buffer_commit(&t.out, t.out.p + 4 + name_n)
        status = json_v1_field(t, types, &d.op[i], &inner)
        if status != 0:
            return status
    if not d.composite:
        c.p = inner.p
    return json_literal(t, b"}", 1)


cdef int json_v1_field(JsonText* t, const V1Types* types, const V1Op* op, Cursor* c) noexcept nogil:
    """A field of a composite: one value of a field of many is a list as well."""
    cdef bint alone = op.multiple and CTOR_WIRE_TYPE[c.p[0]] != V1_ARRAY
    cdef int status
    if alone and json_literal(t, b"[", 1) < 0:
        return NO_MEMORY
    status = json_v1(t, types, c)
    if alone and status == 0:
        status = json_literal(t, b"]", 1)
    return status


# ---- maps ----

cdef int v1_key_order(const uint8_t* a, const uint8_t* b) noexcept nogil:
    cdef const uint8_t* at
    cdef const uint8_t* bt
    cdef size_t an, bn
    v1_key(a, &at, &an)
    v1_key(b, &bt, &bn)
    if an != bn:
        return -1 if an < bn else 1
    return memcmp(at, bt, an)


cdef enum:
    V1_KEYS_TEXT            # all are strings or symbols, and none comes twice
    V1_KEYS_TWICE
    V1_KEYS_OTHER


cdef inline uint32_t v1_key_mark(const V1Value* v) noexcept nogil:
    """Equal keys have equal marks, of 6 bits; most others do not."""
    if v.n == 0:
        return 0
    return <uint32_t>(v.n + (<uint32_t>v.p[0] << 8) + (<uint32_t>v.p[v.n - 1] << 16)) * <uint32_t>2654435769 >> 26


cdef int v1_keys(const Cursor* map_, uint32_t count) noexcept nogil:
    """What the keys of a map are; or NO_MEMORY."""
    cdef const uint8_t* few[KEYS_ON_STACK]
    cdef const uint8_t** keys = few
    cdef Cursor c = map_[0]
    cdef V1Value v
    cdef uint32_t i
    cdef int found = V1_KEYS_TEXT
    cdef uint64_t seen = 0
    cdef uint32_t mark
    cdef bint alike = False
    if count > KEYS_ON_STACK:
        keys = <const uint8_t**>malloc(<size_t>count * sizeof(uint8_t*))
        if keys == NULL:
            return NO_MEMORY
    for i in range(count):
        keys[i] = c.p
        v1_again(&c, &v)
        if v.wire_type != V1_STRING and v.wire_type != V1_SYMBOL:
            found = V1_KEYS_OTHER
            break
        mark = v1_key_mark(&v)
        alike = alike or seen >> mark & 1
        seen |= <uint64_t>1 << mark
        v1_pass(&c)
    if found == V1_KEYS_TEXT and alike and any_twice(keys, count, v1_key_order):
        found = V1_KEYS_TWICE
    if keys != few:
        free(keys)
    return found


cdef int json_v1_map(JsonText* t, const V1Types* types, Cursor* c, uint32_t count) noexcept nogil:
    """An object; or a list of pairs, where a key is no text or comes twice."""
    cdef int keys = v1_keys(c, count)
    cdef int status
    if keys < 0:
        return keys
    if keys == V1_KEYS_TEXT:
        return json_v1_pairs(t, types, c, count, keys)
    if keys == V1_KEYS_TWICE:
        status = json_literal(t, b'{"$table":', 10)
    else:
        status = json_literal(t, b'{"$map":', 8)
    if status == 0:
        status = json_v1_pairs(t, types, c, count, keys)
    return json_literal(t, b"}", 1) if status == 0 else status


cdef int json_v1_pairs(JsonText* t, const V1Types* types, Cursor* c, uint32_t count, int keys) noexcept nogil:
    """The pairs of a map: an object, or a list of lists."""
    cdef V1Value v
    cdef uint32_t i
    cdef bint pairs = keys != V1_KEYS_TEXT
    cdef int status = json_literal(t, b"[" if pairs else b"{", 1)
    for i in range(count):
        if status == 0 and i:
            status = json_literal(t, b",", 1)
        if status == 0 and pairs:
            status = json_literal(t, b"[", 1)
        if status != 0:
            return status
        if keys == V1_KEYS_OTHER:
            status = json_v1(t, types, c)
        else:
            v1_again(c, &v)
            status = json_key(t, v.p, v.n)
        if status == 0:
            status = json_literal(t, b"," if pairs else b":", 1)
        if status == 0:
            status = json_v1(t, types, c)
        if status == 0 and pairs:
            status = json_literal(t, b"]", 1)
    if status != 0:
        return status
    return json_literal(t, b"]" if pairs else b"}", 1)
