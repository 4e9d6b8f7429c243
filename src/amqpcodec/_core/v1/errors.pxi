# Faults of the v1 family, raised.

cdef int v1_raise(const Cursor* c) except -1:
    """Raise what was noted."""
    raise fault_error(c.fault, True)


cdef int v1_fail(Cursor* c, int code, const char* what, uint64_t need, uint8_t byte) except -1:
    """Note a fault at the cursor and raise it."""
    fail(c, code, what, need, byte)
    return v1_raise(c)
