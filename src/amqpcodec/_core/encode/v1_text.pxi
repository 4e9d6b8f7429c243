# JSON text of AMQP 1.0, its pieces: whole numbers, and what forms say in a string, without the GIL.

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


cdef int v1e_json_timestamp(Encoder* e, Json* j) noexcept nogil:
    cdef uint64_t u = 0
    cdef bint negative = False
    cdef int status = v1e_whole(j, &u, &negative)
    if status == 0 and not negative and u > HIGHEST_INT64:
        return json_refuse(j, b"JSON: a timestamp has 64 bits, signed (before byte %llu)")
    return v1e_number(&e.scratch, V1_TIMESTAMP, u) if status == 0 else status


cdef int v1e_decimal(Buffer* b, const uint8_t* p, size_t n, Fault* f) noexcept nogil:
    """Text as decimal128."""
    cdef uint8_t[16] raw
    cdef int status = v1e_bid_text(p, n, raw)
    if status == V1_DECIMAL_NO_TEXT:
        return refuse(f, b"text that is no decimal", NULL, 0)
    if status != V1_DECIMAL_FITS:
        return refuse(f, b"a decimal128 holds 34 digits, and not every exponent", NULL, 0)
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

cdef int v1e_twice(Buffer* b, const size_t* at, size_t start, size_t count) noexcept nogil:
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
    begin_cursor(&c, &fault, base + start, b.p, base, 0)
    for i in range(count):
        keys[i] = c.p
        check.zero_width = 0
        v1_check(&c, &check, 0)
        v1_check(&c, &check, 0)
    i = any_twice(keys, count, v1_key_order)
    free(keys)
    return <int>i
