# What other files use of core.pxi.

cdef inline void v1_begin(Cursor* c, Fault* fault, const uint8_t* p, const uint8_t* end,
                          const uint8_t* base, uint64_t base_at) noexcept nogil:
    """A cursor over bytes, and a fault that knows nothing yet."""
    # What fail() sets needs no value before; this runs for every value.
    fault.code = OK
    place_begin(&fault.at, NULL, NULL)
    fault.in_frame = False
    c.p = p
    c.end = end
    c.base = base
    c.base_at = base_at
    c.fault = fault

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
