# One connection: its channels, how far it is, and the making of its events.

cdef enum:
    PHASE_UNKNOWN           # nothing says whether it was opened
    PHASE_OPENING
    PHASE_OPEN
    PHASE_CLOSING           # its close was seen
    PHASE_OVER              # and the end of TCP

# Channels by number are three steps away: most connections have few, and few memory of it.
cdef enum:
    CHANNEL_PAGE = 32       # channels
    CHANNEL_PAGES = 32      # pages that stand together
    CHANNEL_FOLDERS = 64

ctypedef TrackedChannel** ChannelPage       # or NULL, as a folder may be
ctypedef ChannelPage* ChannelFolder

# What the server of 1.0 says that it is, which addresses are read by.
cdef enum:
    BROKER_UNKNOWN
    BROKER_RABBITMQ
    BROKER_OTHER
    N_BROKERS

cdef enum:
    NUMBER_PROOF = 16       # frames of each side with one number, and no other, that make it the number of one session
    NO_SESSION = -1
    SEVERAL_SESSIONS = -2

# How the sides of a connection of 1.0 number sessions, for those whose begin was not seen.
cdef struct SessionNumbers:
    int32_t only            # the one number that frames of sessions had so far, or one of the two above
    uint8_t[2] frames       # of a side with it, NUMBER_PROOF at most
    bint differ             # a begin gave a session two numbers

# When a side was heard, for heartbeats.
cdef struct Hearing:
    int64_t last            # µs of the newest frame
    int64_t since           # frames of the other side since then, its longest pause between them
    int64_t pause
    int64_t beat            # time of the newest frame if that was a heartbeat
    int64_t spacing         # least time between two heartbeats in a row

cdef struct Tracker:
    uint8_t phase
    uint8_t gaps            # bits of the sides that lost something
    uint8_t loose           # bits of the sides that lost something after their newest frame
    int64_t last_id
    int64_t began           # µs of the client's first protocol header, if that was seen
    int32_t heartbeat       # seconds, -1 while it is not known
    int64_t[2] idle         # in 1.0: µs without a frame that a side bears, 0 for any, NO_NUMBER while it is not known
    bint v1                 # it speaks 1.0
    bint blocked            # the server said that it does not read what is published
    uint8_t broker
    SessionNumbers numbers
    Hearing[2] hearing
    ChannelFolder numbered[CHANNEL_FOLDERS]     # channels by number
    ChannelFolder* served       # sessions of 1.0 by the server's number: as many folders, or NULL
    TrackedChannel* first
    TrackedChannel* last
    VirtualHost* host       # NULL while it is not known
    NamedItems exclusive     # queues of this connection, by name
    EventText name          # its own copies
    EventText user
    EventText virtual_host
    EventText login         # in 1.0 the user, while no one knows yet whether the connection has a name
    EventText product       # of the client, and its version
    EventText version


cdef Tracker* new_tracker(Tracking* g) noexcept nogil:
    cdef Tracker* t = <Tracker*>calloc(1, sizeof(Tracker))
    if t != NULL:
        t.heartbeat = -1
        t.numbers.only = NO_SESSION
        t.began = t.idle[0] = t.idle[1] = t.hearing[0].last = t.hearing[1].last = NO_NUMBER
        t.hearing[0].beat = t.hearing[1].beat = NO_NUMBER
        t.hearing[0].spacing = t.hearing[1].spacing = NO_NUMBER
    return t


cdef inline TrackedChannel* find_numbered(const ChannelFolder* folders, uint16_t number) noexcept nogil:
    cdef ChannelFolder folder = folders[number // (CHANNEL_PAGE * CHANNEL_PAGES)]
    cdef ChannelPage page = NULL if folder == NULL else folder[number // CHANNEL_PAGE % CHANNEL_PAGES]
    return NULL if page == NULL else page[number % CHANNEL_PAGE]


cdef inline TrackedChannel* find_channel(const Tracker* t, uint16_t number) noexcept nogil:
    return find_numbered(t.numbered, number)


cdef inline TrackedChannel* find_served(const Tracker* t, int32_t number) noexcept nogil:
    """The session of 1.0 with this number of the server's; number: -1 for none."""
    return NULL if t.served == NULL or number < 0 else find_numbered(t.served, <uint16_t>number)


cdef int place_channel(ChannelFolder* folders, int32_t number, TrackedChannel* ch) noexcept nogil:
    """In the place of one with the same number. ch: NULL for none."""
    cdef ChannelFolder* folder = &folders[number // (CHANNEL_PAGE * CHANNEL_PAGES)]
    cdef ChannelPage* page
    if folder[0] == NULL:
        folder[0] = <ChannelFolder>calloc(CHANNEL_PAGES, sizeof(ChannelPage))
        if folder[0] == NULL:
            return NO_MEMORY
    page = &folder[0][number // CHANNEL_PAGE % CHANNEL_PAGES]
    if page[0] == NULL:
        page[0] = <ChannelPage>calloc(CHANNEL_PAGE, sizeof(TrackedChannel*))
        if page[0] == NULL:
            return NO_MEMORY
    page[0][number % CHANNEL_PAGE] = ch
    return 0


cdef void free_folders(ChannelFolder* folders) noexcept nogil:
    """What channels are found by, not the channels."""
    cdef int i, k
    for i in range(CHANNEL_FOLDERS):
        if folders[i] != NULL:
            for k in range(CHANNEL_PAGES):
                free(folders[i][k])
            free(folders[i])


cdef void remove_channel(Tracking* g, Tracker* t, TrackedChannel* ch) noexcept nogil:
    """Without a word."""
    forget_questions(g, TRACKED_PUBLISHES, &ch.publishes)
    forget_questions(g, TRACKED_DELIVERIES, &ch.deliveries)
    forget_requests(g, ch)
    forget_consumers(g, &ch.consumers)
    block_give(&ch.publishes.slots)
    block_give(&ch.deliveries.slots)
    if ch.number >= 0 and find_channel(t, <uint16_t>ch.number) == ch:
        place_channel(t.numbered, ch.number, NULL)
    if ch.session != NULL:
        if find_served(t, ch.session.channel) == ch:
            place_channel(t.served, ch.session.channel, NULL)
        free_session(g, ch.session)
    (&ch.before.after if ch.before != NULL else &t.first)[0] = ch.after
    (&ch.after.before if ch.after != NULL else &t.last)[0] = ch.before
    g.n[TRACKED_CHANNELS] -= 1
    free(ch)


cdef int add_channel(Tracking* g, Tracker* t, int32_t number, bint whole, TrackedChannel** out) noexcept nogil:
    """A channel from here on. whole: its opening was seen. out: NULL where too many are followed."""
    cdef TrackedChannel* ch
    out[0] = NULL
    if g.n[TRACKED_CHANNELS] >= g.limit[TRACKED_CHANNELS]:
        g.counts.forgotten[TRACKED_CHANNELS] += 1
        g.doubted = True
        return 0
    ch = <TrackedChannel*>calloc(1, sizeof(TrackedChannel))
    if ch == NULL:
        return NO_MEMORY
    if number >= 0 and place_channel(t.numbered, number, ch) < 0:
        free(ch)
        return NO_MEMORY
    ch.number = number
    ch.confirms = CONFIRMS_NOT if whole else CONFIRMS_UNKNOWN
    ch.counts = ch.asks = whole
    ch.unordered = g.unordered
    ch.before = t.last
    (&t.last.after if t.last != NULL else &t.first)[0] = ch
    t.last = ch
    g.n[TRACKED_CHANNELS] += 1
    out[0] = ch
    return 0


cdef void free_tracker(Tracking* g, Tracker* t) noexcept nogil:
    if t == NULL:
        return
    while t.first != NULL:
        remove_channel(g, t, t.first)
    forget_consumers(g, &t.exclusive)
    free_folders(t.numbered)
    if t.served != NULL:
        free_folders(t.served)
    free(t.served)
    free(<void*>t.name.p)
    free(<void*>t.user.p)
    free(<void*>t.virtual_host.p)
    free(<void*>t.login.p)
    free(<void*>t.product.p)
    free(<void*>t.version.p)
    free(t)


cdef int keep_text(EventText* to, const uint8_t* p, size_t n) noexcept nogil:
    """A copy in the place of the one before, NAME_LIMIT bytes at most, cut where a character begins."""
    cdef EventText text
    text.p = p if p != NULL else <const uint8_t*>b""
    text.n = <uint32_t>n
    cut_text(&text, NAME_LIMIT)
    return copy_text(to, &text)


cdef int emit_event(Tracking* g, Tracker* t, Event* e) noexcept nogil:
    cdef TrackedChannel* ch
    if e.head.certainty == IS_EXACT:
        ch = find_channel(t, <uint16_t>e.head.channel) if e.head.channel >= 0 else NULL
        if g.unordered or (ch != NULL and ch.unordered):
            e.head.certainty = IS_INFERRED
    t.last_id += 1
    e.head.event_id = t.last_id
    e.text[TEXT_CONNECTION_NAME] = t.name
    e.text[TEXT_USER] = t.user
    e.text[TEXT_VIRTUAL_HOST] = t.virtual_host
    return append_event(&g.output, e)


# ---- its virtual host ----

cdef int host_of(Tracking* g, Tracker* t, VirtualHost** out) noexcept nogil:
    """out: NULL where its name is not known, or too many are followed."""
    cdef EventText name = t.virtual_host
    if t.host == NULL:
        if name.p == NULL and t.broker == BROKER_RABBITMQ and t.idle[0] != NO_NUMBER:
            name.p = <const uint8_t*>b"/"       # of a client of 1.0 that names none
            name.n = 1
        if name.p != NULL and find_host(g, &name, &t.host) < 0:
            return NO_MEMORY
    out[0] = t.host
    return 0


cdef int doubt_changes(Tracking* g, Tracker* t) noexcept nogil:
    """What the connection changes in its virtual host may be missing."""
    cdef VirtualHost* host = NULL
    if host_of(g, t, &host) < 0:
        return NO_MEMORY
    if host != NULL:
        doubt_host(g, host)
    else:
        g.doubted = True
        expect_changes(g)
    return 0


cdef inline void set_elapsed(Tracking* g, Event* e, int64_t since) noexcept nogil:
    """A duration that is negative is none, and counted."""
    if g.now == NO_NUMBER or since == NO_NUMBER:
        return
    if g.now < since:
        g.counts.negative += 1
    else:
        e.head.elapsed_us = g.now - since


cdef inline bint omit_route(Event* e) noexcept nogil:
    """An answer is as certain as what it answers is known: a route by bindings is not repeated. Whether it was one."""
    if e.head.routed != ROUTED_BY_BINDINGS:
        return False
    e.head.routed = ROUTED_NOT
    e.text[TEXT_ROUTE].p = e.text[TEXT_QUEUE].p = NULL
    return True


cdef int answer_question(Tracking* g, Tracker* t, Question* q, int event, int outcome, int certainty,
                         const char* reason) noexcept nogil:
    """An event that says again what its question said, and is the answer to it; inferred if its queue is."""
    cdef Event e
    cdef bint guessed
    load_event(question_bytes(q), &e)
    guessed = not omit_route(&e) and e.head.certainty == IS_INFERRED
    if event == EVENT_CONFIRMED and certainty == IS_INFERRED and e.head.delivery_tag == NO_NUMBER:
        e.head.delivery_tag = <int64_t>q.number     # which its publish does not say
    if event == EVENT_SETTLED:
        e.head.settles = SETTLES_MANUAL
    e.head.answers = e.head.event_id
    e.head.event = <uint8_t>event
    e.head.outcome = <uint8_t>outcome
    if guessed or (e.head.channel < 0 and certainty == IS_EXACT):
        certainty = IS_INFERRED     # a session whose number was not known is one by inference
    e.head.certainty = <uint8_t>certainty
    e.head.initiator = <uint8_t>(INITIATOR_NONE if reason != NULL else INITIATOR_CLIENT + g.side)
    e.head.message_count = NO_NUMBER
    e.text[TEXT_DETAILS].p = NULL
    set_word(&e, TEXT_REASON, reason)
    set_elapsed(g, &e, q.time)
    return emit_event(g, t, &e)


cdef int emit_alone(Tracking* g, Tracker* t, int event, int32_t channel, int certainty,
                    const char* reason) noexcept nogil:
    """An event that is nothing but its name, of the sender of the frame."""
    cdef Event e
    clear_event(&e, event, channel)
    e.head.certainty = <uint8_t>certainty
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    set_word(&e, TEXT_REASON, reason)
    return emit_event(g, t, &e)


# ---- ends ----

cdef inline bint may_be_answered(const Tracking* g, const Tracker* t, const TrackedChannel* ch,
                                 int asker) noexcept nogil:
    """Whether a side ends what it asked before all that the other one sent until then is read: answers may be there.
    In 1.0 its asker settles, too."""
    return g.unordered and (g.side == asker or ch.session != NULL) and t.phase != PHASE_OVER


cdef int end_questions(Tracking* g, Tracker* t, TrackedChannel* ch, int kind, const char* reason) noexcept nogil:
    """Those that had no answer, for all that is known: deliveries that were to be settled go back to their queue."""
    cdef bint sent = kind == TRACKED_PUBLISHES
    cdef Questions* o = &ch.publishes if sent else &ch.deliveries
    cdef uint64_t doubtful = ch.doubtful_publishes if sent else ch.doubtful_deliveries
    cdef bint unread = may_be_answered(g, t, ch, 0 if sent else 1)
    cdef Question* q
    cdef size_t i
    cdef int status = 0
    for i in range(o.first, o.n):
        q = question_slot(o, i).question
        if q == NULL or status < 0 or q.on == ON_DELIVER or q.number <= doubtful or unread:
            continue
        if ch.confirms == CONFIRMS if sent else question_head(q).settles == SETTLES_MANUAL:
            status = answer_question(g, t, q, EVENT_UNCONFIRMED if sent else EVENT_REQUEUED, OUTCOME_NONE,
                                     IS_INFERRED if sent and ch.infers else IS_EXACT, reason)
    forget_questions(g, kind, o)
    return status


cdef int end_consumer(Tracking* g, Tracker* t, int32_t channel, const Consumer* x, int certainty, int initiator,
                      const char* reason) noexcept nogil:
    cdef Event e
    clear_event(&e, EVENT_CONSUMER_CANCELLED, channel)
    e.head.certainty = <uint8_t>certainty
    e.head.initiator = <uint8_t>initiator
    e.head.settles = x.settles
    set_text(&e, TEXT_CONSUMER_TAG, x.item.name, x.item.n_name)
    if x.certainty != IS_UNKNOWN:
        set_text(&e, TEXT_QUEUE, consumer_queue(x), x.n_queue)
    set_word(&e, TEXT_REASON, reason)
    if t.host != NULL:
        count_consumer(g, t.host, &e.text[TEXT_QUEUE], -1)
    return emit_event(g, t, &e)


cdef int end_channel(Tracking* g, Tracker* t, TrackedChannel* ch, const char* reason) noexcept nogil:
    """What was open on it. reason: of the events; NULL: it is not known what became of these, and none is made."""
    cdef Consumer* x = <Consumer*>ch.consumers.first
    cdef int status = 0
    if reason != NULL:
        status = end_questions(g, t, ch, TRACKED_DELIVERIES, reason)
        if status == 0:
            status = end_questions(g, t, ch, TRACKED_PUBLISHES, reason)
        while status == 0 and x != NULL:
            status = end_consumer(g, t, ch.number, x, IS_EXACT if x.certainty == IS_EXACT and not x.leaving
                                  and not x.doubted else IS_INFERRED, INITIATOR_NONE, reason)
            x = next_consumer(x)
    forget_questions(g, TRACKED_DELIVERIES, &ch.deliveries)
    forget_questions(g, TRACKED_PUBLISHES, &ch.publishes)
    forget_requests(g, ch)
    ch.closing = True       # its consumers say of which queue the deliveries are that still come
    return status


cdef int end_everything(Tracking* g, Tracker* t, const char* reason) noexcept nogil:
    """The connection is over: all channels, and its exclusive queues. reason: as end_channel() has it."""
    cdef Consumer* x = <Consumer*>t.exclusive.first
    cdef TrackedChannel* ch = t.first
    cdef Event e
    while ch != NULL:
        if not ch.closing and end_channel(g, t, ch, reason) < 0:
            return NO_MEMORY
        ch = ch.after
    while x != NULL:
        clear_event(&e, EVENT_DELETED, -1)
        e.head.certainty = IS_INFERRED
        set_text(&e, TEXT_QUEUE, x.item.name, x.item.n_name)
        set_word(&e, TEXT_REASON, reason)
        if t.host != NULL:
            end_queue(g, t.host, &e.text[TEXT_QUEUE])
        if reason != NULL and emit_event(g, t, &e) < 0:
            return NO_MEMORY
        x = next_consumer(x)
    if reason == NULL and doubt_changes(g, t) < 0:
        return NO_MEMORY
    forget_consumers(g, &t.exclusive)
    return 0


# ---- losses ----

cdef void doubt_channel(Tracking* g, TrackedChannel* ch, int side) noexcept nogil:
    """One side's frames may be missing here: what counts them stops counting."""
    cdef Consumer* x = <Consumer*>ch.consumers.first
    cdef Consumer* after
    ch.gaps |= <uint8_t>(1 << side)
    restart_standstill(&ch.standstill)
    forget_requests(g, ch)
    ch.asks = False
    if ch.session != NULL:
        doubt_session(g, ch, side)
    if ch.gaps == 3:        # it may have been closed and opened again
        forget_questions(g, TRACKED_DELIVERIES, &ch.deliveries)
        forget_questions(g, TRACKED_PUBLISHES, &ch.publishes)
        forget_consumers(g, &ch.consumers)
        ch.names_queue = False
        ch.counts = False
        ch.confirms = CONFIRMS_UNKNOWN
        return
    if side == 0:
        ch.counts = False
        ch.names_queue = False
        ch.doubtful_deliveries = max(ch.doubtful_deliveries, ch.deliveries.newest)
        if ch.confirms == CONFIRMS_NOT:
            ch.confirms = CONFIRMS_UNKNOWN
    else:
        ch.doubtful_publishes = max(ch.doubtful_publishes, ch.publishes.newest)
        ch.names_queue = False
    while x != NULL:
        after = next_consumer(x)
        if side == 0:
            x.certainty = <uint8_t>max(<int>x.certainty, <int>IS_INFERRED)
        elif x.leaving:
            remove_consumer(g, &ch.consumers, x)
        else:
            x.doubted = True
        x = after


cdef void hear_frame(Tracking* g, Tracker* t, bint heartbeat) noexcept nogil:
    """A frame came. What was lost is older than it: what the other side said meanwhile is in doubt, too."""
    cdef TrackedChannel* ch = t.first
    if t.loose >> g.side & 1:
        t.loose &= <uint8_t>~(1 << g.side)
        while ch != NULL:
            doubt_channel(g, ch, g.side)
            ch = ch.after
    hear(g, t, heartbeat)


cdef uint64_t LOST_UNKNOWN = <uint64_t>0xFFFFFFFFFFFFFFFF


cdef int track_loss(Tracking* g, Tracker* t, uint64_t lost) noexcept nogil:
    """Bytes of g.side are missing here: so many, or LOST_UNKNOWN; 0: bytes that are no frame stand in their place."""
    cdef TrackedChannel* ch = t.first
    cdef char[48] text
    cdef Event e
    t.gaps |= <uint8_t>(1 << g.side)
    t.loose |= <uint8_t>(1 << g.side)
    t.hearing[g.side].beat = NO_NUMBER
    while ch != NULL:
        doubt_channel(g, ch, g.side)
        ch = ch.after
    if doubt_changes(g, t) < 0:
        return NO_MEMORY
    clear_event(&e, EVENT_GAP if lost else EVENT_PROTOCOL_ERROR, -1)
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + g.side)
    if lost and lost != LOST_UNKNOWN:
        set_text(&e, TEXT_DETAILS, text, <size_t>snprintf(text, sizeof(text), b'{"lost_bytes": %llu}',
                                                          <unsigned long long>lost))
    return emit_event(g, t, &e)


# ---- heartbeats ----

cdef void hear(Tracking* g, Tracker* t, bint heartbeat) noexcept nogil:
    """A frame came."""
    cdef Hearing* own = &t.hearing[g.side]
    cdef Hearing* other = &t.hearing[1 - g.side]
    cdef int64_t last = own.last
    if g.now == NO_NUMBER:
        return
    other.since += 1
    if last != NO_NUMBER:
        other.pause = max(other.pause, g.now - last)
    if heartbeat and own.beat != NO_NUMBER and g.now > own.beat and (own.spacing == NO_NUMBER
                                                                     or g.now - own.beat < own.spacing):
        own.spacing = g.now - own.beat
    own.beat = g.now if heartbeat else NO_NUMBER
    own.last = g.now
    own.since = 0
    own.pause = 0


cdef int emit_silence(Tracking* g, Tracker* t, int silent) noexcept nogil:
    """The other side ends the connection: was this one silent for twice the heartbeat before?

    The other side was heard meanwhile, without a long pause: a step of the clock is no silence."""
    cdef const Hearing* heard = &t.hearing[silent]
    cdef int64_t beat = <int64_t>t.heartbeat * 1000000, pause
    cdef int certainty = IS_EXACT
    cdef char[80] text
    cdef Event e
    if t.v1:
        beat = max(t.idle[1 - silent], <int64_t>0)      # which the other side bears
    elif t.heartbeat < 0:
        if t.hearing[1].spacing == NO_NUMBER:
            return 0
        beat = (2 * t.hearing[1].spacing + 500000) // 1000000 * 1000000
        certainty = IS_INFERRED
    if beat <= 0 or g.now == NO_NUMBER or heard.last == NO_NUMBER or t.loose >> silent & 1:
        return 0
    pause = max(heard.pause, g.now - t.hearing[1 - silent].last)
    if 10 * (g.now - heard.last) < 19 * beat or heard.since < 2 or 2 * pause > 3 * beat:
        return 0
    clear_event(&e, EVENT_HEARTBEAT_MISSED, -1)
    e.head.certainty = <uint8_t>certainty
    e.head.initiator = <uint8_t>(INITIATOR_CLIENT + silent)
    e.head.heartbeat_s = <int32_t>(beat // 1000000)
    e.head.elapsed_us = g.now - heard.last
    set_text(&e, TEXT_DETAILS, text, <size_t>snprintf(text, sizeof(text), b'{"agreed_s": %g, "silent_s": %.3f}',
                                                      <double>beat / 1e6, <double>e.head.elapsed_us / 1e6))
    return emit_event(g, t, &e)


# ---- the end of TCP, and of the recording ----

cdef int track_tcp_end(Tracking* g, Tracker* t, bint reset, bint complete) noexcept nogil:
    """g.side ended the stream. complete: nothing that either side has sent is missing before it."""
    cdef const char* reason = b"reset" if reset else b"fin"
    cdef bint sure = complete and t.loose == 0
    cdef int event = EVENT_CONNECTION_LOST, certainty = IS_EXACT if sure else IS_UNKNOWN
    if t.phase >= PHASE_CLOSING:
        t.phase = PHASE_OVER
        return 0
    if complete and emit_silence(g, t, 1 - g.side) < 0:
        return NO_MEMORY
    if t.phase == PHASE_OPENING:
        event = EVENT_CONNECTION_REFUSED
    if t.phase != PHASE_OPEN and sure:
        certainty = IS_INFERRED
    t.phase = PHASE_OVER
    if emit_alone(g, t, event, -1, certainty, reason) < 0:
        return NO_MEMORY
    if not sure:
        return end_everything(g, t, NULL)
    return end_everything(g, t, b"connection-lost")


cdef int emit_waiting(Tracking* g, Tracker* t, Question* q, int32_t channel, int certainty) noexcept nogil:
    """What has no answer where the reading ends. Of a request there is no event, so there is none that it answers."""
    cdef Event e
    cdef bint is_event = q.on == 0 or q.on == ON_PUBLISH
    load_event(question_bytes(q), &e)
    e.head.answers = e.head.event_id if is_event else NO_NUMBER
    e.head.event = EVENT_WAITING
    if omit_route(&e) or e.head.certainty != IS_INFERRED:
        e.head.certainty = <uint8_t>certainty
    if not is_event:
        e.text[TEXT_ROUTE].p = NULL
    e.head.channel = channel
    e.head.initiator = INITIATOR_NONE
    e.text[TEXT_DETAILS].p = NULL
    set_elapsed(g, &e, q.time)
    return emit_event(g, t, &e)


cdef int emit_waiting_of(Tracking* g, Tracker* t, TrackedChannel* ch, Questions* o, uint64_t doubtful) noexcept nogil:
    cdef int certainty = IS_INFERRED if ch.infers and o == &ch.publishes else IS_EXACT
    cdef Question* q
    cdef const EventHead* head
    cdef size_t i
    for i in range(o.first, o.n):
        q = question_slot(o, i).question
        if q == NULL or q.number <= doubtful or q.on == ON_DELIVER:
            continue
        head = question_head(q)
        if (head.event == EVENT_PUBLISHED or head.settles == SETTLES_MANUAL) and \
                emit_waiting(g, t, q, ch.number, certainty) < 0:
            return NO_MEMORY
    return 0


cdef int track_recording_end(Tracking* g, Tracker* t, bint complete) noexcept nogil:
    """Nothing more is read of a connection that has not ended. complete: as track_tcp_end() has it."""
    cdef TrackedChannel* ch = t.first
    cdef Question* q
    if t.phase >= PHASE_CLOSING:
        t.phase = PHASE_OVER
        return 0
    while ch != NULL and complete and t.loose == 0:
        if emit_waiting_of(g, t, ch, &ch.deliveries, ch.doubtful_deliveries) < 0:
            return NO_MEMORY
        if ch.confirms == CONFIRMS and emit_waiting_of(g, t, ch, &ch.publishes, ch.doubtful_publishes) < 0:
            return NO_MEMORY
        q = ch.request if ch.asks else NULL
        while q != NULL:
            if emit_waiting(g, t, q, ch.number, IS_EXACT) < 0:
                return NO_MEMORY
            q = q.next
        ch = ch.after
    t.phase = PHASE_OVER
    # What was lost last may have closed the connection.
    return emit_alone(g, t, EVENT_RECORDING_ENDED, -1, IS_EXACT if complete and t.loose == 0 else IS_UNKNOWN, NULL)
