# Link layers but Ethernet: what stands before the network layer, by the link type of a file or an interface.
# Numbers and layouts: https://www.tcpdump.org/linktypes.html.

cdef enum:
    LINK_ETHERNET = 1
    LINK_PPP = 9
    LINK_PPP_HDLC = 50
    LINK_PPP_ETHER = 51
    LINK_C_HDLC = 104
    LINK_SLL = 113
    LINK_PPP_PPPD = 166
    LINK_PPP_WITH_DIR = 204
    LINK_NFLOG = 239
    LINK_PKTAP = 258
    LINK_SLL2 = 276

cdef enum:
    LINK_TYPES = 320            # numbers that packets are counted by; the last one is for all from there on
    PKTAP_HEAD = 108            # bytes of the header of PKTAP, at least
    NFLOG_INET = 2              # address families of Linux
    NFLOG_BRIDGE = 7
    NFLOG_INET6 = 10
    NFLOG_PACKET = 1            # attributes: the packet's type and hook
    NFLOG_PAYLOAD = 9

#: Names of link types that are often met and not read.
cdef dict LINK_NAMES = {
    2: "EXP_ETHERNET", 3: "AX25", 6: "IEEE802_5", 7: "ARCNET_BSD", 8: "SLIP", 10: "FDDI", 100: "ATM_RFC1483",
    105: "IEEE802_11", 106: "ATM_CLIP", 107: "FRELAY", 109: "ENC", 114: "LTALK", 117: "PFLOG",
    119: "IEEE802_11_PRISM", 122: "IP_OVER_FC", 123: "SUNATM", 127: "IEEE802_11_RADIOTAP",
    138: "APPLE_IP_OVER_IEEE1394", 141: "MTP3", 143: "DOCSIS", 144: "LINUX_IRDA", 163: "IEEE802_11_AVS",
    167: "JUNIPER_PPPOE", 177: "LINUX_LAPD", 178: "JUNIPER_ETHER", 179: "JUNIPER_PPP", 187: "BLUETOOTH_HCI_H4",
    189: "USB_LINUX", 192: "PPI", 195: "IEEE802_15_4_WITHFCS", 197: "ERF", 201: "BLUETOOTH_HCI_H4_WITH_PHDR",
    205: "C_HDLC_WITH_DIR", 206: "FRELAY_WITH_DIR", 219: "MPLS", 220: "USB_LINUX_MMAPPED", 224: "FC_2",
    226: "IPNET", 227: "CAN_SOCKETCAN", 230: "IEEE802_15_4_NOFCS", 231: "DBUS", 240: "NETANALYZER",
    242: "IPOIB", 243: "MPEG_2_TS", 245: "NFC_LLCP", 246: "PFSYNC", 247: "INFINIBAND", 248: "SCTP",
    249: "USBPCAP", 251: "BLUETOOTH_LE_LL", 252: "WIRESHARK_UPPER_PDU", 253: "NETLINK",
    254: "BLUETOOTH_LINUX_MONITOR", 256: "BLUETOOTH_LE_LL_WITH_PHDR", 259: "EPON", 266: "USB_DARWIN",
    267: "OPENFLOW", 271: "VSOCK", 272: "NORDIC_BLE", 274: "ETHERNET_MPACKET", 280: "VPP_DISPATCH",
    281: "DSA_TAG_BRCM", 282: "DSA_TAG_BRCM_PREPEND", 284: "DSA_TAG_DSA", 285: "DSA_TAG_EDSA",
}


cdef str link_name(int link):
    """As statistics and warnings name a link type."""
    if link == LINK_TYPES - 1:
        return f"{link} or above"
    if 147 <= link <= 162:
        return f"USER{link - 147} ({link})"
    name = LINK_NAMES.get(link)
    return str(link) if name is None else f"{name} ({link})"


cdef inline uint32_t load_little32(const uint8_t* p) noexcept nogil:
    return <uint32_t>p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24


cdef int open_typed_link(Walk* w, size_t place, size_t header) noexcept nogil:
    """The header of a link layer that has an Ethernet type at a place, which is not 0."""
    cdef int found = open_typed(w, place, header)
    return TUNNEL_NONE if found == TUNNEL_OPEN and w.ether_type == 0 else found


cdef int open_ppp_frame(Walk* w, bint cisco) noexcept nogil:
    """PPP, after the address and control bytes of HDLC if they are there; or, if it may be, Cisco's HDLC."""
    cdef const uint8_t* p = w.p + w.at
    if w.n - w.at < 2:
        return TUNNEL_CUT
    if p[0] == 0xFF:
        if p[1] != 3:
            return TUNNEL_NONE
        w.at += 2
    elif cisco and (p[0] == 0x0F or p[0] == 0x8F):      # to one station, or to all
        return open_typed_link(w, 2, 4)
    return open_ppp(w)


cdef int open_pktap(Walk* w) noexcept nogil:
    """The header that macOS adds, in the byte order of its machines, and the link type of what follows."""
    cdef const uint8_t* p = w.p + w.at
    cdef size_t header
    if w.n - w.at < 12:
        return TUNNEL_CUT
    header = load_little32(p)
    if header < PKTAP_HEAD or load_little32(p + 4) != 1:    # 1: a packet follows
        return TUNNEL_NONE
    if w.n - w.at < header:
        return TUNNEL_CUT
    w.link = load_little32(p + 8)
    w.at += header
    return TUNNEL_LINK if w.link == LINK_PKTAP else open_link(w)


cdef int open_nflog(Walk* w) noexcept nogil:
    """Attributes that Linux's netfilter gives, one of which is the packet, from its network layer on.

    They are in the byte order of the machine that wrote them, which types below 256 tell.
    """
    cdef const uint8_t* p = w.p + w.at
    cdef uint8_t family
    cdef uint16_t size, kind, ether_type = 0
    if w.n - w.at < 4:
        return TUNNEL_CUT
    family = p[0]
    if p[1] != 0:       # its version
        return TUNNEL_NONE
    if family == NFLOG_INET or family == NFLOG_INET6:
        ether_type = ETHER_IPV4         # IPv6 tells by itself
    elif family != NFLOG_BRIDGE:
        return TUNNEL_NONE
    w.at += 4
    while True:
        if w.n - w.at < 4:
            return TUNNEL_CUT if w.n < w.wire else TUNNEL_NONE
        p = w.p + w.at
        if p[3] & 0x7F == 0 and p[2] != 0:
            size = <uint16_t>(p[0] | p[1] << 8)
            kind = p[2]
        elif p[2] & 0x7F == 0:
            size = load16(p)
            kind = p[3]
        else:
            return TUNNEL_NONE
        if size < 4:
            return TUNNEL_NONE
        if kind == NFLOG_PAYLOAD:
            break
        if w.n - w.at < ((<size_t>size + 3) & ~<size_t>3):
            return TUNNEL_CUT if w.n < w.wire else TUNNEL_NONE
        if kind == NFLOG_PACKET and size >= 6 and family == NFLOG_BRIDGE:
            ether_type = load16(p + 4)
        w.at += (<size_t>size + 3) & ~<size_t>3
    w.wire = min(w.wire, w.at + size)
    w.n = min(w.n, w.wire)
    w.at += 4
    w.ether_type = ether_type
    return TUNNEL_OPEN if ether_type else TUNNEL_NONE


cdef int open_link(Walk* w) noexcept nogil:
    """What stands before the network layer of a packet of the link type w.link."""
    cdef uint32_t link = w.link
    w.ether_type = ETHER_IPV4       # IPv6 tells by itself
    if link == LINK_ETHERNET:
        return open_typed_link(w, 12, 14)
    if link == LINK_SLL:
        return open_typed_link(w, 14, 16)
    if link == LINK_SLL2:
        return open_typed_link(w, 0, 20)
    if link == 0 or link == 108:
        w.at += 4       # an address family, of the recording machine
        return TUNNEL_OPEN if w.at < w.n else TUNNEL_CUT
    if link == 12 or link == 14 or link == 101 or link == 228 or link == 229:
        return TUNNEL_OPEN
    if link == LINK_NFLOG:
        return open_nflog(w)
    if link == LINK_PKTAP:
        return open_pktap(w)
    if link == LINK_C_HDLC:
        return open_typed_link(w, 2, 4)
    if link == LINK_PPP_ETHER:
        return open_pppoe(w)
    if link == LINK_PPP or link == LINK_PPP_HDLC:
        return open_ppp_frame(w, link == LINK_PPP_HDLC)
    if link == LINK_PPP_PPPD or link == LINK_PPP_WITH_DIR:
        if w.n == w.at:
            return TUNNEL_CUT
        if link == LINK_PPP_WITH_DIR:
            w.at += 1                   # the direction
            return open_ppp_frame(w, False)
        if w.n - w.at < 2:
            return TUNNEL_CUT
        w.at += 2                       # the direction in place of the address, and control
        return open_ppp(w)
    return TUNNEL_LINK
