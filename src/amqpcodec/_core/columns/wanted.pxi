# Single headers as columns: found by name in a table that was checked.

# ---- faults that only columns have ----

cdef int report_fault(Sink* s, const Desc* d, int i, int code, const char* what, const uint8_t* at,
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
        if status < 0 or s.columns.n_wanted == 0:
            return status
    memset(s.columns.found, 0, <size_t>s.columns.n_wanted * sizeof(uint8_t*))
    while p < end:
        n = p[0]
        for k in range(s.columns.n_wanted):
            w = &s.columns.wanted[k]
            if w.name_n == n and memcmp(w.name, p + 1, n) == 0:
                s.columns.found[k] = p + 1 + n
        p += 1 + n
        p += value_bytes(p, s.options.shapes)
    for k in range(s.columns.n_wanted):
        if s.columns.found[k] != NULL:
            w = &s.columns.wanted[k]
            status = put_wanted(s, s.columns.found[k], w, s.table.column + w.column, row)
            if AMQP_UNLIKELY(status == DOES_NOT_FIT):
                if d == NULL:
                    return FALLS_BACK
                report_wanted_range(s, d, i, s.columns.found[k], w)
            elif status < 0:
                return status
    return 0


cdef int report_wanted_range(Sink* s, const Desc* d, int i, const uint8_t* p, const Wanted* w) noexcept nogil:
    """Note a header whose column cannot hold its value."""
    cdef Scalar x
    form_read(form_of(s.options.shapes, p[0]), p + 1, &x)
    if w.type != AS_WANTED_DECIMAL:
        return report_fault(s, d, i, BAD_RANGE, b"timestamp" if x.kind == KIND_SECONDS else b"integer", p, x.u)
    return report_fault(s, d, i, BAD_DIGITS, b"decimal" if x.kind == KIND_DECIMAL else b"integer", p,
                        <uint64_t>w.precision << 8 | w.scale)


cdef int put_wanted(Sink* s, const uint8_t* p, const Wanted* w, Column* c, int64_t row) noexcept nogil:
    """A tag and its value as the type that was asked for; a value of another type is null. DOES_NOT_FIT: it
    is of that type, and the column cannot hold it."""
    cdef int shape = s.options.shapes[p[0]]
    cdef JsonText text
    cdef Scalar x
    cdef int status
    if w.type == AS_WANTED_JSON:
        status = text_begin(&text, c, s.input.end)
        if status == 0:
            status = json_value(&text, &p, s.options.shapes)
        return data_commit(s.table, &text.out, c, row) if status == 0 else status
    if shape == SHAPE_TABLE or shape == SHAPE_ARRAY:
        return 0
    form_read(form_of(s.options.shapes, p[0]), p + 1, &x)
    return append_wanted_scalar(s.table, c, row, w, &x, s.input.end)
