# AMQP 1.0 frames: size, data offset, type and channel, then a performative and its payload (Part 2 §2.3).

cdef enum:
    V1_FRAME_AMQP = 0
    V1_FRAME_SASL = 1
    V1_FRAME_HEADER = 0x41  # not a type: the eight octets that open a layer
    V1_MIN_MAX_FRAME = 512  # what everybody takes, and the limit before open


cdef int v1_scan_bad(Fault* f, int code, int scope, uint64_t offset, const char* what, uint64_t need,
                     uint64_t have, const uint8_t* p) noexcept nogil:
    memset(f, 0, sizeof(Fault))
    f.code = code
    f.scope = scope
    f.offset = offset
    f.what = what
    f.need = need
    f.have = have
    f.octet = p[5]
    f.in_frame = True
    f.frame_type = p[5]
    f.channel = load16(p + 6)
    return SCAN_BAD


cdef int v1_scan(const uint8_t* p, const uint8_t* end, uint64_t limit, uint64_t offset,
                 WireFrame* out, Fault* f) noexcept nogil:
    """Find the frame at p. limit: octets a frame may take, 0 for any. offset: that of p.

    After SCAN_BAD with scope "frame" the frame is whole and `out.total` is set.
    """
    cdef size_t left = <size_t>(end - p)
    cdef uint64_t size
    cdef uint32_t skip
    if left < 8:
        return SCAN_MORE
    if AMQP_UNLIKELY(p[0] == c'A') and memcmp(p, <const char*>b"AMQP", 4) == 0:
        out.type = V1_FRAME_HEADER
        out.channel = 0
        out.payload = p + 4
        out.size = 4
        out.total = 8
        return SCAN_FRAME
    size = load32(p)
    skip = 4 * <uint32_t>p[4]
    if AMQP_UNLIKELY(size < 8):
        return v1_scan_bad(f, V1_BAD_ENVELOPE, SCOPE_CONNECTION, offset,
                           b"the size of a frame is at least 8", size, 0, p)
    if AMQP_UNLIKELY(skip < 8):
        return v1_scan_bad(f, V1_BAD_ENVELOPE, SCOPE_CONNECTION, offset + 4,
                           b"the data offset of a frame is at least 2", p[4], 0, p)
    if AMQP_UNLIKELY(skip > size):
        return v1_scan_bad(f, V1_BAD_ENVELOPE, SCOPE_CONNECTION, offset + 4,
                           b"the data offset of a frame lies inside of it", p[4], 0, p)
    if AMQP_UNLIKELY(limit != 0 and size > limit):
        return v1_scan_bad(f, BAD_FRAME_SIZE, SCOPE_CONNECTION, offset, NULL, size, limit, p)
    if left < size:
        return SCAN_MORE
    out.type = p[5]
    out.channel = load16(p + 6)
    out.payload = p + skip
    out.size = <uint32_t>(size - skip)
    out.total = size
    if AMQP_UNLIKELY(p[5] > V1_FRAME_SASL):
        return v1_scan_bad(f, V1_BAD_TYPE, SCOPE_FRAME, offset + 5, NULL, 0, 0, p)
    return SCAN_FRAME


cdef inline void v1_frame_cursor(const WireFrame* f, const uint8_t* start, uint64_t at, Cursor* c,
                                 Fault* fault) noexcept nogil:
    """A cursor over the body of a frame that begins at start, which has the offset `at`."""
    v1_begin(c, fault, f.payload, f.payload + f.size, start, at)
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel


cdef object v1_decode_frame(V1Core self, const WireFrame* f, const uint8_t* start, uint64_t at,
                            V1Reader* r, object owner, const uint8_t* owner_start):
    """The object of a whole frame. owner: bytes that payloads may borrow, None to copy."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Desc* d
    cdef object made, value
    cdef KindObject* o
    cdef const uint8_t* body = f.payload
    cdef Py_ssize_t n
    if AMQP_UNLIKELY(f.type == V1_FRAME_HEADER):
        made = kind_instance(<PyTypeObject*><PyObject*>self.ProtocolHeader)
        for i in range(4):
            value = <object>body[i]
            kind_store(<KindObject*><PyObject*>made, i, Py_NewRef(<PyObject*>value))
        return made
    v1_frame_cursor(f, start, at, &c, &fault)
    if f.size == 0 and f.type == V1_FRAME_AMQP:
        return kind_instance(<PyTypeObject*><PyObject*>self.Heartbeat)
    if AMQP_UNLIKELY(f.size == 0):
        v1_fail(&c, BAD_TRUNCATED, b"SASL frame body", 1, 0)
    if AMQP_UNLIKELY(c.p[0] != 0):
        v1_fail(&c, V1_BAD_FIELD, b"performative", 0, c.p[0])
    c.p += 1
    d = v1_known(r.types, &c)
    if AMQP_UNLIKELY(d == NULL or d.frame != (V1_AMQP_FRAME if f.type == V1_FRAME_AMQP else V1_SASL_FRAME)):
        v1_bad_descriptor(&c, d, f)
    made = v1_known_type(r, d, &c, body, 1)
    if c.p == c.end:
        return made
    if AMQP_UNLIKELY(d.code != V1_TRANSFER):
        fault.method = d.name
        v1_fail(&c, BAD_TRAILING, NULL, 0, 0)
    n = c.end - c.p
    if owner is None:
        value = PyBytes_FromStringAndSize(<const char*>c.p, n)
    elif owner is view_of_copy:
        value = memoryview(PyBytes_FromStringAndSize(<const char*>c.p, n))
    else:
        value = memoryview(owner)[c.p - owner_start:c.p - owner_start + n]
    o = <KindObject*><PyObject*>made
    kind_store(o, d.payload, Py_NewRef(<PyObject*>value))
    return made

cdef enum:
    V1_OPEN = 0x10
    V1_TRANSFER = 0x14


cdef int v1_bad_descriptor(Cursor* c, V1Desc* d, const WireFrame* f) except -1:
    """A frame whose body is no performative of its layer."""
    cdef V1Value v
    cdef Fault none
    cdef Cursor at
    cdef uint64_t code = 0
    if d != NULL:
        code = d.code
    else:
        none.code = OK
        at = c[0]
        at.fault = &none
        if v1_read(&at, &v) == 0 and v.kind == V1_ULONG:
            code = v.u
        elif none.code != OK:
            c.fault.in_frame = True
            v1_read(c, &v)
            v1_raise(c)
    c.p = f.payload
    return v1_fail(c, V1_BAD_DESCRIPTOR,
                   b"performative" if f.type == V1_FRAME_AMQP else b"SASL performative", code, 0)


# ---- encode ----

cdef int v1_put_frame(V1Core self, Buffer* b, int channel, object frame, object payload,
                      bint validate) except -1:
    """A whole frame, its head included."""
    cdef Kind* k = kind_of(frame)
    cdef size_t start = <size_t>(b.p - b.start)
    cdef V1Desc* d = NULL
    cdef Place at
    cdef Octets octets
    cdef uint64_t size
    buffer_room(b, 64)
    if k != NULL and k.what == KIND_V1_HEADER:
        return v1_put_header(b, <KindObject*><PyObject*>frame)
    if k != NULL and k.what == KIND_V1:
        d = <V1Desc*>k.desc
    if k == NULL or (d == NULL and k.what != KIND_V1_HEARTBEAT) or (d != NULL and d.frame == V1_NO_FRAME):
        encode_error(None, "frame", f"takes a performative, Heartbeat or ProtocolHeader, "
                     f"not {type(frame).__name__}")
    b.p += 8
    if d != NULL:
        if validate:
            frame.validate()
        at.method = at.field = NULL
        v1_put_kind(b, frame, 0, 0, &at)
        if d.payload >= 0 and (payload is None or not len(payload)):
            payload = frame.payload
    if payload is not None and len(payload):
        if d == NULL or d.code != V1_TRANSFER:
            encode_error("heartbeat" if d == NULL else <str>(<tuple>d.names)[0], "payload",
                         "only a transfer carries one")
        take_octets(payload, &octets, "transfer", "payload")
        try:
            put_octets(b, octets.p, octets.n)
        finally:
            drop_octets(&octets)
    size = <uint64_t>(b.p - b.start) - start
    if size > MAX_U32:
        encode_error(None, "frame", f"takes at most 4294967295 octets, not {size}")
    v1_put_head(b.start + start, <uint32_t>size,
                V1_FRAME_SASL if d != NULL and d.frame == V1_SASL_FRAME else V1_FRAME_AMQP, channel)
    return 0


cdef inline void v1_put_head(uint8_t* w, uint32_t size, uint8_t frame_type, int channel) noexcept nogil:
    store32(w, size)
    w[4] = 2
    w[5] = frame_type
    store16(w + 6, <uint16_t>channel)


cdef int v1_put_header(Buffer* b, KindObject* o) except -1:
    cdef uint64_t u = 0
    cdef Place at
    cdef int i
    memcpy(b.p, <const char*>b"AMQP", 4)
    method = "protocol_header"
    at.method = <PyObject*>method
    for i in range(4):
        name = ("protocol_id", "major", "minor", "revision")[i]
        at.field = <PyObject*>name
        v1_take_int(<object>o.field[i], V1_UBYTE, &u, &at)
        b.p[4 + i] = <uint8_t>u
    b.p += 8
    return 0
