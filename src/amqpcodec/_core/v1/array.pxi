# AMQP 1.0: the elements of an array, of which each was written with a constructor of its own.

cdef int v1_join_items(Buffer* b, size_t first, uint64_t count, uint8_t wire_type) noexcept nogil:
    """Write the values from `first` on, all of one type, as one constructor and their contents, in the smallest
    encoding that holds them all; 0 or NO_MEMORY. Longs can be joined as ulongs."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Value v
    cdef uint64_t i
    cdef size_t n = 0, head
    cdef uint8_t* w
    cdef bint narrow = CTOR_NARROW[wire_type] != 0
    cdef bint copied = wire_type >= V1_BINARY or CTOR_WIDE[wire_type] >> 4 == CATEGORY_FIXED16
    memset(&v, 0, sizeof(V1Value))      # compilers do not see that it is always read
    begin_cursor(&c, &fault, b.start + first, b.p, b.start, 0)
    for i in range(count):
        v1_read(&c, &v)
        if copied:
            n += v.n
        if wire_type >= V1_LIST:
            narrow = narrow and v.n <= 254 and v.count <= 255
        elif wire_type >= V1_BINARY:
            narrow = narrow and v.n <= 255
        else:
            narrow = narrow and v1_narrow(wire_type, v.u)
    if wire_type >= V1_BINARY:      # size and, of a compound, count
        head = (1 if narrow else 4) * (2 if wire_type >= V1_LIST else 1)
    else:
        head = 0 if copied else CTOR_WIDTH[CTOR_NARROW[wire_type] if narrow else CTOR_WIDE[wire_type]]
    n += <size_t>count * head
    if buffer_ensure(b, 1 + n) < 0:
        return NO_MEMORY
    begin_cursor(&c, &fault, b.start + first, b.p, b.start, 0)
    w = b.p
    w[0] = CTOR_NARROW[wire_type] if narrow else CTOR_WIDE[wire_type]
    w += 1
    for i in range(count):
        v1_read(&c, &v)
        if wire_type >= V1_LIST and narrow:
            w[0] = <uint8_t>(v.n + 1)
            w[1] = <uint8_t>v.count
        elif wire_type >= V1_LIST:
            store32(w, v.n + 4)
            store32(w + 4, v.count)
        elif head:
            store_uint(w, v.n if copied else v.u, <int>head)
        w += head
        if copied:
            memcpy(w, v.p, v.n)
            w += v.n
    memmove(b.start + first, b.p, 1 + n)
    buffer_commit(b, b.start + first + 1 + n)
    return 0
