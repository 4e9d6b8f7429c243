# Field tables, structure: every length, tag and depth is checked once, before anything is built.


cdef void shape_tags(int8_t* shapes, const char* tags, int8_t shape) noexcept:
    cdef size_t i
    for i in range(strlen(tags)):
        shapes[<uint8_t>tags[i]] = shape


cdef void shapes_ready() noexcept:
    """RabbitMQ's column of the errata, and the letter of 0-9-1 §4.2.1 (`x` read in both)."""
    cdef int dialect
    cdef int8_t* shapes
    for dialect in range(2):
        shapes = SHAPES[dialect]
        memset(shapes, SHAPE_UNKNOWN, 256)
        shape_tags(shapes, b"V", 0)
        shape_tags(shapes, b"tbB", 1)
        shape_tags(shapes, b"Uu", 2)
        shape_tags(shapes, b"Iif", 4)
        shape_tags(shapes, b"D", 5)
        shape_tags(shapes, b"lLdT", 8)
        shape_tags(shapes, b"Sx", SHAPE_LONG)
        shape_tags(shapes, b"F", SHAPE_TABLE)
        shape_tags(shapes, b"A", SHAPE_ARRAY)
        shape_tags(shapes, b"s", SHAPE_SHORT if dialect else 2)

shapes_ready()


cdef const char* table_value_name(uint8_t tag) noexcept nogil:
    """What an error calls a value of this tag."""
    if tag == c'S':
        return b"field table longstr"
    if tag == c'x':
        return b"field table byte array"
    if tag == c'F':
        return b"nested field table"
    if tag == c'A':
        return b"field table array"
    if tag == c'T':
        return b"field table timestamp"
    if tag == c'D':
        return b"field table decimal"
    return b"field table value"


cdef int check_value(Cursor* c, const int8_t* shapes, int depth) noexcept nogil:
    """Step over one tag and its value."""
    cdef uint8_t tag
    cdef int shape
    cdef uint32_t n
    cdef const uint8_t* end
    if short_of(c, 1, b"field table tag"):
        return -1
    tag = c.p[0]
    shape = shapes[tag]
    if shape >= 0:
        c.p += 1
        if short_of(c, <size_t>shape, table_value_name(tag)):
            return -1
        c.p += shape
        return 0
    if shape == SHAPE_UNKNOWN:
        return fail(c, BAD_TAG, NULL, 0, tag)
    c.p += 1
    if shape == SHAPE_SHORT:
        if short_of(c, 1, b"field table shortstr"):
            return -1
        n = c.p[0]
        c.p += 1
        if short_of(c, n, b"field table shortstr"):
            return -1
        c.p += n
        return 0
    if short_of(c, 4, table_value_name(tag)):
        return -1
    n = load32(c.p)
    c.p += 4
    if short_of(c, n, table_value_name(tag)):
        return -1
    if shape == SHAPE_LONG:
        c.p += n
        return 0
    if depth >= DEPTH_LIMIT:
        return fail(c, BAD_DEPTH, NULL, 0, tag)
    end = c.end
    c.end = c.p + n
    if shape == SHAPE_TABLE:
        if check_pairs(c, shapes, depth + 1) < 0:
            return -1
    else:
        while c.p < c.end:
            if check_value(c, shapes, depth + 1) < 0:
                return -1
    c.end = end
    return 0


cdef int check_pairs(Cursor* c, const int8_t* shapes, int depth) noexcept nogil:
    """Step over names and values to the end of the cursor, which is the end of a table."""
    cdef size_t n, left, size
    cdef int shape
    while c.p < c.end:
        left = <size_t>(c.end - c.p)
        n = c.p[0]
        # Few tests for the most frequent pair: name, tag, scalar or text.
        if AMQP_LIKELY(left > n + 2):
            shape = shapes[c.p[n + 1]]
            if shape >= 0 and left >= n + 2 + <size_t>shape:
                c.p += n + 2 + <size_t>shape
                continue
            if shape == SHAPE_LONG and left >= n + 6:
                size = load32(c.p + n + 2)
                if left - n - 6 >= size:
                    c.p += n + 6 + size
                    continue
        c.p += 1
        if short_of(c, n, b"field table name"):
            return -1
        c.p += n
        if check_value(c, shapes, depth) < 0:
            return -1
    return 0
