# AMQP 1.0 deliveries: transfers of a link put together (Part 2 §2.6.14), and split on the way out.

cdef class V1Partial:
    """A delivery that more transfers are to come for."""

    cdef object transfer            # the first
    cdef list pieces
    cdef uint64_t have
    cdef DeliveryState grammar
    cdef bint settled
    cdef object state               # the newest


cdef class V1MessageDecoder(V1Decoder):
    """Deliveries and all other performatives of one stream of AMQP 1.0."""

    cdef dict partials              # (channel, handle) -> V1Partial
    cdef uint64_t n_open            # of them those that are not skipped
    cdef uint64_t open_limit
    cdef uint64_t message_limit
    cdef bint limited
    cdef bint eager

    def __init__(self, V1Core protocol not None, frame_max=131072, max_message_size=None, *,
                 max_open=65536, errors="strict", types="plain", bint copy=True, bint opened=False,
                 bint eager=False):
        V1Decoder.__init__(self, protocol, frame_max, errors=errors, types=types, copy=copy, opened=opened)
        self.limited = max_message_size is not None
        if self.limited:
            max_message_size = as_int(max_message_size)
            if not isinstance(max_message_size, int) or max_message_size < 0:
                raise ValueError(f"max_message_size is None or a number of bytes, not {max_message_size!r}")
            self.message_limit = min(max_message_size, 2**63)
        self.open_limit = parse_open_limit(max_open)
        self.eager = eager
        self.partials = {}

    @property
    def max_message_size(self):
        """Bytes a delivery may have, or None for no limit."""
        return self.message_limit if self.limited else None

    @property
    def max_open(self):
        """Deliveries that may be open at once, or None for no limit."""
        return told_open_limit(self.open_limit)

    cdef int forget(self) except -1:
        V1Decoder.forget(self)
        self.partials = {}
        self.n_open = 0
        return 0

    def discard(self, int channel, handle):
        """Discard the delivery that is open on a link; the decoder skips the rest of it in silence.

        Returns:
            True if something was open.
        """
        cdef V1Partial open_
        self.begin()
        try:
            open_ = self.partials.get((channel, handle))
            if open_ is None or open_.grammar != DELIVERY_OPEN:
                return False
            self.advance((channel, handle), open_, DELIVERY_ON_DISCARD)
            return True
        finally:
            self.end_use()

    cdef int check_end(self) except -1:
        V1Decoder.check_end(self)
        for channel, handle in self.partials:
            open_ = <V1Partial>self.partials[channel, handle]
            if open_.grammar == DELIVERY_OPEN:
                error = self.incomplete(b"a delivery", open_.have)
                error.channel = channel
                error.method = "transfer"
                raise error
        return 0

    @cython.final
    cdef int advance(self, tuple key, V1Partial open_, DeliveryEvent event) except -1:
        """The outcome of an event; the decoder counts the deliveries that are open."""
        cdef DeliveryState before = open_.grammar
        cdef DeliveryOutcome outcome = delivery_step(&open_.grammar, event)
        self.n_open += <int>(open_.grammar == DELIVERY_OPEN) - <int>(before == DELIVERY_OPEN)
        if open_.grammar == DELIVERY_IDLE:
            self.partials.pop(key, None)
        if open_.grammar == DELIVERY_SKIPS:
            open_.pieces = []
            open_.transfer = None
            open_.state = None
        return outcome

    cdef object step(self, object frame):
        cdef MessageClass* k = class_of(frame)
        cdef int code
        if k.what != CLASS_V1_DESCRIBED:
            return frame
        code = (<V1Desc*>k.desc).code
        if code == DESC_TRANSFER:
            return self.transfer(frame)
        if self.partials:
            if code == DESC_DETACH:
                self.close_links([(self.frame.channel, frame.handle)])
            elif code == DESC_END:
                self.close_links([key for key in self.partials if key[0] == self.frame.channel])
            elif code == DESC_CLOSE:
                self.close_links(list(self.partials))
        return frame

    @cython.final
    cdef int close_links(self, list keys) except -1:
        """What is open on them is given up."""
        for key in keys:
            open_ = self.partials.get(key)
            if open_ is not None:
                self.advance(key, <V1Partial>open_, DELIVERY_ON_ENDED)
        return 0

    @cython.final
    cdef object transfer(self, object frame):
        cdef tuple key = (self.frame.channel, frame.handle)
        cdef V1Partial open_ = self.partials.get(key)
        cdef object payload = frame.payload
        cdef uint64_t n = <uint64_t>len(payload)
        cdef DeliveryState grammar = DELIVERY_IDLE
        cdef bint other = open_ is not None and open_.grammar == DELIVERY_OPEN and not self.is_same(open_, frame)
        cdef DeliveryEvent event = delivery_event(bool(frame.more), bool(frame.aborted), other)
        cdef int outcome = delivery_step(&grammar, event) if open_ is None else self.advance(key, open_, event)
        if outcome == DELIVERY_ALONE:
            self.check_size(n, key, None)
            return self.delivery(frame, payload, frame.settled is True, frame.state)
        if other:
            raise self.refused(V1_BAD_ORDER, delivery_fault(<DeliveryOutcome>outcome), 0)
        if outcome == DELIVERY_IGNORED or outcome == DELIVERY_DROPPED:
            return None
        if outcome == DELIVERY_BEGUN:
            open_ = V1Partial.__new__(V1Partial)
            open_.grammar = grammar
            open_.transfer = frame
            open_.pieces = []
            self.partials[key] = open_
            self.n_open += 1
            if AMQP_UNLIKELY(self.n_open > self.open_limit):
                self.advance(key, open_, DELIVERY_ON_DISCARD)
                raise self.refused(BAD_OPEN, b"deliveries", 0)
        open_.have += n
        self.check_size(open_.have, key, open_)
        if n:
            open_.pieces.append(payload)
        open_.settled = open_.settled or frame.settled is True
        if frame.state is not None:
            open_.state = frame.state
        if outcome != DELIVERY_COMPLETE:
            return None
        raw = b"".join(open_.pieces)
        return self.delivery(open_.transfer, raw if self.copy else memoryview(raw), open_.settled,
                             open_.state)

    @cython.final
    cdef int check_size(self, uint64_t n, tuple key, V1Partial open_) except -1:
        if not self.limited or n <= self.message_limit:
            return 0
        if open_ is not None and open_.grammar == DELIVERY_OPEN:
            self.advance(key, open_, DELIVERY_ON_DISCARD)
        raise self.refused(BAD_BODY_SIZE, NULL, n)

    @cython.final
    cdef bint is_same(self, V1Partial open_, object frame) except -1:
        """Whether what a later transfer says of its delivery is what the first one said."""
        for name in ("delivery_id", "delivery_tag", "message_format"):
            value = getattr(frame, name)
            if value is not None and value != getattr(open_.transfer, name):
                return False
        return True

    @cython.final
    cdef object refused(self, int code, const char* what, uint64_t need):
        """The error for a transfer that is well formed but not in its place."""
        cdef Fault fault
        memset(&fault, 0, sizeof(fault))
        fault.code = code
        fault.scope = SCOPE_CHANNEL
        fault.what = what
        fault.need = need
        fault.have = self.open_limit if code == BAD_OPEN else self.message_limit
        fault.offset = self.at
        fault.in_frame = True
        fault.frame_type = self.frame.type
        fault.channel = self.frame.channel
        fault.at.method = b"transfer"
        return fault_error(&fault, True)

    @cython.final
    cdef object delivery(self, object transfer, object payload, bint settled, object state):
        """The event of a whole delivery. Where it resumes inside of a section, or where only its
        state comes, there is no message to read."""
        cdef object message = None, position = None, form = transfer.message_format
        cdef MessageClass* k = class_of(state)
        if transfer.resume and k != NULL and k.what == CLASS_V1_DESCRIBED:
            if (<V1Desc*>k.desc).code == DESC_RECEIVED:
                position = state
        if position is None and (form is None or form == 0) and (
                len(payload) or not (transfer.resume and state is not None)):
            message = v1_message(payload if type(payload) is bytes else bytes(payload), 0, self.eager,
                                 not self.copy, self.mode)
        return self.v1.Delivery(transfer, message, payload, settled, state, position)

cdef object v1_split(V1Core self, int channel, object transfer, object message, int64_t frame_max,
                     bint validate, int mode):
    """All frames of a delivery as one bytes."""
    cdef Buffer b
    cdef Place at
    cdef ByteView raw
    cdef uint8_t memory[STACK_ROOM]
    cdef MessageClass* k = class_of(transfer)
    cdef size_t start
    cdef uint64_t room, done = 0, n
    cdef bint more
    cdef dict values, said = {}
    if k != NULL and k.what == CLASS_V1_DELIVERY and type(transfer) is self.Delivery:
        if message is not None:
            encode_error(None, "message", "is part of the delivery")
        message = transfer.payload if transfer.message is None else transfer.message
        # What any of its transfers said, the first one says; with a position there is no message.
        said = {"settled": transfer.settled or transfer.transfer.settled, "state": transfer.state}
        transfer = transfer.transfer
        k = class_of(transfer)
    if k == NULL or k.what != CLASS_V1_DESCRIBED or (<V1Desc*>k.desc).code != DESC_TRANSFER:
        encode_error(None, "transfer", f"takes a Transfer or Delivery, not {type(transfer).__name__}")
    if frame_max and frame_max < V1_MIN_MAX_FRAME:
        encode_error("transfer", "frame_max", f"takes 0 (no limit) or at least 512 bytes, not {frame_max}")
    cls = type(transfer)
    values = {name: getattr(transfer, name) for name in cls.FIELDS if transfer.is_set(name)}
    values.update(said)
    if isinstance(message, Message):
        payload = message.encode(validate=validate)
        values.setdefault("message_format", 0)
    elif message is None:
        payload = transfer.payload
    else:
        payload = message
    if validate:
        transfer.validate()
    values.pop("more", None)
    place_begin(&at, NULL, NULL)
    parse_bytes(payload, &raw, b"transfer", b"payload")
    buffer_init(&b, memory, STACK_ROOM)
    try:
        while True:
            start = buffer_size(&b)
            more = True
            while True:             # with `more` first; without it where all the rest fits
                buffer_truncate(&b, start)
                buffer_extend(&b, 8)
                v1_put_instance(&b, cls(**values, **({"more": True} if more else {})), mode, 0, &at)
                n = buffer_size(&b) - start
                room = <uint64_t>(frame_max if frame_max else <int64_t>MAX_U32)
                room = room - n if room > n else 0
                if not more or raw.n - done > room:
                    break
                more = False
            n = min(room, raw.n - done)
            if n == 0 and done < raw.n:
                encode_error("transfer", "frame_max", f"{frame_max} bytes do not hold the performative")
            if n:
                put_bytes(&b, raw.p + done, <size_t>n)
            v1_store_frame_head(b.start + start, <uint32_t>(buffer_size(&b) - start), V1_FRAME_AMQP, channel)
            done += n
            if done >= raw.n:
                return buffer_bytes(&b)
            # What the first transfer said holds for the others, too.
            values = {name: values[name] for name in ("handle", "delivery_id") if name in values}
    finally:
        drop_bytes(&raw)
        buffer_free(&b)
