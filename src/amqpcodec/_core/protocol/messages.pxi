# Messages: method, header and body frames of each channel put together (0-9-1 §4.2.6).

cdef enum:
    BODY_WHOLE = 2          # of read_body, beside SCAN_MORE and SCAN_BAD
    NO_BODY = 3
    BODY_AHEAD = 131072     # bytes of memory for what bodies announce, shared by those that are open
    BODY_LEAST = 4096


@cython.final
cdef class Content:
    """What is open on one channel."""

    cdef ContentMachine grammar
    cdef MessageDecoder decoder
    cdef Desc* desc         # of the method
    cdef object method
    cdef object properties
    cdef PyObject* body     # bytes with room for what came and some more, or NULL
    cdef uint64_t began     # offset in the stream of the method

    def __dealloc__(self):
        Py_XDecRef(self.body)

    cdef ContentOutcome step(self, ContentEvent event, uint64_t n) noexcept:
        """The decoder counts the channels that have something open, and the contents."""
        cdef ContentState before = self.grammar.state
        cdef ContentOutcome outcome = content_step(&self.grammar, event, n)
        cdef ContentState state = self.grammar.state
        if state == before:
            return outcome
        self.decoder.n_open += <int>(state != CONTENT_IDLE) - <int>(before != CONTENT_IDLE)
        self.decoder.n_contents += <int>content_is_open(state) - <int>content_is_open(before)
        return outcome

    cdef void clear(self) noexcept:
        self.method = None
        self.properties = None
        Py_XDecRef(self.body)
        self.body = NULL

    cdef void discard(self) noexcept:
        self.step(CONTENT_DISCARD, 0)
        self.clear()

    cdef int append(self, uint64_t at, const uint8_t* p, size_t n) except -1:
        """Memory grows with the bytes that came. What is only announced gets little: no peer has much
        set aside by opening many contents."""
        cdef uint64_t room = <uint64_t>PyBytes_GET_SIZE(<object>self.body) if self.body != NULL else 0
        if at + n > room:
            room = max(2 * room, at + n, <uint64_t>BODY_LEAST, <uint64_t>(BODY_AHEAD // self.decoder.n_open))
            room = min(room, self.grammar.size)
            if self.body == NULL:
                self.body = PyBytes_FromPointer(NULL, <Py_ssize_t>room)
                if self.body == NULL:
                    raise MemoryError
            else:
                try:
                    resize_bytes(&self.body, <Py_ssize_t>room)
                except MemoryError:     # and what there was is gone
                    self.discard()
                    raise
        memcpy(<uint8_t*>PyBytes_AS_STRING(<object>self.body) + at, p, n)
        return 0

cdef uint64_t parse_open_limit(object limit) except? 0:
    if limit is None:
        return NO_OPEN_LIMIT
    limit = as_int(limit)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"max_open is None or a number from 1, not {limit!r}")
    return min(limit, NO_OPEN_LIMIT)


cdef object told_open_limit(uint64_t limit):
    return None if limit == NO_OPEN_LIMIT else limit


cdef extern from "Python.h":
    int resize_bytes "_PyBytes_Resize"(PyObject** o, Py_ssize_t n) except -1


cdef class MessageDecoder(Stream):
    """Methods and messages of one stream. See amqpcodec._facade.decoder."""

    cdef dict contents          # channel -> Content
    cdef Content last           # of the channel that was read last
    cdef int n_open             # channels with something open or skipped
    cdef uint64_t n_contents    # those with a content that is open
    cdef uint64_t open_limit
    cdef Content filling        # the content of a body frame that is being read, or None
    cdef uint64_t left          # bytes of that frame's payload that are still to come
    cdef uint16_t body_channel  # the frame's
    cdef uint16_t last_channel
    cdef uint64_t body_limit
    cdef bint limited

    def __init__(self, Protocol protocol not None, frame_max=131072, max_body_size=None, *,
                 max_open=65536, errors="strict", dialect="rabbitmq", tables="plain", bint copy=True,
                 trailing="error", max_header_frame=None):
        self.configure(protocol, frame_max, errors, dialect, tables, copy, trailing, max_header_frame)
        self.open_limit = parse_open_limit(max_open)
        self.reset()
        self.limited = max_body_size is not None
        if self.limited:
            max_body_size = as_int(max_body_size)
            if not isinstance(max_body_size, int) or max_body_size < 0:
                raise ValueError(f"max_body_size is None or a number of bytes, not {max_body_size!r}")
            self.body_limit = min(max_body_size, 2**64 - 1)

    @property
    def max_header_frame(self):
        """Bytes a method or content header frame may take, its envelope included; 0: no limit."""
        return self.header_limit

    @property
    def max_body_size(self):
        """Bytes a body may have, or None for no limit."""
        return self.body_limit if self.limited else None

    @property
    def max_open(self):
        """Contents that may be open at once, or None for no limit."""
        return told_open_limit(self.open_limit)

    def discard(self, int channel):
        """Discard what is open on a channel; the decoder skips the rest of its content in silence.

        Returns:
            True if something was open.
        """
        cdef Content c
        self.begin()
        try:
            c = None if self.contents is None else self.contents.get(channel)
            if c is None or not content_is_open(c.grammar.state):
                return False
            c.discard()
            return True
        finally:
            self.end_use()

    cdef int forget(self) except -1:
        Stream.forget(self)
        self.contents = {}
        self.last = None
        self.n_open = 0
        self.n_contents = 0
        self.filling = None
        return 0

    cdef int check_end(self) except -1:
        Stream.check_end(self)
        for channel in sorted(self.contents or ()):
            c = <Content>self.contents[channel]
            if content_is_open(c.grammar.state):
                error = self.incomplete(b"a message", self.at - c.began)
                error.channel = channel
                error.method = type(c.method).NAME
                raise error
        return 0

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

    cdef PyObject* read_event(self) except? NULL:
        cdef PyObject* whole
        if self.n_open == 0 and head_size(self) == 0:
            whole = self.read_whole_message()
            if AMQP_LIKELY(whole != NULL):
                return whole
        return self.read_events()

    @cython.final
    cdef PyObject* read_events(self) except? NULL:
        """What the frames at hand complete, one after the other."""
        cdef Fault fault
        cdef object event
        cdef int found
        while True:
            if self.n_open:
                found = self.read_body(&fault)
                if found == BODY_WHOLE:
                    return new_reference(self.finish_body())
                if found == SCAN_MORE:
                    return NULL
                if found == SCAN_BAD:
                    return new_reference(self.fault_or_raise(&fault))
            found = self.scan(&fault)
            if found == SCAN_MORE:
                return NULL
            if found == SCAN_BAD:
                return new_reference(self.fault_or_raise(&fault))
            try:
                event = self.step()
            except DecodeError as error:
                return new_reference(self.skip_bad_frame(error))
            if event is None:
                self.pass_frame()
                continue
            self.pass_frame()
            return new_reference(event)

    @cython.final
    cdef Content begin_body(self):
        """Step into the next frame if it is a body frame that belongs to an open content: what else it
        may be, or be wrong about, scan and step see. None, too, for a whole body to view in place."""
        cdef Content c
        cdef const uint8_t* p = self.p
        cdef size_t have = <size_t>(self.end - self.p)
        cdef bint in_head = head_size(self) != 0
        cdef uint16_t channel
        cdef uint64_t size
        if in_head:
            have = head_size(self)
            if have < 7:
                self.gather(7 - have)
                have = head_size(self)
            p = self.head.start + self.head_at
        if have < 7 or p[0] != FRAME_BODY:
            return None
        channel = load16(p + 1)
        size = load32(p + 3)
        if self.limit != 0 and size + 8 > self.limit:
            return None
        if self.last is None or self.last_channel != channel:
            c = self.contents.get(channel)
            if c is None:
                return None
            self.last = c
            self.last_channel = channel
        c = self.last
        if not content_takes(content_outcome(&c.grammar, content_body(&c.grammar, size))):
            return None
        if not self.copy and size == c.grammar.size and not in_head and have >= size + 8:
            return None
        self.pass_bytes(in_head, 7)
        self.taken = 7
        self.left = size
        self.body_channel = channel
        return c

    @cython.final
    cdef int read_body(self, Fault* fault) except -2:
        """Body frames, from where they lie to where they stay, as far as they have come: SCAN_MORE or
        SCAN_BAD, NO_BODY where another frame is next, BODY_WHOLE where one is complete."""
        cdef Content c = self.filling
        cdef const uint8_t* p
        cdef size_t n
        cdef bint in_head
        cdef uint8_t envelope[3]
        cdef ContentEvent event
        while True:
            if c is None:
                c = self.begin_body()
                if c is None:
                    return NO_BODY
                self.filling = c
            while True:
                in_head = head_size(self) != 0
                if in_head:
                    p = self.head.start + self.head_at
                    n = head_size(self)
                else:
                    p = self.p
                    n = <size_t>(self.end - self.p)
                if n == 0:
                    self.leave_chunk()
                    return SCAN_MORE
                if self.left == 0:
                    break
                n = <size_t>min(<uint64_t>n, self.left)
                if c.grammar.state == CONTENT_AWAITS_BODY:      # not discarded meanwhile
                    c.append(c.grammar.have + self.taken - 7, p, n)
                self.pass_bytes(in_head, n)
                self.taken += n
                self.left -= n
            if p[0] != FRAME_END:
                envelope[0] = FRAME_BODY
                store16(envelope + 1, self.body_channel)
                return scan_bad(fault, BAD_FRAME_END, SCOPE_CONNECTION, self.at + self.taken,
                                envelope, 0, 0, p[0])
            self.pass_bytes(in_head, 1)
            self.at += self.taken + 1
            self.filling = None
            event = content_body(&c.grammar, self.taken - 7)
            if content_outcome(&c.grammar, event) == CONTENT_COMPLETE:
                self.taken = 0
                self.channel = self.body_channel
                return BODY_WHOLE
            content_step(&c.grammar, event, self.taken - 7)     # more is to come, or it is skipped
            self.taken = 0
            c = None

    @cython.final
    cdef object finish_body(self):
        """The message that the body just read completes."""
        cdef Content c = self.content(self.body_channel)
        cdef object body = <object>c.body
        return self.finish(c, body if self.copy else memoryview(body), CONTENT_LAST_BODY)

    @cython.final
    cdef PyObject* read_whole_message(self) noexcept:
        """A message in one go: method, header and one body frame stand whole one after the other in
        the chunk, and the generated readers take method and properties. NULL, and nothing done, where
        that is not so: then the frames are taken one by one, with the same checks and outcome."""
        cdef Desc* d
        cdef uint64_t size
        cdef uint16_t channel
        cdef const uint8_t* method = self.p
        cdef const uint8_t* header = self.whole_frame(method, FRAME_METHOD, 4)
        cdef const uint8_t* body
        cdef const uint8_t* after
        cdef MessageObject* o
        if header == NULL:
            return NULL
        channel = load16(method + 1)
        d = self.protocol.find(load32(method + 7))
        if channel == 0 or d == NULL or not d.has_content or d.read_fast == NULL or d.properties == NULL \
                or d.properties.read_fast == NULL:
            return NULL
        body = self.whole_frame(header, FRAME_HEADER, 14)
        if body == NULL or load16(header + 1) != channel or load16(header + 7) != d.class_id:
            return NULL
        size = load64(header + 11)
        if self.limited and size > self.body_limit:
            return NULL
        after = body
        if size:
            after = self.whole_frame(body, FRAME_BODY, 0)
            if after == NULL or load16(body + 1) != channel or load32(body + 3) != size:
                return NULL
        o = class_new(self.protocol.message_type)
        if AMQP_UNLIKELY(o == NULL):
            return fall_back(o)
        o.field[0] = d.read_fast(d, method + 11, header - 1, self.mode, self.cache)
        if o.field[0] == NULL:
            return fall_back(o)
        d = d.properties
        o.field[1] = d.read_fast(d, header + 19, body - 1, self.mode, self.cache)
        if o.field[1] == NULL:
            return fall_back(o)
        o.field[2] = PyBytes_FromPointer(<const char*>(body + 7) if size else NULL, <Py_ssize_t>size) \
            if self.copy else self.whole_view(body + 7, size)
        if AMQP_UNLIKELY(o.field[2] == NULL):
            return fall_back(o)
        self.channel = channel
        self.at += after - method
        self.p = after
        class_track_new(o)
        return <PyObject*>o

    @cython.final
    cdef inline const uint8_t* whole_frame(self, const uint8_t* p, uint8_t frame_type, uint64_t least) noexcept:
        """The end of a frame of this type with a payload of `least` bytes or more, where it stands whole in
        the chunk; NULL for any other frame, which scan judges."""
        cdef uint64_t have = <uint64_t>(self.end - p)
        cdef uint64_t total
        if have < 8 or p[0] != frame_type:
            return NULL
        total = <uint64_t>load32(p + 3) + 8
        if total > have or total < least + 8 or p[total - 1] != FRAME_END \
                or (self.limit != 0 and total > self.limit):
            return NULL
        return p + total

    @cython.final
    cdef PyObject* whole_view(self, const uint8_t* p, uint64_t size) noexcept:
        """A new reference to a body as a view of the chunk; NULL where no memory is left."""
        try:
            return new_reference(self.body_view(p, size) if size else memoryview(b""))
        except MemoryError:
            return NULL

    @cython.final
    cdef object body_view(self, const uint8_t* p, uint64_t size):
        """A body's bytes as a view of an immutable chunk."""
        cdef Py_ssize_t at = p - <const uint8_t*>PyBytes_AS_STRING(self.chunk)
        return memoryview(self.chunk)[at:at + <Py_ssize_t>size]

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
            return self.step_header(c) if self.frame.type == FRAME_HEADER else self.step_body(c)
        return owned(self.decode())

    @cython.final
    cdef object step_method(self):
        cdef Content c
        cdef Desc* d
        cdef object method
        # Most methods carry no content, and most channels have none open.
        if self.n_open and self.frame.channel in self.contents:
            self.judge(self.content(self.frame.channel), CONTENT_METHOD)
        method = owned(self.decode())
        d = <Desc*>CLASS_OF(Py_TYPE(<PyObject*>method)).desc
        if not d.has_content:
            return method
        if self.frame.channel == 0:
            raise self.refused(BAD_CHANNEL, NULL, method)
        c = self.content(self.frame.channel)
        if AMQP_UNLIKELY(self.n_contents >= self.open_limit):
            c.discard()
            raise self.refused(BAD_OPEN, b"contents", method)
        c.clear()
        c.step(CONTENT_OPENING, 0)
        c.desc = d
        c.method = method
        c.began = self.at
        return None

    @cython.final
    cdef bint judge(self, Content c, ContentEvent event) except -1:
        """Whether a frame is for the content that is open; an error where it is out of its place. The machine moves
        where it is not; where it is, once the frame was read."""
        cdef ContentOutcome outcome = content_outcome(&c.grammar, event)
        cdef object method = c.method
        if AMQP_LIKELY(content_takes(outcome)):
            return True
        c.step(event, 0)
        if content_fault(outcome) == NULL:
            return False
        c.clear()
        if outcome == CONTENT_HEADER_INSIDE:
            outcome = CONTENT_HEADER_FIRST      # one text for both
        raise self.refused(BAD_ORDER, content_fault(outcome), method)

    @cython.final
    cdef object step_header(self, Content c):
        cdef object method = c.method
        cdef uint64_t size = load64(self.frame.payload + 4) if self.frame.size >= 12 else 0
        cdef ContentEvent event = content_header(size)
        if not self.judge(c, event):
            return None
        try:
            check_header(&self.frame, self.frame_start, self.at)
            if AMQP_UNLIKELY(load16(self.frame.payload) != c.desc.class_id):
                raise self.refused(BAD_HEADER_CLASS, b"method", method)
            if AMQP_UNLIKELY(self.limited and size > self.body_limit):
                raise self.refused(BAD_BODY_SIZE, NULL, method)
            c.properties = owned(decode_properties(self.protocol, &self.frame, self.frame_start,
                                                   self.at, self.mode, self.cache))
        except DecodeError:
            c.discard()
            raise
        if size == 0:
            return self.finish(c, b"" if self.copy else memoryview(b""), event)
        c.step(event, size)
        return None

    @cython.final
    cdef object step_body(self, Content c):
        """A body frame that read_body left: one out of its place, or a whole body to view."""
        if not self.judge(c, content_body(&c.grammar, self.frame.size)):
            return None
        return self.finish(c, self.body_view(self.frame.payload, self.frame.size), CONTENT_LAST_BODY)

    @cython.final
    cdef object finish(self, Content c, object body, ContentEvent event):
        """The message that its last frame completes; the channel is free for the next."""
        cdef object message = class_instance(self.protocol.message_type)
        cdef MessageObject* o = <MessageObject*><PyObject*>message
        o.field[0] = Py_NewRef(<PyObject*>c.method)
        o.field[1] = Py_NewRef(<PyObject*>c.properties)
        o.field[2] = Py_NewRef(<PyObject*>body)
        class_track_new(o)
        c.step(event, 0)
        c.clear()
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
        if code == BAD_OPEN:
            fault.have = self.open_limit
        if code == BAD_HEADER_CLASS:
            fault.class_id = load16(self.frame.payload)
            fault.offset += 7
        if method is not None:
            fault.at.method = (<Desc*>CLASS_OF(Py_TYPE(<PyObject*>method)).desc).name
        return fault_error(&fault)


cdef void begin_refusal(const WireFrame* f, uint64_t at, Fault* fault) noexcept:
    memset(fault, 0, sizeof(Fault))
    fault.in_frame = True
    fault.frame_type = f.type
    fault.channel = f.channel
    fault.offset = at
