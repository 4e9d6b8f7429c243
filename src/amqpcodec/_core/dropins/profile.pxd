# What other files use of profile.pxi.

cdef object not_ours(str reason)


cdef class Fallbacks:
    cdef readonly unsigned long long calls
    cdef readonly dict reasons
    cdef public bint raises
    cdef object reason
    cdef object remember(self, object error)
