# What other files use of check.pxi.

cdef struct V1Check

# Steps over a described value of a type that it knows and returns 1; 0: it does not; -1: the fault
# is noted. The cursor is at the descriptor.
ctypedef int (*v1_checker)(Cursor* c, V1Check* k, int depth) noexcept nogil

cdef struct V1Check:
    uint64_t zero_width     # elements without bytes so far
    bint unusual                # something is not what encode writes for the plain value
    bint described          # there is a described value
    v1_checker known        # or NULL: structure is all that counts
    const void* types       # its own

cdef void v1_check_begin(V1Check* k, uint64_t zero_width) noexcept nogil
cdef int v1_check(Cursor* c, V1Check* k, int depth) noexcept nogil
cdef int v1_skip_described(Cursor* c, int depth, uint64_t zero_width) noexcept nogil
