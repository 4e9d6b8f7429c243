# Packets within packets: what stands after the headers of tunnels, and of labels below IP.

cdef enum:
    ETHER_IPV4 = 0x0800
    ETHER_IPV6 = 0x86DD
    ETHER_FRAME = 0x6558        # a whole Ethernet frame: transparent bridging
    ETHER_MPLS = 0x8847
    ETHER_MPLS_MANY = 0x8848    # to several receivers
    ETHER_ERSPAN = 0x88BE       # types I and II
    ETHER_ERSPAN_3 = 0x22EB
    ETHER_PPPOE = 0x8864        # a session's packets
    ETHER_LENGTH = 1500         # at most: no type, but the length of what follows in 802.3, LLC

cdef enum:
    PPP_IPV4 = 0x0021
    PPP_IPV6 = 0x0057
    PPP_MPLS = 0x0281
    PPP_MPLS_MANY = 0x0283

cdef enum:
    IP_IPV4 = 4
    IP_TCP = 6
    IP_UDP = 17
    IP_IPV6 = 41
    IP_GRE = 47

cdef enum:
    PORT_VXLAN = 4789
    PORT_VXLAN_LINUX = 8472     # before the port was assigned, and still by default
    PORT_GENEVE = 6081

cdef enum:
    TUNNEL_LIMIT = 8            # packets within each other

cdef enum:
    TUNNEL_NONE                 # what follows is no packet
    TUNNEL_CUT                  # it was not captured
    TUNNEL_OPEN
    TUNNEL_LINK                 # a link type that is not read

cdef enum:
    GRE_CHECKSUM = 0x8000
    GRE_ROUTING = 0x4000        # deprecated, and of no fixed size
    GRE_KEY = 0x2000
    GRE_SEQUENCE = 0x1000
    GRE_VERSION = 0x0007

# How far the headers of a packet are read.
cdef struct Walk:
    const uint8_t* p
    size_t n                    # bytes that were captured, as far as the IP header before reaches
    size_t wire                 # bytes that there were, by that header
    size_t at                   # of the next header
    uint32_t link               # type of the link layer
    uint16_t ether_type         # what it is; 0 where `protocol` says it
    uint8_t protocol            # after an IP header
    int depth                   # of packets within each other
    bint more                   # of a fragment: it is not the last
    uint32_t fragment_at        # where its bytes belong
    uint32_t fragment_id


cdef inline bint is_vlan(uint16_t ether_type) noexcept nogil:
    return ether_type == 0x8100 or ether_type == 0x88A8 or ether_type == 0x9100 or ether_type == 0x9200


cdef inline bint is_carrier(uint8_t protocol) noexcept nogil:
    """Whether TCP can be found in an IP packet of this protocol."""
    return (protocol == IP_TCP or protocol == IP_UDP or protocol == IP_GRE or protocol == IP_IPV4
            or protocol == IP_IPV6)


cdef int open_typed(Walk* w, size_t place, size_t header) noexcept nogil:
    """A header that has an Ethernet type at a place."""
    if w.n - w.at < header:
        return TUNNEL_CUT
    w.ether_type = load16(w.p + w.at + place)
    w.at += header
    return TUNNEL_OPEN


cdef int open_ppp(Walk* w) noexcept nogil:
    """The protocol of PPP, in one byte where that is odd. Spec: RFC 1661, 2."""
    cdef uint16_t protocol
    if w.n == w.at:
        return TUNNEL_CUT
    protocol = w.p[w.at]
    if protocol & 1:
        w.at += 1
    elif w.n - w.at < 2:
        return TUNNEL_CUT
    else:
        protocol = load16(w.p + w.at)
        w.at += 2
    if protocol == PPP_IPV4:
        w.ether_type = ETHER_IPV4
    elif protocol == PPP_IPV6:
        w.ether_type = ETHER_IPV6
    elif protocol == PPP_MPLS:
        w.ether_type = ETHER_MPLS
    elif protocol == PPP_MPLS_MANY:
        w.ether_type = ETHER_MPLS_MANY
    else:
        return TUNNEL_NONE
    return TUNNEL_OPEN


cdef int open_pppoe(Walk* w) noexcept nogil:
    """A packet of a session of PPP over Ethernet. Spec: RFC 2516, 4."""
    cdef const uint8_t* p = w.p + w.at
    if w.n - w.at < 6:
        return TUNNEL_CUT
    if p[0] != 0x11 or p[1] != 0:       # version and type; a packet of the session
        return TUNNEL_NONE
    w.at += 6
    return open_ppp(w)


cdef int open_llc(Walk* w) noexcept nogil:
    """An Ethernet type behind SNAP, or IP by its own access point. Spec: IEEE 802.2; RFC 1042."""
    cdef const uint8_t* p = w.p + w.at
    cdef uint32_t organization
    if w.n - w.at < 3:
        return TUNNEL_CUT
    if p[2] != 3:       # unnumbered information
        return TUNNEL_NONE
    if p[0] == 6 and p[1] == 6:
        w.at += 3
        w.ether_type = ETHER_IPV4
        return TUNNEL_OPEN
    if p[0] != 0xAA or p[1] != 0xAA:
        return TUNNEL_NONE
    if w.n - w.at < 8:
        return TUNNEL_CUT
    organization = load32(p + 2) & 0xFFFFFF
    w.ether_type = load16(p + 6)
    w.at += 8
    if (organization != 0 and organization != 0xF8) or w.ether_type == 0:
        return TUNNEL_NONE      # types of an organization's own
    return TUNNEL_OPEN


cdef inline bint is_frame_at(const Walk* w, size_t at) noexcept nogil:
    """Whether there is an Ethernet header of a type that is read on."""
    cdef uint16_t ether_type
    if w.n < at + 14:
        return False
    ether_type = load16(w.p + at + 12)
    return ether_type == ETHER_IPV4 or ether_type == ETHER_IPV6 or is_vlan(ether_type)


cdef int open_mpls(Walk* w) noexcept nogil:
    """Labels, and what seems to follow: IP by its version, or Ethernet, mostly after a control word."""
    cdef uint32_t label = 0
    while not label & 0x100:
        if w.n - w.at < 4:
            return TUNNEL_CUT
        label = load32(w.p + w.at)
        w.at += 4
    if w.n == w.at:
        return TUNNEL_CUT
    if w.p[w.at] >> 4 == 4:
        w.ether_type = ETHER_IPV4
    elif w.p[w.at] >> 4 == 6:
        w.ether_type = ETHER_IPV6
    elif w.p[w.at] >> 4 == 0 and is_frame_at(w, w.at + 4):
        w.at += 4
        w.ether_type = ETHER_FRAME
    elif is_frame_at(w, w.at):
        w.ether_type = ETHER_FRAME
    else:
        return TUNNEL_CUT if w.n - w.at < 18 else TUNNEL_NONE
    return TUNNEL_OPEN


cdef int open_erspan(Walk* w, bint numbered) noexcept nogil:
    """Mirrored frames; of type I there is no header, nor a number in GRE's."""
    cdef const uint8_t* p = w.p + w.at
    cdef size_t header = 0
    if w.ether_type == ETHER_ERSPAN_3:
        if w.n - w.at < 12:
            return TUNNEL_CUT
        header = 20 if p[11] & 1 else 12
        if p[10] >> 2 & 31 == 2:        # the mirror took the Ethernet header off
            w.at += header
            w.ether_type = ETHER_IPV4
            return TUNNEL_OPEN if w.at < w.n else TUNNEL_CUT
    elif numbered:
        header = 8
    if w.n - w.at < header:
        return TUNNEL_CUT
    w.at += header
    w.ether_type = ETHER_FRAME
    return TUNNEL_OPEN


cdef int open_gre(Walk* w) noexcept nogil:
    cdef uint16_t flags
    cdef size_t header = 4
    if w.n - w.at < 4:
        return TUNNEL_CUT
    flags = load16(w.p + w.at)
    w.ether_type = load16(w.p + w.at + 2)
    if flags & (GRE_ROUTING | GRE_VERSION) or w.ether_type == 0:
        return TUNNEL_NONE
    header += 4 * <size_t>((flags & GRE_CHECKSUM != 0) + (flags & GRE_KEY != 0) + (flags & GRE_SEQUENCE != 0))
    if w.n - w.at < header:
        return TUNNEL_CUT
    w.at += header
    if w.ether_type == ETHER_ERSPAN or w.ether_type == ETHER_ERSPAN_3:
        return open_erspan(w, flags & GRE_SEQUENCE != 0)
    return TUNNEL_OPEN


cdef int open_udp(Walk* w) noexcept nogil:
    """VXLAN and Geneve, by their ports."""
    cdef const uint8_t* p = w.p + w.at
    cdef uint16_t port
    cdef size_t header = 16
    if w.n - w.at < 8:
        return TUNNEL_CUT
    port = load16(p + 2)
    if port != PORT_VXLAN and port != PORT_VXLAN_LINUX and port != PORT_GENEVE:
        return TUNNEL_NONE
    if w.n - w.at < header:
        return TUNNEL_CUT
    if port == PORT_GENEVE:
        header += <size_t>(p[8] & 63) * 4
        w.ether_type = load16(p + 10)
        if p[8] >> 6 or w.ether_type == 0:
            return TUNNEL_NONE
    else:
        w.ether_type = ETHER_FRAME
        if not p[8] & 8:        # no network identifier: something else on that port
            return TUNNEL_NONE
    if w.n - w.at < header:
        return TUNNEL_CUT
    w.at += header
    return TUNNEL_OPEN


cdef int open_tunnel(Walk* w) noexcept nogil:
    """What follows an IP header of this protocol, which is not TCP."""
    if w.protocol == IP_IPV4:
        w.ether_type = ETHER_IPV4
        return TUNNEL_OPEN
    if w.protocol == IP_IPV6:
        w.ether_type = ETHER_IPV6
        return TUNNEL_OPEN
    if w.protocol == IP_GRE:
        return open_gre(w)
    return open_udp(w)


cdef int open_labels(Walk* w) noexcept nogil:
    """What stands before an IP header: tags, labels, Ethernet within something else."""
    cdef int found
    while w.ether_type != ETHER_IPV4 and w.ether_type != ETHER_IPV6:
        if is_vlan(w.ether_type):
            found = open_typed(w, 2, 4)
        elif w.ether_type == ETHER_FRAME:
            found = open_typed(w, 12, 14)
        elif w.ether_type == ETHER_MPLS or w.ether_type == ETHER_MPLS_MANY:
            found = open_mpls(w)
        elif w.ether_type == ETHER_PPPOE:
            found = open_pppoe(w)
        elif w.ether_type <= ETHER_LENGTH:
            found = open_llc(w)
        else:
            return TUNNEL_NONE
        if found != TUNNEL_OPEN:
            return found
    return TUNNEL_OPEN
