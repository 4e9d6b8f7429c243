# The connection of 1.0: headers, SASL, open, close; and which performative says what.

cdef bint is_uuid_text(const EventText* text) noexcept nogil:
    """Whether a name is one that nobody gave."""
    cdef uint32_t i
    if text.n != 36:
        return False
    for i in range(36):
        if i == 8 or i == 13 or i == 18 or i == 23:
            if text.p[i] != c'-':
                return False
        elif hex_digit(text.p[i]) < 0:
            return False
    return True


cdef void name_user(Tracker* t) noexcept nogil:
    """From here on events tell who logged in, which names a connection that has no other name."""
    if t.login.p != NULL:
        free(<void*>t.user.p)
        t.user = t.login
        t.login.p = NULL
        t.login.n = 0


cdef int read_v1_open(Tracking* g, Tracker* t, const V1Value* v) noexcept nogil:
    """Who opens the connection, and how long it bears silence."""
    cdef EventText text, host
    t.idle[g.side] = 1000 * <int64_t>v[OPEN_IDLE_TIME_OUT].u if has_v1(&v[OPEN_IDLE_TIME_OUT]) else 0
    if g.side == 1:
        t.broker = BROKER_OTHER
        if find_v1_text(&v[OPEN_PROPERTIES], b"product", &text) and text.n == 8 \
                and memcmp(text.p, <const char*>b"RabbitMQ", 8) == 0:
            t.broker = BROKER_RABBITMQ
        return 0
    name_user(t)
    if find_v1_text(&v[OPEN_PROPERTIES], b"product", &text) and keep_text(&t.product, text.p, text.n) < 0:
        return NO_MEMORY
    if find_v1_text(&v[OPEN_PROPERTIES], b"version", &text) and keep_text(&t.version, text.p, text.n) < 0:
        return NO_MEMORY
    set_v1_text(&text, &v[OPEN_HOSTNAME], MAX_U32)
    if strip_prefix(&text, b"vhost:", &host) and keep_text(&t.virtual_host, host.p, host.n) < 0:
        return NO_MEMORY
    set_v1_text(&text, &v[OPEN_CONTAINER_ID], MAX_U32)
    if text.n and not is_uuid_text(&text):
        return keep_text(&t.name, text.p, text.n)
    return 0


cdef int read_v1_login(Tracking* g, Tracker* t, const V1Value* v) noexcept nogil:
    """Who logs in, of sasl-init with PLAIN."""
    cdef const V1Value* response = &v[SASL_INIT_INITIAL_RESPONSE]
    cdef const V1Value* mechanism = &v[SASL_INIT_MECHANISM]
    cdef const uint8_t* first
    cdef const uint8_t* second
    if not v1_is_variable(response.wire_type) or response.n == 0 or not v1_is_variable(mechanism.wire_type) \
            or mechanism.n != 5 or memcmp(mechanism.p, <const char*>b"PLAIN", 5) != 0:
        return 0
    first = <const uint8_t*>memchr(response.p, 0, response.n)
    if first == NULL:
        return 0
    second = <const uint8_t*>memchr(first + 1, 0, response.n - <size_t>(first + 1 - response.p))
    if second == NULL:
        return 0
    return keep_text(&t.login, first + 1, <size_t>(second - first - 1))


# By the code of sasl-outcome.
cdef const char** SASL_OUTCOMES = [NULL, "auth", "sys", "sys-perm", "sys-temp"]


cdef int track_sasl(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """A frame of SASL; f: NULL of one that cannot be read."""
    cdef Event e
    hear_frame(g, t, False)
    if t.phase == PHASE_UNKNOWN:
        t.phase = PHASE_OPENING
    if f == NULL:
        return track_loss(g, t, 0)
    if f.code == DESC_SASL_INIT and g.side == 0:
        return read_v1_login(g, t, f.v)
    if f.code != DESC_SASL_OUTCOME or g.side == 0 or f.v[SASL_OUTCOME_CODE].u == 0 or t.phase != PHASE_OPENING:
        return 0
    t.phase = PHASE_CLOSING
    name_user(t)
    clear_event(&e, EVENT_CONNECTION_REFUSED, -1)
    e.head.initiator = INITIATOR_SERVER
    if f.v[SASL_OUTCOME_CODE].u <= 4:
        set_word(&e, TEXT_REASON, SASL_OUTCOMES[f.v[SASL_OUTCOME_CODE].u])
    return emit_event(g, t, &e)


cdef int track_v1_header(Tracking* g, Tracker* t) noexcept nogil:
    """The header of 1.0, or of its security layers, which either side sends."""
    hear_frame(g, t, False)
    begin_opening(g, t)
    return 0


cdef int track_v1_close(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """close; the answer to one is none."""
    cdef Event e
    clear_event(&e, EVENT_CONNECTION_CLOSED, -1)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    if set_v1_error(g, &e, &f.v[CLOSE_ERROR]) and emit_silence(g, t, 1 - g.side) < 0:
        return NO_MEMORY
    if t.phase == PHASE_OPENING and g.side == 1 and not t.gaps:
        e.head.event = EVENT_CONNECTION_REFUSED
    elif t.phase != PHASE_OPEN or t.gaps >> (1 - g.side) & 1:
        e.head.certainty = IS_INFERRED
    t.phase = PHASE_CLOSING
    if emit_event(g, t, &e) < 0:
        return NO_MEMORY
    return end_everything(g, t, b"connection-closed")


cdef int track_performative(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """Any but transfer, or a frame whose performative cannot be read (f: NULL)."""
    hear_frame(g, t, False)
    if f == NULL:
        return track_loss(g, t, 0)
    if f.code == DESC_OPEN:
        if t.phase == PHASE_UNKNOWN:
            t.phase = PHASE_OPENING
        if read_v1_open(g, t, f.v) < 0:
            return NO_MEMORY
        return open_connection(g, t, IS_EXACT, NULL) if g.side == 1 else 0
    if t.phase >= PHASE_CLOSING:
        return 0
    if f.code == DESC_CLOSE:
        return track_v1_close(g, t, f)
    if prove_v1_open(g, t) < 0:
        return NO_MEMORY
    if f.code == DESC_DISPOSITION:
        return track_disposition(g, t, f)
    return track_v1_session(g, t, f)
