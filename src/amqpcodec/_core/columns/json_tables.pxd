# What other files use of json_tables.pxi.

cdef int put_table_json(Buffer* out, const uint8_t* p, uint32_t n, uintptr_t mode) noexcept nogil
cdef int has_twice(const uint8_t* p, const uint8_t* end, const int8_t* shapes) noexcept nogil
