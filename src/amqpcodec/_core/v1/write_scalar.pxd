# What other files use of write_scalar.pxi.

cdef enum V1Encoding:
    V1_BARE                 # the widest, without its constructor
    V1_WIDEST
    V1_SMALLEST             # of those that the value has

cdef enum:
    V1_NUMBER_BYTES = 9     # that a number, boolean, char or timestamp takes at most
    V1_RUN_BYTES = 5        # that a binary, string or symbol takes at most beside its own

cdef inline uint8_t* v1_store_number(uint8_t* w, uint8_t wire_type, uint64_t u, V1Encoding encoding) noexcept nogil:
    """A number, boolean or char, signed ones extended. Where it ends."""
    cdef uint8_t code
    if encoding == V1_SMALLEST:
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
    if encoding != V1_BARE:
        w[0] = code
        w += 1
    store_uint(w, u, CTOR_WIDTH[code])
    return w + CTOR_WIDTH[code]

cdef inline uint8_t* v1_store_size(uint8_t* w, uint8_t wire_type, size_t n, V1Encoding encoding) noexcept nogil:
    """What stands before the n bytes of a binary, string or symbol, of at most V1_RUN_BYTES. Where it ends."""
    if AMQP_LIKELY(n <= 255 and encoding == V1_SMALLEST):
        w[0] = CTOR_NARROW[wire_type]
        w[1] = <uint8_t>n
        return w + 2
    if encoding != V1_BARE:
        w[0] = CTOR_WIDE[wire_type]
        w += 1
    store32(w, <uint32_t>n)
    return w + 4

cdef inline uint8_t* v1_store_run(uint8_t* w, uint8_t wire_type, const uint8_t* p, size_t n,
                                  V1Encoding encoding) noexcept nogil:
    """A binary, string or symbol of at most 4 GiB. Where it ends."""
    w = v1_store_size(w, wire_type, n, encoding)
    copy_bytes(w, p, n)
    return w + n

cdef inline int v1_put_number(Buffer* b, uint8_t wire_type, uint64_t u) except -1:
    buffer_commit(b, v1_store_number(buffer_reserve(b, V1_NUMBER_BYTES), wire_type, u, V1_SMALLEST))
    return 0

cdef bint v1_load_int(object n, uint8_t wire_type, uint64_t* out) except -1
cdef int v1_parse_int(object v, uint8_t wire_type, uint64_t* out, Place* at) except -1

cdef int v1_parse_moment(object v, uint64_t* out, Place* at) except -1
cdef int v1_put_uuid_bytes(Buffer* b, object v) except -1
