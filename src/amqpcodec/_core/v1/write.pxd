# What other files use of write.pxi.

cdef inline int v1_open(Buffer* b, size_t* start) except -1:
    """Leave room for the longest head of a compound."""
    buffer_room(b, 16)
    start[0] = <size_t>(b.p - b.start)
    b.p += 9
    return 0
