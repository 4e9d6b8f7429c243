# Field tables to JSON, on the fast path: checked while they are written. See columns/fast.pxi.

cdef enum:
    FAST_DEPTH = 8


cdef inline bint fast_size(const uint8_t** at, const uint8_t* end, int64_t width, size_t* n) noexcept nogil:
    """Step over a length of 1 or 4 bytes: whether so many bytes follow."""
    cdef const uint8_t* p = at[0]
    if AMQP_UNLIKELY(end - p < width):
        return False
    n[0] = p[0] if width == 1 else load32(p)
    at[0] = p + width
    return <size_t>(end - at[0]) >= n[0]


cdef inline int fast_entry(JsonText* t, uint8_t tag, uint8_t** out, const uint8_t** at, const uint8_t* end,
                           const int8_t* shapes, int depth, size_t room) noexcept nogil:
    """The value that follows a tag; both move after it. The quote before a text is written already. room: bytes that
    there are for what follows, beside those that are left of the table. 0, FALLS_BACK or NO_MEMORY."""
    cdef const uint8_t* p = at[0]
    cdef uint8_t* w = out[0]
    cdef size_t n
    cdef int status
    if AMQP_LIKELY(tag == c'S'):
        if AMQP_UNLIKELY(not fast_size(&p, end, 4, &n)):
            return FALLS_BACK
        if AMQP_UNLIKELY(not copy_plain(w, p, n)) and not is_plain_utf8(p, n):
            return FALLS_BACK
        w[n] = c'"'
        w += n + 1
        p += n
    elif tag == c'I' and end - p >= 4:
        w = store_i64(w, <int32_t>load32(p))
        p += 4
    elif tag == c't' and end - p >= 1:
        w = fast_bool(w, p[0] != 0)
        p += 1
    else:
        buffer_commit(&t.out, w)
        p -= 1
        status = fast_value(t, &p, end, shapes, depth)
        if AMQP_UNLIKELY(status != 0):
            return status
        if buffer_ensure(&t.out, <size_t>(end - p) + room) < 0:
            return NO_MEMORY
        w = t.out.p
    at[0] = p
    out[0] = w
    return 0


cdef int fast_pairs(JsonText* t, const uint8_t* p, const uint8_t* end, const int8_t* shapes,
                    int depth) noexcept nogil:
    """A table, checked while it is written; 0, FALLS_BACK or NO_MEMORY."""
    cdef uint64_t marks[FAST_KEYS]
    cdef const uint8_t* keys[FAST_KEYS]
    cdef uint64_t seen = 0, mark, bit
    cdef uint8_t* w
    cdef size_t n
    cdef uint8_t tag
    cdef int count = 0, i, status
    # Text takes in JSON what it takes on the wire, a number little more.
    if buffer_ensure(&t.out, <size_t>(end - p) + FAST_KEYS * FAST_ENTRY) < 0:
        return NO_MEMORY
    w = t.out.p
    w[0] = c'{'
    w += 1
    while p < end:
        # the key
        n = p[0]
        if AMQP_UNLIKELY(<size_t>(end - p) < n + 2 or count == FAST_KEYS):
            return FALLS_BACK
        mark = key_mark(p)
        bit = <uint64_t>1 << ((mark * <uint64_t>0x9E3779B97F4A7C15) >> 58)
        if AMQP_UNLIKELY(seen & bit):
            for i in range(count):
                if marks[i] == mark and same_key(keys[i], p):
                    return FALLS_BACK
        seen |= bit
        marks[count] = mark
        keys[count] = p
        count += 1
        w[0] = c'"'
        if AMQP_UNLIKELY(not copy_plain(w + 1, p + 1, n)) and not is_plain_utf8(p + 1, n):
            return FALLS_BACK
        if AMQP_UNLIKELY(p[1] == c'$'):
            return FALLS_BACK
        w += n + 1
        w[0] = c'"'
        w[1] = c':'
        w += 2
        p += n + 1
        # the value
        tag = p[0]
        p += 1
        w[0] = c'"'             # of text
        w += tag == c'S'
        status = fast_entry(t, tag, &w, &p, end, shapes, depth, FAST_KEYS * FAST_ENTRY)
        if AMQP_UNLIKELY(status != 0):
            return status
        w[0] = c','
        w += 1
    if count:
        w -= 1              # no comma after the last
    w[0] = c'}'
    buffer_commit(&t.out, w + 1)
    return 0


cdef int fast_value(JsonText* t, const uint8_t** at, const uint8_t* end, const int8_t* shapes,
                    int depth) noexcept nogil:
    """A tag and its value; `at` moves after it. 0, FALLS_BACK or NO_MEMORY."""
    cdef const uint8_t* p = at[0] + 1
    cdef uint8_t tag = at[0][0]
    cdef int shape = shapes[tag]
    cdef size_t n
    if shape >= 0:
        n = <size_t>shape
    elif AMQP_UNLIKELY(shape == SHAPE_SHORT or shape == SHAPE_UNKNOWN or end - p < 4):
        return FALLS_BACK
    else:
        n = load32(p)
        p += 4
    if AMQP_UNLIKELY(<size_t>(end - p) < n):
        return FALLS_BACK
    if tag == c'F':
        at[0] = p + n
        return FALLS_BACK if depth == FAST_DEPTH else fast_pairs(t, p, p + n, shapes, depth + 1)
    if tag == c'A':
        at[0] = p + n
        return fast_items(t, p, p + n, shapes)
    return json_value(t, at, shapes)


cdef int fast_items(JsonText* t, const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """An array: checked, then written."""
    cdef Fault fault
    cdef Cursor c
    begin_cursor(&c, &fault, p, end, p, 0)
    while c.p < c.end:
        # from the depth that the fast path may have reached
        if check_value(&c, shapes, FAST_DEPTH + 2) < 0:
            return FALLS_BACK
    return json_items(t, p, <uint32_t>(end - p), shapes)


# ---- tables with the names and types of the ones before ----

cdef int template_pairs(JsonText* t, const TableTemplate* known, const uint8_t* p, const uint8_t* end,
                        const int8_t* shapes) noexcept nogil:
    """A table with the entries of a template, or the first ones of them; 0, FALLS_BACK or NO_MEMORY."""
    cdef const TemplateEntry* e = <const TemplateEntry*>known.entry
    cdef const TemplateEntry* last = e + known.n
    cdef size_t start
    cdef uint8_t* w
    cdef int status
    if buffer_ensure(&t.out, <size_t>(end - p) + TEMPLATE_ROOM) < 0:
        return NO_MEMORY
    w = t.out.p
    start = <size_t>(w - t.out.start)
    if AMQP_UNLIKELY(p == end):
        return FALLS_BACK
    while p < end:
        if AMQP_UNLIKELY(e == last or end - p < e.n or not template_here(e, p)):
            return FALLS_BACK
        copy_16(w, e.json)
        copy_16(w + 16, e.json + 16)
        w += e.json_n
        p += e.n
        status = fast_entry(t, e.tag, &w, &p, end, shapes, 1, TEMPLATE_ROOM)
        if AMQP_UNLIKELY(status != 0):
            return status
        e += 1
    t.out.start[start] = c'{'     # for the first comma
    w[0] = c'}'
    buffer_commit(&t.out, w + 1)
    return 0


cdef void template_learn(TableTemplate* known, const uint8_t* p, const uint8_t* end,
                         const int8_t* shapes) noexcept nogil:
    """A table that fast_pairs wrote was not like the template: now and then take another."""
    known.misses += 1
    if known.misses & (known.misses - 1):
        return              # but for 1, 2, 4, 8 ...
    known.n = 0
    while p < end and known.n < TEMPLATE_MOST and p[0] <= TEMPLATE_NAME:
        template_entry(&known.entry[known.n], p)
        known.n += 1
        p += 1 + <size_t>p[0]
        p += value_bytes(p, shapes)
    if p < end:
        known.n = 0          # nothing is like it as a whole
