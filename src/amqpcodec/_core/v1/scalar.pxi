# AMQP 1.0, bytes to objects: what reading needs, and the values that are no compounds.

import uuid as _uuid

from amqpcodec._facade import v1_decimal as _v1_decimal
from amqpcodec import v1_types as _v1
from amqpcodec._facade.scalars import as_int, from_numpy

cdef object V1Symbol = _v1.Symbol
cdef object V1Char = _v1.Char
cdef object V1Timestamp = _v1.Timestamp
cdef object V1Array = _v1.Array
cdef object V1Described = _v1.Described
cdef object V1Map = _v1.Map
cdef object V1Float = _v1.Float
cdef object V1Double = _v1.Double
cdef object V1Decimal = _v1._Decimal
cdef object UUID = _uuid.UUID
cdef object v1_decimal_decode = _v1_decimal.decode
# Class of each typed number, by type; None for the others.
cdef tuple V1_TYPED = (
    None, None, _v1.UByte, _v1.UShort, _v1.UInt, _v1.ULong, _v1.Byte, _v1.Short, _v1.Int, _v1.Long,
    _v1.Float, _v1.Double, _v1.Decimal32, _v1.Decimal64, _v1.Decimal128, None, _v1.Timestamp,
    None, None, None, None)

cdef extern from "v1/make.h":
    ctypedef struct V1Cache:
        TextCache* text
    V1Cache* v1_cache_new()
    void v1_cache_free(V1Cache* cache)
    PyObject* v1_symbol(V1Cache* cache, PyObject* cls, const uint8_t* s, Py_ssize_t n) except? NULL
    object v1_str_subclass(object cls, object value)
    object v1_int_subclass(object cls, object value)
    object v1_float_subclass(object cls, object value)
    int v1_uuid_ready(object cls, object unknown) except -1
    object v1_uuid_new(object cls, const uint8_t* p)
    int v1_uuid_bytes(object o, uint8_t* w) except -1

cdef extern from "v1/compact.h":
    int v1_compact_ready(object symbol) except -1
    PyObject* v1_number(uint64_t u)
    PyObject* v1_ascii(V1Cache* cache, const uint8_t* s, Py_ssize_t n, Py_ssize_t longest)
    const uint8_t* v1_compact(V1Cache* cache, const uint8_t* p, const uint8_t* end,
                              Py_ssize_t longest, PyObject** made)
    const uint8_t* v1_compact_value(V1Cache* cache, const uint8_t* p, const uint8_t* end,
                                    Py_ssize_t longest, PyObject** made)
    uint32_t v1_compact_pairs(V1Cache* cache, const uint8_t** at, const uint8_t* end, uint32_t count,
                              Py_ssize_t longest, object dict_)

v1_uuid_ready(UUID, _uuid.SafeUUID.unknown)
class_use(class_metatype_object())
v1_compact_ready(V1Symbol)

cdef extern from *:
    """
    #include "wire/python.h"
    #if !PYTHON_HAS_GIL
    #define AMQP_V1_ONE_SHOT_CACHE() NULL
    #else
    #define AMQP_V1_ONE_SHOT_CACHE() v1_cache_new()
    #endif
    """
    V1Cache* AMQP_V1_ONE_SHOT_CACHE()

# Module state, as ONE_SHOT_CACHE.
cdef V1Cache* V1_ONE_SHOT_CACHE = AMQP_V1_ONE_SHOT_CACHE()

# What reading one value needs beside its bytes.
cdef struct V1Reader:
    const V1Types* types
    V1Cache* cache
    uintptr_t mode          # MODE_TYPED
    uint64_t zero_width     # elements without bytes so far
    bint verified           # what is read next was checked


cdef inline void v1_reader(V1Reader* r, const V1Types* types, V1Cache* cache, uintptr_t mode) noexcept:
    r.types = types
    r.cache = cache
    r.mode = mode
    r.zero_width = 0
    r.verified = False


# ---- scalars ----

cdef object v1_text(V1Reader* r, const V1Value* v, Py_ssize_t longest):
    """A str, shared with others before it if it is no longer than `longest`."""
    cdef PyObject* made = v1_ascii(r.cache, v.p, v.n, longest)
    if AMQP_LIKELY(made != NULL):
        return v1_owned(made)
    return PyUnicode_DecodeUTF8(<const char*>v.p, v.n, NULL)


cdef int64_t V1_FIRST_MS = -62135596800000      # 0001-01-01
cdef int64_t V1_LAST_MS = 253402300799999       # 9999-12-31T23:59:59.999


cdef object v1_moment(V1Cache* cache, int64_t ms):
    """An aware UTC datetime; Timestamp where Python's calendar does not reach."""
    cdef LastTime none
    cdef LastTime* last = &none
    cdef uint32_t day, left
    if AMQP_UNLIKELY(ms < V1_FIRST_MS or ms > V1_LAST_MS):
        return v1_int_subclass(V1Timestamp, ms)
    if cache != NULL:
        last = &cache.text.last_time
        if last.datetime != NULL and last.seconds == <uint64_t>ms:
            return <object>last.datetime
    else:
        memset(last, 0, sizeof(LastTime))
    day = <uint32_t>((ms - V1_FIRST_MS) // 86400000)     # not negative: no question how division rounds
    left = <uint32_t>((ms - V1_FIRST_MS) - <int64_t>day * 86400000)
    if last.day_number != day or last.year == 0:
        date_from_day(day, &last.year, &last.month, &last.day)
        last.day_number = day
    return moment_of_day(last, <uint64_t>ms, left // 1000, <int>(left % 1000) * 1000, cache != NULL)


cdef object v1_read_uuid(const uint8_t* p):
    """The UUID of 16 bytes."""
    return v1_uuid_new(UUID, p)


cdef bytes v1_decimal_bits(const Scalar* v):
    """The bytes of a decimal as it stands on the wire."""
    cdef uint8_t memory[8]
    if v.kind == KIND_BID128:
        return PyBytes_FromStringAndSize(<const char*>v.p, 16)
    if v.kind == KIND_BID64:
        store64(memory, v.u)
        return PyBytes_FromStringAndSize(<const char*>memory, 8)
    store32(memory, <uint32_t>v.u)
    return PyBytes_FromStringAndSize(<const char*>memory, 4)


# ---- what scalar_object makes of the kinds that AMQP 1.0 alone has ----

cdef PyObject* v1_make_symbol(const Scalar* v, void* cache) except NULL:
    return v1_symbol(<V1Cache*>cache, <PyObject*>V1Symbol, v.p, v.n)


cdef PyObject* v1_make_character(const Scalar* v, void* cache) except NULL:
    made = v1_str_subclass(V1Char, chr(v.u))
    return Py_NewRef(<PyObject*>made)


cdef PyObject* v1_make_uuid(const Scalar* v, void* cache) except NULL:
    made = v1_read_uuid(v.p)
    return Py_NewRef(<PyObject*>made)


cdef PyObject* v1_make_moment(const Scalar* v, void* cache) except NULL:
    made = v1_moment(<V1Cache*>cache, <int64_t>v.u)
    return Py_NewRef(<PyObject*>made)


cdef PyObject* v1_make_decimal(const Scalar* v, void* cache) except NULL:
    """A Decimal; its typed class where a Decimal would not keep its bits."""
    raw = v1_decimal_bits(v)
    made, canonical = v1_decimal_decode(raw)
    if not canonical:
        made = V1_TYPED[V1_DECIMAL32 + <int>v.kind - <int>KIND_BID32].from_bits(raw)
    return Py_NewRef(<PyObject*>made)

V1_MAKERS.symbol = v1_make_symbol
V1_MAKERS.character = v1_make_character
V1_MAKERS.uuid = v1_make_uuid
V1_MAKERS.moment = v1_make_moment
V1_MAKERS.decimal = v1_make_decimal


cdef object v1_scalar(V1Reader* r, const V1Value* v):
    """A value that is no compound and not described, by its own type."""
    cdef Scalar x
    v1_as_scalar(v, &x)
    if AMQP_UNLIKELY(r.mode & MODE_TYPED) and V1_TYPED[v.wire_type] is not None:
        return v1_typed(&x, V1_TYPED[v.wire_type])
    return v1_owned(scalar_object(&x, NULL if r.cache == NULL else r.cache.text, r.cache))


cdef object v1_typed(const Scalar* v, object cls):
    """A number as the class of its type."""
    cdef object plain
    if KIND_BID32 <= v.kind <= KIND_BID128:
        return cls.from_bits(v1_decimal_bits(v))
    if v.kind == KIND_MILLISECONDS:
        return v1_int_subclass(cls, PyLong_FromLongLong(<long long>v.u))
    plain = v1_owned(scalar_object(v, NULL, NULL))
    return v1_float_subclass(cls, plain) if type(plain) is float else v1_int_subclass(cls, plain)
