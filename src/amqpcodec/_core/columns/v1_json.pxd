# What other files use of v1_json.pxi.

cdef inline void v1_key(const uint8_t* p, const uint8_t** text, size_t* n) noexcept nogil:
    """The bytes of a string or symbol whose constructor is at p."""
    if p[0] < CTOR_VBIN32:
        n[0] = p[1]
        text[0] = p + 2
    else:
        n[0] = load32(p + 1)
        text[0] = p + 5

cdef int v1_key_order(const uint8_t* a, const uint8_t* b) noexcept nogil
