# What other files use of write.pxi.

# A growing run of bytes. Starts in memory of the caller's stack, moves to the heap when that is full.
cdef struct Buffer:
    uint8_t* start
    uint8_t* p
    uint8_t* end
    bint on_heap

cdef inline void buffer_init(Buffer* b, uint8_t* memory, size_t n) noexcept nogil:
    b.start = memory
    b.p = memory
    b.end = memory + n
    b.on_heap = False

cdef inline void buffer_free(Buffer* b) noexcept nogil:
    if b.on_heap:
        free(b.start)

cdef int buffer_grow(Buffer* b, size_t n) except -1

cdef inline int buffer_room(Buffer* b, size_t n) except -1:
    """Make sure of n bytes after b.p."""
    if AMQP_UNLIKELY(<size_t>(b.end - b.p) < n):
        return buffer_grow(b, n)
    return 0

cdef inline int put_bytes(Buffer* b, const void* p, size_t n) except -1:
    buffer_room(b, n)
    memcpy(b.p, p, n)
    b.p += n
    return 0

cdef inline int put_tag(Buffer* b, uint8_t tag, size_t n) except -1:
    """The tag, and room for the n bytes after it."""
    buffer_room(b, n + 1)
    b.p[0] = tag
    b.p += 1
    return 0

cdef inline int put_int(Buffer* b, uint8_t tag, uint64_t v, int width) except -1:
    """The tag, and an int of so many bytes after it."""
    put_tag(b, tag, <size_t>width)
    if width == 1:
        b.p[0] = <uint8_t>v
    elif width == 2:
        store16(b.p, <uint16_t>v)
    elif width == 4:
        store32(b.p, <uint32_t>v)
    else:
        store64(b.p, v)
    b.p += width
    return 0

# A level of the path to a value: the name of its entry, or its index where there is none.
cdef struct Step:
    const Step* outer
    PyObject* name          # borrowed, or NULL
    Py_ssize_t index        # -1: of no item, but of all that hold them

# Where an EncodeError is: the argument, and the path of names and indexes inside its value.
cdef struct Place:
    PyObject* method
    PyObject* field
    const Step* step        # the innermost, or NULL; it lives as long as what it is of is written

cdef inline void place_begin(Place* at, PyObject* method, PyObject* field) noexcept:
    at.method = method
    at.field = field
    at.step = NULL

cdef int table_error(Place* at, str text) except -1
