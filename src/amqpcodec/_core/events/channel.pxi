# What the methods of a channel without a content say: requests and their replies, confirms, settlements.

cdef inline AmqpValue* find_argument(Tracking* g, int k) noexcept nogil:
    """An argument of the method at hand, or a property; NULL where it has none."""
    cdef int place = g.method.place[k]
    if place < 0:
        return NULL
    if k < ARG_MESSAGE_ID:
        return &g.v[place]
    return &g.properties[place] if g.properties[place].present else NULL


cdef inline uint64_t argument_number(Tracking* g, int k) noexcept nogil:
    cdef const AmqpValue* v = find_argument(g, k)
    return 0 if v == NULL else v.u


cdef inline void set_argument(Tracking* g, Event* e, int text, int k) noexcept nogil:
    cdef const AmqpValue* v = find_argument(g, k)
    if v != NULL:
        set_text(e, text, v.p if v.p != NULL else <const uint8_t*>b"", v.n)


# ---- details ----

cdef enum:
    DETAIL_BYTES = 1800

# A JSON object, member by member.
cdef struct Details:
    size_t n
    uint8_t[DETAIL_BYTES] text


cdef int begin_detail(Buffer* b, uint8_t* memory, const Details* d, const char* key) noexcept nogil:
    """Begin a member in DETAIL_BYTES bytes of memory; its value follows, and end_detail()."""
    buffer_init(b, memory, DETAIL_BYTES)
    if buffer_put(b, <const char*>b', "' if d.n else <const char*>b'{"', 3 if d.n else 2) < 0:
        return NO_MEMORY
    return NO_MEMORY if buffer_put(b, key, strlen(key)) < 0 else buffer_put(b, <const char*>b'": ', 3)


cdef void end_detail(Details* d, Buffer* b, int status) noexcept nogil:
    """Add the member, if it could be written, and there is room for it and the bracket at the end."""
    cdef size_t n = buffer_size(b)
    if status == 0 and n < sizeof(d.text) - d.n:
        memcpy(d.text + d.n, b.start, n)
        d.n += n
    buffer_free(b)


cdef void put_detail_text(Details* d, const char* key, const uint8_t* p, size_t n) noexcept nogil:
    cdef uint8_t[DETAIL_BYTES] memory
    cdef Buffer b
    cdef int status = begin_detail(&b, memory, d, key)
    end_detail(d, &b, status if status < 0 else put_text_json(&b, p, n))


cdef void put_detail(Details* d, Tracking* g, const char* key, int k) noexcept nogil:
    """A bit of the method, where it has that."""
    cdef uint8_t[DETAIL_BYTES] memory
    cdef Buffer b
    cdef bint value
    cdef int status
    if g.method.place[k] >= 0:
        value = argument_number(g, k) != 0
        status = begin_detail(&b, memory, d, key)
        if status == 0:
            status = buffer_put(&b, <const char*>b"true" if value else <const char*>b"false", 4 if value else 5)
        end_detail(d, &b, status)


cdef void put_detail_table(Details* d, Tracking* g, const char* key, int k) noexcept nogil:
    """A field table of the method, where it has one with a value in it and there is room for all of it."""
    cdef const AmqpValue* v = find_argument(g, k)
    cdef uint8_t[DETAIL_BYTES] memory
    cdef Buffer b
    cdef int status
    if v == NULL or v.n == 0 or v.n > DETAIL_BYTES:
        return
    status = begin_detail(&b, memory, d, key)
    end_detail(d, &b, status if status < 0 else put_table_json(&b, v.p, <uint32_t>v.n, g.dialect))


cdef void end_details(Details* d, Event* e) noexcept nogil:
    if d.n:
        d.text[d.n] = c'}'
        set_text(e, TEXT_DETAILS, d.text, d.n + 1)


# ---- requests ----

# From ON_QUEUE_DECLARE to ON_ROLLBACK.
cdef const char** REQUEST_NAMES = [
    "queue.declare", "queue.bind", "queue.unbind", "queue.purge", "queue.delete", "exchange.declare",
    "exchange.delete", "exchange.bind", "exchange.unbind", "basic.consume", "basic.cancel", "basic.get",
    "confirm.select", "basic.qos", "basic.recover", "access.request", "tx.select", "tx.commit", "tx.rollback"]


cdef inline void set_last_queue(TrackedChannel* ch, const EventText* queue) noexcept nogil:
    ch.names_queue = queue.p != NULL and 0 < queue.n < 256
    if ch.names_queue:
        memcpy(ch.queue, queue.p, queue.n)
        ch.n_queue = <uint8_t>queue.n


cdef void name_queue(const TrackedChannel* ch, Event* e) noexcept nogil:
    """An empty name stands for the queue that the channel declared last."""
    if e.text[TEXT_QUEUE].p != NULL and e.text[TEXT_QUEUE].n == 0:
        e.text[TEXT_QUEUE].p = NULL
        if ch.names_queue:
            set_text(e, TEXT_QUEUE, ch.queue, ch.n_queue)


cdef void describe_request(Tracking* g, const TrackedChannel* ch, int on, Event* e, Details* d) noexcept nogil:
    """The event that a request becomes when it is granted."""
    cdef const AmqpValue* v
    clear_event(e, EVENT_NONE, ch.number)
    e.head.initiator = INITIATOR_CLIENT
    set_argument(g, e, TEXT_QUEUE, ARG_QUEUE)
    set_argument(g, e, TEXT_EXCHANGE, ARG_EXCHANGE)
    set_argument(g, e, TEXT_ROUTING_KEY, ARG_ROUTING_KEY)
    set_argument(g, e, TEXT_CONSUMER_TAG, ARG_CONSUMER_TAG)
    d.n = 0
    if on != ON_QUEUE_DECLARE:
        name_queue(ch, e)
    if on == ON_QUEUE_DECLARE or on == ON_EXCHANGE_DECLARE:
        e.head.event = EVENT_DECLARED
        v = find_argument(g, ARG_TYPE)
        if v != NULL:
            put_detail_text(d, b"type", v.p, v.n)
        put_detail(d, g, b"passive", ARG_PASSIVE)
        put_detail(d, g, b"durable", ARG_DURABLE)
        put_detail(d, g, b"exclusive", ARG_EXCLUSIVE)
        put_detail(d, g, b"auto_delete", ARG_AUTO_DELETE)
        put_detail_table(d, g, b"arguments", ARG_ARGUMENTS)
    elif on == ON_QUEUE_DELETE or on == ON_EXCHANGE_DELETE:
        e.head.event = EVENT_DELETED
    elif on == ON_QUEUE_PURGE:
        e.head.event = EVENT_PURGED
    elif on == ON_QUEUE_BIND or on == ON_EXCHANGE_BIND:
        e.head.event = EVENT_BOUND
    elif on == ON_QUEUE_UNBIND or on == ON_EXCHANGE_UNBIND:
        e.head.event = EVENT_UNBOUND
    elif on == ON_CONSUME:
        e.head.event = EVENT_CONSUMER_STARTED
        e.head.settles = SETTLES_AUTOMATIC if argument_number(g, ARG_NO_ACK) else SETTLES_MANUAL
        put_detail(d, g, b"exclusive", ARG_EXCLUSIVE)
        put_detail_table(d, g, b"arguments", ARG_ARGUMENTS)
    elif on == ON_CANCEL:
        e.head.event = EVENT_CONSUMER_CANCELLED
    elif on == ON_GET:
        e.head.settles = SETTLES_AUTOMATIC if argument_number(g, ARG_NO_ACK) else SETTLES_MANUAL
    if on == ON_EXCHANGE_BIND or on == ON_EXCHANGE_UNBIND:
        set_argument(g, e, TEXT_EXCHANGE, ARG_SOURCE)
        v = find_argument(g, ARG_DESTINATION)
        if v != NULL:
            put_detail_text(d, b"destination", v.p, v.n)
    if e.head.event == EVENT_BOUND or e.head.event == EVENT_UNBOUND:
        put_detail_table(d, g, b"arguments", ARG_ARGUMENTS)
    end_details(d, e)


cdef void describe_change(Tracking* g, int on, Event* e, ChangeBytes* w) noexcept nogil:
    """Keep of a request what its reply does not repeat."""
    cdef int k = ARG_TYPE if on == ON_EXCHANGE_DECLARE else ARG_DESTINATION
    cdef const AmqpValue* name = find_argument(g, k)
    cdef const AmqpValue* arguments = find_argument(g, ARG_ARGUMENTS)
    cdef size_t n = CHANGE_HEAD
    w.bytes[0] = 0
    if argument_number(g, ARG_PASSIVE):
        w.bytes[0] |= CHANGE_PASSIVE
    if argument_number(g, ARG_EXCLUSIVE):
        w.bytes[0] |= CHANGE_EXCLUSIVE
    if argument_number(g, ARG_AUTO_DELETE):
        w.bytes[0] |= CHANGE_AUTO_DELETE
    w.bytes[1] = 0
    if name != NULL and name.n <= 255:
        w.bytes[1] = <uint8_t>name.n
        copy_bytes(w.bytes + n, name.p, name.n)
        n += name.n
    if arguments != NULL and arguments.n > TEXT_LIMIT:
        w.bytes[0] |= CHANGE_LARGE
    elif arguments != NULL:
        copy_bytes(w.bytes + n, arguments.p, arguments.n)
        n += arguments.n
    e.text[TEXT_ROUTE].p = w.bytes
    e.text[TEXT_ROUTE].n = <uint32_t>n


cdef int ask_change(Tracking* g, Tracker* t, const TrackedChannel* ch, int on) noexcept nogil:
    """A change of the virtual host is asked for."""
    cdef VirtualHost* host = NULL
    if host_of(g, t, &host) < 0:
        return NO_MEMORY
    if host == NULL:
        expect_changes(g)
        return 0
    expect_change(g, host)
    if is_change(on) and not argument_number(g, ARG_NO_WAIT):
        if ch.asks:
            host.pending += 1
        else:
            doubt_host(g, host)
    return 0


cdef int make_change(Tracking* g, Tracker* t, int on, const Event* e) noexcept nogil:
    """A change was made: e says which, unless its request is not known."""
    cdef VirtualHost* host = NULL
    cdef Change c
    if on == ON_QUEUE_DECLARE and read_change(e, &c) and c.bits & CHANGE_EXCLUSIVE and not c.bits & CHANGE_PASSIVE \
            and add_exclusive(g, t, e) < 0:
        return NO_MEMORY
    if host_of(g, t, &host) < 0:
        return NO_MEMORY
    if host == NULL:
        expect_changes(g)
        return 0
    return apply_change(g, host, on, e)


cdef void refuse_changes(Tracking* g, const Tracker* t, const TrackedChannel* ch) noexcept nogil:
    """The server closed the channel: what was asked for on it does not happen."""
    cdef Question* q = ch.request
    while q != NULL and t.host != NULL:
        if is_change(q.on):
            t.host.pending -= 1
        q = q.next


cdef int apply_request(Tracking* g, Tracker* t, TrackedChannel* ch, int on, Event* e) noexcept nogil:
    """What was asked for holds now. e: what is said of it."""
    cdef Consumer* x
    if (is_change(on) or on == ON_QUEUE_DECLARE) and make_change(g, t, on, e) < 0:
        return NO_MEMORY
    e.text[TEXT_ROUTE].p = NULL
    if on == ON_QUEUE_DECLARE:
        set_last_queue(ch, &e.text[TEXT_QUEUE])
    elif on == ON_QUEUE_DELETE and e.text[TEXT_QUEUE].p != NULL:
        x = find_consumer(&t.exclusive, e.text[TEXT_QUEUE].p, e.text[TEXT_QUEUE].n)
        if x != NULL:
            remove_consumer(g, &t.exclusive, x)
    elif on == ON_CONSUME and e.text[TEXT_CONSUMER_TAG].p != NULL:
        if add_consumer(g, &ch.consumers, &e.text[TEXT_CONSUMER_TAG], &e.text[TEXT_QUEUE], e.head.settles,
                        e.head.certainty) < 0:
            return NO_MEMORY
        if t.host != NULL:
            count_consumer(g, t.host, &e.text[TEXT_QUEUE], 1)
    elif on == ON_CANCEL and e.text[TEXT_CONSUMER_TAG].p != NULL:
        x = find_consumer(&ch.consumers, e.text[TEXT_CONSUMER_TAG].p, e.text[TEXT_CONSUMER_TAG].n)
        if x != NULL:
            if x.certainty != IS_UNKNOWN:
                set_text(e, TEXT_QUEUE, consumer_queue(x), x.n_queue)
            e.head.settles = x.settles
            if t.host != NULL:
                count_consumer(g, t.host, &e.text[TEXT_QUEUE], -1)
            if emit_event(g, t, e) < 0:
                return NO_MEMORY
            remove_consumer(g, &ch.consumers, x)
            return 0
    return emit_event(g, t, e) if e.head.event != EVENT_NONE else 0


cdef int add_exclusive(Tracking* g, Tracker* t, const Event* e) noexcept nogil:
    """A queue was declared for this connection alone."""
    cdef EventText none
    none.p = NULL
    none.n = 0
    if e.text[TEXT_QUEUE].p == NULL:
        return 0
    return add_consumer(g, &t.exclusive, &e.text[TEXT_QUEUE], &none, SETTLES_UNKNOWN, IS_EXACT)


cdef void select_confirms(Tracking* g, TrackedChannel* ch) noexcept nogil:
    """confirm.select, or its reply alone: publishes count from here on, if all that the channel said is known."""
    if ch.confirms != CONFIRMS:
        forget_sent(g, ch)
        restart_standstill(&ch.standstill)
    if ch.confirms == CONFIRMS_UNKNOWN:
        ch.counts = False
    ch.confirms = CONFIRMS


cdef int track_request(Tracking* g, Tracker* t, TrackedChannel* ch, int on) noexcept nogil:
    """A client's request: what it is about waits for its reply, or holds if none will come."""
    cdef Event e
    cdef Details d
    cdef ChangeBytes change
    cdef Consumer* x
    describe_request(g, ch, on, &e, &d)
    if is_change(on) or on == ON_QUEUE_DECLARE:
        describe_change(g, on, &e, &change)
        if ask_change(g, t, ch, on) < 0:
            return NO_MEMORY
    if on == ON_CANCEL:
        x = find_consumer(&ch.consumers, e.text[TEXT_CONSUMER_TAG].p, e.text[TEXT_CONSUMER_TAG].n)
        if x != NULL:
            x.leaving = True
    if on == ON_CONFIRM_SELECT:
        select_confirms(g, ch)
    if argument_number(g, ARG_NO_WAIT):
        e.head.certainty = IS_INFERRED
        if on == ON_CONSUME and e.text[TEXT_CONSUMER_TAG].n == 0:
            e.text[TEXT_CONSUMER_TAG].p = NULL
        return apply_request(g, t, ch, on, &e)
    if on == ON_RECOVER or on == ON_TX_SELECT:
        doubt_deliveries(g, ch)
    if on == ON_TX_SELECT:
        ch.doubtful_deliveries = <uint64_t>-1
    if e.text[TEXT_REQUEST].p == NULL:
        set_word(&e, TEXT_REQUEST, REQUEST_NAMES[on - ON_QUEUE_DECLARE])
    if ch.asks or on == ON_CONSUME or on == ON_CANCEL:
        return keep_request(g, ch, &e, on)
    return 0


cdef void doubt_deliveries(Tracking* g, TrackedChannel* ch) noexcept nogil:
    """They may be delivered again, or settled elsewhere: nothing is said of their end."""
    forget_questions(g, TRACKED_DELIVERIES, &ch.deliveries)
    ch.doubtful_deliveries = ch.deliveries.newest


cdef Question* find_named_request(Tracking* g, TrackedChannel* ch, int on) noexcept nogil:
    """The first request with the reply's consumer tag, among the first ones; those before it are forgotten."""
    cdef const AmqpValue* tag = find_argument(g, ARG_CONSUMER_TAG)
    cdef Question* q = ch.request
    cdef Event e
    cdef int i
    if tag == NULL:
        return NULL
    for i in range(64):
        if q == NULL:
            return NULL
        if q.on == on:
            load_event(question_bytes(q), &e)
            if e.text[TEXT_CONSUMER_TAG].n == tag.n and memcmp(e.text[TEXT_CONSUMER_TAG].p, tag.p, tag.n) == 0:
                break
        q = q.next
    else:
        return NULL
    while ch.request != q:
        drop_question(g, TRACKED_REQUESTS, remove_request(ch))
        ch.asks = False
    return remove_request(ch)


cdef Question* match_reply(Tracking* g, TrackedChannel* ch, int on) noexcept nogil:
    """The request that a reply is the answer to, which the caller has then; NULL where no one knows."""
    cdef Question* q = ch.request
    cdef Event e
    cdef const AmqpValue* v
    cdef int k
    if ch.asks and q != NULL and q.on == on:
        load_event(question_bytes(q), &e)
        v = find_argument(g, ARG_QUEUE) if on == ON_QUEUE_DECLARE else find_argument(g, ARG_CONSUMER_TAG)
        if on != ON_QUEUE_DECLARE and on != ON_CONSUME and on != ON_CANCEL:
            return remove_request(ch)
        k = TEXT_QUEUE if on == ON_QUEUE_DECLARE else TEXT_CONSUMER_TAG
        if v == NULL or e.text[k].n == 0 or (e.text[k].n == v.n and memcmp(e.text[k].p, v.p, v.n) == 0):
            return remove_request(ch)
    if on == ON_CONSUME or on == ON_CANCEL:
        q = find_named_request(g, ch, on)
        if q != NULL:
            return q
    g.counts.unmatched += 1
    forget_requests(g, ch)
    ch.asks = False
    return NULL


cdef int track_reply(Tracking* g, Tracker* t, TrackedChannel* ch, int on) noexcept nogil:
    """A server's reply to a request `on`."""
    cdef Question* q = match_reply(g, ch, on)
    cdef Event e
    cdef Details d
    cdef int status
    if q != NULL:
        load_event(question_bytes(q), &e)
        set_elapsed(g, &e, q.time)
        if is_change(on) and t.host != NULL:
            t.host.pending -= 1
    else:
        describe_request(g, ch, on, &e, &d)
        e.head.certainty = IS_UNKNOWN
        e.head.settles = SETTLES_UNKNOWN
        e.text[TEXT_DETAILS].p = NULL
    if e.head.event != EVENT_NONE and on != ON_CONFIRM_SELECT:
        e.text[TEXT_REQUEST].p = NULL
    if on == ON_QUEUE_DECLARE:
        set_argument(g, &e, TEXT_QUEUE, ARG_QUEUE)
    if on == ON_CONSUME or on == ON_CANCEL:
        set_argument(g, &e, TEXT_CONSUMER_TAG, ARG_CONSUMER_TAG)
    if g.method.place[ARG_MESSAGE_COUNT] >= 0:
        e.head.message_count = <int64_t>argument_number(g, ARG_MESSAGE_COUNT)
    if on == ON_CONFIRM_SELECT and q == NULL:
        select_confirms(g, ch)
    status = apply_request(g, t, ch, on, &e)
    if q != NULL:
        drop_question(g, TRACKED_REQUESTS, q)
    return status


cdef int track_get_empty(Tracking* g, Tracker* t, TrackedChannel* ch) noexcept nogil:
    cdef Question* q = match_reply(g, ch, ON_GET)
    cdef Event e
    clear_event(&e, EVENT_GET_EMPTY, ch.number)
    e.head.certainty = IS_UNKNOWN
    if q != NULL:
        load_event(question_bytes(q), &e)
        e.head.event = EVENT_GET_EMPTY
        e.text[TEXT_REQUEST].p = NULL
        e.text[TEXT_CONSUMER_TAG].p = NULL
        set_elapsed(g, &e, q.time)
    e.head.initiator = INITIATOR_SERVER
    e.head.message_count = 0
    if emit_event(g, t, &e) < 0:
        return NO_MEMORY
    if q != NULL:
        drop_question(g, TRACKED_REQUESTS, q)
    return 0


cdef int track_server_cancel(Tracking* g, Tracker* t, TrackedChannel* ch) noexcept nogil:
    """The server ends a consumer, whose queue is gone."""
    cdef const AmqpValue* tag = find_argument(g, ARG_CONSUMER_TAG)
    cdef Consumer* x = find_consumer(&ch.consumers, tag.p, tag.n) if tag != NULL else NULL
    cdef Event e
    cdef EventText queue
    if x != NULL:
        if end_consumer(g, t, ch.number, x, IS_EXACT, INITIATOR_SERVER, NULL) < 0:
            return NO_MEMORY
        if t.host != NULL and x.certainty != IS_UNKNOWN:
            queue.p = consumer_queue(x)
            queue.n = x.n_queue
            end_queue(g, t.host, &queue)
        remove_consumer(g, &ch.consumers, x)
        return 0
    clear_event(&e, EVENT_CONSUMER_CANCELLED, ch.number)
    e.head.initiator = INITIATOR_SERVER
    set_argument(g, &e, TEXT_CONSUMER_TAG, ARG_CONSUMER_TAG)
    return emit_event(g, t, &e)


# ---- confirms and settlements ----

cdef int answer_number(Tracking* g, Tracker* t, int kind, Questions* o, size_t i, int event, int outcome,
                       int certainty) noexcept nogil:
    cdef Question* q = remove_question(o, i)
    cdef int status
    if i + QUESTIONS_AHEAD < o.n:
        prefetch_question(question_slot(o, i + QUESTIONS_AHEAD).question)
    status = answer_question(g, t, q, event, outcome, certainty, NULL)
    drop_question(g, kind, q)
    return status


cdef int emit_lone_answer(Tracking* g, Tracker* t, int32_t channel, int event, uint64_t tag,
                          int outcome) noexcept nogil:
    """An answer whose question is not there."""
    cdef Event e
    g.counts.unmatched += 1
    clear_event(&e, event, channel)
    e.head.certainty = IS_UNKNOWN
    e.head.outcome = <uint8_t>outcome
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    e.head.delivery_tag = <int64_t>tag if tag <= <uint64_t>0x7FFFFFFFFFFFFFFF else NO_NUMBER
    return emit_event(g, t, &e)


cdef int answer_outcome(Tracking* g, int on) noexcept nogil:
    """What basic.ack, nack or reject says of a message."""
    if on == ON_ACK:
        return OUTCOME_ACCEPTED
    return OUTCOME_RELEASED if g.side == 0 and argument_number(g, ARG_REQUEUE) else OUTCOME_REJECTED


cdef int answer_numbers(Tracking* g, Tracker* t, TrackedChannel* ch, int event, uint64_t tag, bint multiple,
                        int outcome) noexcept nogil:
    """A confirm of publishes, or a settlement of deliveries, of which each is answered by itself."""
    cdef int kind = TRACKED_PUBLISHES if event == EVENT_CONFIRMED else TRACKED_DELIVERIES
    cdef Questions* o = &ch.publishes if event == EVENT_CONFIRMED else &ch.deliveries
    cdef uint64_t* doubtful = &ch.doubtful_publishes if event == EVENT_CONFIRMED else &ch.doubtful_deliveries
    cdef bint infers = ch.infers and event == EVENT_CONFIRMED
    cdef uint64_t number
    cdef size_t i
    cdef bint matched = False
    if multiple:
        for i in range(o.first, o.n):
            number = question_slot(o, i).number
            if tag and number > tag:
                break
            if question_slot(o, i).question == NULL:
                continue
            matched |= number == tag or tag == 0
            if number <= doubtful[0] and number != tag:
                drop_question(g, kind, remove_question(o, i))   # its answer may be among what was lost
            elif answer_number(g, t, kind, o, i, event, outcome,
                               IS_EXACT if number > doubtful[0] and not infers else IS_INFERRED) < 0:
                return NO_MEMORY
    else:
        i = find_question(o, tag)
        if i < o.n and question_slot(o, i).number == tag and question_slot(o, i).question != NULL:
            matched = True
            if answer_number(g, t, kind, o, i, event, outcome, IS_INFERRED if infers else IS_EXACT) < 0:
                return NO_MEMORY
    trim_questions(o)
    if matched:
        return 0
    if infers and ch.counts and tag > doubtful[0] and g.counts.forgotten[TRACKED_PUBLISHES] == 0:
        contradict_standstill(g, ch)
        observe_confirm(g, ch, tag, multiple)
    doubtful[0] = max(doubtful[0], tag)         # its question may come yet, and has its answer then
    return emit_lone_answer(g, t, ch.number, event, tag, outcome)


cdef int track_answer(Tracking* g, Tracker* t, TrackedChannel* ch, int on) noexcept nogil:
    """basic.ack, nack or reject, of either side."""
    cdef uint64_t tag = argument_number(g, ARG_DELIVERY_TAG)
    cdef bint multiple = argument_number(g, ARG_MULTIPLE) != 0
    cdef int outcome = answer_outcome(g, on)
    if g.side == 1:
        if ch.confirms != CONFIRMS:
            forget_sent(g, ch)
            ch.counts = False
            ch.confirms = CONFIRMS
        if not ch.counts:
            observe_confirm(g, ch, tag, multiple)
        elif ch.infers and tag > ch.publishes.newest:
            contradict_standstill(g, ch)
            observe_confirm(g, ch, tag, multiple)
        return answer_numbers(g, t, ch, EVENT_CONFIRMED, tag, multiple, outcome)
    return answer_numbers(g, t, ch, EVENT_SETTLED, tag, multiple, outcome)
