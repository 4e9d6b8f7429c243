# The part of a reader's state that event level has: trackers, and what is open of contents.

cdef void io_text(StateIO* io, EventText* text, size_t limit) noexcept nogil:
    """A text of its own memory."""
    cdef size_t n
    cdef uint8_t* own
    if not io_flag(io, text.p != NULL):
        return
    n = io_size(io, text.n, limit)
    if io.writing:
        io_bytes(io, <uint8_t*>text.p, n)
        return
    if io.bad:
        return
    own = <uint8_t*>malloc(n + 1)
    if own == NULL:
        io.bad = True
        return
    io_bytes(io, own, n)
    text.p = own
    text.n = <uint32_t>n


cdef void io_content(StateIO* io, Open* o) noexcept nogil:
    cdef int k
    o.number = <uint64_t>io_ranged(io, <int64_t>o.number, 0, NUMBER_LIMIT)
    for k in range(HASH_LANES):
        o.body.lane[k] = io_count(io, o.body.lane[k])
    o.body.n = io_count(io, o.body.n)
    io_bytes(io, o.body.begun, <size_t>(o.body.n & (HASH_BLOCK - 1)))


cdef size_t io_head(StateIO* io, EventHead* head) noexcept nogil:
    """Bytes of the texts that follow."""
    cdef size_t n = 0
    cdef int k
    head.event_id = io_number(io, head.event_id)
    head.answers = io_number(io, head.answers)
    head.delivery_tag = io_number(io, head.delivery_tag)
    head.body_size = io_number(io, head.body_size)
    head.content = io_number(io, head.content)
    head.message_count = io_number(io, head.message_count)
    head.elapsed_us = io_number(io, head.elapsed_us)
    head.channel = <int32_t>io_ranged(io, head.channel, -1, 0xFFFF)
    head.reply_code = <int32_t>io_ranged(io, head.reply_code, -1, 0xFFFF)
    head.heartbeat_s = <int32_t>io_ranged(io, head.heartbeat_s, -1, 0xFFFF)
    head.event = <uint8_t>io_ranged(io, head.event, 0, EVENT_NONE)
    head.outcome = <uint8_t>io_ranged(io, head.outcome, 0, N_OUTCOMES - 1)
    head.certainty = <uint8_t>io_ranged(io, head.certainty, 0, N_CERTAINTIES - 1)
    head.initiator = <uint8_t>io_ranged(io, head.initiator, 0, N_INITIATORS - 1)
    head.settles = <uint8_t>io_ranged(io, head.settles, 0, N_SETTLES - 1)
    head.redelivered = <uint8_t>io_ranged(io, head.redelivered, 0, 2)
    head.routed = <uint8_t>io_ranged(io, head.routed, 0, N_ROUTED - 1)
    if EVENT_NONE > head.event >= N_EVENTS:
        io.bad = True
    for k in range(N_EVENT_TEXTS):
        head.sizes[k] = <uint16_t>(io_ranged(io, -1 if head.sizes[k] == NO_TEXT else <int64_t>head.sizes[k], -1,
                                             TEXT_LIMIT if k != TEXT_ROUTE else ROUTE_LIMIT))
        if head.sizes[k] != NO_TEXT:
            n += head.sizes[k]
    return n


cdef Question* io_question(StateIO* io, Tracking* g, int kind, Question* q) noexcept nogil:
    """One that is there or, where states are read, a new one; NULL where the state is bad, or memory is missing."""
    cdef EventHead head
    cdef uint64_t number = io_count(io, q.number if q != NULL else 0)
    cdef int64_t time = io_number(io, q.time if q != NULL else 0)
    cdef int64_t on = io_ranged(io, q.on if q != NULL else 0, 0, N_EVENT_METHODS - 1)
    cdef uint64_t changes = io_count(io, q.changes if q != NULL else 0)
    cdef size_t n
    memset(&head, 0, sizeof(head))
    if io.writing:
        memcpy(&head, question_bytes(q), sizeof(head))
    n = io_head(io, &head)
    if not io.writing:
        if io.bad or g.n[kind] >= TRACKED_LIMIT or n > <size_t>(io.end - io.p):
            io.bad = True
            return NULL
        q = allocate_question(g, sizeof(EventHead) + n)
        if q == NULL:
            io.bad = True
            return NULL
        q.number = number
        q.time = time
        q.on = <uint8_t>on
        q.changes = changes
        memcpy(question_bytes(q), &head, sizeof(head))
        g.n[kind] += 1
    io_bytes(io, question_bytes(q) + sizeof(EventHead), n)
    return q


cdef void io_questions(StateIO* io, Tracking* g, int kind, Questions* o) noexcept nogil:
    """Those that are open; what is answered leaves no trace but for their order."""
    cdef size_t i, n
    cdef Question* q
    cdef uint64_t before = 0
    if io.writing:
        compact_questions(o)
    n = io_size(io, o.n_open, TRACKED_LIMIT)
    o.newest = io_count(io, o.newest)
    for i in range(n):
        q = io_question(io, g, kind, question_slot(o, i).question if io.writing else NULL)
        if q == NULL:
            return
        if not io.writing:
            if (i and q.number <= before) or q.number > o.newest:
                io.bad = True
                drop_question(g, kind, q)
                return
            before = q.number
            if add_question(o, q) < 0:
                io.bad = True
                g.n[kind] -= 1
                return


cdef void io_requests(StateIO* io, Tracking* g, TrackedChannel* ch) noexcept nogil:
    cdef Question* q = ch.request
    cdef size_t i, n = 0
    while q != NULL:
        n += 1
        q = q.next
    n = io_size(io, n, TRACKED_LIMIT)
    q = ch.request
    for i in range(n):
        q = io_question(io, g, TRACKED_REQUESTS, q if io.writing else NULL)
        if q == NULL:
            return
        if io.writing:
            q = q.next
        elif ch.last_request == NULL:
            ch.request = ch.last_request = q
        else:
            ch.last_request.next = q
            ch.last_request = q


cdef void io_consumers(StateIO* io, Tracking* g, NamedItems* o) noexcept nogil:
    cdef Consumer* x = <Consumer*>o.first
    cdef EventText tag, queue
    cdef uint8_t[256] tag_bytes
    cdef uint8_t[256] queue_bytes
    cdef int settles = 0, certainty = 0
    cdef bint leaving = False, doubted = False
    cdef size_t i, n = io_size(io, o.n, TRACKED_LIMIT)
    for i in range(n):
        if io.writing:
            tag.n = x.item.n_name
            queue.n = x.n_queue
            memcpy(tag_bytes, x.item.name, tag.n)
            memcpy(queue_bytes, consumer_queue(x), queue.n)
            settles = x.settles
            certainty = x.certainty
            leaving = x.leaving
            doubted = x.doubted
            x = next_consumer(x)
        tag.n = <uint32_t>io_ranged(io, tag.n if io.writing else 0, 0, 255)
        queue.n = <uint32_t>io_ranged(io, queue.n if io.writing else 0, 0, 255)
        io_bytes(io, tag_bytes, tag.n)
        io_bytes(io, queue_bytes, queue.n)
        settles = <int>io_ranged(io, settles, 0, N_SETTLES - 1)
        certainty = <int>io_ranged(io, certainty, 0, N_CERTAINTIES - 1)
        leaving = io_flag(io, leaving)
        doubted = io_flag(io, doubted)
        if io.writing:
            continue
        tag.p = tag_bytes
        queue.p = queue_bytes if certainty != IS_UNKNOWN else NULL
        if io.bad or find_consumer(o, tag.p, tag.n) != NULL or g.n[TRACKED_CONSUMERS] >= g.limit[TRACKED_CONSUMERS] \
                or add_consumer(g, o, &tag, &queue, settles, certainty) < 0:
            io.bad = True
            return
        x = <Consumer*>o.last
        x.leaving = leaving
        x.doubted = doubted


cdef int io_link(StateIO* io, Tracking* g, V1Session* s, V1Link* x) noexcept nogil:
    """x: one that is there, or NULL where states are read."""
    cdef EventText name
    cdef bint receives
    cdef int64_t handle
    cdef int k, status
    memset(&name, 0, sizeof(name))
    if x != NULL:
        name = x.name
    io_text(io, &name, NAME_LIMIT)
    receives = io_flag(io, x != NULL and x.receives)
    if not io.writing:
        status = 0 if io.bad else add_link(g, s, &name, receives, &x)
        free(<void*>name.p)
        if status < 0:
            return NO_MEMORY
        if x == NULL:
            io.bad = True
            return 0
    for k in range(BY_NAME):
        handle = io_ranged(io, <int64_t>x.key[k], 0, <int64_t>NO_HANDLE)
        if not io.writing and <uint64_t>handle != NO_HANDLE:
            if io.bad or find_link(s, k, <uint64_t>handle) != NULL:
                io.bad = True
                return 0
            set_link_key(s, x, k, <uint64_t>handle)
    x.coordinates = io_flag(io, x.coordinates)
    x.refused = io_flag(io, x.refused)
    x.dynamic = io_flag(io, x.dynamic)
    x.started = io_flag(io, x.started)
    x.torn = io_flag(io, x.torn)
    x.opener = <uint8_t>io_flag(io, x.opener)
    x.attached = <uint8_t>io_ranged(io, x.attached, 0, 3)
    x.detached = <uint8_t>io_ranged(io, x.detached, 0, 3)
    x.settles = <uint8_t>io_ranged(io, x.settles, 0, N_SETTLES - 1)
    x.certainty = <uint8_t>io_ranged(io, x.certainty, 0, N_CERTAINTIES - 1)
    x.time = io_number(io, x.time)
    io_text(io, &x.address, ADDRESS_LIMIT)
    return 0


cdef int io_session(StateIO* io, Tracking* g, Tracker* t, TrackedChannel* ch) noexcept nogil:
    """What a session has beside what every channel has."""
    cdef V1Session* s = ch.session
    cdef V1Link* x = s.first
    cdef int64_t channel = io_ranged(io, s.channel, -1, 0xFFFF)
    cdef size_t i, n
    cdef int k
    if io_flag(io, io.writing and find_served(t, s.channel) == ch) and not io.writing:
        if io.bad or channel < 0 or find_served(t, <int32_t>channel) != NULL:
            io.bad = True
        elif name_session(t, ch, 1, <uint16_t>channel) < 0:
            return NO_MEMORY
    s.channel = <int32_t>channel
    s.opener = io_flag(io, s.opener)
    s.begun = <uint8_t>io_ranged(io, s.begun, 0, 3)
    s.ended = <uint8_t>io_ranged(io, s.ended, 0, 3)
    s.assumed = io_flag(io, s.assumed)
    s.time = io_number(io, s.time)
    for k in range(2):
        s.anchored[k] = io_flag(io, s.anchored[k])
        s.seen_from[k] = io_count(io, s.seen_from[k])
        s.unheard[k] = io_count(io, s.unheard[k])
    n = io_size(io, <size_t>s.n, TRACKED_LIMIT)
    for i in range(n):
        if io.bad:
            return 0
        if io_link(io, g, s, x) < 0:
            return NO_MEMORY
        if io.writing:
            x = x.after
    return 0


cdef void io_standstill(StateIO* io, Standstill* s) noexcept nogil:
    if not io_flag(io, s.published or s.confirmed or s.slowest or s.quiet):
        return
    s.published = <uint64_t>io_ranged(io, <int64_t>s.published, 0, NUMBER_LIMIT)
    s.before = io_ranged(io, s.before, -NUMBER_LIMIT, NUMBER_LIMIT)
    s.confirmed = <uint64_t>io_ranged(io, <int64_t>s.confirmed, 0, NUMBER_LIMIT)
    s.confirmed_from = <uint64_t>io_ranged(io, <int64_t>s.confirmed_from, 0, <int64_t>s.confirmed)
    s.ahead = io_count(io, s.ahead)
    s.last_publish = io_number(io, s.last_publish)
    s.last_confirm = io_number(io, s.last_confirm)
    s.slowest = io_ranged(io, s.slowest, 0, NUMBER_LIMIT)
    s.quiet = io_ranged(io, s.quiet, 0, NUMBER_LIMIT)
    s.agreed = <uint8_t>io_ranged(io, s.agreed, 0, 1)


cdef void io_channel(StateIO* io, Tracking* g, TrackedChannel* ch) noexcept nogil:
    ch.closing = io_flag(io, ch.closing)
    ch.confirms = <uint8_t>io_ranged(io, ch.confirms, CONFIRMS_UNKNOWN, CONFIRMS)
    ch.counts = io_flag(io, ch.counts)
    ch.infers = io_flag(io, ch.infers)
    io_standstill(io, &ch.standstill)
    ch.asks = io_flag(io, ch.asks)
    ch.unordered = io_flag(io, ch.unordered)
    ch.gaps = <uint8_t>io_ranged(io, ch.gaps, 0, 3)
    ch.doubtful_publishes = io_count(io, ch.doubtful_publishes)
    ch.doubtful_deliveries = io_count(io, ch.doubtful_deliveries)
    ch.returned = io_count(io, ch.returned)
    ch.names_queue = io_flag(io, ch.names_queue)
    ch.n_queue = <uint8_t>io_ranged(io, ch.n_queue, 0, 255)
    io_bytes(io, ch.queue, ch.n_queue)
    io_questions(io, g, TRACKED_PUBLISHES, &ch.publishes)
    if not io.bad:
        io_questions(io, g, TRACKED_DELIVERIES, &ch.deliveries)
    if not io.bad:
        io_requests(io, g, ch)
    if not io.bad:
        io_consumers(io, g, &ch.consumers)


cdef void io_hearing(StateIO* io, Hearing* x) noexcept nogil:
    x.last = io_number(io, x.last)
    x.since = io_ranged(io, x.since, 0, NUMBER_LIMIT)
    x.pause = io_number(io, x.pause)
    x.beat = io_number(io, x.beat)
    x.spacing = io_number(io, x.spacing)


cdef int read_channel(StateIO* io, Tracking* g, Tracker* t, int32_t number, bint session, bint placed,
                      TrackedChannel** out) noexcept nogil:
    """A channel of a state; out: NULL where the state is bad."""
    out[0] = NULL
    if io.bad or (number < 0 and not session) or (placed and (number < 0 or find_channel(t, <uint16_t>number) != NULL)):
        io.bad = True
        return 0
    if add_channel(g, t, number if placed else -1, False, out) < 0:
        return NO_MEMORY
    if out[0] == NULL:
        io.bad = True
        return 0
    out[0].number = number
    if session:
        out[0].session = <V1Session*>calloc(1, sizeof(V1Session))
        if out[0].session == NULL:
            return NO_MEMORY
        out[0].session.channel = -1
    return 0


cdef int io_channels(StateIO* io, Tracking* g, Tracker* t) noexcept nogil:
    cdef TrackedChannel* ch = t.first
    cdef size_t i, n = 0
    cdef int32_t number
    cdef bint session, placed
    while ch != NULL:
        n += 1
        ch = ch.after
    n = io_size(io, n, TRACKED_LIMIT)
    ch = t.first
    for i in range(n):
        number = <int32_t>io_ranged(io, ch.number if io.writing else 0, -1, 0xFFFF)
        session = io_flag(io, io.writing and ch.session != NULL)
        placed = io_flag(io, io.writing and number >= 0 and find_channel(t, <uint16_t>number) == ch)
        if not io.writing:
            if read_channel(io, g, t, number, session, placed, &ch) < 0:
                return NO_MEMORY
            if ch == NULL:
                return 0
        if session and io_session(io, g, t, ch) < 0:
            return NO_MEMORY
        if not io.bad:
            io_channel(io, g, ch)
        if io.bad:
            return 0
        ch = ch.after
    return 0


cdef void io_name(StateIO* io, EventText* text, uint8_t* room, size_t limit) noexcept nogil:
    """A text whose bytes are read to `room`."""
    text.n = <uint32_t>io_size(io, text.n, limit)
    if io.writing:
        io_bytes(io, <uint8_t*>text.p, text.n)
        return
    io_bytes(io, room, text.n)
    text.p = room


cdef int io_object(StateIO* io, Tracking* g, VirtualHost* host, int kind, BrokerObject* x) noexcept nogil:
    """x: one that is there, or NULL where states are read."""
    cdef uint8_t[255] room
    cdef EventText name
    if x != NULL:
        name.p = x.item.name
        name.n = x.item.n_name
    io_name(io, &name, room, 255)
    if not io.writing:
        if io.bad or find_object(host, kind, &name) != NULL:
            io.bad = True
            return 0
        if keep_object(g, host, kind, &name, &x) < 0:
            return NO_MEMORY
        if x == NULL:
            io.bad = True
            return 0
    x.type = <uint8_t>io_ranged(io, x.type, 0, N_EXCHANGE_TYPES - 1)
    x.auto_delete = io_flag(io, x.auto_delete)
    x.used = io_flag(io, x.used)
    x.consumers = io_ranged(io, x.consumers, 0, NUMBER_LIMIT)
    io_text(io, &x.alternate, 255)
    return 0


cdef int io_binding(StateIO* io, Tracking* g, VirtualHost* host, BrokerObject* source, const Binding* b) noexcept nogil:
    """b: one that is there, or NULL where states are read."""
    cdef uint8_t[TEXT_LIMIT] room
    cdef uint8_t[255] names[2]
    cdef EventText target, key, arguments
    cdef BrokerObject* x
    cdef int kind = 0
    if b != NULL:
        kind = b.target.kind
        target.p = b.target.item.name
        target.n = b.target.item.n_name
        key.p = binding_key(b)
        key.n = b.n_key
        set_binding_arguments(b, &arguments)
    kind = io_flag(io, kind)
    io_name(io, &target, names[0], 255)
    io_name(io, &key, names[1], 255)
    io_name(io, &arguments, room, TEXT_LIMIT)
    if io.writing or io.bad:
        return 0
    x = find_object(host, kind, &target)
    if x == NULL or find_binding(host, source, x, &key, &arguments) != NULL:
        io.bad = True
        return 0
    return add_binding(g, host, source, x, &key, &arguments)


cdef int io_bindings(StateIO* io, Tracking* g, VirtualHost* host, BrokerObject* x) noexcept nogil:
    """Those from an exchange."""
    cdef Binding* b = x.out.first
    cdef size_t i, n = 0
    cdef uint8_t type_ = x.type
    while b != NULL:
        n += 1
        b = b.out_after
    n = io_size(io, n, TRACKED_LIMIT)
    b = x.out.first
    for i in range(n):
        if io_binding(io, g, host, x, b if io.writing else NULL) < 0:
            return NO_MEMORY
        if io.bad:
            return 0
        if io.writing:
            b = b.out_after
    io.bad |= x.type != type_       # there were too many
    return 0


cdef int io_returned(StateIO* io, Tracking* g, VirtualHost* host) noexcept nogil:
    cdef KnownRoute* x = host.returned.newest
    cdef KnownRoute** at = &host.returned.newest
    cdef uint8_t[255] names[2]
    cdef EventText exchange, key
    cdef size_t i, n = io_size(io, <size_t>host.returned.n, TRACKED_LIMIT)
    for i in range(n):
        if io.writing:
            exchange.p = <const uint8_t*>(x + 1)
            exchange.n = x.n_exchange
            key.p = exchange.p + exchange.n
            key.n = x.n_key
        io_name(io, &exchange, names[0], 255)
        io_name(io, &key, names[1], 255)
        if io.writing:
            x = x.older
            continue
        if io.bad or g.n[TRACKED_UNROUTABLE] >= TRACKED_LIMIT:
            io.bad = True
            return 0
        if keep_known(&host.returned, &exchange, &key, hash_route(&exchange, &key), NULL, &x) < 0:
            return NO_MEMORY
        g.n[TRACKED_UNROUTABLE] += 1
        if i:                   # the newest was written first
            host.returned.newest = x.older
            x.older = NULL
            at[0] = x
        at = &x.older
    return 0


cdef int io_host(StateIO* io, Tracking* g, VirtualHost* host) noexcept nogil:
    cdef BrokerObject* x
    cdef size_t i, n
    cdef int kind
    host.doubted = io_flag(io, host.doubted)
    host.drops = io_flag(io, host.drops)
    host.pending = io_number(io, host.pending)
    host.changes = io_count(io, host.changes)
    for kind in range(N_OBJECT_KINDS):
        x = <BrokerObject*>host.objects[kind].first
        n = io_size(io, host.objects[kind].n, TRACKED_LIMIT)
        for i in range(n):
            if io_object(io, g, host, kind, x) < 0:
                return NO_MEMORY
            if io.bad:
                return 0
            if io.writing:
                x = next_object(x)
    x = <BrokerObject*>host.objects[OF_EXCHANGES].first
    while x != NULL:
        if io_bindings(io, g, host, x) < 0:
            return NO_MEMORY
        if io.bad:
            return 0
        x = next_object(x)
    return io_returned(io, g, host)


cdef int io_hosts(StateIO* io, Tracking* g) noexcept nogil:
    """What is known of virtual hosts."""
    cdef VirtualHost* host = g.hosts
    cdef uint8_t[255] room
    cdef EventText name
    cdef int64_t before
    cdef size_t i, n = io_size(io, <size_t>g.n[TRACKED_HOSTS], HOSTS_LIMIT)
    g.doubted = io_flag(io, g.doubted)
    for i in range(n):
        if io.writing:
            name = host.name
        io_name(io, &name, room, 255)
        if not io.writing:
            before = g.n[TRACKED_HOSTS]
            if io.bad:
                return 0
            if find_host(g, &name, &host) < 0:
                return NO_MEMORY
            if g.n[TRACKED_HOSTS] == before:
                io.bad = True
                return 0
        if io_host(io, g, host) < 0:
            return NO_MEMORY
        if io.bad:
            return 0
        host = host.next
    return 0


cdef void io_host_of(StateIO* io, Tracking* g, Tracker* t) noexcept nogil:
    """Which one a connection uses."""
    cdef VirtualHost* host = g.hosts
    cdef int64_t at = 0
    while io.writing and host != NULL and host != t.host:
        at += 1
        host = host.next
    at = io_ranged(io, -1 if t.host == NULL else at, -1, g.n[TRACKED_HOSTS] - 1)
    if io.writing or at < 0:
        return
    host = g.hosts
    while at:
        host = host.next
        at -= 1
    t.host = host


cdef int io_tracker(StateIO* io, Tracking* g, Tracker* t) noexcept nogil:
    cdef int k
    t.phase = <uint8_t>io_ranged(io, t.phase, PHASE_UNKNOWN, PHASE_OVER)
    t.gaps = <uint8_t>io_ranged(io, t.gaps, 0, 3)
    t.loose = <uint8_t>io_ranged(io, t.loose, 0, 3)
    t.last_id = io_ranged(io, t.last_id, 0, NUMBER_LIMIT)
    t.began = io_number(io, t.began)
    t.heartbeat = <int32_t>io_ranged(io, t.heartbeat, -1, 0xFFFF)
    t.v1 = io_flag(io, t.v1)
    t.blocked = io_flag(io, t.blocked)
    t.broker = <uint8_t>io_ranged(io, t.broker, 0, N_BROKERS - 1)
    if t.v1:
        t.numbers.only = <int32_t>io_ranged(io, t.numbers.only, SEVERAL_SESSIONS, 0xFFFF)
        t.numbers.differ = io_flag(io, t.numbers.differ)
    for k in range(2):
        if t.v1:
            t.numbers.frames[k] = <uint8_t>io_ranged(io, t.numbers.frames[k], 0, NUMBER_PROOF)
        t.idle[k] = io_number(io, t.idle[k])
        io_hearing(io, &t.hearing[k])
    io_text(io, &t.name, NAME_LIMIT)
    io_text(io, &t.user, NAME_LIMIT)
    io_text(io, &t.virtual_host, NAME_LIMIT)
    io_text(io, &t.login, NAME_LIMIT)
    io_text(io, &t.product, NAME_LIMIT)
    io_text(io, &t.version, NAME_LIMIT)
    io_host_of(io, g, t)
    io_consumers(io, g, &t.exclusive)
    return 0 if io.bad else io_channels(io, g, t)


cdef int io_events(StateIO* io, Reading* r, Conn* c) noexcept nogil:
    c.end.pending = io_flag(io, c.end.pending)
    if c.end.pending:
        c.end.reset = io_flag(io, c.end.reset)
        c.end.silent = io_flag(io, c.end.silent)
        c.end.side = <uint8_t>io_ranged(io, c.end.side, 0, 1)
        io_mark(io, &c.end.mark)
    if not io_flag(io, c.tracker != NULL):
        return 0
    if not io.writing:
        if io.bad:
            return 0
        c.tracker = new_tracker(&r.level.tracking)
        if c.tracker == NULL:
            return NO_MEMORY
    return io_tracker(io, &r.level.tracking, c.tracker)


cdef int io_event_counts(StateIO* io, Reading* r) noexcept nogil:
    cdef TrackerCounts* counts = &r.level.tracking.counts
    cdef int k
    for k in range(N_TRACKED):
        counts.forgotten[k] = <uint64_t>io_ranged(io, <int64_t>counts.forgotten[k], 0, NUMBER_LIMIT)
    counts.unmatched = <uint64_t>io_ranged(io, <int64_t>counts.unmatched, 0, NUMBER_LIMIT)
    counts.negative = <uint64_t>io_ranged(io, <int64_t>counts.negative, 0, NUMBER_LIMIT)
    counts.contradicted = <uint64_t>io_ranged(io, <int64_t>counts.contradicted, 0, NUMBER_LIMIT)
    r.level.end_turn = <uint64_t>io_ranged(io, <int64_t>r.level.end_turn, 0, NUMBER_LIMIT)
    r.level.end_rows = <int32_t>io_ranged(io, r.level.end_rows, 0, 1 << 30)
    return io_hosts(io, &r.level.tracking)
