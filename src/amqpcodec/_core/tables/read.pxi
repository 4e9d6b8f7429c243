# Field tables, bytes to Python values. Only bytes that check_table has passed come here.

from cpython.datetime cimport import_datetime

import datetime as _datetime
import decimal as _decimal

from amqpcodec import types as _types
from amqpcodec._facade.scalars import from_numpy

import_datetime()

cdef object Decimal = _decimal.Decimal
# Decimal(text) without the parsing of its arguments; more digits than 32 bits have, so nothing is rounded.
cdef object decimal_of = _decimal.Context(
    prec=28, rounding=_decimal.ROUND_HALF_EVEN, Emin=-999999, Emax=999999, capitals=1, clamp=0,
    flags=[], traps=[]).create_decimal
cdef object Datetime = _datetime.datetime
cdef object UTC = _datetime.timezone.utc
cdef object EPOCH = _datetime.datetime(1970, 1, 1, tzinfo=_datetime.timezone.utc)
cdef uint64_t LAST_SECOND = 253402300799    # 9999-12-31 23:59:59, where Python's datetime ends

cdef object Int8 = _types.Int8
cdef object UInt8 = _types.UInt8
cdef object Int16 = _types.Int16
cdef object Int16U = _types.Int16U
cdef object UInt16 = _types.UInt16
cdef object Int32 = _types.Int32
cdef object UInt32 = _types.UInt32
cdef object Int64 = _types.Int64
cdef object Int64L = _types.Int64L
cdef object UInt64 = _types.UInt64
cdef object TypedFloat = _types.Float
cdef object TypedDouble = _types.Double
cdef object TypedTimestamp = _types.Timestamp
cdef object LongString = _types.LongString
cdef object LongBytes = _types.LongBytes
cdef object ShortString = _types.ShortString
cdef object ByteArray = _types.ByteArray
cdef object VOID = _types.Void()

# What Cython's datetime_new calls, as a reference that nothing counts up.
cdef extern from "datetime.h":
    ctypedef struct DatetimeType "PyTypeObject":
        pass
    DatetimeType* DATETIME_TYPE "PyDateTimeAPI->DateTimeType"
    PyObject* datetime_made "PyDateTimeAPI->DateTime_FromDateAndTime"(
        int year, int month, int day, int hour, int minute, int second, int microsecond, PyObject* tz,
        DatetimeType* cls)

cdef extern from "tables/table.h":
    PyObject* table_text(const uint8_t* s, Py_ssize_t n, TextCache* cache) except NULL
    object table_read(const uint8_t* p, uint32_t n, uintptr_t mode, bint typed, TextCache* cache,
                      PyObject* (*read)(const uint8_t** at, uintptr_t mode, TextCache* cache) except NULL)

cdef object make_timestamp(uint64_t seconds, TextCache* cache):
    """An aware UTC datetime, or a Timestamp where Python's calendar does not reach."""
    cdef LastTime none
    cdef LastTime* last = &none
    cdef uint32_t day
    if seconds > LAST_SECOND:
        return TypedTimestamp(seconds)
    if cache != NULL:
        last = &cache.last_time
        if last.datetime != NULL and last.seconds == seconds:
            return <object>last.datetime
    else:
        memset(last, 0, sizeof(LastTime))
    day = <uint32_t>(seconds // 86400)
    if last.day_number != day or last.year == 0:
        date_from_day(day + EPOCH_DAY, &last.year, &last.month, &last.day)
        last.day_number = day
    return moment_of_day(last, seconds, <uint32_t>(seconds - <uint64_t>day * 86400), 0, cache != NULL)


cdef inline object moment_of_day(LastTime* last, uint64_t number, uint32_t second, int microsecond, bint keep):
    """A datetime of the date in `last`; kept there under its number, for those that are the same."""
    cdef PyObject* made = datetime_made(
        last.year, last.month, last.day, <int>(second // 3600), <int>(second // 60 % 60), <int>(second % 60),
        microsecond, <PyObject*>UTC, DATETIME_TYPE)
    if keep and made != NULL:
        Py_XDecRef(last.datetime)
        last.datetime = Py_NewRef(made)
        last.seconds = number
    return owned(made)


cdef object make_decimal(uint8_t scale, int32_t unscaled):
    """unscaled * 10**-scale, exactly, with its scale kept."""
    cdef char text[24]
    cdef char* w = text + 24
    cdef char* end = w
    cdef uint32_t v = <uint32_t>unscaled if unscaled >= 0 else -<uint32_t>unscaled
    cdef uint32_t s = scale
    if s:
        while s:
            w -= 1
            w[0] = <char>(c'0' + s % 10)
            s //= 10
        w -= 2
        memcpy(w, <const char*>b"E-", 2)
    while True:
        w -= 1
        w[0] = <char>(c'0' + v % 10)
        v //= 10
        if v == 0:
            break
    if unscaled < 0:
        w -= 1
        w[0] = c'-'
    return decimal_of(PyUnicode_FromStringAndSize(w, end - w))


cdef PyObject* read_value(const uint8_t** at, uintptr_t mode, TextCache* cache) except NULL:
    """One tag and its value, as a new reference; moves *at after it."""
    cdef const uint8_t* p = at[0] + 1
    cdef uint8_t tag = at[0][0]
    cdef uint32_t n
    if AMQP_UNLIKELY(mode & MODE_TYPED):
        return new_reference(read_typed(at, mode, cache))
    if tag == c'S':
        n = load32(p)
        at[0] = p + 4 + n
        return table_text(p + 4, n, cache)
    elif tag == c'I':
        at[0] = p + 4
        return PyLong_FromI64(<int32_t>load32(p))
    elif tag == c't':
        at[0] = p + 1
        return Py_NewRef(Py_True if p[0] else Py_False)
    elif tag == c'l':
        at[0] = p + 8
        return PyLong_FromU64(load64(p)) if mode & MODE_LETTER else PyLong_FromI64(<int64_t>load64(p))
    elif tag == c'F':
        n = load32(p)
        at[0] = p + 4 + n
        return new_reference(read_table(p + 4, n, mode, cache))
    elif tag == c'A':
        n = load32(p)
        at[0] = p + 4 + n
        return new_reference(read_array(p + 4, n, mode, cache))
    elif tag == c'd':
        at[0] = p + 8
        return PyFloat_FromDouble_(bits_to_double(load64(p)))
    elif tag == c'T':
        at[0] = p + 8
        return new_reference(make_timestamp(load64(p), cache))
    elif tag == c'V':
        at[0] = p
        return Py_NewRef(Py_None)
    elif tag == c'D':
        at[0] = p + 5
        return new_reference(make_decimal(p[0], <int32_t>load32(p + 1)))
    elif tag == c'x':
        n = load32(p)
        at[0] = p + 4 + n
        return PyBytes_FromPointer(<const char*>(p + 4), n)
    elif tag == c'f':
        at[0] = p + 4
        return PyFloat_FromDouble_(<double>bits_to_float(load32(p)))
    elif tag == c'L':
        at[0] = p + 8
        return PyLong_FromI64(<int64_t>load64(p))
    elif tag == c'b':
        at[0] = p + 1
        return PyLong_FromI64(<int8_t>p[0])
    elif tag == c'B':
        at[0] = p + 1
        return PyLong_FromI64(p[0])
    elif tag == c's' or tag == c'U':
        if tag == c's' and mode & MODE_LETTER:
            at[0] = p + 1 + p[0]
            return text_new_(p + 1, p[0])
        at[0] = p + 2
        return PyLong_FromI64(<int16_t>load16(p))
    elif tag == c'u':
        at[0] = p + 2
        return PyLong_FromI64(load16(p))
    # The last tag that check_table lets through: i.
    at[0] = p + 4
    return PyLong_FromI64(load32(p))


cdef object read_typed(const uint8_t** at, uintptr_t mode, TextCache* cache):
    """As read_value with plain values, but each value keeps its tag."""
    cdef uint8_t tag = at[0][0]
    cdef object v = owned(read_value(at, mode & ~<uintptr_t>MODE_TYPED, cache)) \
        if tag != c'F' and tag != c'A' and tag != c'T' else None
    cdef const uint8_t* p
    cdef uint32_t n
    if v is None and tag != c'V':
        p = at[0] + 1
        if tag == c'T':
            at[0] = p + 8
            return TypedTimestamp(load64(p))
        n = load32(p)
        at[0] = p + 4 + n
        return read_table(p + 4, n, mode, cache) if tag == c'F' else read_array(p + 4, n, mode, cache)
    if tag == c'S':
        return LongString(v) if isinstance(v, str) else LongBytes(v)
    if tag == c'I':
        return Int32(v)
    if tag == c'l':
        return UInt64(v) if mode & MODE_LETTER else Int64(v)
    if tag == c'd':
        return TypedDouble(v)
    if tag == c'V':
        return VOID
    if tag == c'x':
        return ByteArray(v)
    if tag == c'f':
        return TypedFloat(v)
    if tag == c'L':
        return Int64(v) if mode & MODE_LETTER else Int64L(v)
    if tag == c'b':
        return Int8(v)
    if tag == c'B':
        return UInt8(v)
    if tag == c's':
        return ShortString(v) if mode & MODE_LETTER else Int16(v)
    if tag == c'U':
        return Int16(v) if mode & MODE_LETTER else Int16U(v)
    if tag == c'u':
        return UInt16(v)
    if tag == c'i':
        return UInt32(v)
    return v    # t and D are what they are


cdef list read_array(const uint8_t* p, uint32_t n, uintptr_t mode, TextCache* cache):
    cdef list items = []
    cdef const uint8_t* end = p + n
    while p < end:
        items.append(owned(read_value(&p, mode, cache)))
    return items


cdef object read_table(const uint8_t* p, uint32_t n, uintptr_t mode, TextCache* cache):
    """A dict: names in the order of their first appearance; of duplicates the last value counts."""
    return table_read(p, n, mode, mode & MODE_TYPED != 0, cache, read_value)
