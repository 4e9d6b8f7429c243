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
cdef object SECOND = _datetime.timedelta(seconds=1)
cdef uint64_t LAST_SECOND = 253402300799    # 9999-12-31 23:59:59, where Python's datetime ends

cdef object TypedTimestamp = _types.Timestamp
cdef object LongBytes = _types.LongBytes
cdef object ShortString = _types.ShortString
cdef object VOID = _types.Void()
# Dialect, tag -> its class in amqpcodec.types, or NULL; see typed_ready.
cdef PyObject* TYPED_CLASSES[2][256]

# What Cython's datetime_new calls, as a reference that nothing counts up.
cdef extern from "datetime.h":
    ctypedef struct DatetimeType "PyTypeObject":
        pass
    DatetimeType* DATETIME_TYPE "PyDateTimeAPI->DateTimeType"
    PyObject* datetime_made "PyDateTimeAPI->DateTime_FromDateAndTime"(
        int year, int month, int day, int hour, int minute, int second, int microsecond, PyObject* tz,
        DatetimeType* cls)

cdef extern from "tables/table.h":
    object table_read(const uint8_t* p, uint32_t n, uintptr_t mode, bint typed, TextCache* cache,
                      PyObject* (*read)(const uint8_t** at, uintptr_t mode, TextCache* cache) except NULL)

cdef object make_timestamp(uint64_t seconds, TextCache* cache, object zone):
    """A datetime in UTC, or a Timestamp where Python's calendar does not reach; cache and zone as below."""
    cdef uint32_t day
    if seconds > LAST_SECOND:
        return TypedTimestamp(seconds)
    day = <uint32_t>(seconds // 86400)
    return make_datetime(cache, seconds, day + EPOCH_DAY, <uint32_t>(seconds - <uint64_t>day * 86400), 0, zone)


cdef object make_datetime(TextCache* cache, uint64_t number, uint32_t day, uint32_t second, int microsecond,
                          object zone):
    """A datetime in UTC; zone: UTC, or None, which is without a cache. The cache keeps the newest one under its
    number, and the date of its day."""
    cdef LastTime none
    cdef LastTime* last = &none
    cdef PyObject* made
    if cache != NULL:
        last = &cache.last_time
        if last.datetime != NULL and last.seconds == number:
            return <object>last.datetime
    else:
        last.year = 0
    if last.day_number != day or last.year == 0:
        date_from_day(day, &last.year, &last.month, &last.day)
        last.day_number = day
    made = datetime_made(
        last.year, last.month, last.day, <int>(second // 3600), <int>(second // 60 % 60), <int>(second % 60),
        microsecond, <PyObject*>zone, DATETIME_TYPE)
    if cache != NULL and made != NULL:
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
    cdef const int8_t* shapes
    cdef Scalar v
    cdef uint32_t n
    if AMQP_UNLIKELY(mode & MODE_TYPED) and tag != TAG_TABLE and tag != TAG_ARRAY:
        return new_reference(read_typed(at, mode, cache))
    # The most frequent ones first, for the processor to guess; then what holds others, and all.
    if tag == c'S':
        n = load32(p)
        at[0] = p + 4 + n
        return table_text(p + 4, n, cache)
    elif tag == c'I':
        at[0] = p + 4
        return PyLong_FromI64(<int32_t>load32(p))
    elif tag == TAG_TABLE:
        n = load32(p)
        at[0] = p + 4 + n
        return new_reference(read_table(p + 4, n, mode, cache))
    elif tag == TAG_ARRAY:
        n = load32(p)
        at[0] = p + 4 + n
        return new_reference(read_array(p + 4, n, mode, cache))
    shapes = SHAPES[mode & MODE_LETTER]
    at[0] += value_bytes(at[0], shapes)
    form_read(form_of(shapes, tag), p, &v)
    return scalar_object(&v, cache)


cdef object read_typed(const uint8_t** at, uintptr_t mode, TextCache* cache):
    """A scalar as its class in amqpcodec.types, which keeps its tag."""
    cdef uint8_t tag = at[0][0]
    cdef const int8_t* shapes = SHAPES[mode & MODE_LETTER]
    cdef Form form = form_of(shapes, tag)
    cdef ScalarKind kind = FORMS[form].kind
    cdef PyObject* cls = TYPED_CLASSES[mode & MODE_LETTER][tag]
    cdef Scalar x
    cdef object v
    if kind == KIND_SECONDS:
        form_read(form, at[0] + 1, &x)
        at[0] += value_bytes(at[0], shapes)
        return (<object>cls)(x.u)
    v = owned(read_value(at, mode & ~<uintptr_t>MODE_TYPED, cache))
    if cls == NULL:
        return v    # t and D are what they are
    if kind == KIND_VOID:
        return VOID
    if kind == KIND_LONGSTR and type(v) is bytes:
        return LongBytes(v)
    return (<object>cls)(v)


cdef list read_array(const uint8_t* p, uint32_t n, uintptr_t mode, TextCache* cache):
    cdef list items = []
    cdef const uint8_t* end = p + n
    while p < end:
        items.append(owned(read_value(&p, mode, cache)))
    return items


cdef object read_table(const uint8_t* p, uint32_t n, uintptr_t mode, TextCache* cache):
    """A dict: names in the order of their first appearance; of duplicates the last value counts."""
    return table_read(p, n, mode, mode & MODE_TYPED != 0, cache, read_value)
