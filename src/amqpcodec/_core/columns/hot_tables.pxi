# Field tables to JSON, on the fast path: checked while they are written. See columns/hot.pxi.

cdef enum:
    HOT_DEPTH = 8


cdef int hot_pairs(Text* t, const uint8_t* p, const uint8_t* end, const int8_t* shapes,
                   int depth) noexcept nogil:
    """A table, checked while it is written; 0, FALLS_BACK or NO_MEMORY."""
    cdef uint64_t marks[HOT_KEYS]
    cdef const uint8_t* keys[HOT_KEYS]
    cdef uint64_t seen = 0, mark, bit
    cdef const uint8_t* after
    cdef uint8_t* w
    cdef size_t n
    cdef uint8_t tag
    cdef int count = 0, i, shape, status
    # Text takes in JSON what it takes on the wire, a number little more.
    if text_room(t, <size_t>(end - p) + HOT_KEYS * HOT_ENTRY) < 0:
        return NO_MEMORY
    w = t.w
    w[0] = c'{'
    w += 1
    while p < end:
        # the key
        n = p[0]
        if AMQP_UNLIKELY(<size_t>(end - p) < n + 2 or count == HOT_KEYS):
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
        if tag == c'S':
            if AMQP_UNLIKELY(end - p < 4):
                return FALLS_BACK
            n = load32(p)
            p += 4
            if AMQP_UNLIKELY(<size_t>(end - p) < n):
                return FALLS_BACK
            w[0] = c'"'
            if AMQP_UNLIKELY(not copy_plain(w + 1, p, n)) and not is_plain_utf8(p, n):
                return FALLS_BACK
            w[n + 1] = c'"'
            w += n + 2
            p += n
        else:
            shape = shapes[tag]
            if shape >= 0:
                if AMQP_UNLIKELY(end - p < shape):
                    return FALLS_BACK
                after = p + shape
            elif AMQP_UNLIKELY(shape == SHAPE_SHORT or shape == SHAPE_UNKNOWN or end - p < 4):
                return FALLS_BACK
            else:
                n = load32(p)
                p += 4
                if AMQP_UNLIKELY(<size_t>(end - p) < n):
                    return FALLS_BACK
                after = p + n
            if tag == c'I':
                w = put_i64(w, <int32_t>load32(p))
            elif tag == c't':
                w = hot_bool(w, p[0] != 0)
            else:
                t.w = w
                if tag == c'F':
                    if depth == HOT_DEPTH:
                        return FALLS_BACK
                    status = hot_pairs(t, p, after, shapes, depth + 1)
                elif tag == c'A':
                    status = hot_items(t, p, after, shapes)
                else:
                    p -= 1 if shape >= 0 else 5
                    status = json_value(t, &p, shapes)
                if status != 0:
                    return status
                if text_room(t, <size_t>(end - after) + HOT_KEYS * HOT_ENTRY) < 0:
                    return NO_MEMORY
                w = t.w
            p = after
        w[0] = c','
        w += 1
    if count:
        w -= 1              # no comma after the last
    w[0] = c'}'
    t.w = w + 1
    return 0


cdef int hot_items(Text* t, const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """An array: checked, then written."""
    cdef Fault fault
    cdef Cursor c
    fault.code = OK
    c.p = c.base = p
    c.end = end
    c.base_at = 0
    c.fault = &fault
    while c.p < c.end:
        # from the depth that the fast path may have reached
        if check_value(&c, shapes, HOT_DEPTH + 2) < 0:
            return FALLS_BACK
    return json_items(t, p, <uint32_t>(end - p), shapes)
