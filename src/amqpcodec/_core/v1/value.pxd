# What other files use of value.pxi.

cdef inline bint v1_narrow(uint8_t wire_type, uint64_t u) noexcept nogil:
    """Whether a number fits the narrow encoding of its type."""
    if wire_type == V1_UINT or wire_type == V1_ULONG:
        return u <= 255
    return (wire_type == V1_INT or wire_type == V1_LONG) and -128 <= <int64_t>u <= 127

cdef inline bint v1_is_variable(uint8_t wire_type) noexcept nogil:
    """Whether it is a type of variable width: a run of bytes."""
    return V1_BINARY <= wire_type <= V1_SYMBOL

cdef inline bint v1_is_number(uint8_t wire_type) noexcept nogil:
    """Whether fields of this type are a boolean, a number without a sign or a timestamp."""
    return V1_BOOLEAN <= wire_type <= V1_ULONG or wire_type == V1_TIMESTAMP

cdef inline bint v1_is_empty_composite(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether a composite without fields is there, with a code of one byte: most outcomes are. The code is p[2]."""
    return end - p >= 4 and load16(p) == CTOR_DESCRIBED_SMALLULONG and p[3] == CTOR_LIST0

cdef inline bint v1_is_short(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether there is a list, a map or a binary with one byte for its size, whole."""
    if AMQP_UNLIKELY(end - p < 2):
        return False
    if p[0] == CTOR_LIST8 or p[0] == CTOR_MAP8:
        return p[1] >= 1 and end - p - 2 >= p[1]
    return p[0] == CTOR_VBIN8 and end - p - 2 >= p[1]

cdef inline bint v1_is_unsigned(uint8_t wire_type) noexcept nogil:
    """Whether it is the type of a number without a sign."""
    return V1_UBYTE <= wire_type <= V1_ULONG

cdef inline bint v1_holds_int(uint8_t wire_type, int64_t n) noexcept nogil:
    """Whether a type of integers holds a number."""
    cdef int64_t top = n >> (8 * CTOR_WIDTH[CTOR_WIDE[wire_type]] - 1)
    if v1_is_unsigned(wire_type):
        return n >= 0 and top >> 1 == 0
    return top == 0 or top == -1

# One value. Bytes are borrowed: from the input on decode.
cdef struct V1Value:
    uint64_t u              # numbers (signed ones extended), boolean, char, timestamp
    const uint8_t* p        # content of a string, list, map, array (its constructor first), uuid, decimal128
    uint32_t n
    uint32_t count          # items of a list, map or array
    uint8_t wire_type
    uint8_t code

cdef inline void v1_as_scalar(const V1Value* v, Scalar* x) noexcept nogil:
    """A value that is no compound and not described."""
    x.u = v.u
    x.p = v.p
    x.n = v.n
    x.kind = <ScalarKind>V1_KIND[v.wire_type]

cdef inline int v1_content(Cursor* c, V1Value* v, uint8_t code) noexcept nogil:
    """The content after a constructor; its type is set. 0, or -1 with the fault noted."""
    cdef const uint8_t* p = c.p
    cdef size_t left = <size_t>(c.end - p)
    cdef V1Category category = <V1Category>(code >> 4)
    v.code = code
    if category == CATEGORY_FIXED1:
        if AMQP_UNLIKELY(left < 1):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 1, 0)
        v.u = <uint64_t><int8_t>p[0] if v.wire_type >= V1_BYTE else p[0]
        c.p = p + 1
        return 0
    elif category == CATEGORY_VARIABLE1:
        if AMQP_UNLIKELY(left < 1):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 1, 0)
        v.n = p[0]
        c.p = p + 1
        if AMQP_UNLIKELY(left - 1 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], v.n, 0)
        v.p = p + 1
        c.p += v.n
        return 0
    elif category == CATEGORY_FIXED0:
        v.u = code == CTOR_TRUE
        v.p = p
        v.n = 0
        v.count = 0
        return 0
    elif category == CATEGORY_FIXED4:
        if AMQP_UNLIKELY(left < 4):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 4, 0)
        v.u = load32(p)
        if code == CTOR_INT:
            v.u = <uint64_t><int32_t>load32(p)
        c.p = p + 4
        return 0
    elif category == CATEGORY_FIXED8:
        if AMQP_UNLIKELY(left < 8):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 8, 0)
        v.u = load64(p)
        c.p = p + 8
        return 0
    elif category == CATEGORY_COMPOUND1 or category == CATEGORY_ARRAY1:
        if AMQP_UNLIKELY(left < 2):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 2, 0)
        v.n = p[0]
        v.count = p[1]
        if AMQP_UNLIKELY(v.n < 1):
            return fail(c, V1_BAD_SIZE, V1_NAMES[v.wire_type], 0, 0)
        c.p = p + 1
        if AMQP_UNLIKELY(left - 1 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], v.n, 0)
        v.n -= 1
        v.p = p + 2
        c.p = p + 2 + v.n
        return 0
    elif category == CATEGORY_VARIABLE4:
        if AMQP_UNLIKELY(left < 4):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 4, 0)
        v.n = load32(p)
        c.p = p + 4
        if AMQP_UNLIKELY(left - 4 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], v.n, 0)
        v.p = p + 4
        c.p += v.n
        return 0
    elif category == CATEGORY_COMPOUND4 or category == CATEGORY_ARRAY4:
        if AMQP_UNLIKELY(left < 8):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 8, 0)
        v.n = load32(p)
        v.count = load32(p + 4)
        if AMQP_UNLIKELY(v.n < 4):
            return fail(c, V1_BAD_SIZE, V1_NAMES[v.wire_type], 0, 0)
        c.p = p + 4
        if AMQP_UNLIKELY(left - 4 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], v.n, 0)
        v.n -= 4
        v.p = p + 8
        c.p = p + 8 + v.n
        return 0
    elif category == CATEGORY_FIXED2:
        if AMQP_UNLIKELY(left < 2):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 2, 0)
        v.u = load16(p)
        if code == CTOR_SHORT:
            v.u = <uint64_t><int16_t>load16(p)
        c.p = p + 2
        return 0
    elif category == CATEGORY_FIXED16:
        if AMQP_UNLIKELY(left < 16):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.wire_type], 16, 0)
        v.p = p
        v.n = 16
        c.p = p + 16
        return 0
    return fail(c, V1_BAD_CONSTRUCTOR, NULL, 0, code)

cdef inline int v1_read(Cursor* c, V1Value* v) noexcept nogil:
    """A constructor and its content, bounds checked; 0 or -1. Of a described value only the
    constructor: its descriptor stands at the cursor then."""
    cdef uint8_t code
    if AMQP_UNLIKELY(c.p >= c.end):
        return fail(c, BAD_TRUNCATED, b"constructor", 1, 0)
    code = c.p[0]
    v.wire_type = CTOR_WIRE_TYPE[code]
    if AMQP_UNLIKELY(v.wire_type >= V1_DESCRIBED):
        v.code = code
        if v.wire_type == V1_UNKNOWN:
            return fail(c, V1_BAD_CONSTRUCTOR, NULL, 0, code)
        c.p += 1
        return 0
    c.p += 1
    return v1_content(c, v, code)

cdef inline void v1_inside(const Cursor* c, const V1Value* v, Cursor* out) noexcept nogil:
    """A cursor over the content of a compound."""
    out[0] = c[0]
    out.p = v.p
    out.end = v.p + v.n

cdef inline int v1_open_items(const Cursor* c, const V1Value* v, Cursor* items) noexcept nogil:
    """A cursor over the items of a list or map: no more than there are bytes, and pairs of them in a map."""
    v1_inside(c, v, items)
    if AMQP_UNLIKELY(v.count > v.n or (v.wire_type == V1_MAP and v.count & 1)):
        return fail(items, V1_BAD_SIZE, V1_NAMES[v.wire_type], 0, 0)
    return 0

cdef inline int v1_end_items(Cursor* items, uint8_t wire_type) noexcept nogil:
    """After its last item a compound ends."""
    if AMQP_UNLIKELY(items.p != items.end):
        return fail(items, V1_BAD_SIZE, V1_NAMES[wire_type], 0, 0)
    return 0

cdef inline bint v1_can_hold(uint8_t wire_type, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a value of this type may hold these bytes: a string is UTF-8, a symbol ASCII."""
    if wire_type == V1_STRING:
        return is_utf8(p, n)
    return wire_type != V1_SYMBOL or is_ascii(p, n)

# Elements without bytes, in all arrays of one value together: a count costs nothing to claim.
cdef uint64_t V1_EMPTY_LIMIT
