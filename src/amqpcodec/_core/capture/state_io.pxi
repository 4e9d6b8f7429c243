# Numbers and bytes of a reader's state: one function writes or reads each, so that both agree.
#
# Numbers are written with 7 bits a byte, the lowest first, the sign in the lowest bit.

cdef int64_t NUMBER_LIMIT = <int64_t>1 << 60
cdef int64_t LOWEST_POSITION = <int64_t>1 << 39     # FIRST_POSITION, less what sequence numbers may go back

# Bytes that may be missing after the place where a direction is: both it and the end that was told of are within
# what sequence numbers can tell (2³¹) of its first segment, before or after.
cdef int64_t FAR_AHEAD = <int64_t>1 << 33

cdef struct StateIO:
    bint writing
    bint bad
    int64_t files           # names that packets may tell of
    bint noting             # where each number begins
    Block starts            # int64
    size_t n_starts
    Block out
    size_t n
    const uint8_t* p
    const uint8_t* end


cdef void io_bytes(StateIO* io, uint8_t* p, size_t n) noexcept nogil:
    if io.writing:
        io.bad = io.bad or bytes_add(&io.out, &io.n, p, n) < 0
    elif io.bad or <size_t>(io.end - io.p) < n:
        io.bad = True
    elif n:
        memcpy(p, io.p, n)
        io.p += n


cdef void add_start(StateIO* io) noexcept nogil:
    cdef int64_t* start = <int64_t*>items_add(&io.starts, &io.n_starts, sizeof(int64_t))
    if start == NULL:
        io.bad = True
    else:
        start[0] = <int64_t>io.n


cdef int64_t io_number(StateIO* io, int64_t v) noexcept nogil:
    """Write v, or else read a number; what it is."""
    cdef uint64_t x = 0
    cdef int shift = 0
    cdef uint8_t part
    if io.writing:
        if io.noting:
            add_start(io)
        x = <uint64_t>v << 1 ^ <uint64_t>(v >> 63)
        while x >= 128:
            part = <uint8_t>(x & 127 | 128)
            io_bytes(io, &part, 1)
            x >>= 7
        part = <uint8_t>x
        io_bytes(io, &part, 1)
        return v
    while True:
        part = 0
        io_bytes(io, &part, 1)
        if io.bad or shift > 63:
            io.bad = True
            return 0
        x |= <uint64_t>(part & 127) << shift
        shift += 7
        if part < 128:
            return <int64_t>(x >> 1) ^ -<int64_t>(x & 1)


cdef uint64_t io_count(StateIO* io, uint64_t v) noexcept nogil:
    return <uint64_t>io_number(io, <int64_t>v)


cdef size_t io_size(StateIO* io, size_t v, size_t limit) noexcept nogil:
    """A number of bytes or items that follow: each takes a byte at least."""
    cdef uint64_t n = io_count(io, v)
    if not io.writing and (n > limit or n > <uint64_t>(io.end - io.p)):
        io.bad = True
        return 0
    return <size_t>n


cdef int64_t io_ranged(StateIO* io, int64_t v, int64_t low, int64_t high) noexcept nogil:
    """A number from low to high; another one is read as low, and the state is bad."""
    v = io_number(io, v)
    if not io.writing and not low <= v <= high:
        io.bad = True
        return low
    return v


cdef inline bint io_flag(StateIO* io, bint v) noexcept nogil:
    return io_ranged(io, v, 0, 1) != 0


cdef int32_t io_slot(StateIO* io, int32_t slot) noexcept nogil:
    return <int32_t>io_ranged(io, slot, 0, max(io.files - 1, <int64_t>0))


cdef void io_mark(StateIO* io, Mark* m) noexcept nogil:
    m.at = io_ranged(io, m.at, 0, NUMBER_LIMIT)
    m.time = io_number(io, m.time)
    m.number = <uint64_t>io_ranged(io, <int64_t>m.number, 0, NUMBER_LIMIT)
    m.file_at = <uint64_t>io_ranged(io, <int64_t>m.file_at, 0, NUMBER_LIMIT)
    m.turn = <uint64_t>io_ranged(io, <int64_t>m.turn, 0, NUMBER_LIMIT)
    m.rows = <int32_t>io_ranged(io, m.rows, 0, 1 << 30)
    m.file = io_slot(io, m.file)
