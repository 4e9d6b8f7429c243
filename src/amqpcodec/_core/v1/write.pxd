# What other files use of write.pxi.

cdef enum:
    V1_HEAD_BYTES = 9       # the longest head of a compound
    V1_DESCRIPTOR_BYTES = 3     # of v1_store_small_descriptor

cdef inline int v1_open(Buffer* b, size_t* start) except -1:
    """Leave room for the longest head of a compound, which v1_close fills in."""
    start[0] = buffer_size(b)
    buffer_extend(b, V1_HEAD_BYTES)
    return 0

cdef inline uint8_t* v1_store_small_descriptor(uint8_t* w, uint8_t code) noexcept nogil:
    """The beginning of a described value whose descriptor is a small number. Where it ends."""
    w[0] = CTOR_DESCRIBED
    w[1] = CTOR_SMALLULONG
    w[2] = code
    return w + V1_DESCRIPTOR_BYTES

cdef inline int v1_put_small_descriptor(Buffer* b, uint8_t code) except -1:
    v1_store_small_descriptor(buffer_extend(b, V1_DESCRIPTOR_BYTES), code)
    return 0
