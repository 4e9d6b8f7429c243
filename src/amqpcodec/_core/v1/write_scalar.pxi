# AMQP 1.0, objects to bytes: scalars, always in the smallest encoding of their type.

cdef enum:
    # Write what the values say, and nothing else: for comparing an object with its bytes.
    V1_CANONICAL = 1
    # Write composites without their mandatory fields, too.
    V1_INCOMPLETE = 2

cdef dict V1_NUMBERS = {wire_type: number for number, wire_type in enumerate(V1_TYPED) if wire_type is not None}
cdef dict V1_BY_NAME = {V1_NAMES[number].decode(): number for number in range(V1_ARRAY + 1)}


cdef tuple v1_range(uint8_t wire_type):
    """The least and greatest value of an integer type or a timestamp, as Python ints."""
    cdef object end = int.from_bytes(b"\1" + bytes(CTOR_WIDTH[CTOR_WIDE[wire_type]]), "big")
    return (0, end - 1) if v1_is_unsigned(wire_type) else (-(end >> 1), (end >> 1) - 1)

# Scalars of NumPy keep width and sign, as in batch.encode.
cdef dict V1_NUMPY_CLASSES = {
    "int8": _v1.Byte, "uint8": _v1.UByte, "int16": _v1.Short, "uint16": _v1.UShort, "int32": _v1.Int,
    "uint32": _v1.UInt, "int64": _v1.Long, "uint64": _v1.ULong, "float16": _v1.Float, "float32": _v1.Float,
    "float64": float, "datetime64": _v1.Timestamp}


# ---- scalars ----

cdef inline int v1_put_run(Buffer* b, uint8_t wire_type, const uint8_t* p, uint64_t n, Place* at) except -1:
    """Bytes of a binary, string or symbol."""
    if AMQP_UNLIKELY(n > MAX_U32):
        table_error(at, f"takes at most 4294967295 bytes, not {n}")
    buffer_commit(b, v1_store_run(buffer_reserve(b, V1_RUN_BYTES + <size_t>n), wire_type, p, <size_t>n, V1_SMALLEST))
    return 0


cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize_ "PyUnicode_AsUTF8AndSize"(object o, Py_ssize_t* n)


cdef int v1_parse_text(object v, uint8_t wire_type, const uint8_t** p, Py_ssize_t* n, Place* at) except -1:
    """The bytes of a str as string or symbol; they live as long as it does."""
    if not utf8_bytes(<PyObject*>v, p, n):
        if not isinstance(v, str):
            table_error(at, f"takes str, not {type(v).__name__}")
        p[0] = <const uint8_t*>PyUnicode_AsUTF8AndSize_(v, n)
        if p[0] == NULL:
            PyErr_Clear()
            table_error(at, "str holds a lone surrogate, which no UTF-8 has")
    if wire_type == V1_SYMBOL and not is_ascii(p[0], <size_t>n[0]):
        table_error(at, "a symbol takes ASCII characters only")
    return 0


cdef int v1_put_text(Buffer* b, uint8_t wire_type, object v, Place* at) except -1:
    cdef const uint8_t* p = NULL
    cdef Py_ssize_t n = 0
    if wire_type != V1_STRING or not utf8_bytes(<PyObject*>v, &p, &n):
        v1_parse_text(v, wire_type, &p, &n, at)
    return v1_put_run(b, wire_type, p, <uint64_t>n, at)


cdef int v1_put_binary(Buffer* b, object v, Place* at) except -1:
    cdef ByteView raw
    if type(v) is bytes:
        return v1_put_run(b, V1_BINARY, <const uint8_t*>PyBytes_AS_STRING(v),
                          <uint64_t>PyBytes_GET_SIZE(v), at)
    v1_parse_binary(v, &raw, at)
    try:
        return v1_put_run(b, V1_BINARY, raw.p, raw.n, at)
    finally:
        drop_bytes(&raw)


cdef int v1_parse_binary(object v, ByteView* raw, Place* at) except -1:
    """Borrow the bytes of bytes or any contiguous buffer, until drop_bytes."""
    return parse_bytes(v, raw, at.method, at.field)


cdef int v1_parse_int(object v, uint8_t wire_type, uint64_t* out, Place* at) except -1:
    """An int in the range of its type, signed ones as two's complement."""
    if not hasattr(v, "__index__"):
        table_error(at, f"{V1_NAMES[wire_type].decode()} takes int, not {type(v).__name__}")
    if not v1_load_int(_index(v), wire_type, out):
        low, high = v1_range(wire_type)
        more = "; ULong holds up to 2**64-1" if wire_type == V1_LONG else ""
        table_error(at, f"{V1_NAMES[wire_type].decode()} takes {low} to {high}{more}")
    return 0


cdef bint v1_load_int(object n, uint8_t wire_type, uint64_t* out) except -1:
    """Whether an int is in the range of its type, and then its 64 bits."""
    cdef int overflow = 0
    cdef long long number = PyLong_AsLongLongAndOverflow(n, &overflow)
    out[0] = <uint64_t>number
    if overflow:
        return wire_type == V1_ULONG and exact_u64(<PyObject*>n, out)
    return v1_holds_int(wire_type, number)


cdef int v1_parse_moment(object v, uint64_t* out, Place* at) except -1:
    """Milliseconds since 1970 UTC of an aware datetime (floored) or an int."""
    if type(v) is Datetime and PyDateTime_DATE_GET_TZINFO(v) == <PyObject*>UTC:
        out[0] = <uint64_t>(seconds_of_datetime(v) * 1000 + PyDateTime_DATE_GET_MICROSECOND(v) // 1000)
        return 0
    if isinstance(v, Datetime):
        v = since_epoch(v, at) // (SECOND / 1000)
    elif not isinstance(v, int):
        plain = from_numpy(v, V1_NUMPY_CLASSES)
        if plain is not v:
            return v1_parse_moment(plain, out, at)
        table_error(at, f"a timestamp takes datetime or int, not {type(v).__name__}")
    return v1_parse_int(v, V1_TIMESTAMP, out, at)


cdef int v1_put_uuid_bytes(Buffer* b, object v) except -1:
    """The 16 bytes of a UUID, without their constructor."""
    cdef uint8_t raw[16]
    v1_uuid_bytes(v, raw)
    return put_bytes(b, raw, 16)


cdef int v1_put_decimal(Buffer* b, object v, uint8_t wire_type, Place* at) except -1:
    cdef int width = 32 << (wire_type - V1_DECIMAL32)
    cdef bytes raw = None
    cdef str wrong = None
    if not isinstance(v, Decimal):
        table_error(at, f"{V1_NAMES[wire_type].decode()} takes Decimal, not {type(v).__name__}")
    if isinstance(v, V1Decimal) and v.WIDTH == width:
        raw = v.bits
    else:
        try:
            raw = v1_decimal_encode(v, width)
        except ValueError as error:
            wrong = str(error)
        if wrong is not None:
            table_error(at, wrong)
    put_byte(b, CTOR_WIDE[wire_type])
    return put_bytes(b, PyBytes_AS_STRING(raw), <size_t>(width // 8))

cdef object v1_decimal_encode = _v1_decimal.encode
