# Field tables, writing back what was read: entries that did not change keep their very bytes.
#
# The dict that was made from bytes is compared with them in step, strictly: a value of another type,
# another float's bits or another decimal's scale is a change. Where all is equal the bytes are
# copied whole; else each name keeps its bytes (all of its duplicates) or is encoded by value.


cdef int same_value(const uint8_t** at, object v, uintptr_t mode) except -1:
    """1 if v is what these bytes say, 0 if not; moves *at after the value either way."""
    cdef const uint8_t* p = at[0] + 1
    cdef const int8_t* shapes = SHAPES[mode & MODE_LETTER]
    cdef uint8_t tag = at[0][0]
    cdef uint32_t n
    cdef double number
    cdef Py_ssize_t length = 0
    cdef const uint8_t* text
    cdef object wire
    cdef ScalarKind kind
    cdef Scalar x
    if tag == TAG_TABLE or tag == TAG_ARRAY:
        n = load32(p)
        at[0] = p + 4 + n
        if tag == TAG_TABLE:
            return type(v) is dict and same_pairs(p + 4, n, v, mode)
        return type(v) is list and same_items(p + 4, n, v, mode)
    if tag == c'S' and type(v) is str:
        n = load32(p)
        if ascii_bytes(<PyObject*>v, &text, &length):
            at[0] = p + 4 + n
            return length == <Py_ssize_t>n and memcmp(text, p + 4, n) == 0
    kind = FORMS[form_of(shapes, tag)].kind
    if KIND_FLOAT <= kind <= KIND_DOUBLE:
        at[0] += value_bytes(at[0], shapes)
        form_read(form_of(shapes, tag), p, &x)
        number = bits_to_double(x.u) if kind == KIND_DOUBLE else <double>bits_to_float(<uint32_t>x.u)
        wire = <object>TYPED_CLASSES[mode & MODE_LETTER][tag] if mode & MODE_TYPED else float
        return type(v) is wire and double_to_bits(<double>v) == double_to_bits(number)
    wire = owned(read_value(at, mode, NULL))
    if type(wire) is not type(v):
        return 0
    if kind == KIND_DECIMAL:
        return str(wire) == str(v)
    return wire == v


cdef inline const uint8_t* skip_value(const uint8_t* p, uintptr_t mode) noexcept:
    """After one tag and its value, in bytes that were checked."""
    return p + value_bytes(p, SHAPES[mode & MODE_LETTER])


cdef int same_items(const uint8_t* p, uint32_t n, list items, uintptr_t mode) except -1:
    cdef const uint8_t* end = p + n
    cdef Py_ssize_t i = 0
    while p < end:
        if i >= len(items) or not same_value(&p, items[i], mode):
            return 0
        i += 1
    return i == len(items)


cdef int same_pairs(const uint8_t* p, uint32_t n, dict table, uintptr_t mode) except -1:
    """1 if the dict is what the bytes say: names in this order, values strictly equal."""
    cdef const uint8_t* end = p + n
    cdef PyObject* name
    cdef PyObject* value
    cdef Py_ssize_t i = 0, length
    cdef const uint8_t* text
    while p < end:
        if not PyDict_Next(table, &i, &name, &value):
            break
        length = 0
        if ascii_bytes(name, &text, &length):
            if length != p[0] or memcmp(text, p + 1, <size_t>length) != 0:
                break
        elif type(<object>name) is not str or <object>name != text_new(p + 1, p[0]):
            break
        p += 1 + p[0]
        if not same_value(&p, <object>value, mode):
            break
    else:
        return not PyDict_Next(table, &i, &name, &value)
    # A duplicated name breaks the step: then compare with what the bytes give as a dict.
    return same_with_duplicates(end - n, n, table, mode)


cdef int same_with_duplicates(const uint8_t* p, uint32_t n, dict table, uintptr_t mode) except -1:
    cdef dict last
    cdef const uint8_t* at
    last = last_entries(p, n, mode)
    if len(last) != len(table) or count_pairs(p, n, mode) == len(last):
        return 0
    for (name, spans), (key, value) in zip(last.items(), table.items()):
        if type(key) is not str or name != key:
            return 0
        at = p + <Py_ssize_t>spans[len(spans) - 1][1]
        if not same_value(&at, value, mode):
            return 0
    return 1


cdef Py_ssize_t count_pairs(const uint8_t* p, uint32_t n, uintptr_t mode) noexcept:
    cdef const uint8_t* end = p + n
    cdef Py_ssize_t count = 0
    while p < end:
        p = skip_value(p + 1 + p[0], mode)
        count += 1
    return count


cdef dict last_entries(const uint8_t* p, uint32_t n, uintptr_t mode):
    """name -> [(start, value, end), ...]: where its entries lie, in bytes from p."""
    cdef dict entries = {}
    cdef const uint8_t* start = p
    cdef const uint8_t* end = p + n
    cdef const uint8_t* value
    cdef const uint8_t* after
    while p < end:
        value = p + 1 + p[0]
        after = skip_value(value, mode)
        entries.setdefault(text_new(p + 1, p[0]), []).append((p - start, value - start, after - start))
        p = after
    return entries


cdef int put_changed(Buffer* b, const uint8_t* p, uint32_t n, dict table, uintptr_t mode,
                     uintptr_t out_mode, int depth, Place* at) except -1:
    """The pairs of a dict that was made from these bytes and changed since."""
    cdef dict entries
    cdef const uint8_t* value_at
    cdef Py_ssize_t start, value_start, after
    cdef uint32_t length
    cdef Step step
    if same_pairs(p, n, table, mode):
        return put_bytes(b, p, n)
    step.outer = at.step
    entries = last_entries(p, n, mode)
    for name, value in table.items():
        if not isinstance(name, str):
            table_error(at, f"a table name is a str, not {type(name).__name__}")
        spans = entries.get(name)
        step.name = <PyObject*>name
        if spans is None:
            put_name(b, name, at)
            at.step = &step
            put_value(b, value, out_mode, depth, at)
            at.step = step.outer
            continue
        at.step = &step
        start, value_start, after = spans[len(spans) - 1]
        value_at = p + value_start
        if same_value(&value_at, value, mode):
            for start, value_start, after in spans:
                put_bytes(b, p + start, <size_t>(after - start))
        elif type(value) is dict and p[value_start] == TAG_TABLE:
            length = load32(p + value_start + 1)
            put_bytes(b, p + start, <size_t>(value_start - start))
            put_changed_nested(b, TAG_TABLE, p + value_start + 5, length, value, mode, out_mode, depth, at)
        elif type(value) is list and p[value_start] == TAG_ARRAY:
            length = load32(p + value_start + 1)
            put_bytes(b, p + start, <size_t>(value_start - start))
            put_changed_nested(b, TAG_ARRAY, p + value_start + 5, length, value, mode, out_mode, depth, at)
        else:
            put_bytes(b, p + start, <size_t>(value_start - start))
            put_value(b, value, out_mode, depth, at)
        at.step = step.outer
    return 0


cdef int put_changed_nested(Buffer* b, uint8_t tag, const uint8_t* p, uint32_t n, object value,
                            uintptr_t mode, uintptr_t out_mode, int depth, Place* at) except -1:
    cdef size_t start
    if depth >= DEPTH_LIMIT:
        return table_error(at, f"tables nested deeper than {DEPTH_LIMIT} levels")
    buffer_extend(b, 5)[0] = tag
    start = buffer_size(b)
    if tag == TAG_TABLE:
        put_changed(b, p, n, value, mode, out_mode, depth + 1, at)
    else:
        put_changed_items(b, p, n, value, mode, out_mode, depth + 1, at)
    if buffer_size(b) - start > MAX_U32:
        return table_error(at, "a table takes at most 4294967295 bytes")
    store32(b.start + start - 4, <uint32_t>(buffer_size(b) - start))
    return 0


cdef int put_changed_items(Buffer* b, const uint8_t* p, uint32_t n, list items, uintptr_t mode,
                           uintptr_t out_mode, int depth, Place* at) except -1:
    """Items by position: those that are equal keep their bytes."""
    cdef const uint8_t* end = p + n
    cdef const uint8_t* value_at
    cdef const uint8_t* start
    cdef Step step
    step.outer, step.name, step.index = at.step, NULL, -1
    at.step = &step
    for item in items:
        step.index += 1
        if p >= end:
            put_value(b, item, out_mode, depth, at)
            continue
        start = p
        value_at = p
        p = skip_value(p, mode)
        if same_value(&value_at, item, mode):
            put_bytes(b, start, <size_t>(p - start))
        elif type(item) is dict and start[0] == TAG_TABLE:
            put_changed_nested(b, TAG_TABLE, start + 5, load32(start + 1), item, mode, out_mode, depth, at)
        elif type(item) is list and start[0] == TAG_ARRAY:
            put_changed_nested(b, TAG_ARRAY, start + 5, load32(start + 1), item, mode, out_mode, depth, at)
        else:
            put_value(b, item, out_mode, depth, at)
    at.step = step.outer
    return 0
