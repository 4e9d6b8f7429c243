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
    cdef uint8_t code = v.code
    if code == CTOR_BOOLEAN:
        return False
    if code == CTOR_SMALLUINT or code == CTOR_SMALLULONG:
        return v.u != 0
    if code == CTOR_UINT or code == CTOR_ULONG:
        return v.u > 255
    if code == CTOR_INT or code == CTOR_LONG:
        return not -128 <= <int64_t>v.u <= 127
    if code == CTOR_VBIN32 or code == CTOR_STR32_UTF8 or code == CTOR_SYM32:
        return v.n > 255
    if code == CTOR_LIST8:
        return v.count != 0
    if code == CTOR_LIST32 or code == CTOR_MAP32 or code == CTOR_ARRAY32:
        return v.n > 254 or v.count > 255
    return True

# Elements without bytes that the arrays of one frame or section may have: a count of 2**32 - 1 of them takes
# ten bytes. Over many frames they are bounded by the bytes of these as well (v1/stream.pxi, columns/v1_rows.pxi).
cdef uint64_t V1_EMPTY_LIMIT = 65536
