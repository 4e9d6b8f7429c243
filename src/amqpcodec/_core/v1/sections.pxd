# What other files use of sections.pxi.

cdef int v1_scan_sections(Cursor* c, const V1Types* types, uint32_t* offset, uint32_t* length) noexcept nogil
