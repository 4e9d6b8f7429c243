# Which queues a message goes to, by the exchanges and bindings of its virtual host.

cdef extern from "stdlib.h" nogil:
    void qsort(void* base, size_t n, size_t size,
               int (*compare)(const void*, const void*) noexcept nogil)

cdef enum:
    BINDINGS_TRIED = 4096   # for one message
    HEADERS_TRIED = 1 << 16     # that are compared for one message

# A route. Its bytes are those of the cache, or of `own`, while nothing changes.
cdef struct Route:
    uint8_t certainty       # IS_INFERRED or IS_UNKNOWN
    bint forgotten          # it is beyond a limit
    int32_t n_queues
    const uint8_t* p
    uint32_t n
    uint8_t[ROUTE_LIMIT] own

# What is routed.
cdef struct Routed:
    EventText exchange
    EventText key
    EventText headers       # p is NULL: none
    bint has_headers        # whether it is known that there are none

# A route in the making.
cdef struct Visit:
    const Routed* message
    BrokerObject* waiting   # exchanges, in the order in which they were reached
    BrokerObject* last
    Block queues            # BrokerObject*
    size_t n_queues
    int bindings            # that may still be tried
    int headers
    bint lost               # some may be missing
    bint by_headers         # the headers decide, too


# ---- what fits a binding ----

cdef inline size_t word_size(const uint8_t* p, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* dot = <const uint8_t*>memchr(p, c'.', <size_t>(end - p)) if p < end else NULL
    return <size_t>((dot if dot != NULL else end) - p)


cdef bint is_topic_match(const uint8_t* pattern, size_t n_pattern, const uint8_t* key, size_t n_key) noexcept nogil:
    """Whether words between dots fit: * is one word, # any number of them. An empty text has no words.

    After a # that took too few words one goes on from the last # alone: no more steps than words times words."""
    cdef const uint8_t* pattern_end = pattern + n_pattern + 1       # a word ends before the dot at end - 1, or there
    cdef const uint8_t* key_end = key + n_key + 1
    cdef const uint8_t* p = pattern if n_pattern else pattern_end
    cdef const uint8_t* k = key if n_key else key_end
    cdef const uint8_t* after = NULL        # the newest #, and where what it took ends
    cdef const uint8_t* taken = NULL
    cdef size_t n, m
    while True:
        n = word_size(p, pattern_end - 1) if p < pattern_end else 0
        if p < pattern_end and n == 1 and p[0] == c'#':
            p += 2
            after = p
            taken = k
            continue
        if k >= key_end:
            return p >= pattern_end
        m = word_size(k, key_end - 1)
        if p < pattern_end and ((n == 1 and p[0] == c'*') or (n == m and memcmp(p, k, n) == 0)):
            p += n + 1
            k += m + 1
            continue
        if after == NULL:
            return False
        taken += word_size(taken, key_end - 1) + 1
        p = after
        k = taken


cdef inline bint is_text(const EventText* text, const char* word) noexcept nogil:
    return text.n == strlen(word) and memcmp(text.p, word, text.n) == 0


cdef bint is_header_match(Visit* v, const EventText* arguments) noexcept nogil:
    """Whether a message's headers fit a binding's arguments: a void value stands for any one."""
    cdef const uint8_t* at = arguments.p
    cdef const uint8_t* headers
    cdef EventText mode
    cdef TableEntry wanted, entry
    cdef bint any_ = False, with_x = False, fits
    if find_long_string(arguments, b"x-match", &mode):
        any_ = is_text(&mode, b"any") or is_text(&mode, b"any-with-x")
        with_x = is_text(&mode, b"all-with-x") or is_text(&mode, b"any-with-x")
    while next_entry(&at, arguments.p + arguments.n, &wanted):
        if wanted.n_name >= 2 and wanted.name[0] == c'x' and wanted.name[1] == c'-':
            if not with_x or (wanted.n_name == 7 and memcmp(wanted.name, <const char*>b"x-match", 7) == 0):
                continue
        fits = False
        headers = v.message.headers.p
        while headers != NULL and not fits and next_entry(&headers, v.message.headers.p + v.message.headers.n, &entry):
            v.headers -= 1
            if v.headers < 0:
                v.lost = True
                return False
            if entry.n_name == wanted.n_name and memcmp(entry.name, wanted.name, entry.n_name) == 0:
                fits = wanted.value[0] == c'V' or is_same_entry(&wanted, &entry)
                break
        if fits == any_:
            return any_
    return not any_


# ---- routes ----

cdef int reach(Visit* v, VirtualHost* host, BrokerObject* x) noexcept nogil:
    """A message comes to a queue or an exchange: each of them once."""
    cdef BrokerObject** queue
    if x.seen == host.visits:
        return 0
    x.seen = host.visits
    if x.kind == OF_EXCHANGES:
        x.next = NULL
        (&v.last.next if v.last != NULL else &v.waiting)[0] = x
        v.last = x
        return 0
    queue = <BrokerObject**>items_add(&v.queues, &v.n_queues, sizeof(BrokerObject*))
    if queue == NULL:
        return NO_MEMORY
    queue[0] = x
    return 0


cdef bint is_fitting(Visit* v, const BrokerObject* x, const Binding* b) noexcept nogil:
    cdef EventText arguments
    if x.type == EXCHANGE_DIRECT:
        return b.source == x and b.n_key == v.message.key.n and memcmp(binding_key(b), v.message.key.p, b.n_key) == 0
    if x.type == EXCHANGE_TOPIC:
        return is_topic_match(binding_key(b), b.n_key, v.message.key.p, v.message.key.n)
    if x.type == EXCHANGE_HEADERS:
        set_binding_arguments(b, &arguments)
        return is_header_match(v, &arguments)
    return True


cdef int visit_exchange(Visit* v, VirtualHost* host, BrokerObject* x) noexcept nogil:
    """Where an exchange sends the message. One without bindings in the recording says nothing."""
    cdef bint direct = x.type == EXCHANGE_DIRECT, found = False
    cdef Binding* b = x.out.first
    cdef BrokerObject* alternate
    v.by_headers |= x.type == EXCHANGE_HEADERS
    if x.type == EXCHANGE_UNKNOWN or x.type == EXCHANGE_OTHER or not x.used \
            or (x.type == EXCHANGE_HEADERS and not v.message.has_headers):
        v.lost = True
        return 0
    if direct and host.n_bindings:
        b = binding_bucket(host, BY_KEY, hash_by_key(x, v.message.key.p, v.message.key.n))[0]
    while b != NULL and not v.lost:
        if not direct or b.source == x:
            v.bindings -= 1
        if v.bindings < 0:
            v.lost = True
        elif is_fitting(v, x, b):
            found = True
            if reach(v, host, b.target) < 0:
                return NO_MEMORY
        b = b.chain[BY_KEY] if direct else b.out_after
    if found or x.alternate.p == NULL:
        return 0
    alternate = find_object(host, OF_EXCHANGES, &x.alternate)
    if alternate == NULL:
        v.lost = True
        return 0
    return reach(v, host, alternate)


cdef int compare_names(const void* a, const void* b) noexcept nogil:
    cdef const BrokerObject* x = (<const BrokerObject**>a)[0]
    cdef const BrokerObject* y = (<const BrokerObject**>b)[0]
    cdef int order = memcmp(x.item.name, y.item.name, min(x.item.n_name, y.item.n_name))
    return order if order != 0 else <int>x.item.n_name - <int>y.item.n_name


cdef void write_route(Visit* v, Route* out) noexcept nogil:
    """The queues' names, sorted."""
    cdef BrokerObject** queues = <BrokerObject**>v.queues.p
    cdef BrokerObject* x
    cdef size_t i
    out.certainty = IS_UNKNOWN
    out.p = out.own
    out.n = 0
    out.n_queues = 0
    out.forgotten = v.bindings < 0 or v.headers < 0
    if v.lost:
        return
    if v.n_queues > 1:
        qsort(queues, v.n_queues, sizeof(BrokerObject*), compare_names)
    for i in range(v.n_queues):
        x = queues[i]
        if out.n + 1 + x.item.n_name > ROUTE_LIMIT:
            out.forgotten = True
            out.n = 0
            return
        out.own[out.n] = <uint8_t>x.item.n_name
        copy_bytes(out.own + out.n + 1, x.item.name, x.item.n_name)
        out.n += 1 + x.item.n_name
    out.n_queues = <int32_t>v.n_queues
    out.certainty = IS_INFERRED


cdef int make_route(VirtualHost* host, const Routed* message, Route* out, bint* by_headers) noexcept nogil:
    cdef BrokerObject* x = find_object(host, OF_EXCHANGES, &message.exchange)
    cdef Visit v
    cdef int status = 0
    memset(&v, 0, sizeof(v))
    v.message = message
    v.bindings = BINDINGS_TRIED
    v.headers = HEADERS_TRIED
    v.lost = x == NULL
    host.visits += 1
    if x != NULL:
        status = reach(&v, host, x)
    while v.waiting != NULL and not v.lost and status == 0:
        x = v.waiting
        v.waiting = x.next
        if v.waiting == NULL:
            v.last = NULL
        status = visit_exchange(&v, host, x)
    write_route(&v, out)
    by_headers[0] = v.by_headers
    block_give(&v.queues)
    return status


# ---- routes that are known ----

cdef KnownRoute* find_known(const KnownRoutes* o, const EventText* exchange, const EventText* key,
                            uint32_t h) noexcept nogil:
    cdef KnownRoute* x
    if o.n == 0:
        return NULL
    x = o.bucket[h & (ROUTE_BUCKETS - 1)]
    while x != NULL and not (x.hash == h and x.n_exchange == exchange.n and x.n_key == key.n
                             and memcmp(x + 1, exchange.p, exchange.n) == 0
                             and memcmp(<const uint8_t*>(x + 1) + exchange.n, key.p, key.n) == 0):
        x = x.chain
    return x


cdef inline uint32_t hash_route(const EventText* exchange, const EventText* key) noexcept nogil:
    return mix_hash(keyed_hash(exchange.p, exchange.n), keyed_hash(key.p, key.n))


cdef int keep_known(KnownRoutes* o, const EventText* exchange, const EventText* key, uint32_t h, const Route* route,
                    KnownRoute** out) noexcept nogil:
    """route: NULL for none."""
    cdef uint32_t n = route.n if route != NULL else 0
    cdef KnownRoute* x
    cdef uint8_t* w
    if o.bucket == NULL:
        o.bucket = <KnownRoute**>calloc(ROUTE_BUCKETS, sizeof(KnownRoute*))
        if o.bucket == NULL:
            return NO_MEMORY
    x = <KnownRoute*>malloc(sizeof(KnownRoute) + exchange.n + key.n + n)
    if x == NULL:
        return NO_MEMORY
    memset(x, 0, sizeof(KnownRoute))
    x.hash = h
    x.n_exchange = <uint16_t>exchange.n
    x.n_key = <uint16_t>key.n
    x.n = n
    w = <uint8_t*>(x + 1)
    copy_bytes(w, exchange.p, exchange.n)
    copy_bytes(w + exchange.n, key.p, key.n)
    if route != NULL:
        x.forgotten = route.forgotten
        x.certainty = route.certainty
        x.n_queues = route.n_queues
        copy_bytes(w + exchange.n + key.n, route.p, n)
    x.chain = o.bucket[h & (ROUTE_BUCKETS - 1)]
    o.bucket[h & (ROUTE_BUCKETS - 1)] = x
    x.older = o.newest
    o.newest = x
    o.n += 1
    out[0] = x
    return 0


cdef int find_route(Tracking* g, VirtualHost* host, const Routed* message, Route* out) noexcept nogil:
    """Where a message goes now."""
    cdef uint32_t h = hash_route(&message.exchange, &message.key)
    cdef KnownRoute* x = find_known(&host.routes, &message.exchange, &message.key, h)
    cdef bint by_headers = False
    if x != NULL:
        out.forgotten = x.forgotten
        out.certainty = x.certainty
        out.n_queues = x.n_queues
        out.p = <const uint8_t*>(x + 1) + x.n_exchange + x.n_key
        out.n = x.n
        g.counts.forgotten[TRACKED_ROUTES] += x.forgotten
        return 0
    if make_route(host, message, out, &by_headers) < 0:
        return NO_MEMORY
    g.counts.forgotten[TRACKED_ROUTES] += out.forgotten
    if by_headers:
        return 0
    if host.routes.n >= ROUTES_KEPT:
        forget_routes(g, &host.routes, False)
    return keep_known(&host.routes, &message.exchange, &message.key, h, out, &x)


cdef int remember_returned(Tracking* g, VirtualHost* host, const EventText* exchange,
                           const EventText* key) noexcept nogil:
    """A message came back that no queue wanted."""
    cdef uint32_t h = hash_route(exchange, key)
    cdef KnownRoute* x = find_known(&host.returned, exchange, key, h)
    if x == NULL:
        if g.n[TRACKED_UNROUTABLE] >= g.limit[TRACKED_UNROUTABLE]:
            g.counts.forgotten[TRACKED_UNROUTABLE] += 1
            return 0
        if keep_known(&host.returned, exchange, key, h, NULL, &x) < 0:
            return NO_MEMORY
        g.n[TRACKED_UNROUTABLE] += 1
    return 0


cdef int returned_certainty(const Tracking* g, const VirtualHost* host, const EventText* exchange,
                            const EventText* key) noexcept nogil:
    """Of a message to where one came back from before: exact if no other connection of the recording may have changed
    that; IS_UNKNOWN where none came back."""
    if find_known(&host.returned, exchange, key, hash_route(exchange, key)) == NULL:
        return IS_UNKNOWN
    return IS_EXACT if g.connections[0] == 1 and not host.doubted else IS_INFERRED
