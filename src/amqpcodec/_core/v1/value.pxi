# The v1 family's waist: constructors of AMQP 1.0, and one value read from bytes. Types, constructors and
# their tables come from the XML (_gen/v1_constants.h).

cdef inline bint v1_is_short(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether there is a list, a map or a binary with one byte for its size, whole."""
    if AMQP_UNLIKELY(end - p < 2):
        return False
    if p[0] == CTOR_LIST8 or p[0] == CTOR_MAP8:
        return p[1] >= 1 and end - p - 2 >= p[1]
    return p[0] == CTOR_VBIN8 and end - p - 2 >= p[1]


cdef inline bint v1_minimal(const V1Value* v) noexcept nogil:
    """Whether the encoding is the one that the writer chooses for this value of this type."""
    cdef bint small = v.n <= 255
    if v.wire_type > V1_ARRAY:
        return True         # a described value has one
    if v.wire_type < V1_BINARY:
        return v.code == v1_number_code(v.wire_type, v.u)
    if v.wire_type >= V1_LIST:
        if v.count == 0 and CTOR_EMPTY[v.wire_type] != 0:
            return v.code == CTOR_EMPTY[v.wire_type]
        small = v.n <= 254 and v.count <= 255
    return v.code == (CTOR_NARROW[v.wire_type] if small else CTOR_WIDE[v.wire_type])

# Elements without bytes that the arrays of one frame or section may have: a count of 2**32 - 1 of them takes
# ten bytes. Over many frames they are bounded by the bytes of these as well (v1/stream.pxi, columns/v1_rows.pxi).
cdef uint64_t V1_EMPTY_LIMIT = 65536
