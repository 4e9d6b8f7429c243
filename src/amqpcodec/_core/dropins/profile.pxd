# What other files use of profile.pxi.

cdef object leave_it()
