# AMQP 1.0: values that were written one by one, each with its constructor, as the elements of an array,
# with the smallest that holds them all.

# What the elements of an array have in common.
cdef struct V1Common:
    uint8_t wire_type
    uint8_t code            # their constructor
    size_t n                # bytes of all contents


cdef int v1e_common(const uint8_t* p, const uint8_t* end, uint64_t count, V1Common* out,
                    Refusal* r) noexcept nogil:
    """Look at the values from p to end: 0, or REFUSED where they are of more than one type."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Value v
    cdef uint64_t i
    cdef size_t narrow_n = 0, wide_n = 0
    cdef bint narrow = True, negative = False
    out.wire_type = V1_NULL
    memset(&v, 0, sizeof(V1Value))      # compilers do not see that it is always read
    v1_begin(&c, &fault, p, end, p, 0)
    for i in range(count):
        v1_read(&c, &v)
        if v.wire_type == V1_DESCRIBED:
            return refuse(r, b'JSON: described elements are {"$described_array": [descriptor, array]}', NULL, 0)
        if v.wire_type == V1_LONG and <int64_t>v.u < 0:
            negative = True
        if i == 0:
            out.wire_type = v.wire_type
        elif ((out.wire_type == V1_ULONG and v.wire_type == V1_LONG)
              or (out.wire_type == V1_LONG and v.wire_type == V1_ULONG)):
            out.wire_type = V1_ULONG     # of whole numbers, some beyond 63 bits
        elif v.wire_type != out.wire_type:
            return refuse(r, b"JSON: the elements of an array are of one type, not %s and others",
                          V1_NAMES[out.wire_type], 0)
        if v.wire_type >= V1_LIST:
            narrow = narrow and v.n <= 254 and v.count <= 255
            narrow_n += 2 + v.n
            wide_n += 8 + v.n
        elif v.wire_type >= V1_BINARY:
            narrow = narrow and v.n <= 255
            narrow_n += 1 + v.n
            wide_n += 4 + v.n
        else:
            narrow = narrow and v1_narrow(v.wire_type, v.u)
    if out.wire_type == V1_ULONG and negative:
        return refuse(r, b"JSON: no type holds all whole numbers of this array", NULL, 0)
    if out.wire_type == V1_NULL and count > V1_EMPTY_LIMIT:
        return refuse(r, b"an array takes at most %llu nulls", NULL, V1_EMPTY_LIMIT)
    narrow = narrow and CTOR_NARROW[out.wire_type] != 0
    out.code = CTOR_NARROW[out.wire_type] if narrow else CTOR_WIDE[out.wire_type]
    if out.wire_type >= V1_BINARY:
        out.n = narrow_n if narrow else wide_n
    else:
        out.n = <size_t>count * CTOR_WIDTH[out.code]
    return 0


cdef int v1e_elements(Buffer* b, size_t first, uint64_t count, Refusal* r) noexcept nogil:
    """Make the values that were written from `first` on a constructor and contents."""
    cdef V1Common common
    cdef Cursor c
    cdef Fault fault
    cdef V1Value v
    cdef uint64_t i
    cdef uint8_t* w
    cdef uint8_t category
    cdef int status = v1e_common(b.start + first, b.p, count, &common, r)
    if status != 0:
        return status
    if buffer_ensure(b, 1 + common.n) < 0:
        return NO_MEMORY
    category = common.code >> 4
    v1_begin(&c, &fault, b.start + first, b.p, b.start, 0)
    w = b.p
    w[0] = common.code
    w += 1
    for i in range(count):
        v1_read(&c, &v)
        if common.wire_type < V1_BINARY and category != CATEGORY_FIXED16:
            if common.wire_type != V1_NULL:
                store_uint(w, v.u, CTOR_WIDTH[common.code])
                w += CTOR_WIDTH[common.code]
            continue
        if category == CATEGORY_VARIABLE1:
            w[0] = <uint8_t>v.n
            w += 1
        elif category == CATEGORY_VARIABLE4:
            store32(w, v.n)
            w += 4
        elif category == CATEGORY_COMPOUND1 or category == CATEGORY_ARRAY1:
            w[0] = <uint8_t>(v.n + 1)
            w[1] = <uint8_t>v.count
            w += 2
        elif category != CATEGORY_FIXED16:
            store32(w, v.n + 4)
            store32(w + 4, v.count)
            w += 8
        memcpy(w, v.p, v.n)
        w += v.n
    memmove(b.start + first, b.p, 1 + common.n)
    buffer_commit(b, b.start + first + 1 + common.n)
    return 0


cdef int v1e_symbols(Buffer* b, size_t at, uint64_t count, Refusal* r) noexcept nogil:
    """Make what was written as symbols what a field of many takes: null, the one, or an array. `at`: where
    the array's head has its room."""
    cdef size_t first = at + V1_HEAD_BYTES, n
    cdef int status
    if count == 0:
        buffer_truncate(b, at)
        return buffer_put_byte(b, CTOR_NULL)
    if count == 1:
        n = buffer_size(b) - first
        memmove(b.start + at, b.start + first, n)
        buffer_truncate(b, at + n)
        return 0
    status = v1e_elements(b, first, count, r)
    return v1e_close(b, at, V1_ARRAY, count, r) if status == 0 else status
