# What other files use of pamqp.pxi.

cdef uint8_t[256] NAME_BYTES
