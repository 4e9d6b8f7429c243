# The v1 family's waist: constructors of AMQP 1.0, and one value read from bytes. Types, constructors and
# their tables come from the XML (_gen/v1_constants.h).

cdef inline bint v1_minimal(const V1Value* v) noexcept nogil:
    """Whether the encoding is the one that the writer chooses for this value of this type."""
    cdef uint8_t code = v.code
    cdef uint8_t wire_type = v.wire_type
    if wire_type >= V1_DESCRIBED:
        return True
    if code == CTOR_WIDE[wire_type]:
        if wire_type < V1_BINARY:
            return code != CTOR_BOOLEAN and not v1_narrow(wire_type, v.u)
        return v.n > 255 or wire_type >= V1_LIST and (v.n > 254 or v.count > 255)
    # Zero and the empty list have a constructor of their own.
    if code == CTOR_LIST8:
        return v.count != 0
    return code != CTOR_NARROW[wire_type] or wire_type > V1_ULONG or v.u != 0

# Elements without bytes that the arrays of one frame or section may have: a count of 2**32 - 1 of them takes
# ten bytes. Over many frames they are bounded by the bytes of these as well (v1/stream.pxi, columns/v1_rows.pxi).
cdef uint64_t V1_EMPTY_LIMIT = 65536
