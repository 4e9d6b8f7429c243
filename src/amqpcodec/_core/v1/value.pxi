# The v1 family's waist: types of AMQP 1.0, their constructors, and one value read from octets.

# Types; numbers shared with the lowered table (amqpcodec.spec.oasis_lower).
cdef enum:
    V1_NULL = 0
    V1_BOOLEAN = 1
    V1_UBYTE = 2
    V1_USHORT = 3
    V1_UINT = 4
    V1_ULONG = 5
    V1_BYTE = 6
    V1_SHORT = 7
    V1_INT = 8
    V1_LONG = 9
    V1_FLOAT = 10
    V1_DOUBLE = 11
    V1_DECIMAL32 = 12
    V1_DECIMAL64 = 13
    V1_DECIMAL128 = 14
    V1_CHAR = 15
    V1_TIMESTAMP = 16
    V1_UUID = 17
    V1_BINARY = 18
    V1_STRING = 19
    V1_SYMBOL = 20
    V1_LIST = 21
    V1_MAP = 22
    V1_ARRAY = 23
    V1_ANY = 24             # a field of any type
    V1_COMPOSITE = 25       # a field of one composite type
    V1_DESCRIBED = 26       # read: a descriptor stands at the cursor
    V1_UNKNOWN = 27

cdef const char** V1_NAMES = [
    "null", "boolean", "ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long", "float",
    "double", "decimal32", "decimal64", "decimal128", "char", "timestamp", "uuid", "binary", "string",
    "symbol", "list", "map", "array", "value", "composite", "described value", "unknown"]

# Type of each constructor octet.
cdef uint8_t V1_KIND[256]


cdef int v1_fill_kinds() except -1:
    cdef int i
    for i in range(256):
        V1_KIND[i] = V1_UNKNOWN
    for code, kind in (
            (0x40, V1_NULL), (0x41, V1_BOOLEAN), (0x42, V1_BOOLEAN), (0x56, V1_BOOLEAN),
            (0x50, V1_UBYTE), (0x60, V1_USHORT), (0x70, V1_UINT), (0x52, V1_UINT), (0x43, V1_UINT),
            (0x80, V1_ULONG), (0x53, V1_ULONG), (0x44, V1_ULONG), (0x51, V1_BYTE), (0x61, V1_SHORT),
            (0x71, V1_INT), (0x54, V1_INT), (0x81, V1_LONG), (0x55, V1_LONG), (0x72, V1_FLOAT),
            (0x82, V1_DOUBLE), (0x74, V1_DECIMAL32), (0x84, V1_DECIMAL64), (0x94, V1_DECIMAL128),
            (0x73, V1_CHAR), (0x83, V1_TIMESTAMP), (0x98, V1_UUID), (0xA0, V1_BINARY),
            (0xB0, V1_BINARY), (0xA1, V1_STRING), (0xB1, V1_STRING), (0xA3, V1_SYMBOL),
            (0xB3, V1_SYMBOL), (0x45, V1_LIST), (0xC0, V1_LIST), (0xD0, V1_LIST), (0xC1, V1_MAP),
            (0xD1, V1_MAP), (0xE0, V1_ARRAY), (0xF0, V1_ARRAY), (0x00, V1_DESCRIBED)):
        V1_KIND[code] = kind
    return 0

v1_fill_kinds()

# Constructor of each type in its plain, widest encoding, and of the narrow one where there is one.
cdef uint8_t* V1_WIDE = [
    0x40, 0x56, 0x50, 0x60, 0x70, 0x80, 0x51, 0x61, 0x71, 0x81, 0x72, 0x82, 0x74, 0x84, 0x94, 0x73,
    0x83, 0x98, 0xB0, 0xB1, 0xB3, 0xD0, 0xD1, 0xF0]
cdef uint8_t* V1_NARROW = [
    0, 0, 0, 0, 0x52, 0x53, 0, 0, 0x54, 0x55, 0, 0, 0, 0, 0, 0,
    0, 0, 0xA0, 0xA1, 0xA3, 0xC0, 0xC1, 0xE0]


cdef inline bint v1_narrow(uint8_t kind, uint64_t u) noexcept nogil:
    """Whether a number fits the narrow encoding of its type."""
    if kind == V1_UINT or kind == V1_ULONG:
        return u <= 255
    return (kind == V1_INT or kind == V1_LONG) and -128 <= <int64_t>u <= 127


# One value. Octets are borrowed: from the input on decode.
cdef struct V1Value:
    uint64_t u              # numbers (signed ones extended), boolean, char, timestamp
    const uint8_t* p        # content of a string, list, map, array (its constructor first), uuid, decimal128
    uint32_t n
    uint32_t count          # items of a list, map or array
    uint8_t kind
    uint8_t code

# What can be wrong with octets of this family, beside what wire/wire.pxi numbers.
cdef enum:
    V1_BAD_CONSTRUCTOR = 100
    V1_BAD_SIZE             # size and count of a compound do not fit what it holds
    V1_BAD_TEXT             # what: "string is not UTF-8", ...
    V1_BAD_FIELD            # what: the type that was wanted; octet: the constructor
    V1_BAD_VALUE            # a value of the right type that the field's type does not have
    V1_BAD_FIELDS           # need: fields there are, have: at most
    V1_BAD_MANDATORY
    V1_BAD_COUNT            # zero-width elements beyond the limit
    V1_BAD_SECTION          # what: the rule
    V1_BAD_DESCRIPTOR       # a performative was wanted
    V1_BAD_ENVELOPE         # what: the rule; need: the number seen
    V1_BAD_TYPE             # a frame type
    V1_BAD_ORDER            # what: the rule

cdef enum:
    # Elements without octets, in all arrays of one value together: a count costs nothing to claim.
    V1_ZERO_WIDTH_LIMIT = 65536


cdef inline int v1_content(Cursor* c, V1Value* v, uint8_t code) noexcept nogil:
    """The content behind a constructor; its kind is set. 0, or -1 with the fault noted."""
    cdef const uint8_t* p = c.p
    cdef size_t left = <size_t>(c.end - p)
    cdef uint8_t category = code >> 4
    v.code = code
    if category == 0x5:
        if AMQP_UNLIKELY(left < 1):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 1, 0)
        v.u = <uint64_t><int8_t>p[0] if v.kind >= V1_BYTE else p[0]
        c.p = p + 1
        return 0
    if category == 0xA:
        if AMQP_UNLIKELY(left < 1):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 1, 0)
        v.n = p[0]
        c.p = p + 1
        if AMQP_UNLIKELY(left - 1 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], v.n, 0)
        v.p = p + 1
        c.p += v.n
        return 0
    if category == 0x4:
        v.u = code == 0x41
        v.p = p
        v.n = 0
        v.count = 0
        return 0
    if category == 0x7:
        if AMQP_UNLIKELY(left < 4):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 4, 0)
        v.u = load32(p)
        if code == 0x71:
            v.u = <uint64_t><int32_t>load32(p)
        c.p = p + 4
        return 0
    if category == 0x8:
        if AMQP_UNLIKELY(left < 8):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 8, 0)
        v.u = load64(p)
        c.p = p + 8
        return 0
    if category == 0xC or category == 0xE:
        if AMQP_UNLIKELY(left < 2):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 2, 0)
        v.n = p[0]
        v.count = p[1]
        if AMQP_UNLIKELY(v.n < 1):
            return fail(c, V1_BAD_SIZE, V1_NAMES[v.kind], 0, 0)
        c.p = p + 1
        if AMQP_UNLIKELY(left - 1 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], v.n, 0)
        v.n -= 1
        v.p = p + 2
        c.p = p + 2 + v.n
        return 0
    if category == 0xB:
        if AMQP_UNLIKELY(left < 4):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 4, 0)
        v.n = load32(p)
        c.p = p + 4
        if AMQP_UNLIKELY(left - 4 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], v.n, 0)
        v.p = p + 4
        c.p += v.n
        return 0
    if category == 0xD or category == 0xF:
        if AMQP_UNLIKELY(left < 8):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 8, 0)
        v.n = load32(p)
        v.count = load32(p + 4)
        if AMQP_UNLIKELY(v.n < 4):
            return fail(c, V1_BAD_SIZE, V1_NAMES[v.kind], 0, 0)
        c.p = p + 4
        if AMQP_UNLIKELY(left - 4 < v.n):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], v.n, 0)
        v.n -= 4
        v.p = p + 8
        c.p = p + 8 + v.n
        return 0
    if category == 0x6:
        if AMQP_UNLIKELY(left < 2):
            return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 2, 0)
        v.u = load16(p)
        if code == 0x61:
            v.u = <uint64_t><int16_t>load16(p)
        c.p = p + 2
        return 0
    # 0x9, the last category that a known constructor has
    if AMQP_UNLIKELY(left < 16):
        return fail(c, BAD_TRUNCATED, V1_NAMES[v.kind], 16, 0)
    v.p = p
    v.n = 16
    c.p = p + 16
    return 0


cdef inline int v1_read(Cursor* c, V1Value* v) noexcept nogil:
    """A constructor and its content, bounds checked; 0 or -1. Of a described value only the
    constructor: its descriptor stands at the cursor then."""
    cdef uint8_t code
    if AMQP_UNLIKELY(c.p >= c.end):
        return fail(c, BAD_TRUNCATED, b"constructor", 1, 0)
    code = c.p[0]
    v.kind = V1_KIND[code]
    if AMQP_UNLIKELY(v.kind >= V1_DESCRIBED):
        v.code = code
        if v.kind == V1_UNKNOWN:
            return fail(c, V1_BAD_CONSTRUCTOR, NULL, 0, code)
        c.p += 1
        return 0
    c.p += 1
    return v1_content(c, v, code)


cdef inline bint v1_is_short(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether there is a list, a map or a binary with one octet for its size, whole."""
    if AMQP_UNLIKELY(end - p < 2):
        return False
    if p[0] == 0xC0 or p[0] == 0xC1:
        return p[1] >= 1 and end - p - 2 >= p[1]
    return p[0] == 0xA0 and end - p - 2 >= p[1]


cdef inline void v1_inside(const Cursor* c, const V1Value* v, Cursor* out) noexcept nogil:
    """A cursor over the content of a compound."""
    out[0] = c[0]
    out.p = v.p
    out.end = v.p + v.n


cdef inline bint v1_minimal(const V1Value* v) noexcept nogil:
    """Whether the encoding is the one that the writer chooses for this value of this type."""
    cdef uint8_t code = v.code
    if code == 0x56:
        return False
    if code == 0x52 or code == 0x53:
        return v.u != 0
    if code == 0x70 or code == 0x80:
        return v.u > 255
    if code == 0x71 or code == 0x81:
        return not -128 <= <int64_t>v.u <= 127
    if code == 0xB0 or code == 0xB1 or code == 0xB3:
        return v.n > 255
    if code == 0xC0:
        return v.count != 0
    if code == 0xD0 or code == 0xD1 or code == 0xF0:
        return v.n > 254 or v.count > 255
    return True
