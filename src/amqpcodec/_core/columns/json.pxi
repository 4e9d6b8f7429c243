# Values as JSON text, lossless and valid for every parser, without the GIL: what both families write.
#
# What JSON cannot say is an object with one key that starts with `$`: {"$binary": base64},
# {"$decimal": "1.50"}, {"$timestamp": seconds}, {"$double": "NaN"}, {"$table": [[key, value], ...]}
# for a table that has a key twice. A key of the user that starts with `$` gets one more, a key that
# is not UTF-8 is `$key:` and base64.

cdef extern from "columns/digits.h" nogil:
    ctypedef struct Power:
        uint64_t high
        uint64_t low
    Power* POWERS
    int POWER_FIRST
    int POWER_LAST
    uint8_t* store_u64(uint8_t* w, uint64_t v)
    uint8_t* store_four_digits(uint8_t* w, uint32_t v)
    uint8_t* store_eight_digits(uint8_t* w, uint32_t v)
    uint8_t* store_i64(uint8_t* w, int64_t v)
    uint8_t* store_scaled(uint8_t* w, int32_t unscaled, uint8_t scale)
    uint8_t* store_base64(uint8_t* w, const uint8_t* p, size_t n)
    uint8_t* store_double_text(uint8_t* w, double d)


cdef int powers_ready() except -1:
    """Powers of ten with 128 bits, rounded up, for store_double_text."""
    cdef int i
    cdef object power = 1       # 10**k, or 10**-k where that is a whole number
    cdef object scaled
    for i in range(-POWER_FIRST, POWER_LAST - POWER_FIRST + 1):
        bits = power.bit_length()
        scaled = -(-power >> (bits - 128)) if bits > 128 else power << (128 - bits)
        POWERS[i].high = scaled >> 64
        POWERS[i].low = scaled & 0xFFFFFFFFFFFFFFFF
        power *= 10
    power = 1
    for i in range(-POWER_FIRST - 1, -1, -1):
        power *= 10
        scaled = -((-1 << (power.bit_length() + 127)) // power)
        POWERS[i].high = scaled >> 64
        POWERS[i].low = scaled & 0xFFFFFFFFFFFFFFFF
    return 0


powers_ready()

cdef inline int text_begin(JsonText* t, Column* c, const uint8_t* input_end) noexcept nogil:
    """Write JSON text into the data of a column; data_commit makes a row of it."""
    t.input_end = input_end
    return data_begin(&t.out, c)


cdef inline int json_literal(JsonText* t, const char* s, size_t n) noexcept nogil:
    return buffer_put(&t.out, s, n)


cdef inline uint8_t* escape_byte(uint8_t* w, uint8_t c) noexcept nogil:
    """One byte inside of a JSON string; at most 6."""
    cdef const char* hexadecimal = b"0123456789abcdef"
    if c >= 0x20 and c != c'"' and c != c'\\':
        w[0] = c
        return w + 1
    w[0] = c'\\'
    if c == c'"' or c == c'\\':
        w[1] = c
    elif c == c'\n':
        w[1] = c'n'
    elif c == c'\r':
        w[1] = c'r'
    elif c == c'\t':
        w[1] = c't'
    elif c == c'\b':
        w[1] = c'b'
    elif c == c'\f':
        w[1] = c'f'
    else:
        memcpy(w + 1, <const char*>b"u00", 3)
        w[4] = hexadecimal[c >> 4]
        w[5] = hexadecimal[c & 15]
        return w + 6
    return w + 2


cdef int json_escaped(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    """The inside of a JSON string whose bytes need a closer look; 0, NOT_UTF8 or NO_MEMORY."""
    cdef size_t i
    cdef uint8_t* w
    if not is_utf8(p, n):
        return NOT_UTF8
    # Six bytes for each at worst, taken piece by piece so that plain text does not ask for them.
    while n:
        if buffer_ensure(&t.out, 6 * min(n, <size_t>64)) < 0:
            return NO_MEMORY
        w = t.out.p
        for i in range(min(n, <size_t>64)):
            w = escape_byte(w, p[i])
        buffer_commit(&t.out, w)
        p += min(n, <size_t>64)
        n -= min(n, <size_t>64)
    return 0


cdef inline int json_inside(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    """The inside of a JSON string; 0, NOT_UTF8 (some of it may be written) or NO_MEMORY."""
    cdef size_t i
    if buffer_ensure(&t.out, n + COPY_SLACK) < 0:
        return NO_MEMORY
    if AMQP_LIKELY(<size_t>(t.input_end - p) >= n + COPY_SLACK):
        if AMQP_UNLIKELY(not copy_plain(t.out.p, p, n)):
            return json_escaped(t, p, n)
    else:
        for i in range(n):
            if p[i] < 0x20 or p[i] >= 0x80 or p[i] == c'"' or p[i] == c'\\':
                return json_escaped(t, p, n)
            t.out.p[i] = p[i]
    buffer_commit(&t.out, t.out.p + n)
    return 0


cdef inline int json_string(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    """A JSON string. NOT_UTF8: nothing is written."""
    cdef size_t at = buffer_size(&t.out)
    cdef int status = buffer_put_byte(&t.out, c'"')
    if AMQP_LIKELY(status == 0):
        status = json_inside(t, p, n)
    if AMQP_LIKELY(status == 0):
        return buffer_put_byte(&t.out, c'"')
    buffer_truncate(&t.out, at)
    return status


cdef int put_text_json(Buffer* out, const uint8_t* p, size_t n) noexcept nogil:
    """The same at the end of a buffer, for other modules."""
    cdef JsonText t
    cdef int status
    t.out = out[0]
    t.input_end = p + n
    status = json_string(&t, p, n)
    out[0] = t.out
    return status


cdef int json_base64(JsonText* t, const uint8_t* p, size_t n, const char* before, size_t before_n,
                     const char* after, size_t after_n) noexcept nogil:
    cdef uint8_t* w
    if buffer_ensure(&t.out, before_n + (n + 2) // 3 * 4 + after_n) < 0:
        return NO_MEMORY
    w = t.out.p
    memcpy(w, before, before_n)
    w = store_base64(w + before_n, p, n)
    memcpy(w, after, after_n)
    buffer_commit(&t.out, w + after_n)
    return 0


cdef int json_binary(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    return json_base64(t, p, n, b'{"$binary":"', 12, b'"}', 2)


cdef inline int json_bytes(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    """Text where the bytes are UTF-8, or else {"$binary": ...}."""
    cdef int status = json_string(t, p, n)
    if AMQP_UNLIKELY(status == NOT_UTF8):
        return json_binary(t, p, n)
    return status


cdef inline int json_key(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    """The key of a table as a JSON string."""
    cdef int status
    if AMQP_UNLIKELY(n != 0 and p[0] == c'$'):
        return json_dollar_key(t, p, n)
    status = json_string(t, p, n)
    if AMQP_UNLIKELY(status == NOT_UTF8):
        return json_base64(t, p, n, b'"$key:', 6, b'"', 1)
    return status


cdef int json_dollar_key(JsonText* t, const uint8_t* p, size_t n) noexcept nogil:
    cdef int status
    if not is_utf8(p, n):
        return json_base64(t, p, n, b'"$key:', 6, b'"', 1)
    if json_literal(t, b'"$', 2) < 0:
        return NO_MEMORY
    status = json_inside(t, p, n)
    return json_literal(t, b'"', 1) if status == 0 else status


cdef int json_double(JsonText* t, double d) noexcept nogil:
    if d != d:
        return json_literal(t, b'{"$double":"NaN"}', 17)
    if d - d != 0:
        if d > 0:
            return json_literal(t, b'{"$double":"Infinity"}', 22)
        return json_literal(t, b'{"$double":"-Infinity"}', 23)
    if buffer_ensure(&t.out, 32) < 0:
        return NO_MEMORY
    buffer_commit(&t.out, store_double_text(t.out.p, d))
    return 0


cdef int json_timestamp(JsonText* t, uint64_t seconds) noexcept nogil:
    cdef uint8_t* w
    if buffer_ensure(&t.out, 40) < 0:
        return NO_MEMORY
    memcpy(t.out.p, <const char*>b'{"$timestamp":', 14)
    w = store_u64(t.out.p + 14, seconds)
    w[0] = c'}'
    buffer_commit(&t.out, w + 1)
    return 0


cdef inline int json_u64(JsonText* t, uint64_t v) noexcept nogil:
    if buffer_ensure(&t.out, 24) < 0:
        return NO_MEMORY
    buffer_commit(&t.out, store_u64(t.out.p, v))
    return 0


cdef inline int json_i64(JsonText* t, int64_t v) noexcept nogil:
    if buffer_ensure(&t.out, 24) < 0:
        return NO_MEMORY
    buffer_commit(&t.out, store_i64(t.out.p, v))
    return 0


# ---- keys that come twice ----

cdef inline uint64_t key_mark(const uint8_t* p) noexcept nogil:
    """The length of a key and some of its bytes: equal keys have equal marks."""
    cdef size_t n = p[0]
    cdef uint64_t x
    if n >= 7:
        return load_word(p) ^ (<uint64_t>load32(p + n - 3) << 32)
    x = n
    if n >= 3:
        return x | <uint64_t>load32(p) << 8 | <uint64_t>load32(p + n - 3) << 32
    if n == 0:
        return 0
    return x | <uint64_t>p[1] << 8 | <uint64_t>p[n] << 16


cdef inline bint same_key(const uint8_t* a, const uint8_t* b) noexcept nogil:
    return a[0] == b[0] and memcmp(a + 1, b + 1, a[0]) == 0


cdef bint is_key_before(const void* order, const void* a, const void* b) noexcept nogil:
    return (<const KeyOrder*>order)[0]((<const uint8_t**>a)[0], (<const uint8_t**>b)[0]) < 0


cdef bint any_twice(const uint8_t** keys, size_t n, KeyOrder order) noexcept nogil:
    """Whether two keys are the same. They are in order then."""
    cdef const uint8_t* moved
    cdef size_t i
    sort_items(keys, n, sizeof(uint8_t*), &moved, is_key_before, &order)
    for i in range(1, n):
        if order(keys[i - 1], keys[i]) == 0:
            return True
    return False
