# pika: its frames are wrappers around a method, a property list or a body.

@cython.final
@cython.internal
cdef class Receiving:
    """How far a connection has come in its buffer."""

    cdef object buffer
    cdef Py_ssize_t at


@cython.final
cdef class PikaCodec(DropIn):
    """What `pika.frame` and `pika.data` do.

    frames: the bound classes of pika.frame.Method, Header, Body and Heartbeat.
    properties: that of pika.spec.BasicProperties. module: pika.frame. sends: whether frames are
    marshalled here, so that those of a message need not be made.
    """

    cdef BoundClass method_frame, header_frame, body_frame, heartbeat_frame
    cdef tuple frames
    cdef BoundMethod properties
    cdef object module
    cdef dict receiving             # id of a connection -> Receiving, while it is
    cdef public bint sends

    def __cinit__(self, ClientBinding binding not None, tuple frames not None, BoundMethod properties not None,
                  object module not None):
        self.set_up(binding)
        self.method_frame, self.header_frame, self.body_frame, self.heartbeat_frame = frames
        self.frames = frames[:3]
        self.properties = properties
        self.module = module
        self.receiving = {}

    # ---- frames ----

    def decode_frame(self, data_in, Py_ssize_t offset=0):
        """As pika.frame.decode_frame: (bytes consumed, frame), or (0, None) while incomplete."""
        cdef Py_ssize_t total = 0
        self.calls += 1
        if type(data_in) is bytes:
            try:
                frame = self.read(data_in, offset, &total)
                return total, frame
            except Exception as error:
                self.remember(error)
        stock = self.own("decode_frame")
        return stock(data_in, offset) if offset else stock(data_in)

    cdef object read(self, object data, Py_ssize_t offset, Py_ssize_t* total):
        """The frame there, or None."""
        cdef WireFrame f
        cdef PyObject* out[4]
        cdef object inner
        cdef BoundMethod m
        if offset < 0 or offset > PyBytes_GET_SIZE(data):
            not_ours("unusual bytes")
        if not whole_frame(<const uint8_t*>PyBytes_AS_STRING(data) + offset,
                           <size_t>(PyBytes_GET_SIZE(data) - offset), &f):
            return None
        total[0] = <Py_ssize_t>f.total
        if f.type == FRAME_METHOD:
            if f.size < 4:
                not_ours("unusual bytes")
            self.may_read()
            m = self.find(load32(f.payload))
            inner = read_bound(self.profile, m, f.payload + 4, f.size - 4, False, self.lenient,
                               ONE_SHOT_CACHE)
            out[1] = PyLong_FromU64(f.channel)
            out[2] = Py_NewRef(<PyObject*>inner)
            return self.wrapped(self.method_frame, f.type, out)
        if f.type == FRAME_HEADER:
            if f.size < 12 or load16(f.payload) != self.properties.key >> 16:
                not_ours("unusual bytes")
            self.may_read()
            inner = read_bound(self.profile, self.properties, f.payload + 12, f.size - 12, True,
                               self.lenient, ONE_SHOT_CACHE)
            out[1] = PyLong_FromU64(f.channel)
            out[2] = PyLong_FromU64(load64(f.payload + 4))
            out[3] = Py_NewRef(<PyObject*>inner)
            return self.wrapped(self.header_frame, f.type, out)
        if f.type == FRAME_BODY:
            out[1] = PyLong_FromU64(f.channel)
            out[2] = PyBytes_FromPointer(<const char*>f.payload, f.size)
            return self.wrapped(self.body_frame, f.type, out)
        out[1] = PyLong_FromU64(0)
        return self.wrapped(self.heartbeat_frame, f.type, out)

    cdef inline object wrapped(self, BoundClass cls, uint8_t frame_type, PyObject** out):
        """A frame from its attributes, which it takes over; the first is its type."""
        out[0] = PyLong_FromU64(frame_type)
        return cls.make_of_new(out)

    def receive(self, connection, data_in):
        """As pika's Connection._on_data_available, which copies its rest for every frame."""
        cdef Receiving state
        cdef object before, buffer, frame
        cdef Py_ssize_t total
        buffer = connection._frame_buffer
        if type(buffer) is not bytes or type(data_in) is not bytes or not self.own_reader(connection):
            return self.stock["receive"](connection, data_in)
        before = self.receiving.get(id(connection))
        if before is not None and (<Receiving>before).buffer is buffer:
            buffer = buffer[(<Receiving>before).at:]        # called by what a frame of it did
        state = Receiving()
        state.buffer = buffer = buffer + data_in if buffer else data_in
        self.receiving[id(connection)] = state
        connection._frame_buffer = buffer
        try:
            while state.at < PyBytes_GET_SIZE(buffer):
                total = 0
                frame = self.next_frame(buffer, state.at, &total)
                if frame is None:
                    break
                state.at += total
                connection.bytes_received += total
                connection._process_frame(frame)
                if connection._frame_buffer is not buffer:  # the connection began anew
                    buffer = connection._frame_buffer
                    if type(buffer) is not bytes:
                        return self.stock["receive"](connection, type(buffer)())
                    state.buffer = buffer
                    state.at = 0
        finally:
            if before is None:
                del self.receiving[id(connection)]
            else:
                self.receiving[id(connection)] = before
            if connection._frame_buffer is buffer:
                connection._frame_buffer = buffer[state.at:]

    cdef bint own_reader(self, object connection) except -1:
        """Whether nobody put a reader of their own between the buffer and decode_frame."""
        cdef object reader = connection._read_frame
        cdef object trim = connection._trim_frame_buffer
        return (getattr(reader, "__func__", None) is self.stock["read_frame"]
                and getattr(trim, "__func__", None) is self.stock["trim"]
                and self.module.decode_frame == self.decode_frame)

    cdef object next_frame(self, object buffer, Py_ssize_t at, Py_ssize_t* total):
        """The frame there, or None."""
        self.calls += 1
        try:
            return self.read(buffer, at, total)
        except Exception as error:
            self.remember(error)
        consumed, frame = self.own("decode_frame")(buffer[at:])
        total[0] = consumed
        return frame

    def marshal_method(self, frame):
        """As pika.frame.Method.marshal."""
        self.calls += 1
        try:
            return self.write_method(frame)
        except Exception as error:
            self.remember(error)
        return self.own("marshal_method")(frame)

    cdef object write_method(self, object frame):
        cdef PyObject* values[3]
        unwrapped(self.method_frame, frame, FRAME_METHOD, values)
        try:
            return self.method_bytes(<object>values[2], channel_number(values[1]))
        finally:
            values_drop(values, 3)

    cdef object method_bytes(self, object method, uint16_t channel):
        """The frame of a method."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef BoundMethod m = self.bound(<PyObject*>method)
        self.may_write()
        buffer_init(&b, memory, sizeof(memory))
        try:
            begin_frame(&b)
            store32(buffer_extend(&b, 4), m.key)
            put_bound(&b, self.profile, m, method, False)
            return end_frame(&b, FRAME_METHOD, channel)
        finally:
            buffer_free(&b)

    def marshal_header(self, frame):
        """As pika.frame.Header.marshal."""
        self.calls += 1
        try:
            return self.write_header(frame)
        except Exception as error:
            self.remember(error)
        return self.own("marshal_header")(frame)

    cdef object write_header(self, object frame):
        cdef PyObject* values[4]
        cdef uint64_t size = 0
        unwrapped(self.header_frame, frame, FRAME_HEADER, values)
        try:
            if not exact_u64(values[2], &size):
                not_ours("unusual value")
            return self.header_bytes(size, <object>values[3], channel_number(values[1]))
        finally:
            values_drop(values, 4)

    cdef object header_bytes(self, uint64_t size, object properties, uint16_t channel):
        """The frame of a content header."""
        self.may_write()
        return bound_header_frame(self.profile, self.properties, size, <PyObject*>properties, channel)

    def marshal_body(self, frame):
        """As pika.frame.Body.marshal."""
        cdef PyObject* values[3]
        self.calls += 1
        try:
            unwrapped(self.body_frame, frame, FRAME_BODY, values)
            try:
                if type(<object>values[2]) is bytes:
                    return body_frame(PyBytes_AS_STRING(<object>values[2]),
                                      PyBytes_GET_SIZE(<object>values[2]),
                                      channel_number(values[1]))
            finally:
                values_drop(values, 3)
        except Exception as error:
            self.remember(error)
        return self.own("marshal_body")(frame)

    def marshal_heartbeat(self, frame):
        """As pika.frame.Heartbeat.marshal."""
        cdef PyObject* values[2]
        cdef uint16_t channel
        cdef uint8_t raw[8]
        self.calls += 1
        try:
            unwrapped(self.heartbeat_frame, frame, FRAME_HEARTBEAT, values)
            try:
                channel = channel_number(values[1])
            finally:
                values_drop(values, 2)
            store_envelope(raw, FRAME_HEARTBEAT, channel, 0)[0] = FRAME_END
            return PyBytes_FromStringAndSize(<const char*>raw, 8)
        except Exception as error:
            self.remember(error)
        return self.own("marshal_heartbeat")(frame)

    # ---- whole messages ----

    def send_message(self, connection, channel_number, method_frame, content):
        """As pika's Connection._send_message, which makes an object of each frame."""
        cdef list raw = None
        self.calls += 1
        try:
            raw = self.message_bytes(connection, channel_number, method_frame, content)
        except Exception as error:
            self.remember(error)
        if raw is None:
            return self.own("send_message")(connection, channel_number, method_frame, content)
        connection._output_marshaled_frames(raw)

    cdef list message_bytes(self, object connection, object channel, object method, object content):
        """The frames of a method with content."""
        cdef uint16_t number = channel_number(<PyObject*>channel)
        cdef uint64_t most = 0
        cdef Py_ssize_t at = 0, n, size
        cdef object body
        cdef list raw
        if type(content) is not tuple or len(<tuple>content) != 2 or not self.makes_frames():
            not_ours("unusual value")
        body = (<tuple>content)[1]
        if type(body) is not bytes:
            not_ours("unusual value")
        size = PyBytes_GET_SIZE(body)
        raw = [self.method_bytes(method, number),
               self.header_bytes(<uint64_t>size, (<tuple>content)[0], number)]
        if size:
            room = connection._body_max_length
            if not exact_u64(<PyObject*>room, &most) or most == 0:
                not_ours("unusual value")
            while at < size:
                n = <Py_ssize_t>min(most, <uint64_t>(size - at))
                raw.append(body_frame(PyBytes_AS_STRING(body) + at, n, number))
                at += n
        return raw

    cdef bint makes_frames(self) except -1:
        """Whether pika.frame's classes are those that it shipped, marshalled as they are here."""
        cdef BoundClass each
        for each in self.frames:
            if not each.may_make() or not each.may_take():
                return False
        return self.sends

    # ---- pika.data ----

    def encode_short_string(self, pieces, value):
        """As pika.data.encode_short_string: appends two pieces, returns their length."""
        cdef Buffer b
        cdef uint8_t memory[256]
        cdef Py_ssize_t n
        self.calls += 1
        buffer_init(&b, memory, sizeof(memory))
        try:
            self.may_write()
            put_short_text(&b, self.profile, <PyObject*>value)
            n = <Py_ssize_t>buffer_size(&b)
            pieces.append(PyBytes_FromStringAndSize(<const char*>b.start, 1))
            pieces.append(PyBytes_FromStringAndSize(<const char*>b.start + 1, n - 1))
            return n
        except FallBack as why:
            self.remember(why)
        finally:
            buffer_free(&b)
        return self.own("encode_short_string")(pieces, value)

    def encode_table(self, pieces, table):
        """As pika.data.encode_table: appends the bytes as one piece, returns their length."""
        return self.append_bytes("encode_table", pieces, table, True)

    def encode_value(self, pieces, value):
        """As pika.data.encode_value: appends the bytes as one piece, returns their length."""
        return self.append_bytes("encode_value", pieces, value, False)

    cdef object append_bytes(self, str name, object pieces, object value, bint table):
        self.calls += 1
        raw = self.item_bytes(value, table)
        if raw is None:
            return self.own(name)(pieces, value)
        pieces.append(raw)
        return PyBytes_GET_SIZE(raw)

    def decode_short_string(self, encoded, offset):
        """As pika.data.decode_short_string: (text, offset after it)."""
        cdef const uint8_t* p
        cdef Py_ssize_t at, n
        self.calls += 1
        if type(encoded) is bytes and type(offset) is int:
            try:
                at = offset
                if 0 <= at < PyBytes_GET_SIZE(encoded):
                    p = <const uint8_t*>PyBytes_AS_STRING(encoded) + at
                    n = p[0]
                    if PyBytes_GET_SIZE(encoded) - at - 1 >= n:
                        return bound_text(self.profile, p + 1, n, True, ONE_SHOT_CACHE), at + 1 + n
            except OverflowError:
                pass
        return self.own("decode_short_string")(encoded, offset)

    def decode_table(self, encoded, offset):
        """As pika.data.decode_table: (dict, offset after it)."""
        return self.read_at("decode_table", encoded, offset, True)

    def decode_value(self, encoded, offset):
        """As pika.data.decode_value: (value, offset after it)."""
        return self.read_at("decode_value", encoded, offset, False)


cdef inline int unwrapped(BoundClass cls, object frame, uint64_t frame_type, PyObject** values) except -1:
    """A frame's attributes, as new references. Falls back unless it is of that class and type."""
    cdef uint64_t u = 0
    if Py_TYPE(<PyObject*>frame) != cls.type or not cls.may_take():
        not_ours("client changed")
    cls.adopt(<PyObject*>frame, values)
    if not exact_u64(values[0], &u) or u != frame_type:
        values_drop(values, cls.n)
        not_ours("unusual value")
    return 0
