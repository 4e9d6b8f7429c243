# A connection whose packets were captured again behind an address translation: the client's port, the sequence and
# acknowledgement numbers and the bytes are the same; the addresses, and maybe the server's port, are others.
#
# Where the first segment of a connection could be one of another connection that is read, its segments are held until
# that one has the same, before or after. What is the same is dropped, in the order of a direction. Where a segment
# contradicts, or too many in a row have none that is the same, what is held is read as a connection of its own (it is
# parted); where some were the same before, that one begins in the middle. The connection that came first is read as if
# there were no other.

cdef enum:
    SEEN_KEPT = 64              # newest segments of a direction that later ones are compared with
    ALIKE_LIMIT = 64            # connections of one client port that are looked at
    OTHERS_LIMIT = 8            # connections that are held for the same one
    TRANSLATED_BYTES = 1 << 23  # of all segments that are held
    NEAR_SEGMENT = 1 << 20      # bytes between a first segment and where the other connection is
    BEFORE_SAME = 4             # segments that could not be compared, for each that was the same

# What is kept of a segment of the connection that came first.
cdef struct SeenSegment:
    uint32_t sequence
    uint32_t ack
    uint32_t size
    uint32_t have
    uint8_t flags
    int64_t content         # hash of its bytes

cdef struct Original:
    Translated* first
    int32_t n_others        # of these
    uint64_t[2] n           # segments of each direction since there are others
    SeenSegment[2][SEEN_KEPT] seen

# A segment of which the other connection has none that is the same yet.
cdef struct HeldSegment:
    HeldSegment* next
    Segment segment         # its bytes stand after the struct
    SeenSegment seen
    Mark mark
    uint64_t number         # of the direction's segments with bytes, from 1
    bint same               # the other one has it; what came before is held

cdef struct TranslatedHalf:
    HeldSegment* opening    # until a segment was the same
    HeldSegment* first
    HeldSegment* last
    uint64_t n              # segments with bytes
    uint64_t n_held
    uint64_t newest_same    # number of the newest one that was the same, 0: there is none
    bint late               # the original had segments before it was compared: those before `since`
    uint32_t since

cdef struct Translated:
    Translated* bucket
    Translated* next        # of the same original, or of those that are parted
    Conn* original
    Endpoint client
    Endpoint server
    int64_t file_number     # where it began
    uint64_t same           # segments
    TranslatedHalf[2] half  # client, server

cdef enum:
    SAME_NONE
    SAME_SEGMENT
    SAME_NOT                # the same place has other bytes


# ---- connections by the client's port ----

cdef inline Conn** port_bucket(Reading* r, uint16_t port) noexcept nogil:
    return &r.conns.port[port & (PORT_BUCKETS - 1)]


cdef void link_port(Reading* r, Conn* c) noexcept nogil:
    cdef Conn** bucket = port_bucket(r, c.info.client.port)
    c.same_port.before = NULL
    c.same_port.after = bucket[0]
    if bucket[0] != NULL:
        bucket[0].same_port.before = c
    bucket[0] = c


cdef int compare_ages(const void* a, const void* b) noexcept nogil:
    cdef const Conn* x = (<Conn* const*>a)[0]
    cdef const Conn* y = (<Conn* const*>b)[0]
    return (x.info.index > y.info.index) - (x.info.index < y.info.index)


cdef int link_ports(Reading* r) noexcept nogil:
    """Of all connections, where none is linked."""
    cdef Conn* c = r.conns.oldest
    cdef Conn** all_ = <Conn**>malloc((<size_t>r.conns.n + 1) * sizeof(Conn*))
    cdef int i, n = 0
    if all_ == NULL:
        return NO_MEMORY
    while c != NULL:
        all_[n] = c
        n += 1
        c = c.newer
    qsort(all_, <size_t>n, sizeof(Conn*), compare_ages)
    for i in range(n):
        link_port(r, all_[i])
    free(all_)
    return 0


cdef void unlink_port(Reading* r, Conn* c) noexcept nogil:
    if c.same_port.before != NULL:
        c.same_port.before.same_port.after = c.same_port.after
    else:
        port_bucket(r, c.info.client.port)[0] = c.same_port.after
    if c.same_port.after != NULL:
        c.same_port.after.same_port.before = c.same_port.before


cdef inline bint is_near_segment(const Half* h, uint32_t sequence) noexcept nogil:
    """Whether a place is near the end of what is known of a direction; where nothing is, it may be."""
    cdef int64_t ahead
    if not h.seen:
        return True
    ahead = position_of(h, sequence) - h.known_end
    return -NEAR_SEGMENT < ahead < NEAR_SEGMENT


cdef bint may_be_of(const Conn* c, int side, const Segment* s) noexcept nogil:
    """Whether the first segment of another connection may be one of this connection."""
    cdef const Half* h = &c.half[side]
    cdef const Half* peer = &c.half[1 - side]
    if c.closes or c.named or c.info.family != s.family:
        return False
    if c.original != NULL and c.original.n_others == OTHERS_LIMIT:
        return False
    if s.flags & TCP_SYN and h.syn:
        return h.first == s.sequence + 1
    if not is_near_segment(h, s.sequence):
        return False
    if not s.flags & TCP_ACK:
        return s.flags & TCP_SYN != 0
    if s.flags & TCP_SYN and peer.syn:
        return peer.first == s.ack
    return s.ack and is_near_segment(peer, s.ack)


cdef Conn* find_original(Reading* r, int side, const Segment* s) noexcept nogil:
    """The connection of which a segment, the first between these ends, may be: the newest one; or NULL."""
    cdef uint16_t port = s.target.port if side else s.source.port
    cdef Conn* c = port_bucket(r, port)[0]
    cdef int i
    if r.conns.translations.reading:
        return NULL
    for i in range(ALIKE_LIMIT):
        if c == NULL:
            return NULL
        if c.info.client.port == port and may_be_of(c, side, s):
            return c
        c = c.same_port.after
    return NULL


# ---- those that are held ----

cdef inline Translated** translated_bucket(Reading* r, const Endpoint* client, const Endpoint* server) noexcept nogil:
    return &r.conns.translations.bucket[bucket_of(client, server) & (TRANSLATED_BUCKETS - 1)]


cdef Translated* find_translated(Reading* r, const Endpoint* a, const Endpoint* b) noexcept nogil:
    cdef Translated* t = translated_bucket(r, a, b)[0]
    while t != NULL and not (same_end(&t.client, a) and same_end(&t.server, b)):
        t = t.bucket
    return t


cdef Translated* new_translated(Reading* r, Conn* c, const Endpoint* client, const Endpoint* server) noexcept nogil:
    """Its segments will be compared with those of a connection."""
    cdef Translated** bucket = translated_bucket(r, client, server)
    cdef Translated** last
    cdef Translated* t = <Translated*>calloc(1, sizeof(Translated))
    cdef int side
    if t == NULL:
        return NULL
    if c.original == NULL:      # it never stands without others
        c.original = <Original*>calloc(1, sizeof(Original))
        if c.original == NULL:
            free(t)
            return NULL
    t.client = client[0]
    t.server = server[0]
    t.file_number = r.files.number
    t.original = c
    for side in range(2):
        t.half[side].late = c.half[side].seen
        t.half[side].since = c.half[side].next + <uint32_t>(c.half[side].known_end - c.half[side].offset)
    last = &c.original.first
    while last[0] != NULL:
        last = &last[0].next
    last[0] = t
    c.original.n_others += 1
    t.bucket = bucket[0]
    bucket[0] = t
    r.conns.translations.n += 1
    return t


cdef inline void free_original(Conn* c) noexcept nogil:
    """Nothing is compared with it any more."""
    free(c.original)
    c.original = NULL


cdef void unlink_translated(Reading* r, Translated* t) noexcept nogil:
    """Out of what it is found by."""
    cdef Translated** at = translated_bucket(r, &t.client, &t.server)
    while at[0] != t:
        at = &at[0].bucket
    at[0] = t.bucket
    at = &t.original.original.first
    while at[0] != t:
        at = &at[0].next
    at[0] = t.next
    t.next = NULL
    t.original.original.n_others -= 1
    if t.original.original.n_others == 0:
        free_original(t.original)
    r.conns.translations.n -= 1


cdef inline size_t held_cost(const HeldSegment* held) noexcept nogil:
    return sizeof(HeldSegment) + held.segment.have


cdef void describe_segment(const Segment* s, SeenSegment* out) noexcept nogil:
    cdef BodyHash content
    memset(&content, 0, sizeof(BodyHash))
    hash_bytes(&content, s.data, s.have)
    out.sequence = s.sequence
    out.ack = s.ack if s.flags & TCP_ACK else 0
    out.size = s.size
    out.have = s.have
    out.flags = s.flags & (TCP_FIN | TCP_RST)
    out.content = hash_value(&content)


cdef HeldSegment* new_held(Reading* r, const Segment* s, const Mark* mark, uint64_t number) noexcept nogil:
    cdef HeldSegment* held = <HeldSegment*>malloc(sizeof(HeldSegment) + s.have)
    if held == NULL:
        return NULL
    held.next = NULL
    held.segment = s[0]
    held.segment.data = <uint8_t*>(held + 1)
    held.mark = mark[0]
    held.number = number
    held.same = False
    if s.have:
        memcpy(held + 1, s.data, s.have)
    describe_segment(&held.segment, &held.seen)
    r.conns.translations.bytes += held_cost(held)
    return held


cdef void free_held(Reading* r, HeldSegment* held) noexcept nogil:
    if held != NULL:
        r.conns.translations.bytes -= held_cost(held)
        free(held)


cdef void append_held(TranslatedHalf* h, HeldSegment* held) noexcept nogil:
    (&h.last.next if h.last != NULL else &h.first)[0] = held
    h.last = held
    h.n_held += 1


cdef HeldSegment* pop_held(TranslatedHalf* h) noexcept nogil:
    """The first one."""
    cdef HeldSegment* held = h.first
    h.first = held.next
    if h.first == NULL:
        h.last = NULL
    h.n_held -= 1
    return held


cdef void free_translated(Reading* r, Translated* t) noexcept nogil:
    cdef TranslatedHalf* h
    cdef int side
    for side in range(2):
        h = &t.half[side]
        free_held(r, h.opening)
        while h.first != NULL:
            free_held(r, pop_held(h))
    free(t)


cdef void free_parted(Reading* r) noexcept nogil:
    cdef Translated* t
    while r.conns.translations.parted != NULL:
        t = r.conns.translations.parted
        r.conns.translations.parted = t.next
        free_translated(r, t)
    r.conns.translations.parted_last = NULL


cdef void drop_first(Reading* r, TranslatedHalf* h) noexcept nogil:
    """And what opened the direction: should it be read, it begins in the middle."""
    free_held(r, h.opening)
    h.opening = NULL
    free_held(r, pop_held(h))


cdef inline bint is_comparable(const TranslatedHalf* h, const HeldSegment* held) noexcept nogil:
    """Whether what is the same would have been found."""
    return not h.late or <int32_t>(held.segment.sequence - h.since) >= 0


cdef void part(Reading* r, Translated* t) noexcept nogil:
    """It is a connection of its own: who reads packets reads what is held of it, from the first segment on that the
    original has not."""
    cdef TranslatedHalf* h
    cdef int side
    if t.same:
        for side in range(2):
            h = &t.half[side]
            while h.first != NULL and (h.first.same or not is_comparable(h, h.first)):
                drop_first(r, h)
    unlink_translated(r, t)
    r.conns.translations.same -= t.same != 0
    if r.conns.translations.parted_last != NULL:
        r.conns.translations.parted_last.next = t
    else:
        r.conns.translations.parted = t
    r.conns.translations.parted_last = t


cdef void settle(Reading* r, Translated* t) noexcept nogil:
    """One of the two has ended. They are one if most was the same: some of it may have been captured once alone."""
    cdef uint64_t missing = 0, before = 0
    cdef HeldSegment* held
    cdef int side
    for side in range(2):
        held = t.half[side].first
        while held != NULL:
            if held.segment.size and not held.same:
                missing += is_comparable(&t.half[side], held)
                before += not is_comparable(&t.half[side], held)
            held = held.next
    if t.same == 0 or missing > t.same or before > BEFORE_SAME * t.same:
        part(r, t)
    else:
        unlink_translated(r, t)
        free_translated(r, t)


cdef void settle_all(Reading* r, Conn* c) noexcept nogil:
    """A connection goes."""
    while c.original != NULL:
        settle(r, c.original.first)


# ---- comparing ----

cdef inline bint is_compared(const Segment* s) noexcept nogil:
    """Whether a segment says more than what its sender has of the other side's."""
    return s.size != 0 or s.flags & (TCP_FIN | TCP_RST) != 0


cdef int compare_seen(const SeenSegment* a, const SeenSegment* b) noexcept nogil:
    if a.sequence != b.sequence or a.size != b.size or a.have != b.have:
        return SAME_NONE
    if a.content != b.content:
        return SAME_NONE if a.size == 1 else SAME_NOT       # a keep-alive's byte means nothing
    # Without the other side's number, which nobody guesses, it proves nothing.
    return SAME_SEGMENT if a.flags == b.flags and a.ack == b.ack and a.ack != 0 else SAME_NONE


cdef int find_seen(const Original* o, int side, const SeenSegment* seen) noexcept nogil:
    cdef int found = SAME_NONE, one
    cdef uint64_t i
    for i in range(min(o.n[side], <uint64_t>SEEN_KEPT)):
        one = compare_seen(&o.seen[side][i], seen)
        if one == SAME_SEGMENT:
            return one
        found = max(found, one)
    return found


cdef void drop_same(Reading* r, TranslatedHalf* h) noexcept nogil:
    """What is the same, up to the first one that is not."""
    while h.first != NULL and h.first.same:
        drop_first(r, h)


cdef void mark_same(Reading* r, Translated* t, int side, HeldSegment* held) noexcept nogil:
    """A segment of a direction is the same."""
    cdef TranslatedHalf* h = &t.half[side]
    held.same = True
    r.conns.translations.same += t.same == 0
    t.same += 1
    if held.segment.size:
        h.newest_same = max(h.newest_same, held.number)


cdef int compare_translated(Reading* r, Translated* t, int side, const Segment* s, const Mark* mark) noexcept nogil:
    """The next segment of a connection that may be another one."""
    cdef TranslatedHalf* h = &t.half[side]
    cdef HeldSegment* held
    cdef int found
    if s.flags & TCP_SYN:
        if h.opening == NULL and h.n == 0:
            h.opening = new_held(r, s, mark, 0)
            return 0 if h.opening != NULL else NO_MEMORY
        return 0
    if not is_compared(s):
        return 0
    h.n += s.size != 0
    held = new_held(r, s, mark, h.n)
    if held == NULL:
        return NO_MEMORY
    append_held(h, held)
    found = find_seen(t.original.original, side, &held.seen)
    if found == SAME_SEGMENT:
        mark_same(r, t, side, held)
        drop_same(r, h)
    if found == SAME_NOT or h.n_held > 2 * SEEN_KEPT or r.conns.translations.bytes > <size_t>TRANSLATED_BYTES or (
            not is_near_segment(&t.original.half[side], s.sequence)):
        part(r, t)
        return 0
    while h.first != NULL and h.first.number + SEEN_KEPT <= h.n:
        if h.newest_same < h.first.number:
            part(r, t)
            return 0
        drop_first(r, h)        # those that came after it were the same: the other one was not captured
        drop_same(r, h)
    return 0


cdef void match_held(Reading* r, Translated* t, int side, const SeenSegment* seen) noexcept nogil:
    """Mark what is held and is the same as the next segment of the original."""
    cdef TranslatedHalf* h = &t.half[side]
    cdef HeldSegment* held = h.first
    cdef int found
    while held != NULL:
        found = SAME_NONE if held.same else compare_seen(&held.seen, seen)
        if found == SAME_NOT:
            part(r, t)
            return
        if found == SAME_SEGMENT:
            mark_same(r, t, side, held)
        held = held.next
    drop_same(r, h)


cdef void compare_original(Reading* r, Conn* c, int side, const Segment* s) noexcept nogil:
    """The next segment of a connection of which there are others."""
    cdef Translated* t = c.original.first
    cdef Translated* after
    cdef Original* o
    cdef SeenSegment seen
    if not s.flags & TCP_SYN and not is_compared(s):
        return
    describe_segment(s, &seen)
    while t != NULL:
        after = t.next
        if not s.flags & TCP_SYN:
            match_held(r, t, side, &seen)
        elif t.half[side].opening != NULL and t.half[side].opening.segment.sequence != s.sequence:
            part(r, t)
        t = after
    o = c.original
    if o != NULL and not s.flags & TCP_SYN:
        o.seen[side][o.n[side] % SEEN_KEPT] = seen
        o.n[side] += 1


cdef inline bint opens_another(const Translated* t, int side, const Segment* s) noexcept nogil:
    """Whether a SYN opens another connection between the same ends."""
    cdef const Half* h = &t.original.half[side]
    cdef const HeldSegment* opening = t.half[side].opening
    if not s.flags & TCP_SYN:
        return False
    return (h.syn and h.first != s.sequence + 1) or (opening != NULL and opening.segment.sequence != s.sequence)


cdef int hold_openings(Reading* r, Translated* t, int side, const Segment* s) noexcept nogil:
    """Hold what opened a connection whose opening was skipped: see begin_at_header."""
    cdef Segment opening = opening_before(s, False)
    if compare_translated(r, t, side, &opening, &r.last) < 0:
        return NO_MEMORY
    if side == 0 and s.flags & TCP_ACK and s.ack:
        opening = opening_before(s, True)
        return compare_translated(r, t, 1, &opening, &r.last)
    return 0


cdef int begin_translated(Reading* r, Conn* c, int side, const Segment* s, bint detected) noexcept nogil:
    """Hold the first segment of what may be a connection that is read. detected: the opening was skipped."""
    cdef Translated* t
    if side:
        t = new_translated(r, c, &s.target, &s.source)
    else:
        t = new_translated(r, c, &s.source, &s.target)
    if t == NULL or (detected and hold_openings(r, t, side, s) < 0):
        return NO_MEMORY
    return compare_translated(r, t, side, s, &r.last)


cdef HeldSegment* pop_in_turn(Translated* t) noexcept nogil:
    """The segment that came first of those that are held; NULL: there is none."""
    cdef HeldSegment* held
    cdef HeldSegment* first = NULL
    cdef int side, from_ = 0
    for side in range(2):
        held = t.half[side].opening if t.half[side].opening != NULL else t.half[side].first
        if held != NULL and (first == NULL or held.mark.turn < first.mark.turn):
            first = held
            from_ = side
    if first != NULL and first == t.half[from_].opening:
        t.half[from_].opening = NULL
    elif first != NULL:
        pop_held(&t.half[from_])
    return first
