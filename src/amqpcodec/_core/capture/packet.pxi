# Packets to TCP segments: link layers, VLAN tags, IPv4 and IPv6 with extension headers.

# Why a packet is left out. The order is that of SKIP_NAMES.
cdef enum:
    SKIP_NONE
    SKIP_LINK               # a link type that is not known
    SKIP_NOT_IP
    SKIP_NOT_TCP
    SKIP_FRAGMENT           # of an IP packet, but the first
    SKIP_CUT                # the headers were not captured
    SKIP_MALFORMED
    SKIP_PORTS              # of other ports
    SKIP_TLS                # of port 5671
    N_SKIPS

cdef tuple SKIP_NAMES = ("", "link type", "not IP", "not TCP", "IP fragment", "headers cut",
                         "malformed", "other ports", "TLS port")

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
    bint first_fragment
    Endpoint source
    Endpoint target
    uint32_t sequence
    uint32_t ack
    uint8_t flags
    const uint8_t* data
    uint32_t have           # bytes of payload that were captured
    uint32_t size           # and that there were, by the IP header


cdef inline bint is_vlan(uint16_t ether_type) noexcept nogil:
    return ether_type == 0x8100 or ether_type == 0x88A8 or ether_type == 0x9100 or ether_type == 0x9200


cdef int read_segment(const CapPacket* packet, Segment* out) noexcept nogil:
    """The TCP segment of a packet, or why there is none.

    The IP header says where the payload ends, never the captured length: after it may stand padding
    or a check sequence. Only a zero length (segmentation offload) is filled in from the wire's.
    """
    cdef const uint8_t* p = packet.data
    cdef size_t n = packet.have
    cdef size_t at = 0
    cdef uint16_t ether_type = 0x0800
    if packet.link == 1:
        if n < 14:
            return SKIP_CUT
        ether_type = load16(p + 12)
        at = 14
    elif packet.link == 113:
        if n < 16:
            return SKIP_CUT
        ether_type = load16(p + 14)
        at = 16
    elif packet.link == 276:
        if n < 20:
            return SKIP_CUT
        ether_type = load16(p)
        at = 20
    elif packet.link == 0 or packet.link == 108:
        at = 4      # an address family, of the recording machine; IP tells by itself
    elif not (packet.link == 12 or packet.link == 14 or packet.link == 101 or packet.link == 228
              or packet.link == 229):
        return SKIP_LINK
    while is_vlan(ether_type):
        if n - at < 4:
            return SKIP_CUT
        ether_type = load16(p + at + 2)
        at += 4
    if ether_type != 0x0800 and ether_type != 0x86DD:
        return SKIP_NOT_IP
    if n <= at:
        return SKIP_CUT
    memset(out, 0, sizeof(Segment))
    if p[at] >> 4 == 4:
        return read_ipv4(packet, at, out)
    if p[at] >> 4 == 6:
        return read_ipv6(packet, at, out)
    return SKIP_NOT_IP


cdef int read_ipv4(const CapPacket* packet, size_t at, Segment* out) noexcept nogil:
    cdef const uint8_t* p = packet.data + at
    cdef size_t header, total
    cdef uint16_t fragment
    if packet.have - at < 20:
        return SKIP_CUT
    if p[9] != 6:
        return SKIP_NOT_TCP
    fragment = load16(p + 6)
    if fragment & 0x1FFF:
        return SKIP_FRAGMENT
    out.first_fragment = fragment & 0x2000 != 0
    header = <size_t>(p[0] & 15) * 4
    total = load16(p + 2)
    if total == 0:
        total = packet.wire - at
    if header < 20 or total < header:
        return SKIP_MALFORMED
    out.family = 4
    memcpy(out.source.address, p + 12, 4)
    memcpy(out.target.address, p + 16, 4)
    return read_tcp(packet, at + header, at + total, out)


cdef int read_ipv6(const CapPacket* packet, size_t at, Segment* out) noexcept nogil:
    cdef const uint8_t* p = packet.data + at
    cdef size_t end
    cdef uint8_t header, after
    if packet.have - at < 40:
        return SKIP_CUT
    end = load16(p + 4)
    end = at + 40 + end if end else packet.wire
    header = p[6]
    out.family = 6
    memcpy(out.source.address, p + 8, 16)
    memcpy(out.target.address, p + 24, 16)
    at += 40
    while header != 6:
        if not (header == 0 or header == 43 or header == 44 or header == 51 or header == 60 or header == 135
                or header == 139 or header == 140):
            return SKIP_NOT_TCP
        if packet.have < at + 8:
            return SKIP_CUT
        p = packet.data + at
        after = p[0]
        if header == 44:
            if load16(p + 2) & 0xFFF8:
                return SKIP_FRAGMENT
            out.first_fragment = p[3] & 1
            at += 8
        elif header == 51:
            at += (<size_t>p[1] + 2) * 4
        else:
            at += (<size_t>p[1] + 1) * 8
        header = after
    return read_tcp(packet, at, end, out)


cdef int read_tcp(const CapPacket* packet, size_t at, size_t end, Segment* out) noexcept nogil:
    cdef const uint8_t* p = packet.data + at
    cdef size_t start
    if packet.have < at + 20:
        return SKIP_CUT
    start = at + <size_t>(p[12] >> 4) * 4
    if start < at + 20 or start > end:
        return SKIP_MALFORMED
    out.source.port = load16(p)
    out.target.port = load16(p + 2)
    out.sequence = load32(p + 4)
    out.ack = load32(p + 8)
    out.flags = p[13]
    out.data = packet.data + min(start, <size_t>packet.have)
    out.size = <uint32_t>(end - start)
    out.have = 0
    if packet.have > start:
        out.have = <uint32_t>min(end - start, packet.have - start)
    return SKIP_NONE
