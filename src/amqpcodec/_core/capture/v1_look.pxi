# Frames of AMQP 1.0 as a capture looks at them: what they can be, the fields that matter, and what they hide.

cdef enum:
    V1_LARGEST_SEARCHED = 1 << 24   # bytes of a frame that is found without knowing where it begins

# Whether frames, of any version, follow one another.
cdef enum:
    CHAIN_NO
    CHAIN_WAIT              # as far as there are bytes
    CHAIN_YES
    CHAIN_FRAMES = 64       # and so many bytes of them need no more proof
    CHAIN_BYTES = 1 << 15

cdef uint32_t ALL_FIELDS = 0xFFFFFFFF
# Those that put deliveries together: handle, delivery_id, delivery_tag, message_format, more, aborted.
cdef uint32_t DELIVERY_FIELDS = 0x22F

# The performative of a whole frame, and the fields of it that were asked for; null where they are not there.
cdef struct V1Look:
    const V1Desc* desc
    const uint8_t* payload      # what comes after it
    V1Value[V1_MAX_FIELDS] v


cdef inline bint is_protocol_header(const uint8_t* p, size_t n) noexcept nogil:
    return n >= 8 and memcmp(p, <const char*>b"AMQP", 4) == 0


cdef inline bint v1_is_header(const uint8_t* p, size_t n) noexcept nogil:
    """Whether a protocol header of AMQP 1.0 stands at p: plain, TLS or SASL."""
    return (is_protocol_header(p, n)
            and load32(p + 4) & 0x00FFFFFF == 0x00010000 and (p[4] == 0 or p[4] == 2 or p[4] == 3))


cdef inline const V1Desc* v1_find_descriptor(const V1Types* types, Cursor* c, uint8_t frame_type) noexcept nogil:
    """The performative whose descriptor stands at the cursor, which steps over it; NULL where it is none
    of this kind of frame."""
    cdef const V1Desc* d
    if c.end - c.p < 1 or c.p[0] != 0:
        return NULL
    c.p += 1
    d = v1_known(types, c)
    if d == NULL or d.frame != (V1_AMQP_FRAME if frame_type == V1_FRAME_AMQP else V1_SASL_FRAME):
        return NULL
    return d


cdef bint v1_read_performative(const V1Types* types, const uint8_t* p, size_t n, V1Look* out,
                               uint32_t mask) noexcept nogil:
    """The performative of the whole frame of n bytes at p. False: it has none that can be read.

    mask: the fields that matter; with all bits, everything has to be in order.
    """
    cdef Fault fault
    cdef Cursor c
    cdef V1Check k
    cdef int i
    cdef size_t skip = 4 * <size_t>p[4]
    if n < 8 or skip < 8 or skip > n:
        return False
    begin_cursor(&c, &fault, p + skip, p + n, p, 0)
    out.desc = v1_find_descriptor(types, &c, p[5])
    if out.desc == NULL:
        return False
    v1_verify_begin(&k, types)
    if v1_verify_fields(out.desc, &c, &k, 1, out.v, mask) < 0:
        return False
    out.payload = c.p
    if mask != ALL_FIELDS:
        return True
    for i in range(out.desc.n):
        if out.desc.op[i].mandatory and out.v[i].wire_type == V1_NULL:
            return False
    return c.p == c.end or out.desc.code == DESC_TRANSFER


# ---- where frames begin ----

cdef bint v1_plausible(const V1Types* types, const uint8_t* p, size_t n, uint64_t limit) noexcept nogil:
    """Whether the n > 0 bytes at p can be the beginning of a frame: as many of them as there are."""
    cdef Fault fault
    cdef Cursor c
    cdef const V1Desc* d
    cdef uint64_t size
    cdef size_t skip
    cdef uint8_t code, wire_type
    if n < 4:
        return p[0] <= limit >> 24
    size = load32(p)
    if size < 8 or size > max(limit, <uint64_t>V1_LARGEST_SEARCHED):
        return False
    if n < 8:
        return (n == 4 or p[4] >= 2) and (n < 6 or p[5] <= V1_FRAME_SASL)
    skip = 4 * <size_t>p[4]
    if skip < 8 or skip > size or p[5] > V1_FRAME_SASL:
        return False
    if skip == size:
        return p[5] == V1_FRAME_AMQP        # a heartbeat
    if n <= skip + 1:
        return size <= limit and (n <= skip or p[skip] == CTOR_DESCRIBED)
    if p[skip] != CTOR_DESCRIBED:
        return False
    code = p[skip + 1]
    wire_type = CTOR_WIRE_TYPE[code]
    if wire_type != V1_SYMBOL and (wire_type != V1_ULONG or code == CTOR_ULONG0):
        return False
    begin_cursor(&c, &fault, p + skip, p + min(<uint64_t>n, size), p, 0)
    d = v1_find_descriptor(types, &c, p[5])
    if d == NULL:
        return n < size and n - skip < 64 and size <= limit      # more of it may come
    # Only a payload has no bound but that of the link.
    if size > limit and d.code != DESC_TRANSFER:
        return False
    return c.p == c.end or CTOR_WIRE_TYPE[c.p[0]] == V1_LIST


cdef bint v1_strict(const V1Types* types, const uint8_t* p, uint64_t size) noexcept nogil:
    """Whether a whole frame, which is plausible, reads as what it says it is."""
    cdef V1Look look
    return 4 * <uint64_t>p[4] == size or v1_read_performative(types, p, <size_t>size, &look, ALL_FIELDS)


cdef int v1_chain(const V1Types* types, const uint8_t* p, size_t n, uint64_t limit, bint final,
                  size_t* second, size_t* stop) noexcept nogil:
    """As follow_chain: whether frames, protocol headers among them, follow each other from p on.

    Where they do not: second, where the one after the first begins, and stop, where none does.
    """
    cdef size_t at = 0
    cdef uint64_t size
    cdef int count = 0
    second[0] = 0
    while at < n:
        stop[0] = at
        if p[at] == c'A':
            if memcmp(p + at, <const char*>b"AMQP\0\1\0\0", min(n - at, <size_t>4)) != 0:
                return CHAIN_NO
            if n - at < 8:
                break
            if not v1_is_header(p + at, n - at):
                return CHAIN_NO
            size = 8
        else:
            if not v1_plausible(types, p + at, n - at, limit):
                return CHAIN_NO
            if n - at < 8:
                break
            size = load32(p + at)
            if size > n - at:
                break
            if (count == 0 or size > limit) and not v1_strict(types, p + at, size):
                return CHAIN_NO
        count += 1
        at += <size_t>size
        if count == 1:
            second[0] = at
        if count >= 3 and (at >= limit or (count >= CHAIN_FRAMES and at >= CHAIN_BYTES)):
            return CHAIN_YES
    if not final:
        return CHAIN_WAIT
    return CHAIN_YES if count > 0 else CHAIN_NO
