# What other files use of errors.pxi.

cdef const char* v1_condition(int code) noexcept nogil
cdef int v1_fault_text(const Fault* f, char* out, size_t room) noexcept nogil
cdef object v1_fault_error(const Fault* f)
