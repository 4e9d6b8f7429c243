# What other files use of write_scalar.pxi.

cdef inline int v1_put_code(Buffer* b, uint8_t code) except -1:
    buffer_room(b, 17)      # and any fixed content after it
    b.p[0] = code
    b.p += 1
    return 0

cdef int v1_put_fixed(Buffer* b, uint8_t wire_type, uint64_t u) noexcept

cdef inline int v1_put_number(Buffer* b, uint8_t wire_type, uint64_t u) except -1:
    """A number, boolean or char in the smallest encoding of its type."""
    buffer_room(b, 9)
    if u == 0 and (wire_type == V1_UINT or wire_type == V1_ULONG):
        b.p[0] = CTOR_UINT0 if wire_type == V1_UINT else CTOR_ULONG0
        b.p += 1
        return 0
    if wire_type == V1_BOOLEAN:
        b.p[0] = CTOR_TRUE if u else CTOR_FALSE
        b.p += 1
        return 0
    if v1_narrow(wire_type, u):
        b.p[0] = CTOR_NARROW[wire_type]
        b.p[1] = <uint8_t>u
        b.p += 2
        return 0
    b.p[0] = CTOR_WIDE[wire_type]
    b.p += 1
    v1_put_fixed(b, wire_type, u)
    return 0

cdef int v1_take_int(object v, uint8_t wire_type, uint64_t* out, Place* at) except -1

cdef extern from "datetime.h":
    int PyDateTime_GET_YEAR(object o)
    int PyDateTime_GET_MONTH(object o)
    int PyDateTime_GET_DAY(object o)
    int PyDateTime_DATE_GET_HOUR(object o)
    int PyDateTime_DATE_GET_MINUTE(object o)
    int PyDateTime_DATE_GET_SECOND(object o)
    int PyDateTime_DATE_GET_MICROSECOND(object o)
    PyObject* PyDateTime_DATE_GET_TZINFO(object o)

cdef int v1_take_moment(object v, uint64_t* out, Place* at) except -1
cdef int v1_put_uuid_bytes(Buffer* b, object v) except -1
