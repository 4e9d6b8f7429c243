# Field tables, Python values to bytes.

from cpython.datetime cimport datetime as DatetimeType

cdef enum:
    PATH_STEPS = 16         # the innermost ones that an error shows
    PATH_NAME = 64          # characters of a name


cdef str step_text(const Step* step):
    """A step as Python would write it; of keys that are no text or number, their type."""
    if step.name == NULL:
        return f"[{step.index}]" if step.index >= 0 else ""
    name = <object>step.name
    if isinstance(name, str):
        return f"[{str.__repr__(name[:PATH_NAME])}{'...' if len(name) > PATH_NAME else ''}]"
    if type(name) is int or type(name) is bool or type(name) is bytes and len(name) <= PATH_NAME:
        return f"[{name!r}]"
    return f"[<{type(name).__name__}>]"


cdef str path_text(const Step* step):
    """The steps from the outermost on; of many, the innermost."""
    cdef list steps = []
    while step != NULL:
        if len(steps) == PATH_STEPS:
            steps.append("[...]")
            break
        steps.append(step_text(step))
        step = step.outer
    return "".join(reversed(steps))


cdef int table_error(Place* at, str text) except -1:
    return encode_error(place_name(at.method), place_name(at.field), text, path_text(at.step))


cdef int put_long(Buffer* b, uint8_t tag, const void* p, Py_ssize_t n, Place* at) except -1:
    """tag, u32 length, bytes."""
    cdef uint8_t* w
    if <uint64_t>n > MAX_U32:
        table_error(at, f"a table value takes at most 4294967295 bytes, not {n}")
    w = buffer_extend(b, 5 + <size_t>n)
    w[0] = tag
    store32(w + 1, <uint32_t>n)
    memcpy(w + 5, p, <size_t>n)
    return 0


cdef int put_plain_int(Buffer* b, object v, uintptr_t mode, Place* at) except -1:
    """The type depends on the value: I where it fits 32 bits, else the dialect's 64 bits."""
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(v, &overflow)
    if overflow == 0:
        if mode & MODE_OLD and int_form(n) != FORM_int32:
            return not_in_old(mode, "int beyond 32 bits", at)
        return put_tagged(b, int_form(n), mode, <uint64_t>n, 0)
    if tag_of(FORM_uint64, mode) and 0 < v < 2**64:
        return put_tagged(b, FORM_uint64, mode, <uint64_t>v, 0)
    return table_error(at, "an int in a table must fit 64 bits, "
                       + ("-2**63 to 2**64-1" if mode & MODE_LETTER else "signed"))


cdef bytes escaped_bytes(object v, Place* at):
    """Bytes of a str that may hold surrogate escapes."""
    cdef Py_ssize_t where
    try:
        return PyUnicode_AsEncodedString(v, "utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        where = error.start
    # Raised out here, so that the text does not travel along as the error's context.
    table_error(at, f"str holds a lone surrogate at index {where}")


cdef int put_text(Buffer* b, uint8_t tag, object v, Place* at) except -1:
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    cdef bytes raw
    if not utf8_bytes(<PyObject*>v, &p, &n):
        raw = escaped_bytes(v, at)
        p = <const uint8_t*>PyBytes_AS_STRING(raw)
        n = PyBytes_GET_SIZE(raw)
    return put_long(b, tag, p, n, at)


cdef int put_name(Buffer* b, object v, Place* at) except -1:
    """A shortstr."""
    cdef uint8_t* w
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    cdef bytes raw
    if not utf8_bytes(<PyObject*>v, &p, &n):
        raw = escaped_bytes(v, at)
        p = <const uint8_t*>PyBytes_AS_STRING(raw)
        n = PyBytes_GET_SIZE(raw)
    if n > 255:
        table_error(at, f"a shortstr takes at most 255 bytes, not {n}")
    w = buffer_extend(b, 1 + <size_t>n)
    w[0] = <uint8_t>n
    memcpy(w + 1, p, <size_t>n)
    return 0


cdef int parse_decimal(object v, uint8_t* scale, int32_t* unscaled, Place* at) except -1:
    """Scale and unscaled value of a Decimal; exact or an error."""
    # A subclass may say something else than its value: ask its base.
    cdef str text = str(v if type(v) is Decimal else Decimal(v))
    cdef Py_ssize_t n = 0
    cdef const uint8_t* p = NULL
    cdef const uint8_t* end
    cdef int64_t digits = 0, exponent = 0, fraction = 0
    cdef bint negative, point = False
    ascii_bytes(<PyObject*>text, &p, &n)
    end = p + n
    negative = n != 0 and p[0] == c'-'
    p += negative
    if p >= end or not c'0' <= p[0] <= c'9':      # NaN, Infinity
        table_error(at, "a decimal must be finite")
    while p < end:
        if p[0] == c'.':
            point = True
        elif p[0] == c'E':
            exponent = int(text[n - (end - p) + 1:])
            break
        else:
            digits = digits * 10 + (p[0] - c'0')
            if point:
                fraction += 1
            if digits > 2147483648:
                table_error(at, "a decimal's unscaled value must fit 32 bits, signed")
        p += 1
    fraction -= exponent
    while fraction < 0 and 0 < digits <= 2147483648:
        digits *= 10
        fraction += 1
    if digits == 0 and fraction < 0:
        fraction = 0
    if digits > 2147483647 + <int64_t>negative:
        table_error(at, "a decimal's unscaled value must fit 32 bits, signed")
    if fraction > 255:
        table_error(at, f"a decimal's scale is at most 255, not {fraction}")
    scale[0] = <uint8_t>fraction
    unscaled[0] = <int32_t>(-digits if negative else digits)
    return 0


cdef bint seconds_fast(PyObject* o, uint64_t* out) except -1:
    """Seconds of an exact int, or of an exact datetime in UTC from 1970 on."""
    cdef object v = <object>o
    if type(v) is not Datetime:
        return exact_u64(o, out)
    if PyDateTime_DATE_GET_TZINFO(v) != <PyObject*>UTC or PyDateTime_GET_YEAR(v) < 1970:
        return False
    out[0] = <uint64_t>seconds_of_datetime(v)
    return True


cdef object since_epoch(object v, Place* at):
    """The timedelta from 1970 to a datetime, which must know its zone."""
    if v.utcoffset() is None:
        table_error(at, "a timestamp needs an aware datetime (or an int), not a naive one")
    return v - EPOCH


cdef int parse_seconds(object v, uint64_t* out, Place* at) except -1:
    """Seconds since 1970 UTC of a datetime (floored) or an int."""
    cdef object seconds
    if seconds_fast(<PyObject*>v, out):
        return 0
    if isinstance(v, Datetime):
        seconds = since_epoch(v, at) // SECOND
    elif isinstance(v, int):
        seconds = v
    else:
        plain = from_numpy(v, NUMPY_CLASSES)
        if plain is not v:
            return parse_seconds(plain, out, at)
        table_error(at, f"a timestamp takes datetime or int, not {type(v).__name__}")
    if not 0 <= seconds < 2**64:
        table_error(at, "a timestamp must be from 1970 on and fit 64 bits, unsigned")
    out[0] = seconds
    return 0


cdef int not_in_old(uintptr_t mode, str what, Place* at) except -1:
    version, types = ("0-8", "S I D T F") if mode & MODE_0_8 else ("0-9", "S I D T F V")
    return table_error(at, f"tables of {version} hold no {what} ({types} only); "
                       'dialect="rabbitmq" has more types')


cdef int check_old(object v, type t, uintptr_t mode, Place* at) except -1:
    """Refuse what the tables of 0-8 and 0-9 have no type for; put_plain_int looks at ints."""
    tags = TYPED_TAGS.get(t)
    if tags is not None:
        if tags[0] is None or not is_old_tag((<bytes>tags[0])[0], mode):
            return not_in_old(mode, t.__name__, at)
    elif v is None:
        if mode & MODE_0_8:
            return not_in_old(mode, "None", at)
    elif isinstance(v, (bool, float, list, tuple)):
        return not_in_old(mode, t.__name__, at)
    return 0


cdef int put_value(Buffer* b, object v, uintptr_t mode, int depth, Place* at) except -1:
    """The tag that fits the value's type, and the value."""
    cdef type t = type(v)
    if AMQP_UNLIKELY(mode & MODE_OLD):
        check_old(v, t, mode, at)
    if t is str:
        return put_text(b, tag_of(FORM_text32, mode), v, at)
    if t is int:
        return put_plain_int(b, v, mode, at)
    if t is bool:
        return put_tagged(b, FORM_boolean, mode, v is True, 0)
    if t is float:
        return put_tagged(b, FORM_double, mode, double_to_bits(PyFloat_AS_DOUBLE(v)), 0)
    if v is None:
        return put_tagged(b, FORM_void, mode, 0, 0)
    if t is dict:
        return put_nested(b, TAG_TABLE, v, mode, depth, at)
    if t is list:
        return put_nested(b, TAG_ARRAY, v, mode, depth, at)
    if t is bytes:
        return put_long(b, tag_of(bytes_form(mode), mode), PyBytes_AS_STRING(v), PyBytes_GET_SIZE(v), at)
    return put_rare(b, v, t, mode, depth, at)


cdef int put_rare(Buffer* b, object v, type t, uintptr_t mode, int depth, Place* at) except -1:
    """Typed values, subclasses and the types that few tables hold."""
    cdef uint8_t scale = 0
    cdef int32_t unscaled = 0
    cdef uint64_t seconds = 0
    cdef Py_buffer view
    if t is not Decimal and t is not Datetime:
        tags = TYPED_TAGS.get(t)
        if tags is not None:
            return put_typed(b, v, t, tags[1 if mode & MODE_LETTER else 0], mode, at)
    if t is Decimal or isinstance(v, Decimal):
        parse_decimal(v, &scale, &unscaled, at)
        return put_tagged(b, FORM_decimal, mode, <uint32_t>unscaled, scale)
    if t is Datetime or isinstance(v, Datetime):
        parse_seconds(v, &seconds, at)
        return put_tagged(b, FORM_timestamp, mode, seconds, 0)
    if isinstance(v, str):
        return put_text(b, tag_of(FORM_text32, mode), v, at)
    if isinstance(v, int):
        return put_plain_int(b, v, mode, at)
    if isinstance(v, float):
        return put_tagged(b, FORM_double, mode, double_to_bits(v), 0)
    if isinstance(v, dict):
        return put_nested(b, TAG_TABLE, v, mode, depth, at)
    if isinstance(v, (list, tuple)):
        return put_nested(b, TAG_ARRAY, v, mode, depth, at)
    if isinstance(v, (bytes, bytearray, memoryview)):
        PyObject_GetBuffer(v, &view, PyBUF_SIMPLE)
        try:
            return put_long(b, tag_of(bytes_form(mode), mode), view.buf, view.len, at)
        finally:
            PyBuffer_Release(&view)
    plain = from_numpy(v, NUMPY_CLASSES)
    if plain is not v:
        return put_value(b, plain, mode, depth, at)
    return table_error(at, f"a table cannot hold {t.__name__}")

cdef dict TYPED_TAGS = _types.TAGS
# As batch.encode has it: smaller floats are f.
cdef dict NUMPY_CLASSES = {
    "float16": _types.Float, "float32": _types.Float, "float64": float, "datetime64": _types.Timestamp}


cdef int put_typed(Buffer* b, object v, type t, bytes tag, uintptr_t mode, Place* at) except -1:
    """A value of amqpcodec.types under its own tag."""
    cdef const int8_t* shapes = SHAPES[mode & MODE_LETTER]
    cdef ScalarKind kind
    cdef uint8_t* w
    cdef uint8_t c
    cdef Scalar x
    if tag is None or shapes[<uint8_t>tag[0]] == SHAPE_UNKNOWN:
        return table_error(at, f"{t.__name__} has no tag in this dialect")
    c = <uint8_t>tag[0]
    kind = FORMS[form_of(shapes, c)].kind
    if kind == KIND_LONGSTR and isinstance(v, str):
        return put_text(b, c, v, at)
    if kind == KIND_SIGNED:
        x.u = <uint64_t><int64_t>v
    elif kind == KIND_UNSIGNED or kind == KIND_SECONDS:
        x.u = <uint64_t>v
    elif kind == KIND_FLOAT:
        x.u = float_to_bits(<float><double>v)
    elif kind == KIND_DOUBLE:
        x.u = double_to_bits(<double>v)
    elif kind == KIND_VOID:
        x.u = 0
    elif kind == KIND_LONGSTR or kind == KIND_BYTES:
        return put_long(b, c, PyBytes_AS_STRING(v), PyBytes_GET_SIZE(v), at)
    elif kind == KIND_SHORTSTR:
        put_byte(b, c)
        return put_name(b, v, at)
    elif (kind == KIND_BOOLEAN or kind == KIND_DECIMAL or kind == KIND_BID32 or kind == KIND_BID64
            or kind == KIND_BID128 or kind == KIND_MILLISECONDS or kind == KIND_CHAR or kind == KIND_UUID
            or kind == KIND_STRING or kind == KIND_SYMBOL):
        return table_error(at, f"no class stands for tag {chr(c)!r}")
    w = buffer_extend(b, 1 + <size_t>shapes[c])
    w[0] = c
    form_store(form_of(shapes, c), w + 1, &x)
    return 0


cdef tuple sample_values(type cls):
    """Some values of a class of amqpcodec.types: of numbers of both signs, and both ends of their range."""
    if issubclass(cls, int):
        return cls(cls.LOW), cls(1), cls(cls.HIGH)
    if issubclass(cls, float):
        return cls(0.5), cls(-1.5)
    if issubclass(cls, str):
        return (cls("a"),)
    return (cls(b"\xff") if issubclass(cls, bytes) else cls(),)


cdef bint same_again(object value, type cls, bytes tag, int dialect) except -1:
    """Whether a value is read from the bytes that it is written as."""
    cdef uint8_t memory[64]
    cdef const uint8_t* p
    cdef Buffer b
    cdef Place at
    place_begin(&at, NULL, NULL)
    buffer_init(&b, memory, sizeof(memory))
    try:
        put_typed(&b, value, cls, tag, <uintptr_t>dialect, &at)
        p = b.start
        return value_bytes(p, SHAPES[dialect]) == buffer_size(&b) and read_typed(
            &p, <uintptr_t>dialect | MODE_TYPED, NULL) == value
    finally:
        buffer_free(&b)


cdef bint keeps_tag(uint8_t tag, uintptr_t mode) except -1:
    """Whether a value that was read with this tag is written with it, as a bool and a Decimal are, which name none."""
    cdef uint8_t[TRIAL_BYTES] memory
    cdef const uint8_t* p = memory
    cdef Buffer b
    cdef Place at
    cdef object value
    memset(memory, 0, TRIAL_BYTES)
    memory[0] = tag
    value = owned(read_value(&p, mode, NULL))
    place_begin(&at, NULL, NULL)
    buffer_init(&b, memory, TRIAL_BYTES)
    try:
        put_value(&b, value, mode, 1, &at)
        return b.start[0] == tag
    finally:
        buffer_free(&b)


cdef int typed_ready() except -1:
    """Fill TYPED_CLASSES from amqpcodec.types. Each class has a tag that tables/tags.h knows, each tag a class, and
    each value is read from the bytes that it is written as; else the module does not load."""
    cdef ScalarKind kind
    cdef int dialect, i
    for cls, tags in TYPED_TAGS.items():
        for dialect in range(2):
            tag = tags[dialect]
            if tag is not None and TYPED_CLASSES[dialect][<uint8_t>tag[0]] == NULL:
                TYPED_CLASSES[dialect][<uint8_t>tag[0]] = Py_NewRef(<PyObject*>cls)
    for dialect in range(2):
        for i in range(TAG_LINES):
            if (TAGS[i].dialects >> dialect & 1 and TYPED_CLASSES[dialect][TAGS[i].tag] == NULL
                    and not keeps_tag(TAGS[i].tag, <uintptr_t>dialect)):
                raise ImportError(f"amqpcodec.types.TAGS: tag {chr(TAGS[i].tag)!r} of tables/tags.h has no class")
    for cls, tags in TYPED_TAGS.items():
        for dialect in range(2):
            tag = tags[dialect]
            if tag is None:
                continue
            if SHAPES[dialect][<uint8_t>tag[0]] == SHAPE_UNKNOWN:
                raise ImportError(f"tables/tags.h: tag {tag!r} of amqpcodec.types.{cls.__name__} has no line")
            kind = FORMS[form_of(SHAPES[dialect], <uint8_t>tag[0])].kind
            if issubclass(cls, float) != (KIND_FLOAT <= kind <= KIND_DOUBLE):
                raise ImportError(
                    f"tag {tag!r}: amqpcodec.types.{cls.__name__} is a float, or the kind of its form is, but not both")
            for value in sample_values(cls):
                if not same_again(value, cls, tag, dialect):
                    raise ImportError(f"tag {tag!r}: amqpcodec.types.{cls.__name__} is not read from what it is "
                                      f"written as: {value!r}")
    return 0

typed_ready()


cdef int put_nested(Buffer* b, uint8_t tag, object v, uintptr_t mode, int depth, Place* at) except -1:
    """A table or an array, its length patched in when it is known."""
    cdef size_t start
    cdef uint64_t n
    cdef Step step
    if depth >= DEPTH_LIMIT:
        return table_error(at, f"tables nested deeper than {DEPTH_LIMIT} levels")
    buffer_extend(b, 5)[0] = tag
    start = buffer_size(b)
    if tag == TAG_TABLE:
        put_pairs(b, v, mode, depth + 1, at)
    else:
        step.outer, step.name, step.index = at.step, NULL, 0
        at.step = &step
        for item in v:
            put_value(b, item, mode, depth + 1, at)
            step.index += 1
        at.step = step.outer
    n = buffer_size(b) - start
    if n > MAX_U32:
        return table_error(at, "a table takes at most 4294967295 bytes")
    store32(b.start + start - 4, <uint32_t>n)
    return 0


cdef int put_pairs(Buffer* b, object table, uintptr_t mode, int depth, Place* at) except -1:
    """Names and values of a table, without its length."""
    cdef PyObject* name
    cdef PyObject* value
    cdef Py_ssize_t i = 0, n, m
    cdef const uint8_t* p
    cdef uint8_t* w
    cdef int32_t small
    cdef object keep
    cdef Py_ssize_t size = PyDict_GET_SIZE(table)
    cdef Py_ssize_t left = size
    cdef Step step
    step.outer = at.step
    while left > 0 and PyDict_Next(table, &i, &name, &value):
        left -= 1
        n = 0
        p = NULL
        if AMQP_LIKELY(utf8_bytes(name, &p, &n) and <size_t>n <= 255):
            w = buffer_extend(b, 1 + <size_t>n)
            w[0] = <uint8_t>n
            copy_bytes(w + 1, p, <size_t>n)
        else:
            if not isinstance(<object>name, str):
                table_error(at, f"a table name is a str, not {type(<object>name).__name__}")
            put_name(b, <object>name, at)
        # The most frequent values here, all others by put_value. A str or int has no code that could run.
        m = 0
        if utf8_bytes(value, &p, &m) and <uint64_t>m <= MAX_U32:
            w = buffer_extend(b, 5 + <size_t>m)
            w[0] = tag_of(FORM_text32, mode)
            store32(w + 1, <uint32_t>m)
            copy_bytes(w + 5, p, <size_t>m)
            continue
        if exact_small(value, &small):
            put_tagged(b, FORM_int32, mode, <uint32_t>small, 0)
            continue
        if (value == Py_True or value == Py_False) and not mode & MODE_OLD:
            put_tagged(b, FORM_boolean, mode, value == Py_True, 0)
            continue
        keep = <object>value
        step.name = name
        at.step = &step
        put_value(b, keep, mode, depth, at)
        at.step = step.outer
        # A subclass's methods may run above, and change what is being read.
        if PyDict_GET_SIZE(table) != size:
            raise RuntimeError("table changed size while it was encoded")
    return 0
