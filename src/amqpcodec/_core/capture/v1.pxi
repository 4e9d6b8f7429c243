# AMQP 1.0 in captures: bytes of a direction to frames, and transfers to deliveries.

cdef enum:
    DELIVERIES_OPEN = 1024          # of a direction, and no more: each transfer looks through them

cdef inline uint64_t v1_search_limit(const Half* h) noexcept nogil:
    """Bytes of a frame that are believed without knowing where it begins."""
    if 0 < h.takes < 1 << 20:
        return h.takes
    return DEFAULT_FRAME_MAX


cdef void v1_count_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n) noexcept nogil:
    """Count a whole frame or protocol header, and learn from it."""
    cdef Fault fault
    cdef Cursor at
    cdef V1Look look
    cdef const V1Desc* d
    cdef uint64_t limit
    cdef size_t skip = 4 * <size_t>p[4]
    if p[0] == c'A':
        r.count.types[4] += 1
        return
    if p[5] > V1_FRAME_SASL:
        r.count.types[5] += 1
        return
    begin_cursor(&at, &fault, p + skip, p + n, p, 0)
    d = v1_find_descriptor(r.v1, &at, p[5])
    limit = h.takes
    if p[5] == V1_FRAME_SASL:
        r.count.types[7] += 1
        limit = V1_MIN_MAX_FRAME
    elif skip == n:
        r.count.types[3] += 1
    else:
        r.count.types[6] += 1
    if d != NULL:
        r.v1_counts[d.code] += 1
        if d.frame == V1_AMQP_FRAME:
            h.past_sasl = True
        if d.code == DESC_OPEN:
            limit = V1_MIN_MAX_FRAME
            if v1_read_performative(r.v1, p, n, &look, 1 << 2):
                other_half(c, h).takes = MAX_U32 if look.v[2].wire_type == V1_NULL \
                    else max(<uint64_t>V1_MIN_MAX_FRAME, look.v[2].u)
    if limit and n > limit:
        h.flags |= CAPTURED_OVERSIZE


cdef int64_t v1_sync(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """As sync_bytes."""
    cdef size_t i = 0
    cdef uint64_t size
    cdef const uint8_t* q
    while i < n:
        q = p + i
        if c.left_out and not is_protocol_header(q, n - i):
            break
        if AMQP_UNLIKELY(h.tls and n - i >= 4 and not memcmp(q, <const char*>b"AMQP", 4) == 0
                         and h.layer.kind == LAYER_NONE):
            find_layer(r, c, h, OVER_TLS)
            break
        if n - i < 8:
            h.input.need = 8
            break
        if q[0] == c'A' and is_protocol_header(q, n - i):
            if v1_emit(r, c, h, q, 8, at + <int64_t>i) < 0:
                return NO_MEMORY
            adopt_version(r, c, h, q)
            i += 8
            if not c.v1:
                break
            continue
        size = load32(q)
        if size < 8 or q[4] < 2 or 4 * <uint64_t>q[4] > size:
            h.broken = 0
        elif size > r.limits.frame or (size > v1_search_limit(h) and not v1_plausible(r.v1, q, n - i, size)):
            h.broken = LOST_LARGE
        else:
            if size > n - i:
                h.input.need = <size_t>size
                break
            if v1_emit(r, c, h, q, <size_t>size, at + <int64_t>i) < 0:
                return NO_MEMORY
            i += <size_t>size
            continue
        h.state = SEARCHING
        h.input.scan = 1
        break
    return <int64_t>i


cdef int v1_expected(Reading* r, Half* h, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a frame may begin after one that a gap cut: as many of its bytes as there are."""
    if n and p[0] == c'A':
        return v1_is_header(p, n)
    return n == 0 or v1_plausible(r.v1, p, n, v1_search_limit(h))


# ---- rows ----

cdef int v1_emit(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """A row of a whole frame, or at message level what it makes of deliveries."""
    c.spoke = True
    v1_count_frame(r, c, h, p, n)
    if r.level.events:
        return track_v1_frame(r, c, h, p, n, at)
    if r.level.messages:
        return add_v1_message_frame(r, c, h, p, n, at)
    return add_row(r, c, h, p, n, at, 0, next_flags(h))


cdef Open* find_delivery(Half* h, uint16_t channel, uint64_t handle) noexcept nogil:
    cdef Open* o = h.open
    while o != NULL and (o.channel != channel or o.handle != handle):
        o = o.next
    return o


cdef bint v1_same(Reading* r, const Open* o, const V1Look* look) noexcept nogil:
    """Whether what a later transfer says of its delivery is what the first said."""
    cdef V1Look first
    if v1_is_silent(look.v):
        return True
    # As when it came: it can be read.
    v1_read_performative(r.v1, o.data.p, load32(o.data.p), &first, DELIVERY_FIELDS)
    return v1_same_delivery(first.v, look.v)


cdef int v1_end_some(Reading* r, Conn* c, Half* h, uint8_t code, uint16_t channel, const V1Look* look) noexcept nogil:
    """detach, end and close cut off what is open of their link, session or connection. At event level a delivery that
    its sender broke off is none."""
    cdef const V1Value* handle = &look.v[TRANSFER_HANDLE]
    cdef Open* o = h.open
    cdef Open* after
    if code == DESC_CLOSE and not r.level.events:
        return end_messages(r, c, h)
    while o != NULL:
        after = o.next
        if code == DESC_CLOSE or (o.channel == channel and (
                code == DESC_END or (handle.wire_type != V1_NULL and handle.u == o.handle))):
            if r.level.events:
                drop_open(r, h, o)
            elif close_open(r, c, h, o, CAPTURED_TRUNCATED) < 0:
                return NO_MEMORY
        o = after
    return 0


cdef int track_alone_v1(Reading* r, Conn* c, V1Look* look, const uint8_t* p, size_t n, uint64_t number) noexcept nogil:
    """A transfer that is all of its delivery, at event level."""
    cdef Delivery y
    y.v = look.v
    y.number = number
    y.settled = v1_true(&look.v[TRANSFER_SETTLED])
    y.complete = True
    y.payload = look.payload
    y.n = <size_t>(p + n - look.payload)
    return track_delivery(&r.level.tracking, c.tracker, load16(p + 6), &y)


cdef int open_delivery(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const V1Look* look, uint64_t number,
                       CapRow* place) noexcept nogil:
    """The first transfer of several."""
    cdef Open* oldest = h.open
    if r.level.events and move_place(r, c, h, place) < 0:
        return NO_MEMORY
    if h.n_open >= r.limits.deliveries:         # the oldest is given up
        while oldest.next != NULL:
            oldest = oldest.next
        if end_open(r, c, h, oldest, False, NULL) < 0:
            return NO_MEMORY
    if open_message(r, h, p, n, place, next_flags(h)) < 0:
        return NO_MEMORY
    h.open.delivery = DELIVERY_OPEN
    h.open.channel = load16(p + 6)
    h.open.handle = <uint32_t>look.v[TRANSFER_HANDLE].u
    h.open.number = number
    return 0


cdef int add_transfer(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, V1Look* look,
                      CapRow* place) noexcept nogil:
    """A transfer at either level (Part 2 §2.6.14)."""
    cdef uint16_t channel = load16(p + 6)
    cdef Open* o = find_delivery(h, channel, look.v[TRANSFER_HANDLE].u)
    cdef DeliveryState none = DELIVERY_IDLE
    cdef DeliveryOutcome outcome
    cdef uint64_t number = 0
    cdef bint more = v1_true(&look.v[TRANSFER_MORE]), aborted = v1_true(&look.v[TRANSFER_ABORTED])
    cdef bint events = r.level.events, lost, large
    outcome = delivery_step(&none if o == NULL else &o.delivery,
                            delivery_event(more, aborted, o != NULL and not v1_same(r, o, look)))
    large = o != NULL and (o.n + n > r.limits.message or r.level.open_bytes + n > OPEN_LIMIT)
    if delivery_fault(outcome) != NULL or (large and events):
        # What is open ends; the transfer is taken as the first of another.
        if end_open(r, c, h, o, False, place) < 0:
            return NO_MEMORY
        o = NULL
        outcome = delivery_step(&none, delivery_event(more, aborted, False))
    lost = o == NULL and v1_is_unidentified(look.v)         # a later one, whose first was not captured
    if events and track_transfer(&r.level.tracking, c.tracker, channel, look.v, o == NULL and not lost, &number) < 0:
        return NO_MEMORY
    if outcome == DELIVERY_DROPPED:
        if o != NULL:
            if not events:
                h.flags |= o.flags & (CAPTURED_GAP | CAPTURED_RESYNC | CAPTURED_MIDSTREAM)
            drop_open(r, h, o)
        return 0
    if o == NULL and (lost or outcome == DELIVERY_ALONE):
        if events:
            return 0 if lost else track_alone_v1(r, c, look, p, n, number)
        return add_placed_row(r, c, h, p, n, 0, next_flags(h) | (CAPTURED_TRUNCATED if lost else 0), place)
    if o == NULL:
        return open_delivery(r, c, h, p, n, look, number, place)
    if large:       # at message level
        if end_open(r, c, h, o, False, place) < 0:
            return NO_MEMORY
        return add_placed_row(r, c, h, p, n, 0, next_flags(h), place)
    if extend_open(r, o, p, n, place, next_flags(h)) < 0:
        return NO_MEMORY
    return end_open(r, c, h, o, True, place) if outcome == DELIVERY_COMPLETE else 0


cdef int track_v1_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """One frame of 1.0 at event level, or a protocol header."""
    cdef Tracker* t = tracker_of(r, c)
    cdef Tracking* g = &r.level.tracking
    cdef TrackedPerformative f
    cdef CapRow place
    cdef V1Look look
    cdef bint read
    cdef int status
    if t == NULL:
        return NO_MEMORY
    t.v1 = True
    find_place(h, n, at, &place)
    place.version = c.now
    begin_tracking(r, h, c, place.first_time)
    g.unordered = at < h.order.unordered_to
    if p[0] == c'A':
        status = track_v1_header(g, t)
    elif n == 4 * <size_t>p[4]:
        status = track_heartbeat(g, t)
    else:
        read = v1_read_performative(r.v1, p, n, &look, ALL_FIELDS)
        f.code = look.desc.code if read else 0
        f.channel = load16(p + 6)
        f.v = look.v
        if p[5] != V1_FRAME_AMQP:
            status = track_sasl(g, t, &f if read else NULL)
        elif f.code == DESC_TRANSFER:
            hear_frame(g, t, False)
            status = add_transfer(r, c, h, p, n, &look, &place)
        else:
            if DESC_DETACH <= f.code <= DESC_CLOSE:
                v1_end_some(r, c, h, f.code, f.channel, &look)
            status = track_performative(g, t, &f if read else NULL)
    return status if status < 0 else add_frame_events(r, c, h, &place)


cdef int add_v1_message_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """One frame of 1.0 at message level."""
    cdef CapRow place
    cdef V1Look look
    cdef bint read
    find_place(h, n, at, &place)
    place.version = c.now
    if p[0] == c'A' or n == 4 * <size_t>p[4]:
        return 0            # no row; what happened before it, the next one tells
    read = p[5] == V1_FRAME_AMQP and v1_read_performative(r.v1, p, n, &look, DELIVERY_FIELDS)
    if read and look.desc.code == DESC_TRANSFER and look.v[TRANSFER_HANDLE].wire_type != V1_NULL:
        return add_transfer(r, c, h, p, n, &look, &place)
    if read and DESC_DETACH <= look.desc.code <= DESC_CLOSE:
        if v1_end_some(r, c, h, look.desc.code, load16(p + 6), &look) < 0:
            return NO_MEMORY
    return add_placed_row(r, c, h, p, n, 0, next_flags(h), &place)
