# What other files use of errors.pxi.

cdef object DecodeError
cdef object EncodeError
cdef tuple SCOPES

cdef enum:
    FAULT_TEXT_SIZE = 512

cdef str place_name(const char* name)
cdef int place_text(const Fault* f, char* out, size_t room) noexcept nogil
cdef int fault_text(const Fault* f, bint of_v1, char* out, size_t room) noexcept nogil
cdef object fault_error(const Fault* f, bint of_v1=*)
cdef int encode_error(str method, str field, str text, str path=*) except -1
