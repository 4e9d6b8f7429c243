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
    _v1.Float, _v1.Double, _v1.Decimal32, _v1.Decimal64, _v1.Decimal128, None, _v1.Timestamp)

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


cdef inline void v1_reader(V1Reader* r, const V1Types* types, V1Cache* cache, uintptr_t mode) noexcept:
    r.types = types
    r.cache = cache
    r.mode = mode
    r.zero_width = 0


# ---- scalars ----

cdef object v1_text(V1Reader* r, Cursor* c, const V1Value* v, Py_ssize_t longest):
    """A str, shared with others before it if it is no longer than `longest`."""
    cdef PyObject* made = v1_ascii(r.cache, v.p, v.n, longest)
    if AMQP_LIKELY(made != NULL):
        return v1_owned(made)
    if v1_check_scalar(c, v) < 0:
        v1_raise(c)
    return PyUnicode_DecodeUTF8(<const char*>v.p, v.n, NULL)


cdef object v1_symbol_value(V1Reader* r, Cursor* c, const V1Value* v):
    cdef PyObject* made = v1_symbol(r.cache, <PyObject*>V1Symbol, v.p, v.n)
    if AMQP_UNLIKELY(made == NULL):
        v1_check_scalar(c, v)       # v1_symbol refuses what is no symbol, and nothing else
        v1_raise(c)
    return v1_owned(made)


cdef int64_t V1_FIRST_MS = -62135596800000      # 0001-01-01
cdef int64_t V1_LAST_MS = 253402300799999       # 9999-12-31T23:59:59.999


cdef object v1_moment(V1Cache* cache, int64_t ms):
    """An aware UTC datetime; Timestamp where Python's calendar does not reach."""
    cdef uint32_t day, left
    if AMQP_UNLIKELY(ms < V1_FIRST_MS or ms > V1_LAST_MS):
        return v1_int_subclass(V1Timestamp, ms)
    day = <uint32_t>((ms - V1_FIRST_MS) // 86400000)     # not negative: no question how division rounds
    left = <uint32_t>((ms - V1_FIRST_MS) - <int64_t>day * 86400000)
    return make_datetime(cache.text if cache != NULL else NULL, <uint64_t>ms, day, left // 1000,
                         <int>(left % 1000) * 1000, UTC)


cdef object v1_read_uuid(const uint8_t* p):
    """The UUID of 16 bytes."""
    return v1_uuid_new(UUID, p)


cdef object v1_decimal(V1Reader* r, const V1Value* v):
    """A Decimal; of its typed class where that is asked for, or where it would not keep its bits."""
    cdef uint8_t memory[8]
    cdef bytes raw
    if v.wire_type == V1_DECIMAL32:
        store32(memory, <uint32_t>v.u)
        raw = PyBytes_FromStringAndSize(<const char*>memory, 4)
    elif v.wire_type == V1_DECIMAL64:
        store64(memory, v.u)
        raw = PyBytes_FromStringAndSize(<const char*>memory, 8)
    else:
        raw = PyBytes_FromStringAndSize(<const char*>v.p, 16)
    if not r.mode & MODE_TYPED:
        value, canonical = v1_decimal_decode(raw)
        if canonical:
            return value
    return V1_TYPED[v.wire_type].from_bits(raw)


cdef object v1_scalar(V1Reader* r, Cursor* c, const V1Value* v):
    """A value that is no compound and not described, by its own type."""
    cdef ScalarKind kind = <ScalarKind>V1_KIND[v.wire_type]
    cdef bint typed = r.mode & MODE_TYPED
    cdef object made
    if kind == KIND_STRING:
        return v1_text(r, c, v, SHORT_VALUE)
    elif kind == KIND_VOID:
        return None
    elif kind == KIND_BOOLEAN:
        return v.u != 0
    elif kind == KIND_SYMBOL:
        return v1_symbol_value(r, c, v)
    elif kind == KIND_BYTES:
        return PyBytes_FromStringAndSize(<const char*>v.p, v.n)
    elif kind == KIND_SIGNED:
        made = PyLong_FromLongLong(<long long>v.u)
        return v1_int_subclass(V1_TYPED[v.wire_type], made) if typed else made
    elif kind == KIND_UNSIGNED:
        made = PyLong_FromUnsignedLongLong(v.u)
        return v1_int_subclass(V1_TYPED[v.wire_type], made) if typed else made
    elif kind == KIND_DOUBLE:
        made = bits_to_double(v.u)
        return v1_float_subclass(V1Double, made) if typed else made
    elif kind == KIND_MILLISECONDS:
        return v1_int_subclass(V1Timestamp, <int64_t>v.u) if typed else v1_moment(r.cache, <int64_t>v.u)
    elif kind == KIND_UUID:
        return v1_read_uuid(v.p)
    elif kind == KIND_FLOAT:
        made = <double>bits_to_float(<uint32_t>v.u)
        return v1_float_subclass(V1Float, made) if typed else made
    elif kind == KIND_CHAR:
        if v1_check_scalar(c, v) < 0:
            v1_raise(c)
        return v1_str_subclass(V1Char, chr(v.u))
    elif kind == KIND_BID32 or kind == KIND_BID64 or kind == KIND_BID128:
        return v1_decimal(r, v)
    elif kind == KIND_DECIMAL or kind == KIND_SECONDS or kind == KIND_LONGSTR or kind == KIND_SHORTSTR:
        raise SystemError("of field tables: tables/read.pxi")
