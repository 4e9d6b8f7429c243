# What other files use of rows.pxi.

cdef int take_header(Sink* s, const Entry* e, int64_t row) noexcept nogil
