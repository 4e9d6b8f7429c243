# What other files use of options.pxi.

cdef object RABBITMQ
cdef object PLAIN
cdef object ERROR
cdef object view_of_copy

cdef enum:
    STACK_ROOM = 4096

# Bytes of a payload or body while they are written.
cdef struct ByteView:
    const uint8_t* p
    uint64_t n
    bint exported           # `view` is to be given back; bytes need no export, the caller holds them
    Py_buffer view

cdef int parse_bytes(object o, ByteView* raw, const char* method, const char* field) except -1

cdef inline void drop_bytes(ByteView* raw) noexcept:
    if raw.exported:
        PyBuffer_Release(&raw.view)

cdef uintptr_t reading_mode(object dialect, object tables, object trailing) except? 0xFFFF
cdef uintptr_t encoding_mode(object dialect) except? 0xFFFF
cdef int parse_channel(object channel) except -1
cdef int64_t parse_frame_max(object frame_max) except -1
