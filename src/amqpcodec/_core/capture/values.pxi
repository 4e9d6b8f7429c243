# Values in place of packets: what connections said, in order, each value with its sender and its time.
#
# A value is read as a segment whose numbers go on where its direction is, and which acknowledges all that its peer
# said before: so the order of the values is that of both directions.

cdef enum:
    VALUE_PART = 1 << 24        # bytes of a segment; a longer value is several
    VALUE_SERVER = 1            # the server sent it
    VALUE_MISSING = 2           # it was sent, and its bytes are not known

cdef struct FedValues:
    const uint8_t* p
    int64_t size
    const int64_t* ends
    const int32_t* numbers
    const uint8_t* senders
    const int64_t* times
    int64_t n
    int64_t first


cdef void parse_endpoint(Endpoint* to, bytes raw):
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(raw)
    cdef size_t n = <size_t>len(raw) - 2
    memcpy(to.address, p, n)
    to.port = load16(p + n)


cdef bint are_sound(const Reading* r, const FedValues* fed) noexcept nogil:
    """Whether all numbers lead to what is there."""
    cdef int64_t i
    if fed.ends[0] < 0 or fed.ends[fed.n] > fed.size:
        return False
    for i in range(fed.n):
        if fed.ends[i] > fed.ends[i + 1] or not 0 <= fed.numbers[i] < <int64_t>r.named.n:
            return False
        if fed.senders[i] > (VALUE_SERVER | VALUE_MISSING):
            return False
    return True


cdef bint is_beginning(Reading* r, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a client's first value can be the beginning of its connection: a protocol header, or a proxy's."""
    cdef const char* line = b"PROXY "
    cdef const char* head = b"\r\n\r\n\0\r\nQUIT\n"
    if n < 8 and memcmp(p, <const char*>b"AMQP", min(n, <size_t>4)) == 0:
        return True
    return (is_opening(r, p, n, False) != CHAIN_NO or memcmp(p, line, min(n, <size_t>6)) == 0
            or memcmp(p, head, min(n, <size_t>12)) == 0)


cdef bint begins_another(Reading* r, const Conn* c, const uint8_t* p, size_t n) noexcept nogil:
    """Whether a client's value opens the next connection of the same number: a protocol header where the one
    before had one, and speaks already. In 1.0 two of them come before that: of SASL, and of AMQP."""
    cdef const Half* h = &c.half[0]
    if c.tracker == NULL or h.input.n or h.waiting.n or h.open != NULL or n < 8 or p[0] != c'A':
        return False
    if is_opening(r, p, n, True) != CHAIN_YES:
        return False
    return c.tracker.phase >= PHASE_OPEN or not v1_is_header(p, n)


cdef int begin_direction(Reading* r, Conn* c, int side, bint opening) noexcept nogil:
    """What comes next is the first of a direction. opening: it begins here; else it began before."""
    cdef Half* h = &c.half[side]
    cdef Segment s
    memset(&s, 0, sizeof(Segment))
    s.flags = TCP_SYN
    if add_payload(r, c, h, &s, &r.last) < 0:
        return NO_MEMORY
    if not opening:
        h.syn = False
        h.flags = CAPTURED_MIDSTREAM
        r.count.midstream += 1
    return 0


cdef Conn* named_conn(Reading* r, int32_t number, int side, const uint8_t* p, size_t n) noexcept nogil:
    """The connection that a value of n bytes goes on, or opens; NULL: no memory."""
    cdef Named* named = <Named*>r.named.block.p + number
    cdef Conn* c = named.conn
    cdef CapPacket packet
    if c != NULL and side == 0 and AMQP_UNLIKELY(begins_another(r, c, p, n)):
        if finish_conn(r, c) < 0:
            return NULL
        c = NULL
    if c != NULL:
        if c.newer != NULL:
            unchain_conn(r, c)
            append_conn(r, c)
        return c
    memset(&packet, 0, sizeof(CapPacket))
    c = new_conn(r, &named.client, &named.server, named.family, &packet)
    if c == NULL:
        return NULL
    c.info.id = named.id if named.before == 0 else mix(named.id, <const uint8_t*>&named.before, sizeof(uint64_t))
    c.named = number + 1
    named.conn = c
    if end_idle(r) < 0:
        return NULL
    if side == 0 and n and is_beginning(r, p, n):
        if begin_direction(r, c, 0, True) < 0 or begin_direction(r, c, 1, True) < 0:
            return NULL
    return c


cdef inline uint32_t sequence_after(const Half* h) noexcept nogil:
    """That of the byte after all that came, also of what waits."""
    return h.next + <uint32_t>(h.known_end - h.offset)


cdef int miss_value(Reading* r, Conn* c, Half* h) noexcept nogil:
    """Bytes of a direction are missing here, no one knows how many."""
    cdef Piece* first
    cdef int status
    while h.waiting.n:      # it waits for the peer alone
        first = first_waiting(h)
        mark_ahead(c, h, first.ack, first.at + <int64_t>first.n)
        first.ack = 0
        if drain(r, c, h) < 0:
            return NO_MEMORY
    if push_mark(h, &r.last, h.layer.at, 0) < 0:
        return NO_MEMORY
    r.named.loses = True
    status = skip_to(r, c, h, h.offset + 1)
    r.named.loses = False
    h.known_end = max(h.known_end, h.offset)
    if h.state == EXPECTING:        # whether the frame goes on after them is not known either
        h.state = SEARCHING
        h.broken = LOST_CUT
        h.input.scan = 0
        h.input.expect = 0
    return status


cdef int add_part(Reading* r, Conn* c, int side, const uint8_t* p, size_t n) noexcept nogil:
    """The next n > 0 bytes of a side."""
    cdef Half* h = &c.half[side]
    cdef Half* peer = &c.half[1 - side]
    cdef Segment s
    memset(&s, 0, sizeof(Segment))
    s.flags = TCP_ACK
    s.sequence = sequence_after(h)
    s.ack = sequence_after(peer) if peer.seen else 0
    s.data = p
    s.have = s.size = <uint32_t>n
    if add_payload(r, c, h, &s, &r.last) < 0 or add_events(r, c, side, &s) < 0:
        return NO_MEMORY
    if not c.holds and (half_holds(h) or half_holds(peer)):
        link_holder(r, c)
    return 0


cdef int read_value(Reading* r, int32_t number, uint8_t sender, const uint8_t* p, size_t n) noexcept nogil:
    cdef int side = sender & VALUE_SERVER
    cdef size_t part
    cdef Conn* c = named_conn(r, number, side, p, n)
    if c == NULL or (not c.half[side].seen and begin_direction(r, c, side, False) < 0):
        return NO_MEMORY
    if sender & VALUE_MISSING:
        return miss_value(r, c, &c.half[side])
    while n:
        part = min(n, <size_t>VALUE_PART)
        if add_part(r, c, side, p, part) < 0:
            return NO_MEMORY
        p += part
        n -= part
    return 0


cdef int read_values(Reading* r, const FedValues* fed) noexcept nogil:
    """Values in their order. An empty one says nothing, but that time went on."""
    cdef int64_t i, n
    for i in range(fed.n):
        n = fed.ends[i + 1] - fed.ends[i]
        r.count.packets += 1
        r.count.captured += <uint64_t>n
        r.last.time = fed.times[i]
        r.last.number = <uint64_t>(fed.first + i + 1)
        r.last.file_at = <uint64_t>(fed.first + i)
        r.last.turn = r.count.packets
        r.last.file = r.files.slot
        if n == 0 and not fed.senders[i] & VALUE_MISSING:
            continue
        if read_value(r, fed.numbers[i], fed.senders[i], fed.p + fed.ends[i], <size_t>n) < 0:
            return NO_MEMORY
    return 0
