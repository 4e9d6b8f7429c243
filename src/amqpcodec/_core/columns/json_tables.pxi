# Field tables as JSON text. Only tables that check_table has passed come here.

cdef int json_value(JsonText* t, const uint8_t** at, const int8_t* shapes) noexcept nogil:
    """One tag and its value; `at` moves after it."""
    cdef const uint8_t* p = at[0] + 1
    cdef int shape = shapes[at[0][0]]
    cdef Form form = form_of(shapes, at[0][0])
    cdef Scalar v
    at[0] += value_bytes(at[0], shapes)
    if shape == SHAPE_TABLE:
        return json_pairs(t, p + 4, load32(p), shapes)
    if shape == SHAPE_ARRAY:
        return json_items(t, p + 4, load32(p), shapes)
    form_read(form, p, &v)
    return json_scalar(t, &v)


cdef int json_items(JsonText* t, const uint8_t* p, uint32_t n, const int8_t* shapes) noexcept nogil:
    """A field array."""
    cdef const uint8_t* end = p + n
    cdef int status
    if json_literal(t, b"[", 1) < 0:
        return NO_MEMORY
    while p < end:
        status = json_value(t, &p, shapes)
        if status < 0:
            return status
        if p < end and json_literal(t, b",", 1) < 0:
            return NO_MEMORY
    return json_literal(t, b"]", 1)


cdef int json_pair_list(JsonText* t, const uint8_t* p, const uint8_t* end,
                        const int8_t* shapes) noexcept nogil:
    """The pairs of a field table as a list of lists."""
    cdef size_t key
    if json_literal(t, b"[", 1) < 0:
        return NO_MEMORY
    while p < end:
        key = p[0]
        if json_literal(t, b"[", 1) < 0 or json_key(t, p + 1, key) < 0 or json_literal(t, b",", 1) < 0:
            return NO_MEMORY
        p += 1 + key
        if json_value(t, &p, shapes) < 0 or json_literal(t, b"],", 1 + (p < end)) < 0:
            return NO_MEMORY
    return json_literal(t, b"]", 1)


cdef int json_pairs(JsonText* t, const uint8_t* p, uint32_t n, const int8_t* shapes) noexcept nogil:
    """A field table: an object, or {"$table": [...]} where a key comes twice."""
    cdef const uint8_t* end = p + n
    cdef size_t key
    cdef int status = has_twice(p, end, shapes)
    if AMQP_UNLIKELY(status != 0):
        if status < 0 or json_literal(t, b'{"$table":', 10) < 0 or json_pair_list(t, p, end, shapes) < 0:
            return NO_MEMORY
        return json_literal(t, b"}", 1)
    if json_literal(t, b"{", 1) < 0:
        return NO_MEMORY
    while p < end:
        key = p[0]
        if json_key(t, p + 1, key) < 0 or json_literal(t, b":", 1) < 0:
            return NO_MEMORY
        p += 1 + key
        if json_value(t, &p, shapes) < 0 or (p < end and json_literal(t, b",", 1) < 0):
            return NO_MEMORY
    return json_literal(t, b"}", 1)


cdef inline int json_table(JsonText* t, const uint8_t* p, uint32_t n, uintptr_t mode) noexcept nogil:
    if n == 0:
        return json_literal(t, b"{}", 2)
    return json_pairs(t, p, n, SHAPES[mode & MODE_LETTER])


cdef int put_table_json(Buffer* out, const uint8_t* p, uint32_t n, uintptr_t mode) noexcept nogil:
    """The same at the end of a buffer, for other modules."""
    cdef JsonText t
    cdef int status
    t.out = out[0]
    t.input_end = p + n
    status = json_table(&t, p, n, mode)
    out[0] = t.out
    return status


# ---- keys that come twice ----

cdef int has_twice(const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """Whether a key comes twice in the pairs from p to end (1), or not (0); or NO_MEMORY."""
    cdef uint64_t marks[KEYS_ON_STACK]
    cdef const uint8_t* keys[KEYS_ON_STACK]
    cdef uint64_t seen[4]
    cdef uint64_t mark, bit
    cdef int n = 0, i
    cdef uint32_t h
    cdef const uint8_t* start = p
    memset(seen, 0, sizeof(seen))
    while p < end:
        if n == KEYS_ON_STACK:
            return has_twice_sorted(start, end, shapes)
        mark = key_mark(p)
        h = <uint32_t>((mark * <uint64_t>0x9E3779B97F4A7C15) >> 56)
        bit = <uint64_t>1 << (h & 63)
        if AMQP_UNLIKELY(seen[h >> 6] & bit):
            for i in range(n):
                if marks[i] == mark and same_key(keys[i], p):
                    return 1
        seen[h >> 6] |= bit
        marks[n] = mark
        keys[n] = p
        n += 1
        p += 1 + <size_t>p[0]
        p += value_bytes(p, shapes)
    return 0


cdef inline int key_order(const uint8_t* a, const uint8_t* b) noexcept nogil:
    if a[0] != b[0]:
        return -1 if a[0] < b[0] else 1
    return memcmp(a + 1, b + 1, a[0])


cdef int has_twice_sorted(const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """The same for many keys."""
    cdef const uint8_t** keys
    cdef const uint8_t* q = p
    cdef size_t n = 0, i
    cdef int found
    while q < end:
        n += 1
        q += 1 + <size_t>q[0]
        q += value_bytes(q, shapes)
    keys = <const uint8_t**>malloc(n * sizeof(uint8_t*))
    if keys == NULL:
        return NO_MEMORY
    for i in range(n):
        keys[i] = p
        p += 1 + <size_t>p[0]
        p += value_bytes(p, shapes)
    found = any_twice(keys, n, key_order)
    free(keys)
    return found
