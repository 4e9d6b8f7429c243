# Sections of a message (Part 3 §3.2), found without reading their values.

cdef int v1_scan_sections(Cursor* c, const V1Types* types, uint32_t* offset, uint32_t* length) noexcept nogil:
    """Offset and length of each section, those of one kind together; what is there as a bit mask, or -1
    with the fault noted."""
    cdef int have = 0, last = -1, i
    cdef const uint8_t* start
    cdef const uint8_t* base = c.p
    cdef V1Value v
    cdef V1Desc* d
    while c.p < c.end:
        start = c.p
        if AMQP_UNLIKELY(start[0] != 0):
            return fail(c, V1_BAD_SECTION, b"a section is a described value", 0, 0)
        c.p += 1
        d = v1_known(types, c)
        if AMQP_UNLIKELY(d == NULL or not d.section):
            if v1_read(c, &v) < 0:      # a constructor cut off says more than that it is unknown
                return -1
            c.p = start
            return fail(c, V1_BAD_SECTION, b"not a section of a message", 0, 0)
        i = d.code - SEC_FIRST_CODE
        if AMQP_UNLIKELY(i <= last):
            c.p = start
            c.fault.at.method = d.name
            if i < last:
                return fail(c, V1_BAD_SECTION, b"section out of order", 0, 0)
            if i != SEC_DATA and i != SEC_AMQP_SEQUENCE:
                return fail(c, V1_BAD_SECTION, b"section is there twice", 0, 0)
            c.p = start + 1
            v1_known(types, c)
        if AMQP_UNLIKELY(SEC_DATA <= last < i <= SEC_AMQP_VALUE):
            c.p = start
            c.fault.at.method = d.name
            return fail(c, V1_BAD_SECTION, b"body sections of several kinds", 0, 0)
        c.fault.at.method = d.name
        if AMQP_LIKELY(v1_is_short(c.p, c.end)):
            c.p += 2 + c.p[1]
        else:
            if AMQP_UNLIKELY(v1_read(c, &v) < 0):
                return -1
            if AMQP_UNLIKELY(v.wire_type == V1_DESCRIBED) and v1_skip_described(c, 2, 0) < 0:
                return -1
        if i != last:
            offset[i] = <uint32_t>(start - base)
        length[i] = <uint32_t>(c.p - base) - offset[i]
        have |= 1 << i
        last = i
    c.fault.at.method = NULL
    return have
