# What other files use of json.pxi.

cdef enum:
    KEYS_ON_STACK = 24

# JSON text that is written.
cdef struct JsonText:
    Buffer out
    const uint8_t* input_end    # where bytes to read certainly end

# How two keys of one kind follow each other: below 0, 0 where they are the same, or above.
ctypedef int (*KeyOrder)(const uint8_t* a, const uint8_t* b) noexcept nogil

cdef int put_text_json(Buffer* out, const uint8_t* p, size_t n) noexcept nogil
cdef bint any_twice(const uint8_t** keys, size_t n, KeyOrder order) noexcept nogil
