# What other files use of descs.pxi.

# Flags of a lowered field, as amqpcodec.spec.lower writes them.
cdef enum:
    FIELD_RESERVED = 1
    FIELD_CACHED = 2
    FIELD_SECRET = 4

cdef class DescTable:
    cdef Desc* desc
    cdef int count
    cdef list keep
    cdef const char* text(self, str s) except NULL
    cdef int fill(self, Desc* d, str name, uint16_t class_id, uint16_t method_id, tuple fields) except -1
