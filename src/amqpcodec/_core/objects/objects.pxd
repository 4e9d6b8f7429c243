# What other files use of objects.pxi.

cdef TextCache* ONE_SHOT_CACHE
cdef uint64_t* INT_LIMITS
