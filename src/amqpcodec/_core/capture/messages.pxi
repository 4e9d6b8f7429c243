# Message level of captures: the frames of a method and its content are kept, by channel, until they are
# one row. Frames that make no message are rows by themselves: decoding says why.

cdef int close_open(Reading* r, Conn* c, Half* h, Open* o, uint8_t flags) noexcept nogil:
    """Make it a row, whole or not."""
    cdef int status
    if r.level.events:
        o.flags |= flags
        return close_tracked(r, c, h, o, False, NULL)
    status = add_placed_row(r, c, h, o.data.p, o.n, 0, o.flags | flags, &o.row)
    drop_open(r, h, o)
    return status


cdef int end_messages(Reading* r, Conn* c, Half* h) noexcept nogil:
    """No byte of what is open will come any more, or no one could tell. The oldest goes first."""
    cdef Open* o
    while h.open != NULL:
        o = h.open
        while o.next != NULL:
            o = o.next
        if close_open(r, c, h, o, CAPTURED_TRUNCATED) < 0:
            return NO_MEMORY
    return 0


cdef inline bint in_login(const Conn* c, const Half* h) noexcept nogil:
    """Whether neither an open of 1.0 nor a tune-ok was seen."""
    return not h.past_sasl if c.v1 else c.frame_max < 0


cdef inline void hide_unreadable(Reading* r, Conn* c, const uint8_t* p, size_t n, size_t at) noexcept nogil:
    """The frame of 0-x at p, or the beginning of one, that was made the newest row, from `at` on in the rows' bytes:
    channel 0 is that of logins. What cannot be read there may be a damaged one, and is overwritten."""
    if AMQP_UNLIKELY(n >= 12 and load16(p + 1) == 0):
        hide_unreadable_login(r, c, at)


cdef void hide_unreadable_login(Reading* r, Conn* c, size_t at) noexcept nogil:
    cdef uint8_t* p = r.rows.data.p + at
    cdef size_t n = r.rows.used - at
    cdef bint complete
    if not r.redact or n < 12 or p[0] == c'A' or is_secret(load32(p + 7)):
        return
    complete = <uint64_t>load32(p + 3) + 8 == n
    if not complete or not any_method(r, c.may, load32(p + 7)) or (p[0] == FRAME_METHOD
                                                                   and not any_strict(r, c.may, p, n)):
        hide(p + 11, n - 11 - complete)


cdef int add_alone(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, const CapRow* place) noexcept nogil:
    """A row of one frame."""
    cdef size_t at = r.rows.used
    if add_placed_row(r, c, h, p, n, 0, next_flags(h), place) < 0:
        return NO_MEMORY
    hide_unreadable(r, c, p, n, at)
    return 0


# ---- what a frame makes of what is open, at either level ----

cdef int end_open(Reading* r, Conn* c, Half* h, Open* o, bint complete, CapRow* place) noexcept nogil:
    """The frame at hand completes it, or no frame will. place: of that frame; NULL: it is given up for another one."""
    cdef bint unordered = r.level.tracking.unordered
    if not r.level.events:
        return close_open(r, c, h, o, 0 if complete else CAPTURED_TRUNCATED)
    if close_tracked(r, c, h, o, complete, place) < 0:
        return NO_MEMORY
    if not complete and place != NULL:
        begin_tracking(r, h, c, place.first_time)
        r.level.tracking.unordered = unordered
    return 0


cdef int track_alone(Reading* r, Conn* c, Half* h, TrackedFrame* f, const uint8_t* p) noexcept nogil:
    """A frame of no content that is open, at event level."""
    cdef Tracking* g = &r.level.tracking
    if p[0] == FRAME_METHOD:
        name_subject(r, c, f)
        return track_method(g, c.tracker, f)
    # Of a content whose beginning is missing.
    return 0 if c.tracker.gaps >> g.side & 1 or not h.syn else track_loss(g, c.tracker, 0)


cdef int add_content_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, CapRow* place) noexcept nogil:
    """A method, header or body frame."""
    cdef Open* o = find_open(h, load16(p + 1))
    cdef ContentMachine none
    cdef ContentOutcome outcome
    cdef TrackedFrame f
    cdef uint64_t number = 0
    cdef bint events = r.level.events, opening = False
    if p[0] == FRAME_METHOD:
        frame_of(r, c, c.now, p, n, &f)
        opening = f.desc != NULL and f.desc.has_content and f.channel != 0
    memset(&none, 0, sizeof(none))
    outcome = content_frame(&o.grammar if o != NULL else &none, p, n, opening)
    if o != NULL and (content_fault(outcome) != NULL or o.n + n > r.limits.message
                      or r.level.open_bytes + n > OPEN_LIMIT):
        # It does not belong there; or there is too much to keep.
        if end_open(r, c, h, o, False, place) < 0:
            return NO_MEMORY
        o = NULL
        outcome = content_frame(&none, p, n, opening)
    if outcome == CONTENT_BEGUN:
        # The content's event has a place of its own.
        if events and (track_opening(&r.level.tracking, c.tracker, &f, &number) < 0 or move_place(r, c, h, place) < 0):
            return NO_MEMORY
        if open_message(r, h, p, n, place, next_flags(h)) < 0:
            return NO_MEMORY
        h.open.grammar = none
        h.open.number = number
        return 0
    if o == NULL:
        return track_alone(r, c, h, &f, p) if events else add_alone(r, c, h, p, n, place)
    if events and p[0] == FRAME_BODY:
        hash_bytes(&o.body, p + 7, n - 8)
        o.row.last_time = place.last_time
        o.flags |= next_flags(h)
    elif extend_open(r, o, p, n, place, next_flags(h)) < 0:
        return NO_MEMORY
    return end_open(r, c, h, o, True, place) if outcome == CONTENT_COMPLETE else 0


# ---- frames ----

cdef int add_message_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """One frame of 0-x at message level, whatever it is."""
    cdef CapRow place
    find_place(h, n, at, &place)
    place.version = c.now
    if p[0] == c'A' or (p[0] == FRAME_HEARTBEAT and n == 8 and load16(p + 1) == 0):
        return 0            # no row; what happened before it, the next one tells
    if not is_known_type(p[0]) or p[0] == FRAME_HEARTBEAT:
        return add_alone(r, c, h, p, n, &place)
    return add_content_frame(r, c, h, p, n, &place)


cdef int track_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """The same at event level."""
    cdef Tracker* t = tracker_of(r, c)
    cdef Tracking* g = &r.level.tracking
    cdef CapRow place
    cdef int status
    if t == NULL:
        return NO_MEMORY
    find_place(h, n, at, &place)
    place.version = c.now
    begin_tracking(r, h, c, place.first_time)
    g.unordered = at < h.order.unordered_to
    if p[0] == c'A':
        status = track_v1_header(g, t) if v1_is_header(p, n) else track_protocol_header(g, t)
    elif p[0] == FRAME_HEARTBEAT:
        status = track_heartbeat(g, t)
    elif is_known_type(p[0]):
        status = add_content_frame(r, c, h, p, n, &place)
    else:
        status = track_loss(g, t, 0)
    return status if status < 0 else add_frame_events(r, c, h, &place)


cdef size_t whole_message(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n) noexcept nogil:
    """Bytes of the message that stands at p as a whole: method, header, body frames; or 0, also of one that is
    too large to be put together."""
    cdef uint16_t channel
    cdef const Desc* d
    cdef uint64_t total, size, limit = sync_limit(r, c)
    cdef size_t at
    if n < 19 or p[0] != FRAME_METHOD:
        return 0
    channel = load16(p + 1)
    d = method_of(&r.protocol[c.version], load32(p + 7))
    total = <uint64_t>load32(p + 3) + 8
    if d == NULL or not d.has_content or channel == 0 or total < 12 or total > n or p[total - 1] != FRAME_END:
        return 0
    at = <size_t>total
    if n - at < 20 or p[at] != FRAME_HEADER or load16(p + at + 1) != channel:
        return 0
    total = <uint64_t>load32(p + at + 3) + 8
    if total < 20 or total > limit or total > n - at or p[at + total - 1] != FRAME_END:
        return 0
    size = load64(p + at + 11)
    at += <size_t>total
    while size:
        if n - at < 8 or p[at] != FRAME_BODY or load16(p + at + 1) != channel:
            return 0
        total = <uint64_t>load32(p + at + 3) + 8
        if total > limit or total > n - at or p[at + total - 1] != FRAME_END or total - 8 > size or total == 8:
            return 0
        size -= total - 8
        at += <size_t>total
    return 0 if at > r.limits.message or find_open(h, channel) != NULL else at


cdef int emit_whole(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    """A row of a message that stands at p as a whole."""
    cdef CapRow row, place
    cdef size_t i = 0, total
    cdef uint8_t flags = h.flags
    if not r.level.events:
        h.flags = 0
    while i < n:
        total = <size_t>load32(p + i + 3) + 8
        count_frame(r, c, h, p + i, total)
        find_place(h, total, at + <int64_t>i, &place)
        if i == 0:
            row = place
            row.version = c.now
        i += total
    row.last_time = place.last_time
    if r.level.events:
        return track_complete(r, c, h, p, n, at, &row, &place)
    return add_placed_row(r, c, h, p, n, 0, flags, &row)


# ---- what a row is made of, at either level ----

cdef inline int emit_frame(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at) noexcept nogil:
    cdef size_t used
    count_frame(r, c, h, p, n)
    if r.level.events:
        return track_frame(r, c, h, p, n, at)
    if r.level.messages:
        return add_message_frame(r, c, h, p, n, at)
    used = r.rows.used
    if add_row(r, c, h, p, n, at, 0, next_flags(h)) < 0:
        return NO_MEMORY
    hide_unreadable(r, c, p, n, used)
    return 0


cdef int add_rest(Reading* r, Conn* c, Half* h, const uint8_t* p, size_t n, int64_t at,
                  uint64_t reason) noexcept nogil:
    """Bytes that are no whole frame. reason: see LOST_OCTETS; 0 where decoding them says why."""
    cdef CapRows* o = &r.rows
    cdef uint8_t* out
    cdef size_t shown
    cdef size_t size
    cdef uint64_t lost = reason << 56 | n if reason else 0
    if n == 0:
        return 0
    if end_messages(r, c, h) < 0:
        return NO_MEMORY
    if r.level.events:
        return track_bytes(r, c, h, n, at, reason)
    size = o.used
    if add_row(r, c, h, p, n, at, lost, h.flags & (CAPTURED_GAP | CAPTURED_MIDSTREAM)
               | (CAPTURED_TRUNCATED if reason else 0)) < 0:
        return NO_MEMORY
    if h.state == IN_SYNC and not c.v1:
        hide_unreadable(r, c, p, n, size)
    if r.redact and h.state != IN_SYNC:
        # The end of a frame that no one saw the beginning of may be that of a secret; and after a
        # frame that is wrong, more of them may follow. A server has none but its challenges, during the login.
        if h != &c.half[0] and h.state != EXPECTING and not (h.syn and in_login(c, h)):
            return 0
        out = o.data.p + size
        if c.v1:
            if h.state != EXPECTING or h.cut_type != V1_FRAME_AMQP or h.tokens.cut:
                hide(out, n)
            return 0
        if h.state == EXPECTING:
            if h.cut_type == FRAME_METHOD and (h.cut_method == 0 or is_secret(h.cut_method)):
                hide(out, n)
            return 0
        shown = 0
        if reason == 0 and n >= 7:
            shown = <size_t>min(<uint64_t>load32(p + 3) + 8, <uint64_t>n)
        elif reason == LOST_LARGE:
            shown = min(n, <size_t>11)
        hide(out + shown, n - shown)
    return 0


cdef int add_gap(Reading* r, Conn* c, Half* h, int64_t at, uint64_t n) noexcept nogil:
    r.count.gaps += 1
    r.count.lost += n
    if end_messages(r, c, h) < 0:
        return NO_MEMORY
    if r.level.events:
        return track_gap(r, c, h, n, at)
    if n >= <uint64_t>1 << 56:
        n = (<uint64_t>1 << 56) - 1
    return add_row(r, c, h, NULL, 0, at, <uint64_t>LOST_GAP << 56 | n, CAPTURED_GAP)
