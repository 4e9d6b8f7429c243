# Frames of objects to bytes, and contents to frames.

cdef int put_arguments(Buffer* b, object method, MessageClass* k, uintptr_t mode) except -1:
    """Class id, method id and arguments."""
    cdef Desc* d = <Desc*>k.desc
    cdef uint8_t* w
    cdef Py_ssize_t n
    if d.write_fast != NULL and (<MessageObject*><PyObject*>method).origin == NULL:
        w = buffer_reserve(b, 4 + FAST_ROOM)
        n = d.write_fast(<MessageObject*><PyObject*>method, w + 4)
        if n >= 0:
            store16(w, d.class_id)
            store16(w + 2, d.method_id)
            buffer_commit(b, w + 4 + n)
            return 0
    w = buffer_extend(b, 4)
    store16(w, d.class_id)
    store16(w + 2, d.method_id)
    return put_object(b, d, method, False, mode)


cdef int put_properties(Buffer* b, Desc* d, object properties, uintptr_t mode) except -1:
    cdef MessageClass* k
    if properties is None:
        store16(buffer_extend(b, 2), 0)
        return 0
    k = class_of(properties)
    if k == NULL or k.what != CLASS_PROPERTIES or <Desc*>k.desc != d:
        return encode_error("header", "properties", f"takes {(<object>d.cls).__qualname__} or None, "
                            f"not {type(properties).__name__}")
    if (d.write_fast_properties != NULL and (<MessageObject*><PyObject*>properties).origin == NULL
            and d.write_fast_properties(b, d, <MessageObject*><PyObject*>properties, mode)):
        return 0
    return put_object(b, d, properties, True, mode)


cdef int put_header(ProtocolCore self, Buffer* b, object properties, uint16_t class_id, uint16_t weight,
                    uint64_t body_size, uintptr_t mode) except -1:
    cdef Desc* d = self.find_content(class_id)
    cdef uint8_t* w
    if d == NULL:
        return encode_error("header", "class_id", f"class {class_id} carries no content")
    w = buffer_extend(b, 12)
    store16(w, class_id)
    store16(w + 2, weight)
    store64(w + 4, body_size)
    return put_properties(b, d, properties, mode)


cdef uint64_t header_int(object frame, int i, uint8_t wire_type) except? 0xFFFF:
    """A number of a content header or protocol header."""
    cdef Loader l
    cdef AmqpValue v
    cdef object value, name
    if exact_u64((<MessageObject*><PyObject*>frame).field[i], &v.u) and v.u <= INT_LIMITS[wire_type]:
        return v.u
    value = class_get(frame, i)
    name = type(frame).FIELDS[i]
    place_begin(&l.at, b"header", PyUnicode_AsUTF8AndSize(name, NULL))
    v.wire_type = wire_type
    load_int(&l, value, &v)
    return v.u

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object s, Py_ssize_t* n) except NULL


cdef int put_frame(ProtocolCore self, Buffer* b, int channel, object frame, uintptr_t mode,
                   bint validate) except -1:
    """One frame with its envelope."""
    cdef MessageClass* k = class_of(frame)
    cdef size_t start = buffer_size(b)
    cdef uint8_t frame_type
    cdef ByteView raw
    cdef uint64_t n
    if k == NULL:
        return encode_error(None, "frame", f"takes a method, Header, Body, Heartbeat or "
                            f"ProtocolHeader, not {type(frame).__name__}")
    if k.owner != (<PyObject*>self.descs) and k.owner != <PyObject*>self:
        return encode_error(None, "frame", f"{type(frame).__qualname__} is of another protocol, "
                            f"{type(frame).__module__}")
    if validate:
        validate_frame(frame, k)
    buffer_extend(b, 7)
    if k.what == CLASS_METHOD:
        frame_type = FRAME_METHOD
        put_arguments(b, frame, k, mode)
    elif k.what == CLASS_HEADER:
        frame_type = FRAME_HEADER
        put_header(self, b, class_get(frame, 1), <uint16_t>header_int(frame, 2, W_SHORT),
                   <uint16_t>header_int(frame, 3, W_SHORT), header_int(frame, 0, W_LONGLONG), mode)
    elif k.what == CLASS_BODY:
        frame_type = FRAME_BODY
        payload = class_get(frame, 0)
        parse_bytes(payload, &raw, b"body", b"payload")
        try:
            put_bytes(b, raw.p, <size_t>raw.n)
        finally:
            drop_bytes(&raw)
    elif k.what == CLASS_HEARTBEAT:
        if channel:
            return encode_error("heartbeat", "channel", f"is 0, not {channel}")
        frame_type = FRAME_HEARTBEAT
    elif k.what == CLASS_PROTOCOL_HEADER:
        buffer_truncate(b, start)
        put_bytes(b, <const char*>b"AMQP", 4)
        for i in range(4):
            put_byte(b, <uint8_t>header_int(frame, i, W_OCTET))
        return 0
    else:
        return encode_error(None, "frame", f"{type(frame).__qualname__} is not a frame; "
                            "encode_message takes its parts")
    n = buffer_size(b) - start - 7
    if n > MAX_U32:
        return encode_error(None, "frame", f"a frame takes at most 4294967295 bytes, not {n}")
    put_byte(b, FRAME_END)
    store_envelope(b.start + start, frame_type, <uint16_t>channel, <uint32_t>n)
    return 0


cdef bytes encode_body(int channel, MessageObject* o):
    """A body frame, its payload copied once."""
    cdef ByteView raw
    cdef bytes out
    cdef uint8_t* w
    if o.field[0] == NULL:
        encode_error("body", "payload", "is not set")
    parse_bytes(<object>o.field[0], &raw, b"body", b"payload")
    try:
        if raw.n > MAX_U32:
            encode_error("body", "payload", f"a frame takes at most 4294967295 bytes, not {raw.n}")
        out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>raw.n + 8)
        w = store_envelope(<uint8_t*>PyBytes_AS_STRING(out), FRAME_BODY, <uint16_t>channel,
                           <uint32_t>raw.n)
        memcpy(w, raw.p, raw.n)
        w[raw.n] = FRAME_END
        return out
    finally:
        drop_bytes(&raw)


cdef int validate_frame(object frame, MessageClass* k) except -1:
    if k.what == CLASS_METHOD or k.what == CLASS_PROPERTIES:
        frame.validate()
    elif k.what == CLASS_HEADER and frame.properties is not None:
        frame.properties.validate()
    return 0


cdef object encode_content(ProtocolCore self, int channel, object method, object properties, object body,
                           int64_t frame_max, uintptr_t mode, bint validate, bint parts):
    """All frames of a message: as one bytes, or as parts that borrow the body."""
    cdef Buffer b
    cdef uint8_t memory[STACK_ROOM]
    cdef ByteView raw
    cdef MessageClass* k = class_of(method)
    cdef Desc* d
    cdef size_t method_bytes, head
    cdef uint64_t piece, total, done, n
    cdef bytes out
    cdef uint8_t* w
    if k != NULL and k.what == CLASS_MESSAGE and type(method) is self.Message:
        if properties is not None or type(body) is not bytes or body:
            encode_error("message", None, "has properties and a body of its own")
        method, properties, body = method.method, method.properties, method.body
        k = class_of(method)
    if k == NULL or k.what != CLASS_METHOD or k.owner != <PyObject*>self.descs:
        encode_error(None, "method", f"takes a method of {self.module}, not {type(method).__name__}")
    d = <Desc*>k.desc
    if not d.has_content:
        encode_error(d.name.decode(), None, "carries no content")
    if validate:
        method.validate()
        if properties is not None:
            properties.validate()
    parse_bytes(body, &raw, b"message", b"body")
    buffer_init(&b, memory, sizeof(memory))
    try:
        buffer_extend(&b, 7)
        put_arguments(&b, method, k, mode)
        put_byte(&b, FRAME_END)
        method_bytes = buffer_size(&b)
        store_envelope(b.start, FRAME_METHOD, <uint16_t>channel, <uint32_t>(method_bytes - 8))
        buffer_extend(&b, 7)
        put_header(self, &b, properties, d.class_id, 0, raw.n, mode)
        put_byte(&b, FRAME_END)
        head = buffer_size(&b)
        store_envelope(b.start + method_bytes, FRAME_HEADER, <uint16_t>channel,
                       <uint32_t>(head - method_bytes - 8))
        piece = <uint64_t>(frame_max if frame_max else 4294967303) - 8
        if frame_max and (max(method_bytes, head - method_bytes) > <uint64_t>frame_max
                          or (raw.n and frame_max < 9)):
            n = max(method_bytes, head - method_bytes, <size_t>9)
            what = "a frame" if n == 9 else "the method" if n == method_bytes else "the header with the properties"
            encode_error(d.name.decode(), "frame_max",
                         f"{frame_max} bytes do not hold {what}, which takes {n} and cannot be split: "
                         + ("shorten the headers, or raise frame_max" if n == head - method_bytes
                            else "raise frame_max"))
        if parts:
            return content_parts(b.start, head, body, <Py_ssize_t>raw.n, piece, <uint16_t>channel)
        total = head + raw.n
        if raw.n <= piece:         # nearly always, and a division takes its time
            total += 8 if raw.n else 0
        else:
            total += 8 * ((raw.n + piece - 1) // piece)
        out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>total)
        w = <uint8_t*>PyBytes_AS_STRING(out)
        memcpy(w, b.start, head)
        w += head
        done = 0
        while done < raw.n:
            n = min(piece, raw.n - done)
            w = store_envelope(w, FRAME_BODY, <uint16_t>channel, <uint32_t>n)
            memcpy(w, raw.p + done, n)
            w[n] = FRAME_END
            w += n + 1
            done += n
        return out
    finally:
        drop_bytes(&raw)
        buffer_free(&b)


cdef list content_parts(const uint8_t* head, size_t head_bytes, object body, Py_ssize_t size,
                        uint64_t piece, uint16_t channel):
    """[method and header frames with the first body envelope, body view, end and next envelope, ...]"""
    cdef list parts = []
    cdef uint8_t between[8]
    cdef bytes first
    cdef uint64_t done = 0, n
    cdef object raw
    if size == 0:
        return [PyBytes_FromStringAndSize(<const char*>head, <Py_ssize_t>head_bytes)]
    raw = memoryview(body).cast("B")
    first = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>head_bytes + 7)
    memcpy(PyBytes_AS_STRING(first), head, head_bytes)
    n = min(piece, <uint64_t>size)
    store_envelope(<uint8_t*>PyBytes_AS_STRING(first) + head_bytes, FRAME_BODY, channel, <uint32_t>n)
    parts.append(first)
    between[0] = FRAME_END
    while True:
        parts.append(raw[done:done + n])
        done += n
        if done == <uint64_t>size:
            parts.append(PyBytes_FromStringAndSize(<const char*>between, 1))
            return parts
        n = min(piece, <uint64_t>size - done)
        store_envelope(between + 1, FRAME_BODY, channel, <uint32_t>n)
        parts.append(PyBytes_FromStringAndSize(<const char*>between, 8))
