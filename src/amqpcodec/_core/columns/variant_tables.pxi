# Field tables of 0-x as Variants.

cdef int heights_within(const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """The same of all keys of a table."""
    cdef int found = 0
    while p < end:
        found |= heights(p)
        p += 1 + <size_t>p[0]
        p += value_bytes(p, shapes)
    return found


cdef inline int leaf_key(Buffer* b, const uint8_t* key) noexcept nogil:
    """A key as a string, of a table that has one twice."""
    cdef uint8_t[KEY_ROOM] buffer
    if not key_is_escaped(key):
        return leaf_string(b, key + 1, key[0], True)
    return leaf_string(b, buffer, store_escaped_key(buffer, key), True)


cdef int survey_value(Variants* v, const uint8_t** at, uint32_t parent) noexcept nogil:
    """One tag and its value; `at` moves after it."""
    cdef const uint8_t* p = at[0] + 1
    cdef int shape = v.shapes[at[0][0]]
    cdef Form form = form_of(v.shapes, at[0][0])
    cdef Scalar x
    at[0] += value_bytes(at[0], v.shapes)
    if shape == SHAPE_TABLE:
        if add_variant_size(v, parent, 0) < 0:
            return NO_MEMORY
        return survey_pairs(v, p + 4, load32(p), parent)
    if shape == SHAPE_ARRAY:
        if add_variant_child(v, parent, False) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
        p += 4
        while p < at[0]:
            if survey_value(v, &p, parent) < 0:
                return NO_MEMORY
        return 0
    form_read(form, p, &x)
    return survey_scalar(v, parent, &x)


cdef int survey_pairs(Variants* v, const uint8_t* p, uint32_t n, uint32_t parent) noexcept nogil:
    """A field table: an object, or {"$table": [...]} where a key comes twice."""
    cdef const uint8_t* end = p + n
    cdef const uint8_t* key
    cdef uint32_t node
    cdef size_t before
    cdef int twice = has_twice(p, end, v.shapes)
    if AMQP_UNLIKELY(v.careful) and twice == 0:
        twice = heights_within(p, end, v.shapes) == 3
    if twice < 0 or add_variant_node(v, parent, True) < 0:
        return NO_MEMORY
    node = v.n_nodes - 1
    if AMQP_UNLIKELY(twice):
        if add_variant_key(v, NULL, OUR_TABLE) < 0 or add_variant_child(v, node, False) < 0:
            return NO_MEMORY
        parent = v.n_nodes - 1
    while p < end:
        key = p
        p += 1 + <size_t>p[0]
        if AMQP_UNLIKELY(twice):
            if add_variant_child(v, parent, False) < 0:
                return NO_MEMORY
            node = v.n_nodes - 1
            before = buffer_size(&v.leaf)
            if (leaf_key(&v.leaf, key) < 0
                    or add_variant_size(v, node, buffer_size(&v.leaf) - before) < 0):
                return NO_MEMORY
        elif add_variant_key(v, key, 0) < 0:
            return NO_MEMORY
        if survey_value(v, &p, node) < 0:
            return NO_MEMORY
    return 0


cdef int survey(Variants* v, uint32_t n) noexcept nogil:
    survey_begin(v)
    return survey_pairs(v, v.root, n, 0)


cdef int variant_table(Variants* v, Buffer* value, Buffer* names, const uint8_t* p, uint32_t n,
                       uintptr_t mode) noexcept nogil:
    """A table as a Variant: as variant_write."""
    if n > MAX_TABLE:
        return COLUMN_FULL
    v.shapes = SHAPES[mode & MODE_LETTER]
    v.root = p
    v.careful = False
    if survey(v, n) < 0:
        return NO_MEMORY
    if AMQP_UNLIKELY(v.heights == 3):
        v.careful = True
        if survey(v, n) < 0:
            return NO_MEMORY
    return variant_write(v, value, names)
