"""IP packets in tunnels, and in fragments."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

from tests.support import recording as make
from tests.support import wrap
from tests.support.recording import CLIENT, CLIENT6, SERVER, SERVER6

OUTER = ("192.0.2.1", 0), ("192.0.2.2", 0)
OUTER6 = ("2001:db8::1", 0), ("2001:db8::2", 0)
IP_IPV4, IP_UDP, IP_IPV6, IP_GRE = 4, 17, 41, 47


def _protocol(packet: bytes) -> int:
    return IP_IPV4 if packet[0] >> 4 == 4 else IP_IPV6


def _ether_type(packet: bytes) -> int:
    return 0x0800 if packet[0] >> 4 == 4 else 0x86DD


def udp(port: int, payload: bytes) -> bytes:
    """A datagram in IPv4."""
    head = struct.pack(">HHHH", 50_000, port, 8 + len(payload), 0)
    return make.ipv4(*OUTER, head + payload, protocol=IP_UDP)


def gre(ether_type: int, payload: bytes, flags: int = 0) -> bytes:
    """In GRE in IPv4; flags: of the fields that follow, checksum 0x8000, key, sequence number."""
    fields = b"\0\0\0\7" * bin(flags & 0xB000).count("1")
    head = struct.pack(">HH", flags, ether_type) + fields
    return make.ipv4(*OUTER, head + payload, protocol=IP_GRE)


def vxlan(packet: bytes, port: int = 4789) -> bytes:
    """An Ethernet frame in VXLAN."""
    return udp(port, b"\x08\0\0\0\0\0\x2a\0" + make.ethernet(packet))


def geneve(ether_type: int, payload: bytes, options: bytes = b"") -> bytes:
    """In Geneve; options: a multiple of 4 bytes."""
    head = struct.pack(">BBHI", len(options) // 4, 0, ether_type, 7 << 8)
    return udp(6081, head + options + payload)


def erspan_2(packet: bytes) -> bytes:
    """A mirrored frame, type II."""
    return gre(0x88BE, b"\x10\x01\x00\x05\0\0\0\0" + make.ethernet(packet), 0x1000)


def erspan_3(packet: bytes, subheader: bool = False, ip: bool = False) -> bytes:
    """A mirrored frame or IP packet, type III."""
    kind = 2 << 10 if ip else 0
    head = struct.pack(">HHIHH", 0x2001, 5, 99, 0, kind | subheader) + bytes(8 * subheader)
    return gre(0x22EB, head + (packet if ip else make.ethernet(packet)), 0x1000)


def mpls(packet: bytes, labels: int = 2, addresses: str = "", control: bytes = b"") -> bytes:
    """Labels between Ethernet and IP, or a pseudowire: Ethernet with these addresses."""
    stack = b"".join(
        struct.pack(">I", 100 << 12 | (number == labels - 1) << 8 | 64) for number in range(labels)
    )
    inner = control + bytes.fromhex(addresses) + make.ethernet(packet)[12 if addresses else 14 :]
    return bytes(12) + b"\x88\x47" + stack + inner


def ppp(packet: bytes, control: bytes = b"\xff\x03", short: bool = False) -> bytes:
    """In PPP; control: address and control of HDLC. short: the protocol in one byte."""
    protocol = 0x21 if packet[0] >> 4 == 4 else 0x57
    return control + protocol.to_bytes(1 if short else 2) + packet


def pppoe(packet: bytes, head: bytes = b"\x11\0") -> bytes:
    """In a session of PPP over Ethernet; head: version and type, code."""
    inner = ppp(packet, b"")
    return head + struct.pack(">HH", 7, len(inner)) + inner


def snap(packet: bytes, head: bytes = b"\xaa\xaa\x03\0\0\0", *, kind: int | None = None) -> bytes:
    """In LLC with SNAP in 802.3, padded; head: what stands before the Ethernet type."""
    inner = head + struct.pack(">H", _ether_type(packet) if kind is None else kind) + packet
    return make.ethernet(packet)[:12] + struct.pack(">H", len(inner)) + inner.ljust(46, b"\0")


def llc_ip(packet: bytes) -> bytes:
    """IPv4 by its own access point."""
    inner = b"\x06\x06\x03" + packet
    return make.ethernet(packet)[:12] + struct.pack(">H", len(inner)) + inner


def nflog(packet: bytes, order: str = "<", family: int | None = None) -> bytes:
    """In the attributes of netfilter's log."""
    if family is None:
        family = 2 if packet[0] >> 4 == 4 else 10

    def attribute(kind: int, value: bytes) -> bytes:
        return struct.pack(order + "HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

    head = struct.pack(">BBH", family, 0, 5)
    hook = attribute(1, struct.pack(">HBB", _ether_type(packet), 1, 0))
    return head + hook + attribute(10, b"p\0") + attribute(0x8012, b"") + attribute(9, packet)


def pktap(link: int, frame: bytes, size: int = 156, kind: int = 1) -> bytes:
    """Behind the header that macOS adds; link: the type of the frame's own link layer."""
    return struct.pack("<III", size, kind, link).ljust(size, b"\0") + frame


def hdlc(packet: bytes, address: int = 0x0F) -> bytes:
    """In Cisco's HDLC."""
    return struct.pack(">BBH", address, 0, _ether_type(packet)) + packet


#: Link types and what makes a packet of them of an IP packet.
LINKS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "ppp": (9, ppp),
    "ppp without control": (9, lambda p: ppp(p, b"")),
    "ppp, short protocol": (9, lambda p: ppp(p, b"\xff\x03", True)),
    "ppp in hdlc": (50, ppp),
    "cisco in ppp's type": (50, lambda p: hdlc(p, 0x8F)),
    "pppoe alone": (51, pppoe),
    "cisco hdlc": (104, hdlc),
    "pppd": (166, lambda p: b"\1\x03" + ppp(p, b"")),
    "ppp with direction": (204, lambda p: b"\1" + ppp(p)),
    "ppp with direction, short": (204, lambda p: b"\0" + ppp(p, b"", True)),
    "nflog": (239, nflog),
    "nflog, big-endian": (239, lambda p: nflog(p, ">")),
    "nflog of a bridge": (239, lambda p: nflog(p, "<", 7)),
    "pktap of ethernet": (258, lambda p: pktap(1, make.ethernet(p, 0x8100))),
    "pktap of raw ip": (258, lambda p: pktap(12, p, 108)),
    "pktap of loopback": (258, lambda p: pktap(0, b"\2\0\0\0" + p)),
    "pktap of ppp": (258, lambda p: pktap(9, ppp(p))),
    "llc with snap": (1, snap),
    "llc with snap of a bridge": (1, lambda p: snap(p, b"\xaa\xaa\x03\0\0\xf8")),
    "sll with llc": (113, lambda p: bytes(14) + b"\0\4" + snap(p)[14:]),
}

#: What makes an Ethernet frame of an IP packet.
TUNNELS: dict[str, Callable[[bytes], bytes]] = {
    "vxlan": lambda p: make.ethernet(vxlan(p)),
    "vxlan, old port": lambda p: make.ethernet(vxlan(p, 8472)),
    "vxlan in qinq": lambda p: make.ethernet(vxlan(p), 0x88A8, 0x8100),
    "gre": lambda p: make.ethernet(gre(_ether_type(p), p)),
    "gre, all fields": lambda p: make.ethernet(gre(_ether_type(p), p, 0xB000)),
    "gre, key": lambda p: make.ethernet(gre(_ether_type(p), p, 0x2000)),
    "ethernet over gre": lambda p: make.ethernet(gre(0x6558, make.ethernet(p, 0x8100))),
    "erspan i": lambda p: make.ethernet(gre(0x88BE, make.ethernet(p))),
    "erspan ii": lambda p: make.ethernet(erspan_2(p)),
    "erspan iii": lambda p: make.ethernet(erspan_3(p)),
    "erspan iii, subheader": lambda p: make.ethernet(erspan_3(p, subheader=True)),
    "erspan iii, ip": lambda p: make.ethernet(erspan_3(p, ip=True)),
    "ipip": lambda p: make.ethernet(make.ipv4(*OUTER, p, protocol=_protocol(p))),
    "in ipv6": lambda p: make.ethernet(make.ipv6(*OUTER6, p, protocol=_protocol(p))),
    "in ipv6 with options": lambda p: make.ethernet(
        make.ipv6(*OUTER6, p, extensions=[(60, b"\0" + bytes(6))], protocol=_protocol(p))
    ),
    "geneve": lambda p: make.ethernet(geneve(0x6558, make.ethernet(p), bytes(8))),
    "geneve, ip": lambda p: make.ethernet(geneve(_ether_type(p), p)),
    "mpls": mpls,
    "mpls, pseudowire": lambda p: mpls(p, 3, "001b21000001001b21000002", bytes(4)),
    "mpls, pseudowire without control word": lambda p: mpls(p, 1, "525400000001001b21000002"),
    "pppoe": lambda p: make.ethernet(p)[:12] + b"\x88\x64" + pppoe(p),
    "pppoe in vlan": lambda p: make.ethernet(p, 0x8100)[:16] + b"\x88\x64" + pppoe(p),
    "vxlan in gre in ipip": lambda p: make.ethernet(
        make.ipv4(*OUTER, gre(0x0800, vxlan(p)), protocol=IP_IPV4)
    ),
}


def fragments(packet: bytes, number: int, sizes: Callable[[], int]) -> Iterator[bytes]:
    """An IPv4 packet without options, or an IPv6 one, in fragments of these sizes (of 8 bytes)."""
    head = 20 if packet[0] >> 4 == 4 else 40
    payload, at = packet[head:], 0
    while at < len(payload):
        piece = payload[at : at + 8 * sizes()]
        more = at + len(piece) < len(payload)
        if head == 20:
            start = bytearray(packet[:20])
            struct.pack_into(">HHH", start, 2, 20 + len(piece), number, at // 8 | more << 13)
        else:
            start = bytearray(packet[:40]) + struct.pack(">BBHI", packet[6], 0, at | more, number)
            struct.pack_into(">HB", start, 4, 8 + len(piece), 44)
        yield bytes(start) + piece
        at += len(piece)


def fragmented(packets: list[bytes], seed: int, largest: int = 60) -> list[bytes]:
    """IP packets in fragments of random sizes; those of each in any order, one of them twice."""
    rng = random.Random(seed)
    out = []
    for number, packet in enumerate(packets):
        pieces = list(fragments(packet, number & 0xFFFF, lambda: rng.randint(1, largest)))
        if len(pieces) > 1:
            pieces += rng.sample(pieces, 1)
            again = pieces.pop()
            rng.shuffle(pieces)
            pieces.insert(rng.randrange(len(pieces)), again)
        out += pieces
    return out


HELLO = b"AMQP\0\0\x09\x01"
HEARTBEAT = b"\x08\0\0\0\0\0\0\xce"


def client_packet(data: bytes = HELLO) -> bytes:
    """An IPv4 packet of a client."""
    return make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1001, data))


def client_packet6(data: bytes = HELLO) -> bytes:
    """The same in IPv6."""
    return make.ipv6(CLIENT6, SERVER6, make.tcp(CLIENT6, SERVER6, 1001, data))


def ethernet_fragments(packet: bytes, number: int = 7, blocks: int = 2) -> list[bytes]:
    return [make.ethernet(fragment) for fragment in wrap.fragments(packet, number, lambda: blocks)]


def contradicting_fragments(kind: str) -> list[bytes]:
    """Fragments of which one says other bytes for the same place, or another end."""
    first, second, *other_fragments = wrap.fragments(client_packet(HEARTBEAT * 5), 7, lambda: 2)
    changed = bytearray(first if kind == "bytes" else second)
    if kind == "bytes":
        changed[-1] ^= 1
        return [first, bytes(changed), second, *other_fragments]
    if kind == "shifted":
        struct.pack_into(">H", changed, 6, 1 | 0x2000)
        return [first, bytes(changed), second, *other_fragments]
    if kind == "shorter":
        struct.pack_into(">H", changed, 6, 2)
        return [first, other_fragments[0], bytes(changed), second, other_fragments[1]]
    struct.pack_into(">H", changed, 6, 7)
    return [other_fragments[-1], bytes(changed), first, second, *other_fragments[:-1]]
