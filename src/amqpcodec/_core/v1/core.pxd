# What other files use of core.pxi.

cdef class V1Core:
    cdef readonly str name
    cdef readonly str module
    cdef readonly dict table
    cdef readonly dict classes          # "Open" -> class, enums as well
    cdef readonly object TYPES          # descriptor code -> class
    cdef readonly object ProtocolHeader, Heartbeat, BadFrame, Delivery
    cdef V1DescTable descs
    cdef object frame_plan              # of columns, made on first use
    cdef int _make_frames(self) except -1
