# What other files use of check.pxi.

# What follows a tag, by dialect: bytes of a scalar, or one of these.
cdef enum:
    SHAPE_UNKNOWN = -1
    SHAPE_LONG = -2         # u32 length, bytes
    SHAPE_TABLE = -3        # u32 length, pairs
    SHAPE_ARRAY = -4        # u32 length, items
    SHAPE_SHORT = -5        # u8 length, bytes

cdef int8_t[2][256] SHAPES
cdef int check_value(Cursor* c, const int8_t* shapes, int depth) noexcept nogil
cdef int check_pairs(Cursor* c, const int8_t* shapes, int depth) noexcept nogil

cdef int8_t SHAPES[2][256]      # dialect, tag -> SHAPE_*

cdef inline int check_table(const uint8_t* p, uint32_t n, const Cursor* around, uintptr_t mode) noexcept nogil:
    """A table's bytes without their length: 0, or -1 with the fault noted."""
    cdef Cursor c
    if n == 0:
        return 0
    c = around[0]
    c.p = p
    c.end = p + n
    return check_pairs(&c, SHAPES[mode & MODE_LETTER], 1)
