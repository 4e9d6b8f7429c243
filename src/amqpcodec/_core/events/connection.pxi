# The frames of a connection: which of its methods says what, and what is said of channels.

cdef struct TrackedFrame:
    const uint8_t* p
    size_t n
    uint16_t channel
    const Desc* desc        # of a method that is known, else NULL
    const EventMethod* method       # and what it means
    const char* about       # of a close: the name of the method that it answers, or NULL


cdef bint read_method(Tracking* g, const TrackedFrame* f) noexcept nogil:
    """The arguments of a method, for find_argument(); whether they can be read."""
    cdef Cursor cursor
    cdef Fault fault
    cdef bint unusual
    begin_cursor(&cursor, &fault, f.p + 11, f.p + f.n - 1, f.p, 0)
    g.method = f.method
    return read_arguments(f.desc, &cursor, g.v, g.dialect, &unusual) == 0


cdef int read_login(Tracking* g, Tracker* t) noexcept nogil:
    """Who logs in, of connection.start-ok: the name that the client gives itself, and the user's."""
    cdef const AmqpValue* v = find_argument(g, ARG_CLIENT_PROPERTIES)
    cdef const AmqpValue* mechanism = find_argument(g, ARG_MECHANISM)
    cdef EventText text
    cdef AmqpValue response
    cdef const uint8_t* first
    cdef const uint8_t* second
    if v != NULL and find_table_text(v, b"connection_name", &text) and keep_text(&t.name, text.p, text.n) < 0:
        return NO_MEMORY
    if v != NULL and find_table_text(v, b"product", &text) and keep_text(&t.product, text.p, text.n) < 0:
        return NO_MEMORY
    if v != NULL and (find_table_text(v, b"version", &text) or find_table_text(v, b"product_version", &text)) and \
            keep_text(&t.version, text.p, text.n) < 0:
        return NO_MEMORY
    v = find_argument(g, ARG_RESPONSE)
    if v == NULL or mechanism == NULL or v.n == 0:
        return 0
    if mechanism.n == 5 and memcmp(mechanism.p, <const char*>b"PLAIN", 5) == 0:
        first = <const uint8_t*>memchr(v.p, 0, v.n)
        second = <const uint8_t*>memchr(first + 1, 0, v.n - <size_t>(first + 1 - v.p)) if first != NULL else NULL
        if second != NULL:
            return keep_text(&t.user, first + 1, <size_t>(second - first - 1))
    elif mechanism.n == 8 and memcmp(mechanism.p, <const char*>b"AMQPLAIN", 8) == 0:
        response = v[0]
        if find_table_text(&response, b"LOGIN", &text):
            return keep_text(&t.user, text.p, text.n)
    return 0


cdef void describe_client(const Tracker* t, Event* e, Details* d) noexcept nogil:
    """What the client says that it is. d: holds the text."""
    d.n = 0
    if t.product.p != NULL:
        put_detail_text(d, b"product", t.product.p, t.product.n)
    if t.version.p != NULL:
        put_detail_text(d, b"version", t.version.p, t.version.n)
    end_details(d, e)


cdef int open_connection(Tracking* g, Tracker* t, int certainty, const char* reason) noexcept nogil:
    cdef Event e
    cdef Details d
    if t.phase >= PHASE_OPEN:
        return 0
    t.phase = PHASE_OPEN
    clear_event(&e, EVENT_CONNECTION_OPENED, -1)
    e.head.certainty = <uint8_t>certainty
    e.head.heartbeat_s = t.heartbeat
    set_word(&e, TEXT_REASON, reason)
    describe_client(t, &e, &d)
    if certainty == IS_EXACT:
        set_elapsed(g, &e, t.began)
    return emit_event(g, t, &e)


cdef int prove_open(Tracking* g, Tracker* t) noexcept nogil:
    """A frame came that is sent on open connections alone."""
    if t.phase == PHASE_UNKNOWN:
        g.doubted = True        # and so may be what it binds
        return open_connection(g, t, IS_INFERRED, b"before the recording")
    if t.phase == PHASE_OPENING:
        return open_connection(g, t, IS_INFERRED, NULL)
    return 0


cdef void describe_close(Tracking* g, const TrackedFrame* f, Event* e) noexcept nogil:
    """Of the side that did not send it, if it is close-ok that is at hand."""
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    if g.method.place[ARG_REPLY_CODE] >= 0:
        e.head.reply_code = <int32_t>argument_number(g, ARG_REPLY_CODE)
        set_argument(g, e, TEXT_REPLY_TEXT, ARG_REPLY_TEXT)
        set_word(e, TEXT_REQUEST, f.about)
    else:
        e.head.initiator = <uint8_t>(INITIATOR_SERVER - g.side)
        e.head.certainty = IS_INFERRED


cdef int close_connection(Tracking* g, Tracker* t, const TrackedFrame* f, bint agreed) noexcept nogil:
    """connection.close; agreed: its close-ok, where the close itself was not seen."""
    cdef Event e
    cdef Details d
    if t.phase >= PHASE_CLOSING:
        return 0
    clear_event(&e, EVENT_CONNECTION_CLOSED, -1)
    describe_close(g, f, &e)
    if t.phase == PHASE_UNKNOWN:
        e.head.certainty = IS_INFERRED
    elif t.phase == PHASE_OPENING and g.side != agreed:
        if t.gaps:
            e.head.certainty = IS_INFERRED      # it may have been opened in a gap
        else:
            e.head.event = EVENT_CONNECTION_REFUSED
            describe_client(t, &e, &d)
    t.phase = PHASE_CLOSING
    if emit_event(g, t, &e) < 0:
        return NO_MEMORY
    return end_everything(g, t, b"connection-closed")


cdef int track_connection_method(Tracking* g, Tracker* t, const TrackedFrame* f) noexcept nogil:
    """A method of channel 0."""
    cdef int on = f.method.on
    cdef const AmqpValue* v
    if ON_START <= on <= ON_CONNECTION_OPEN and t.phase == PHASE_UNKNOWN:
        t.phase = PHASE_OPENING
    if on == ON_START_OK:
        return read_login(g, t)
    if on == ON_TUNE_OK:
        t.heartbeat = <int32_t>argument_number(g, ARG_HEARTBEAT)
    elif on == ON_CONNECTION_OPEN:
        v = find_argument(g, ARG_VIRTUAL_HOST)
        t.host = NULL
        if v != NULL:
            return keep_text(&t.virtual_host, v.p, v.n)
    elif on == ON_CONNECTION_OPEN_OK:
        return open_connection(g, t, IS_EXACT, NULL)
    elif on == ON_CONNECTION_CLOSE or on == ON_CONNECTION_CLOSE_OK:
        return close_connection(g, t, f, on == ON_CONNECTION_CLOSE_OK)
    elif on == ON_BLOCKED or on == ON_UNBLOCKED:
        return emit_blocked(g, t, on == ON_BLOCKED)
    return 0


cdef int emit_blocked(Tracking* g, Tracker* t, bint blocked) noexcept nogil:
    cdef Event e
    if prove_open(g, t) < 0:
        return NO_MEMORY
    t.blocked = blocked
    restart_standstills(t.first)        # it is no answer that it confirms nothing
    clear_event(&e, EVENT_BLOCKED if blocked else EVENT_UNBLOCKED, -1)
    e.head.initiator = INITIATOR_SERVER
    set_argument(g, &e, TEXT_REASON, ARG_REASON)
    return emit_event(g, t, &e)


# ---- channels ----

cdef int begin_channel(Tracking* g, Tracker* t, uint16_t number, bint whole, TrackedChannel** ch) noexcept nogil:
    """As add_channel(), in the place of one whose end was not seen, or whose reply came first: ch, or NULL."""
    cdef bint unordered = ch[0] != NULL and ch[0].unordered
    if ch[0] != NULL:
        if end_channel(g, t, ch[0], NULL) < 0:
            return NO_MEMORY
        remove_channel(g, t, ch[0])
    if add_channel(g, t, number, whole, ch) < 0:
        return NO_MEMORY
    if ch[0] != NULL:
        ch[0].unordered |= unordered
    return 0


cdef int open_channel(Tracking* g, Tracker* t, uint16_t number) noexcept nogil:
    """channel.open"""
    cdef TrackedChannel* ch = find_channel(t, number)
    cdef bint again = ch != NULL
    cdef Event e
    if begin_channel(g, t, number, True, &ch) < 0:
        return NO_MEMORY
    if ch == NULL:
        return 0
    if again:
        ch.asks = ch.counts = False
        ch.confirms = CONFIRMS_UNKNOWN
        return 0
    clear_event(&e, EVENT_CHANNEL_OPENED, number)
    set_word(&e, TEXT_REQUEST, b"channel.open")
    return keep_request(g, ch, &e, ON_CHANNEL_OPEN)


cdef int confirm_channel(Tracking* g, Tracker* t, uint16_t number) noexcept nogil:
    """channel.open-ok"""
    cdef TrackedChannel* ch = find_channel(t, number)
    cdef Question* q = ch.request if ch != NULL else NULL
    cdef Event e
    clear_event(&e, EVENT_CHANNEL_OPENED, number)
    e.head.initiator = INITIATOR_CLIENT
    if q != NULL and q.on == ON_CHANNEL_OPEN:
        set_elapsed(g, &e, q.time)
        drop_question(g, TRACKED_REQUESTS, remove_request(ch))
        return emit_event(g, t, &e)
    if ch != NULL and ch.asks:
        return emit_event(g, t, &e)
    g.counts.unmatched += 1
    if begin_channel(g, t, number, False, &ch) < 0:
        return NO_MEMORY
    return emit_event(g, t, &e)


cdef int close_channel(Tracking* g, Tracker* t, const TrackedFrame* f, bint agreed) noexcept nogil:
    """channel.close; agreed: its close-ok."""
    cdef TrackedChannel* ch = find_channel(t, f.channel)
    cdef Event e
    if ch == NULL or not ch.closing:
        clear_event(&e, EVENT_CHANNEL_CLOSED, f.channel)
        describe_close(g, f, &e)
        if (ch != NULL or not agreed) and emit_event(g, t, &e) < 0:
            return NO_MEMORY
        if ch != NULL and g.side == 1 and not agreed:
            refuse_changes(g, t, ch)
            if f.about != NULL and emit_destroyed(g, t, ch, f.about, &e) < 0:
                return NO_MEMORY
        if ch != NULL and end_channel(g, t, ch, b"channel-closed") < 0:
            return NO_MEMORY
    if ch != NULL and agreed:
        remove_channel(g, t, ch)
    return 0


cdef int emit_flow(Tracking* g, Tracker* t, uint16_t channel) noexcept nogil:
    cdef Event e
    cdef Details d
    clear_event(&e, EVENT_FLOW, channel)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    d.n = 0
    put_detail(&d, g, b"active", ARG_ACTIVE)
    end_details(&d, &e)
    return emit_event(g, t, &e)


cdef int channel_of(Tracking* g, Tracker* t, uint16_t number, TrackedChannel** out) noexcept nogil:
    """The channel, from here on if its opening was not seen; out: NULL where too many are followed."""
    out[0] = find_channel(t, number)
    if out[0] == NULL:
        return add_channel(g, t, number, False, out)
    out[0].unordered |= g.unordered
    return 0


cdef int track_late_answer(Tracking* g, Tracker* t, const TrackedFrame* f) noexcept nogil:
    """A method of a channel that is closing: where no one knows whether it was sent before, it may be an answer."""
    cdef int on = f.method.on
    if not g.unordered or not ON_ACK <= on <= ON_REJECT:
        return 0
    return emit_lone_answer(g, t, f.channel, EVENT_CONFIRMED if g.side == 1 else EVENT_SETTLED,
                            argument_number(g, ARG_DELIVERY_TAG), answer_outcome(g, on))


cdef int track_channel_method(Tracking* g, Tracker* t, const TrackedFrame* f) noexcept nogil:
    """A method without a content of another channel than 0."""
    cdef TrackedChannel* ch = NULL
    cdef int on = f.method.on
    if t.phase >= PHASE_CLOSING:
        return track_late_answer(g, t, f)
    if prove_open(g, t) < 0:
        return NO_MEMORY
    if on == ON_CHANNEL_OPEN:
        return open_channel(g, t, f.channel)
    if on == ON_CHANNEL_OPEN_OK:
        return confirm_channel(g, t, f.channel)
    if on == ON_CHANNEL_CLOSE or on == ON_CHANNEL_CLOSE_OK:
        return close_channel(g, t, f, on == ON_CHANNEL_CLOSE_OK)
    if on == ON_CHANNEL_FLOW:
        return emit_flow(g, t, f.channel)
    if channel_of(g, t, f.channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL or ch.closing:
        return track_late_answer(g, t, f)
    if ON_ACK <= on <= ON_REJECT:
        return track_answer(g, t, ch, on)
    if g.side == 0 and on == ON_RECOVER_ASYNC:
        doubt_deliveries(g, ch)
        return 0
    if g.side == 0 and ON_QUEUE_DECLARE <= on <= ON_ROLLBACK:
        return track_request(g, t, ch, on)
    if g.side == 1 and on == ON_CANCEL:
        return track_server_cancel(g, t, ch)
    if g.side == 1 and on == ON_GET_EMPTY:
        return track_get_empty(g, t, ch)
    if g.side == 1 and ON_QUEUE_DECLARE_OK <= on <= ON_ROLLBACK_OK:
        return track_reply(g, t, ch, on - (ON_QUEUE_DECLARE_OK - ON_QUEUE_DECLARE))
    return 0


cdef int track_method(Tracking* g, Tracker* t, const TrackedFrame* f) noexcept nogil:
    """A method without a content."""
    hear_frame(g, t, False)
    if f.desc == NULL or not read_method(g, f):
        return track_loss(g, t, 0)
    if f.channel == 0:
        return track_connection_method(g, t, f)
    return track_channel_method(g, t, f)


cdef int track_heartbeat(Tracking* g, Tracker* t) noexcept nogil:
    hear_frame(g, t, True)
    return prove_open(g, t) if t.phase == PHASE_UNKNOWN else 0


cdef void begin_opening(Tracking* g, Tracker* t) noexcept nogil:
    """A protocol header came."""
    if t.phase == PHASE_UNKNOWN:
        t.phase = PHASE_OPENING
        if g.side == 0:
            t.began = g.now


cdef int track_protocol_header(Tracking* g, Tracker* t) noexcept nogil:
    """The first bytes of a client; of a server, the refusal of what the client asked for."""
    hear_frame(g, t, False)
    begin_opening(g, t)
    if g.side == 1 and t.phase == PHASE_OPENING:
        t.phase = PHASE_CLOSING
        return emit_alone(g, t, EVENT_CONNECTION_REFUSED, -1, IS_EXACT, b"protocol-header")
    return 0


cdef int track_opening(Tracking* g, Tracker* t, const TrackedFrame* f, uint64_t* number) noexcept nogil:
    """A method that has a content, which follows. number: of a publish, for track_content()."""
    cdef TrackedChannel* ch = NULL
    hear_frame(g, t, False)
    number[0] = 0
    if t.phase < PHASE_CLOSING:
        if prove_open(g, t) < 0 or channel_of(g, t, f.channel, &ch) < 0:
            return NO_MEMORY
        if ch != NULL:
            number[0] = begin_content(g, t, ch, f.method.on)
    return 0


cdef int track_content(Tracking* g, Tracker* t, const TrackedFrame* f, const Content* x) noexcept nogil:
    """A method with its content, or with what came of it."""
    cdef TrackedChannel* ch = NULL
    if t.phase >= PHASE_CLOSING and f.method.on == ON_RETURN and not g.unordered:
        return 0
    if channel_of(g, t, f.channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL:
        return 0
    return emit_content(g, t, ch, f.method, x, ch.closing or t.phase >= PHASE_CLOSING)
