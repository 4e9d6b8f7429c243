# The servers' ports: those that are read from the start, and those to which a protocol header of AMQP was sent.

cdef enum:
    TLS_PORT = 5671
    MOST_DETECTED = 64      # ports of a reader; headers to further ones are skipped
    FIRST_DYNAMIC = 1 << 15     # clients have ports from here on, as Linux gives them
    MOST_OPENINGS = 64      # that a reader remembers, of connections that are not read

# A port that was none of those to read, where a protocol header was seen.
cdef struct DetectedPort:
    uint16_t port
    uint64_t n              # connections that were read, or headers that were not

# Who opened a connection that is not read.
cdef struct Opening:
    Endpoint client
    Endpoint server
    bint known              # False: a protocol header was seen, and nothing says which is which

cdef struct ServerPorts:
    uint8_t[8192] read      # a bit each
    bint detects            # ports of protocol headers are read from there on
    int n_detected
    DetectedPort[MOST_DETECTED] detected
    int n_openings
    uint64_t noted          # how many openings were noted
    Opening[MOST_OPENINGS] openings     # the newest last


cdef inline bint is_read(const ServerPorts* ports, uint16_t port) noexcept nogil:
    return ports.read[port >> 3] >> (port & 7) & 1


cdef inline void want_port(ServerPorts* ports, uint16_t port) noexcept nogil:
    ports.read[port >> 3] |= <uint8_t>(1 << (port & 7))


cdef DetectedPort* find_detected(ServerPorts* ports, uint16_t port) noexcept nogil:
    cdef int i
    for i in range(ports.n_detected):
        if ports.detected[i].port == port:
            return &ports.detected[i]
    return NULL


cdef DetectedPort* add_detected(ServerPorts* ports, uint16_t port) noexcept nogil:
    """The entry of a port, a new one if there was none; NULL: there are too many."""
    cdef DetectedPort* one = find_detected(ports, port)
    if one == NULL and ports.n_detected < MOST_DETECTED:
        one = &ports.detected[ports.n_detected]
        one.port = port
        one.n = 0
        ports.n_detected += 1
    return one


cdef inline bint starts_with_header(const Segment* s) noexcept nogil:
    """Whether the payload begins with a protocol header: 0-8 to 0-10, or 1.0 (plain, TLS, SASL)."""
    cdef const uint8_t* p = s.data
    if s.have < 8 or load32(p) != 0x414D5150:
        return False
    if p[4] == 1 and p[5] == 1:
        return (p[6] == 0 or p[6] == 8 or p[6] == 9) and p[7] <= 10
    if p[4] == 0 and p[5] == 0:
        return p[6] == 9 and p[7] == 1
    return p[4] != 1 and p[4] <= 3 and p[5] == 1 and p[6] == 0 and p[7] == 0


cdef Opening* find_opening(ServerPorts* ports, const Endpoint* a, const Endpoint* b) noexcept nogil:
    cdef Opening* one
    cdef int i
    for i in range(ports.n_openings - 1, -1, -1):
        one = &ports.openings[i]
        if same_end(&one.client, a) and same_end(&one.server, b) or (
                same_end(&one.client, b) and same_end(&one.server, a)):
            return one
    return NULL


cdef void remember_opening(ServerPorts* ports, const Endpoint* client, const Endpoint* server,
                           bint known) noexcept nogil:
    """Remember it as the newest one, in the place of what was known of these ends, or else of the oldest."""
    cdef Opening* one = find_opening(ports, client, server)
    ports.noted += 1
    if one == NULL and ports.n_openings < MOST_OPENINGS:
        ports.n_openings += 1
    else:
        if one == NULL:
            one = &ports.openings[0]
        memmove(one, one + 1, <size_t>(&ports.openings[ports.n_openings - 1] - one) * sizeof(Opening))
    one = &ports.openings[ports.n_openings - 1]
    one.client = client[0]
    one.server = server[0]
    one.known = known


cdef inline void remember_skipped(ServerPorts* ports, const Segment* s) noexcept nogil:
    """A segment of ports that are not read: of an opening it tells who the client is."""
    if AMQP_LIKELY(not s.flags & TCP_SYN):
        return
    if s.flags & TCP_ACK:
        remember_opening(ports, &s.target, &s.source, True)
    else:
        remember_opening(ports, &s.source, &s.target, True)


cdef int sender_of_header(ServerPorts* ports, const Segment* s) noexcept nogil:
    """0: the client, 1: the server, -1: no one knows. The opening tells; or that a header went to one of the ports
    before. A server of 1.0 answers with a header of its own, which may be the first one that was recorded; one of
    0-x sends its header only to refuse the client's."""
    cdef const Opening* opening = find_opening(ports, &s.source, &s.target)
    if opening != NULL:
        if not opening.known:
            return -1
        return 0 if same_end(&opening.client, &s.source) else 1
    if find_detected(ports, s.source.port) != NULL:
        return 1
    if find_detected(ports, s.target.port) != NULL:
        return 0
    if s.data[5] == 1 and s.data[6] == 0 and s.data[7] == 0:
        return -1
    return -1 if s.source.port < FIRST_DYNAMIC <= s.target.port else 0


cdef int detect_port(ServerPorts* ports, const Segment* s) noexcept nogil:
    """Who sent the protocol header that a segment of ports that are not read begins with: 0 the client, 1 the
    server; -1: nobody whose connection is to be read. The server's port is read from here on, or counted where
    ports do not change."""
    cdef DetectedPort* one
    cdef int side
    if s.source.port == TLS_PORT or s.target.port == TLS_PORT:
        return -1
    side = sender_of_header(ports, s)
    if side < 0:
        remember_opening(ports, &s.source, &s.target, False)    # the answer does not tell more
        return -1
    one = add_detected(ports, s.source.port if side else s.target.port)
    if one == NULL:
        return -1
    if ports.detects:
        want_port(ports, one.port)
        return side
    one.n += 1 - side
    return -1


cdef void count_detected(ServerPorts* ports, uint16_t port) noexcept nogil:
    """Count a connection that is read."""
    cdef DetectedPort* one = find_detected(ports, port)
    if one != NULL and ports.detects:
        one.n += 1


cdef dict detected_counts(const ServerPorts* ports):
    """{port as text: count}, in the order of the numbers."""
    cdef int i
    return dict(sorted([(str(ports.detected[i].port), ports.detected[i].n) for i in range(ports.n_detected)],
                       key=lambda item: int(item[0])))
