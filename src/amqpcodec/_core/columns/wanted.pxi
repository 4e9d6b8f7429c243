# Single headers as columns: found by name in a table that was checked.

# ---- faults that only columns have ----

cdef int note(Sink* s, const Desc* d, int i, int code, const char* what, const uint8_t* at,
              uint64_t value) noexcept nogil:
    """A field that no column can hold: the row's fault, unless it has one."""
    cdef const uint8_t* p = s.c.p
    if s.fault.code == OK:
        s.c.p = at
        fail(&s.c, code, what, value, 0)
        if d != NULL:
            place_fault(d, &s.c, i)
        s.c.p = p
    return 0


# ---- entries ----

cdef int append_wanted(Sink* s, const Desc* d, int i, const uint8_t* p, size_t n, int64_t row) noexcept nogil:
    """The wanted entries of checked headers; where a key comes twice the last one, as in a dict.

    i: the headers' number among the properties of d. d: NULL on the fast path, which falls back where a
    value is more than its column can hold."""
    cdef const uint8_t* end = p + n
    cdef const Wanted* w
    cdef int k, status
    if s.asked[COL_RAW_HEADERS] != NULL:
        status = append_bytes(s.table, s.asked[COL_RAW_HEADERS], row, p, n)
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
            status = put_wanted(s, s.found[k], w, s.table.column + w.column, row)
            if AMQP_UNLIKELY(status == DOES_NOT_FIT):
                if d == NULL:
                    return FALLS_BACK
                note_wanted(s, d, i, s.found[k], w)
            elif status < 0:
                return status
    return 0


cdef int note_wanted(Sink* s, const Desc* d, int i, const uint8_t* p, const Wanted* w) noexcept nogil:
    """Note a header whose column cannot hold its value."""
    if w.type != AS_WANTED_DECIMAL:
        return note(s, d, i, BAD_RANGE, b"timestamp" if p[0] == c'T' else b"integer", p, load64(p + 1))
    return note(s, d, i, BAD_DIGITS, b"decimal" if p[0] == c'D' else b"integer", p,
                <uint64_t>w.precision << 8 | w.scale)


cdef bint whole_number(const uint8_t* p, uint8_t tag, const int8_t* shapes, int64_t* out) noexcept nogil:
    """The value after an integer's tag; False where it is none. Beyond int64 it is as uint64 has it: see below."""
    if tag == c'I':
        out[0] = <int32_t>load32(p)
    elif tag == c'l' or tag == c'L':
        out[0] = <int64_t>load64(p)
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


cdef inline bint beyond_int64(uint8_t tag, const int8_t* shapes, int64_t number) noexcept nogil:
    """Whether whole_number() gave a negative number for one that is too large."""
    return number < 0 and tag == c'l' and shapes == SHAPES[MODE_LETTER]


cdef int put_wanted(Sink* s, const uint8_t* p, const Wanted* w, Column* c, int64_t row) noexcept nogil:
    """A tag and its value as the type that was asked for; a value of another type is null. DOES_NOT_FIT: it
    is of that type, and the column cannot hold it."""
    cdef uint8_t type_ = w.type
    cdef uint8_t tag = p[0]
    cdef JsonText text
    cdef Buffer digits
    cdef int64_t number
    cdef uint64_t u
    cdef size_t n
    cdef bint large
    cdef int status
    if type_ == AS_WANTED_JSON:
        status = text_begin(&text, c, s.input_end)
        if status == 0:
            status = json_value(&text, &p, s.shapes)
        return data_commit(s.table, &text.out, c, row) if status == 0 else status
    p += 1
    if tag == c'D' and type_ == AS_WANTED_STRING:
        if data_begin(&digits, c) < 0 or buffer_ensure(&digits, 258) < 0:
            return NO_MEMORY
        buffer_commit(&digits, put_decimal(digits.p, <int32_t>load32(p + 1), p[0]))
        return data_commit(s.table, &digits, c, row)
    if tag == c'D' and type_ == AS_WANTED_DECIMAL:
        number = <int32_t>load32(p + 1)
        return append_wanted_integer(c, row, w, number < 0, <uint64_t>(-number if number < 0 else number), -<int>p[0])
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
        if tag != c'T':
            return 0
        if load64(p) > HIGHEST_SECOND:
            return DOES_NOT_FIT
        return append_i64(c, row, <int64_t>(load64(p) * 1000000))
    if type_ == AS_WANTED_DOUBLE and tag == c'd':
        return append_i64(c, row, <int64_t>load64(p))
    if type_ == AS_WANTED_DOUBLE and tag == c'f':
        return append_i64(c, row, <int64_t>double_to_bits(bits_to_float(load32(p))))
    if not whole_number(p, tag, s.shapes, &number):
        return 0
    large = beyond_int64(tag, s.shapes, number)
    if type_ == AS_WANTED_DECIMAL:
        u = <uint64_t>number
        return append_wanted_integer(c, row, w, number < 0 and not large, 0 - u if number < 0 and not large else u, 0)
    if type_ == AS_WANTED_DOUBLE:
        number = <int64_t>double_to_bits(<double><uint64_t>number if large else <double>number)
    elif large:
        return DOES_NOT_FIT
    return append_i64(c, row, number)


fills(FRAMES_0X | MESSAGES_0X, (COL_RAW_HEADERS,))
