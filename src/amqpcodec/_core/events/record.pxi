# An event as bytes: its numbers, then its texts one after the other. Rows of captures and questions hold it so. What
# pads it to a multiple of 8 bytes aligns the numbers of the next one.

# The order is that of EVENT_NAMES.
cdef enum:
    EVENT_CONNECTION_OPENED
    EVENT_CONNECTION_REFUSED
    EVENT_CONNECTION_CLOSED
    EVENT_CONNECTION_LOST
    EVENT_CHANNEL_OPENED
    EVENT_CHANNEL_CLOSED
    EVENT_LINK_CLOSED
    EVENT_DECLARED
    EVENT_DELETED
    EVENT_PURGED
    EVENT_BOUND
    EVENT_UNBOUND
    EVENT_CONSUMER_STARTED
    EVENT_CONSUMER_CANCELLED
    EVENT_PUBLISHED
    EVENT_CONFIRMED
    EVENT_RETURNED
    EVENT_UNCONFIRMED
    EVENT_UNROUTABLE
    EVENT_DESTROYED
    EVENT_DELIVERED
    EVENT_SETTLED
    EVENT_REQUEUED
    EVENT_GET_EMPTY
    EVENT_FLOW
    EVENT_BLOCKED
    EVENT_UNBLOCKED
    EVENT_HEARTBEAT_MISSED
    EVENT_GAP
    EVENT_PROTOCOL_ERROR
    EVENT_WAITING
    EVENT_RECORDING_ENDED
    N_EVENTS
    EVENT_NONE = 255        # of a request that makes none

cdef const char** EVENT_NAMES = [
    "connection-opened", "connection-refused", "connection-closed", "connection-lost", "channel-opened",
    "channel-closed", "link-closed", "declared", "deleted", "purged", "bound", "unbound", "consumer-started",
    "consumer-cancelled", "published", "confirmed", "returned", "unconfirmed", "unroutable", "destroyed", "delivered",
    "settled", "requeued", "get-empty", "flow", "blocked", "unblocked", "heartbeat-missed", "gap", "protocol-error",
    "waiting", "recording-ended"]

# The order is that of OUTCOME_NAMES.
cdef enum:
    OUTCOME_NONE
    OUTCOME_ACCEPTED
    OUTCOME_REJECTED
    OUTCOME_RELEASED
    OUTCOME_MODIFIED
    N_OUTCOMES

cdef const char** OUTCOME_NAMES = [NULL, "accepted", "rejected", "released", "modified"]

# The order is that of CERTAINTY_NAMES.
cdef enum:
    IS_EXACT
    IS_INFERRED
    IS_UNKNOWN
    N_CERTAINTIES

cdef const char** CERTAINTY_NAMES = ["exact", "inferred", "unknown"]

# How the deliveries of a consumer are settled. The order is that of SETTLES_NAMES.
cdef enum:
    SETTLES_UNKNOWN
    SETTLES_MANUAL
    SETTLES_AUTOMATIC
    N_SETTLES

cdef const char** SETTLES_NAMES = [NULL, "manual", "automatic"]

# Who began it. The order is that of INITIATOR_NAMES.
cdef enum:
    INITIATOR_NONE
    INITIATOR_CLIENT
    INITIATOR_SERVER
    N_INITIATORS

cdef const char** INITIATOR_NAMES = [NULL, "client", "server"]

cdef enum:
    TEXT_CONNECTION_NAME
    TEXT_USER
    TEXT_VIRTUAL_HOST
    TEXT_EXCHANGE
    TEXT_ROUTING_KEY
    TEXT_QUEUE
    TEXT_CONSUMER_TAG
    TEXT_MESSAGE_ID
    TEXT_CORRELATION_ID
    TEXT_REQUEST
    TEXT_REASON
    TEXT_REPLY_TEXT
    TEXT_DETAILS
    TEXT_ROUTE              # names of queues, each after a byte with its size; of a request what describe_change() kept
    N_EVENT_TEXTS
    N_CONNECTION_TEXTS = 3  # the first ones are the connection's, the same in all of its events

# Where `route` is known from.
cdef enum:
    ROUTED_NOT
    ROUTED_BY_NAME          # it is the queue alone
    ROUTED_BY_BINDINGS      # it is TEXT_ROUTE or, without that, the queue alone
    N_ROUTED

cdef enum:
    ROUTE_LIMIT = 1 << 14   # bytes of a route
    TEXT_LIMIT = 2048       # bytes of any other text, at most
    NAME_LIMIT = 255        # bytes of a connection's name: longer ones are cut

cdef uint16_t NO_TEXT = 0xFFFF
cdef int64_t NO_NUMBER = -0x7FFFFFFFFFFFFFFF

cdef struct EventText:
    const uint8_t* p        # NULL: there is none
    uint32_t n

cdef struct EventHead:
    int64_t event_id
    int64_t answers
    int64_t delivery_tag
    int64_t body_size
    int64_t content
    int64_t message_count
    int64_t elapsed_us
    int32_t channel         # -1, of these three: there is none
    int32_t reply_code
    int32_t heartbeat_s
    uint8_t event
    uint8_t outcome
    uint8_t certainty
    uint8_t initiator
    uint8_t settles
    uint8_t redelivered     # 2: not known
    uint8_t routed
    uint16_t[N_EVENT_TEXTS] sizes       # of the texts that follow, or NO_TEXT

cdef struct Event:
    EventHead head
    EventText[N_EVENT_TEXTS] text

# Events that wait to become rows, in memory of these, after the rows that are there.
cdef struct EventOutput:
    size_t n
    size_t begin            # of the first one
    size_t used             # end of the newest one
    size_t hint             # bytes that all rows may have
    Block* data
    Block end               # size_t: where each ends

cdef enum:
    STORE_SLACK = 8         # bytes that are written after an event
    EVENT_SLACK = 32        # and that are left after it: they may be read


# Not known to the compiler, which clears few bytes by `rep stos` where it knows how many they are: that takes longer.
cdef size_t EVENT_BYTES = sizeof(Event)


cdef void clear_event(Event* e, int event, int32_t channel) noexcept nogil:
    memset(e, 0, EVENT_BYTES)
    e.head.event = <uint8_t>event
    e.head.answers = e.head.delivery_tag = e.head.body_size = e.head.content = NO_NUMBER
    e.head.message_count = e.head.elapsed_us = NO_NUMBER
    e.head.channel = channel
    e.head.reply_code = e.head.heartbeat_s = -1
    e.head.redelivered = 2


cdef inline void set_text(Event* e, int k, const void* p, size_t n) noexcept nogil:
    e.text[k].p = <const uint8_t*>p
    e.text[k].n = <uint32_t>min(n, <size_t>TEXT_LIMIT)


cdef inline void set_word(Event* e, int k, const char* word) noexcept nogil:
    """word: a constant, or NULL for none."""
    e.text[k].p = <const uint8_t*>word
    e.text[k].n = <uint32_t>strlen(word) if word != NULL else 0


cdef size_t event_size(const Event* e) noexcept nogil:
    """Bytes that store_event() makes of it."""
    cdef size_t n = sizeof(EventHead)
    cdef int k
    for k in range(N_EVENT_TEXTS):
        if e.text[k].p != NULL:
            n += e.text[k].n
    return (n + 7) & ~<size_t>7


cdef size_t store_event(const Event* e, uint8_t* w) noexcept nogil:
    """What event_size() says. It writes STORE_SLACK bytes more."""
    cdef EventHead* head = <EventHead*>w
    cdef uint8_t* to = w + sizeof(EventHead)
    cdef int k
    head[0] = e.head
    for k in range(N_EVENT_TEXTS):
        if e.text[k].p == NULL:
            head.sizes[k] = NO_TEXT
        else:
            head.sizes[k] = <uint16_t>e.text[k].n
            copy_bytes(to, e.text[k].p, e.text[k].n)
            to += e.text[k].n
    store64(to, 0)
    return (<size_t>(to - w) + 7) & ~<size_t>7


cdef void load_event(const uint8_t* p, Event* e) noexcept nogil:
    """What store_event() wrote; the texts are those bytes."""
    cdef int k
    memcpy(&e.head, p, sizeof(EventHead))
    p += sizeof(EventHead)
    for k in range(N_EVENT_TEXTS):
        e.text[k].p = NULL
        e.text[k].n = 0
        if e.head.sizes[k] != NO_TEXT:
            e.text[k].p = p
            e.text[k].n = e.head.sizes[k]
            p += e.head.sizes[k]


cdef int append_event(EventOutput* o, Event* e) noexcept nogil:
    cdef uint8_t* w = block_reserve(o.data, o.used, event_size(e) + STORE_SLACK + EVENT_SLACK, o.hint)
    cdef size_t* end = <size_t*>items_add(&o.end, &o.n, sizeof(size_t)) if w != NULL else NULL
    if end == NULL:
        return NO_MEMORY
    o.used += store_event(e, w)
    end[0] = o.used
    return 0


# ---- a body as a number ----

cdef enum:
    HASH_LANES = 4
    HASH_BLOCK = 32         # bytes: a word for each lane

# The same for a body however it is cut into frames. Not a cryptographic one. Lanes do not wait for one another.
cdef struct BodyHash:
    uint64_t[HASH_LANES] lane
    uint8_t[HASH_BLOCK] begun       # the newest n % HASH_BLOCK bytes
    uint64_t n


cdef inline uint64_t mix_word(uint64_t state, uint64_t word) noexcept nogil:
    state = (state ^ word) * <uint64_t>0x9E3779B97F4A7C15
    return state ^ state >> 29


cdef inline void mix_block(BodyHash* h, const uint8_t* p) noexcept nogil:
    cdef int k
    for k in range(HASH_LANES):
        h.lane[k] = mix_word(h.lane[k], load64(p + 8 * k))


cdef void hash_bytes(BodyHash* h, const uint8_t* p, size_t n) noexcept nogil:
    """The next n bytes of the body."""
    cdef size_t at = <size_t>(h.n & (HASH_BLOCK - 1)), some
    h.n += n
    if at:
        some = min(n, HASH_BLOCK - at)
        copy_bytes(h.begun + at, p, some)
        p += some
        n -= some
        if at + some < HASH_BLOCK:
            return
        mix_block(h, h.begun)
    while n >= HASH_BLOCK:
        mix_block(h, p)
        p += HASH_BLOCK
        n -= HASH_BLOCK
    copy_bytes(h.begun, p, n)


cdef int64_t hash_value(const BodyHash* h) noexcept nogil:
    cdef int at = <int>(h.n & (HASH_BLOCK - 1)), k
    cdef uint64_t x = h.n, word = 0
    if h.n >= HASH_BLOCK:
        for k in range(HASH_LANES):
            x = mix_word(x, h.lane[k])
    for k in range(at // 8):
        x = mix_word(x, load64(h.begun + 8 * k))
    if at & 7:
        word = load64(h.begun + (at & ~7)) >> (64 - 8 * (at & 7))
    x = mix_word(x, word)
    x = x ^ x >> 32
    return <int64_t>x if <int64_t>x != NO_NUMBER else 0
