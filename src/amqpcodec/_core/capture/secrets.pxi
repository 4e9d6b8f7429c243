# Credentials in the frames of captures: overwritten where they lie, so that no column shows them.

cdef inline bint is_secret(uint32_t method) noexcept nogil:
    """connection.start-ok, secure, secure-ok and update-secret, the same numbers in all versions."""
    return (method == CONNECTION_START_OK or method == CONNECTION_SECURE or method == CONNECTION_SECURE_OK
            or method == CONNECTION_UPDATE_SECRET)


cdef inline bint has_secret(const uint8_t* p, size_t n) noexcept nogil:
    """Whether a frame of 0-x, or as much of it as there is, may be one of these: also with another type, but for
    bodies, whose first bytes are the user's."""
    return n >= 11 and is_secret(load32(p + 7)) and (p[0] != FRAME_BODY or load16(p + 1) == 0)


cdef void hide(uint8_t* p, size_t n) noexcept nogil:
    if n:
        memset(p, c'*', n)


cdef bint has_text(const uint8_t* p, size_t n, const char* text, size_t text_n) noexcept nogil:
    """Whether a text, in small letters, stands in n bytes, in letters of either size."""
    cdef size_t i, k
    if n < text_n:
        return False
    for i in range(n - text_n + 1):
        k = 0
        while k < text_n and (p[i + k] | 0x20 if c'A' <= p[i + k] <= c'Z' else p[i + k]) == <uint8_t>text[k]:
            k += 1
        if k == text_n:
            return True
    return False


cdef bint is_secret_name(const uint8_t* p, size_t n) noexcept nogil:
    return (has_text(p, n, b"password", 8) or has_text(p, n, b"passwd", 6) or has_text(p, n, b"secret", 6)
            or has_text(p, n, b"token", 5) or has_text(p, n, b"credential", 10)
            or has_text(p, n, b"authorization", 13) or has_text(p, n, b"pwd", 3)
            or has_text(p, n, b"api_key", 7) or has_text(p, n, b"api-key", 7) or has_text(p, n, b"apikey", 6))


cdef size_t hide_value(uint8_t* p, size_t n, bint secret, int depth) noexcept nogil:
    """Overwrite what is secret of the tag and value at p: all of it, or what tables in it name so; how many of the
    n bytes, at least one, it takes. One that cannot be read is hidden with all that follows it."""
    cdef int shape = SHAPES[0][p[0]]    # RabbitMQ's dialect, in which captures are read
    cdef size_t head = 0, size = 0
    if not find_content(p, n, SHAPES[0], &head, &size):
        hide(p + head, n - head)
        return n
    if shape >= 0:
        if secret:
            memset(p + head, 0, size)
    elif shape == SHAPE_LONG or shape == SHAPE_SHORT:
        if secret:
            hide(p + head, size)
    elif depth >= DEPTH_LIMIT:
        hide(p + head, size)
    else:
        hide_values(p + head, size, shape == SHAPE_TABLE, secret, depth + 1)
    return head + size


cdef void hide_values(uint8_t* p, size_t n, bint named, bint secret, int depth) noexcept nogil:
    """The same of a field table's pairs, or of a field array's items. secret: names, too."""
    cdef size_t at = 0, name_n
    cdef bint hidden
    while at < n:
        hidden = secret
        if named:
            name_n = p[at]
            if name_n + 1 >= n - at:
                hide(p + at + 1, n - at - 1)
                return
            hidden = secret or is_secret_name(p + at + 1, name_n)
            if secret:
                hide(p + at + 1, name_n)
            at += 1 + name_n
        at += hide_value(p + at, n - at, hidden, depth)


cdef void hide_secret(uint8_t* p, size_t n) noexcept nogil:
    """Overwrite the credentials in a frame of a method that has some, or in as much of it as there is, at
    least 11 bytes; all arguments where they do not end with the frame, since a length is wrong then."""
    cdef size_t at = 11, size
    cdef uint32_t method = load32(p + 7)
    cdef bint complete = <uint64_t>load32(p + 3) + 8 == n and n > at
    if complete:
        n -= 1      # its end byte stays
    if method == CONNECTION_START_OK:
        # client-properties, mechanism; then the response
        if n - at < 4 or load32(p + at) > n - at - 4:
            hide(p + at, n - at)
            return
        hide_values(p + at + 4, load32(p + at), True, False, 1)
        at += 4 + <size_t>load32(p + at)
        if n - at < 1 or p[at] > n - at - 1:
            hide(p + at, n - at)
            return
        at += 1 + <size_t>p[at]
    if n - at < 4:
        hide(p + at, n - at)
        return
    size = load32(p + at)
    at += 4
    hide(p + at, min(size, n - at))
    if size > n - at:
        return
    at += size
    if method == CONNECTION_START_OK or method == CONNECTION_UPDATE_SECRET:
        # the locale, or the reason
        size = 1 + <size_t>p[at] if at < n else <size_t>complete
        if size == n - at or (not complete and size > n - at):
            return
    elif at == n:
        return
    hide(p + 11, n - 11)


cdef void v1_hide(const V1Types* types, uint8_t* p, size_t n, bint framed) noexcept nogil:
    """Overwrite the credentials in a frame, or in as much of it as there is: what either side
    says from sasl-init to sasl-outcome. Where that is not known, all that might be part of them.

    framed: a frame begins at p."""
    cdef Fault fault
    cdef Cursor c
    cdef V1Value v
    cdef V1Value[V1_MAX_FIELDS] v_all
    cdef V1Check check
    cdef const V1Desc* d
    cdef const uint8_t* from_
    cdef size_t skip, known
    cdef uint32_t i
    if n < 8 or p[0] == c'A':
        return
    skip = 4 * <size_t>p[4]
    if (framed and p[5] > V1_FRAME_SASL) or (p[5] == V1_FRAME_SASL and (skip < 8 or skip >= n)):
        hide(p + 8, n - 8)
        return
    if p[5] > V1_FRAME_SASL or skip < 8 or skip >= n:
        return
    begin_cursor(&c, &fault, p + skip, p + n, p, 0)
    d = v1_find_descriptor(types, &c, V1_FRAME_SASL)
    if d == NULL and p[5] == V1_FRAME_AMQP:
        return
    hide(p + 8, skip - 8)
    if d == NULL:
        hide(p + skip + 1, n - skip - 1)
        return
    if not DESC_SASL_INIT <= d.code <= DESC_SASL_OUTCOME:
        # mechanisms, or what was damaged to look like them
        v1_verify_begin(&check, types)
        if v1_verify_fields(d, &c, &check, 1, v_all, ALL_FIELDS) < 0 or c.p != c.end:
            hide(p + skip + 3, n - skip - 3)
        return
    # The list, of which there may be a part only: so it is not read as a whole.
    known = 0
    if c.p < c.end:
        known = 1 if c.p[0] == CTOR_LIST0 else 3 if c.p[0] == CTOR_LIST8 else 9 if c.p[0] == CTOR_LIST32 else 0
    if not known or <size_t>(c.end - c.p) < known:
        hide(<uint8_t*>c.p, <size_t>(c.end - c.p))
        return
    c.p += known
    for i in range(<uint32_t>d.n):
        if c.p == c.end:
            return
        from_ = c.p
        if v1_read(&c, &v) < 0 or v.wire_type >= V1_LIST:
            hide(<uint8_t*>from_, <size_t>(p + n - from_))
            return
        if d.op[i].secret:
            hide(<uint8_t*>v.p if v1_is_variable(v.wire_type) else <uint8_t*>from_ + 1,
                 v.n if v1_is_variable(v.wire_type) else <size_t>(c.p - from_) - 1)
    hide(<uint8_t*>c.p, <size_t>(c.end - c.p))      # what is more than there may be
