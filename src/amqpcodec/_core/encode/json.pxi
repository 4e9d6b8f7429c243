# JSON text, as columns/json.pxi writes it, to the bytes of field tables, without the GIL.
#
# A key that comes twice, a number that no tag can hold, and an object with a key `$...` that is none of
# the forms is refused.

# ---- values of tables ----

cdef int put_whole(Buffer* b, Json* j, const JsonNumber* number) noexcept nogil:
    """An integer: I where it fits 32 bits, else the dialect's 64 bits."""
    cdef uint64_t v = 0 - number.n if number.negative else number.n
    if not number.large:
        if number.n <= MAX_I32 or (number.negative and number.n - 1 <= MAX_I32):
            return buffer_put_int(b, c'I', v, 4)
        if j.mode & MODE_OLD:
            return refuse_int(j.refusal, j.mode)
        if number.n <= HIGHEST_INT64 or (number.negative and number.n - 1 <= HIGHEST_INT64):
            return buffer_put_int(b, c'L' if j.mode & MODE_LETTER else c'l', v, 8)
        if j.mode & MODE_LETTER and not number.negative:
            return buffer_put_int(b, c'l', v, 8)
    return refuse_int(j.refusal, j.mode)


cdef int refuse_int(Refusal* r, uintptr_t mode) noexcept nogil:
    if mode & MODE_OLD:
        return refuse(r, b"an int in a table of 0-8 or 0-9 must fit 32 bits, signed", NULL, 0)
    if mode & MODE_LETTER:
        return refuse(r, b"an int in a table must fit 64 bits, -2**63 to 2**64-1", NULL, 0)
    return refuse(r, b"an int in a table must fit 64 bits, signed", NULL, 0)


cdef int refuse_depth(Refusal* r) noexcept nogil:
    return refuse(r, b"tables nested deeper than %llu levels", NULL, <uint64_t>DEPTH_LIMIT)


cdef int put_scaled(Buffer* b, uint8_t scale, uint32_t unscaled) noexcept nogil:
    """A decimal."""
    if buffer_ensure(b, 6) < 0:
        return NO_MEMORY
    b.p[0] = c'D'
    b.p[1] = scale
    store32(b.p + 2, unscaled)
    buffer_commit(b, b.p + 6)
    return 0


cdef int close_length(Buffer* b, size_t at, Refusal* r, const char* what) noexcept nogil:
    """Write the length of what stands after the four bytes at `at`."""
    cdef uint64_t n = buffer_size(b) - at - 4
    if n > MAX_U32:
        return refuse(r, b"%s takes at most 4294967295 bytes, not %llu", what, n)
    store32(b.start + at, <uint32_t>n)
    return 0


cdef int check_tag(uint8_t tag, uintptr_t mode, Refusal* r) noexcept nogil:
    """Refuse what the tables of 0-8 and 0-9 have no type for."""
    if tag == c'S' or tag == c'I' or tag == c'D' or tag == c'T' or tag == c'F':
        return 0
    if mode & MODE_0_8:
        return refuse(r, b"tables of 0-8 hold S I D T F only", NULL, 0)
    if tag == c'V':
        return 0
    return refuse(r, b"tables of 0-9 hold S I D T F V only", NULL, 0)


cdef int json_parse_value(Buffer* b, Json* j, int depth) noexcept nogil:
    """Any value: its tag and bytes. depth: of the table or array around it."""
    cdef size_t at = buffer_size(b)
    cdef int status = json_parse_any(b, j, depth)
    if AMQP_UNLIKELY(status == 0 and j.mode & MODE_OLD):
        return check_tag(b.start[at], j.mode, j.refusal)
    return status


cdef int json_parse_any(Buffer* b, Json* j, int depth) noexcept nogil:
    cdef JsonNumber number
    cdef size_t at
    cdef int status
    cdef uint8_t c
    if j.p == j.end:
        return json_expected(j, b"a value")
    c = j.p[0]
    if c == c'"':
        at = buffer_size(b)
        status = buffer_put_int(b, c'S', 0, 4)      # the length is written last
        if status == 0:
            status = json_parse_text(b, j)
        return close_length(b, at + 1, j.refusal, b"a table value") if status == 0 else status
    if c == c'{':
        return json_parse_object(b, j, depth)
    if c == c'[':
        if depth >= DEPTH_LIMIT:
            return refuse_depth(j.refusal)
        at = buffer_size(b)
        status = buffer_put_int(b, c'A', 0, 4)
        if status == 0:
            status = json_parse_items(b, j, depth + 1)
        return close_length(b, at + 1, j.refusal, b"a table") if status == 0 else status
    if c == c't' and j.end - j.p >= 4 and memcmp(j.p, <const char*>b"true", 4) == 0:
        j.p += 4
        return buffer_put_int(b, c't', 1, 1)
    if c == c'f' and j.end - j.p >= 5 and memcmp(j.p, <const char*>b"false", 5) == 0:
        j.p += 5
        return buffer_put_int(b, c't', 0, 1)
    if c == c'n' and j.end - j.p >= 4 and memcmp(j.p, <const char*>b"null", 4) == 0:
        j.p += 4
        return buffer_put_byte(b, c'V')
    status = json_parse_number(j, &number)
    if status != 0:
        return status
    if number.whole:
        return put_whole(b, j, &number)
    return buffer_put_int(b, c'd', double_to_bits(number.d), 8)


cdef int json_parse_items(Buffer* b, Json* j, int depth) noexcept nogil:
    """[...]: the items of an array."""
    cdef int status
    j.p += 1
    json_skip(j)
    if json_at(j, c']'):
        j.p += 1
        return 0
    while True:
        status = json_parse_value(b, j, depth)
        if status != 0:
            return status
        json_skip(j)
        if json_at(j, c']'):
            j.p += 1
            return 0
        status = json_require(j, c',', b"a comma or the end of an array")
        if status != 0:
            return status


cdef int json_parse_key(Buffer* b, Json* j, bint* form) noexcept nogil:
    """A key: its length and bytes. form: it starts with one `$` and is no key."""
    cdef size_t at
    cdef int64_t n
    cdef uint8_t* p
    cdef int status
    at = buffer_size(b)
    status = buffer_leave(b, 1)
    if status == 0:
        status = json_parse_text(b, j)
    if status != 0:
        return status
    p = b.start + at + 1
    n = b.p - p
    form[0] = False
    if AMQP_UNLIKELY(n and p[0] == c'$'):
        if n > 1 and p[1] == c'$':
            n -= 1
            memmove(p, p + 1, <size_t>n)
        elif n >= 5 and memcmp(p, <const char*>b"$key:", 5) == 0:
            n = parse_base64(p, p + 5, <size_t>(n - 5))
            if n < 0:
                return json_expected(j, b"base64 in a key $key:... before it")
        else:
            form[0] = True
    if AMQP_UNLIKELY(n > 255):
        return refuse(j.refusal, b"a table name takes at most 255 bytes, not %llu", NULL, <uint64_t>n)
    b.start[at] = <uint8_t>n
    buffer_truncate(b, at + 1 + n)
    return 0


cdef int json_parse_object(Buffer* b, Json* j, int depth) noexcept nogil:
    """{...} as a value: a table, or one of the forms that start with `$`."""
    cdef size_t at = buffer_size(b)
    cdef bint form = False
    cdef int status
    if depth >= DEPTH_LIMIT:
        if json_looks_nested(j):
            return refuse_depth(j.refusal)
    status = buffer_put_int(b, c'F', 0, 4)
    if status == 0:
        status = json_parse_pairs(b, j, depth + 1, at, &form)
    if status != 0 or form:
        return status
    return close_length(b, at + 1, j.refusal, b"a table")


cdef bint json_looks_nested(const Json* j) noexcept nogil:
    """At the deepest level: whether this object is a table rather than a form of a single value."""
    cdef Json k = j[0]
    k.p += 1
    json_skip(&k)
    if k.end - k.p < 3 or k.p[0] != c'"' or k.p[1] != c'$' or k.p[2] == c'$':
        # (an escaped dollar sign at this depth is taken for a table)
        return True
    return ((k.end - k.p >= 6 and memcmp(k.p, <const char*>b'"$key:', 6) == 0)
            or (k.end - k.p >= 8 and memcmp(k.p, <const char*>b'"$table"', 8) == 0))


cdef int json_parse_pairs(Buffer* b, Json* j, int depth, size_t at, bint* form) noexcept nogil:
    """{...}: names and values. at: of the tag, where a form other than $table may stand in place of
    the table (then `form` is set and it has been written there); 0 with depth 1 for the whole text."""
    cdef size_t start = buffer_size(b), key
    cdef bint has_form = False
    cdef int status = json_require(j, c'{', b"an object")
    cdef int n = 0
    if status != 0:
        return status
    if json_at(j, c'}'):
        j.p += 1
        return 0
    while True:
        key = buffer_size(b)
        status = json_parse_key(b, j, &has_form)
        if status == 0:
            status = json_require(j, c':', b"a colon")
        if status != 0:
            return status
        if AMQP_UNLIKELY(has_form):
            if n:
                return json_refuse(j, b"JSON: a key with one $ beside others (before byte %llu)")
            status = json_parse_form(b, j, key, at, depth, form)
            if status != 0:
                return status
            json_skip(j)
            if not json_at(j, c'}'):
                return json_expected(j, b"the end of an object whose key starts with $")
            j.p += 1
            return 0
        status = json_parse_value(b, j, depth)
        if status != 0:
            return status
        n += 1
        json_skip(j)
        if json_at(j, c'}'):
            j.p += 1
            break
        status = json_require(j, c',', b"a comma or the end of an object")
        if status != 0:
            return status
    if n > 1:
        status = has_twice(b.start + start, b.p, SHAPES[j.mode & MODE_LETTER])
        if status > 0:
            return json_refuse(j, b'JSON: an object has a key twice (before byte %llu); '
                               b'{"$table": [[key, value], ...]} may')
    return status


cdef bint form_is(const uint8_t* key, const char* name) noexcept nogil:
    return key[0] == strlen(name) and memcmp(key + 1, name, key[0]) == 0


cdef int json_parse_form(Buffer* b, Json* j, size_t key, size_t at, int depth, bint* form) noexcept nogil:
    """The value of a key that starts with `$`, which stands at `key`."""
    cdef JsonNumber number
    cdef const uint8_t* k = b.start + key
    cdef uint8_t* p
    cdef int64_t n
    cdef int status
    cdef bint whole = at == 0 and depth == 1
    if form_is(k, b"$table"):
        buffer_truncate(b, key)
        return json_parse_listed(b, j, depth)
    if whole:
        return json_refuse(j, b"JSON: the object has a key with one $ other than $table (before byte %llu)")
    form[0] = True
    buffer_truncate(b, at + 1)        # the tag comes below
    if form_is(k, b"$binary"):
        buffer_truncate(b, at + 5)
        status = json_parse_text(b, j)
        if status != 0:
            return status
        p = b.start + at + 5
        n = parse_base64(p, p, <size_t>(b.p - p))
        if n < 0:
            return json_expected(j, b"base64 before it")
        buffer_truncate(b, at + 5 + <size_t>n)
        b.start[at] = c'S' if j.mode & MODE_NO_X else c'x'
        return close_length(b, at + 1, j.refusal, b"a table value")
    if form_is(k, b"$timestamp"):
        status = json_parse_number(j, &number)
        if status != 0:
            return status
        if not number.whole or number.large or (number.negative and number.n != 0):
            return refuse(j.refusal, b"a timestamp must be from 1970 on and fit 64 bits, unsigned",
                          NULL, 0)
        buffer_truncate(b, at)
        return buffer_put_int(b, c'T', number.n, 8)
    if form_is(k, b"$decimal"):
        return json_parse_decimal(b, j, at)
    if form_is(k, b"$double"):
        status = json_parse_text(b, j)
        if status != 0:
            return status
        p = b.start + at + 1
        n = b.p - p
        if n == 3 and memcmp(p, <const char*>b"NaN", 3) == 0:
            number.d = bits_to_double(<uint64_t>0x7FF8 << 48)
        elif n == 8 and memcmp(p, <const char*>b"Infinity", 8) == 0:
            number.d = bits_to_double(<uint64_t>0x7FF0 << 48)
        elif n == 9 and memcmp(p, <const char*>b"-Infinity", 9) == 0:
            number.d = bits_to_double(<uint64_t>0xFFF0 << 48)
        else:
            return json_expected(j, b"NaN, Infinity or -Infinity before it")
        buffer_truncate(b, at)
        return buffer_put_int(b, c'd', double_to_bits(number.d), 8)
    return json_refuse(j, b"JSON: a key with one $ that means nothing (before byte %llu)")


cdef int json_parse_decimal(Buffer* b, Json* j, size_t at) noexcept nogil:
    """{"$decimal": "-1.50"}: every digit after the point counts."""
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef uint64_t v = 0
    cdef uint64_t scale = 0
    cdef bint negative = False, point = False
    cdef int digits = 0
    cdef int status = json_parse_text(b, j)
    if status != 0:
        return status
    p = b.start + at + 1
    end = b.p
    if p < end and p[0] == c'-':
        negative = True
        p += 1
    while p < end:
        if p[0] == c'.' and not point and digits:
            point = True
            digits = 0
        elif c'0' <= p[0] <= c'9':
            v = v * 10 + (p[0] - c'0')
            scale += point
            digits = 1
            if v > MAX_I32 + negative:
                return refuse(j.refusal, b"a decimal's unscaled value must fit 32 bits, signed", NULL, 0)
        else:
            return json_expected(j, b"a decimal before it")
        p += 1
    if not digits:
        return json_expected(j, b"a decimal before it")
    if scale > 255:
        return refuse(j.refusal, b"a decimal's scale is at most 255, not %llu", NULL, scale)
    buffer_truncate(b, at)
    return put_scaled(b, <uint8_t>scale, <uint32_t>(0 - v if negative else v))


cdef int json_parse_listed(Buffer* b, Json* j, int depth) noexcept nogil:
    """[[key, value], ...]: a table in which a key may come twice."""
    cdef bint has_form = False
    cdef int status = json_require(j, c'[', b"an array of keys and values")
    if status != 0:
        return status
    if json_at(j, c']'):
        j.p += 1
        return 0
    while True:
        status = json_require(j, c'[', b"a key and a value in an array")
        if status == 0:
            status = json_parse_key(b, j, &has_form)
        if status == 0 and has_form:
            status = json_refuse(j, b"JSON: a key with one $ that means nothing (before byte %llu)")
        if status == 0:
            status = json_require(j, c',', b"a comma")
        if status == 0:
            status = json_parse_value(b, j, depth)
        if status == 0:
            status = json_require(j, c']', b"the end of a key and a value")
        if status != 0:
            return status
        if json_at(j, c']'):
            j.p += 1
            return 0
        status = json_require(j, c',', b"a comma or the end of an array")
        if status != 0:
            return status


# ---- whole texts ----

cdef int json_begin(Json* j, const uint8_t* p, uint64_t n, uintptr_t mode, Refusal* r) noexcept nogil:
    """A text, which must be UTF-8."""
    j.p = j.start = p
    j.end = p + n
    j.mode = mode
    j.refusal = r
    if not is_utf8(p, <size_t>n):
        return refuse(r, b"the text is not UTF-8", NULL, 0)
    json_skip(j)
    return 0


cdef int json_end(Json* j) noexcept nogil:
    json_skip(j)
    if j.p != j.end:
        return json_expected(j, b"the end of the text")
    return 0


cdef int json_to_table(Buffer* b, const uint8_t* p, uint64_t n, uintptr_t mode, Refusal* r) noexcept nogil:
    """The names and values of a whole text, without the table's length."""
    cdef Json j
    cdef bint form = False
    cdef int status = json_begin(&j, p, n, mode, r)
    if status == 0:
        status = json_parse_pairs(b, &j, 1, 0, &form)
    return json_end(&j) if status == 0 else status
