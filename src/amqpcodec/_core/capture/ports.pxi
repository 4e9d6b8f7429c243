# The servers' ports: those that are read from the start, and those to which a protocol header of AMQP was sent.

cdef enum:
    TLS_PORT = 5671
    MOST_DETECTED = 64      # ports of a reader; headers to further ones are skipped
    FIRST_DYNAMIC = 1 << 15     # clients have ports from here on, as Linux gives them

# A port that was none of those to read, where a protocol header was seen.
cdef struct DetectedPort:
    uint16_t port
    uint64_t n              # connections that were read, or headers that were not

cdef struct ServerPorts:
    uint8_t[8192] read      # a bit each
    bint detects            # ports of protocol headers are read from there on
    int n_detected
    DetectedPort[MOST_DETECTED] detected


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


cdef int detect_port(ServerPorts* ports, const Segment* s) noexcept nogil:
    """Who sent the protocol header that a segment of ports that are not read begins with: 0 the client, 1 the
    server; -1: nobody whose connection is to be read. The server's port is read from here on, or counted where
    ports do not change.

    A server of 1.0 answers with a header of its own. It is an answer where a header went to its port before, or
    where only the receiver's port is one that systems give to clients; any other header is the client's."""
    cdef DetectedPort* one
    cdef int side
    if s.source.port == TLS_PORT or s.target.port == TLS_PORT:
        return -1
    side = find_detected(ports, s.source.port) != NULL or (
        s.data[5] == 1 and s.data[6] == 0 and s.data[7] == 0 and s.source.port < FIRST_DYNAMIC <= s.target.port)
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
