# What other files use of write_scalar.pxi.

cdef int v1_put_fixed(Buffer* b, uint8_t wire_type, uint64_t u) except -1

cdef enum:
    V1_NUMBER_BYTES = 9     # that a number, boolean, char or timestamp takes at most
    V1_RUN_BYTES = 5        # that a binary, string or symbol takes at most beside its own

cdef inline uint8_t* v1_store_number(uint8_t* w, uint8_t wire_type, uint64_t u) noexcept nogil:
    """A number, boolean or char, signed ones extended, in the smallest encoding of its type. Where it ends."""
    cdef uint8_t code
    if u == 0 and (wire_type == V1_UINT or wire_type == V1_ULONG):
        w[0] = CTOR_UINT0 if wire_type == V1_UINT else CTOR_ULONG0
        return w + 1
    if wire_type == V1_BOOLEAN:
        w[0] = CTOR_TRUE if u else CTOR_FALSE
        return w + 1
    if v1_narrow(wire_type, u):
        w[0] = CTOR_NARROW[wire_type]
        w[1] = <uint8_t>u
        return w + 2
    code = CTOR_WIDE[wire_type]
    w[0] = code
    store_uint(w + 1, u, CTOR_WIDTH[code])
    return w + 1 + CTOR_WIDTH[code]

cdef inline uint8_t* v1_store_run(uint8_t* w, uint8_t wire_type, const uint8_t* p, size_t n) noexcept nogil:
    """A binary, string or symbol of at most 4 GiB. Where it ends."""
    if AMQP_LIKELY(n <= 255):
        w[0] = CTOR_NARROW[wire_type]
        w[1] = <uint8_t>n
        w += 2
    else:
        w[0] = CTOR_WIDE[wire_type]
        store32(w + 1, <uint32_t>n)
        w += V1_RUN_BYTES
    copy_bytes(w, p, n)
    return w + n

cdef inline int v1_put_number(Buffer* b, uint8_t wire_type, uint64_t u) except -1:
    buffer_commit(b, v1_store_number(buffer_reserve(b, V1_NUMBER_BYTES), wire_type, u))
    return 0

cdef int v1_parse_int(object v, uint8_t wire_type, uint64_t* out, Place* at) except -1

cdef int v1_parse_moment(object v, uint64_t* out, Place* at) except -1
cdef int v1_put_uuid_bytes(Buffer* b, object v) except -1
