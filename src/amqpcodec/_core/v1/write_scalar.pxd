# What other files use of write_scalar.pxi.

cdef int v1_put_fixed(Buffer* b, uint8_t wire_type, uint64_t u) except -1

cdef inline int v1_put_number(Buffer* b, uint8_t wire_type, uint64_t u) except -1:
    """A number, boolean or char in the smallest encoding of its type."""
    cdef uint8_t* w
    if u == 0 and (wire_type == V1_UINT or wire_type == V1_ULONG):
        return put_byte(b, CTOR_UINT0 if wire_type == V1_UINT else CTOR_ULONG0)
    if wire_type == V1_BOOLEAN:
        return put_byte(b, CTOR_TRUE if u else CTOR_FALSE)
    if v1_narrow(wire_type, u):
        w = buffer_extend(b, 2)
        w[0] = CTOR_NARROW[wire_type]
        w[1] = <uint8_t>u
        return 0
    return put_int(b, CTOR_WIDE[wire_type], u, CTOR_WIDTH[CTOR_WIDE[wire_type]])

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
