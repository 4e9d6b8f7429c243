# What other files use of write.pxi.

cdef inline bint is_old_tag(uint8_t tag, uintptr_t mode) noexcept nogil:
    """mode: MODE_0_8 or MODE_0_9 is set in it."""
    return old_has_tag(DIALECT_0_8 if mode & MODE_0_8 else DIALECT_0_9, tag)

cdef inline Form bytes_form(uintptr_t mode) noexcept nogil:
    """How bytes are written; only RabbitMQ's dialect writes x."""
    return FORM_text32 if mode & MODE_NO_X else FORM_bytes32

cdef inline int put_tagged(Buffer* b, Form form, uintptr_t mode, uint64_t u, uint32_t n) except -1:
    """A tag and its value of fixed width; n: digits after a decimal's point."""
    store_tagged(buffer_extend(b, tagged_bytes(form)), form, mode, u, n)
    return 0

cdef object since_epoch(object v, Place* at)
cdef int table_error(Place* at, str text) except -1
