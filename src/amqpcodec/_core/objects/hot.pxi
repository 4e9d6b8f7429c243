# What the generated hot readers and writers (../_gen/hot.pxi) lean on, and how they are bound.

from cpython.datetime cimport datetime as DatetimeType
from cpython.datetime cimport (datetime_day, datetime_hour, datetime_minute, datetime_month,
                               datetime_second, datetime_tzinfo, datetime_year)

cdef PyObject* fall_back(KindObject* o) noexcept:
    """Drop a property list that is half read; NULL, for the table path to take over."""
    Py_DecRef(<PyObject*>o)
    return NULL


cdef int put_back(Buffer* b, size_t start) noexcept:
    """Forget what was written since; 0, for the table path to take over."""
    b.p = b.start + start
    return 0


cdef bint seconds_fast(PyObject* o, uint64_t* out) except -1:
    """Seconds of an exact int, or of an exact datetime in UTC from 1970 on."""
    cdef object v
    cdef int64_t y, era
    cdef uint32_t m, doy, yoe
    if o == NULL:
        return False
    v = <object>o
    if type(v) is not Datetime:
        return exact_u64(o, out)
    if datetime_tzinfo(v) is not UTC or datetime_year(v) < 1970:
        return False
    m = <uint32_t>datetime_month(v)
    y = datetime_year(v) - (m <= 2)
    era = y // 400
    yoe = <uint32_t>(y - era * 400)
    doy = (153 * (m - 3 if m > 2 else m + 9) + 2) // 5 + <uint32_t>datetime_day(v) - 1
    out[0] = (<uint64_t>(era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468) * 86400
              + <uint64_t>datetime_hour(v) * 3600 + <uint64_t>datetime_minute(v) * 60
              + <uint64_t>datetime_second(v))
    return True


cdef bint put_table_fast(Buffer* b, Desc* d, KindObject* o, int i, int slot, uintptr_t mode) except -1:
    """Length and octets of a table field that is set; False where it is not an exact dict."""
    cdef PyObject* octets = o.field[slot]
    cdef PyObject* table = o.field[i]
    cdef Place at
    cdef size_t start
    cdef uint64_t n
    cdef object keep
    buffer_room(b, 4)
    b.p += 4
    start = <size_t>(b.p - b.start)
    if table == NULL:
        put_octets(b, PyBytes_AS_STRING(<object>octets), <size_t>PyBytes_GET_SIZE(<object>octets))
    else:
        keep = <object>table
        if type(keep) is not dict:
            return False
        at.method = <PyObject*>(<tuple>d.names)[0]
        at.field = <PyObject*>(<tuple>d.names)[i + 1]
        if octets == NULL:
            put_pairs(b, keep, mode, 1, &at)
        else:
            put_changed(b, <const uint8_t*>PyBytes_AS_STRING(<object>octets),
                        <uint32_t>PyBytes_GET_SIZE(<object>octets), keep, o.mode, mode, 1, &at)
    n = <uint64_t>(b.p - b.start) - start
    if n > MAX_U32:
        return False    # the table path names the field
    store32(b.start + start - 4, <uint32_t>n)
    return True
