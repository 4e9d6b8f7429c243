# What is open on a session of 1.0 beside what every channel has: its links, and the numbers of its deliveries.

cdef enum:
    ADDRESS_LIMIT = 1024        # bytes of an address; of a longer one nothing is known

cdef uint64_t NO_HANDLE = <uint64_t>1 << 32

# What links are found by.
cdef enum:
    BY_CLIENT               # the client's handle
    BY_SERVER
    BY_NAME
    N_LINK_KEYS

# A link, whose two ends have one name and a handle each.
cdef struct V1Link:
    V1Link* before
    V1Link* after
    V1Link* chain[N_LINK_KEYS]
    uint64_t key[N_LINK_KEYS]       # handles, or NO_HANDLE; a number of the name
    bint receives           # the client does
    bint coordinates        # it is one to a coordinator of transactions
    bint refused            # the server's attach names no source
    bint dynamic            # the server makes up the address
    bint started            # there was an event of it
    uint8_t opener          # the side that attached first
    bint torn               # the next transfer may be a later one of its delivery
    uint8_t attached        # bits of the sides that were seen to do so
    uint8_t detached
    uint8_t settles
    uint8_t certainty       # of what its sender's handle stands for
    int64_t time            # of the first attach, then of the first detach
    EventText name          # its own copies; of an end whose attach was not seen there is none
    EventText address

cdef struct V1Session:
    int32_t channel         # the server's number, -1 while it is not known
    int opener              # the side that asked for it
    uint8_t begun           # bits of the sides whose begin was seen
    uint8_t ended
    int64_t time            # of the begin that asked for it, or NO_NUMBER
    bint assumed            # its numbers are one session's because they are alike, of which there is no proof yet
    bint[2] anchored        # the deliveries of a side: numbers from `seen_from` on were all seen
    uint64_t[2] seen_from
    uint64_t[2] unheard     # up to this number of a side's: what their receiver said may have been lost
    V1Link* first
    V1Link* last
    V1Link** bucket         # n_buckets for each key
    uint64_t n_buckets
    uint64_t n


cdef inline V1Link** link_bucket(const V1Session* s, int k, uint64_t key) noexcept nogil:
    cdef uint64_t x = (key ^ <uint64_t><uintptr_t>s) * <uint64_t>0x9E3779B97F4A7C15
    return &s.bucket[<uint64_t>k * s.n_buckets + (x >> 32 & (s.n_buckets - 1))]


cdef V1Link* find_link(const V1Session* s, int k, uint64_t key) noexcept nogil:
    cdef V1Link* x
    if s.n == 0:
        return NULL
    x = link_bucket(s, k, key)[0]
    while x != NULL and x.key[k] != key:
        x = x.chain[k]
    return x


cdef inline uint64_t name_key(const EventText* name, bint receives) noexcept nogil:
    return <uint64_t>keyed_hash(name.p, name.n) << 32 | <uint64_t>name.n << 1 | receives


cdef V1Link* find_named_link(const V1Session* s, const EventText* name, bint receives) noexcept nogil:
    """name: its p is NULL where it is too long to be known; no link has it then."""
    cdef V1Link* x
    cdef uint64_t key
    if s.n == 0 or name.p == NULL:
        return NULL
    key = name_key(name, receives)
    x = link_bucket(s, BY_NAME, key)[0]
    while x != NULL and not (x.key[BY_NAME] == key and memcmp(x.name.p, name.p, name.n) == 0):
        x = x.chain[BY_NAME]
    return x


cdef inline void chain_link(V1Session* s, V1Link* x, int k) noexcept nogil:
    cdef V1Link** at = link_bucket(s, k, x.key[k])
    x.chain[k] = at[0]
    at[0] = x


cdef void set_link_key(V1Session* s, V1Link* x, int k, uint64_t key) noexcept nogil:
    """key: NO_HANDLE for none."""
    cdef V1Link** at
    if x.key[k] != NO_HANDLE:
        at = link_bucket(s, k, x.key[k])
        while at[0] != x:
            at = &at[0].chain[k]
        at[0] = x.chain[k]
    x.key[k] = key
    if key != NO_HANDLE:
        chain_link(s, x, k)


cdef int grow_links(V1Session* s) noexcept nogil:
    cdef uint64_t n = max(2 * s.n_buckets, <uint64_t>4)
    cdef V1Link** bucket = <V1Link**>calloc(N_LINK_KEYS * <size_t>n, sizeof(V1Link*))
    cdef V1Link* x = s.first
    cdef int k
    if bucket == NULL:
        return NO_MEMORY
    free(s.bucket)
    s.bucket = bucket
    s.n_buckets = n
    while x != NULL:
        for k in range(N_LINK_KEYS):
            if x.key[k] != NO_HANDLE:
                chain_link(s, x, k)
        x = x.after
    return 0


cdef void cut_text(EventText* text, uint32_t limit) noexcept nogil:
    """To so many bytes, where a character begins."""
    if text.n > limit:
        text.n = limit
        while text.n and text.p[text.n] & 0xC0 == 0x80:
            text.n -= 1


cdef int copy_text(EventText* to, const EventText* text) noexcept nogil:
    """A copy in the place of the one before."""
    cdef uint8_t* own = NULL
    if text.p != NULL:
        own = <uint8_t*>malloc(<size_t>text.n + 1)
        if own == NULL:
            return NO_MEMORY
        memcpy(own, text.p, text.n)
    free(<void*>to.p)
    to.p = own
    to.n = text.n
    return 0


cdef int add_link(Tracking* g, V1Session* s, const EventText* name, bint receives, V1Link** out) noexcept nogil:
    """out: NULL where too many are followed."""
    cdef V1Link* x
    out[0] = NULL
    if g.n[TRACKED_LINKS] >= g.limit[TRACKED_LINKS]:
        g.counts.forgotten[TRACKED_LINKS] += 1
        return 0
    if s.n >= s.n_buckets and grow_links(s) < 0:
        return NO_MEMORY
    x = <V1Link*>calloc(1, sizeof(V1Link))
    if x == NULL or copy_text(&x.name, name) < 0:
        free(x)
        return NO_MEMORY
    x.key[BY_CLIENT] = x.key[BY_SERVER] = x.key[BY_NAME] = NO_HANDLE
    x.receives = receives
    x.certainty = IS_UNKNOWN
    x.torn = True
    x.time = g.now
    x.opener = <uint8_t>g.side
    if name.p != NULL:
        set_link_key(s, x, BY_NAME, name_key(name, receives))
    x.before = s.last
    (&s.last.after if s.last != NULL else &s.first)[0] = x
    s.last = x
    s.n += 1
    g.n[TRACKED_LINKS] += 1
    out[0] = x
    return 0


cdef void remove_link(Tracking* g, V1Session* s, V1Link* x) noexcept nogil:
    cdef int k
    for k in range(N_LINK_KEYS):
        set_link_key(s, x, k, NO_HANDLE)
    (&x.before.after if x.before != NULL else &s.first)[0] = x.after
    (&x.after.before if x.after != NULL else &s.last)[0] = x.before
    s.n -= 1
    g.n[TRACKED_LINKS] -= 1
    free(<void*>x.name.p)
    free(<void*>x.address.p)
    free(x)


cdef void forget_links(Tracking* g, V1Session* s) noexcept nogil:
    while s.first != NULL:
        remove_link(g, s, s.first)


cdef void free_session(Tracking* g, V1Session* s) noexcept nogil:
    forget_links(g, s)
    free(s.bucket)
    free(s)


cdef void doubt_session(Tracking* g, TrackedChannel* ch, int side) noexcept nogil:
    """One side's frames may be missing: its handles may stand for other links, and deliveries may have been cut."""
    cdef V1Session* s = ch.session
    cdef V1Link* x = s.first
    cdef Consumer* consumer = <Consumer*>ch.consumers.first
    s.anchored[side] = False
    s.unheard[1 - side] = max(s.unheard[1 - side], ch.publishes.newest if side == 1 else ch.deliveries.newest)
    # Either side may have settled what either one sent.
    ch.doubtful_publishes = max(ch.doubtful_publishes, ch.publishes.newest)
    ch.doubtful_deliveries = max(ch.doubtful_deliveries, ch.deliveries.newest)
    if ch.gaps == 3 or ch.closing:      # it may be another session
        ch.unordered = True
        forget_links(g, s)
        return
    while x != NULL:
        if x.receives == side:      # its sender
            x.certainty = <uint8_t>max(<int>x.certainty, <int>IS_INFERRED)
            x.torn = True
        x = x.after
    while consumer != NULL:     # its end may be among what is missing
        consumer.doubted = True
        consumer = next_consumer(consumer)


# ---- numbers of deliveries ----

cdef inline uint64_t widen_number(const Questions* o, uint32_t number) noexcept nogil:
    """A serial number of 32 bits (RFC 1982) as one that does not begin anew, by the newest one."""
    if o.newest == 0:
        return <uint64_t>1 << 32 | number
    return o.newest + <uint64_t><int64_t><int32_t>(number - <uint32_t>o.newest)


cdef void sink_question(Questions* o) noexcept nogil:
    """Move the newest slot to where its number belongs: other deliveries began later and ended earlier."""
    cdef QuestionSlot slot
    cdef size_t at, i
    if o.n - o.first < 2 or question_slot(o, o.n - 2).number < question_slot(o, o.n - 1).number:
        return
    slot = question_slot(o, o.n - 1)[0]
    o.n -= 1
    at = find_question(o, slot.number)
    memmove(question_slot(o, at + 1), question_slot(o, at), (o.n - at) * sizeof(QuestionSlot))
    question_slot(o, at)[0] = slot
    o.n += 1
    i = at
    while i > o.first and question_slot(o, i - 1).question == NULL:
        i -= 1
        question_slot(o, i).skip = at - i


cdef size_t next_open(Questions* o, size_t i) noexcept nogil:
    """The first slot from i on that is not answered, or o.n. What is passed is passed in one step the next time."""
    cdef size_t end = i, after
    while end < o.n and question_slot(o, end).question == NULL:
        end += <size_t>question_slot(o, end).skip
    while i < end:
        after = i + <size_t>question_slot(o, i).skip
        if question_slot(o, i).question == NULL:
            question_slot(o, i).skip = end - i
        i = after
    return min(end, o.n)
