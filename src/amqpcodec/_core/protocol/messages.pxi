# Messages: method, header and body frames of each channel put together (0-9-1 §4.2.6).

cdef enum:
    AWAIT_METHOD            # nothing open
    AWAIT_HEADER
    AWAIT_BODY
    PASS_CONTENT            # the rest of a content that was given up


cdef class Content:
    """What is open on one channel."""

    cdef int state
    cdef MessageDecoder decoder
    cdef Desc* desc         # of the method
    cdef object method
    cdef object properties
    cdef uint64_t size      # as the header says
    cdef uint64_t have      # octets so far
    cdef PyObject* body     # bytes, as large as what came asked for, or NULL
    cdef uint64_t began     # offset in the stream of the method

    def __dealloc__(self):
        Py_XDecRef(self.body)

    cdef void enter(self, int state) noexcept:
        """Another state; the decoder counts the channels that have something open."""
        self.decoder.n_open += <int>(state != AWAIT_METHOD) - <int>(self.state != AWAIT_METHOD)
        self.state = state

    cdef void clear(self, int state) noexcept:
        self.enter(state)
        self.method = None
        self.properties = None
        self.have = 0
        Py_XDecRef(self.body)
        self.body = NULL

    cdef int append(self, const uint8_t* p, uint32_t n) except -1:
        """Memory grows with the octets that came, never with those that are only announced."""
        cdef uint64_t room = <uint64_t>PyBytes_GET_SIZE(<object>self.body) if self.body != NULL else 0
        if n == 0:
            return 0
        if self.have + n > room:
            room = min(max(2 * room, self.have + n, <uint64_t>4096), self.size)
            if self.body == NULL:
                self.body = PyBytes_FromOctets(NULL, <Py_ssize_t>room)
                if self.body == NULL:
                    raise MemoryError
            else:
                resize_bytes(&self.body, <Py_ssize_t>room)
        memcpy(<uint8_t*>PyBytes_AS_STRING(<object>self.body) + self.have, p, n)
        self.have += n
        return 0

cdef extern from "Python.h":
    int resize_bytes "_PyBytes_Resize"(PyObject** o, Py_ssize_t n) except -1


cdef class MessageDecoder(Stream):
    """Methods and messages of one stream. See amqpcodec.decoder."""

    cdef dict contents          # channel -> Content
    cdef Content last           # of the channel that was read last
    cdef int n_open             # channels with something open or passed over
    cdef uint16_t last_channel
    cdef uint64_t body_limit
    cdef bint limited

    def __init__(self, Protocol protocol not None, frame_max=131072, max_body_size=None, *,
                 errors="strict", dialect="rabbitmq", tables="plain", bint copy=True,
                 trailing="error"):
        self.configure(protocol, frame_max, errors, dialect, tables, copy, trailing)
        self.reset()
        self.limited = max_body_size is not None
        if self.limited:
            if not isinstance(max_body_size, int) or max_body_size < 0:
                raise ValueError(f"max_body_size is None or octets, not {max_body_size!r}")
            self.body_limit = min(max_body_size, 2**64 - 1)

    @property
    def max_body_size(self):
        """Octets a body may have, or None for no limit."""
        return self.body_limit if self.limited else None

    def discard(self, int channel):
        """Give up what is open on a channel; the rest of its content is passed over in silence.

        Returns:
            True if something was open.
        """
        cdef Content c = None if self.contents is None else self.contents.get(channel)
        if c is None or c.state == AWAIT_METHOD or c.state == PASS_CONTENT:
            return False
        c.clear(PASS_CONTENT)
        return True

    def reset(self):
        """Forget everything, for a new stream; settings stay."""
        Stream.reset(self)
        self.contents = {}
        self.last = None
        self.n_open = 0

    def eof(self):
        """Say that no more octets come.

        Raises:
            IncompleteError: the stream ended inside a frame or a message.
        """
        Stream.eof(self)
        for channel in sorted(self.contents or ()):
            c = <Content>self.contents[channel]
            if c.state == AWAIT_HEADER or c.state == AWAIT_BODY:
                error = self.incomplete(b"a message", self.at - c.began)
                error.channel = channel
                error.method = type(c.method).NAME
                raise error

    @cython.final
    cdef Content content(self, uint16_t channel):
        """What is open on a channel."""
        cdef Content c
        if self.last is not None and self.last_channel == channel:
            return self.last
        c = self.contents.get(channel)
        if c is None:
            c = Content.__new__(Content)
            c.decoder = self
            self.contents[channel] = c
        self.last = c
        self.last_channel = channel
        return c

    cdef object take(self):
        cdef Fault fault
        cdef object event, item
        cdef int found
        while True:
            if self.n_open == 0 and self.head_hi == self.head_lo:
                event = self.take_whole()
                if event is not None:
                    return event
            found = self.scan(&fault)
            if found == SCAN_MORE:
                return None
            if found == SCAN_BAD:
                return self.fault_or_raise(&fault)
            try:
                event = self.step()
            except DecodeError as error:
                item = self.bad_frame(error) if self.yield_errors else None
                self.pass_frame()
                if item is None:
                    raise
                return item
            if event is None:
                self.pass_frame()
                continue
            self.pass_frame()
            return event

    @cython.final
    cdef object take_whole(self):
        """The usual message in one go: method, header and one body frame stand whole behind each other
        in the chunk and nothing is odd about them. None, and nothing done, where that is not so: then
        the frames are taken one by one, with the same checks and the same outcome."""
        cdef WireFrame method, header, body
        cdef Fault fault
        cdef Desc* d
        cdef uint64_t size
        cdef const uint8_t* end = self.end
        cdef const uint8_t* p = self.p
        cdef PyObject* made
        cdef KindObject* o
        cdef object message, octets
        fault.code = OK
        if scan_frame(p, end, self.limit, 0, &method, &fault) != SCAN_FRAME:
            return None
        if method.type != FRAME_METHOD or method.channel == 0 or method.size < 4:
            return None
        p += method.total
        d = self.protocol.find(load32(method.payload))
        if d == NULL or not d.has_content or d.read_hot == NULL or d.properties == NULL \
                or d.properties.read_hot == NULL:
            return None
        if scan_frame(p, end, self.limit, 0, &header, &fault) != SCAN_FRAME:
            return None
        if header.type != FRAME_HEADER or header.channel != method.channel or header.size < 14 \
                or load16(header.payload) != d.class_id:
            return None
        size = load64(header.payload + 4)
        if self.limited and size > self.body_limit:
            return None
        p += header.total
        body.total = 0
        if size:
            if scan_frame(p, end, self.limit, 0, &body, &fault) != SCAN_FRAME:
                return None
            if body.type != FRAME_BODY or body.channel != method.channel or body.size != size:
                return None
        message = kind_instance(self.protocol.message_type)
        o = <KindObject*><PyObject*>message
        made = d.read_hot(d, method.payload + 4, method.payload + method.size, self.mode, self.cache)
        if made == NULL:
            return None
        o.field[0] = made
        made = d.properties.read_hot(d.properties, header.payload + 12, header.payload + header.size,
                                     self.mode, self.cache)
        if made == NULL:
            return None
        o.field[1] = made
        if self.copy or size == 0:
            made = PyBytes_FromOctets(<const char*>body.payload if size else NULL, <Py_ssize_t>size)
            if made == NULL:
                raise MemoryError
            o.field[2] = made
            if not self.copy:
                octets = memoryview(b"")
                Py_DecRef(made)
                o.field[2] = Py_NewRef(<PyObject*>octets)
        else:
            self.frame_in_head = False
            octets = self.body_view(&body)
            o.field[2] = Py_NewRef(<PyObject*>octets)
        self.channel = method.channel
        self.at += method.total + header.total + body.total
        self.p = p + body.total
        return message

    @cython.final
    cdef object body_view(self, const WireFrame* body):
        """A body's octets as a view of an immutable chunk."""
        cdef Py_ssize_t at
        if self.frame_in_head:
            return memoryview(PyBytes_FromStringAndSize(<const char*>body.payload, body.size))
        at = body.payload - <const uint8_t*>PyBytes_AS_STRING(self.chunk)
        return memoryview(self.chunk)[at:at + body.size]

    @cython.final
    cdef object step(self):
        """The event that the frame at hand completes, or None."""
        cdef Content c
        if self.frame.type == FRAME_METHOD:
            return self.step_method()
        if self.frame.type == FRAME_HEADER or self.frame.type == FRAME_BODY:
            if self.frame.channel == 0:
                raise self.refused(BAD_CHANNEL, NULL, None)
            c = self.content(self.frame.channel)
            if c.state == PASS_CONTENT:
                return None
            return self.step_header(c) if self.frame.type == FRAME_HEADER else self.step_body(c)
        return self.decode()

    @cython.final
    cdef object step_method(self):
        cdef Content c
        cdef Desc* d
        cdef object method, before
        # Most methods carry no content, and most channels have none open.
        if self.n_open and self.frame.channel in self.contents:
            c = self.content(self.frame.channel)
            if c.state == AWAIT_HEADER or c.state == AWAIT_BODY:
                before = c.method
                c.clear(AWAIT_METHOD)
                raise self.refused(BAD_ORDER, b"method frame inside of a content", before)
            c.enter(AWAIT_METHOD)
        method = self.decode()
        d = <Desc*>KIND_OF(Py_TYPE(<PyObject*>method)).desc
        if not d.has_content:
            return method
        if self.frame.channel == 0:
            raise self.refused(BAD_CHANNEL, NULL, method)
        c = self.content(self.frame.channel)
        c.clear(AWAIT_HEADER)
        c.desc = d
        c.method = method
        c.began = self.at
        return None

    @cython.final
    cdef object step_header(self, Content c):
        cdef object method = c.method
        if AMQP_UNLIKELY(c.state != AWAIT_HEADER):
            c.clear(PASS_CONTENT)
            raise self.refused(BAD_ORDER, b"content header without a method before it", method)
        try:
            check_header(&self.frame, self.frame_start, self.at)
            if AMQP_UNLIKELY(load16(self.frame.payload) != c.desc.class_id):
                raise self.refused(BAD_HEADER_CLASS, b"method", method)
            c.size = load64(self.frame.payload + 4)
            if AMQP_UNLIKELY(self.limited and c.size > self.body_limit):
                raise self.refused(BAD_BODY_SIZE, NULL, method)
            c.properties = decode_properties(self.protocol, &self.frame, self.frame_start, self.at,
                                             self.mode, self.cache)
        except DecodeError:
            c.clear(PASS_CONTENT)
            raise
        if c.size == 0:
            return self.finish(c, b"" if self.copy else memoryview(b""))
        c.enter(AWAIT_BODY)
        return None

    @cython.final
    cdef object step_body(self, Content c):
        cdef object body, method = c.method
        if AMQP_UNLIKELY(c.state != AWAIT_BODY):
            c.clear(PASS_CONTENT)
            raise self.refused(BAD_ORDER, b"body frame without a content header before it", method)
        if AMQP_UNLIKELY(self.frame.size > c.size - c.have):
            c.clear(PASS_CONTENT)
            raise self.refused(BAD_ORDER, b"body frame beyond the size that the header announced", method)
        if c.have == 0 and self.frame.size == c.size:
            if self.copy:
                body = PyBytes_FromStringAndSize(<const char*>self.frame.payload, self.frame.size)
            else:
                body = self.body_view(&self.frame)
            return self.finish(c, body)
        c.append(self.frame.payload, self.frame.size)
        if c.have < c.size:
            return None
        body = <object>c.body
        return self.finish(c, body if self.copy else memoryview(body))

    @cython.final
    cdef object finish(self, Content c, object body):
        """The message; the channel is free for the next."""
        cdef object message = kind_instance(self.protocol.message_type)
        cdef KindObject* o = <KindObject*><PyObject*>message
        o.field[0] = Py_NewRef(<PyObject*>c.method)
        o.field[1] = Py_NewRef(<PyObject*>c.properties)
        o.field[2] = Py_NewRef(<PyObject*>body)
        c.clear(AWAIT_METHOD)
        return message

    @cython.final
    cdef object refused(self, int code, const char* what, object method):
        """The error for a frame that is well formed but not in its place."""
        cdef Fault fault
        begin_refusal(&self.frame, self.at, &fault)
        fault.code = code
        fault.what = what
        fault.scope = SCOPE_CHANNEL
        if code == BAD_BODY_SIZE:
            fault.need = load64(self.frame.payload + 4)
            fault.have = self.body_limit
        if code == BAD_HEADER_CLASS:
            fault.class_id = load16(self.frame.payload)
            fault.offset += 7
        if method is not None:
            fault.method = (<Desc*>KIND_OF(Py_TYPE(<PyObject*>method)).desc).name
        return fault_error(&fault)


cdef void begin_refusal(const WireFrame* f, uint64_t at, Fault* fault) noexcept:
    memset(fault, 0, sizeof(Fault))
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel
    fault.offset = at
