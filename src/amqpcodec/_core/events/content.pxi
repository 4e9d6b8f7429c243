# What methods with a content say: publishes, deliveries, returns.

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
    fault.code = OK
    cursor.fault = &fault
    cursor.base = cursor.p = x.method + 11
    cursor.base_at = 0
    cursor.end = x.method + x.n_method - 1
    if read_arguments(x.desc, &cursor, g.v, g.dialect, &unusual) != 0:
        return False
    memset(g.properties, 0, <size_t>x.desc.properties.n * sizeof(AmqpValue))
    if x.header == NULL or x.n_header < 22 or load16(x.header + 7) != x.desc.class_id:
        return x.header == NULL
    cursor.base = cursor.p = x.header + 19
    cursor.end = x.header + x.n_header - 1
    return read_properties(x.desc.properties, &cursor, g.properties, g.dialect, &unusual) == 0


cdef bint has_copies(Tracking* g) noexcept nogil:
    """Whether headers may name further routes: CC and BCC of RabbitMQ."""
    cdef const AmqpValue* v = find_argument(g, ARG_HEADERS)
    cdef uint32_t i
    if v == NULL or v.n < 3:
        return False
    for i in range(v.n - 2):
        if v.p[i] == 2 and v.p[i + 1] == c'C' and v.p[i + 2] == c'C':
            return True
        if v.n - i > 3 and v.p[i] == 3 and memcmp(v.p + i + 1, <const char*>b"BCC", 3) == 0:
            return True
    return False


cdef uint64_t begin_content(Tracking* g, TrackedChannel* ch, int on) noexcept nogil:
    """The method of a content was read, whatever becomes of the content: number of a publish, 0 where no one knows."""
    if on != ON_PUBLISH or not ch.counts or ch.confirms == CONFIRMS_UNKNOWN:
        return 0
    if ch.confirms == CONFIRMS_NOT:
        return 0
    ch.publishes.newest += 1
    return ch.publishes.newest


cdef int emit_published(Tracking* g, Tracker* t, TrackedChannel* ch, Event* e, uint64_t number,
                        bint over) noexcept nogil:
    cdef bint is_default = e.text[TEXT_EXCHANGE].p != NULL and e.text[TEXT_EXCHANGE].n == 0
    cdef uint64_t newest = ch.publishes.newest
    e.head.event = EVENT_PUBLISHED
    e.head.certainty = IS_UNKNOWN
    if is_default and not has_copies(g):
        e.text[TEXT_QUEUE] = e.text[TEXT_ROUTING_KEY]
        e.head.certainty = IS_EXACT
        e.head.routed = 1
    if number:
        e.head.delivery_tag = <int64_t>number
    if emit_event(g, t, e) < 0:
        return NO_MEMORY
    if number == 0:
        return 0
    if keep_question(g, TRACKED_PUBLISHES, &ch.publishes, number) < 0:
        return NO_MEMORY
    ch.publishes.newest = newest
    if over:
        return end_publishes(g, t, ch, b"channel-closed")
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
        if keep_question(g, TRACKED_DELIVERIES, &ch.deliveries, tag) < 0:
            return NO_MEMORY
        if over and end_deliveries(g, t, ch, b"connection-lost" if t.phase == PHASE_OVER else b"channel-closed") < 0:
            return NO_MEMORY
    if q != NULL:
        drop_question(g, TRACKED_REQUESTS, q)
    return 0


cdef int emit_returned(Tracking* g, Tracker* t, Event* e) noexcept nogil:
    """It does not say which publish it returns."""
    e.head.event = EVENT_RETURNED
    e.head.certainty = IS_UNKNOWN
    e.head.reply_code = <int32_t>argument_number(g, ARG_REPLY_CODE)
    set_argument(g, e, TEXT_REPLY_TEXT, ARG_REPLY_TEXT)
    return emit_event(g, t, e)


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
        return emit_published(g, t, ch, &e, x.number, over)
    if m.on == ON_DELIVER or m.on == ON_GET_OK:
        return emit_delivered(g, t, ch, &e, m.on, over)
    return emit_returned(g, t, &e) if m.on == ON_RETURN else 0
