# py-amqp: frames joined to messages.


@cython.final
@cython.internal
cdef class Waiting:
    """What a channel waits for, and what came of a message."""

    cdef ContentMachine grammar     # its state alone: what completes a message is the client's decision
    cdef object signature, raw   # of its method
    cdef object header              # the payload of its content header
    cdef object message             # None: what follows is kept here, and it is made when it is whole
    cdef dict properties
    cdef uint64_t size, received    # of its body
    cdef list chunks                # pieces of a body that has more than one; else None


@cython.final
cdef class FrameHandler:
    """What frame_handler of py-amqp makes: it joins frames to messages."""

    cdef AmqpCodec codec
    cdef Count received         # frames, which the connection counts
    cdef object callback
    cdef dict channels          # channel -> Waiting
    cdef object channel         # of the frame before, and what it waits for
    cdef Waiting waiting
    cdef uint32_t method        # that came last: class and method id in one number,
    cdef tuple method_ids       # and as py-amqp has them,
    cdef bint method_content    # and whether frames with a content follow it

    def __cinit__(self, AmqpCodec codec not None, connection, callback):
        codec.calls += 1
        self.codec = codec
        self.received = new_count(connection, BYTES_RECV)
        self.callback = callback
        self.channels = {}

    def on_frame(self, frame):
        """Take a frame, which is (type, channel, payload). True: something was handed over."""
        cdef object channel, buf
        cdef tuple signature
        cdef Waiting state
        cdef bint content = False
        cdef uint64_t number = 0, wanted = FRAME_METHOD
        cdef ContentEvent event
        if type(frame) is not tuple or len(<tuple>frame) != 3:
            frame = tuple(frame)
            _type, channel, buf = frame
        channel = (<tuple>frame)[1]
        buf = (<tuple>frame)[2]
        self.received.add()
        if AMQP_LIKELY(channel is self.channel):
            state = self.waiting
        else:
            state = self.channels.get(channel)
            self.channel = channel
            self.waiting = state
        if state is not None:
            wanted = content_awaits(state.grammar.state)
        if not exact_u64(PyTuple_GET_ITEM(frame, 0), &number) or number != wanted and number != 8:
            frame_type = (<tuple>frame)[0]
            if frame_type != wanted and frame_type != 8:
                pyamqp_unexpected(self.codec, frame_type, wanted)
            number = <uint64_t>int(frame_type)
        if number == FRAME_METHOD:
            signature = self.signature(buf, &content)
            if not content:
                self.callback(channel, signature, buf, None)
                return True
            if state is None:
                state = Waiting()
                self.channels[channel] = state
                self.waiting = state
            state.message = None
            state.signature = signature
            state.raw = buf
            state.header = state.chunks = state.properties = None
            state.received = state.size = 0
            if not self.codec.messages.cls.may_make():
                self.leave(state, self.codec.messages.framing.Message(frame_method=signature, frame_args=buf))
            content_step(&state.grammar, CONTENT_OPENING, 0)
            return False
        if number == FRAME_HEADER:
            event = CONTENT_EMPTY_HEADER if self.header(state, buf) else CONTENT_HEADER
        elif number == FRAME_BODY:
            event = CONTENT_LAST_BODY if self.body(state, buf) else CONTENT_BODY
        else:
            return number != FRAME_HEARTBEAT
        if content_step(&state.grammar, event, 0) != CONTENT_COMPLETE:
            return False
        message = state.message
        state.message = None
        state.header = None
        if state.raw is None:
            self.callback(channel, message.frame_method, message.frame_args, message)
        else:
            buf = state.raw
            state.raw = None
            self.callback(channel, state.signature, buf, message)
        return True

    cdef tuple signature(self, object buf, bint* content):
        """(class id, method id) of a method, and whether frames with a content follow it."""
        cdef uint32_t key
        cdef PyObject* found
        if type(buf) is bytes and PyBytes_GET_SIZE(buf) >= 4:
            key = load32(<const uint8_t*>PyBytes_AS_STRING(buf))
        else:
            class_id, method_id = self.codec.messages.framing.unpack_from(">HH", buf, 0)
            key = <uint32_t>class_id << 16 | <uint32_t>method_id
        if AMQP_UNLIKELY(key != self.method or self.method_ids is None):
            found = dict_item(self.codec.messages.contents, key)
            self.method_ids = <tuple>found if found != NULL else (key >> 16, key & 0xFFFF)
            self.method_content = found != NULL
            self.method = key
        content[0] = self.method_content
        return self.method_ids

    cdef object made(self, Waiting state, object body):
        """The whole message."""
        cdef PyObject* out[MESSAGE_PARTS]
        cdef object received = state.received, size = state.size
        cdef list chunks = []
        out[MESSAGE_METHOD] = Py_NewRef(<PyObject*>state.signature)
        out[MESSAGE_ARGUMENTS] = Py_NewRef(<PyObject*>state.raw)
        out[MESSAGE_PROPERTIES] = Py_NewRef(<PyObject*>state.properties)
        out[MESSAGE_CHUNKS] = Py_NewRef(<PyObject*>chunks)
        out[MESSAGE_RECEIVED] = Py_NewRef(<PyObject*>received)
        out[MESSAGE_SIZE] = Py_NewRef(<PyObject*>size)
        out[MESSAGE_READY] = Py_NewRef(Py_True)
        out[MESSAGE_DELIVERY] = Py_NewRef(Py_None)
        out[MESSAGE_BODY] = Py_NewRef(<PyObject*>body)
        out[MESSAGE_CHANNEL] = Py_NewRef(Py_None)
        return self.codec.messages.cls.make(out)

    cdef object leave(self, Waiting state, object message):
        """From here on the message's own code does what it does."""
        state.message = message
        state.raw = state.header = state.chunks = state.properties = None
        return message

    cdef object replay(self, Waiting state):
        """The message that py-amqp's own code makes of the frames that came, and it goes on."""
        message = self.codec.messages.framing.Message(frame_method=state.signature, frame_args=state.raw)
        chunks = state.chunks
        if state.header is not None:
            message.inbound_header(state.header)
        if chunks is not None:
            for each in chunks:
                message.inbound_body(each)
        return self.leave(state, message)

    cdef bint header(self, Waiting state, object buf) except -1:
        """What Message.inbound_header does; whether the message is whole."""
        cdef AmqpCodec codec = self.codec
        cdef const uint8_t* p
        cdef Py_ssize_t end = 0
        codec.calls += 1
        if (state.message is None and type(buf) is bytes and PyBytes_GET_SIZE(buf) >= 14
                and load16(<const uint8_t*>PyBytes_AS_STRING(buf)) == codec.properties.key >> 16):
            p = <const uint8_t*>PyBytes_AS_STRING(buf)
            try:
                if not codec.may_head() or load64(p + 4) == 0 and not codec.may_fill():
                    not_ours("client changed")
                state.properties = codec.read_properties(buf, 12, &end)
                state.header = buf
                state.size = load64(p + 4)
                if state.size == 0:
                    state.message = self.made(state, "")
                return state.size == 0
            except Exception as error:
                codec.remember(error)
        codec.fell_back()
        message = self.replay(state) if state.message is None else state.message
        message.inbound_header(buf)
        return bool(message.ready)

    cdef bint body(self, Waiting state, object buf) except -1:
        """What Message.inbound_body does; whether the message is whole."""
        cdef object message = state.message
        if message is None:
            if type(buf) is bytes and self.codec.may_fill():
                state.received += <uint64_t>PyBytes_GET_SIZE(buf)
                if state.received < state.size or state.chunks is not None:
                    if state.chunks is None:
                        state.chunks = []
                    state.chunks.append(buf)
                    if state.received < state.size:
                        return False
                    buf = b"".join(state.chunks)
                state.message = self.made(state, buf)
                return True
            message = self.replay(state)
        message.inbound_body(buf)
        return bool(message.ready)
