# What other files use of verify.pxi.

cdef void v1_verify_begin(V1Check* k, const V1Types* types) noexcept nogil

cdef int v1_verify_field(const V1Op* op, Cursor* c, const V1Value* v, const uint8_t* start, V1Check* k,
                         int depth) noexcept nogil

cdef int v1_verify_fields(const V1Desc* d, Cursor* c, V1Check* k, int depth, V1Value* out,
                          uint32_t mask) noexcept nogil
