# Sessions and links of 1.0: what begin, end, attach and detach say.

cdef inline int emit_of(Tracking* g, Tracker* t, const TrackedChannel* ch, Event* e) noexcept nogil:
    """An event of a session, also of one whose number of the client's is not known."""
    if ch.unordered and e.head.certainty == IS_EXACT:
        e.head.certainty = IS_INFERRED
    return emit_event(g, t, e)


cdef inline TrackedChannel* find_session(const Tracker* t, int side, uint16_t number) noexcept nogil:
    """The session that a side calls so."""
    cdef TrackedChannel* ch
    if side == 1:
        return find_served(t, number)
    ch = find_channel(t, number)
    return ch if ch != NULL and ch.session != NULL else NULL


cdef int name_session(Tracker* t, TrackedChannel* ch, int side, uint16_t number) noexcept nogil:
    """A side calls it so from here on."""
    if side == 0:
        ch.number = number
        return place_channel(t.numbered, number, ch)
    ch.session.channel = number
    if t.served == NULL:
        t.served = <ChannelFolder*>calloc(CHANNEL_FOLDERS, sizeof(ChannelFolder))
        if t.served == NULL:
            return NO_MEMORY
    return place_channel(t.served, number, ch)


cdef int add_session(Tracking* g, Tracker* t, int side, uint16_t number, bint whole,
                     TrackedChannel** out) noexcept nogil:
    """whole: the begin that asks for it was seen. out: NULL where too many are followed."""
    cdef V1Session* s
    if add_channel(g, t, -1, False, out) < 0:
        return NO_MEMORY
    if out[0] == NULL:
        return 0
    s = <V1Session*>calloc(1, sizeof(V1Session))
    if s == NULL:
        remove_channel(g, t, out[0])
        return NO_MEMORY
    out[0].session = s
    out[0].confirms = CONFIRMS
    s.channel = -1
    s.opener = side
    s.time = g.now if whole else NO_NUMBER
    s.begun = <uint8_t>(whole << side)
    # Until it is known which number the other side has, its settlements are not.
    out[0].doubtful_publishes = out[0].doubtful_deliveries = <uint64_t>-1
    return name_session(t, out[0], side, number)


cdef inline void join_session(TrackedChannel* ch) noexcept nogil:
    """Both numbers are known from here on."""
    ch.session.assumed = False
    ch.session.unheard[0] = ch.doubtful_publishes = ch.publishes.newest
    ch.session.unheard[1] = ch.doubtful_deliveries = ch.deliveries.newest


cdef inline bint is_named_by(const TrackedChannel* ch, int side) noexcept nogil:
    return (ch.number if side == 0 else ch.session.channel) >= 0


cdef inline void see_number(Tracker* t, int side, uint16_t number) noexcept nogil:
    """A frame of a session has it."""
    cdef SessionNumbers* n = &t.numbers
    if n.only == NO_SESSION:
        n.only = number
    elif AMQP_UNLIKELY(n.only != number):
        n.only = SEVERAL_SESSIONS
    elif n.frames[side] < NUMBER_PROOF:
        n.frames[side] += 1


cdef inline bint may_be_alike(const Tracker* t) noexcept nogil:
    """Whether nothing speaks against it that both sides give a session the same number. RabbitMQ does."""
    return not t.numbers.differ and (t.broker == BROKER_RABBITMQ or t.numbers.only >= 0)


cdef inline bint is_proved_alike(const Tracker* t) noexcept nogil:
    return may_be_alike(t) and (t.broker == BROKER_RABBITMQ or (
        t.numbers.frames[0] == NUMBER_PROOF and t.numbers.frames[1] == NUMBER_PROOF))


cdef int session_of(Tracking* g, Tracker* t, uint16_t number, TrackedChannel** out) noexcept nogil:
    """The session of a frame, from here on if its begin was not seen."""
    cdef int side = g.side
    cdef TrackedChannel* ch = find_session(t, side, number)
    see_number(t, side, number)
    if ch == NULL:
        ch = find_session(t, 1 - side, number)
        if ch == NULL or is_named_by(ch, side) or not may_be_alike(t):
            if add_session(g, t, side, number, False, &ch) < 0:
                return NO_MEMORY
        else:
            ch.unordered = True
            ch.session.assumed = True
            if name_session(t, ch, side, number) < 0:
                return NO_MEMORY
    if ch != NULL and AMQP_UNLIKELY(ch.session.assumed) and is_proved_alike(t):
        join_session(ch)
    if ch != NULL:
        ch.unordered |= g.unordered
    out[0] = ch
    return 0


cdef int replace_session(Tracking* g, Tracker* t, TrackedChannel* ch, int side) noexcept nogil:
    """Another one takes its number of this side: it has ended there, whether that was seen or not."""
    if ch.session.ended >> side & 1 and is_named_by(ch, 1 - side):
        if side == 0:
            place_channel(t.numbered, ch.number, NULL)
        else:
            place_channel(t.served, ch.session.channel, NULL)
        return 0
    if end_channel(g, t, ch, NULL) < 0:
        return NO_MEMORY
    remove_channel(g, t, ch)
    return 0


cdef int ask_session(Tracking* g, Tracker* t, uint16_t number) noexcept nogil:
    """begin without a remote channel."""
    cdef TrackedChannel* ch = find_session(t, g.side, number)
    see_number(t, g.side, number)
    if ch != NULL:
        if ch.session.begun == 2 >> g.side and ch.session.ended == 0 and (g.unordered or ch.unordered):
            ch.session.begun = 3        # its answer came first
            ch.unordered = True
            return 0
        if replace_session(g, t, ch, g.side) < 0:
            return NO_MEMORY
    if add_session(g, t, g.side, number, True, &ch) < 0:
        return NO_MEMORY
    if ch != NULL:
        ch.unordered |= g.unordered
    return 0


cdef int answer_session(Tracking* g, Tracker* t, uint16_t number, uint16_t remote) noexcept nogil:
    """begin with the other side's channel."""
    cdef int side = g.side
    cdef TrackedChannel* ch = find_session(t, 1 - side, remote)
    cdef TrackedChannel* old = find_session(t, side, number)
    cdef Event e
    see_number(t, side, number)
    t.numbers.differ |= number != remote
    if old != NULL and old != ch and replace_session(g, t, old, side) < 0:
        return NO_MEMORY
    if ch != NULL and (ch.session.begun >> side & 1 or (is_named_by(ch, side) and old != ch)
                       or (ch.session.ended & ~ch.session.begun) >> (1 - side) & 1):
        if replace_session(g, t, ch, 1 - side) < 0:
            return NO_MEMORY
        ch = NULL
    if ch == NULL and add_session(g, t, 1 - side, remote, False, &ch) < 0:
        return NO_MEMORY
    if ch == NULL:
        return 0
    if not is_named_by(ch, side) and name_session(t, ch, side, number) < 0:
        return NO_MEMORY
    if not ch.session.begun >> side & 1:
        join_session(ch)
    ch.unordered |= g.unordered
    ch.session.begun |= <uint8_t>(1 << side)
    if not ch.session.begun >> (1 - side) & 1:
        g.counts.unmatched += 1
    clear_event(&e, EVENT_CHANNEL_OPENED, ch.number)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + 1 - side)
    set_elapsed(g, &e, ch.session.time)
    return emit_of(g, t, ch, &e)


cdef inline bint is_answer_sure(const Tracking* g, const Tracker* t, const TrackedChannel* ch) noexcept nogil:
    """Whether what the other side said before is all known: what is at hand is no answer then."""
    return not ((t.loose | ch.gaps) >> (1 - g.side) & 1) and ch.session.begun == 3


cdef int end_session(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """end"""
    cdef TrackedChannel* ch = NULL
    cdef Event e
    if session_of(g, t, f.channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL:
        return 0
    if not ch.closing:
        clear_event(&e, EVENT_CHANNEL_CLOSED, ch.number)
        e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
        e.head.certainty = <uint8_t>(IS_EXACT if is_answer_sure(g, t, ch) else IS_INFERRED)
        set_v1_error(g, &e, &f.v[END_ERROR])
        if emit_of(g, t, ch, &e) < 0 or end_channel(g, t, ch, b"channel-closed") < 0:
            return NO_MEMORY
    ch.session.ended |= <uint8_t>(1 << g.side)
    if ch.session.ended == 3:
        remove_channel(g, t, ch)
    return 0


# ---- links ----

cdef inline int link_number(const V1Value* v, uint64_t* out) noexcept nogil:
    out[0] = v.u & MAX_U32
    return has_v1(v)


cdef void forget_link(Tracking* g, TrackedChannel* ch, V1Link* x) noexcept nogil:
    """Its end was not seen."""
    cdef Consumer* consumer = NULL
    if x.receives and x.started and x.name.p != NULL:
        consumer = find_consumer(&ch.consumers, x.name.p, x.name.n)
    if consumer != NULL:
        remove_consumer(g, &ch.consumers, consumer)
    remove_link(g, ch.session, x)


cdef int find_attached(Tracking* g, TrackedChannel* ch, const V1Value* v, uint64_t handle, V1Link** out) noexcept nogil:
    """The link that an attach is about, with this handle of its sender; out: NULL where too many are followed."""
    cdef V1Session* s = ch.session
    cdef bint receives = v1_true(&v[ATTACH_ROLE]) != (g.side == 1)
    cdef V1Link* x = find_link(s, g.side, handle)
    cdef EventText name
    if x != NULL:
        forget_link(g, ch, x)
    set_v1_text(&name, &v[ATTACH_NAME], NAME_LIMIT)
    x = find_named_link(s, &name, receives)
    if x != NULL and x.attached >> g.side & 1:
        forget_link(g, ch, x)
        x = NULL
    if x == NULL and add_link(g, s, &name, receives, &x) < 0:
        return NO_MEMORY
    out[0] = x
    if x != NULL:
        set_link_key(s, x, g.side, handle)
        x.attached |= <uint8_t>(1 << g.side)
        if x.receives == (g.side == 1):
            x.certainty = IS_EXACT
            x.torn = False
    return 0


cdef int read_terminus(Tracking* g, V1Link* x, const V1Value* v) noexcept nogil:
    """The address that an attach names: of what the client sends its own, of what it receives the server's."""
    cdef V1Value[V1_MAX_FIELDS] fields
    cdef EventText address
    cdef bint known = False
    cdef const V1Value* terminus = &v[ATTACH_SOURCE if x.receives else ATTACH_TARGET]
    address.p = NULL
    address.n = 0
    if read_v1_composite(g, terminus, DESC_SOURCE if x.receives else DESC_TARGET, fields):
        known = True
        if fields[SOURCE_ADDRESS].wire_type == V1_STRING:
            set_v1_text(&address, &fields[SOURCE_ADDRESS], ADDRESS_LIMIT)
        if g.side == 0:
            x.dynamic = v1_true(&fields[SOURCE_DYNAMIC])
    if not x.receives and v1_described_code(g, terminus) == DESC_COORDINATOR:
        x.coordinates = True
    if g.side == 1 and x.receives:
        x.refused = not known
    if address.p == NULL or (x.address.p != NULL and g.side == 0):
        return 0
    if g.side == 1 and not x.receives and not x.dynamic and x.attached >> 0 & 1:
        return 0
    return copy_text(&x.address, &address)


cdef void describe_link(Tracker* t, const TrackedChannel* ch, int event, const V1Link* x, Event* e,
                        V1Address* a) noexcept nogil:
    """An event of a link, whose texts are the link's, or in a."""
    clear_event(e, event, ch.number)
    e.head.settles = x.settles
    if x.name.p != NULL:
        set_text(e, TEXT_CONSUMER_TAG, x.name.p, x.name.n)
    split_address(t, &x.address, a)
    e.text[TEXT_EXCHANGE] = a.exchange
    e.text[TEXT_ROUTING_KEY] = a.routing_key
    e.text[TEXT_QUEUE] = a.queue
    e.head.certainty = <uint8_t>(IS_INFERRED if a.certainty == IS_INFERRED else IS_EXACT)


cdef int start_consumer(Tracking* g, Tracker* t, TrackedChannel* ch, V1Link* x) noexcept nogil:
    """Both ends of a link on which the client receives are attached; or the server's is, of a client's not seen."""
    cdef Consumer* consumer
    cdef V1Address a
    cdef Event e
    cdef Details d
    describe_link(t, ch, EVENT_CONSUMER_STARTED, x, &e, &a)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + x.opener if x.attached == 3 else INITIATOR_CLIENT)
    x.started = True
    if x.attached != 3:
        e.head.certainty = IS_UNKNOWN
        g.counts.unmatched += 1
    else:
        set_elapsed(g, &e, x.time)
    if x.name.p != NULL and add_consumer(g, &ch.consumers, &e.text[TEXT_CONSUMER_TAG], &e.text[TEXT_QUEUE],
                                         e.head.settles, e.head.certainty) < 0:
        return NO_MEMORY
    consumer = find_consumer(&ch.consumers, x.name.p, x.name.n) if x.name.p != NULL else NULL
    if consumer != NULL:
        consumer.leaving = x.detached & 1
    if t.host != NULL:
        count_consumer(g, t.host, &e.text[TEXT_QUEUE], 1)
    d.n = 0
    if x.address.p != NULL and e.text[TEXT_QUEUE].p != x.address.p:
        put_detail_text(&d, b"address", x.address.p, x.address.n)
    end_details(&d, &e)
    return emit_of(g, t, ch, &e)


cdef int attach_link(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """attach"""
    cdef TrackedChannel* ch = NULL
    cdef V1Link* x = NULL
    cdef uint64_t handle
    cdef bint unasked
    if session_of(g, t, f.channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL or ch.closing or not link_number(&f.v[ATTACH_HANDLE], &handle):
        return 0
    if find_attached(g, ch, f.v, handle, &x) < 0:
        return NO_MEMORY
    if x == NULL:
        return 0
    if read_terminus(g, x, f.v) < 0:
        return NO_MEMORY
    if g.side == 1 and x.receives:
        # Of the sender's three modes, the third one says nothing.
        if f.v[ATTACH_SND_SETTLE_MODE].wire_type == V1_UBYTE:
            x.settles = <uint8_t>(SETTLES_MANUAL if f.v[ATTACH_SND_SETTLE_MODE].u == 0 else SETTLES_AUTOMATIC
                                  if f.v[ATTACH_SND_SETTLE_MODE].u == 1 else SETTLES_UNKNOWN)
    if not x.receives or x.started or x.refused:
        return 0
    unasked = x.attached == 2 and is_answer_sure(g, t, ch) and not ch.unordered
    if x.attached != 3 and (x.attached == 1 or unasked):
        return 0
    return start_consumer(g, t, ch, x)


cdef int cancel_consumer(Tracking* g, Tracker* t, TrackedChannel* ch, V1Link* x, const TrackedPerformative* f,
                         bint sure) noexcept nogil:
    """The server's detach of a link on which the client receives."""
    cdef Consumer* consumer = find_consumer(&ch.consumers, x.name.p, x.name.n) if x.name.p != NULL else NULL
    cdef bint asked = x.detached & 1
    cdef V1Address a
    cdef Event e
    describe_link(t, ch, EVENT_CONSUMER_CANCELLED, x, &e, &a)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT if asked else INITIATOR_SERVER)
    if not sure:
        e.head.certainty = IS_INFERRED
    if asked:
        set_elapsed(g, &e, x.time)
    set_v1_error(g, &e, &f.v[DETACH_ERROR])
    if t.host != NULL:
        count_consumer(g, t.host, &e.text[TEXT_QUEUE], -1)
    if emit_of(g, t, ch, &e) < 0:
        return NO_MEMORY
    if consumer != NULL:
        remove_consumer(g, &ch.consumers, consumer)
    return 0


cdef int close_link(Tracking* g, Tracker* t, TrackedChannel* ch, const V1Link* x, const TrackedPerformative* f,
                    bint sure) noexcept nogil:
    """A detach by the server, or with an error, of a link on which the client sends; x: NULL where no one knows."""
    cdef V1Address a
    cdef Event e
    if x != NULL:
        describe_link(t, ch, EVENT_LINK_CLOSED, x, &e, &a)
    else:
        clear_event(&e, EVENT_LINK_CLOSED, ch.number)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    if not sure:
        e.head.certainty = <uint8_t>(IS_INFERRED if x != NULL else IS_UNKNOWN)
    if not set_v1_error(g, &e, &f.v[DETACH_ERROR]) and (g.side == 0 or x == NULL):
        return 0
    return emit_of(g, t, ch, &e)


cdef int detach_link(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """detach"""
    cdef TrackedChannel* ch = NULL
    cdef V1Link* x
    cdef Consumer* consumer = NULL
    cdef uint64_t handle
    cdef bint first, sure
    if session_of(g, t, f.channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL or ch.closing or not link_number(&f.v[DETACH_HANDLE], &handle):
        return 0
    x = find_link(ch.session, g.side, handle)
    if x == NULL:
        return close_link(g, t, ch, NULL, f, False)
    first = x.detached == 0
    sure = x.attached == 3 and (not first or is_answer_sure(g, t, ch)) and not ch.gaps >> g.side & 1
    if x.receives and g.side == 1:
        if cancel_consumer(g, t, ch, x, f, sure) < 0:
            return NO_MEMORY
    elif x.receives and first:
        consumer = find_consumer(&ch.consumers, x.name.p, x.name.n) if x.name.p != NULL else NULL
        if consumer != NULL:
            consumer.leaving = True
    elif not x.receives and first and close_link(g, t, ch, x, f, sure) < 0:
        return NO_MEMORY
    if first:
        x.time = g.now
    x.detached |= <uint8_t>(1 << g.side)
    set_link_key(ch.session, x, g.side, NO_HANDLE)
    if x.detached == 3 or (x.name.p == NULL and x.key[1 - g.side] == NO_HANDLE):
        remove_link(g, ch.session, x)
    return 0


cdef int track_v1_session(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """begin, attach, detach, end."""
    if f.code == DESC_BEGIN:
        if has_v1(&f.v[BEGIN_REMOTE_CHANNEL]):
            return answer_session(g, t, f.channel, <uint16_t>f.v[BEGIN_REMOTE_CHANNEL].u)
        return ask_session(g, t, f.channel)
    if f.code == DESC_ATTACH:
        return attach_link(g, t, f)
    if f.code == DESC_DETACH:
        return detach_link(g, t, f)
    if f.code == DESC_FLOW:
        see_number(t, g.side, f.channel)
    return end_session(g, t, f) if f.code == DESC_END else 0
