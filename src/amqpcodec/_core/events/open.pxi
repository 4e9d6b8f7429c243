# What is open on a connection: questions without an answer, consumers, channels. All of it is counted and bounded.

# What is counted. The order is that of TRACKED_NAMES.
cdef enum:
    TRACKED_CHANNELS
    TRACKED_LINKS
    TRACKED_CONSUMERS
    TRACKED_PUBLISHES
    TRACKED_DELIVERIES
    TRACKED_REQUESTS
    TRACKED_HOSTS
    TRACKED_EXCHANGES       # and queues after them: in the order of OF_EXCHANGES
    TRACKED_QUEUES
    TRACKED_BINDINGS
    TRACKED_UNROUTABLE      # messages that came back
    TRACKED_ROUTES          # these are not held: routes that are too long, or take too long
    N_TRACKED

cdef tuple TRACKED_NAMES = (
    "channels", "links", "consumers", "publishes", "deliveries", "requests", "virtual_hosts", "exchanges", "queues",
    "bindings", "unroutable", "routes")

cdef enum:
    TRACKED_LIMIT = 1 << 17         # of each kind, in all connections

cdef struct TrackerCounts:
    uint64_t[N_TRACKED] forgotten   # that were beyond a limit
    uint64_t unmatched              # answers without their question
    uint64_t negative               # answers before their question, by the packets' times
    uint64_t contradicted           # numbers after a quiet time that a later confirm showed to be wrong

cdef enum:
    QUESTIONS_AHEAD = 4     # that the next answers are to, most likely
    SPARE_UNIT = 64         # bytes: questions take a multiple of them
    N_SPARE_SIZES = 16
    SPARE_BYTES = 1 << 20   # of one size

# Memory of questions that are answered, for the next ones of the same size.
cdef struct SpareQuestions:
    Question* first
    int n

cdef struct VirtualHost

# Of all connections of a reader, and the frame at hand.
cdef struct Tracking:
    int64_t[N_TRACKED] limit
    int64_t[N_TRACKED] n
    TrackerCounts counts
    EventOutput output
    VirtualHost* hosts
    bint doubted            # changes of any of them may be missing
    const uint64_t* connections     # how many there were
    uintptr_t dialect
    const V1Types* v1       # where connections may speak 1.0, else NULL
    int side                # the sender of the frame: 0 for the client
    bint unordered          # it may come before what the other side sent before it
    int64_t now             # its time, µs since 1970, or NO_NUMBER
    SpareQuestions[N_SPARE_SIZES] spare
    const EventMethod* method       # that `v` are the arguments of
    AmqpValue[MAX_FIELDS] v
    AmqpValue[MAX_FIELDS] properties

# An event that may be answered, or a request that no event is made of; its bytes follow.
cdef struct Question:
    Question* next          # of requests: the one after it
    uint64_t number         # delivery tag; of a publish, its number on the channel
    int64_t time
    uint64_t changes        # of a publish: those of its virtual host before it
    uint8_t on              # of requests: the method; ON_PUBLISH: it may come back; ON_DELIVER: it may be over
    uint32_t n

cdef struct QuestionSlot:
    uint64_t number
    Question* question      # NULL: it is answered
    uint64_t skip           # then: to the next slot that may not be

# Questions with rising numbers.
cdef struct Questions:
    Block slots
    size_t first            # slots before it are not used any more
    size_t n
    size_t n_open
    uint64_t newest         # number of the newest one, also of one that is not followed

# What is found by its name, as the first field of what it is.
cdef struct NamedItem:
    NamedItem* chain        # the next one with the same hash
    NamedItem* before       # in the order in which they came
    NamedItem* after
    const uint8_t* name     # behind all fields
    uint32_t hash
    uint16_t n_name

cdef struct NamedItems:
    NamedItem** bucket
    uint32_t n_buckets
    uint32_t n
    NamedItem* first
    NamedItem* last
    NamedItem* found        # that was looked for last, or NULL

# The name is its tag; of an exclusive queue, its own. Its queue's follows.
cdef struct Consumer:
    NamedItem item
    uint8_t settles
    uint8_t certainty       # of its queue
    bint leaving            # its end was asked for
    bint doubted            # it may have ended, and no one saw it
    uint16_t n_queue

# Whether publishes are confirmed.
cdef enum:
    CONFIRMS_UNKNOWN
    CONFIRMS_NOT
    CONFIRMS

cdef struct V1Session

# What tells the numbers of publishes while no one knows them.
cdef struct Standstill:
    uint64_t published      # publishes since the last quiet time
    int64_t before          # and at least so many before these
    uint64_t confirmed      # all numbers from one on up to this are confirmed
    uint64_t confirmed_from     # that one, less 1
    uint64_t ahead          # further ones that are: the lowest bit is that of `confirmed` + 1
    int64_t last_publish    # µs
    int64_t last_confirm
    int64_t slowest         # µs from the newest publish to a confirm, at most
    int64_t quiet           # µs: length of the newest quiet time before which all was confirmed
    uint8_t agreed          # such quiet times that say the same

# A channel; in 1.0 a session.
cdef struct TrackedChannel:
    TrackedChannel* before  # in the order in which they began
    TrackedChannel* after
    V1Session* session      # NULL in 0-x
    int32_t number          # in 1.0 the client's, -1 while it is not known
    bint closing            # it was closed, and the other side has not agreed yet
    uint8_t confirms
    bint counts             # `publishes.newest` is how many publishes there were
    bint infers             # by a quiet time: nothing by their numbers is exact
    Standstill standstill   # while they do not count
    bint asks               # `request` holds all requests without a reply
    uint8_t gaps            # bits of the sides that lost something since it began
    bint unordered          # a frame of it came before what the other side sent before: nothing of it is exact
    uint64_t doubtful_publishes     # up to this number: their confirm may have been lost
    uint64_t doubtful_deliveries
    uint64_t returned       # number of the newest publish that came back
    Questions publishes
    Questions deliveries
    Question* request
    Question* last_request
    NamedItems consumers
    bint names_queue        # `queue` is the one that was declared last
    uint8_t n_queue
    uint8_t[256] queue


cdef inline uint8_t* question_bytes(Question* q) noexcept nogil:
    return <uint8_t*>(q + 1)


cdef inline EventHead* question_head(Question* q) noexcept nogil:
    return <EventHead*>(q + 1)


cdef inline size_t spare_size(size_t n) noexcept nogil:
    """Of how many SPARE_UNIT a question with n bytes is."""
    return (sizeof(Question) + n + SPARE_UNIT - 1) // SPARE_UNIT


cdef inline void prefetch_question(const Question* q) noexcept nogil:
    """Of thousands that are open few are in the processor's cache. q: NULL for none; nothing of it is read."""
    cdef const uint8_t* p = <const uint8_t*>q
    if p != NULL:
        AMQP_PREFETCH(p)
        AMQP_PREFETCH(p + 64)
        AMQP_PREFETCH(p + 128)
        AMQP_PREFETCH(p + 192)


cdef Question* allocate_question(Tracking* g, size_t n) noexcept nogil:
    """With room for n bytes; all of it but n is 0. NULL: no memory."""
    cdef size_t size = spare_size(n)
    cdef SpareQuestions* spare = &g.spare[size] if size < N_SPARE_SIZES else NULL
    cdef Question* q
    if spare != NULL and spare.first != NULL:
        q = spare.first
        spare.first = q.next
        spare.n -= 1
        prefetch_question(spare.first)
    else:
        q = <Question*>malloc(size * SPARE_UNIT)
        if q == NULL:
            return NULL
    memset(q, 0, sizeof(Question))
    q.n = <uint32_t>n
    return q


cdef void release_question(Tracking* g, Question* q) noexcept nogil:
    cdef size_t size = spare_size(q.n)
    if size >= N_SPARE_SIZES or (<size_t>g.spare[size].n + 1) * size * SPARE_UNIT > <size_t>SPARE_BYTES:
        free(q)
        return
    q.next = g.spare[size].first
    g.spare[size].first = q
    g.spare[size].n += 1


cdef void free_spare_questions(Tracking* g) noexcept nogil:
    cdef Question* q
    cdef int i
    for i in range(N_SPARE_SIZES):
        while g.spare[i].first != NULL:
            q = g.spare[i].first
            g.spare[i].first = q.next
            free(q)
        g.spare[i].n = 0


cdef Question* new_question(Tracking* g, int kind, Event* e, uint64_t number) noexcept nogil:
    """Keep an event without what its connection's events share; NULL: no memory."""
    cdef Question* q
    cdef int k
    for k in range(N_CONNECTION_TEXTS):
        e.text[k].p = NULL
    q = allocate_question(g, event_size(e) + STORE_SLACK)
    if q == NULL:
        return NULL
    q.number = number
    q.time = g.now
    store_event(e, question_bytes(q))
    g.n[kind] += 1
    return q


cdef void drop_question(Tracking* g, int kind, Question* q) noexcept nogil:
    g.n[kind] -= 1
    release_question(g, q)


# ---- questions with numbers ----

cdef inline QuestionSlot* question_slot(const Questions* o, size_t i) noexcept nogil:
    return <QuestionSlot*>o.slots.p + i


cdef void trim_questions(Questions* o) noexcept nogil:
    """Skip slots at the beginning that are answered."""
    while o.first < o.n and question_slot(o, o.first).question == NULL:
        o.first += 1
    if o.first == o.n:
        o.first = o.n = 0


cdef void compact_questions(Questions* o) noexcept nogil:
    """Leave out the slots that are answered."""
    cdef size_t i, to = 0
    for i in range(o.first, o.n):
        if question_slot(o, i).question != NULL:
            question_slot(o, to)[0] = question_slot(o, i)[0]
            to += 1
    o.first = 0
    o.n = to


cdef int add_question(Questions* o, Question* q) noexcept nogil:
    """Takes it over. Its number is higher than those before."""
    cdef QuestionSlot* slot
    if 2 * o.n_open < o.n and (
            o.n > 64 or block_full(&o.slots, o.n * sizeof(QuestionSlot), sizeof(QuestionSlot))):
        compact_questions(o)
    slot = <QuestionSlot*>items_add(&o.slots, &o.n, sizeof(QuestionSlot))
    if slot == NULL:
        free(q)
        return NO_MEMORY
    slot.number = q.number
    slot.question = q
    o.n_open += 1
    return 0


cdef Question* remove_question(Questions* o, size_t i) noexcept nogil:
    """The caller has it then. trim_questions() follows."""
    cdef Question* q = question_slot(o, i).question
    question_slot(o, i).question = NULL
    question_slot(o, i).skip = 1
    o.n_open -= 1
    return q


cdef size_t find_question(const Questions* o, uint64_t number) noexcept nogil:
    """The slot with this number, or the first one with a higher one. Most often all numbers are there."""
    cdef size_t from_ = o.first, to = o.n, i
    cdef uint64_t after = number - question_slot(o, from_).number if from_ < to else 0
    if after < to - from_ and question_slot(o, from_ + <size_t>after).number == number:
        return from_ + <size_t>after
    while from_ < to:
        i = (from_ + to) >> 1
        if question_slot(o, i).number < number:
            from_ = i + 1
        else:
            to = i
    return from_


cdef void forget_questions(Tracking* g, int kind, Questions* o) noexcept nogil:
    cdef size_t i
    for i in range(o.first, o.n):
        if question_slot(o, i).question != NULL:
            drop_question(g, kind, remove_question(o, i))
    o.first = o.n = 0


cdef void forget_sent(Tracking* g, TrackedChannel* ch) noexcept nogil:
    """Publishes are numbered anew."""
    forget_questions(g, TRACKED_PUBLISHES, &ch.publishes)
    ch.publishes.newest = 0
    ch.doubtful_publishes = 0
    ch.returned = 0


cdef int keep_question(Tracking* g, int kind, Questions* o, uint64_t number, Event* e) noexcept nogil:
    """Follow an event that was emitted until it is answered. Where too many are, the channel's oldest is forgotten."""
    cdef Question* q
    o.newest = number
    if g.n[kind] >= g.limit[kind]:
        g.counts.forgotten[kind] += 1
        trim_questions(o)
        if o.n_open == 0:
            return 0
        drop_question(g, kind, remove_question(o, o.first))
        trim_questions(o)
    q = new_question(g, kind, e, number)
    if q == NULL or add_question(o, q) < 0:
        return NO_MEMORY
    return 0


# ---- requests, which are replied to in order ----

cdef void forget_requests(Tracking* g, TrackedChannel* ch) noexcept nogil:
    cdef Question* q
    while ch.request != NULL:
        q = ch.request
        ch.request = q.next
        drop_question(g, TRACKED_REQUESTS, q)
    ch.last_request = NULL


cdef int keep_request(Tracking* g, TrackedChannel* ch, Event* e, int on) noexcept nogil:
    cdef Question* q
    if g.n[TRACKED_REQUESTS] >= g.limit[TRACKED_REQUESTS]:
        g.counts.forgotten[TRACKED_REQUESTS] += 1
        forget_requests(g, ch)
        ch.asks = False
        return 0
    q = new_question(g, TRACKED_REQUESTS, e, 0)
    if q == NULL:
        return NO_MEMORY
    q.on = <uint8_t>on
    (&ch.last_request.next if ch.last_request != NULL else &ch.request)[0] = q
    ch.last_request = q
    return 0


cdef Question* remove_request(TrackedChannel* ch) noexcept nogil:
    """The oldest one; the caller has it then."""
    cdef Question* q = ch.request
    ch.request = q.next
    if ch.request == NULL:
        ch.last_request = NULL
    return q


# ---- what is found by its name ----

cdef NamedItem* find_named(NamedItems* o, const uint8_t* name, size_t n) noexcept nogil:
    cdef uint32_t h
    cdef NamedItem* x = o.found
    if o.n == 0 or (x != NULL and x.n_name == n and memcmp(x.name, name, n) == 0):
        return x
    h = keyed_hash(name, n)
    x = o.bucket[h & (o.n_buckets - 1)]
    while x != NULL and not (x.hash == h and x.n_name == n and memcmp(x.name, name, n) == 0):
        x = x.chain
    if x != NULL:
        o.found = x
    return x


cdef int grow_named(NamedItems* o) noexcept nogil:
    cdef uint32_t n = max(2 * o.n_buckets, <uint32_t>4)
    cdef NamedItem** bucket = <NamedItem**>calloc(n, sizeof(NamedItem*))
    cdef NamedItem* x = o.first
    if bucket == NULL:
        return NO_MEMORY
    while x != NULL:
        x.chain = bucket[x.hash & (n - 1)]
        bucket[x.hash & (n - 1)] = x
        x = x.after
    free(o.bucket)
    o.bucket = bucket
    o.n_buckets = n
    return 0


cdef NamedItem* add_named(NamedItems* o, size_t size, const EventText* name, size_t more) noexcept nogil:
    """What has `size` bytes, its name behind them, and room for `more` bytes behind that. NULL: no memory."""
    cdef NamedItem* x = NULL
    if o.n < o.n_buckets or grow_named(o) == 0:
        x = <NamedItem*>malloc(size + name.n + more)
    if x == NULL:
        return NULL
    memset(x, 0, size)
    copy_bytes(<uint8_t*>x + size, name.p, name.n)
    x.name = <uint8_t*>x + size
    x.n_name = <uint16_t>name.n
    x.hash = keyed_hash(x.name, x.n_name)
    x.chain = o.bucket[x.hash & (o.n_buckets - 1)]
    o.bucket[x.hash & (o.n_buckets - 1)] = x
    x.before = o.last
    (&o.last.after if o.last != NULL else &o.first)[0] = x
    o.last = x
    o.n += 1
    return x


cdef void remove_named(NamedItems* o, NamedItem* x) noexcept nogil:
    cdef NamedItem** at = &o.bucket[x.hash & (o.n_buckets - 1)]
    while at[0] != x:
        at = &at[0].chain
    at[0] = x.chain
    if o.found == x:
        o.found = NULL
    (&x.before.after if x.before != NULL else &o.first)[0] = x.after
    (&x.after.before if x.after != NULL else &o.last)[0] = x.before
    o.n -= 1
    free(x)


# ---- consumers; and exclusive queues ----

cdef inline const uint8_t* consumer_queue(const Consumer* x) noexcept nogil:
    return x.item.name + x.item.n_name


cdef inline Consumer* find_consumer(NamedItems* o, const uint8_t* tag, size_t n) noexcept nogil:
    return <Consumer*>find_named(o, tag, n)


cdef inline Consumer* next_consumer(const Consumer* x) noexcept nogil:
    return <Consumer*>x.item.after


cdef void remove_consumer(Tracking* g, NamedItems* o, Consumer* x) noexcept nogil:
    g.n[TRACKED_CONSUMERS] -= 1
    remove_named(o, &x.item)


cdef int add_consumer(Tracking* g, NamedItems* o, const EventText* tag, const EventText* queue, int settles,
                      int certainty) noexcept nogil:
    """In the place of one with the same tag. queue: its p is NULL where it is not known."""
    cdef Consumer* x = find_consumer(o, tag.p, tag.n)
    cdef size_t n_queue = queue.n if queue.p != NULL else 0
    if x != NULL:
        remove_consumer(g, o, x)
    if g.n[TRACKED_CONSUMERS] >= g.limit[TRACKED_CONSUMERS]:
        g.counts.forgotten[TRACKED_CONSUMERS] += 1
        return 0
    x = <Consumer*>add_named(o, sizeof(Consumer), tag, n_queue)
    if x == NULL:
        return NO_MEMORY
    x.n_queue = <uint16_t>n_queue
    x.settles = <uint8_t>settles
    x.certainty = <uint8_t>(IS_UNKNOWN if queue.p == NULL else certainty)
    copy_bytes(<uint8_t*>consumer_queue(x), queue.p, n_queue)
    g.n[TRACKED_CONSUMERS] += 1
    return 0


cdef void forget_consumers(Tracking* g, NamedItems* o) noexcept nogil:
    while o.first != NULL:
        remove_consumer(g, o, <Consumer*>o.first)
    free(o.bucket)
    memset(o, 0, sizeof(NamedItems))
