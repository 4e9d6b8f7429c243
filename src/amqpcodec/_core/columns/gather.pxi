# Arrow in, other than one plain binary array: streams of arrays, views and dictionaries, copied into one.

cdef enum:
    GATHER_OFFSETS          # int32
    GATHER_LONG_OFFSETS
    GATHER_VIEWS
    GATHER_BAD = -5         # an array that contradicts itself
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
    uint64_t used           # bytes
    Block ends              # int64, n + 1 of them
    Block present           # a bit each
    Block* data

# An array of bytes, and numbers in it where there is a dictionary.
cdef struct Chunk:
    int way
    const ArrowArray* values
    const ArrowArray* indices       # or NULL
    int width               # of an index, bytes
    bint signed_
    int64_t last            # of values with offsets: where the last one ends, as it was said at first


cdef int chunk_way(const ArrowSchema* s) except -1:
    """How values are laid out. Raises TypeError for what is no binary."""
    cdef str name = "no format" if s.format == NULL else s.format.decode("utf-8", "replace")
    if name == "z":
        return GATHER_OFFSETS
    if name == "Z":
        return GATHER_LONG_OFFSETS
    if name == "vz":
        return GATHER_VIEWS
    raise TypeError("takes an Arrow array of binary, large_binary, binary_view or a dictionary of these, not "
                    + ARROW_NAMES.get(name, f"format {name!r}"))


cdef int read_chunk(const ArrowSchema* s, const ArrowArray* a, Chunk* to) except -1:
    cdef const ArrowSchema* of = s if s.dictionary == NULL else s.dictionary
    cdef str index
    memset(to, 0, sizeof(Chunk))
    if s.format == NULL:
        raise ValueError("the Arrow schema has no format")
    to.way = chunk_way(of)
    to.values = a
    if s.dictionary != NULL:
        index = s.format.decode("utf-8", "replace")
        if index not in ("c", "C", "s", "S", "i", "I", "l", "L") or a.dictionary == NULL or a.n_buffers != 2:
            raise ValueError("the Arrow array does not have the shape of a dictionary")
        to.width = 1 << ("cCsSiIlL".index(index) >> 1)
        to.signed_ = index.islower()
        to.indices = a
        to.values = a.dictionary
        if a.length > 0 and (a.buffers == NULL or a.buffers[1] == NULL):
            raise ValueError("the Arrow array has no indices")
    if a.length < 0 or a.offset < 0 or to.values.length < 0 or to.values.offset < 0 \
            or to.values.n_buffers < 3 or to.values.buffers == NULL \
            or (to.values.n_buffers != 3 and to.way != GATHER_VIEWS) \
            or max(a.length, to.values.length) > MOST_VALUES \
            or max(a.offset, to.values.offset) > <int64_t>HIGHEST_INT64 - MOST_VALUES:
        raise ValueError("the Arrow array does not have the shape of a binary array")
    if to.values.length and to.values.buffers[1] == NULL:
        raise ValueError("the Arrow array has no offsets")
    if to.values.n_buffers > 3 and to.values.buffers[to.values.n_buffers - 1] == NULL:
        raise ValueError("the Arrow array does not say how long its pieces are")
    if to.values.length and to.way != GATHER_VIEWS:
        to.last = offset_at(to, to.values.offset + to.values.length)
    return 0


cdef inline int64_t offset_at(const Chunk* c, int64_t i) noexcept nogil:
    if c.way == GATHER_OFFSETS:
        return read_once_32(<const int32_t*>c.values.buffers[1] + i)
    return read_once_64(<const int64_t*>c.values.buffers[1] + i)


cdef inline bint array_has(const ArrowArray* a, int64_t i) noexcept nogil:
    cdef const uint8_t* valid = <const uint8_t*>a.buffers[0]
    return a.null_count == 0 or valid == NULL or valid[(a.offset + i) >> 3] >> ((a.offset + i) & 7) & 1


cdef int64_t index_at(const Chunk* c, int64_t i) noexcept nogil:
    """What the dictionary calls value i; -1: nothing that it can be."""
    cdef const void* p = c.indices.buffers[1]
    cdef int64_t k
    i += c.indices.offset
    if c.width == 1:
        k = (<const int8_t*>p)[i] if c.signed_ else (<const uint8_t*>p)[i]
    elif c.width == 2:
        k = (<const int16_t*>p)[i] if c.signed_ else (<const uint16_t*>p)[i]
    elif c.width == 4:
        k = read_once_32(<const int32_t*>p + i)
        if not c.signed_:
            k = <int64_t><uint32_t>k
    else:
        k = read_once_64(<const int64_t*>p + i)
    return k if 0 <= k < c.values.length else -1


cdef int bytes_at(const Chunk* c, int64_t i, const uint8_t** at, uint64_t* n) noexcept nogil:
    """Where value i of c.values lies; 0 or GATHER_BAD."""
    cdef const ArrowArray* a = c.values
    cdef const int32_t* view
    cdef int64_t from_, to, k, size
    i += a.offset
    if c.way == GATHER_VIEWS:
        view = <const int32_t*>a.buffers[1] + 4 * i
        size = read_once_32(view)
        if size < 0:
            return GATHER_BAD
        n[0] = <uint64_t>size
        if size <= 12:
            at[0] = <const uint8_t*>(view + 1)
            return 0
        k = read_once_32(view + 2)
        from_ = read_once_32(view + 3)
        if k < 0 or k >= a.n_buffers - 3 or from_ < 0 or a.buffers[2 + k] == NULL:
            return GATHER_BAD
        if from_ + size > read_once_64(<const int64_t*>a.buffers[a.n_buffers - 1] + k):
            return GATHER_BAD
        at[0] = <const uint8_t*>a.buffers[2 + k] + from_
        return 0
    from_ = offset_at(c, i)
    to = offset_at(c, i + 1)
    if from_ < 0 or to < from_ or to > c.last or (to > from_ and a.buffers[2] == NULL):
        return GATHER_BAD
    at[0] = <const uint8_t*>a.buffers[2] + from_
    n[0] = <uint64_t>(to - from_)
    return 0


cdef int gather_rows(Gathered* g, const Chunk* c) noexcept nogil:
    """All values of a chunk; 0 or a status below 0."""
    cdef const ArrowArray* rows = c.indices if c.indices != NULL else c.values
    cdef int64_t* ends
    cdef int64_t i, k
    cdef uint64_t n
    cdef const uint8_t* at
    cdef size_t bits = (<size_t>(g.n + rows.length) + 7) // 8
    if (<size_t>(g.n + rows.length) + 1) * sizeof(int64_t) > g.ends.room and block_room(
            &g.ends, (<size_t>g.n + 1) * sizeof(int64_t) if g.n else 0,
            2 * (<size_t>(g.n + rows.length) + 1) * sizeof(int64_t)) < 0:
        return NO_MEMORY
    if bits > g.present.room and block_room(&g.present, (<size_t>g.n + 7) // 8, 2 * bits) < 0:
        return NO_MEMORY
    ends = <int64_t*>g.ends.p
    if g.n == 0:
        ends[0] = 0
    memset(g.present.p + (<size_t>g.n + 7) // 8, 0, bits - (<size_t>g.n + 7) // 8)
    for i in range(rows.length):
        n = 0
        k = -1
        if array_has(rows, i):
            k = i if c.indices == NULL else index_at(c, i)
            if k < 0:
                return GATHER_BAD
        if k >= 0 and array_has(c.values, k):
            if bytes_at(c, k, &at, &n) < 0:
                return GATHER_BAD
            if g.used + n > GATHER_MOST:
                return GATHER_LARGE
            if g.used + n > g.data.room and block_room(g.data, g.used, 2 * (g.used + n) + 4096) < 0:
                return NO_MEMORY
            memcpy(g.data.p + g.used, at, n)
            g.present.p[g.n >> 3] |= <uint8_t>(1 << (g.n & 7))
        g.used += n
        g.n += 1
        ends[g.n] = <int64_t>g.used
    return 0


cdef int gather_chunk(Gathered* g, const ArrowSchema* s, const ArrowArray* a) except -1:
    cdef Chunk c
    cdef int status
    read_chunk(s, a, &c)
    with nogil:
        status = gather_rows(g, &c)
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
    cdef ArrowArrayStream* stream = begin_stream(capsule, &schema)
    try:
        chunk_way(&schema if schema.dictionary == NULL else schema.dictionary)
        while next_array(stream, &a):
            try:
                gather_chunk(g, &schema, &a)
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
