# What other files use of decode.pxi.

cdef Columns new_columns(Request request, int64_t limit)

# One decode: the columns that it fills, from frames of which protocols, and how.
@cython.final
cdef class DecodeJob:
    cdef object protocol        # a Protocol or V1Core
    cdef tuple others           # the protocols that values.version names, from 1 on
    cdef Request request
    cdef Columns out
    cdef int mode               # what becomes of bad rows
    cdef uintptr_t reading      # see reading_mode
    cdef bint borrow            # columns may lend bytes of the input
    cdef object groups          # see decode_columns
    cdef list held              # see decode_columns
    cdef list progress          # of the function that is told, and an exception of it; or None

cdef int fill_columns(DecodeJob job, Values* values) except -1
