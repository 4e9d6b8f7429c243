# Deliveries of 1.0 and their outcomes: what transfers and dispositions say.

# A delivery with as much of its payload as came.
cdef struct Delivery:
    const V1Value* v        # fields of its first transfer
    uint64_t number         # from begin_delivery()
    bint settled
    bint complete
    const uint8_t* payload
    size_t n


cdef uint64_t begin_delivery(Tracking* g, TrackedChannel* ch, const V1Value* v) noexcept nogil:
    """The first transfer of a delivery came, whatever becomes of it: its number, or 0 of one that is followed already,
    or has none."""
    cdef V1Session* s = ch.session
    cdef int side = g.side
    cdef int kind = TRACKED_PUBLISHES if side == 0 else TRACKED_DELIVERIES
    cdef Questions* o = &ch.publishes if side == 0 else &ch.deliveries
    cdef uint64_t* doubtful = &ch.doubtful_publishes if side == 0 else &ch.doubtful_deliveries
    cdef uint64_t number
    if not has_v1(&v[TRANSFER_DELIVERY_ID]):
        return 0
    number = widen_number(o, <uint32_t>v[TRANSFER_DELIVERY_ID].u)
    if number == o.newest:
        return 0
    if number < o.newest:       # the session began anew, and no one saw it
        forget_questions(g, kind, o)
        number = <uint64_t>1 << 32 | <uint32_t>v[TRANSFER_DELIVERY_ID].u
        if doubtful[0] != <uint64_t>-1:
            doubtful[0] = 0
        s.anchored[side] = False
    if not s.anchored[side]:
        s.seen_from[side] = number
        s.anchored[side] = True
    o.newest = number
    return number


cdef inline bint begins_message(const Delivery* y) noexcept nogil:
    """Whether its payload begins with a section that stands before the body."""
    return y.n >= 3 and y.payload[0] == 0 and y.payload[1] == 0x53 and 0x70 <= y.payload[2] <= 0x74


cdef int follow_delivery(Tracking* g, Tracker* t, TrackedChannel* ch, const Delivery* y, Event* e, bint unsure,
                         bint over) noexcept nogil:
    """The event waits for its outcome. unsure: it may be broken off, or settled already. over: nothing will come of
    it."""
    cdef int kind = TRACKED_PUBLISHES if g.side == 0 else TRACKED_DELIVERIES
    cdef Questions* o = &ch.publishes if g.side == 0 else &ch.deliveries
    cdef const char* reason = b"connection-lost" if t.phase == PHASE_OVER else b"channel-closed"
    cdef uint64_t newest = o.newest
    if keep_question(g, kind, o, y.number, e) < 0:
        return NO_MEMORY
    if unsure and o.n_open and question_slot(o, o.n - 1).number == y.number:
        question_slot(o, o.n - 1).question.on = ON_DELIVER
    o.newest = max(newest, y.number)
    sink_question(o)
    return end_questions(g, t, ch, kind, reason) if over else 0


cdef void place_message(Tracking* g, const Tracker* t, const V1Link* x, Event* e, const V1Message* m,
                        V1Address* a) noexcept nogil:
    """Where a message goes, or comes from: what its link says; of a publish on one without an address, its `to`."""
    cdef bint sent = g.side == 0
    clear_address(a)
    if x != NULL and x.certainty != IS_UNKNOWN:
        split_address(t, &m.to if sent and x.address.p == NULL and not x.dynamic else &x.address, a)
        if a.certainty == IS_EXACT:
            a.certainty = x.certainty
        if x.name.p != NULL and not sent:
            set_text(e, TEXT_CONSUMER_TAG, x.name.p, x.name.n)
    e.text[TEXT_QUEUE] = a.queue
    e.head.certainty = <uint8_t>(a.certainty if a.queue.p != NULL else IS_UNKNOWN)
    if sent:
        e.text[TEXT_EXCHANGE] = a.exchange
        e.text[TEXT_ROUTING_KEY] = m.subject if a.subject else a.routing_key
        e.head.routed = a.queue.p != NULL


cdef int route_v1(Tracking* g, Tracker* t, Event* e, Route* route) noexcept nogil:
    """Where a message goes that is sent to an exchange. Its headers are not compared."""
    cdef VirtualHost* host = NULL
    cdef Routed message
    memset(&message, 0, sizeof(message))
    message.exchange = e.text[TEXT_EXCHANGE]
    message.key = e.text[TEXT_ROUTING_KEY]
    if message.exchange.n == 0 or message.key.p == NULL:
        return 0
    if host_of(g, t, &host) < 0 or (host != NULL and find_route(g, host, &message, route) < 0):
        return NO_MEMORY
    if host != NULL:
        set_route(e, route)
    return 0


cdef int emit_delivery(Tracking* g, Tracker* t, TrackedChannel* ch, const Delivery* y, bint over) noexcept nogil:
    """over: its session or connection has ended."""
    cdef V1Link* x = find_link(ch.session, g.side, y.v[TRANSFER_HANDLE].u)
    cdef bint torn = x == NULL or x.torn
    cdef bint continues = torn and not begins_message(y)     # what its first transfer said of it is missing then
    cdef bint of_message = not has_v1(&y.v[TRANSFER_MESSAGE_FORMAT]) or y.v[TRANSFER_MESSAGE_FORMAT].u == 0
    cdef EventText none
    cdef V1Address a
    cdef V1Message m
    cdef Route route
    cdef Event e
    if y.number == 0 and has_v1(&y.v[TRANSFER_DELIVERY_ID]):
        return 0                # the rest of one that is followed
    memset(&none, 0, sizeof(none))
    if x != NULL:
        x.torn = False
    elif add_link(g, ch.session, &none, g.side == 1, &x) < 0:
        return NO_MEMORY
    elif x != NULL:
        set_link_key(ch.session, x, g.side, y.v[TRANSFER_HANDLE].u)
        x.torn = False
    clear_event(&e, EVENT_PUBLISHED if g.side == 0 else EVENT_DELIVERED, ch.number)
    m.to = m.subject = none
    m.of_coordinator = False
    if y.complete and of_message:
        read_v1_message(g, y.payload, y.n, &e, &m)
    if torn:                    # these may be the last bytes of it
        e.head.body_size = e.head.content = NO_NUMBER
        e.head.redelivered = 2
    if g.side == 0:
        e.head.redelivered = 2
    if v1_true(&y.v[TRANSFER_RESUME]) or (x != NULL and x.coordinates) or (g.side == 0 and m.of_coordinator and (
            x == NULL or x.certainty != IS_EXACT)):
        return 0
    place_message(g, t, x, &e, &m, &a)
    if g.side == 0 and route_v1(g, t, &e, &route) < 0:
        return NO_MEMORY
    if is_token_node(&e.text[TEXT_QUEUE]):
        e.head.content = NO_NUMBER
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    if not y.complete and e.head.certainty == IS_EXACT:
        e.head.certainty = IS_INFERRED      # its sender may have broken it off
    if y.number:
        e.head.delivery_tag = <int64_t><uint32_t>y.number
    if g.side == 1:
        e.head.settles = SETTLES_AUTOMATIC if y.settled else SETTLES_UNKNOWN if continues else SETTLES_MANUAL
    if emit_of(g, t, ch, &e) < 0:
        return NO_MEMORY
    if y.number == 0 or y.settled:
        return 0
    if ch.closing and ch.gaps >> g.side & 1 and t.phase < PHASE_CLOSING:
        return 0                # it may be another session, which took the number
    return follow_delivery(g, t, ch, y, &e, continues or not y.complete, over)


cdef inline bint is_token_node(const EventText* queue) noexcept nogil:
    """Where clients put tokens: of these no number is shown."""
    return queue.n == 4 and memcmp(queue.p, <const char*>b"$cbs", 4) == 0


cdef int track_delivery(Tracking* g, Tracker* t, uint16_t channel, const Delivery* y) noexcept nogil:
    """All that will come of a delivery."""
    cdef TrackedChannel* ch = NULL
    if session_of(g, t, channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL:
        return 0
    return emit_delivery(g, t, ch, y, ch.closing or t.phase >= PHASE_CLOSING)


cdef inline int prove_v1_open(Tracking* g, Tracker* t) noexcept nogil:
    """A frame came. A client may send more before the server has opened."""
    return prove_open(g, t) if g.side == 1 or t.phase == PHASE_UNKNOWN else 0


cdef int track_transfer(Tracking* g, Tracker* t, uint16_t channel, const V1Value* v, bint first,
                        uint64_t* number) noexcept nogil:
    """A transfer; number: of the delivery that it begins, for track_delivery()."""
    cdef TrackedChannel* ch = NULL
    number[0] = 0
    if prove_v1_open(g, t) < 0:
        return NO_MEMORY
    if not first:
        return 0
    if session_of(g, t, channel, &ch) < 0:
        return NO_MEMORY
    if ch != NULL:
        number[0] = begin_delivery(g, ch, v)
    return 0


# ---- outcomes ----

cdef int read_outcome(Tracking* g, const V1Value* state) noexcept nogil:
    """The outcome that a state is, also inside of a transaction; OUTCOME_NONE: it is none, or none that lasts."""
    cdef V1Value[V1_MAX_FIELDS] fields
    cdef int code = v1_described_code(g, state)
    if code == DESC_TRANSACTIONAL_STATE and read_v1_composite(g, state, code, fields):
        code = v1_described_code(g, &fields[TRANSACTIONAL_STATE_OUTCOME])
    if code == DESC_ACCEPTED:
        return OUTCOME_ACCEPTED
    if code == DESC_REJECTED:
        return OUTCOME_REJECTED
    if code == DESC_RELEASED:
        return OUTCOME_RELEASED
    return OUTCOME_MODIFIED if code == DESC_MODIFIED else OUTCOME_NONE


cdef int answer_range(Tracking* g, Tracker* t, TrackedChannel* ch, const TrackedPerformative* f, int kind,
                      int outcome) noexcept nogil:
    """The outcome of deliveries from first to last, of each by itself. kind: of those that the other side sent, or of
    its own that the sender settles: which outcome they had, its receiver alone knows."""
    cdef Questions* o = &ch.publishes if kind == TRACKED_PUBLISHES else &ch.deliveries
    cdef uint64_t* doubtful = &ch.doubtful_publishes if kind == TRACKED_PUBLISHES else &ch.doubtful_deliveries
    cdef int sender = 0 if kind == TRACKED_PUBLISHES else 1
    cdef int event = EVENT_CONFIRMED if kind == TRACKED_PUBLISHES else EVENT_SETTLED
    cdef bint of_sender = sender == g.side
    cdef uint64_t first = widen_number(o, <uint32_t>f.v[DISPOSITION_FIRST].u)
    cdef uint64_t last = first, number
    cdef size_t i
    cdef bint matched = False, unheard
    cdef int certainty
    if has_v1(&f.v[DISPOSITION_LAST]):
        last = max(first, widen_number(o, <uint32_t>f.v[DISPOSITION_LAST].u))
    i = next_open(o, find_question(o, first))
    while i < o.n and question_slot(o, i).number <= last:
        number = question_slot(o, i).number
        unheard = not of_sender and first != last and (number <= ch.session.unheard[sender]
                                                       or question_slot(o, i).question.on == ON_DELIVER)
        certainty = IS_INFERRED if of_sender or unheard else IS_EXACT
        if (of_sender and sender == 0) or ch.session.assumed or (unheard and first < number < last):
            # The publisher waits no longer; or it may be another's, or its outcome be among what was lost.
            drop_question(g, kind, remove_question(o, i))
        elif answer_number(g, t, kind, o, i, event, OUTCOME_NONE if of_sender else outcome, certainty) < 0:
            return NO_MEMORY
        matched = not ch.session.assumed
        i = next_open(o, i + 1)
    trim_questions(o)
    if matched or of_sender:
        return 0
    if ch.session.anchored[sender] and first >= ch.session.seen_from[sender] and last <= o.newest \
            and not ch.session.assumed:
        return 0                # it was said before
    if last > o.newest and doubtful[0] < last:
        doubtful[0] = last      # they may come yet, and have their outcome then
    return emit_lone_answer(g, t, ch.number, event, <uint32_t>first, outcome)


cdef int track_disposition(Tracking* g, Tracker* t, const TrackedPerformative* f) noexcept nogil:
    """disposition"""
    cdef TrackedChannel* ch = NULL
    cdef bint received = v1_true(&f.v[DISPOSITION_ROLE])
    cdef bint settled = v1_true(&f.v[DISPOSITION_SETTLED])
    cdef int outcome = read_outcome(g, &f.v[DISPOSITION_STATE])
    cdef int code = v1_described_code(g, &f.v[DISPOSITION_STATE])
    if session_of(g, t, f.channel, &ch) < 0:
        return NO_MEMORY
    if ch == NULL or ch.closing or not has_v1(&f.v[DISPOSITION_FIRST]) or code == DESC_DECLARED:
        return 0
    if not settled and (outcome == OUTCOME_NONE or not received):
        return 0
    return answer_range(g, t, ch, f, TRACKED_PUBLISHES if received == (g.side == 1) else TRACKED_DELIVERIES, outcome)
