# What other files use of protocol.pxi.

@cython.final
cdef class Protocol(ProtocolCore):
    pass
