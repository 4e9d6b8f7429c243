# What other files use of frame_write.pxi.

cdef int put_properties(Buffer* b, Desc* d, object properties, uintptr_t mode) except -1

cdef int put_frame(ProtocolCore self, Buffer* b, int channel, object frame, uintptr_t mode,
                   bint validate) except -1
