# What other files use of read.pxi.

cdef object Decimal
cdef object Datetime
cdef object UTC
cdef object EPOCH
cdef object SECOND
cdef uint64_t LAST_SECOND

cdef extern from "wire/text.h":
    ctypedef struct LastTime:
        uint64_t seconds
        PyObject* datetime
        uint32_t day_number
        int year
        int month
        int day
    int SHORT_VALUE
    ctypedef struct TextCache:
        LastTime last_time
    object text_new(const uint8_t* s, Py_ssize_t n)
    PyObject* text_new_ "text_new"(const uint8_t* s, Py_ssize_t n)
    PyObject* text_utf8(const uint8_t* s, Py_ssize_t n) except? NULL
    PyObject* text_find(TextCache* cache, const uint8_t* s, Py_ssize_t n, PyObject*** entry)
    PyObject* text_of_utf8(TextCache* cache, const uint8_t* s, Py_ssize_t n) except? NULL
    object text_cached(TextCache* cache, const uint8_t* s, Py_ssize_t n)
    PyObject* text_cached_ "text_cached"(TextCache* cache, const uint8_t* s, Py_ssize_t n)
    TextCache* text_cache_new()
    void text_cache_free(TextCache* cache)
    bint ascii_bytes(PyObject* o, const uint8_t** p, Py_ssize_t* n)
    bint utf8_bytes(PyObject* o, const uint8_t** p, Py_ssize_t* n)
    bint exact_u64(PyObject* o, uint64_t* out)
    bint exact_small(PyObject* o, int32_t* out)
    object owned "(PyObject *)"(PyObject* made)     # takes the reference over; NULL: an exception is set

cdef inline PyObject* new_reference(object o) noexcept:
    return Py_NewRef(<PyObject*>o)

cdef object make_decimal(uint8_t scale, int32_t unscaled)
cdef object make_timestamp(uint64_t seconds, TextCache* cache, object zone)
cdef object make_datetime(TextCache* cache, uint64_t number, uint32_t day, uint32_t second, int microsecond,
                          object zone)

cdef extern from "tables/table.h":
    PyObject* table_text(const uint8_t* s, Py_ssize_t n, TextCache* cache) except NULL

cdef inline PyObject* scalar_object(const Scalar* v, TextCache* cache) except NULL:
    """A scalar of a field table as a new reference."""
    cdef ScalarKind kind = v.kind
    if kind == KIND_LONGSTR:
        return table_text(v.p, v.n, cache)
    elif kind == KIND_SIGNED:
        return PyLong_FromI64(<int64_t>v.u)
    elif kind == KIND_UNSIGNED:
        return PyLong_FromU64(v.u)
    elif kind == KIND_BOOLEAN:
        return Py_NewRef(Py_True if v.u else Py_False)
    elif kind == KIND_DOUBLE:
        return PyFloat_FromDouble_(bits_to_double(v.u))
    elif kind == KIND_FLOAT:
        return PyFloat_FromDouble_(<double>bits_to_float(<uint32_t>v.u))
    elif kind == KIND_SECONDS:
        return new_reference(make_timestamp(v.u, cache, UTC))
    elif kind == KIND_VOID:
        return Py_NewRef(Py_None)
    elif kind == KIND_DECIMAL:
        return new_reference(make_decimal(<uint8_t>v.n, <int32_t>v.u))
    elif kind == KIND_BYTES:
        return PyBytes_FromPointer(<const char*>v.p, v.n)
    elif kind == KIND_SHORTSTR:
        return text_new_(v.p, v.n)
    elif (kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128 or kind == KIND_MILLISECONDS
            or kind == KIND_CHAR or kind == KIND_UUID or kind == KIND_STRING or kind == KIND_SYMBOL):
        raise SystemError("of AMQP 1.0: v1/scalar.pxi")

cdef extern from "datetime.h":
    int PyDateTime_GET_YEAR(object o)
    int PyDateTime_GET_MONTH(object o)
    int PyDateTime_GET_DAY(object o)
    int PyDateTime_DATE_GET_HOUR(object o)
    int PyDateTime_DATE_GET_MINUTE(object o)
    int PyDateTime_DATE_GET_SECOND(object o)
    int PyDateTime_DATE_GET_MICROSECOND(object o)
    PyObject* PyDateTime_DATE_GET_TZINFO(object o)

cdef inline int64_t seconds_of_datetime(object v) noexcept:
    """Seconds since 1970 of the date and time of day that a datetime names; its zone does not count."""
    return ((<int64_t>day_from_date(PyDateTime_GET_YEAR(v), PyDateTime_GET_MONTH(v), PyDateTime_GET_DAY(v))
             - EPOCH_DAY) * 86400 + PyDateTime_DATE_GET_HOUR(v) * 3600
            + PyDateTime_DATE_GET_MINUTE(v) * 60 + PyDateTime_DATE_GET_SECOND(v))
