# What a broker has of one virtual host, as all connections of a reader say: exchanges, queues and bindings. Hosts stay
# until the reader goes; what is in them is counted and bounded.

# How an exchange routes.
cdef enum:
    EXCHANGE_UNKNOWN
    EXCHANGE_DIRECT
    EXCHANGE_FANOUT
    EXCHANGE_TOPIC
    EXCHANGE_HEADERS
    EXCHANGE_OTHER          # in a way that is not known here, or by bindings that are not all known
    N_EXCHANGE_TYPES

cdef const char** EXCHANGE_TYPES = [NULL, "direct", "fanout", "topic", "headers"]

cdef enum:
    OF_EXCHANGES
    OF_QUEUES
    N_OBJECT_KINDS

cdef struct Binding

# Bindings in the order in which they were made.
cdef struct BindingList:
    Binding* first
    Binding* last

# An exchange or a queue.
cdef struct BrokerObject:
    NamedItem item
    BrokerObject* next      # that is to be removed, or visited, after this one
    uint8_t kind
    uint8_t type            # of an exchange
    bint auto_delete
    bint used               # it had a binding, or a consumer
    bint leaving            # it is among those that are to be removed
    int64_t consumers       # of a queue
    uint64_t seen           # number of the newest route that came by
    BindingList out         # from it
    BindingList into        # to it
    EventText alternate     # its own copy: where an exchange sends what fits no binding

# Its key and arguments follow.
cdef struct Binding:
    Binding* chain[2]       # by source and key; by all that it is
    uint32_t hash[2]
    Binding* out_before
    Binding* out_after
    Binding* into_before
    Binding* into_after
    BrokerObject* source
    BrokerObject* target
    uint16_t n_key
    uint16_t n_arguments

cdef enum:
    BY_KEY
    BY_ALL
    N_BINDING_KEYS

# Where messages with one routing key go that are sent to one exchange. Both names and the route follow.
cdef struct KnownRoute:
    KnownRoute* chain
    KnownRoute* older       # in the order in which they came
    uint32_t hash
    uint16_t n_exchange
    uint16_t n_key
    uint8_t certainty
    bint forgotten
    int32_t n_queues
    uint32_t n

cdef enum:
    ROUTE_BUCKETS = 1024
    ROUTES_KEPT = 4096
    HOSTS_LIMIT = 1024      # a list that each connection looks through once

cdef struct KnownRoutes:
    KnownRoute** bucket
    KnownRoute* newest
    int64_t n

cdef struct VirtualHost:
    VirtualHost* next
    EventText name
    NamedItems objects[N_OBJECT_KINDS]
    Binding** bucket        # n_buckets for each key
    uint64_t n_buckets
    uint64_t n_bindings
    uint64_t changes        # that were asked for, or seen
    int64_t pending         # that were asked for, and have no answer
    bint doubted            # bindings may be missing
    bint drops              # there was a message that no binding fits
    uint64_t visits         # routes that were looked for
    KnownRoutes routes      # a cache: any change empties it
    KnownRoutes returned    # messages that came back; what asks for a change empties it


cdef inline BrokerObject* next_object(const BrokerObject* x) noexcept nogil:
    return <BrokerObject*>x.item.after


cdef inline const uint8_t* binding_key(const Binding* b) noexcept nogil:
    return <const uint8_t*>(b + 1)


cdef inline void set_binding_arguments(const Binding* b, EventText* out) noexcept nogil:
    out.p = <const uint8_t*>(b + 1) + b.n_key
    out.n = b.n_arguments


# ---- hosts ----

cdef int find_host(Tracking* g, const EventText* name, VirtualHost** out) noexcept nogil:
    """The one of this name, from here on; out: NULL where too many are followed."""
    cdef VirtualHost* x = g.hosts
    cdef VirtualHost** at = &g.hosts
    out[0] = NULL
    while x != NULL:
        if x.name.n == name.n and memcmp(x.name.p, name.p, name.n) == 0:
            out[0] = x
            return 0
        at = &x.next
        x = x.next
    if g.n[TRACKED_HOSTS] >= g.limit[TRACKED_HOSTS] or g.n[TRACKED_HOSTS] >= HOSTS_LIMIT:
        g.counts.forgotten[TRACKED_HOSTS] += 1
        return 0
    x = <VirtualHost*>calloc(1, sizeof(VirtualHost))
    if x == NULL or copy_text(&x.name, name) < 0:
        free(x)
        return NO_MEMORY
    at[0] = x
    g.n[TRACKED_HOSTS] += 1
    out[0] = x
    return 0


cdef void forget_routes(Tracking* g, KnownRoutes* o, bint counted) noexcept nogil:
    cdef KnownRoute* x
    if o.n == 0:
        return
    while o.newest != NULL:
        x = o.newest
        o.newest = x.older
        free(x)
    if counted:
        g.n[TRACKED_UNROUTABLE] -= o.n
    o.n = 0
    memset(o.bucket, 0, ROUTE_BUCKETS * sizeof(KnownRoute*))


cdef void free_hosts(Tracking* g) noexcept nogil:
    cdef VirtualHost* host
    cdef int kind
    while g.hosts != NULL:
        host = g.hosts
        g.hosts = host.next
        forget_routes(g, &host.routes, False)
        forget_routes(g, &host.returned, True)
        while host.objects[OF_EXCHANGES].first != NULL:
            drop_object(g, host, <BrokerObject*>host.objects[OF_EXCHANGES].first)
        while host.objects[OF_QUEUES].first != NULL:
            drop_object(g, host, <BrokerObject*>host.objects[OF_QUEUES].first)
        for kind in range(N_OBJECT_KINDS):
            free(host.objects[kind].bucket)
        free(host.bucket)
        free(host.routes.bucket)
        free(host.returned.bucket)
        free(<void*>host.name.p)
        free(host)
    g.n[TRACKED_HOSTS] = 0


cdef inline void expect_change(Tracking* g, VirtualHost* host) noexcept nogil:
    """A change was asked for, or may have happened: what came back before may be routed now."""
    host.changes += 1
    forget_routes(g, &host.returned, True)


cdef inline void change_host(Tracking* g, VirtualHost* host) noexcept nogil:
    """A change happened."""
    expect_change(g, host)
    forget_routes(g, &host.routes, False)


cdef void doubt_host(Tracking* g, VirtualHost* host) noexcept nogil:
    """Changes may have happened that no one saw."""
    host.doubted = True
    expect_change(g, host)


cdef void expect_changes(Tracking* g) noexcept nogil:
    """A change of no one knows which host."""
    cdef VirtualHost* host = g.hosts
    while host != NULL:
        expect_change(g, host)
        host = host.next


# ---- exchanges and queues ----

cdef inline BrokerObject* find_object(VirtualHost* host, int kind, const EventText* name) noexcept nogil:
    return NULL if name.p == NULL else <BrokerObject*>find_named(&host.objects[kind], name.p, name.n)


cdef uint8_t type_of_predeclared(const EventText* name) noexcept nogil:
    """How an exchange routes that every broker has; of others it is not known."""
    cdef EventText rest
    cdef int k
    if name.n < 4 or memcmp(name.p, <const char*>b"amq.", 4) != 0:
        return EXCHANGE_UNKNOWN
    rest.p = name.p + 4
    rest.n = name.n - 4
    for k in range(EXCHANGE_DIRECT, EXCHANGE_OTHER):
        if rest.n == strlen(EXCHANGE_TYPES[k]) and memcmp(rest.p, EXCHANGE_TYPES[k], rest.n) == 0:
            return <uint8_t>k
    return EXCHANGE_HEADERS if rest.n == 5 and memcmp(rest.p, <const char*>b"match", 5) == 0 else EXCHANGE_UNKNOWN


cdef int keep_object(Tracking* g, VirtualHost* host, int kind, const EventText* name,
                     BrokerObject** out) noexcept nogil:
    """The one of this name, from here on; out: NULL where too many are followed."""
    cdef int counted = TRACKED_EXCHANGES + kind
    cdef BrokerObject* x = find_object(host, kind, name)
    out[0] = x
    if x != NULL:
        return 0
    if g.n[counted] >= g.limit[counted]:
        g.counts.forgotten[counted] += 1
        return 0
    x = <BrokerObject*>add_named(&host.objects[kind], sizeof(BrokerObject), name, 0)
    if x == NULL:
        return NO_MEMORY
    x.kind = <uint8_t>kind
    if kind == OF_EXCHANGES:
        x.type = type_of_predeclared(name)
    g.n[counted] += 1
    out[0] = x
    return 0


cdef void drop_object(Tracking* g, VirtualHost* host, BrokerObject* x) noexcept nogil:
    """With its bindings, and without what follows from that."""
    while x.out.first != NULL:
        drop_binding(g, host, x.out.first)
    while x.into.first != NULL:
        drop_binding(g, host, x.into.first)
    g.n[TRACKED_EXCHANGES + x.kind] -= 1
    free(<void*>x.alternate.p)
    remove_named(&host.objects[x.kind], &x.item)


cdef void remove_object(Tracking* g, VirtualHost* host, BrokerObject* x) noexcept nogil:
    """It was deleted, and so are exchanges that delete themselves without their last binding."""
    cdef BrokerObject* waiting = x
    cdef BrokerObject* source
    cdef Binding* b
    x.leaving = True
    x.next = NULL
    while waiting != NULL:
        x = waiting
        waiting = x.next
        while x.into.first != NULL:
            b = x.into.first
            source = b.source
            drop_binding(g, host, b)
            if source.auto_delete and not source.leaving and source.out.first == NULL:
                source.leaving = True
                source.next = waiting
                waiting = source
        drop_object(g, host, x)
    change_host(g, host)


# ---- bindings ----

cdef inline Binding** binding_bucket(const VirtualHost* host, int k, uint32_t h) noexcept nogil:
    return &host.bucket[<uint64_t>k * host.n_buckets + (h & (host.n_buckets - 1))]


cdef inline uint32_t mix_hash(uint32_t h, uint32_t other) noexcept nogil:
    h = (h ^ other) * <uint32_t>0x9E3779B1
    return h ^ h >> 15


cdef inline uint32_t hash_by_key(const BrokerObject* source, const uint8_t* key, size_t n) noexcept nogil:
    return mix_hash(source.item.hash, keyed_hash(key, n))


cdef Binding* find_binding(const VirtualHost* host, const BrokerObject* source, const BrokerObject* target,
                           const EventText* key, const EventText* arguments) noexcept nogil:
    cdef Binding* b
    cdef EventText own
    cdef uint32_t h
    if host.n_bindings == 0:
        return NULL
    h = hash_by_all(source, target, key, arguments)
    b = binding_bucket(host, BY_ALL, h)[0]
    while b != NULL:
        set_binding_arguments(b, &own)
        if b.hash[BY_ALL] == h and b.source == source and b.target == target and b.n_key == key.n and \
                own.n == arguments.n and memcmp(binding_key(b), key.p, key.n) == 0 and \
                memcmp(own.p, arguments.p, own.n) == 0:
            return b
        b = b.chain[BY_ALL]
    return NULL


cdef uint32_t hash_by_all(const BrokerObject* source, const BrokerObject* target, const EventText* key,
                          const EventText* arguments) noexcept nogil:
    cdef uint32_t h = hash_by_key(source, key.p, key.n)
    h = mix_hash(h, target.item.hash + target.kind)
    return mix_hash(h, keyed_hash(arguments.p, arguments.n))


cdef inline void chain_binding(VirtualHost* host, Binding* b, int k) noexcept nogil:
    cdef Binding** at = binding_bucket(host, k, b.hash[k])
    b.chain[k] = at[0]
    at[0] = b


cdef int grow_bindings(VirtualHost* host) noexcept nogil:
    cdef uint64_t n = max(2 * host.n_buckets, <uint64_t>8)
    cdef Binding** bucket = <Binding**>calloc(N_BINDING_KEYS * <size_t>n, sizeof(Binding*))
    cdef BrokerObject* x = <BrokerObject*>host.objects[OF_EXCHANGES].first
    cdef Binding* b
    if bucket == NULL:
        return NO_MEMORY
    free(host.bucket)
    host.bucket = bucket
    host.n_buckets = n
    while x != NULL:
        b = x.out.first
        while b != NULL:
            chain_binding(host, b, BY_KEY)
            chain_binding(host, b, BY_ALL)
            b = b.out_after
        x = next_object(x)
    return 0


cdef int add_binding(Tracking* g, VirtualHost* host, BrokerObject* source, BrokerObject* target, const EventText* key,
                     const EventText* arguments) noexcept nogil:
    """One that is not there yet. Where too many are followed, no one knows how its source routes."""
    cdef Binding* b
    if g.n[TRACKED_BINDINGS] >= g.limit[TRACKED_BINDINGS]:
        g.counts.forgotten[TRACKED_BINDINGS] += 1
        source.type = EXCHANGE_OTHER
        return 0
    if host.n_bindings >= host.n_buckets and grow_bindings(host) < 0:
        return NO_MEMORY
    b = <Binding*>malloc(sizeof(Binding) + key.n + arguments.n)
    if b == NULL:
        return NO_MEMORY
    memset(b, 0, sizeof(Binding))
    b.source = source
    b.target = target
    b.n_key = <uint16_t>key.n
    b.n_arguments = <uint16_t>arguments.n
    copy_bytes(<uint8_t*>(b + 1), key.p, key.n)
    copy_bytes(<uint8_t*>(b + 1) + key.n, arguments.p, arguments.n)
    b.hash[BY_KEY] = hash_by_key(source, key.p, key.n)
    b.hash[BY_ALL] = hash_by_all(source, target, key, arguments)
    chain_binding(host, b, BY_KEY)
    chain_binding(host, b, BY_ALL)
    b.out_before = source.out.last
    (&source.out.last.out_after if source.out.last != NULL else &source.out.first)[0] = b
    source.out.last = b
    b.into_before = target.into.last
    (&target.into.last.into_after if target.into.last != NULL else &target.into.first)[0] = b
    target.into.last = b
    source.used = True
    host.n_bindings += 1
    g.n[TRACKED_BINDINGS] += 1
    return 0


cdef void drop_binding(Tracking* g, VirtualHost* host, Binding* b) noexcept nogil:
    """Without what follows from that."""
    cdef Binding** at
    cdef int k
    for k in range(N_BINDING_KEYS):
        at = binding_bucket(host, k, b.hash[k])
        while at[0] != b:
            at = &at[0].chain[k]
        at[0] = b.chain[k]
    (&b.out_before.out_after if b.out_before != NULL else &b.source.out.first)[0] = b.out_after
    (&b.out_after.out_before if b.out_after != NULL else &b.source.out.last)[0] = b.out_before
    (&b.into_before.into_after if b.into_before != NULL else &b.target.into.first)[0] = b.into_after
    (&b.into_after.into_before if b.into_after != NULL else &b.target.into.last)[0] = b.into_before
    host.n_bindings -= 1
    g.n[TRACKED_BINDINGS] -= 1
    free(b)


# ---- changes ----

# Bits of what a request asks for.
cdef enum:
    CHANGE_PASSIVE = 1
    CHANGE_EXCLUSIVE = 2
    CHANGE_AUTO_DELETE = 4
    CHANGE_LARGE = 8        # its arguments are not kept
    CHANGE_BITS = 16
    CHANGE_HEAD = 2         # bytes before the name

# What a request asks for beside the columns of its event, as bytes in the place of a route: bits, an exchange's type or
# the exchange that is bound, and arguments.
cdef struct ChangeBytes:
    uint8_t[CHANGE_HEAD + 255 + TEXT_LIMIT] bytes

cdef struct Change:
    uint8_t bits
    EventText name
    EventText arguments


cdef inline bint is_change(int on) noexcept nogil:
    """Whether a request may change how an exchange routes."""
    return ON_QUEUE_BIND <= on <= ON_EXCHANGE_UNBIND and on != ON_QUEUE_PURGE


cdef bint read_change(const Event* e, Change* c) noexcept nogil:
    """What describe_change() kept."""
    cdef const EventText* text = &e.text[TEXT_ROUTE]
    if text.p == NULL or text.n < CHANGE_HEAD or text.n < CHANGE_HEAD + <uint32_t>text.p[1]:
        return False
    c.bits = text.p[0]
    c.name.p = text.p + CHANGE_HEAD
    c.name.n = text.p[1]
    c.arguments.p = c.name.p + c.name.n
    c.arguments.n = text.n - CHANGE_HEAD - c.name.n
    return True


cdef int declare_exchange(Tracking* g, VirtualHost* host, const EventText* name, const Change* c) noexcept nogil:
    cdef BrokerObject* x = NULL
    cdef EventText alternate
    cdef uint8_t type_ = EXCHANGE_OTHER
    cdef int k
    if c.bits & CHANGE_PASSIVE or name.n == 0:
        return 0
    for k in range(EXCHANGE_DIRECT, EXCHANGE_OTHER):
        if c.name.n == strlen(EXCHANGE_TYPES[k]) and memcmp(c.name.p, EXCHANGE_TYPES[k], c.name.n) == 0:
            type_ = <uint8_t>k
    x = find_object(host, OF_EXCHANGES, name)
    if x != NULL and x.type != EXCHANGE_UNKNOWN and x.type != EXCHANGE_OTHER and x.type != type_:
        remove_object(g, host, x)       # another one, whose end no one saw
        doubt_host(g, host)
    if keep_object(g, host, OF_EXCHANGES, name, &x) < 0:
        return NO_MEMORY
    if x == NULL:
        return 0
    if x.type == EXCHANGE_UNKNOWN:
        x.type = type_
    x.auto_delete = c.bits & CHANGE_AUTO_DELETE != 0
    if c.bits & CHANGE_LARGE:
        x.type = EXCHANGE_OTHER
    if find_long_string(&c.arguments, b"alternate-exchange", &alternate) and alternate.n <= 255:
        return copy_text(&x.alternate, &alternate)
    return 0


cdef int declare_queue(Tracking* g, VirtualHost* host, const EventText* name, const Change* c) noexcept nogil:
    cdef BrokerObject* x = NULL
    if c.bits & CHANGE_PASSIVE:
        return 0
    if keep_object(g, host, OF_QUEUES, name, &x) < 0:
        return NO_MEMORY
    if x != NULL:
        x.auto_delete = c.bits & CHANGE_AUTO_DELETE != 0
    return 0


cdef int bind(Tracking* g, VirtualHost* host, int on, const Event* e, const Change* c) noexcept nogil:
    """A binding was made, or ended."""
    cdef bint of_exchange = on == ON_EXCHANGE_BIND or on == ON_EXCHANGE_UNBIND
    cdef bint made = on == ON_QUEUE_BIND or on == ON_EXCHANGE_BIND
    cdef const EventText* name = &c.name if of_exchange else &e.text[TEXT_QUEUE]
    cdef int kind = OF_EXCHANGES if of_exchange else OF_QUEUES
    cdef const EventText* key = &e.text[TEXT_ROUTING_KEY]
    cdef BrokerObject* source = NULL
    cdef BrokerObject* target = NULL
    cdef Binding* b
    if e.text[TEXT_EXCHANGE].n == 0:
        return 0                # every queue is bound to the default exchange
    if keep_object(g, host, OF_EXCHANGES, &e.text[TEXT_EXCHANGE], &source) < 0:
        return NO_MEMORY
    if source == NULL:
        return 0
    if name.p != NULL and name.n and keep_object(g, host, kind, name, &target) < 0:
        return NO_MEMORY
    if target == NULL or key.p == NULL or c.bits & CHANGE_LARGE:
        source.type = EXCHANGE_OTHER
        return 0
    b = find_binding(host, source, target, key, &c.arguments)
    if made:
        return 0 if b != NULL else add_binding(g, host, source, target, key, &c.arguments)
    if b != NULL:
        drop_binding(g, host, b)
        if source.auto_delete and source.out.first == NULL:
            remove_object(g, host, source)
    return 0


cdef int apply_change(Tracking* g, VirtualHost* host, int on, const Event* e) noexcept nogil:
    """What a request asked for holds. e: its event, with what describe_change() kept."""
    cdef BrokerObject* x
    cdef Change c
    if not read_change(e, &c):
        doubt_host(g, host)
        return 0
    if on == ON_QUEUE_DECLARE:
        return declare_queue(g, host, &e.text[TEXT_QUEUE], &c) if e.text[TEXT_QUEUE].p != NULL else 0
    change_host(g, host)
    if on == ON_QUEUE_DELETE or on == ON_EXCHANGE_DELETE:
        if e.text[TEXT_QUEUE if on == ON_QUEUE_DELETE else TEXT_EXCHANGE].p == NULL:
            doubt_host(g, host)
        x = find_object(host, OF_QUEUES if on == ON_QUEUE_DELETE else OF_EXCHANGES,
                        &e.text[TEXT_QUEUE if on == ON_QUEUE_DELETE else TEXT_EXCHANGE])
        if x != NULL:
            remove_object(g, host, x)
        return 0
    if e.text[TEXT_EXCHANGE].p == NULL:
        doubt_host(g, host)
        return 0
    if on == ON_EXCHANGE_DECLARE:
        return declare_exchange(g, host, &e.text[TEXT_EXCHANGE], &c)
    return bind(g, host, on, e, &c)


cdef void end_queue(Tracking* g, VirtualHost* host, const EventText* name) noexcept nogil:
    """A queue is gone with its connection, or the server says so."""
    cdef BrokerObject* x = find_object(host, OF_QUEUES, name)
    if x != NULL:
        remove_object(g, host, x)


cdef void count_consumer(Tracking* g, VirtualHost* host, const EventText* name, int more) noexcept nogil:
    """A consumer of a queue began, or ended: without its last one the queue may delete itself."""
    cdef BrokerObject* x = find_object(host, OF_QUEUES, name)
    if x == NULL or not x.auto_delete:
        return
    x.consumers = max(x.consumers + more, <int64_t>0)
    if x.consumers == 0 and more < 0:
        remove_object(g, host, x)
