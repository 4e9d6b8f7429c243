# What other files use of write.pxi.

# A growing run of bytes. It begins in memory of the caller's stack and moves to the heap when that is full.
# The rule: no store without its own reservation. buffer_extend reserves and goes on in one call, and the
# caller stores these bytes and no others; where only the most is known before, buffer_reserve and
# buffer_commit stand in one function. What lies before p may be filled in later.
cdef struct Buffer:
    uint8_t* start
    uint8_t* p              # the end of what was reserved and stored
    uint8_t* end
    uint8_t* promised       # see wire/promise.h
    bint on_heap

cdef inline void buffer_init(Buffer* b, uint8_t* memory, size_t n) noexcept nogil:
    b.start = memory
    b.p = memory
    b.end = memory + n
    b.on_heap = False
    promise_begin(&b.promised, b.p, b.end)

cdef inline void buffer_free(Buffer* b) noexcept nogil:
    """Give the memory back. Every buffer_init needs it, also where the writer raised."""
    promise_end(&b.promised, b.p, b.end)
    if b.on_heap:
        free(b.start)

cdef int buffer_grow(Buffer* b, size_t n) except -1

cdef inline size_t buffer_size(const Buffer* b) noexcept nogil:
    """Bytes that were stored."""
    return <size_t>(b.p - b.start)

cdef inline uint8_t* buffer_reserve(Buffer* b, size_t most) except NULL:
    """The place for up to this many bytes; buffer_commit says how many were stored."""
    cdef uint8_t* w
    if AMQP_UNLIKELY(<size_t>(b.end - b.p) < most):
        buffer_grow(b, most)
    promise_make(&b.promised, b.p, most, b.end)
    w = b.p
    AMQP_ASSUME(w != NULL)
    return w

cdef inline void buffer_commit(Buffer* b, uint8_t* w) noexcept nogil:
    """The bytes that buffer_reserve gave the place for were stored up to w."""
    b.p = w
    promise_check(b.promised, b.p, b.end)

cdef inline uint8_t* buffer_extend(Buffer* b, size_t n) except NULL:
    """The place for exactly n bytes, which count as stored: the caller stores all of them."""
    cdef uint8_t* w = buffer_reserve(b, n)
    b.p = w + n
    return w

cdef inline void buffer_truncate(Buffer* b, size_t size) noexcept nogil:
    """Forget what was stored after this many bytes."""
    b.p = b.start + size

cdef inline bytes buffer_bytes(Buffer* b):
    """A copy of what was stored."""
    promise_check(b.promised, b.p, b.end)
    return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)

cdef inline int put_bytes(Buffer* b, const void* p, size_t n) except -1:
    memcpy(buffer_extend(b, n), p, n)
    return 0

cdef inline int put_byte(Buffer* b, uint8_t byte) except -1:
    buffer_extend(b, 1)[0] = byte
    return 0

cdef inline int put_int(Buffer* b, uint8_t tag, uint64_t v, int width) except -1:
    """The tag, and an int of this many bytes after it."""
    cdef uint8_t* w = buffer_extend(b, 1 + <size_t>width)
    w[0] = tag
    store_uint(w + 1, v, width)
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
