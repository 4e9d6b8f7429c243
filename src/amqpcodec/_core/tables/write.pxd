# What other files use of write.pxi.

cdef inline bint is_old_tag(uint8_t tag, uintptr_t mode) noexcept nogil:
    """Whether the tables of 0-8 have a tag; or those of 0-9, which add V."""
    return tag != 0 and strchr(b"SIDTF", tag) != NULL or tag == c'V' and mode & MODE_0_9 != 0

cdef object since_epoch(object v, Place* at)
cdef int table_error(Place* at, str text) except -1
