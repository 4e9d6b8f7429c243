# Field tables, structure: every length, tag and depth is checked once, before anything is built.


cdef int tags_ready() except -1:
    """Fill SHAPES from the lines of tables/tags.h."""
    cdef int dialect, i
    for dialect in range(2):
        memset(SHAPES[dialect], SHAPE_UNKNOWN, 256)
        SHAPES[dialect][TAG_TABLE] = SHAPE_TABLE
        SHAPES[dialect][TAG_ARRAY] = SHAPE_ARRAY
        for i in range(TAG_LINES):
            if TAGS[i].dialects >> dialect & 1:
                if SHAPES[dialect][TAGS[i].tag] != SHAPE_UNKNOWN:
                    raise ImportError(f"tables/tags.h: tag {chr(TAGS[i].tag)!r} has two lines of one dialect")
                SHAPES[dialect][TAGS[i].tag] = FORMS[TAGS[i].form].shape
                SHAPES[dialect][256 + TAGS[i].tag] = <int8_t>TAGS[i].form
    return 0

tags_ready()

cdef enum:
    TRIAL_BYTES = 256       # space for a form that stores or reads more than its shape says


cdef int stored_bytes(Form form) noexcept nogil:
    """How many bytes store_FORM writes from its place on, which may be more than its shape says; -1 if not one after
    the other: those that are the same over zeros and over ones."""
    cdef uint8_t[TRIAL_BYTES] zeros, ones
    cdef Scalar v
    cdef int i, n = 0, last = 0
    memset(&v, 0x41, sizeof(v))
    memset(zeros, 0, TRIAL_BYTES)
    memset(ones, 0xFF, TRIAL_BYTES)
    form_store(form, zeros, &v)
    form_store(form, ones, &v)
    for i in range(TRIAL_BYTES):
        if zeros[i] == ones[i]:
            n += 1
            last = i + 1
    return n if n == last else -1


cdef int used_bytes(Form form) noexcept nogil:
    """How many bytes read_FORM reads, up to the last one that changes the value."""
    cdef uint8_t[TRIAL_BYTES] data
    cdef Scalar before, after
    cdef int i, n = 0
    memset(data, 0, TRIAL_BYTES)
    memset(&before, 0, sizeof(before))
    memset(&after, 0, sizeof(after))
    form_read(form, data, &before)
    for i in range(TRIAL_BYTES):
        data[i] = 0xFF
        form_read(form, data, &after)
        if after.u != before.u or after.n != before.n:
            n = i + 1
        data[i] = 0
    return n


def table_forms():
    """For tests: (tag, number of its form, shape) of each line of tables/tags.h."""
    return tuple([(chr(TAGS[i].tag), TAGS[i].form, FORMS[TAGS[i].form].shape) for i in range(TAG_LINES)])


def check_forms(tuple lines):
    """Refuse forms whose functions take other bytes than their shape says. The module does so when it is loaded.

    lines: as table_forms() has them. Raises ImportError."""
    cdef int form, shape
    for tag, form, shape in lines:
        if form >= NUMBER_FORMS:
            if shape != SHAPE_LONG and shape != SHAPE_SHORT:
                raise ImportError(f"tables/tags.h: tag {tag!r}: a form of TABLE_TEXTS is SHAPE_LONG or SHAPE_SHORT")
        elif shape < 0:
            raise ImportError(f"tables/tags.h: tag {tag!r}: the shape of a form of TABLE_NUMBERS is its width")
        elif stored_bytes(<Form>form) != shape:
            raise ImportError(f"tables/tags.h: tag {tag!r}: its form stores {stored_bytes(<Form>form)} bytes, "
                              f"its shape says {shape}")
        elif used_bytes(<Form>form) > shape:
            raise ImportError(f"tables/tags.h: tag {tag!r}: its form reads {used_bytes(<Form>form)} bytes, "
                              f"its shape says {shape}")

check_forms(table_forms())


cdef const char* table_value_name(uint8_t tag) noexcept nogil:
    """What an error calls a value of this tag. (The shapes at hand may be those of a drop-in, which have no forms.)"""
    cdef const int8_t* shapes = SHAPES[0]
    cdef int shape = shapes[tag]
    if shape == SHAPE_TABLE:
        return b"nested field table"
    if shape == SHAPE_ARRAY:
        return b"field table array"
    return FORMS[form_of(shapes, tag)].name


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
        if check_items(c, shapes, depth + 1) < 0:
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
