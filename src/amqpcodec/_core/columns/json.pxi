# Values as JSON text, lossless and valid for every parser, without the GIL.
#
# What JSON cannot say is an object with one key that starts with `$`: {"$binary": base64},
# {"$decimal": "1.50"}, {"$timestamp": seconds}, {"$double": "NaN"}, {"$table": [[key, value], ...]}
# for a table that has a key twice. A key of the user that starts with `$` gets one more, a key that
# is not UTF-8 is `$key:` and base64. Only tables that check_table has passed come here.

cdef extern from "columns/arrow.h" nogil:
    ctypedef struct Block:
        uint8_t* p
        size_t room
    int block_room(Block* b, size_t used, size_t n)
    void block_give(Block* b)
    size_t pool_octets()
    void pool_clear()

cdef extern from "columns/digits.h" nogil:
    ctypedef struct Power:
        uint64_t high
        uint64_t low
    Power* POWERS
    int POWER_FIRST
    int POWER_LAST
    uint8_t* put_u64(uint8_t* w, uint64_t v)
    uint8_t* put_four_digits(uint8_t* w, uint32_t v)
    uint8_t* put_eight_digits(uint8_t* w, uint32_t v)
    uint8_t* put_i64(uint8_t* w, int64_t v)
    uint8_t* put_decimal(uint8_t* w, int32_t unscaled, uint8_t scale)
    uint8_t* put_base64(uint8_t* w, const uint8_t* p, size_t n)
    uint8_t* put_double(uint8_t* w, double d)

cdef extern from "columns/copy.h" nogil:
    int COPY_SLACK
    void AMQP_PREFETCH(const void* p)
    uint64_t load_word(const uint8_t* p)
    void copy_16(uint8_t* w, const uint8_t* p)
    int leading_zeros_16(uint32_t x)
    bint copy_ascii(uint8_t* w, const uint8_t* p, size_t n)
    bint copy_plain(uint8_t* w, const uint8_t* p, size_t n)


cdef int powers_ready() except -1:
    """Powers of ten with 128 bits, rounded up, for put_double."""
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

# Text that grows in a block; `input_end`: where octets to read certainly end.
cdef struct Text:
    uint8_t* w
    uint8_t* end
    Block* block
    const uint8_t* input_end

cdef enum:
    NO_MEMORY = -1
    NOT_UTF8 = 1
    KEYS_ON_STACK = 24


cdef int text_grow(Text* t, size_t n) noexcept nogil:
    cdef size_t used = <size_t>(t.w - t.block.p) if t.block.p != NULL else 0
    if block_room(t.block, used, max(used + n, 2 * t.block.room)) < 0:
        return NO_MEMORY
    t.w = t.block.p + used
    t.end = t.block.p + t.block.room
    return 0


cdef inline int text_room(Text* t, size_t n) noexcept nogil:
    if AMQP_UNLIKELY(<size_t>(t.end - t.w) < n):
        return text_grow(t, n)
    return 0


cdef inline int json_literal(Text* t, const char* s, size_t n) noexcept nogil:
    if text_room(t, n) < 0:
        return NO_MEMORY
    memcpy(t.w, s, n)
    t.w += n
    return 0


cdef inline uint8_t* escape_octet(uint8_t* w, uint8_t c) noexcept nogil:
    """One octet inside of a JSON string; at most 6."""
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


cdef int json_escaped(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    """The inside of a JSON string whose octets need a closer look; 0, NOT_UTF8 or NO_MEMORY."""
    cdef size_t i
    if not is_utf8(p, n):
        return NOT_UTF8
    # Six octets for each at worst, taken piece by piece so that plain text does not ask for them.
    while n:
        if text_room(t, 6 * min(n, <size_t>64) + 8) < 0:
            return NO_MEMORY
        for i in range(min(n, <size_t>64)):
            t.w = escape_octet(t.w, p[i])
        p += min(n, <size_t>64)
        n -= min(n, <size_t>64)
    return 0


cdef inline int json_inside(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    """The inside of a JSON string; 0, NOT_UTF8 (some of it may be written) or NO_MEMORY."""
    cdef size_t i
    if text_room(t, n + COPY_SLACK) < 0:
        return NO_MEMORY
    if AMQP_LIKELY(<size_t>(t.input_end - p) >= n + COPY_SLACK):
        if AMQP_UNLIKELY(not copy_plain(t.w, p, n)):
            return json_escaped(t, p, n)
    else:
        for i in range(n):
            if p[i] < 0x20 or p[i] >= 0x80 or p[i] == c'"' or p[i] == c'\\':
                return json_escaped(t, p, n)
            t.w[i] = p[i]
    t.w += n
    return 0


cdef inline int json_string(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    """A JSON string. NOT_UTF8: nothing is written."""
    cdef int status
    cdef size_t at
    if text_room(t, n + 18) < 0:
        return NO_MEMORY
    at = <size_t>(t.w - t.block.p)
    t.w[0] = c'"'
    t.w += 1
    status = json_inside(t, p, n)
    if AMQP_UNLIKELY(status != 0):
        t.w = t.block.p + at
        return status
    if text_room(t, 1) < 0:
        return NO_MEMORY
    t.w[0] = c'"'
    t.w += 1
    return 0


cdef int json_base64(Text* t, const uint8_t* p, size_t n, const char* before, size_t before_n,
                     const char* after, size_t after_n) noexcept nogil:
    if text_room(t, before_n + (n + 2) // 3 * 4 + after_n) < 0:
        return NO_MEMORY
    memcpy(t.w, before, before_n)
    t.w = put_base64(t.w + before_n, p, n)
    memcpy(t.w, after, after_n)
    t.w += after_n
    return 0


cdef int json_binary(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    return json_base64(t, p, n, b'{"$binary":"', 12, b'"}', 2)


cdef inline int json_octets(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    """Text where the octets are UTF-8, or else {"$binary": ...}."""
    cdef int status = json_string(t, p, n)
    if AMQP_UNLIKELY(status == NOT_UTF8):
        return json_binary(t, p, n)
    return status


cdef inline int json_key(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    """The key of a table as a JSON string."""
    cdef int status
    if AMQP_UNLIKELY(n != 0 and p[0] == c'$'):
        return json_dollar_key(t, p, n)
    status = json_string(t, p, n)
    if AMQP_UNLIKELY(status == NOT_UTF8):
        return json_base64(t, p, n, b'"$key:', 6, b'"', 1)
    return status


cdef int json_dollar_key(Text* t, const uint8_t* p, size_t n) noexcept nogil:
    cdef int status
    if not is_utf8(p, n):
        return json_base64(t, p, n, b'"$key:', 6, b'"', 1)
    if json_literal(t, b'"$', 2) < 0:
        return NO_MEMORY
    status = json_inside(t, p, n)
    return json_literal(t, b'"', 1) if status == 0 else status


cdef int json_double(Text* t, double d) noexcept nogil:
    if text_room(t, 32) < 0:
        return NO_MEMORY
    if d != d:
        return json_literal(t, b'{"$double":"NaN"}', 17)
    if d - d != 0:
        if d > 0:
            return json_literal(t, b'{"$double":"Infinity"}', 22)
        return json_literal(t, b'{"$double":"-Infinity"}', 23)
    t.w = put_double(t.w, d)
    return 0


cdef int json_timestamp(Text* t, uint64_t seconds) noexcept nogil:
    if text_room(t, 40) < 0:
        return NO_MEMORY
    memcpy(t.w, <const char*>b'{"$timestamp":', 14)
    t.w = put_u64(t.w + 14, seconds)
    t.w[0] = c'}'
    t.w += 1
    return 0


cdef inline int json_u64(Text* t, uint64_t v) noexcept nogil:
    if text_room(t, 24) < 0:
        return NO_MEMORY
    t.w = put_u64(t.w, v)
    return 0


cdef inline int json_i64(Text* t, int64_t v) noexcept nogil:
    if text_room(t, 24) < 0:
        return NO_MEMORY
    t.w = put_i64(t.w, v)
    return 0


cdef int json_decimal(Text* t, const uint8_t* p) noexcept nogil:
    if text_room(t, 280) < 0:
        return NO_MEMORY
    memcpy(t.w, <const char*>b'{"$decimal":"', 13)
    t.w = put_decimal(t.w + 13, <int32_t>load32(p + 1), p[0])
    memcpy(t.w, <const char*>b'"}', 2)
    t.w += 2
    return 0


cdef inline size_t value_octets(const uint8_t* p, const int8_t* shapes) noexcept nogil:
    """Octets that a checked value takes, its tag included."""
    cdef int shape = shapes[p[0]]
    if shape >= 0:
        return 1 + <size_t>shape
    if shape == SHAPE_SHORT:
        return 2 + <size_t>p[1]
    return 5 + <size_t>load32(p + 1)


cdef int json_value(Text* t, const uint8_t** at, const int8_t* shapes) noexcept nogil:
    """One tag and its value; `at` moves behind it."""
    cdef const uint8_t* p = at[0] + 1
    cdef uint8_t tag = at[0][0]
    cdef uint32_t n
    at[0] += value_octets(at[0], shapes)
    if tag == c'S':
        return json_octets(t, p + 4, load32(p))
    if tag == c'I':
        return json_i64(t, <int32_t>load32(p))
    if tag == c'l':
        if shapes == SHAPES[MODE_LETTER]:
            return json_u64(t, load64(p))
        return json_i64(t, <int64_t>load64(p))
    if tag == c't':
        return json_literal(t, b"true", 4) if p[0] else json_literal(t, b"false", 5)
    if tag == c'F':
        return json_pairs(t, p + 4, load32(p), shapes)
    if tag == c'A':
        n = load32(p)
        return json_items(t, p + 4, n, shapes)
    if tag == c'd':
        return json_double(t, bits_to_double(load64(p)))
    if tag == c'T':
        return json_timestamp(t, load64(p))
    if tag == c'V':
        return json_literal(t, b"null", 4)
    if tag == c'L':
        return json_i64(t, <int64_t>load64(p))
    if tag == c'b':
        return json_i64(t, <int8_t>p[0])
    if tag == c'B':
        return json_u64(t, p[0])
    if tag == c's':
        if shapes[tag] == SHAPE_SHORT:
            return json_octets(t, p + 1, p[0])
        return json_i64(t, <int16_t>load16(p))
    if tag == c'U':
        return json_i64(t, <int16_t>load16(p))
    if tag == c'u':
        return json_u64(t, load16(p))
    if tag == c'i':
        return json_u64(t, load32(p))
    if tag == c'f':
        return json_double(t, bits_to_float(load32(p)))
    if tag == c'D':
        return json_decimal(t, p)
    return json_binary(t, p + 4, load32(p))     # x


cdef int json_items(Text* t, const uint8_t* p, uint32_t n, const int8_t* shapes) noexcept nogil:
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


cdef int json_pair_list(Text* t, const uint8_t* p, const uint8_t* end,
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


cdef int json_pairs(Text* t, const uint8_t* p, uint32_t n, const int8_t* shapes) noexcept nogil:
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


cdef inline int json_table(Text* t, const uint8_t* p, uint32_t n, uintptr_t mode) noexcept nogil:
    if n == 0:
        return json_literal(t, b"{}", 2)
    return json_pairs(t, p, n, SHAPES[mode & MODE_LETTER])


# ---- keys that come twice ----

cdef inline uint64_t key_mark(const uint8_t* p) noexcept nogil:
    """The length of a key and some of its octets: equal keys have equal marks."""
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
        p += value_octets(p, shapes)
    return 0


cdef inline int key_order(const uint8_t* a, const uint8_t* b) noexcept nogil:
    if a[0] != b[0]:
        return -1 if a[0] < b[0] else 1
    return memcmp(a + 1, b + 1, a[0])


# How two keys of one kind follow each other: below 0, 0 where they are the same, or above.
ctypedef int (*KeyOrder)(const uint8_t* a, const uint8_t* b) noexcept nogil


cdef void sift(const uint8_t** keys, size_t root, size_t n, KeyOrder order) noexcept nogil:
    cdef size_t child
    cdef const uint8_t* key = keys[root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and order(keys[child], keys[child + 1]) < 0:
            child += 1
        if order(key, keys[child]) >= 0:
            break
        keys[root] = keys[child]
        root = child
    keys[root] = key


cdef bint any_twice(const uint8_t** keys, size_t n, KeyOrder order) noexcept nogil:
    """Whether two keys are the same: by heapsort, which no choice of keys can make slow."""
    cdef const uint8_t* key
    cdef size_t i = n // 2
    while i:
        i -= 1
        sift(keys, i, n, order)
    i = n
    while i > 1:
        i -= 1
        key = keys[i]
        keys[i] = keys[0]
        keys[0] = key
        sift(keys, 0, i, order)
        # largest first: the one taken before this stands behind it
        if i + 1 < n and order(keys[i], keys[i + 1]) == 0:
            return True
    return n > 1 and order(keys[0], keys[1]) == 0


cdef int has_twice_sorted(const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil:
    """The same for many keys."""
    cdef const uint8_t** keys
    cdef const uint8_t* q = p
    cdef size_t n = 0, i
    cdef int found
    while q < end:
        n += 1
        q += 1 + <size_t>q[0]
        q += value_octets(q, shapes)
    keys = <const uint8_t**>malloc(n * sizeof(uint8_t*))
    if keys == NULL:
        return NO_MEMORY
    for i in range(n):
        keys[i] = p
        p += 1 + <size_t>p[0]
        p += value_octets(p, shapes)
    found = any_twice(keys, n, key_order)
    free(keys)
    return found
