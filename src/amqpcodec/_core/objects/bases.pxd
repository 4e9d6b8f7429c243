# What other files use of bases.pxi.

cdef object ValidationError
cdef str short_repr(object v)
cdef int repr_begin(object o) except -1
cdef int repr_end(object o) except -1
