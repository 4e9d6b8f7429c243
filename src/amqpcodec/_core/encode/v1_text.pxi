# JSON text of AMQP 1.0, its pieces: strings, numbers, keys and what forms say in a string, without the GIL.

cdef enum:
    MARK_NONE = 0
    MARK_BINARY
    MARK_DECIMAL
    MARK_TIMESTAMP
    MARK_DOUBLE
    MARK_UUID
    MARK_CHAR
    MARK_SYMBOL
    MARK_DESCRIBED
    MARK_MAP
    MARK_TABLE              # the same, of maps that have a key twice
    MARK_TYPE
    MARK_DESCRIBED_ARRAY
    MARK_COUNT

cdef const char** MARK_NAMES = [
    "", "$binary", "$decimal", "$timestamp_ms", "$double", "$uuid", "$char", "$symbol", "$described",
    "$map", "$table", "$type", "$described_array"]


cdef bint v1e_word(Json* j, const char* word, size_t n) noexcept nogil:
    """Step over a word, if it stands there."""
    if <size_t>(j.end - j.p) < n or memcmp(j.p, word, n) != 0:
        return False
    j.p += n
    return True


cdef inline bint v1e_null(Json* j) noexcept nogil:
    return json_at(j, c'n') and v1e_word(j, b"null", 4)


cdef int v1e_json_text(Buffer* b, Json* j, uint8_t wire_type) noexcept nogil:
    """A string as string, symbol or binary."""
    cdef size_t at
    cdef int status
    at = buffer_size(b)
    status = buffer_leave(b, 2)
    if status == 0:
        status = json_parse_text(b, j)
    return v1e_end_run(b, at, wire_type, j.refusal) if status == 0 else status


cdef int v1e_json_number(Buffer* b, Json* j) noexcept nogil:
    cdef JsonNumber number
    cdef int status = json_parse_number(j, &number)
    if status != 0:
        return status
    if not number.whole:
        return v1e_number(b, V1_DOUBLE, double_to_bits(number.d))
    if not number.large:
        if number.n <= HIGHEST_INT64 or (number.negative and number.n - 1 <= HIGHEST_INT64):
            return v1e_number(b, V1_LONG, 0 - number.n if number.negative else number.n)
        if not number.negative:
            return v1e_number(b, V1_ULONG, number.n)
    return json_refuse(j, b"JSON: an integer beyond 64 bits (before byte %llu)")


cdef int v1e_whole(Json* j, uint64_t* out, bint* negative) noexcept nogil:
    """A whole number of up to 64 bits and its sign, or of up to 63 after a minus."""
    cdef JsonNumber number
    cdef int status = json_parse_number(j, &number)
    if status != 0:
        return status
    if not number.whole or number.large or (number.negative and number.n > HIGHEST_INT64 + 1):
        return json_refuse(j, b"JSON: takes a whole number of 64 bits (before byte %llu)")
    negative[0] = number.negative and number.n != 0
    out[0] = 0 - number.n if number.negative else number.n
    return 0


# ---- lists and objects ----

cdef int v1e_next(Json* j, uint8_t end, bint* more) noexcept nogil:
    """Behind an item: its comma, or the end of the list or object."""
    json_skip(j)
    more[0] = not json_at(j, end)
    if more[0]:
        return json_require(j, c',', b"a comma or the end of an array or object")
    j.p += 1
    return 0


cdef int v1e_first(Json* j, uint8_t begin, uint8_t end, bint* more) noexcept nogil:
    """The start of a list or object; whether anything is in it."""
    cdef int status = json_require(j, begin, b"an array" if begin == c'[' else b"an object")
    if status != 0:
        return status
    more[0] = not json_at(j, end)
    if not more[0]:
        j.p += 1
    return 0


cdef int v1e_json_key(Buffer* b, Json* j, bint symbol, int* form) noexcept nogil:
    """A key and the colon after it. form: it is the name of one, and stands there as it is."""
    cdef size_t at, n
    cdef uint8_t* p
    cdef int status
    at = buffer_size(b)
    status = buffer_leave(b, 2)
    if status == 0:
        status = json_parse_text(b, j)
    if status == 0:
        status = json_require(j, c':', b"a colon")
    if status != 0:
        return status
    p = b.start + at + 2
    n = <size_t>(b.p - p)
    if AMQP_UNLIKELY(n != 0 and p[0] == c'$'):
        if n == 1 or p[1] != c'$':
            for form[0] in range(1, MARK_COUNT):
                if strlen(MARK_NAMES[form[0]]) == n and memcmp(p, MARK_NAMES[form[0]], n) == 0:
                    return 0
            return json_refuse(j, b"JSON: a key with one $ that means nothing (before byte %llu)")
        memmove(p, p + 1, n - 1)
        buffer_truncate(b, at + 1 + n)
    return v1e_end_run(b, at, V1_SYMBOL if symbol else V1_STRING, j.refusal)


# ---- forms ----

cdef int v1e_json_coded(Buffer* b, Json* j, int form) noexcept nogil:
    """What is in a string."""
    cdef uint8_t[16] raw
    cdef size_t at, n
    cdef int64_t m
    cdef uint8_t* p
    cdef int status
    at = buffer_size(b)
    status = buffer_leave(b, 2)
    if status == 0:
        status = json_parse_text(b, j)
    if status != 0:
        return status
    p = b.start + at + 2
    n = <size_t>(b.p - p)
    if form == MARK_BINARY:
        m = parse_base64(p, p, n)
        if m < 0:
            return json_expected(j, b"base64 before it")
        buffer_truncate(b, at + 2 + <size_t>m)
        return v1e_end_run(b, at, V1_BINARY, j.refusal)
    buffer_truncate(b, at)
    if form == MARK_DECIMAL:
        return v1e_decimal(b, p, n, j.refusal)
    if form == MARK_UUID:
        if not parse_uuid(raw, p, n):
            return json_expected(j, b"a UUID before it")
        return v1e_sixteen(b, CTOR_UUID, raw)
    if form == MARK_CHAR:
        return v1e_json_char(b, j, p, n)
    if n == 3 and memcmp(p, <const char*>b"NaN", 3) == 0:
        return v1e_number(b, V1_DOUBLE, <uint64_t>0x7FF8 << 48)
    if n == 8 and memcmp(p, <const char*>b"Infinity", 8) == 0:
        return v1e_number(b, V1_DOUBLE, <uint64_t>0x7FF0 << 48)
    if n == 9 and memcmp(p, <const char*>b"-Infinity", 9) == 0:
        return v1e_number(b, V1_DOUBLE, <uint64_t>0xFFF0 << 48)
    return json_expected(j, b"NaN, Infinity or -Infinity before it")


cdef int v1e_decimal(Buffer* b, const uint8_t* p, size_t n, Refusal* r) noexcept nogil:
    """Text as decimal128."""
    cdef uint8_t[16] raw
    cdef int status = v1e_bid_text(p, n, raw)
    if status == V1_DECIMAL_NO_TEXT:
        return refuse(r, b"text that is no decimal", NULL, 0)
    if status != V1_DECIMAL_FITS:
        return refuse(r, b"a decimal128 holds 34 digits, and not every exponent", NULL, 0)
    return v1e_sixteen(b, CTOR_DECIMAL128, raw)


cdef int v1e_json_char(Buffer* b, Json* j, const uint8_t* p, size_t n) noexcept nogil:
    """One character, which is UTF-8."""
    cdef uint32_t u
    cdef uint8_t first
    cdef size_t length, i
    if n:
        first = p[0]
        length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        if n == length:
            u = first if n == 1 else first & (0xFF >> (n + 1))
            for i in range(1, n):
                u = u << 6 | (p[i] & 0x3F)
            return v1e_number(b, V1_CHAR, u)
    return json_expected(j, b"one character before it")


# ---- keys that come twice ----

cdef int v1e_twice(Buffer* b, const size_t* at, size_t start, size_t count, Refusal* r) noexcept nogil:
    """Whether a key comes twice in the pairs from `start` to the end (1), or not (0); or NO_MEMORY.
    at: where the first keys are."""
    cdef const uint8_t** keys
    cdef const uint8_t* base = b.start
    cdef Cursor c
    cdef Fault fault
    cdef V1Check check
    cdef size_t i, k
    if AMQP_LIKELY(count <= KEYS_ON_STACK):
        for i in range(1, count):
            for k in range(i):
                # constructor and length first: most differ in them
                if AMQP_UNLIKELY(load16(base + at[i]) == load16(base + at[k])) \
                        and v1_key_order(base + at[i], base + at[k]) == 0:
                    return 1
        return 0
    keys = <const uint8_t**>malloc(count * sizeof(uint8_t*))
    if keys == NULL:
        return NO_MEMORY
    memset(&check, 0, sizeof(check))
    v1_begin(&c, &fault, base + start, b.p, base, 0)
    for i in range(count):
        keys[i] = c.p
        check.zero_width = 0
        v1_check(&c, &check, 0)
        v1_check(&c, &check, 0)
    i = any_twice(keys, count, v1_key_order)
    free(keys)
    return <int>i
