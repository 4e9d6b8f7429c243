# Drop-ins, field tables: bytes to the values that a client would have made of them.

cdef object _RawValue = _types.RawValue

cdef tuple POWERS_PRODUCT = tuple([Decimal(10) ** -scale for scale in range(256)])
cdef tuple POWERS_QUOTIENT = tuple([Decimal(10 ** scale) for scale in range(256)])


cdef object profile_time(uint64_t seconds, TextCache* cache, object zone):
    if seconds > LAST_SECOND:
        not_ours("unusual bytes")
    return make_timestamp(seconds, cache, zone)


cdef object time_or_ms(uint64_t number, TextCache* cache):
    if number <= MAX_U32:
        return make_timestamp(number, cache, UTC)
    try:
        return Datetime.fromtimestamp(number / 1000.0, UTC)
    except (ValueError, ArithmeticError, OSError):
        not_ours("unusual bytes")


cdef object cut_to_int(ClientProfile t, double d):
    """What the client's int class makes of a float; NaN and infinity it refuses."""
    if d != d or d - d != 0:
        not_ours("unusual bytes")
    return (int if t.int_class is None else t.int_class)(d)


cdef object text_or_bytes(ClientProfile t, const uint8_t* s, Py_ssize_t n):
    """What bytes that are not UTF-8 become."""
    if t.surrogates:
        try:
            return PyUnicode_DecodeUTF8(<const char*>s, n, b"surrogatepass")
        except UnicodeDecodeError:
            pass
    return PyBytes_FromStringAndSize(<const char*>s, n)

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* s, Py_ssize_t n, const char* errors)


cdef object profile_text(ClientProfile t, const uint8_t* s, Py_ssize_t n, TextCache* cache):
    """Text where the bytes are UTF-8, else the bytes. RabbitMQ's clients agree on this."""
    cdef PyObject* text = text_of_utf8(cache if n <= SHORT_VALUE else NULL, s, n)
    return owned(text) if text != NULL else text_or_bytes(t, s, n)


cdef object short_text(const uint8_t* s, Py_ssize_t n, TextCache* cache):
    """Text of at most 255 bytes; falls back on bytes that are not UTF-8."""
    cdef PyObject* text = text_of_utf8(cache, s, n)
    if text == NULL:
        not_ours("unusual bytes")
    return owned(text)


cdef object profile_name(ClientProfile t, const uint8_t* s, Py_ssize_t n, TextCache* cache):
    cdef PyObject* text = text_of_utf8(cache, s, n)
    if text != NULL:
        return owned(text)
    if not t.bytes_for_bad_names:
        not_ours("unusual bytes")
    return text_or_bytes(t, s, n)


cdef object profile_value(ClientProfile t, const uint8_t** at, TextCache* cache):
    """One tag and its value, which were checked; moves *at after it."""
    cdef const uint8_t* p = at[0]
    at[0] = p + value_bytes(p, t.shapes)
    return profile_content(t, <Conversion>t.conversion[p[0]], form_of(t.shapes, p[0]), p + 1, cache)


cdef object profile_content(ClientProfile t, Conversion conversion, Form form, const uint8_t* p, TextCache* cache):
    """What stands after a tag, which was checked."""
    cdef Scalar v
    cdef object value
    form_read(form, p, &v)
    if conversion == READ_PLAIN or conversion == READ_CLASS or conversion == READ_CUT:
        value = owned(scalar_object(&v, cache))
        if conversion == READ_PLAIN:
            return value
        return t.int_class(value) if conversion == READ_CLASS else cut_to_int(t, value)
    elif conversion == READ_TEXT:
        return profile_text(t, v.p, v.n, cache)
    elif conversion == READ_SHORT_TEXT:
        return short_text(v.p, v.n, cache)
    elif conversion == READ_BYTEARRAY:
        return bytearray(PyBytes_FromStringAndSize(<const char*>v.p, v.n))
    elif conversion == READ_TABLE:
        return profile_table(t, v.p, v.n, cache)
    elif conversion == READ_ARRAY:
        return profile_array(t, v.p, v.n, cache)
    elif conversion == READ_PRODUCT:
        return Decimal(<int32_t>v.u) * POWERS_PRODUCT[v.n]
    elif conversion == READ_UNSIGNED_PRODUCT:
        return Decimal(<uint32_t>v.u) * POWERS_PRODUCT[v.n]
    elif conversion == READ_QUOTIENT:
        return Decimal(<int32_t>v.u) / POWERS_QUOTIENT[v.n]
    elif conversion == READ_AWARE:
        return profile_time(v.u, cache, UTC)
    elif conversion == READ_AWARE_MS:
        return time_or_ms(v.u, cache)
    elif conversion == READ_NAIVE:
        return profile_time(v.u, NULL, None)
    elif conversion == READ_NOTHING:
        raise SystemError("a tag that the client does not know")


cdef list profile_array(ClientProfile t, const uint8_t* p, uint32_t n, TextCache* cache):
    cdef list items = []
    cdef const uint8_t* end = p + n
    while p < end:
        items.append(profile_value(t, &p, cache))
    return items


cdef inline object profile_item(ClientProfile t, const uint8_t** at, TextCache* cache):
    """The frequent values of a table here, all others by profile_value."""
    cdef const uint8_t* p = at[0]
    cdef int conversion = t.conversion[p[0]]
    cdef uint32_t size
    if conversion == READ_TEXT:
        size = load32(p + 1)
        at[0] = p + 5 + size
        return profile_text(t, p + 5, size, cache)
    if conversion == READ_PLAIN and form_of(t.shapes, p[0]) == FORM_int32:
        at[0] = p + 5
        return <int32_t>load32(p + 1)
    return profile_value(t, at, cache)


cdef dict profile_table(ClientProfile t, const uint8_t* p, uint32_t n, TextCache* cache):
    cdef dict table
    cdef const uint8_t* end = p + n
    cdef object name, value
    table = {}
    while p < end:
        name = profile_name(t, p + 1, p[0], cache)
        p += 1 + p[0]
        value = profile_item(t, &p, cache)
        PyDict_SetItem(table, name, value)
    return table


cdef bint profile_checked(ClientProfile t, const uint8_t* p, size_t n, int depth, bint pairs) noexcept nogil:
    """Whether these bytes are the pairs of a table, or the items of an array, down to the last."""
    cdef Fault fault
    cdef Cursor c
    begin_cursor(&c, &fault, p, p + n, p, 0)
    return (check_pairs(&c, t.shapes, depth) if pairs else check_items(&c, t.shapes, depth)) == 0


cdef object read_profile_table(ClientProfile t, const uint8_t* p, uint32_t n, bint lenient,
                               TextCache* cache):
    """A table from its bytes, without their length. Falls back on one that is not sound;
    lenient: what cannot be read in it is a RawValue instead."""
    cdef dict table
    if profile_checked(t, p, n, 1, True):
        if not lenient:
            return profile_table(t, p, n, cache)
        try:
            return profile_table(t, p, n, cache)
        except (FallBack, ArithmeticError):     # a value that the client's type cannot hold
            pass
    elif not lenient:
        not_ours("unusual bytes")
    table = {}
    lenient_items(t, p, p + n, 1, table, None)
    return table


# ---- at an offset of exact bytes ----

cdef object read_table_at(ClientProfile t, object raw, Py_ssize_t offset, bint lenient):
    """(table, offset after it) of a table with its length, in exact bytes."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(raw) + offset
    cdef uint32_t n
    if offset < 0 or offset > PyBytes_GET_SIZE(raw) or PyBytes_GET_SIZE(raw) - offset < 4:
        not_ours("unusual value")
    n = load32(p)
    if <uint64_t>(PyBytes_GET_SIZE(raw) - offset - 4) < n:
        not_ours("unusual value")
    return read_profile_table(t, p + 4, n, lenient, ONE_SHOT_CACHE), offset + 4 + n


cdef object read_value_at(ClientProfile t, object raw, Py_ssize_t offset):
    """(value, offset after it) of a value with its tag, in exact bytes."""
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(raw)
    cdef const uint8_t* p = start + offset
    cdef Fault fault
    cdef Cursor c
    cdef object value
    if offset < 0 or offset >= PyBytes_GET_SIZE(raw):
        not_ours("unusual value")
    begin_cursor(&c, &fault, p, start + PyBytes_GET_SIZE(raw), p, 0)
    if check_value(&c, t.shapes, 1) < 0:
        not_ours("unusual value")
    value = profile_value(t, &p, ONE_SHOT_CACHE)
    return value, p - start


# ---- lenient: nothing in a table ends the stream ----

cdef object lenient_name(ClientProfile t, const uint8_t* s, Py_ssize_t n):
    if is_utf8(s, <size_t>n) or not t.bytes_for_bad_names:
        return text_new(s, n)       # with surrogate escapes
    return text_or_bytes(t, s, n)


cdef int lenient_items(ClientProfile t, const uint8_t* p, const uint8_t* end, int depth,
                       dict table, list items) except -1:
    """Fill a table, or an array where table is None. A value of unknown extent takes what is left."""
    cdef object name = ""
    cdef object value
    cdef int shape
    cdef size_t left, head = 0, size = 0
    cdef const uint8_t* start
    while p < end:
        left = <size_t>(end - p)
        if table is not None:
            size = p[0]
            if size + 1 >= left:        # no room for the name, or for a tag after it
                value = _RawValue(None, PyBytes_FromStringAndSize(<const char*>p, <Py_ssize_t>left))
                table[""] = value
                return 0
            name = lenient_name(t, p + 1, <Py_ssize_t>size)
            p += 1 + size
            left -= 1 + size
        start = p
        shape = t.shapes[p[0]]
        if not find_content(p, left, t.shapes, &head, &size):
            head, size = 0, left
            value = lenient_raw(start, size)
        elif (shape == SHAPE_TABLE or shape == SHAPE_ARRAY) and depth < DEPTH_LIMIT:
            value = {} if shape == SHAPE_TABLE else []
            lenient_items(t, p + head, p + head + size, depth + 1, value if shape == SHAPE_TABLE else None,
                          value if shape == SHAPE_ARRAY else None)
        elif shape == SHAPE_TABLE or shape == SHAPE_ARRAY:
            value = lenient_raw(start, head + size)
        else:
            try:
                value = profile_value(t, &start, NULL)
            except (FallBack, ArithmeticError):
                value = lenient_raw(p, head + size)
        p += head + size
        if table is not None:
            PyDict_SetItem(table, name, value)
        else:
            items.append(value)
    return 0


cdef object lenient_raw(const uint8_t* p, size_t size):
    return _RawValue(chr(p[0]), PyBytes_FromStringAndSize(<const char*>(p + 1), <Py_ssize_t>size - 1))
