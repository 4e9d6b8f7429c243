# What other files use of write.pxi.

cdef enum:
    V1_HEAD_BYTES = 9       # the longest head of a compound
    V1_DESCRIPTOR_BYTES = 3     # of v1_store_small_descriptor

cdef inline int v1_open(Buffer* b, size_t* start) except -1:
    """Leave room for the longest head of a compound, which v1_close fills in."""
    start[0] = buffer_size(b)
    buffer_extend(b, V1_HEAD_BYTES)
    return 0

cdef inline bint v1_store_head(Buffer* b, size_t start, uint8_t wire_type, uint64_t count,
                               V1Encoding encoding) noexcept nogil:
    """The head of what was written after the V1_HEAD_BYTES at `start`. False: it is too large for any."""
    cdef uint8_t* head = b.start + start
    cdef const uint8_t* content = head + V1_HEAD_BYTES
    cdef uint64_t n = buffer_size(b) - start - V1_HEAD_BYTES
    if AMQP_UNLIKELY(count == 0 and wire_type == V1_LIST and encoding == V1_SMALLEST):
        head[0] = CTOR_LIST0
        buffer_truncate(b, start + 1)
        return True
    if AMQP_LIKELY(n <= 254 and count <= 255 and encoding == V1_SMALLEST):
        head[0] = CTOR_NARROW[wire_type]
        head[1] = <uint8_t>(n + 1)
        head[2] = <uint8_t>count
        head += 3
    elif n + 4 > MAX_U32 or count > MAX_U32:
        return False
    else:
        if encoding != V1_BARE:
            head[0] = CTOR_WIDE[wire_type]
            head += 1
        store32(head, <uint32_t>(n + 4))
        store32(head + 4, <uint32_t>count)
        head += 8
    if head != content:
        memmove(head, content, <size_t>n)
        buffer_truncate(b, <size_t>(head - b.start) + <size_t>n)
    return True

cdef int v1_join_items(Buffer* b, size_t first, uint64_t count, uint8_t wire_type) noexcept nogil

cdef inline uint8_t* v1_store_small_descriptor(uint8_t* w, uint8_t code) noexcept nogil:
    """The beginning of a described value whose descriptor is a small number. Where it ends."""
    w[0] = CTOR_DESCRIBED
    w[1] = CTOR_SMALLULONG
    w[2] = code
    return w + V1_DESCRIPTOR_BYTES

cdef inline int v1_put_small_descriptor(Buffer* b, uint8_t code) except -1:
    v1_store_small_descriptor(buffer_extend(b, V1_DESCRIPTOR_BYTES), code)
    return 0
