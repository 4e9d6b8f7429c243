# AMQP 1.0: values that were written one by one, each with its constructor, as the elements of an array.

cdef int v1e_elements(Buffer* b, size_t first, uint64_t count, Fault* f) noexcept nogil:
    """Make the values that were written from `first` on a constructor and contents."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Value v
    cdef uint64_t i
    cdef bint negative = False
    cdef uint8_t wire_type = V1_NULL
    memset(&v, 0, sizeof(V1Value))      # compilers do not see that it is always read
    begin_cursor(&c, &fault, b.start + first, b.p, b.start, 0)
    for i in range(count):
        v1_read(&c, &v)
        if v.wire_type == V1_DESCRIBED:
            return refuse(f, b'JSON: described elements are {"$described_array": [descriptor, array]}', NULL, 0)
        if v.wire_type == V1_LONG and <int64_t>v.u < 0:
            negative = True
        if i == 0:
            wire_type = v.wire_type
        elif ((wire_type == V1_ULONG and v.wire_type == V1_LONG)
              or (wire_type == V1_LONG and v.wire_type == V1_ULONG)):
            wire_type = V1_ULONG     # of whole numbers, some beyond 63 bits
        elif v.wire_type != wire_type:
            return refuse(f, b"JSON: the elements of an array are of one type, not %s and others",
                          V1_NAMES[wire_type], 0)
    if wire_type == V1_ULONG and negative:
        return refuse(f, b"JSON: no type holds all whole numbers of this array", NULL, 0)
    if wire_type == V1_NULL and count > V1_EMPTY_LIMIT:
        return refuse(f, b"an array takes at most %llu nulls", NULL, V1_EMPTY_LIMIT)
    return v1_join_items(b, first, count, wire_type)


cdef int v1e_symbols(Buffer* b, size_t at, uint64_t count, Fault* f) noexcept nogil:
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
    status = v1e_elements(b, first, count, f)
    return v1e_close(b, at, V1_ARRAY, count, f) if status == 0 else status
