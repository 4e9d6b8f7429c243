# The lowest layer: a cursor over borrowed bytes, and what can go wrong on it.

cdef extern from "wire/ints.h":
    int ints_ready() except -1
    PyObject* int_new(uint64_t v)       # a new reference; NULL: an exception is set

ints_ready()


cdef int fail(Cursor* c, int code, const char* what, uint64_t need, uint8_t byte) noexcept nogil:
    """Note a fault at the cursor; always -1, so that a reader can return it."""
    cdef Fault* f = c.fault
    if f.code == OK:
        f.code = code
        f.scope = SCOPE_FRAME
        f.what = what
        f.need = need
        f.have = <uint64_t>(c.end - c.p)
        f.byte = byte
        f.offset = c.base_at + <uint64_t>(c.p - c.base)
    return -1
