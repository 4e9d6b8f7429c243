# What other files use of json_tables.pxi.

cdef int has_twice(const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil
