# Arrow in, other than one plain binary array: streams of arrays, views and dictionaries, copied into one.

cdef enum:
    GATHER_LARGE = -6

# Bytes that values may come to, which a dictionary can say over and over: columns end far before it.
cdef extern from *:
    """
    #define GATHER_MOST ((uint64_t)1 << 35)
    """
    uint64_t GATHER_MOST

# Values put one after another.
cdef struct Gathered:
    int64_t n
    size_t used             # bytes
    Block ends              # int64, n + 1 of them
    Block present           # a bit each
    Block* data


cdef int describe_binary(SourceTree tree, const ArrowSchema* s) except -1:
    """Raises TypeError for what is no binary, nor a dictionary of it."""
    cdef const ArrowSchema* of = s if s.dictionary == NULL else s.dictionary
    cdef str name = "no format" if of.format == NULL else of.format.decode("utf-8", "replace")
    if name not in ("z", "Z", "vz"):
        raise TypeError("takes an Arrow array of binary, large_binary, binary_view or a dictionary of these, not "
                        + ARROW_NAMES.get(name, f"format {name!r}"))
    return tree.describe(&tree.root, s, 0)


cdef int gather_rows(Gathered* g, const Source* source, int64_t length) noexcept nogil:
    """All values of a chunk; 0 or a status below 0."""
    cdef const Source* s
    cdef size_t bits = (<size_t>g.n + 7) // 8, more = <size_t>length // 8 + 1
    cdef int64_t* ends = <int64_t*>block_reserve(&g.ends, 8 * <size_t>g.n, 8 * (<size_t>length + 1), 0)
    cdef uint8_t* present = block_reserve(&g.present, bits, more, 0)
    cdef int64_t i, k
    cdef uint64_t n = 0
    cdef const uint8_t* at = NULL
    cdef int status
    if ends == NULL or present == NULL:
        return NO_MEMORY
    ends[0] = <int64_t>g.used
    memset(present, 0, more)
    for i in range(length):
        s = source
        k = i
        status = find_value(&s, &k)
        if status == HAS_VALUE:
            status = bytes_at(s, k, &at, &n)
            if status == 0:
                if g.used + n > GATHER_MOST:
                    return GATHER_LARGE
                if bytes_add(g.data, &g.used, at, n) < 0:
                    return NO_MEMORY
                g.present.p[g.n >> 3] |= <uint8_t>(1 << (g.n & 7))
        if status < 0:
            return status
        g.n += 1
        ends[i + 1] = <int64_t>g.used
    return 0


cdef int gather_chunk(Gathered* g, SourceTree tree, const ArrowArray* a) except -1:
    cdef int status
    bind_source(&tree.root, a, 0, a.length)
    with nogil:
        status = gather_rows(g, &tree.root, a.length)
    if status == NO_MEMORY:
        raise MemoryError
    if status == GATHER_LARGE:
        raise ValueError("the values come to more bytes than columns can hold: decode the input in pieces")
    if status < 0:
        raise ValueError("the Arrow array contradicts itself: a place of its bytes is not there")
    return 0


cdef int gather_stream(Gathered* g, object capsule) except -1:
    """All arrays of a stream."""
    cdef ArrowSchema schema
    cdef ArrowArray a
    cdef SourceTree tree = SourceTree()
    cdef ArrowArrayStream* stream = begin_stream(capsule, &schema)
    try:
        describe_binary(tree, &schema)
        while next_array(stream, &a):
            try:
                gather_chunk(g, tree, &a)
            finally:
                a.release(&a)
    finally:
        schema.release(&schema)
    return 0


cdef bint is_plain(object schema_capsule_) except -1:
    """Whether an array can be read where it is."""
    cdef ArrowSchema* s
    if not PyCapsule_IsValid(schema_capsule_, "arrow_schema"):
        return True             # read_values says what is wrong
    s = <ArrowSchema*>PyCapsule_GetPointer(schema_capsule_, "arrow_schema")
    return s.release == NULL or (s.dictionary == NULL and (
        s.format == NULL or s.format[0] != c"v" or s.format[1] != c"z"))
