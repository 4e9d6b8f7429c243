# What other files use of read.pxi.

cdef object Decimal
cdef object Datetime
cdef object UTC
cdef object EPOCH
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

cdef object make_timestamp(uint64_t seconds, TextCache* cache)
cdef object make_datetime(TextCache* cache, uint64_t number, uint32_t day, uint32_t second, int microsecond)

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
