# What other files use of arrow_stream.pxi.

cdef extern from "columns/arrow.h" nogil:
    ctypedef struct ArrowSchema "struct ArrowSchema":
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept nogil
        void* private_data
    ctypedef struct ArrowArray "struct ArrowArray":
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept nogil
        void* private_data
    ctypedef struct ArrowArrayStream "struct ArrowArrayStream":
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*) noexcept nogil
        void* private_data
    enum:
        ARROW_FLAG_NULLABLE

cdef object stream_capsule(object schema, object array)
cdef ArrowArrayStream* begin_stream(object capsule, ArrowSchema* schema) except NULL
cdef bint next_array(ArrowArrayStream* stream, ArrowArray* a) except -1
