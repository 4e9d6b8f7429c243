# What other files use of write.pxi.

cdef object since_epoch(object v, Place* at)
cdef int table_error(Place* at, str text) except -1
