# What other files use of rows.pxi.

cdef int append_header(Sink* s, const Entry* e, int64_t row) noexcept nogil
