# What other files use of messages.pxi.

cdef extern from *:
    uint64_t NO_OPEN_LIMIT "UINT64_MAX"

cdef uint64_t parse_open_limit(object limit) except? 0
cdef object told_open_limit(uint64_t limit)
