# AMQP 1.0 frames to objects and back (Part 2 §2.3).

cdef extern from "Python.h":
    void Py_XSETREF(PyObject* place, PyObject* value)

cdef inline void v1_frame_cursor(const WireFrame* f, const uint8_t* start, uint64_t at, Cursor* c,
                                 Fault* fault) noexcept nogil:
    """A cursor over the body of a frame that begins at start, which has the offset `at`."""
    begin_cursor(c, fault, f.payload, f.payload + f.size, start, at)
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel


cdef int v1_keep_extended(MessageObject* o, const uint8_t* p, Py_ssize_t n, Py_ssize_t extended) except -1:
    """Keep the n bytes from an extended header on, of which so many are the header's own."""
    raw = PyBytes_FromStringAndSize(<const char*>p, n)
    Py_XSETREF(o.origin, Py_NewRef(<PyObject*>raw))
    o.mode = o.mode & MODE_TYPED | <uint32_t>extended << V1_EXTENDED
    return 0


cdef object v1_decode_frame(V1Core self, const WireFrame* f, const uint8_t* start, uint64_t at,
                            V1Reader* r, object owner):
    """The object of a whole frame. owner: bytes that payloads may borrow, None to copy."""
    cdef Cursor c
    cdef Fault fault
    cdef V1Desc* d
    cdef object made, value
    cdef PyObject* new
    cdef MessageObject* o
    cdef const uint8_t* body = f.payload
    cdef Py_ssize_t n, extended, offset
    if AMQP_UNLIKELY(f.type == V1_FRAME_HEADER):
        made = class_instance(<PyTypeObject*><PyObject*>self.ProtocolHeader)
        for i in range(4):
            value = <object>body[i]
            class_store(<MessageObject*><PyObject*>made, i, Py_NewRef(<PyObject*>value))
        return made
    v1_frame_cursor(f, start, at, &c, &fault)
    extended = body - start - 8
    if f.size == 0 and f.type == V1_FRAME_AMQP:
        made = class_instance(<PyTypeObject*><PyObject*>self.Heartbeat)
        if AMQP_UNLIKELY(extended != 0):
            v1_keep_extended(<MessageObject*><PyObject*>made, start + 8, extended, extended)
        return made
    if AMQP_UNLIKELY(f.size == 0):
        v1_fail(&c, BAD_TRUNCATED, b"SASL frame body", 1, 0)
    if AMQP_UNLIKELY(c.p[0] != 0):
        v1_fail(&c, V1_BAD_FIELD, b"performative", 0, c.p[0])
    c.p += 1
    d = v1_known(r.types, &c)
    if AMQP_UNLIKELY(d == NULL or d.frame != (V1_AMQP_FRAME if f.type == V1_FRAME_AMQP else V1_SASL_FRAME)):
        v1_bad_descriptor(&c, body, d, f.type == V1_FRAME_AMQP)
        v1_raise(&c)
    new = v1_known_type(r, d, &c, body, 1)
    if AMQP_LIKELY(c.p == c.end and extended == 0):
        return v1_owned(new)
    made = v1_owned(new)
    if AMQP_UNLIKELY(extended != 0):
        v1_keep_extended(<MessageObject*><PyObject*>made, start + 8, c.p - start - 8, extended)
    if c.p == c.end:
        return made
    if AMQP_UNLIKELY(d.code != DESC_TRANSFER):
        fault.at.method = d.name
        v1_fail(&c, BAD_TRAILING, NULL, 0, 0)
    n = c.end - c.p
    if owner is None:
        value = PyBytes_FromStringAndSize(<const char*>c.p, n)
    elif owner is view_of_copy:
        value = memoryview(PyBytes_FromStringAndSize(<const char*>c.p, n))
    else:
        offset = c.p - <const uint8_t*>PyBytes_AS_STRING(owner)
        value = memoryview(owner)[offset:offset + n]
    o = <MessageObject*><PyObject*>made
    class_store(o, d.payload, Py_NewRef(<PyObject*>value))
    return made

# ---- encode ----

cdef int v1_put_frame(V1Core self, Buffer* b, int channel, object frame, object payload,
                      bint validate, int mode) except -1:
    """A whole frame, its head included."""
    cdef MessageClass* k = class_of(frame)
    cdef size_t start = buffer_size(b)
    cdef V1Desc* d = NULL
    cdef Place at
    cdef ByteView raw
    cdef uint64_t size
    cdef uint32_t extended = 0
    if k != NULL and k.what == CLASS_V1_HEADER:
        return v1_put_header(b, <MessageObject*><PyObject*>frame)
    if k != NULL and k.what == CLASS_V1_DESCRIBED:
        d = <V1Desc*>k.desc
    if k == NULL or (d == NULL and k.what != CLASS_V1_HEARTBEAT) or (d != NULL and d.frame == V1_NO_FRAME):
        encode_error(None, "frame", f"takes a performative, Heartbeat or ProtocolHeader, "
                     f"not {type(frame).__name__}")
    buffer_extend(b, 8)
    if d != NULL and validate:
        frame.validate()
    if AMQP_UNLIKELY((<MessageObject*><PyObject*>frame).origin != NULL):
        extended = v1_put_extended(b, frame, k)
    if d != NULL:
        place_begin(&at, NULL, NULL)
        v1_put_instance(b, frame, mode, 0, &at)
        if d.payload >= 0 and (payload is None or not len(payload)):
            payload = frame.payload
    if payload is not None and len(payload):
        if d == NULL or d.code != DESC_TRANSFER:
            encode_error("heartbeat" if d == NULL else d.name.decode(), "payload",
                         "only a transfer carries one")
        parse_bytes(payload, &raw, b"transfer", b"payload")
        try:
            put_bytes(b, raw.p, raw.n)
        finally:
            drop_bytes(&raw)
    size = buffer_size(b) - start
    if size > MAX_U32:
        encode_error(None, "frame", f"takes at most 4294967295 bytes, not {size}")
    v1_store_frame_head(b.start + start, <uint32_t>size,
                        V1_FRAME_SASL if d != NULL and d.frame == V1_SASL_FRAME else V1_FRAME_AMQP, channel)
    b.start[start + 4] += <uint8_t>(extended >> 2)
    return 0


cdef uint32_t v1_put_extended(Buffer* b, object frame, MessageClass* k) except? 0xFFFFFFFF:
    """The extended header that an unchanged frame came with; its bytes."""
    cdef MessageObject* o = <MessageObject*><PyObject*>frame
    cdef uint32_t n = o.mode >> V1_EXTENDED
    if n == 0 or k.what == CLASS_V1_DESCRIBED and not v1_is_original(frame, k):
        return 0
    put_bytes(b, PyBytes_AS_STRING(<object>o.origin), n)
    return n


cdef const char** V1_HEADER_FIELDS = [b"protocol_id", b"major", b"minor", b"revision"]


cdef int v1_put_header(Buffer* b, MessageObject* o) except -1:
    cdef uint64_t u = 0
    cdef Place at
    cdef int i
    cdef uint8_t raw[8]
    memcpy(raw, <const char*>b"AMQP", 4)
    for i in range(4):
        place_begin(&at, b"protocol_header", V1_HEADER_FIELDS[i])
        if o.field[i] == NULL:
            table_error(&at, "is not set")
        v1_parse_int(<object>o.field[i], V1_UBYTE, &u, &at)
        raw[4 + i] = <uint8_t>u
    return put_bytes(b, raw, 8)
