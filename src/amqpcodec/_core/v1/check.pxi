# The check pass of the v1 family: structure, text, depth and counts of a value, without making any.

def get_max_empty_elements():
    """See amqpcodec.limits."""
    return V1_EMPTY_LIMIT


def set_max_empty_elements(limit):
    """See amqpcodec.limits."""
    global V1_EMPTY_LIMIT
    V1_EMPTY_LIMIT = <uint64_t>checked_limit("max_empty_elements", limit, 0, MAX_U32)


cdef void v1_check_begin(V1Check* k, uint64_t zero_width) noexcept nogil:
    """For structure."""
    k.zero_width = zero_width
    k.unusual = k.described = False
    k.known = NULL


cdef bint v1_is_scalar_value(uint32_t u) noexcept nogil:
    """Whether a number is that of a Unicode character."""
    return u < 0xD800 or 0xDFFF < u <= 0x10FFFF


cdef int v1_check_scalar(Cursor* c, const V1Value* v) noexcept nogil:
    """The content of a value that is no compound; the cursor is after it."""
    if v.wire_type == V1_CHAR:
        if not v1_is_scalar_value(<uint32_t>v.u):
            c.p -= 4
            return fail(c, V1_BAD_TEXT, b"char is not a Unicode character", 0, 0)
    elif AMQP_UNLIKELY(not v1_can_hold(v.wire_type, v.p, v.n)):
        c.p = v.p
        return fail(c, V1_BAD_TEXT, (b"string is not UTF-8" if v.wire_type == V1_STRING
                                     else b"symbol is not ASCII"), 0, 0)
    return 0


cdef int v1_check(Cursor* c, V1Check* k, int depth) noexcept nogil:
    """Step over one value; 0, or -1 with the fault noted. depth: levels that are open around it."""
    cdef V1Value v
    cdef int status
    if v1_read(c, &v) < 0:
        return -1
    if v.wire_type == V1_DESCRIBED:
        if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
            return fail(c, BAD_DEPTH, NULL, 0, 0)
        k.described = True
        if k.known != NULL:
            status = k.known(c, k, depth + 1)
            if status != 0:
                return min(status, 0)
        if AMQP_LIKELY(c.p < c.end) and c.p[0] != CTOR_SMALLULONG and c.p[0] != CTOR_SYM8:
            k.unusual = True
        if v1_check_descriptor(c, k, depth + 1) < 0:
            return -1
        return v1_check(c, k, depth + 1)
    return v1_check_content(c, &v, k, depth)


cdef int v1_check_descriptor(Cursor* c, V1Check* k, int depth) noexcept nogil:
    """A descriptor: an int in it is a ulong on the way out, so only those forms are what encode writes."""
    cdef bint unusual = k.unusual
    cdef const uint8_t* start = c.p
    if v1_check(c, k, depth) < 0:
        return -1
    if (start[0] == CTOR_SMALLULONG and start[1]) or start[0] == CTOR_SYM8:
        k.unusual = unusual
    return 0


cdef int v1_skip_described(Cursor* c, int depth, uint64_t zero_width) noexcept nogil:
    """Step over a described value whose zero byte was read: the structure of its descriptor, and of what that
    describes. depth, zero_width: around it."""
    cdef V1Check k
    v1_check_begin(&k, zero_width)
    if v1_check(c, &k, depth) < 0:
        return -1
    return v1_check(c, &k, depth)


cdef int v1_check_content(Cursor* c, const V1Value* v, V1Check* k, int depth) noexcept nogil:
    """What stands inside of a value that was read."""
    cdef Cursor inner
    cdef uint32_t i
    if not v1_minimal(v) or not V1_PLAIN[v.wire_type]:
        k.unusual = True
    if v.wire_type < V1_LIST:
        return v1_check_scalar(c, v)
    if AMQP_UNLIKELY(depth >= DEPTH_LIMIT):
        return fail(c, BAD_DEPTH, NULL, 0, 0)
    if v.wire_type == V1_ARRAY:
        v1_inside(c, v, &inner)
        return v1_check_array(&inner, v, k, depth + 1)
    if v1_open_items(c, v, &inner) < 0:
        return -1
    for i in range(v.count):
        if v1_check(&inner, k, depth + 1) < 0:
            return -1
    return v1_end_items(&inner, v.wire_type)


cdef int v1_check_array(Cursor* c, const V1Value* v, V1Check* k, int depth) noexcept nogil:
    """The constructor that all elements share, and the elements."""
    cdef V1Value x
    cdef uint8_t code
    cdef uint32_t i
    if v1_array_constructor(c, k, &code, &depth) < 0:
        return -1
    if v1_count_fits(c, v.count, code, k) < 0:
        return -1
    x.wire_type = CTOR_WIRE_TYPE[code]
    if code >> 4 == CATEGORY_FIXED0:
        if AMQP_UNLIKELY(x.wire_type == V1_LIST and v.count and depth >= DEPTH_LIMIT):
            return fail(c, BAD_DEPTH, NULL, 0, 0)
    else:
        for i in range(v.count):
            if v1_content(c, &x, code) < 0 or v1_check_content(c, &x, k, depth) < 0:
                return -1
    return v1_end_items(c, V1_ARRAY)


cdef int v1_array_constructor(Cursor* c, V1Check* k, uint8_t* code, int* depth) noexcept nogil:
    """Step over the descriptors of an array's constructor, each a level, to the byte after it."""
    while True:
        if c.p >= c.end:
            return fail(c, BAD_TRUNCATED, b"constructor", 1, 0)
        code[0] = c.p[0]
        if code[0] != 0:
            break
        c.p += 1
        if AMQP_UNLIKELY(depth[0] >= DEPTH_LIMIT):
            return fail(c, BAD_DEPTH, NULL, 0, 0)
        depth[0] += 1
        k.described = True
        if v1_check(c, k, depth[0]) < 0:
            return -1
    if CTOR_WIRE_TYPE[code[0]] == V1_UNKNOWN:
        return fail(c, V1_BAD_CONSTRUCTOR, NULL, 0, code[0])
    c.p += 1
    return 0


cdef int v1_count_fits(Cursor* c, uint32_t count, uint8_t code, V1Check* k) noexcept nogil:
    """Elements must have bytes to be made of; those that have none are counted for the whole value."""
    if code >> 4 == CATEGORY_FIXED0:
        k.zero_width += count
        if k.zero_width > V1_EMPTY_LIMIT:
            fail(c, V1_BAD_COUNT, NULL, k.zero_width, 0)
            if c.fault.code == V1_BAD_COUNT:
                c.fault.have = V1_EMPTY_LIMIT
            return -1
        return 0
    if <size_t>(c.end - c.p) < count:
        return fail(c, V1_BAD_SIZE, b"array", 0, 0)
    return 0
