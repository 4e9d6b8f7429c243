# Single headers as columns: found by name in a table that was checked.

cdef int append_wanted(Sink* s, const uint8_t* p, size_t n, int64_t row) noexcept nogil:
    """The wanted entries of checked headers; where a key comes twice the last one, as in a dict."""
    cdef const uint8_t* end = p + n
    cdef const Wanted* w
    cdef int k, status
    if s.raw_headers != NULL:
        status = append_bytes(s.table, s.raw_headers, row, p, n)
        if status < 0 or s.n_wanted == 0:
            return status
    memset(s.found, 0, <size_t>s.n_wanted * sizeof(uint8_t*))
    while p < end:
        n = p[0]
        for k in range(s.n_wanted):
            w = &s.wanted[k]
            if w.name_n == n and memcmp(w.name, p + 1, n) == 0:
                s.found[k] = p + 1 + n
        p += 1 + n
        p += value_bytes(p, s.shapes)
    for k in range(s.n_wanted):
        if s.found[k] != NULL:
            w = &s.wanted[k]
            status = put_wanted(s, s.found[k], w.type, s.table.column + w.column, row)
            if status < 0:
                return status
    return 0


cdef bint whole_number(const uint8_t* p, uint8_t tag, const int8_t* shapes, int64_t* out) noexcept nogil:
    """The value after an integer's tag; False where it is none, or beyond int64."""
    cdef uint64_t u
    if tag == c'I':
        out[0] = <int32_t>load32(p)
    elif tag == c'l' or tag == c'L':
        u = load64(p)
        if tag == c'l' and shapes == SHAPES[MODE_LETTER] and u > HIGHEST_INT64:
            return False
        out[0] = <int64_t>u
    elif tag == c'b':
        out[0] = <int8_t>p[0]
    elif tag == c'B':
        out[0] = p[0]
    elif (tag == c's' and shapes[tag] == 2) or tag == c'U':
        out[0] = <int16_t>load16(p)
    elif tag == c'u':
        out[0] = load16(p)
    elif tag == c'i':
        out[0] = load32(p)
    else:
        return False
    return True


cdef int put_wanted(Sink* s, const uint8_t* p, uint8_t type_, Column* c, int64_t row) noexcept nogil:
    """A tag and its value as the type that was asked for; a value of another type is null."""
    cdef uint8_t tag = p[0]
    cdef Text text
    cdef int64_t number
    cdef uint64_t u
    cdef size_t n
    cdef int status
    if type_ == AS_WANTED_JSON:
        status = text_begin(&text, c, s.input_end)
        if status == 0:
            status = json_value(&text, &p, s.shapes)
        return text_commit(s.table, &text, c, row) if status == 0 else status
    p += 1
    if type_ == AS_WANTED_STRING or type_ == AS_WANTED_BINARY:
        if tag == c's' and s.shapes[tag] == SHAPE_SHORT:
            n = p[0]
            p += 1
        elif tag == c'S' or (tag == c'x' and type_ == AS_WANTED_BINARY):
            n = load32(p)
            p += 4
        else:
            return 0
        if type_ == AS_WANTED_BINARY:
            return append_bytes(s.table, c, row, p, n)
        status = append_utf8(s.table, c, row, p, n, s.input_end)
        return 0 if status == NOT_UTF8 else status
    if type_ == AS_WANTED_BOOLEAN:
        return append_bool(c, row, p[0] != 0) if tag == c't' else 0
    if type_ == AS_WANTED_TIMESTAMP:
        if tag != c'T' or load64(p) > HIGHEST_SECOND:
            return 0
        return append_i64(c, row, <int64_t>(load64(p) * 1000000))
    if type_ == AS_WANTED_DOUBLE and tag == c'd':
        return append_i64(c, row, <int64_t>load64(p))
    if type_ == AS_WANTED_DOUBLE and tag == c'f':
        return append_i64(c, row, <int64_t>double_to_bits(bits_to_float(load32(p))))
    if not whole_number(p, tag, s.shapes, &number):
        return 0
    if type_ == AS_WANTED_DOUBLE:
        number = <int64_t>double_to_bits(<double>number)
    return append_i64(c, row, number)
