# What other files use of stream.pxi.

cdef class Stream:
    cdef Protocol protocol
    cdef uint64_t limit             # frame_max
    cdef uint64_t header_option     # max_header_frame as it was given, or HEADER_FRAME_DEFAULT
    cdef uint64_t header_limit      # what it comes to with this frame_max
    cdef uintptr_t mode
    cdef bint copy
    cdef bint yield_errors
    cdef TextCache* cache
    cdef Buffer head                # own memory, with unread bytes from head_at on
    cdef size_t head_at
    cdef bytes chunk                # the newest bytes, or None
    cdef const uint8_t* p           # unread bytes of the chunk
    cdef const uint8_t* end
    cdef uint64_t at                # offset in the stream of the next frame
    cdef uint64_t taken             # bytes of that frame that are neither in head nor in the chunk
    cdef bytearray inbox
    cdef WireFrame frame
    cdef const uint8_t* frame_start
    cdef bint frame_in_head
    cdef uint16_t channel           # of what read_event() gave last
    cdef bint ready                 # the constructor ran
    cdef Atomic in_use              # a call has begun that reads or changes what is held
    cdef unsigned long fed_by       # the thread that fed last
    cdef int begin(self) except -1
    cdef void end_use(self) noexcept
    cdef int forget(self) except -1
    cdef int check_end(self) except -1
    cdef int configure(self, Protocol protocol, frame_max, errors, dialect, tables, copy,
                       trailing, max_header_frame) except -1
    cdef int set_header_limit(self, value) except -1
    cdef void apply_header_limit(self) noexcept
    cdef object fault_error(self, const Fault* fault)
    cdef object incomplete(self, const char* what, uint64_t have)
    cdef int save(self, const uint8_t* p, size_t n) except -1
    cdef int gather(self, size_t n) except -1
    cdef void leave_chunk(self) noexcept
    cdef int scan(self, Fault* fault) except -2
    cdef void pass_frame(self) noexcept
    cdef void pass_bytes(self, bint in_head, size_t n) noexcept
    cdef PyObject* decode(self) except NULL
    cdef object bad_frame(self, object error)
    cdef object bad_frame_class(self)
    cdef object skip_bad_frame(self, object error)
    cdef object fault_or_raise(self, Fault* fault)
    cdef PyObject* read_event(self) except? NULL

cdef inline size_t head_size(Stream stream) noexcept:
    """Unread bytes of head."""
    return buffer_size(&stream.head) - stream.head_at

cdef bytes bytes_of(object data)
