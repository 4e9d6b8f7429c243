# py-amqp: arguments are lists, properties dicts, and a message is put together from its frames.

from types import MethodType as _MethodType

cdef extern from "Python.h":
    bint PyCFunction_Check(object o)
    PyObject* PyCFunction_GET_SELF(object o)
    PyObject* PyMethod_GET_FUNCTION(object o)
    PyObject* PyMethod_GET_SELF(object o)

cdef dict ARGUMENT_LETTERS = {
    "b": W_BIT, "o": W_OCTET, "B": W_SHORT, "l": W_LONG, "L": W_LONGLONG, "s": W_SHORTSTR,
    "S": W_LONGSTR, "F": W_TABLE,
}

# Where a new message's attributes are in BoundClass.names, as compat/amqp.py gives them.
cdef enum:
    MESSAGE_METHOD = 0
    MESSAGE_ARGUMENTS
    MESSAGE_PROPERTIES
    MESSAGE_CHUNKS
    MESSAGE_RECEIVED
    MESSAGE_SIZE
    MESSAGE_READY
    MESSAGE_DELIVERY
    MESSAGE_BODY
    MESSAGE_CHANNEL
    MESSAGE_PARTS


@cython.final
cdef class AmqpCodec(DropIn):
    """What `amqp.serialization` and `amqp.method_framing` do.

    properties: the property list, without a class. names: py-amqp's names of the properties.
    message: the bound class of amqp.basic_message.Message, slots in the order of MESSAGE_METHOD
    and on. framing, transport: the modules amqp.method_framing and amqp.transport.
    property_list: Message.PROPERTIES as it was shipped. readers: the `_read` of transports whose
    work is known, each with the errors that it goes on after.
    """

    cdef BoundMethod properties
    cdef tuple names
    cdef BoundClass message
    cdef object framing, transport, property_list
    cdef dict framing_names, transport_names
    cdef object content_key
    cdef public object serializer   # what stands for _serialize_properties
    cdef dict readers, property_readers
    cdef object usual_read      # the one of `readers` that was asked last
    cdef tuple usual_errnos
    cdef dict formats           # format -> BoundMethod, or None where it has other letters

    def __init__(self, ClientProfile profile not None, dict stock not None, bint lenient,
                 BoundMethod properties not None, tuple names not None,
                 BoundClass message not None, object property_list, object framing not None,
                 object transport not None, dict readers not None):
        DropIn.__init__(self, profile, stock, None, [], lenient)
        self.properties = properties
        self.names = tuple([_intern(name) for name in names])
        self.message = message
        self.property_list = property_list
        self.framing = framing
        self.framing_names = vars(framing)
        self.transport = transport
        self.transport_names = vars(transport)
        self.readers = readers
        self.usual_read = None
        self.usual_errnos = ()
        self.property_readers = stock["PROPERTY_CLASSES"]
        self.formats = {}
        self.content_key = properties.key >> 16

    # ---- arguments ----

    cdef BoundMethod layout(self, object format):
        """The arguments that a format stands for; gives up on letters that no method has."""
        cdef object found = self.formats.get(format, self)
        if found is self:
            text = format.decode("ascii") if type(format) is bytes else format
            if type(text) is not str or len(self.formats) > 1000:
                leave_it()
            found = None
            if len(text) <= MAX_FIELDS and set(text) <= ARGUMENT_LETTERS.keys():
                found = BoundMethod(None, 0, 0, tuple([
                    (letter, ARGUMENT_LETTERS[letter], FIELD_CACHED) for letter in text]))
            self.formats[format] = found
        if found is None:
            leave_it()
        return found

    def loads(self, format, buf, offset):
        """As amqp.serialization.loads: (list of arguments, offset behind them)."""
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                return self.read_arguments(self.layout(format), buf, offset)
            except MemoryError:
                raise
            except Exception:
                pass
        return self.own("loads")(format, buf, offset)

    cdef object read_arguments(self, BoundMethod m, object buf, Py_ssize_t offset):
        cdef AmqpValue v[MAX_FIELDS]
        cdef Fault fault
        cdef Cursor c
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(buf)
        cdef list values = []
        cdef int i
        if offset < 0 or offset > PyBytes_GET_SIZE(buf):
            leave_it()
        fault.code = OK
        c.p = c.base = start + offset
        c.end = start + PyBytes_GET_SIZE(buf)
        c.base_at = 0
        c.fault = &fault
        bound_values(m, &c, False, v)
        for i in range(m.desc.n):
            values.append(bound_field(self.profile, &m.desc.op[i], (m.tables >> i) & 1, &v[i],
                                      self.lenient, ONE_SHOT_CACHE))
        return values, c.p - start

    def dumps(self, format, values):
        """As amqp.serialization.dumps: the octets of arguments."""
        self.calls += 1
        try:
            return self.write_arguments(self.layout(format), values)
        except MemoryError:
            raise
        except Exception:
            pass
        return self.own("dumps")(format, values)

    cdef bytes write_arguments(self, BoundMethod m, object values):
        cdef PyObject* items[MAX_FIELDS]
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef tuple kept
        cdef int i, n
        if type(values) is not list and type(values) is not tuple:
            leave_it()
        kept = tuple(values)
        n = <int>len(kept)
        if n > m.desc.n:
            leave_it()
        for i in range(n):
            items[i] = PyTuple_GET_ITEM(kept, i)
        buffer_init(&b, memory, sizeof(memory))
        try:
            put_bound_arguments(&b, self.profile, m, items, n)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        finally:
            buffer_free(&b)

    # ---- values and tables ----

    def read_item(self, buf, offset):
        """As amqp.serialization._read_item: (value, offset behind it)."""
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                return read_value_at(self.profile, buf, offset)
            except MemoryError:
                raise
            except Exception:
                pass
        return self.own("_read_item")(buf, offset)

    def write_table(self, d, write, bits):
        """As amqp.serialization._write_table: the octets, their length before them, are written."""
        self.calls += 1
        octets = self.item_octets(d, True) if type(d) is dict else None
        if octets is None:
            return self.own("_write_table")(d, write, bits)
        write(octets)

    def write_item(self, v, write, bits):
        """As amqp.serialization._write_item."""
        self.calls += 1
        octets = self.item_octets(v, False)
        if octets is None:
            return self.own("_write_item")(v, write, bits)
        write(octets)

    def write_array(self, list_, write, bits):
        """As amqp.serialization._write_array."""
        self.calls += 1
        octets = self.item_octets(list_, False) if type(list_) is list else None
        if octets is None:
            return self.own("_write_array")(list_, write, bits)
        write(octets[1:])

    cdef bytes item_octets(self, object value, bint table):
        """None where the value is left to py-amqp."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        buffer_init(&b, memory, sizeof(memory))
        try:
            if table:
                put_bound_table(&b, self.profile, <PyObject*>value)
            else:
                put_profile_value(&b, self.profile, value, 0)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        except MemoryError:
            raise
        except Exception:
            return None
        finally:
            buffer_free(&b)

    # ---- properties ----

    def decode_properties_basic(self, buf, offset):
        """As amqp.serialization.decode_properties_basic: (dict, offset behind them)."""
        cdef Py_ssize_t at, end = 0
        self.calls += 1
        if type(buf) is bytes and type(offset) is int:
            try:
                at = offset
                properties = self.read_properties(buf, at, &end)
                return properties, end
            except MemoryError:
                raise
            except Exception:
                pass
        return self.own("decode_properties_basic")(buf, offset)

    cdef dict read_properties(self, object buf, Py_ssize_t offset, Py_ssize_t* end):
        cdef AmqpValue v[MAX_FIELDS]
        cdef Fault fault
        cdef Cursor c
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(buf)
        cdef BoundMethod m = self.properties
        cdef dict found = {}
        cdef object value
        cdef int i
        # py-amqp reads one flag word
        if (offset < 0 or PyBytes_GET_SIZE(buf) - offset < 2 or start[offset + 1] & 1):
            leave_it()
        fault.code = OK
        c.p = c.base = start + offset
        c.end = start + PyBytes_GET_SIZE(buf)
        c.base_at = 0
        c.fault = &fault
        bound_values(m, &c, True, v)
        for i in range(m.desc.n):
            if v[i].present:
                value = bound_field(self.profile, &m.desc.op[i], (m.tables >> i) & 1, &v[i],
                                    self.lenient, ONE_SHOT_CACHE)
                PyDict_SetItem(found, <object>PyTuple_GET_ITEM(self.names, i), value)
        end[0] = c.p - start
        return found

    def serialize_properties(self, content):
        """As amqp.serialization.GenericContent._serialize_properties."""
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        self.calls += 1
        buffer_init(&b, memory, sizeof(memory))
        try:
            self.put_properties(&b, content)
            return PyBytes_FromStringAndSize(<const char*>b.start, b.p - b.start)
        except MemoryError:
            raise
        except Exception:
            pass
        finally:
            buffer_free(&b)
        return self.own("serialize_properties")(content)

    cdef int put_properties(self, Buffer* b, object content) except -1:
        """The flag word and the properties of a content with the properties of messages."""
        cdef PyObject* values[MAX_FIELDS]
        cdef dict properties
        cdef Py_ssize_t left
        cdef int i
        if type(content).PROPERTIES is not self.property_list:
            leave_it()
        properties = <dict?>content.properties
        if type(properties) is not dict:
            leave_it()
        left = PyDict_GET_SIZE(properties)
        for i in range(self.properties.desc.n):
            values[i] = NULL
            if left:
                values[i] = PyDict_GetItem(properties, <object>PyTuple_GET_ITEM(self.names, i))
                left -= values[i] != NULL
        return put_bound_properties(b, self.profile, self.properties, values)

    # ---- frames in ----

    def frame_handler(self, connection, callback, *arguments, **named):
        """As amqp.method_framing.frame_handler: a function that takes frames."""
        self.calls += 1
        if arguments or named:
            return self.own("frame_handler")(connection, callback, *arguments, **named)
        return FrameHandler(self, connection, callback).on_frame

    cdef object new_message(self, object signature, object octets):
        """A message that waits for its header."""
        cdef PyObject* out[MESSAGE_PARTS]
        cdef object chunks = [], properties = {}, none = None, empty = "", zero = 0
        if (PyDict_GetItem(self.framing_names, "Message") != <PyObject*>self.message.cls
                or not self.message.usable()):
            return self.framing.Message(frame_method=signature, frame_args=octets)
        out[MESSAGE_METHOD] = Py_NewRef(<PyObject*>signature)
        out[MESSAGE_ARGUMENTS] = Py_NewRef(<PyObject*>octets)
        out[MESSAGE_PROPERTIES] = Py_NewRef(<PyObject*>properties)
        out[MESSAGE_CHUNKS] = Py_NewRef(<PyObject*>chunks)
        out[MESSAGE_RECEIVED] = Py_NewRef(<PyObject*>zero)
        out[MESSAGE_SIZE] = Py_NewRef(<PyObject*>zero)
        out[MESSAGE_READY] = Py_NewRef(Py_False)
        out[MESSAGE_DELIVERY] = Py_NewRef(<PyObject*>none)
        out[MESSAGE_BODY] = Py_NewRef(<PyObject*>empty)
        out[MESSAGE_CHANNEL] = Py_NewRef(<PyObject*>none)
        return self.message.make(out)

    cdef inline bint is_message(self, object o) except -1:
        return Py_TYPE(<PyObject*>o) == self.message.type and self.message.usable()

    cdef bint inbound_header(self, object message, object buf) except -1:
        """What Message.inbound_header does; whether the message is whole."""
        cdef const uint8_t* p
        cdef Py_ssize_t end = 0
        cdef dict properties
        cdef object size
        self.calls += 1
        if self.is_message(message) and type(buf) is bytes and PyBytes_GET_SIZE(buf) >= 14:
            p = <const uint8_t*>PyBytes_AS_STRING(buf)
            if load16(p) == self.properties.key >> 16 and self.own_reader():
                try:
                    properties = self.read_properties(buf, 12, &end)
                    size = load64(p + 4)
                    replace_slot(self.message, message, MESSAGE_SIZE, size)
                    replace_slot(self.message, message, MESSAGE_PROPERTIES, properties)
                    if load64(p + 4) == 0:
                        replace_slot(self.message, message, MESSAGE_READY, True)
                        return True
                    return False
                except MemoryError:
                    raise
                except Exception:
                    pass
        self.fallbacks += 1
        message.inbound_header(buf)
        return bool(message.ready)

    cdef bint own_reader(self) except -1:
        """Whether nobody put a reader of their own in the place of this one."""
        cdef PyObject* reader = PyDict_GetItem(self.property_readers, self.content_key)
        if reader == NULL or not PyCFunction_Check(<object>reader):
            return False
        return PyCFunction_GET_SELF(<object>reader) == <PyObject*>self

    def frame_reader(self):
        """For amqp.transport._AbstractTransport.read_frame."""
        cdef AmqpCodec codec = self

        @cython.binding(True)
        def read_frame(transport, unpack=None):
            if unpack is not None:
                return codec.stock["read_frame"](transport, unpack)
            return codec.read_frame(transport)
        return read_frame

    cdef bint inbound_body(self, object message, object buf) except -1:
        """What Message.inbound_body does; whether the message is whole."""
        cdef uint64_t size = 0, received = 0
        cdef PyObject* chunks
        if self.is_message(message) and type(buf) is bytes:
            chunks = slot_of(self.message, message, MESSAGE_CHUNKS)
            if (chunks != NULL and type(<object>chunks) is list and not <list><object>chunks
                    and exact_u64(slot_of(self.message, message, MESSAGE_SIZE), &size)
                    and exact_u64(slot_of(self.message, message, MESSAGE_RECEIVED), &received)
                    and received == 0 and <uint64_t>PyBytes_GET_SIZE(buf) >= size):
                replace_slot(self.message, message, MESSAGE_RECEIVED, PyBytes_GET_SIZE(buf))
                replace_slot(self.message, message, MESSAGE_BODY, buf)
                replace_slot(self.message, message, MESSAGE_READY, True)
                return True
        message.inbound_body(buf)
        return bool(message.ready)

    # ---- frames out ----

    def frame_writer(self, connection, transport, *arguments, **named):
        """As amqp.method_framing.frame_writer: a function that writes frames."""
        self.calls += 1
        stock = self.stock["frame_writer"]
        if arguments or named:
            self.fallbacks += 1
            return stock(connection, transport, *arguments, **named)
        write = transport.write
        # Both are taken when a connection is made: gevent and eventlet may have changed Lock.
        lock = self.framing.threading.Lock()
        theirs = None

        def write_frame(type_, channel, method_sig, args, content):
            nonlocal theirs
            with lock:
                pieces = self.frames_of(connection, type_, channel, method_sig, args, content)
                if pieces is None:
                    if theirs is None:
                        theirs = stock(connection, transport)
                    return theirs(type_, channel, method_sig, args, content)
                if type(pieces) is list:
                    for piece in pieces:
                        write(piece)
                else:
                    write(pieces)
                connection.bytes_sent += 1
        return write_frame

    cdef object frames_of(self, object connection, object type_, object channel, object signature,
                          object args, object content):
        """What is written, or a list of it; None where it is left to py-amqp."""
        self.calls += 1
        try:
            return self.frames_written(connection, type_, channel, signature, args, content)
        except MemoryError:
            raise
        except Exception:
            self.fallbacks += 1
            return None

    cdef object frames_written(self, object connection, object type_, object channel,
                               object signature, object args, object content):
        cdef Buffer b
        cdef uint8_t memory[STACK_ROOM]
        cdef uint16_t number = channel_number(<PyObject*>channel)
        cdef uint64_t room = 0, n = 0, size, done, kind = 0
        cdef size_t head, tail
        cdef object body = None
        cdef object out
        cdef list pieces
        cdef uint8_t octets[8]
        cdef uint8_t* w
        if not exact_u64(<PyObject*>type_, &kind):
            leave_it()
        if kind == FRAME_HEARTBEAT and not content:
            put_envelope(octets, FRAME_HEARTBEAT, number, 0)[0] = FRAME_END
            return memoryview(PyBytes_FromStringAndSize(<const char*>octets, 8))
        size_of_room = connection.frame_max - 8
        if not exact_u64(<PyObject*>size_of_room, &room) or room == 0 or kind != FRAME_METHOD:
            leave_it()
        if type(args) is str:
            args = args.encode("utf-8", "surrogatepass")
        if type(args) is not bytes or type(signature) is not tuple or len(<tuple>signature) != 2:
            leave_it()
        buffer_init(&b, memory, sizeof(memory))
        try:
            b.p += 7
            put_ranged(&b, WRITE_U16, (<tuple>signature)[0])
            put_ranged(&b, WRITE_U16, (<tuple>signature)[1])
            put_octets(&b, PyBytes_AS_STRING(args), <size_t>PyBytes_GET_SIZE(args))
            buffer_room(&b, 8)
            head = <size_t>(b.p - b.start) + 1
            put_envelope(b.start, FRAME_METHOD, number, <uint32_t>(head - 8))
            b.p[0] = FRAME_END
            b.p += 1
            if not content:
                if head + 40 > room + 12:
                    leave_it()      # py-amqp's buffer of frame_max may be too small for it
                return memoryview(PyBytes_FromStringAndSize(<const char*>b.start,
                                                            <Py_ssize_t>head))
            if (not self.is_message(content)
                    or type(content)._serialize_properties is not self.serializer):
                leave_it()
            body = content.body
            if type(body) is str:
                body = body.encode(content.properties.setdefault("content_encoding", "utf-8"))
            if type(body) is not bytes:
                leave_it()
            size = <uint64_t>PyBytes_GET_SIZE(body)
            b.p += 7
            store16(b.p, load16(b.start + 7))
            store16(b.p + 2, 0)
            b.p += 4
            buffer_room(&b, 16)
            store64(b.p, size)
            b.p += 8
            tail = <size_t>(b.p - b.start)
            self.put_properties(&b, content)
            n = <uint64_t>(b.p - b.start) - tail
            buffer_room(&b, 8)
            tail = <size_t>(b.p - b.start) + 1
            put_envelope(b.start + head, FRAME_HEADER, number, <uint32_t>(tail - head - 8))
            b.p[0] = FRAME_END
            if <uint64_t>PyBytes_GET_SIZE(args) + n + size + 40 <= room:
                out = PyBytes_FromStringAndSize(
                    NULL, <Py_ssize_t>(tail + size + (8 if size else 0)))
                w = <uint8_t*>PyBytes_AS_STRING(out)
                memcpy(w, b.start, tail)
                if size:
                    w = put_envelope(w + tail, FRAME_BODY, number, <uint32_t>size)
                    memcpy(w, PyBytes_AS_STRING(body), size)
                    w[size] = FRAME_END
                return memoryview(out)
            pieces = [PyBytes_FromStringAndSize(<const char*>b.start, <Py_ssize_t>head),
                      PyBytes_FromStringAndSize(<const char*>b.start + head,
                                                <Py_ssize_t>(tail - head))]
            done = 0
            while done < size:
                n = min(room, size - done)
                out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>n + 8)
                w = put_envelope(<uint8_t*>PyBytes_AS_STRING(out), FRAME_BODY, number, <uint32_t>n)
                memcpy(w, PyBytes_AS_STRING(body) + done, n)
                w[n] = FRAME_END
                pieces.append(out)
                done += n
            return pieces
        finally:
            buffer_free(&b)

    # ---- the transport ----

    cdef bint is_known(self, object read, object transport) except -1:
        """Whether a transport's `_read` is one whose work is known; then `usual_errnos` are its own."""
        cdef PyObject* function = PyMethod_GET_FUNCTION(read)
        cdef PyObject* errnos
        if PyMethod_GET_SELF(read) != <PyObject*>transport:
            return False
        if function != <PyObject*>self.usual_read:
            errnos = PyDict_GetItem(self.readers, <object>function)
            if errnos == NULL:
                return False
            self.usual_errnos = <tuple>errnos
            self.usual_read = <object>function
        return True

    cdef object read_frame(self, object transport):
        """(frame type, channel, payload); the frame's end is read with the payload."""
        cdef object header = b"", rest = b"", size, read, frame_type, channel
        cdef object recv = None
        cdef tuple errnos = ()
        cdef const uint8_t* p
        cdef Py_ssize_t n = -1
        self.calls += 1
        read = transport._read
        if type(read) is not _MethodType:       # a mock, or another function of the instance's own
            return self.own("read_frame")(transport)
        if self.is_known(read, transport):
            errnos = self.usual_errnos
            recv = transport._quick_recv
        try:
            header = (read(7, True) if recv is None
                      else self.receive(transport, recv, errnos, 7, True))
            if type(header) is bytes and PyBytes_GET_SIZE(header) == 7:
                p = <const uint8_t*>PyBytes_AS_STRING(header)
                n = load32(p + 3)
                if n < 0x7FFFFFFF:
                    rest = (read(n + 1) if recv is None
                            else self.receive(transport, recv, errnos, n + 1, False))
                    if (type(rest) is bytes and PyBytes_GET_SIZE(rest) == n + 1
                            and <uint8_t>PyBytes_AS_STRING(rest)[n] == FRAME_END):
                        return (p[0], load16(p + 1),
                                PyBytes_FromStringAndSize(PyBytes_AS_STRING(rest), n))
            frame_type, channel, size = self.transport.unpack(">BHI", header)
            if size >= 0x7FFFFFFF:      # more than a socket is asked for at once
                rest = read(0x7FFFFFFF)
                rest = rest + read(size - 0x7FFFFFFF)
                rest = rest + read(1)
            elif not rest:
                rest = read(size + 1)
        except OSError as error:
            return self.read_failed(transport, header + rest, n if not rest else -1, error)
        end = ord(rest[size:])
        if end != FRAME_END:
            raise self.transport.UnexpectedFrame(
                f"Received frame_end {end:#04x} while expecting 0xce")
        return frame_type, channel, rest[:size]

    cdef object receive(self, object transport, object recv, tuple errnos, Py_ssize_t n, bint initial):
        """What `transport._read` does: n octets, of which not one more is taken from the socket."""
        cdef object got = transport._read_buffer, more
        cdef bint kept = type(got) is not bytes or PyBytes_GET_SIZE(got) != 0
        try:
            while len(got) < n:
                try:
                    more = recv(n - len(got))
                except OSError as error:
                    if error.errno not in errnos:
                        raise
                    if initial and transport.raise_on_initial_eintr:
                        raise self.transport.socket.timeout()
                    continue
                if type(more) is bytes and PyBytes_GET_SIZE(more) == n and not kept:
                    return more
                if not more:
                    raise OSError("Server unexpectedly closed connection")
                got = got + more
                kept = True
        except BaseException:
            transport._read_buffer = got
            raise
        transport._read_buffer = got[n:]
        return got[:n]

    cdef object read_failed(self, object transport, object octets, Py_ssize_t payload, object error):
        """Nothing that was read may be lost by a timeout, which comes in several forms."""
        cdef object module = self.transport
        timeout = module.socket.timeout
        late = isinstance(error, timeout)
        if not late and module.os.name == "nt" and error.errno == module.errno.EWOULDBLOCK:
            late = True
            error = timeout()
        if not late and isinstance(error, module.SSLError) and "timed out" in str(error):
            late = True
            error = timeout()
        if late:
            transport._read_buffer = octets + transport._read_buffer
        else:
            # py-amqp reads the frame's end by itself, and then has forgotten a payload that was whole.
            if 0 <= payload <= len(transport._read_buffer):
                transport._read_buffer = transport._read_buffer[payload:]
            if error.errno not in module._UNAVAIL:
                transport.connected = False
        raise error


@cython.final
@cython.internal
cdef class Waiting:
    """What a channel waits for: the type of its next frame, and the message that it is part of."""

    cdef uint64_t wanted
    cdef object message


@cython.final
cdef class FrameHandler:
    """What frame_handler of py-amqp makes: it joins frames to messages."""

    cdef AmqpCodec codec
    cdef object connection, callback
    cdef tuple signatures       # of the methods with content
    cdef dict channels          # channel -> Waiting

    def __init__(self, AmqpCodec codec not None, connection, callback):
        self.codec = codec
        self.connection = connection
        self.callback = callback
        self.signatures = tuple(codec.framing._CONTENT_METHODS)
        self.channels = {}

    def on_frame(self, frame):
        """Take a frame, which is (type, channel, payload). True: something was handed over."""
        cdef object channel, buf, signature, message
        cdef Waiting state
        cdef uint64_t kind = 0, wanted = FRAME_METHOD
        if type(frame) is not tuple or len(<tuple>frame) != 3:
            frame = tuple(frame)
            _kind, channel, buf = frame
        channel = (<tuple>frame)[1]
        buf = (<tuple>frame)[2]
        self.connection.bytes_recv += 1
        state = self.channels.get(channel)
        if state is not None:
            wanted = state.wanted
        if not exact_u64(PyTuple_GET_ITEM(frame, 0), &kind) or kind != wanted and kind != 8:
            frame_type = (<tuple>frame)[0]
            if frame_type != wanted and frame_type != 8:
                raise self.codec.framing.UnexpectedFrame(
                    f"Received frame {frame_type} while expecting type: {wanted}")
            kind = <uint64_t>int(frame_type)
        if kind == FRAME_METHOD:
            signature = self.content_signature(buf)
            if signature is None:
                signature = self.codec.framing.unpack_from(">HH", buf, 0)
                self.callback(channel, signature, buf, None)
                return True
            message = self.codec.new_message(signature, buf)
            if state is None:
                state = Waiting()
                self.channels[channel] = state
            state.message = message
            state.wanted = FRAME_HEADER
            return False
        if kind == FRAME_HEADER:
            if not self.codec.inbound_header(state.message, buf):
                state.wanted = FRAME_BODY
                return False
        elif kind == FRAME_BODY:
            if not self.codec.inbound_body(state.message, buf):
                return False
        else:
            return kind != FRAME_HEARTBEAT
        message = state.message
        state.message = None
        state.wanted = FRAME_METHOD
        self.hand_over(channel, message)
        return True

    cdef tuple content_signature(self, object buf):
        """(class id, method id) of a method with content; None of any other."""
        cdef uint32_t key
        if type(buf) is bytes and PyBytes_GET_SIZE(buf) >= 4:
            key = load32(<const uint8_t*>PyBytes_AS_STRING(buf))
            for each in self.signatures:
                if (<uint32_t>(<int>(<tuple>each)[0]) << 16 | <uint32_t>(<int>(<tuple>each)[1])) == key:
                    return <tuple>each
            return None
        signature = self.codec.framing.unpack_from(">HH", buf, 0)
        return signature if signature in self.signatures else None

    cdef int hand_over(self, object channel, object message) except -1:
        cdef PyObject* signature = NULL
        cdef PyObject* octets = NULL
        if self.codec.is_message(message):
            signature = slot_of(self.codec.message, message, MESSAGE_METHOD)
            octets = slot_of(self.codec.message, message, MESSAGE_ARGUMENTS)
        if signature == NULL or octets == NULL:
            self.callback(channel, message.frame_method, message.frame_args, message)
        else:
            self.callback(channel, <object>signature, <object>octets, message)
        return 0


cdef inline PyObject* slot_of(BoundClass cls, object o, int i) noexcept:
    return bound_slot(<PyObject*>o, cls.offset[i])[0]


cdef inline int replace_slot(BoundClass cls, object o, int i, object value) except -1:
    cdef PyObject** slot = bound_slot(<PyObject*>o, cls.offset[i])
    cdef PyObject* before = slot[0]
    slot[0] = Py_NewRef(<PyObject*>value)
    Py_XDecRef(before)
    return 0
