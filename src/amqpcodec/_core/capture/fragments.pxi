# IP packets put together of their fragments, within bounds. Fragments may come in any order and again; where
# they contradict each other the packet is refused. What is there of a packet that never becomes whole is read
# up to its first hole, as of one that was cut when it was captured.

cdef enum:
    PARTIAL_LIMIT = 1 << 10         # packets of which fragments are missing
    PARTIAL_SIZE = 65535            # bytes of a packet, after its header

cdef int64_t PARTIAL_NS = 5000000000    # between fragments of a packet: later ones are of another one


cdef inline size_t partial_cost(const Partial* d) noexcept nogil:
    return sizeof(Partial) + d.data.room


cdef uint32_t partial_bucket(const Segment* ends, uint32_t id) noexcept nogil:
    cdef uint64_t h = keyed_pair(keyed_address(&ends.source, 0) ^ id, keyed_address(&ends.target, 2), 0)
    return <uint32_t>(h >> 32) & (PARTIAL_BUCKETS - 1)


cdef Partial* find_partial(Reading* r, const Segment* ends, uint8_t protocol, uint32_t id) noexcept nogil:
    cdef Partial* d = r.partials.bucket[partial_bucket(ends, id)]
    while d != NULL and not (
            d.id == id and d.ends.family == ends.family and (d.protocol == protocol or ends.family == 6)
            and same_end(&d.ends.source, &ends.source) and same_end(&d.ends.target, &ends.target)):
        d = d.bucket
    return d


cdef void unlink_partial(Reading* r, Partial* d) noexcept nogil:
    cdef Partial** at = &r.partials.bucket[partial_bucket(&d.ends, d.id)]
    while at[0] != d:
        at = &at[0].bucket
    at[0] = d.bucket
    (&d.older.newer if d.older != NULL else &r.partials.oldest)[0] = d.newer
    (&d.newer.older if d.newer != NULL else &r.partials.newest)[0] = d.older
    r.partials.n -= 1
    r.partials.bytes -= partial_cost(d)


cdef void free_partial(Partial* d) noexcept nogil:
    if d != NULL:
        block_give(&d.data)
        free(d)


cdef void drop_partial(Reading* r, Partial* d) noexcept nogil:
    """No more fragments of it are awaited; who reads packets reads what is there."""
    unlink_partial(r, d)
    d.newer = r.partials.given_up
    r.partials.given_up = d


cdef void free_partials(Reading* r) noexcept nogil:
    cdef Partial* d
    while r.partials.oldest != NULL:
        drop_partial(r, r.partials.oldest)
    while r.partials.given_up != NULL:
        d = r.partials.given_up
        r.partials.given_up = d.newer
        free_partial(d)


cdef Partial* new_partial(Reading* r, const Segment* ends, uint8_t protocol, uint32_t id) noexcept nogil:
    cdef Partial* d = <Partial*>calloc(1, sizeof(Partial))
    cdef uint32_t k = partial_bucket(ends, id)
    if d == NULL:
        return NULL
    d.ends = ends[0]
    d.protocol = protocol
    d.id = id
    d.bucket = r.partials.bucket[k]
    r.partials.bucket[k] = d
    d.older = r.partials.newest
    (&d.older.newer if d.older != NULL else &r.partials.oldest)[0] = d
    r.partials.newest = d
    r.partials.n += 1
    r.partials.bytes += partial_cost(d)
    return d


cdef int refuse_partial(Reading* r, Partial* d) noexcept nogil:
    """Nobody can tell what its receiver made of it. It stays, so that the rest of it is refused as well."""
    r.count.skipped[SKIP_OVERLAP] += d.n
    r.partials.bytes -= d.data.room
    block_give(&d.data)
    d.refused = True
    return SKIP_OVERLAP


cdef bint is_there(const Partial* d, uint32_t block) noexcept nogil:
    return d.there[block >> 6] >> (block & 63) & 1


cdef int copy_fragment(Reading* r, Partial* d, const uint8_t* p, uint32_t at, uint32_t n, bint more) noexcept nogil:
    """Copy n > 0 bytes to where they belong; SKIP_FRAGMENT: they were there."""
    cdef uint32_t block, first = at >> 3, end = (at + n + 7) >> 3, known = 0
    cdef size_t room = d.data.room
    if (not more and d.size not in (0, at + n)) or (not more and d.reach > at + n) or (d.size and at + n > d.size):
        return refuse_partial(r, d)
    for block in range(first, end):
        known += is_there(d, block)
    if known:
        if known != end - first or (not more) != (d.size == at + n) or memcmp(d.data.p + at, p, n) != 0:
            return refuse_partial(r, d)
        return SKIP_FRAGMENT
    if block_room(&d.data, d.reach, at + n) < 0:
        return NO_MEMORY
    r.partials.bytes += d.data.room - room
    memcpy(d.data.p + at, p, n)
    for block in range(first, end):
        d.there[block >> 6] |= <uint64_t>1 << (block & 63)
    d.have += n
    d.reach = max(d.reach, at + n)
    if not more:
        d.size = at + n
    return SKIP_NONE


cdef int add_fragment(Reading* r, const Walk* w, const Segment* s, Partial** whole) noexcept nogil:
    """SKIP_NONE: the fragment at hand was kept, and where it completes its packet that is `whole`,
    whose memory is the caller's. Else why it was not."""
    cdef uint32_t size = <uint32_t>(w.wire - w.at)
    cdef Partial* d
    cdef int why
    whole[0] = NULL
    if size == 0 or w.wire - w.at > PARTIAL_SIZE - w.fragment_at or (w.more and size & 7):
        return SKIP_MALFORMED
    if w.n < w.wire:
        return SKIP_CUT
    d = find_partial(r, s, w.protocol, w.fragment_id)
    if d == NULL:
        d = new_partial(r, s, w.protocol, w.fragment_id)
        if d == NULL:
            return NO_MEMORY
        d.since = r.last.time
    if d.refused:
        return SKIP_OVERLAP
    if w.fragment_at == 0:
        d.protocol = w.protocol     # of IPv6 only the first one's counts
    d.depth = max(d.depth, w.depth)
    d.mark = r.last
    why = copy_fragment(r, d, w.p + w.at, w.fragment_at, size, w.more)
    if why != SKIP_NONE:
        return why
    d.n += 1
    if d.have == d.size:
        r.count.joined += 1
        unlink_partial(r, d)
        whole[0] = d
        return SKIP_NONE
    while r.partials.n > PARTIAL_LIMIT or (r.partials.bytes > r.limits.fragments and r.partials.n > 1):
        drop_partial(r, r.partials.oldest)
    return SKIP_NONE


cdef inline void expire_partials(Reading* r) noexcept nogil:
    """Give up those whose first fragment is too old."""
    while (r.partials.oldest != NULL and r.last.time != NO_TIME and r.partials.oldest.since != NO_TIME
            and r.partials.oldest.since < r.last.time - PARTIAL_NS):
        drop_partial(r, r.partials.oldest)


cdef void enter_partial(const Partial* d, uint32_t n, Walk* w, Segment* s) noexcept nogil:
    """Read on at the first byte of a packet of which n bytes are there."""
    s[0] = d.ends
    w.p = d.data.p
    w.n = n
    w.wire = max(d.size, d.reach)
    w.at = 0
    w.ether_type = 0
    w.protocol = d.protocol
    w.depth = d.depth + 1


cdef int read_fragment(Reading* r, Walk* w, Segment* s, Partial** held) noexcept nogil:
    """Keep the fragment at hand, and read the packet that it completes, whose bytes `held` has then.

    What read_segment() gives, or SKIP_WAITS."""
    cdef Partial* whole
    cdef int why = SKIP_FRAGMENT
    held[0] = NULL
    while why == SKIP_FRAGMENT:
        r.count.fragments += 1
        if w.fragment_at == 0 and w.n < w.wire:
            w.ether_type = 0        # it was cut, so the packet cannot become whole
            why = read_layers(w, s)
            if why == SKIP_FRAGMENT:
                why = SKIP_MALFORMED
            return why
        why = add_fragment(r, w, s, &whole)
        free_partial(held[0])
        held[0] = whole
        if why != SKIP_NONE:
            return why
        if whole == NULL:
            return SKIP_WAITS
        if whole.depth >= TUNNEL_LIMIT:
            return SKIP_NESTED
        enter_partial(whole, whole.size, w, s)
        why = read_layers(w, s)
    return why


cdef uint32_t first_hole(const Partial* d) noexcept nogil:
    """Bytes before it."""
    cdef uint32_t block = 0
    while 8 * block < d.reach and is_there(d, block):
        block += 1
    return min(8 * block, d.reach)
