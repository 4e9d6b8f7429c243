# What other files use of write.pxi.

cdef int table_error(Place* at, str text) except -1
