# Composites of AMQP 1.0 checked without making any: all checks of fields, for columns and for v1/read.pxi.

cdef int v1_verify_described(Cursor* c, V1Check* k, int depth) noexcept nogil:
    """A v1_checker for the protocol's own types."""
    cdef const V1Desc* d = v1_known(<const V1Types*>k.types, c)
    if d == NULL:
        return 0
    return 1 if v1_verify_known(d, c, k, depth) == 0 else -1


cdef void v1_verify_begin(V1Check* k, const V1Types* types) noexcept nogil:
    v1_check_begin(k, 0)
    k.known = v1_verify_described
    k.types = types


cdef int v1_verify_known(const V1Desc* d, Cursor* c, V1Check* k, int depth) noexcept nogil:
    """The value of a described type; the cursor is after the descriptor."""
    cdef Place outer = c.fault.at
    place_begin(&c.fault.at, d.name, NULL)
    if d.composite:
        if v1_verify_fields(d, c, k, depth, NULL, ~<uint32_t>0) < 0:
            return -1
    else:
        if v1_check_restricted(d, c) < 0 or v1_verify_value(c, k, depth) < 0:
            return -1
    c.fault.at = outer
    return 0


cdef int v1_verify_value(Cursor* c, V1Check* k, int depth) noexcept nogil:
    """A value of any type: its structure, then the types in it that are known."""
    cdef Cursor at = c[0]
    cdef V1Check plain
    v1_check_begin(&plain, k.zero_width)
    if v1_check(&at, &plain, depth) < 0:
        return -1
    if AMQP_UNLIKELY(plain.described):
        return v1_check(c, k, depth)
    k.zero_width = plain.zero_width
    c.p = at.p
    return 0


cdef int v1_verify_content(Cursor* c, const V1Value* v, V1Check* k, int depth) noexcept nogil:
    """The same for a value whose constructor was read, and is not that of a described one."""
    cdef V1Check plain
    if v.wire_type < V1_LIST:
        return v1_check_scalar(c, v)
    v1_check_begin(&plain, k.zero_width)
    if v1_check_content(c, v, &plain, depth) < 0:
        return -1
    if plain.unusual:
        k.unusual = True
    if AMQP_UNLIKELY(plain.described):
        return v1_check_content(c, v, k, depth)
    k.zero_width = plain.zero_width
    return 0


cdef int v1_verify_field(const V1Op* op, Cursor* c, const V1Value* v, const uint8_t* start, V1Check* k,
                         int depth) noexcept nogil:
    """One field that is not null. v: what was read of it; start: where it begins."""
    cdef Cursor at
    cdef bint unusual
    if not v1_minimal(v):
        k.unusual = True
    if v.wire_type == op.wire_type:
        if v1_verify_content(c, v, k, depth) < 0:
            return -1
        if AMQP_LIKELY(v1_takes_number(op, v.u) and v1_takes_symbol(op, v.p, v.n)):
            return 0
        c.p = start
        return fail(c, V1_BAD_VALUE, V1_NAMES[op.wire_type], 0, 0)
    if op.wire_type == V1_ANY:
        if v.wire_type != V1_DESCRIBED:
            # On the way out an int is a ulong in some fields, and a long in others.
            if op.ulong and (v.wire_type == V1_ULONG or v.wire_type == V1_LONG):
                unusual = v.wire_type == V1_LONG
            else:
                unusual = not V1_PLAIN[v.wire_type]
            if unusual:
                k.unusual = True
            return v1_verify_content(c, v, k, depth)
        at = c[0]
        if v1_known(<const V1Types*>k.types, &at) != NULL:
            return min(v1_verify_described(c, k, depth + 1), 0)
        if v1_skip_described(&at, depth + 1, k.zero_width) < 0:
            return -1
        if v1_check_descriptor(c, k, depth + 1) < 0:
            return -1
        return v1_check(c, k, depth + 1)
    if op.multiple and v.wire_type == V1_ARRAY:
        return v1_verify_multiple(op, c, v, k, depth)
    if op.wire_type == V1_COMPOSITE and v.wire_type == V1_DESCRIBED and v1_known(<const V1Types*>k.types, c) == op.desc:
        return v1_verify_known(op.desc, c, k, depth + 1)
    c.p = start
    return fail(c, V1_BAD_FIELD, V1_NAMES[op.wire_type] if op.desc == NULL else op.desc.name, 0, v.code)


cdef int v1_verify_multiple(const V1Op* op, Cursor* c, const V1Value* v, V1Check* k, int depth) noexcept nogil:
    """An array where one value could stand, of scalars."""
    cdef Cursor inner
    cdef uint8_t code
    v1_inside(c, v, &inner)
    if AMQP_UNLIKELY(inner.p >= inner.end):
        return fail(&inner, BAD_TRUNCATED, b"constructor", 1, 0)
    code = inner.p[0]
    if CTOR_WIRE_TYPE[code] != op.wire_type:
        return fail(&inner, V1_BAD_FIELD, V1_NAMES[op.wire_type], 0, code)
    # One value is written as itself and none as null; the large constructor is hardly ever needed.
    if v.count < 2 or code != CTOR_SYM8:
        k.unusual = True
    return v1_check_array(&inner, v, k, depth + 1)


cdef inline int v1_open_list(const V1Desc* d, Cursor* c, V1Value* v, int depth) noexcept nogil:
    """The list of a composite's fields, which the cursor goes over then. 1: its head is small, as of most, and of v
    only the count is set; 0: all of v is."""
    cdef const uint8_t* p = c.p
    if AMQP_LIKELY(c.end - p > 2 and p[0] == CTOR_LIST8 and c.end - p - 2 >= p[1] and p[1] and p[2]
                   and p[2] <= d.n and depth < DEPTH_LIMIT):
        v.count = p[2]
        c.p = p + 3
        c.end = p + 2 + p[1]
        return 1
    if AMQP_UNLIKELY(v1_read(c, v) < 0):
        return -1
    if AMQP_UNLIKELY(v.wire_type != V1_LIST):
        c.p = p
        return fail(c, V1_BAD_FIELD, b"list", 0, v.code)
    if AMQP_UNLIKELY(v.count > <uint32_t>d.n):
        c.p = v.p
        fail(c, V1_BAD_FIELDS, NULL, v.count, 0)
        c.fault.have = <uint64_t>d.n
        return -1
    if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
        return fail(c, BAD_DEPTH, NULL, 0, 0)
    v1_inside(c, v, c)
    return 0


cdef int v1_verify_fields(const V1Desc* d, Cursor* c, V1Check* k, int depth, V1Value* out,
                          uint32_t mask) noexcept nogil:
    """The list of a composite's fields. out: those that are missing or null have the type V1_NULL there, and nothing
    else of them is set; of a described one p and n are the bytes after its zero byte; or NULL.
    mask: the fields that matter. If it has not all bits, nothing is looked for after the last of them."""
    cdef V1Value v, one
    cdef V1Value* x = &one
    cdef Cursor f = c[0]
    cdef const uint8_t* start
    cdef const uint8_t* inside
    cdef const V1Op* op
    cdef uint32_t i, n
    if AMQP_UNLIKELY(v1_open_list(d, &f, &v, depth) < 0):
        return -1
    c.p = f.end
    n = v.count
    for i in range(n):
        if mask >> i == 0:
            n = i
            break
        if out != NULL:
            x = &out[i]
        start = f.p
        op = &d.op[i]
        if AMQP_UNLIKELY(v1_read(&f, x) < 0):
            f.fault.at.field = d.field[i]
            return -1
        if x.wire_type == V1_NULL:
            continue
        f.fault.at.field = d.field[i]
        inside = f.p
        if AMQP_LIKELY(mask >> i & 1):
            if AMQP_UNLIKELY(v1_verify_field(op, &f, x, start, k, depth + 1) < 0):
                return -1
        elif x.wire_type == V1_DESCRIBED and v1_skip_described(&f, depth + 1, 0) < 0:
            return -1
        if x.wire_type == V1_DESCRIBED:
            x.p = inside
            x.n = <uint32_t>(f.p - inside)
    if out != NULL:
        for i in range(n, <uint32_t>d.n):
            out[i].wire_type = V1_NULL
    f.fault.at.field = NULL
    return v1_end_items(&f, V1_LIST) if n == v.count else 0
