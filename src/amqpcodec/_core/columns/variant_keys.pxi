# Tables and maps in the Variant encoding of Parquet and Spark: one binary with the names, one with the
# values. Three steps without the GIL: write the scalars and note what holds them, in order of the
# bytes; order the names; then put all in its place, since every size is known by then.
#
# What a Variant cannot say is written as JSON text says it: {"$table": [[key, value], ...]} for a
# table that has a key twice, {"$decimal": "0.000...1"} beyond 38 places, {"$timestamp": seconds} beyond
# microseconds in 64 bits, `$key:` and base64 for a key that is not UTF-8, one more `$` before a `$`.
# Only what was checked comes here.
#
# Fields stand in order of their names' bytes, so the encoding has it; but Spark wants UTF-16's order
# and calls a Variant malformed that has another one. The two differ where one name has a letter
# beyond U+FFFF and another one of U+E000 to U+FFFF: such a table is a $table, which all can read.
#
# Spec: apache/parquet-format, VariantEncoding.md.

# The first byte of a scalar: its type above the two bits of the basic type.
cdef enum:
    VARIANT_NULL = 0 << 2
    VARIANT_TRUE = 1 << 2
    VARIANT_FALSE = 2 << 2
    VARIANT_INT8 = 3 << 2
    VARIANT_INT16 = 4 << 2
    VARIANT_INT32 = 5 << 2
    VARIANT_INT64 = 6 << 2
    VARIANT_DOUBLE = 7 << 2
    VARIANT_DECIMAL4 = 8 << 2
    VARIANT_DECIMAL8 = 9 << 2
    VARIANT_DECIMAL16 = 10 << 2
    VARIANT_TIMESTAMP = 12 << 2
    VARIANT_FLOAT = 14 << 2
    VARIANT_BINARY = 15 << 2
    VARIANT_STRING = 16 << 2

cdef enum:
    SHORT_STRING = 64       # bytes, from which on a string needs a length of its own
    DECIMAL_PLACES = 38
    MAX_TABLE = 0x7FFFFFFF  # bytes, to which the offsets of columns reach
    PLACE = 0x3FFFFFFF      # of VariantKey.place; the rest says what key it is
    KEY_ESCAPED = 0x40000000    # not written as it is
    KEY_OURS = -0x80000000  # one of OUR_KEYS
    KEY_ROOM = 352          # bytes that any key takes: 5 and base64 of 255

cdef const char** OUR_KEYS = [
    b"\x06$table", b"\x08$decimal", b"\x0a$timestamp", b"\x04$map", b"\x05$uuid", b"\x05$char",
    b"\x0d$timestamp_ms", b"\x0a$described", b"\x10$described_array"]

cdef enum:
    OUR_TABLE
    OUR_DECIMAL
    OUR_TIMESTAMP
    OUR_MAP
    OUR_UUID
    OUR_CHAR
    OUR_TIMESTAMP_MS
    OUR_DESCRIBED
    OUR_DESCRIBED_ARRAY

# A key in a table. head: its first bytes as a number, by which most are told apart.
cdef struct VariantKey:
    uint64_t head
    uint32_t at             # bytes from the root to the byte with its length, or which of OUR_KEYS
    uint32_t place          # how many keys there are before it

# A table or an array.
cdef struct VariantNode:
    uint64_t n_bytes         # of the values in it
    uint32_t n
    uint32_t parent
    bint is_object

cdef void variants_drop(Variants* v) noexcept nogil:
    if v == NULL:
        return
    block_give(&v.leaves)
    block_give(&v.keys)
    block_give(&v.ids)
    block_give(&v.sizes)
    block_give(&v.nodes)
    block_give(&v.fields)
    free(v)


cdef inline void store_little(uint8_t* w, uint64_t x, int width) noexcept nogil:
    cdef int i
    for i in range(width):
        w[i] = <uint8_t>(x >> 8 * i)


cdef inline int width_of(uint64_t x) noexcept nogil:
    """Bytes that a number takes, 1 to 4."""
    return 1 + (x > 0xFF) + (x > 0xFFFF) + (x > 0xFFFFFF)


# ---- keys ----

cdef inline bint key_is_escaped(const uint8_t* key) noexcept nogil:
    """Whether a key is not written as it is."""
    return key[0] != 0 and (key[1] == c'$' or not is_utf8(key + 1, key[0]))


cdef int heights(const uint8_t* key) noexcept nogil:
    """What letters there are in a key: 1, some of U+E000 to U+FFFF; 2, some beyond; 3, both."""
    cdef size_t i
    cdef int found = 0
    if not key_is_escaped(key):
        for i in range(1, <size_t>key[0] + 1):
            if key[i] >= 0xEE:
                found |= 2 if key[i] >= 0xF0 else 1
    return found


cdef size_t store_escaped_key(uint8_t* w, const uint8_t* key) noexcept nogil:
    """A key that is not written as it is; at most KEY_ROOM bytes."""
    if is_utf8(key + 1, key[0]):
        w[0] = c'$'
        memcpy(w + 1, key + 1, key[0])
        return 1 + <size_t>key[0]
    memcpy(w, <const char*>b"$key:", 5)
    return <size_t>(store_base64(w + 5, key + 1, key[0]) - w)


cdef inline const uint8_t* key_text(const Variants* v, const VariantKey* key, uint8_t* buffer,
                                    size_t* n) noexcept nogil:
    """How a key is written. buffer: KEY_ROOM bytes that may be needed for it."""
    cdef const uint8_t* p
    if AMQP_UNLIKELY(key.place & (KEY_ESCAPED | <uint32_t>KEY_OURS)):
        if key.place & KEY_ESCAPED:
            n[0] = store_escaped_key(buffer, v.root + key.at)
            return buffer
        p = <const uint8_t*>OUR_KEYS[key.at]
    else:
        p = v.root + key.at
    n[0] = p[0]
    return p + 1


cdef inline uint64_t head_of(const uint8_t* p, size_t n) noexcept nogil:
    """The first eight bytes, such that numbers compare as the bytes do."""
    cdef uint64_t head = 0
    cdef size_t i
    if n >= 8:
        return load64(p)
    for i in range(n):
        head |= <uint64_t>p[i] << (56 - 8 * i)
    return head


cdef int compare_keys(const Variants* v, const VariantKey* a, const VariantKey* b) noexcept nogil:
    """Below, at or above 0, for two keys with the same head."""
    cdef uint8_t[KEY_ROOM] one, other
    cdef size_t n, m
    cdef const uint8_t* p = key_text(v, a, one, &n)
    cdef const uint8_t* q = key_text(v, b, other, &m)
    cdef int order = memcmp(p, q, min(n, m))
    if order == 0:
        order = (n > m) - (n < m)
    return order


cdef bint key_before(const void* variants, const void* key, const void* other) noexcept nogil:
    """In order of their bytes."""
    cdef const VariantKey* a = <const VariantKey*>key
    cdef const VariantKey* b = <const VariantKey*>other
    if a.head != b.head:
        return a.head < b.head
    return compare_keys(<const Variants*>variants, a, b) < 0


cdef int add_variant_key(Variants* v, const uint8_t* key, int ours) noexcept nogil:
    """A key, or one of OUR_KEYS where key is NULL."""
    cdef uint8_t[KEY_ROOM] buffer
    cdef const uint8_t* p
    cdef size_t n
    cdef uint32_t place = <uint32_t>v.n_keys
    cdef VariantKey* k = <VariantKey*>items_add(&v.keys, &v.n_keys, sizeof(VariantKey))
    if k == NULL:
        return NO_MEMORY
    k.place = place
    if key == NULL:
        k.place |= <uint32_t>KEY_OURS
        k.at = <uint32_t>ours
    else:
        k.at = <uint32_t>(key - v.root)
        if AMQP_UNLIKELY(not is_ascii(key + 1, key[0]) or key[0] and key[1] == c'$'):
            if key_is_escaped(key):
                k.place |= KEY_ESCAPED
            v.heights |= heights(key)
    p = key_text(v, k, buffer, &n)
    k.head = head_of(p, n)
    return 0


cdef int number_keys(Variants* v) noexcept nogil:
    """Order the keys; equal ones are one name. Its number goes to each of their places."""
    cdef VariantKey* key = <VariantKey*>v.keys.p
    cdef VariantKey moved
    cdef uint32_t* id_
    cdef uint8_t[KEY_ROOM] buffer
    cdef uint32_t i, last = 0
    cdef size_t n
    v.n_names = 0
    v.names = 0
    if v.n_keys and block_room(&v.ids, 0, v.n_keys * sizeof(uint32_t)) < 0:
        return NO_MEMORY
    id_ = <uint32_t*>v.ids.p
    sort_items(key, v.n_keys, sizeof(VariantKey), &moved, key_before, v)
    for i in range(v.n_keys):
        if i == 0 or key[i].head != key[last].head or compare_keys(v, &key[last], &key[i]) != 0:
            last = v.n_names
            key[last] = key[i]      # the names come to stand in front
            key_text(v, &key[last], buffer, &n)
            v.names += n
            v.n_names += 1
        id_[key[i].place & PLACE] = last
    v.id_width = width_of(v.n_names - 1 if v.n_names else 0)
    return 0
