# What other files use of scan.pxi.

cdef enum:
    V1_FRAME_AMQP = 0
    V1_FRAME_SASL = 1
    V1_FRAME_HEADER = 0x41  # not a type: the eight bytes that open a layer

cdef int v1_scan(const uint8_t* p, const uint8_t* end, uint64_t limit, uint64_t offset,
                 WireFrame* out, Fault* f) noexcept nogil

cdef int v1_bad_descriptor(Cursor* c, const uint8_t* start, const V1Desc* d, bint amqp) noexcept nogil

cdef inline void v1_store_frame_head(uint8_t* w, uint32_t size, uint8_t frame_type, int channel) noexcept nogil:
    store32(w, size)
    w[4] = 2
    w[5] = frame_type
    store16(w + 6, <uint16_t>channel)
