# Field tables in columns that are not JSON text: Variants, and maps from text to text.

# ---- Variants: a struct of two binaries ----

cdef int append_variant(Table* t, Column* c, int64_t row, const uint8_t* p, uint32_t n,
                        Variants* v, uintptr_t mode) noexcept nogil:
    cdef Buffer value, names
    cdef int status = variant_begin(t, c, &value, &names)
    if status == 0:
        status = variant_table(v, &value, &names, p, n, mode)
    return variant_commit(t, c, row, &value, &names, status)


# ---- maps: see append_map_scalar ----
#
# Keys are written as in JSON text. A table that has a key twice is a map with the one key `$table`
# and, as JSON text, a list of all pairs.

cdef int map_key(Table* items, const uint8_t* key) noexcept nogil:
    cdef uint8_t[KEY_ROOM] buffer
    if AMQP_UNLIKELY(key_is_escaped(key)):
        return append_bytes(items, &items.column[0], items.rows, buffer, store_escaped_key(buffer, key))
    return append_bytes(items, &items.column[0], items.rows, key + 1, key[0])


cdef int map_value(Table* items, const uint8_t** at, const int8_t* shapes,
                   const uint8_t* input_end) noexcept nogil:
    """One tag and its value; `at` moves after it."""
    cdef const uint8_t* p = at[0]
    cdef int shape = shapes[p[0]]
    cdef Column* c = &items.column[1]
    cdef JsonText text
    cdef Scalar v
    cdef int status
    if shape != SHAPE_TABLE and shape != SHAPE_ARRAY:
        at[0] += value_bytes(p, shapes)
        form_read(form_of(shapes, p[0]), p + 1, &v)
        return append_map_scalar(items, &v, input_end)
    status = text_begin(&text, c, input_end)
    if status == 0:
        status = json_value(&text, at, shapes)
    return data_commit(items, &text.out, c, items.rows) if status == 0 else status


cdef int append_map(Table* t, Column* c, int64_t row, const uint8_t* p, uint32_t n,
                    uintptr_t mode, const uint8_t* input_end) noexcept nogil:
    cdef Table* items = c.items
    cdef const int8_t* shapes = SHAPES[mode & MODE_LETTER]
    cdef const uint8_t* end = p + n
    cdef JsonText text
    cdef int status = has_twice(p, end, shapes)
    if AMQP_UNLIKELY(status > 0):
        status = append_bytes(items, &items.column[0], items.rows, b"$table", 6)
        if status == 0:
            status = text_begin(&text, &items.column[1], input_end)
        if status == 0:
            status = json_pair_list(&text, p, end, shapes)
        if status == 0:
            status = data_commit(items, &text.out, &items.column[1], items.rows)
        items.rows += 1
        p = end
    while p < end and status == 0:
        status = map_key(items, p)
        p += 1 + <size_t>p[0]
        if status == 0:
            status = map_value(items, &p, shapes, input_end)
        items.rows += 1
    return end_map(t, c, row, status)


# ---- both ----

cdef int append_table(Table* t, Column* c, int64_t row, const uint8_t* p, uint32_t n, Variants* v,
                      uintptr_t mode, const uint8_t* input_end) noexcept nogil:
    """A checked table into a column whose form is not JSON."""
    if c.form == FORM_MAP:
        return append_map(t, c, row, p, n, mode, input_end)
    return append_variant(t, c, row, p, n, v, mode)


cdef Table* items_new(int64_t limit) noexcept nogil:
    """Keys and values of maps."""
    cdef Table* items = table_new(2, limit)
    cdef int i
    if items != NULL:
        for i in range(2):
            items.column[i].arrow_type = AS_TEXT
            items.column[i].asked = True
            items.column[i].nullable = i == 1
    return items


cdef dict TABLE_FORMS = {"json": FORM_JSON, "variant": FORM_VARIANT, "map": FORM_MAP}

# Format and children of a column of tables. See VARIANT_NAMES.
cdef dict FORM_SCHEMAS = {
    FORM_VARIANT: ("+s", (("value", "!z", ()), ("metadata", VARIANT_NAMES, ()))),
    FORM_MAP: ("+m", (("entries", "!+s", (("key", "!u", ()), ("value", "?u", ()))),)),
}
