# What methods with a content say: publishes, deliveries, returns.

cdef enum:
    SENT_KEPT = 256         # of a channel without confirms: the newest publishes that may come back, or end it
    RETURNS_TRIED = 1024    # publishes that are compared with one that comes back
    NO_ROUTE = 312

# A method with as much of its content as came.
cdef struct Content:
    const Desc* desc
    const uint8_t* method   # its frame
    const uint8_t* header   # its content header's frame, or NULL
    size_t n_method
    size_t n_header
    uint64_t number         # of a publish, from begin_content()
    BodyHash body
    bint complete


cdef bint read_content(Tracking* g, const Content* x) noexcept nogil:
    """The arguments and properties of a content, for find_argument(); whether they can be read."""
    cdef Cursor cursor
    cdef Fault fault
    cdef bint unusual
    begin_cursor(&cursor, &fault, x.method + 11, x.method + x.n_method - 1, x.method, 0)
    if read_arguments(x.desc, &cursor, g.v, g.dialect, &unusual) != 0:
        return False
    memset(g.properties, 0, <size_t>x.desc.properties.n * sizeof(AmqpValue))
    if x.header == NULL or x.n_header < 22 or load16(x.header + 7) != x.desc.class_id:
        return x.header == NULL
    begin_cursor(&cursor, &fault, x.header + 19, x.header + x.n_header - 1, x.header, 0)
    return read_properties(x.desc.properties, &cursor, g.properties, g.dialect, &unusual) == 0


cdef bint has_copies(Tracking* g) noexcept nogil:
    """Whether headers may name further routes: CC and BCC of RabbitMQ."""
    cdef const AmqpValue* v = find_argument(g, ARG_HEADERS)
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef TableEntry entry
    if v == NULL or v.n == 0 or memchr(v.p, c'C', v.n) == NULL:
        return False
    at = v.p
    end = v.p + v.n
    while next_entry(&at, end, &entry):
        if entry.name[entry.n_name - 1] == c'C' and ((entry.n_name == 2 and entry.name[0] == c'C') or (
                entry.n_name == 3 and entry.name[0] == c'B' and entry.name[1] == c'C')):
            return True
    return at != end


cdef uint64_t begin_content(Tracking* g, const Tracker* t, TrackedChannel* ch, int on) noexcept nogil:
    """The method of a content was read, whatever becomes of the content: number of a publish, 0 where no one knows."""
    if on != ON_PUBLISH or ch.confirms == CONFIRMS_NOT:
        return 0
    if not ch.counts:
        observe_publish(g, ch, t.blocked)
    if not ch.counts or ch.confirms == CONFIRMS_UNKNOWN:
        return 0
    ch.publishes.newest += 1
    return ch.publishes.newest


# A publish, and what becomes of it as far as its virtual host says.
cdef struct Sent:
    VirtualHost* host       # NULL where it is not known
    bint is_default         # it is for the default exchange
    bint comes_back         # if no queue wants it
    int dropped             # certainty of that no queue gets it, and no one says so; IS_UNKNOWN: nothing says that
    Route route


cdef void set_route(Event* e, const Route* route) noexcept nogil:
    e.head.certainty = route.certainty
    if route.certainty == IS_UNKNOWN:
        return
    e.head.routed = ROUTED_BY_BINDINGS
    if route.n_queues == 1:
        set_text(e, TEXT_QUEUE, route.p + 1, route.p[0])
    else:
        e.text[TEXT_ROUTE].p = route.p
        e.text[TEXT_ROUTE].n = route.n


cdef int route_content(Tracking* g, VirtualHost* host, const Content* x, const Event* e, Route* route) noexcept nogil:
    cdef const AmqpValue* headers = find_argument(g, ARG_HEADERS)
    cdef Routed message
    message.exchange = e.text[TEXT_EXCHANGE]
    message.key = e.text[TEXT_ROUTING_KEY]
    message.has_headers = x.header != NULL
    message.headers.p = headers.p if headers != NULL else NULL
    message.headers.n = <uint32_t>headers.n if headers != NULL else 0
    return find_route(g, host, &message, route)


cdef int route_published(Tracking* g, Tracker* t, const TrackedChannel* ch, const Content* x, Event* e,
                         Sent* sent) noexcept nogil:
    """Where a publish goes. In a transaction no one knows whether it does."""
    cdef bint copies = has_copies(g)
    cdef bint silent = not sent.comes_back and not copies and ch.doubtful_deliveries != <uint64_t>-1
    sent.host = t.host
    e.head.certainty = IS_UNKNOWN
    if sent.is_default:
        if not copies:
            e.text[TEXT_QUEUE] = e.text[TEXT_ROUTING_KEY]
            e.head.certainty = IS_EXACT
            e.head.routed = ROUTED_BY_NAME
    elif e.text[TEXT_EXCHANGE].p != NULL and e.text[TEXT_ROUTING_KEY].p != NULL and not copies:
        if host_of(g, t, &sent.host) < 0:
            return NO_MEMORY
        if sent.host == NULL:
            return 0
        if route_content(g, sent.host, x, e, &sent.route) < 0:
            return NO_MEMORY
        set_route(e, &sent.route)
        if e.head.routed and sent.route.n_queues == 0 and sent.host.pending == 0 and not sent.host.doubted \
                and not g.doubted:
            sent.dropped = IS_INFERRED
            sent.host.drops = True
    if sent.host != NULL and sent.host.returned.n and silent:
        sent.dropped = min(sent.dropped, returned_certainty(g, sent.host, &e.text[TEXT_EXCHANGE],
                                                            &e.text[TEXT_ROUTING_KEY]))
    if not silent:
        sent.dropped = IS_UNKNOWN
    return 0


cdef int keep_sent(Tracking* g, TrackedChannel* ch, uint64_t number, const Sent* sent, Event* e) noexcept nogil:
    """Follow a publish. Where none is confirmed, the newest ones may come back, or end their channel."""
    cdef Questions* o = &ch.publishes
    cdef uint64_t newest = o.newest
    cdef QuestionSlot* slot
    if number > o.newest:       # a confirm showed that it is wrong
        number = 0
    if number == 0:
        if ch.confirms == CONFIRMS or (sent.is_default and not sent.comes_back):
            return 0
        number = newest = o.newest + 1
        if o.n_open >= SENT_KEPT:
            trim_questions(o)
            ch.doubtful_publishes = question_slot(o, o.first).number
            drop_question(g, TRACKED_PUBLISHES, remove_question(o, o.first))
            trim_questions(o)
    if keep_question(g, TRACKED_PUBLISHES, o, number, e) < 0:
        return NO_MEMORY
    o.newest = newest
    if o.n == 0:
        return 0
    slot = question_slot(o, o.n - 1)
    if slot.number == number and slot.question != NULL:
        slot.question.on = ON_PUBLISH if sent.comes_back else 0
        slot.question.changes = sent.host.changes if sent.host != NULL else 0
    return 0


cdef int emit_unroutable(Tracking* g, Tracker* t, Event* e, int certainty) noexcept nogil:
    """No queue gets the publish that was emitted last, which e is."""
    omit_route(e)
    e.head.answers = e.head.event_id
    e.head.event = EVENT_UNROUTABLE
    e.head.certainty = <uint8_t>certainty
    e.head.initiator = INITIATOR_SERVER
    return emit_event(g, t, e)


cdef int emit_published(Tracking* g, Tracker* t, TrackedChannel* ch, Event* e, const Content* x,
                        bint over) noexcept nogil:
    cdef Sent sent
    sent.is_default = e.text[TEXT_EXCHANGE].p != NULL and e.text[TEXT_EXCHANGE].n == 0
    sent.comes_back = argument_number(g, ARG_MANDATORY) != 0 or argument_number(g, ARG_IMMEDIATE) != 0
    sent.dropped = IS_UNKNOWN
    e.head.event = EVENT_PUBLISHED
    if route_published(g, t, ch, x, e, &sent) < 0:
        return NO_MEMORY
    if x.number and not ch.infers:
        e.head.delivery_tag = <int64_t>x.number
    if emit_event(g, t, e) < 0 or keep_sent(g, ch, x.number, &sent, e) < 0:
        return NO_MEMORY
    if sent.dropped != IS_UNKNOWN and not over and emit_unroutable(g, t, e, sent.dropped) < 0:
        return NO_MEMORY
    return end_questions(g, t, ch, TRACKED_PUBLISHES, b"channel-closed") if over else 0


cdef int check_delivered(Tracking* g, VirtualHost* host, const Content* x, const Event* e) noexcept nogil:
    """A queue has a message that fits no binding: bindings are older than the recording, then."""
    cdef Route route
    if e.text[TEXT_EXCHANGE].n == 0 or e.text[TEXT_ROUTING_KEY].p == NULL:
        return 0
    if route_content(g, host, x, e, &route) < 0:
        return NO_MEMORY
    if route.certainty != IS_UNKNOWN and route.n_queues == 0:
        doubt_host(g, host)
    return 0


cdef int emit_delivered(Tracking* g, Tracker* t, TrackedChannel* ch, Event* e, int on, bint over) noexcept nogil:
    cdef Consumer* x = NULL
    cdef Question* q = NULL
    cdef Event asked
    cdef uint64_t tag = argument_number(g, ARG_DELIVERY_TAG)
    e.head.event = EVENT_DELIVERED
    e.head.certainty = IS_UNKNOWN
    e.head.delivery_tag = <int64_t>tag if tag <= <uint64_t>0x7FFFFFFFFFFFFFFF else NO_NUMBER
    e.head.redelivered = argument_number(g, ARG_REDELIVERED) != 0
    if on == ON_GET_OK:
        q = match_reply(g, ch, ON_GET)
        e.head.message_count = <int64_t>argument_number(g, ARG_MESSAGE_COUNT)
        if q != NULL:
            load_event(question_bytes(q), &asked)
            set_elapsed(g, e, q.time)
            e.text[TEXT_QUEUE] = asked.text[TEXT_QUEUE]
            e.head.settles = asked.head.settles
            e.head.certainty = IS_EXACT if asked.text[TEXT_QUEUE].p != NULL else IS_UNKNOWN
    else:
        x = find_consumer(&ch.consumers, e.text[TEXT_CONSUMER_TAG].p, e.text[TEXT_CONSUMER_TAG].n)
        if x != NULL:
            e.head.settles = x.settles
            e.head.certainty = x.certainty
            if x.certainty != IS_UNKNOWN:
                set_text(e, TEXT_QUEUE, consumer_queue(x), x.n_queue)
    if e.head.certainty == IS_UNKNOWN and e.text[TEXT_EXCHANGE].p != NULL and e.text[TEXT_EXCHANGE].n == 0 \
            and not has_copies(g):
        e.text[TEXT_QUEUE] = e.text[TEXT_ROUTING_KEY]
        e.head.certainty = IS_INFERRED
    if emit_event(g, t, e) < 0:
        return NO_MEMORY
    if tag <= ch.deliveries.newest and tag:
        forget_questions(g, TRACKED_DELIVERIES, &ch.deliveries)     # the channel began anew, and no one saw it
        ch.doubtful_deliveries = 0
    if e.head.settles != SETTLES_AUTOMATIC and tag:
        if keep_question(g, TRACKED_DELIVERIES, &ch.deliveries, tag, e) < 0:
            return NO_MEMORY
        if over and end_questions(g, t, ch, TRACKED_DELIVERIES,
                                  b"connection-lost" if t.phase == PHASE_OVER else b"channel-closed") < 0:
            return NO_MEMORY
    if q != NULL:
        drop_question(g, TRACKED_REQUESTS, q)
    return 0


cdef inline bint is_equal_text(const EventText* a, const EventText* b) noexcept nogil:
    return a.n == b.n and (a.p == NULL) == (b.p == NULL) and (a.n == 0 or memcmp(a.p, b.p, a.n) == 0)


cdef bint is_returned(const Question* q, const Event* e, bint* sure) noexcept nogil:
    """Whether a publish may be the one that comes back; sure: its content is known to be the same."""
    cdef Event said
    load_event(question_bytes(<Question*>q), &said)
    sure[0] = said.head.body_size == e.head.body_size and said.head.content == e.head.content and (
        said.head.body_size == 0 or said.head.content != NO_NUMBER)
    if said.head.body_size != e.head.body_size and said.head.body_size != NO_NUMBER and e.head.body_size != NO_NUMBER:
        return False
    if said.head.content != e.head.content and said.head.content != NO_NUMBER and e.head.content != NO_NUMBER:
        return False
    if said.head.body_size != NO_NUMBER and e.head.body_size != NO_NUMBER and not (
            is_equal_text(&said.text[TEXT_MESSAGE_ID], &e.text[TEXT_MESSAGE_ID])
            and is_equal_text(&said.text[TEXT_CORRELATION_ID], &e.text[TEXT_CORRELATION_ID])):
        return False
    return is_equal_text(&said.text[TEXT_EXCHANGE], &e.text[TEXT_EXCHANGE]) \
        and is_equal_text(&said.text[TEXT_ROUTING_KEY], &e.text[TEXT_ROUTING_KEY])


cdef Question* find_returned(Tracking* g, TrackedChannel* ch, const Event* e, int* certainty) noexcept nogil:
    """The first publish, in their order, that may be the one that comes back; exact if no other one may be."""
    cdef Questions* o = &ch.publishes
    cdef Question* found = NULL
    cdef Question* q
    cdef bint sure = False, other = False
    cdef size_t first = find_question(o, ch.returned + 1), i
    certainty[0] = IS_EXACT
    for i in range(first, min(o.n, first + RETURNS_TRIED)):
        q = question_slot(o, i).question
        if q == NULL or q.on != ON_PUBLISH or not is_returned(q, e, &other):
            continue
        if found != NULL:
            certainty[0] = IS_INFERRED
            break
        found = q
        sure = other
    if not sure or not ch.counts or ch.infers or ch.gaps & 1 or g.counts.forgotten[TRACKED_PUBLISHES] \
            or first + RETURNS_TRIED < o.n or (ch.confirms != CONFIRMS and ch.doubtful_publishes):
        certainty[0] = IS_INFERRED
    return found


cdef int emit_returned(Tracking* g, Tracker* t, TrackedChannel* ch, Event* e) noexcept nogil:
    """It says by its content alone which publish it returns."""
    cdef int certainty = IS_UNKNOWN
    cdef Question* q = find_returned(g, ch, e, &certainty)
    cdef VirtualHost* host = NULL
    cdef Event said
    e.head.event = EVENT_RETURNED
    e.head.certainty = IS_UNKNOWN
    e.head.reply_code = <int32_t>argument_number(g, ARG_REPLY_CODE)
    set_argument(g, e, TEXT_REPLY_TEXT, ARG_REPLY_TEXT)
    if q == NULL:
        return emit_event(g, t, e)
    load_event(question_bytes(q), &said)
    omit_route(&said)
    e.head.answers = said.head.event_id
    e.head.delivery_tag = said.head.delivery_tag
    e.head.routed = said.head.routed
    e.head.certainty = <uint8_t>certainty
    e.text[TEXT_QUEUE] = said.text[TEXT_QUEUE]
    set_elapsed(g, e, q.time)
    if emit_event(g, t, e) < 0 or host_of(g, t, &host) < 0:
        return NO_MEMORY
    if e.head.reply_code == NO_ROUTE and host != NULL and q.changes == host.changes \
            and ch.doubtful_deliveries != <uint64_t>-1 and not ch.unordered and not g.unordered \
            and remember_returned(g, host, &e.text[TEXT_EXCHANGE], &e.text[TEXT_ROUTING_KEY]) < 0:
        return NO_MEMORY
    ch.returned = q.number
    q.on = 0
    return 0


cdef bint is_named(const EventText* text, const EventText* name) noexcept nogil:
    """Whether a close's text has the name in quotes."""
    cdef uint32_t i
    if text.p == NULL or name.p == NULL or name.n == 0:
        return False
    for i in range(text.n):
        if text.n - i < name.n + 2:
            return False
        if text.p[i] == c"'" and text.p[i + 1 + name.n] == c"'" and memcmp(text.p + i + 1, name.p, name.n) == 0:
            return True
    return False


cdef int emit_destroyed(Tracking* g, Tracker* t, TrackedChannel* ch, const char* about, const Event* e) noexcept nogil:
    """The server closed the channel for a publish: the first one to the exchange that its text names or, where none is
    confirmed, the only one."""
    cdef Questions* o = &ch.publishes
    cdef Event said
    cdef size_t i, found = 0, n = 0
    cdef Question* q
    if strlen(about) != 13 or memcmp(about, <const char*>b"basic.publish", 13) != 0:
        return 0
    for i in range(o.first, min(o.n, o.first + RETURNS_TRIED)):
        if question_slot(o, i).question != NULL:
            load_event(question_bytes(question_slot(o, i).question), &said)
            if is_named(&e.text[TEXT_REPLY_TEXT], &said.text[TEXT_EXCHANGE]):
                found = i if n == 0 else found
                n += 1
    if n == 0 or (ch.confirms != CONFIRMS and (n > 1 or ch.doubtful_publishes)):
        return 0
    if question_slot(o, found).number <= ch.doubtful_publishes:
        return 0
    q = remove_question(o, found)
    if answer_question(g, t, q, EVENT_DESTROYED, OUTCOME_NONE, IS_INFERRED, b"channel-closed") < 0:
        return NO_MEMORY
    drop_question(g, TRACKED_PUBLISHES, q)
    trim_questions(o)
    return 0


cdef int emit_content(Tracking* g, Tracker* t, TrackedChannel* ch, const EventMethod* m, const Content* x,
                      bint over) noexcept nogil:
    """over: its channel or connection has ended."""
    cdef Event e
    g.method = m
    clear_event(&e, EVENT_NONE, ch.number)
    if not read_content(g, x):
        return track_loss(g, t, 0)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    set_argument(g, &e, TEXT_EXCHANGE, ARG_EXCHANGE)
    set_argument(g, &e, TEXT_ROUTING_KEY, ARG_ROUTING_KEY)
    set_argument(g, &e, TEXT_CONSUMER_TAG, ARG_CONSUMER_TAG)
    set_argument(g, &e, TEXT_MESSAGE_ID, ARG_MESSAGE_ID)
    set_argument(g, &e, TEXT_CORRELATION_ID, ARG_CORRELATION_ID)
    if x.header != NULL and load64(x.header + 11) <= <uint64_t>0x7FFFFFFFFFFFFFFF:
        e.head.body_size = <int64_t>load64(x.header + 11)
    if x.complete and x.body.n:
        e.head.content = hash_value(&x.body)
    if m.on == ON_PUBLISH:
        return emit_published(g, t, ch, &e, x, over)
    if m.on == ON_DELIVER or m.on == ON_GET_OK:
        if t.host != NULL and t.host.drops and not t.host.doubted and check_delivered(g, t.host, x, &e) < 0:
            return NO_MEMORY
        return emit_delivered(g, t, ch, &e, m.on, over)
    return emit_returned(g, t, ch, &e) if m.on == ON_RETURN else 0
