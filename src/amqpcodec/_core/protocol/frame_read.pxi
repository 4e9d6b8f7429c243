# Frames to objects.

cdef inline object decode_at(ProtocolCore self, const uint8_t* p, Py_ssize_t size, Py_ssize_t offset,
                             uintptr_t mode, object owner):
    cdef WireFrame f
    cdef Fault fault
    cdef int found
    if AMQP_UNLIKELY(offset < 0 or offset > size):
        raise ValueError(f"offset {offset} is outside of {size} bytes")
    fault.code = OK
    found = scan_frame(p + offset, p + size, 0, 0, <uint64_t>offset, &f, &fault)
    if found == SCAN_FRAME:
        return (owned(int_new(f.total)), owned(int_new(f.channel)), owned(decode_frame(
            self, &f, p + offset, <uint64_t>offset, mode, ONE_SHOT_CACHE, owner, p)))
    if found == SCAN_MORE:
        return None
    place_begin(&fault.at, NULL, NULL)
    raise fault_error(&fault)


cdef PyObject* decode_frame(
        ProtocolCore self, const WireFrame* f, const uint8_t* start, uint64_t at, uintptr_t mode,
        TextCache* cache, object owner, const uint8_t* owner_start) except NULL:
    """The object of a whole frame, as a new reference. at: offset of its first byte, for errors. owner:
    bytes that bodies may borrow, which begin at owner_start; None to copy."""
    cdef Desc* d
    cdef PyObject* made
    if f.type == FRAME_METHOD:
        if AMQP_LIKELY(f.size >= 4):
            d = self.find(load32(f.payload))
            if AMQP_LIKELY(d != NULL):
                if d.read_fast != NULL:
                    made = d.read_fast(d, f.payload + 4, f.payload + f.size, mode, cache)
                    if AMQP_LIKELY(made != NULL):
                        return made
                return new_reference(decode_payload(d, f, start, at, 4, False, mode, cache))
        raise bad_method(f, start, at)
    if f.type == FRAME_HEADER:
        return decode_header(self, f, start, at, mode, cache)
    if f.type == FRAME_BODY:
        return decode_body(self, f, owner, owner_start)
    if f.type == FRAME_HEARTBEAT:
        if f.size != 0 or f.channel != 0:
            raise frame_error(f, at, BAD_HEARTBEAT, 0)
        return new_reference(self.Heartbeat())
    return new_reference(self.ProtocolHeader(f.payload[0], f.payload[1], f.payload[2], f.payload[3]))


cdef PyObject* decode_body(ProtocolCore self, const WireFrame* f, object owner,
                           const uint8_t* owner_start) except NULL:
    cdef PyObject* payload
    cdef MessageObject* o
    if owner is None:
        payload = PyBytes_FromPointer(<const char*>f.payload, f.size)
    elif owner is view_of_copy:
        payload = new_reference(memoryview(PyBytes_FromStringAndSize(<const char*>f.payload, f.size)))
    else:
        payload = new_reference(
            memoryview(owner)[f.payload - owner_start:f.payload - owner_start + f.size])
    o = class_new(self.body_type) if payload != NULL else NULL
    if AMQP_UNLIKELY(o == NULL):
        Py_XDecRef(payload)
        raise MemoryError
    o.field[0] = payload
    return <PyObject*>o


cdef int begin_fault(const WireFrame* f, const uint8_t* start, uint64_t at, Cursor* c, Fault* fault) noexcept:
    """A cursor over a frame's payload, and a fault that knows the frame."""
    memset(fault, 0, sizeof(Fault))
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel
    c.p = f.payload
    c.end = f.payload + f.size
    c.base = start
    c.base_at = at
    c.fault = fault
    return 0


cdef object frame_error(const WireFrame* f, uint64_t at, int code, uint16_t class_id):
    cdef Fault fault
    memset(&fault, 0, sizeof(fault))
    fault.code = code
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel
    fault.class_id = class_id
    fault.have = f.size
    fault.offset = at
    if code == BAD_HEADER_CLASS:
        fault.offset = at + 7       # where the class id is
    return fault_error(&fault)


cdef object bad_method(const WireFrame* f, const uint8_t* start, uint64_t at):
    """A method frame without room for its ids, or with ids that no one defined."""
    cdef Fault fault
    cdef Cursor c
    begin_fault(f, start, at, &c, &fault)
    if f.size < 4:
        fail(&c, BAD_TRUNCATED, b"class id and method id", 4, 0)
    else:
        fail(&c, BAD_METHOD, NULL, 0, 0)
        fault.class_id = load16(f.payload)
        fault.method_id = load16(f.payload + 2)
    return fault_error(&fault)


cdef object decode_payload(const Desc* d, const WireFrame* f, const uint8_t* start, uint64_t at,
                           int skip, bint properties, uintptr_t mode, TextCache* cache):
    """Arguments or properties by the table path."""
    cdef Fault fault
    cdef Cursor c
    begin_fault(f, start, at, &c, &fault)
    c.p += skip
    return read_object(d, &c, properties, mode, cache)


cdef PyObject* decode_properties(ProtocolCore self, const WireFrame* f, const uint8_t* start, uint64_t at,
                                 uintptr_t mode, TextCache* cache) except NULL:
    """The property list of a content header frame, whose payload holds 12 bytes at least, as a new
    reference."""
    cdef Desc* d = self.find_content(load16(f.payload))
    cdef PyObject* made
    if AMQP_UNLIKELY(d == NULL):
        raise frame_error(f, at, BAD_HEADER_CLASS, load16(f.payload))
    if d.read_fast != NULL:
        made = d.read_fast(d, f.payload + 12, f.payload + f.size, mode, cache)
        if AMQP_LIKELY(made != NULL):
            return made
    return new_reference(decode_payload(d, f, start, at, 12, True, mode, cache))


cdef int check_header(const WireFrame* f, const uint8_t* start, uint64_t at) except -1:
    cdef Fault fault
    cdef Cursor c
    if AMQP_UNLIKELY(f.size < 12):
        begin_fault(f, start, at, &c, &fault)
        fail(&c, BAD_TRUNCATED, b"content header", 12, 0)
        raise fault_error(&fault)
    return 0


cdef PyObject* decode_header(ProtocolCore self, const WireFrame* f, const uint8_t* start, uint64_t at,
                             uintptr_t mode, TextCache* cache) except NULL:
    cdef PyObject* properties
    cdef MessageObject* o
    check_header(f, start, at)
    properties = decode_properties(self, f, start, at, mode, cache)
    o = class_new(self.header_type)
    if AMQP_UNLIKELY(o == NULL):
        Py_DecRef(properties)
        raise MemoryError
    o.field[0] = int_new(load64(f.payload + 4))
    o.field[1] = properties
    o.field[2] = int_new(load16(f.payload))
    o.field[3] = int_new(load16(f.payload + 2))
    if AMQP_UNLIKELY(o.field[0] == NULL or o.field[2] == NULL or o.field[3] == NULL):
        Py_DecRef(<PyObject*>o)
        raise MemoryError
    class_track_new(o)      # by its properties, whose table may come to hold it
    return <PyObject*>o
