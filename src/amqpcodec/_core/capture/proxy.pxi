# Whom a proxy speaks for: the header that stands before the first byte of a connection, of version 1 (a line)
# or 2 (binary) of the PROXY protocol.

cdef enum:
    PROXY_LINE = 107        # bytes of a line, at most
    PROXY_HEAD = 16         # of version 2, before the addresses

cdef enum:
    PEER_NONE
    PEER_TEXT4              # IPv4, as the line has it: not yet checked
    PEER_IPV4
    PEER_IPV6
    PEER_TEXT6              # likewise of IPv6


cdef void read_proxy_line(const uint8_t* p, size_t n, Peer* peer) noexcept nogil:
    """The third word and the fifth; of a line about an unknown peer there is none."""
    cdef size_t i = 11, end
    cdef uint32_t port = 0
    if n < 11 or memcmp(p + 6, <const char*>b"TCP", 3) != 0 or p[10] != c' ' or not (p[9] == c'4' or p[9] == c'6'):
        return
    while i < n and p[i] != c' ':
        i += 1
    if i - 11 > sizeof(peer.address):
        return
    end = i
    i += 1
    while i < n and p[i] != c' ':
        i += 1
    i += 1
    while i < n and c'0' <= p[i] <= c'9' and port < 65536:
        port = 10 * port + (p[i] - c'0')
        i += 1
    if port > 65535 or i >= n or p[i] != c' ':
        return
    memset(peer, 0, sizeof(Peer))
    peer.form = PEER_TEXT4 if p[9] == c'4' else PEER_TEXT6
    peer.n = <uint8_t>(end - 11)
    memcpy(peer.address, p + 11, peer.n)
    peer.port = <uint16_t>port


cdef void read_proxy_head(const uint8_t* p, size_t n, Peer* peer) noexcept nogil:
    """Both addresses, then both ports; of a check by the proxy itself they mean nothing."""
    cdef bint six = p[13] >> 4 == 2
    cdef size_t size = 16 if six else 4
    if p[12] & 15 != 1 or not (six or p[13] >> 4 == 1) or n < PROXY_HEAD + 2 * size + 4:
        return
    memset(peer, 0, sizeof(Peer))
    peer.form = PEER_IPV6 if six else PEER_IPV4
    peer.n = <uint8_t>size
    memcpy(peer.address, p + PROXY_HEAD, size)
    peer.port = load16(p + PROXY_HEAD + 2 * size)


cdef int64_t proxy_header(const uint8_t* p, size_t n, Peer* peer) noexcept nogil:
    """Bytes of a header at p; 0: it is none; below 0: so many are needed to tell. peer: what it tells of."""
    cdef const uint8_t* signature = <const uint8_t*><const char*>b"\r\n\r\n\0\r\nQUIT\n"
    cdef size_t i, total
    if memcmp(p, <const char*>b"PROXY ", min(n, <size_t>6)) == 0:
        for i in range(min(n, <size_t>PROXY_LINE) - 1):
            if p[i] == c'\r' and p[i + 1] == c'\n':
                read_proxy_line(p, i, peer)
                return <int64_t>i + 2
        return 0 if n >= PROXY_LINE else -<int64_t>n - 1
    if memcmp(p, signature, min(n, <size_t>12)) != 0:
        return 0
    if n < PROXY_HEAD:
        return -PROXY_HEAD
    if p[12] >> 4 != 2:
        return 0
    total = PROXY_HEAD + load16(p + 14)
    if n < total:
        return -<int64_t>total
    read_proxy_head(p, total, peer)
    return <int64_t>total
