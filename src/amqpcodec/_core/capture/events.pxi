# Event level of captures: frames of both directions go to their connection's tracker (_core/events), and each event
# that it makes becomes a row, whose bytes are the event.

cdef enum:
    END_POSITION = 1 << 24          # from here on count the rows of a packet that ended a connection
    UNSAID_POSITION = 1 << 25       # and those of connections that nothing more is read of
    ACK_AHEAD = 1 << 26             # bytes that a peer may be behind what was acknowledged


cdef void begin_tracking(Reading* r, const Half* h, const Conn* c, int64_t time) noexcept nogil:
    """What follows was sent by this direction, at this time (ns)."""
    cdef Tracking* g = &r.level.tracking
    g.side = h == &c.half[1]
    g.unordered = False
    g.now = NO_NUMBER if time == NO_TIME else coarser_time(time, 1000)
    g.output.n = 0
    g.output.begin = g.output.used = r.rows.used
    g.output.hint = r.rows.hint
    g.output.data = &r.rows.data


cdef int add_event_row(Reading* r, Conn* c, Half* h, size_t n, const CapRow* place, uint8_t flags,
                       int32_t* rows) noexcept nogil:
    """The next n bytes are there already: append_event() stored them. rows: number of the next row of the
    packet of `place`, which this one is; NULL: it is `place`."""
    cdef CapRow* row = next_row(&r.rows)
    if row == NULL:
        return NO_MEMORY
    row[0] = place[0]
    if rows != NULL:
        row.position = rows[0]
        rows[0] += 1
        row.order_turn = max(row.order_turn, h.last_turn)
        place_in_turn(h, row)
    if begin_row(r, c, h, flags, row) < 0:
        return NO_MEMORY
    close_row(&r.rows, n, 0)
    return 0


cdef int add_waiting_events(Reading* r, Conn* c, Half* h, uint8_t flags, const CapRow* first, const CapRow* others,
                            int32_t* rows) noexcept nogil:
    """Rows of the events that the tracker made. flags: of the first one. first: its place, or NULL: then `others` is
    its place too. rows: number of the next row of the packet of `others`, of which one is taken already."""
    cdef EventOutput* o = &r.level.tracking.output
    cdef const size_t* end = <const size_t*>o.end.p
    cdef const CapRow* place = others if first == NULL else first
    cdef size_t at = o.begin
    cdef bint taken = first == NULL
    cdef size_t i
    for i in range(o.n):
        if add_event_row(r, c, h, end[i] - at, place, flags, rows if i and taken else NULL) < 0:
            return NO_MEMORY
        taken = place == others
        place = others
        flags = 0
        at = end[i]
    o.n = 0
    o.begin = o.used
    return 0


cdef int add_frame_events(Reading* r, Conn* c, Half* h, const CapRow* place) noexcept nogil:
    """Of the frame at hand."""
    cdef uint8_t flags = h.flags
    if r.level.tracking.output.n:
        h.flags = 0
        return add_waiting_events(r, c, h, flags, NULL, place, &half_mark(h).rows)
    return 0


cdef Tracker* tracker_of(Reading* r, Conn* c) noexcept nogil:
    if c.tracker == NULL:
        c.tracker = new_tracker(&r.level.tracking)
    return c.tracker


cdef void frame_of(Reading* r, const Conn* c, int version, const uint8_t* p, size_t n, TrackedFrame* f) noexcept nogil:
    """A method's frame as the tracker takes it."""
    cdef const KnownProtocol* known = &r.protocol[version]
    f.p = p
    f.n = n
    f.channel = load16(p + 1)
    f.desc = method_of(known, load32(p + 7)) if n >= 12 else NULL
    f.method = &known.events[f.desc - known.descs] if f.desc != NULL else NULL
    f.about = NULL


cdef void name_subject(Reading* r, const Conn* c, TrackedFrame* f) noexcept nogil:
    """Of a close: which method it answers. Its arguments end with the ids of that."""
    cdef const Desc* d
    if f.method == NULL or (f.method.on != ON_CONNECTION_CLOSE and f.method.on != ON_CHANNEL_CLOSE) or f.n < 16:
        return
    d = method_of(&r.protocol[c.now], load32(f.p + f.n - 5))
    if d != NULL and load32(f.p + f.n - 5) != 0:
        f.about = d.name


cdef int track_open_content(Reading* r, Conn* c, Open* o, bint complete) noexcept nogil:
    """Make events of a content, whole or not."""
    cdef TrackedFrame f
    cdef Content x
    frame_of(r, c, o.row.version, o.data.p, <size_t>load32(o.data.p + 3) + 8, &f)
    x.desc = f.desc
    x.method = f.p
    x.n_method = f.n
    x.n_header = o.n - f.n
    x.header = o.data.p + f.n if x.n_header else NULL
    x.number = o.number
    x.body = o.body
    x.complete = complete
    return track_content(&r.level.tracking, c.tracker, &f, &x)


cdef int track_open_delivery(Reading* r, Conn* c, Open* o, bint complete) noexcept nogil:
    """Make events of a delivery of 1.0, whole or not. Its frames could be read when they came."""
    cdef V1Look first, look
    cdef Delivery y
    cdef size_t at = 0, size
    v1_read_performative(r.v1, o.data.p, load32(o.data.p), &first, ALL_FIELDS)
    y.v = first.v
    y.number = o.number
    y.settled = False
    y.complete = complete
    y.n = 0
    while at < o.n:
        size = load32(o.data.p + at)
        v1_read_performative(r.v1, o.data.p + at, size, &look, ALL_FIELDS)
        y.settled |= v1_true(&look.v[TRANSFER_SETTLED])
        if bytes_add(&r.level.joined, &y.n, look.payload, <size_t>(o.data.p + at + size - look.payload)) < 0:
            return NO_MEMORY
        at += size
    y.payload = r.level.joined.p
    return track_delivery(&r.level.tracking, c.tracker, o.channel, &y)


cdef inline bint is_delivery(const Reading* r, const Open* o) noexcept nogil:
    return r.v1 != NULL and o.row.version == r.v1_number


cdef int close_tracked(Reading* r, Conn* c, Half* h, Open* o, bint complete, CapRow* place) noexcept nogil:
    """Make events of a content or a delivery, whole or not. place: of the frame at hand, or NULL."""
    cdef CapRow own
    cdef int32_t rows = END_POSITION
    cdef int status
    if tracker_of(r, c) == NULL:
        return NO_MEMORY
    begin_tracking(r, h, c, o.row.first_time)
    status = track_open_delivery(r, c, o, complete) if is_delivery(r, o) else track_open_content(r, c, o, complete)
    if status == 0 and place == NULL:
        own = o.row
        own.position = END_POSITION - 1
        status = add_waiting_events(r, c, h, o.flags, &o.row, &own, &rows)
    elif status == 0:
        status = add_waiting_events(r, c, h, o.flags, &o.row, place, &half_mark(h).rows)
    drop_open(r, h, o)
    return status


cdef int move_place(Reading* r, Conn* c, Half* h, CapRow* place) noexcept nogil:
    """Where the frame at hand made events, it has another place for its next one."""
    if r.level.tracking.output.n == 0:
        return 0
    if add_frame_events(r, c, h, place) < 0:
        return NO_MEMORY
    place.position = half_mark(h).rows
    half_mark(h).rows += 1
    place.order_turn = max(place.order_turn, h.last_turn)
    place.order_position = place.position
    place_in_turn(h, place)
    return 0


cdef int track_complete(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at, CapRow* row,
                        CapRow* place) noexcept nogil:
    """A method with its whole content, which stand one after the other. row: place of the method; place: of the last
    frame."""
    cdef Tracker* t = tracker_of(r, c)
    cdef TrackedFrame f
    cdef Content x
    cdef size_t i, total
    cdef uint8_t flags = h.flags
    if t == NULL:
        return NO_MEMORY
    begin_tracking(r, h, c, row.first_time)
    r.level.tracking.unordered = at < h.order.unordered_to
    memset(&x, 0, sizeof(x))
    frame_of(r, c, c.now, p, <size_t>load32(p + 3) + 8, &f)
    x.desc = f.desc
    x.method = p
    x.n_method = f.n
    x.header = p + f.n
    x.n_header = <size_t>load32(x.header + 3) + 8
    x.complete = True
    i = x.n_method + x.n_header
    while i < n:
        total = <size_t>load32(p + i + 3) + 8
        hash_bytes(&x.body, p + i + 7, total - 8)
        i += total
    if track_opening(&r.level.tracking, t, &f, &x.number) < 0 or track_content(&r.level.tracking, t, &f, &x) < 0:
        return NO_MEMORY
    place.version = row.version
    h.flags = 0
    return add_waiting_events(r, c, h, flags, row, place, &half_mark(h).rows)


cdef int track_bytes(Reading* r, Conn* c, Half* h, size_t n, int64_t at, uint64_t reason) noexcept nogil:
    """n bytes that are no frame. Those around a gap are no event of their own."""
    cdef CapRow place
    if reason == LOST_CUT:
        return 0
    if tracker_of(r, c) == NULL:
        return NO_MEMORY
    find_place(h, n, at, &place)
    place.version = c.now
    begin_tracking(r, h, c, place.first_time)
    if track_loss(&r.level.tracking, c.tracker, 0) < 0:
        return NO_MEMORY
    return add_frame_events(r, c, h, &place)


cdef int track_gap(Reading* r, Conn* c, Half* h, uint64_t n, int64_t at) noexcept nogil:
    """n bytes that were not captured."""
    cdef CapRow place
    if tracker_of(r, c) == NULL:
        return NO_MEMORY
    find_place(h, 0, at, &place)
    place.version = c.now
    begin_tracking(r, h, c, place.first_time)
    h.flags |= CAPTURED_GAP
    if track_loss(&r.level.tracking, c.tracker, LOST_UNKNOWN if r.named.loses else n) < 0:
        return NO_MEMORY
    return add_frame_events(r, c, h, &place)


# ---- the end of TCP, and of reading ----

cdef void place_at_mark(const Conn* c, const Mark* mark, int32_t position, CapRow* place) noexcept nogil:
    memset(place, 0, sizeof(CapRow))
    place.version = c.now
    place.position = place.order_position = position
    place.file = mark.file
    place.order_turn = mark.turn
    place.first_time = place.last_time = mark.time
    place.packet_at = mark.file_at
    place.packet = mark.number


cdef void see_tcp_end(Reading* r, Conn* c, int side, const Segment* s) noexcept nogil:
    """The newest packet ends one direction: of the first one an event is made once nothing before it is missing."""
    if not c.end.pending and (c.tracker == NULL or c.tracker.phase != PHASE_OVER):
        c.end.pending = True
        c.end.reset = s.flags & TCP_RST != 0
        c.end.silent = not s.flags & TCP_ACK
        c.end.side = <uint8_t>side
        c.end.mark = r.last


cdef bint is_read_to_end(const Half* h) noexcept nogil:
    """Whether nothing that is known to have been sent is missing, or waits."""
    return (h.waiting.n == 0 and h.offset >= h.known_end and h.acked <= h.offset + 1 and h.input.held == 0
            and not (h.state == SEARCHING and h.input.n))


cdef int add_tcp_end(Reading* r, Conn* c, bint complete) noexcept nogil:
    cdef Half* h = &c.half[c.end.side]
    cdef CapRow place
    cdef int32_t rows = END_POSITION + 1
    c.end.pending = False
    if c.tracker == NULL:
        return 0
    begin_tracking(r, h, c, c.end.mark.time)
    r.level.tracking.unordered = c.end.silent
    if track_tcp_end(&r.level.tracking, c.tracker, c.end.reset, complete) < 0:
        return NO_MEMORY
    place_at_mark(c, &c.end.mark, END_POSITION, &place)
    place_in_turn(h, &place)
    return add_waiting_events(r, c, h, 0, NULL, &place, &rows)


cdef int check_tcp_end(Reading* r, Conn* c) noexcept nogil:
    if c.end.pending and is_read_to_end(&c.half[0]) and is_read_to_end(&c.half[1]):
        return add_tcp_end(r, c, True)
    return 0


cdef int report_unread(Reading* r, Conn* c) noexcept nogil:
    """A connection of values that speaks no protocol that is read: one event says so."""
    cdef Half* h = &c.half[0] if c.half[0].marks.n else &c.half[1]
    cdef Mark mark = half_mark(h)[0]
    cdef CapRow place
    cdef int32_t rows = 1
    if tracker_of(r, c) == NULL:
        return NO_MEMORY
    begin_tracking(r, h, c, mark.time)
    if track_loss(&r.level.tracking, c.tracker, 0) < 0:
        return NO_MEMORY
    place_at_mark(c, &mark, 0, &place)
    place_in_turn(h, &place)
    return add_waiting_events(r, c, h, 0, NULL, &place, &rows)


cdef int end_tracking(Reading* r, Conn* c) noexcept nogil:
    """All of the connection was read that ever will be."""
    cdef Half* h = &c.half[0]
    cdef CapRow place
    cdef int32_t rows
    if c.tracker == NULL:
        return report_unread(r, c) if c.named else 0
    if c.named and c.left_out and report_unread(r, c) < 0:
        return NO_MEMORY
    if c.end.pending:
        return add_tcp_end(r, c, c.tracker.loose == 0)
    if c.tracker.phase == PHASE_OVER:
        return 0
    begin_tracking(r, h, c, r.last.time)
    if track_recording_end(&r.level.tracking, c.tracker, c.tracker.loose == 0) < 0:
        return NO_MEMORY
    if r.level.end_turn != r.last.turn:
        r.level.end_turn = r.last.turn
        r.level.end_rows = UNSAID_POSITION
    rows = r.level.end_rows + 1
    place_at_mark(c, &r.last, r.level.end_rows, &place)
    place_in_turn(h, &place)
    if add_waiting_events(r, c, h, 0, NULL, &place, &rows) < 0:
        return NO_MEMORY
    r.level.end_rows = rows
    return 0


# ---- which direction goes first ----

cdef bint is_ahead(Conn* c, const Half* h, uint32_t ack) noexcept nogil:
    """Whether bytes were sent by one who had more of the peer's than was read.

    ack: the sequence number of what it had; 0: not known. One more may be a FIN's."""
    cdef const Half* peer = other_half(c, h)
    cdef int64_t ahead
    if ack == 0 or not peer.seen:
        return False
    ahead = position_of(peer, ack) - peer.offset
    ahead += <int64_t>(peer.input.n if peer.state == SEARCHING else peer.input.held)
    return 1 < ahead < ACK_AHEAD


cdef void mark_alone(Half* h, uint32_t ack, int64_t to) noexcept nogil:
    """The same while nothing of the peer was seen: its sender may have had more than at first."""
    if h.order.first_ack == 0:
        h.order.first_ack = ack
    elif ack and <int32_t>(ack - h.order.first_ack) > 0:
        h.order.unordered_to = max(h.order.unordered_to, to)


cdef void mark_ahead(Conn* c, Half* h, uint32_t ack, int64_t to) noexcept nogil:
    """Bytes up to `to` are read; if those of the peer's that their sender had are not, no one knows their order."""
    cdef Half* peer = other_half(c, h)
    if AMQP_UNLIKELY(not peer.seen):
        mark_alone(h, ack, to)
    elif AMQP_UNLIKELY(is_ahead(c, h, ack)):
        h.order.unordered_to = max(h.order.unordered_to, to)
        peer.order.unordered_to = max(peer.order.unordered_to, position_of(peer, ack))


cdef inline bint waits_for_peer(const Reading* r, Conn* c, const Half* h, uint32_t ack) noexcept nogil:
    """At event level, whether what the peer sent before these bytes comes first. Where no one knows yet where a frame
    begins, frames are found by those that follow: they are read ahead."""
    return r.level.events and h.state != SEARCHING and is_ahead(c, h, ack)
