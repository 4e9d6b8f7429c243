# What other files use of write.pxi.

cdef inline int v1_open(Buffer* b, size_t* start) except -1:
    """Leave room for the longest head of a compound, which v1_close fills in."""
    start[0] = buffer_size(b)
    buffer_extend(b, 9)
    return 0

cdef inline int v1_put_small_descriptor(Buffer* b, uint8_t code) except -1:
    """The beginning of a described value whose descriptor is a small number."""
    cdef uint8_t* w = buffer_extend(b, 3)
    w[0] = 0
    w[1] = CTOR_SMALLULONG
    w[2] = code
    return 0
