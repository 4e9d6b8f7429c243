# Packets to TCP segments: link layers, IPv4 and IPv6 with extension headers, and tunnels.

# Why a packet is skipped. The order is that of SKIP_NAMES.
cdef enum:
    SKIP_NONE
    SKIP_LINK               # a link type that is not read: w.link
    SKIP_NOT_IP
    SKIP_NOT_TCP
    SKIP_FRAGMENT           # of an IP packet that was not put together
    SKIP_CUT                # the headers were not captured
    SKIP_MALFORMED
    SKIP_PORTS              # of other ports
    SKIP_TLS                # of port 5671
    SKIP_NESTED             # more packets within each other than TUNNEL_LIMIT
    SKIP_OVERLAP            # fragments of an IP packet that contradict each other
    N_SKIPS
    SKIP_WAITS              # it is kept: a fragment of a packet that is not whole yet

cdef tuple SKIP_NAMES = ("", "link type", "not IP", "not TCP", "IP fragment", "headers cut",
                         "malformed", "other ports", "TLS port", "tunnels within each other",
                         "IP fragments that contradict")

cdef enum:
    TCP_FIN = 1
    TCP_SYN = 2
    TCP_RST = 4
    TCP_ACK = 16

cdef struct Endpoint:
    uint8_t[16] address     # IPv4: the first 4 bytes
    uint16_t port

cdef struct Segment:
    uint8_t family          # 4 or 6
    Endpoint source
    Endpoint target
    uint32_t sequence
    uint32_t ack
    uint8_t flags
    const uint8_t* data
    uint32_t have           # bytes of payload that were captured
    uint32_t size           # and that there were, by the IP header


cdef inline bint same_end(const Endpoint* a, const Endpoint* b) noexcept nogil:
    return a.port == b.port and memcmp(a.address, b.address, 16) == 0


cdef Segment opening_before(const Segment* s, bint of_peer) noexcept nogil:
    """The SYN that comes right before a segment; of_peer: that of the other side, by what the segment acknowledges."""
    cdef Segment opening = s[0]
    opening.flags = TCP_SYN
    opening.have = 0
    opening.size = 0
    opening.sequence = s.sequence - 1
    if of_peer:
        opening.source = s.target
        opening.target = s.source
        opening.sequence = s.ack - 1
    return opening


cdef int read_segment(const CapPacket* packet, Walk* w, Segment* out) noexcept nogil:
    """The TCP segment of a packet, or why there is none.

    The IP header says where the payload ends, never the captured length: after it may stand padding
    or a check sequence. Only a zero length (segmentation offload) is filled in from the wire's.
    SKIP_FRAGMENT: w tells of a fragment, out of its addresses.
    """
    cdef const uint8_t* p = packet.data
    cdef size_t n = packet.have
    cdef int found
    w.p = p
    w.n = n
    w.wire = packet.wire
    w.at = 0
    w.depth = 0
    w.link = packet.link
    if packet.link == LINK_ETHERNET:
        if n < 14:
            return SKIP_CUT
        w.ether_type = load16(p + 12)
        w.at = 14
        if w.ether_type == 0:
            return SKIP_NOT_IP
    else:
        found = open_link(w)
        if found != TUNNEL_OPEN:
            return SKIP_CUT if found == TUNNEL_CUT else SKIP_LINK if found == TUNNEL_LINK else SKIP_NOT_IP
    return read_layers(w, out)


cdef int read_layers(Walk* w, Segment* out) noexcept nogil:
    """What begins at w.at, down to a TCP segment; after an IP header, out has its addresses."""
    cdef int found
    while True:
        if w.ether_type != 0:
            found = open_labels(w)
            if found != TUNNEL_OPEN:
                return SKIP_CUT if found == TUNNEL_CUT else SKIP_NOT_IP
            found = open_ip(w, out)
        elif out.family == 6:
            found = open_extensions(w)
        else:
            found = SKIP_NONE
        if found != SKIP_NONE:
            return found
        if w.protocol == IP_TCP:
            return read_tcp(w, out)
        w.depth += 1
        if w.depth > TUNNEL_LIMIT:
            return SKIP_NESTED
        found = open_tunnel(w)
        if found != TUNNEL_OPEN:
            return SKIP_CUT if found == TUNNEL_CUT else SKIP_NOT_TCP


cdef inline int open_ip(Walk* w, Segment* out) noexcept nogil:
    if w.n <= w.at:
        return SKIP_CUT
    memset(out, 0, sizeof(Segment))
    if w.p[w.at] >> 4 == 4:
        return open_ipv4(w, out)
    if w.p[w.at] >> 4 == 6:
        return open_ipv6(w, out)
    return SKIP_NOT_IP


cdef inline void store_ipv4(Endpoint* out, const uint8_t* p) noexcept nogil:
    """As one word: the address is looked up by words at once."""
    cdef uint64_t word = 0
    memcpy(&word, p, 4)
    memcpy(out.address, &word, 8)


cdef int open_ipv4(Walk* w, Segment* out) noexcept nogil:
    cdef const uint8_t* p = w.p + w.at
    cdef size_t header, total
    cdef uint16_t fragment
    if w.n - w.at < 20:
        return SKIP_CUT
    w.protocol = p[9]
    if not is_carrier(w.protocol):
        return SKIP_NOT_TCP
    header = <size_t>(p[0] & 15) * 4
    total = load16(p + 2)
    if total == 0:
        total = w.wire - w.at
    if header < 20 or total < header:
        return SKIP_MALFORMED
    out.family = 4
    store_ipv4(&out.source, p + 12)
    store_ipv4(&out.target, p + 16)
    w.wire = w.at + total
    w.n = min(w.n, w.wire)
    w.at += header
    if w.n < w.at:
        return SKIP_CUT
    fragment = load16(p + 6)
    if fragment & 0x3FFF:
        w.more = fragment & 0x2000 != 0
        w.fragment_at = 8 * <uint32_t>(fragment & 0x1FFF)
        w.fragment_id = load16(p + 4)
        return SKIP_FRAGMENT
    return SKIP_NONE


cdef int open_ipv6(Walk* w, Segment* out) noexcept nogil:
    cdef const uint8_t* p = w.p + w.at
    cdef size_t size
    if w.n - w.at < 40:
        return SKIP_CUT
    size = load16(p + 4)
    w.protocol = p[6]
    out.family = 6
    memcpy(out.source.address, p + 8, 16)
    memcpy(out.target.address, p + 24, 16)
    w.at += 40
    if size:
        w.wire = w.at + size
    w.n = min(w.n, w.wire)
    return open_extensions(w)


cdef int open_extensions(Walk* w) noexcept nogil:
    """Extension headers of IPv6, from w.protocol on."""
    cdef const uint8_t* p
    cdef uint8_t header
    while not is_carrier(w.protocol):
        header = w.protocol
        if not (header == 0 or header == 43 or header == 44 or header == 51 or header == 60 or header == 135
                or header == 139 or header == 140):
            return SKIP_NOT_TCP
        if w.n < w.at + 8:
            return SKIP_CUT
        p = w.p + w.at
        w.protocol = p[0]
        if header == 44:
            w.at += 8
            if load16(p + 2) & 0xFFF9:
                w.more = p[3] & 1
                w.fragment_at = load16(p + 2) & 0xFFF8
                w.fragment_id = load32(p + 4)
                return SKIP_FRAGMENT
        elif header == 51:
            w.at += (<size_t>p[1] + 2) * 4
        else:
            w.at += (<size_t>p[1] + 1) * 8
        if w.n < w.at:
            return SKIP_CUT
    return SKIP_NONE


cdef int read_tcp(Walk* w, Segment* out) noexcept nogil:
    cdef const uint8_t* p = w.p + w.at
    cdef size_t start
    if w.n < w.at + 20:
        return SKIP_MALFORMED if w.wire < w.at + 20 else SKIP_CUT
    start = w.at + <size_t>(p[12] >> 4) * 4
    if start < w.at + 20 or start > w.wire:
        return SKIP_MALFORMED
    out.source.port = load16(p)
    out.target.port = load16(p + 2)
    out.sequence = load32(p + 4)
    out.ack = load32(p + 8)
    out.flags = p[13]
    out.data = w.p + min(start, w.n)
    out.size = <uint32_t>(w.wire - start)
    out.have = <uint32_t>(w.n - start) if w.n > start else 0
    return SKIP_NONE
