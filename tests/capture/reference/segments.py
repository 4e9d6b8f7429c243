"""Packets to TCP segments: link layers, VLAN tags, IPv4 and IPv6."""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

from .files import Packet

__all__ = ["Endpoint", "Segment", "SkippedPacket", "read_segment"]

_NULL, _ETHERNET, _LOOP, _SLL, _SLL2 = 0, 1, 108, 113, 276
_RAW = frozenset({12, 14, 101, 228, 229})
_VLAN = frozenset({0x8100, 0x88A8, 0x9100})
_IP = frozenset({0x0800, 0x86DD})
# link type → (place of the protocol number, length of the header)
_TYPED = {_ETHERNET: (12, 14), _SLL: (14, 16), _SLL2: (0, 20)}
_TCP = 6
_FRAGMENT, _AUTHENTICATION = 44, 51
# IPv6 extension headers whose second byte counts units of 8 bytes after the first 8.
_EXTENSIONS = frozenset({0, 43, 60, 135, 139, 140})

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


class SkippedPacket(Exception):
    """A packet that holds no TCP segment to be used; ``reason`` is one of a few fixed texts."""

    def __init__(self, reason: str) -> None:
        """Reason: what to count the packet under."""
        super().__init__(reason)
        self.reason = reason


class Endpoint(NamedTuple):
    """One end of a connection."""

    address: bytes
    port: int

    def __str__(self) -> str:
        """As addr:port, an IPv6 address in brackets."""
        address = ipaddress.ip_address(self.address)
        return f"{address}:{self.port}" if address.version == 4 else f"[{address}]:{self.port}"


class Segment(NamedTuple):
    """One TCP segment; ``data`` is a view, shorter than ``length`` where the capture cut it."""

    source: Endpoint
    target: Endpoint
    sequence: int
    acknowledged: int | None
    flags: int
    data: memoryview
    length: int  # payload bytes by the IP header


def read_segment(packet: Packet) -> Segment:
    """The TCP segment in a packet, or SkippedPacket.

    The IP header says where the payload ends, never the captured length: behind it may stand
    padding or a frame check sequence. Only a zero length (segmentation offload) is filled in from
    the length on the wire.
    """
    try:
        start = _network_start(packet)
        version = packet.data[start] >> 4
        if version == 4:
            return _read_ipv4(packet, start)
        if version == 6:
            return _read_ipv6(packet, start)
    except (struct.error, IndexError):
        raise SkippedPacket("headers cut") from None
    raise SkippedPacket("not IP")


def _network_start(packet: Packet) -> int:
    """Where the IP header begins."""
    if packet.link_type in _RAW:
        return 0
    if packet.link_type in (_NULL, _LOOP):
        return 4  # an address family, its byte order the recording machine's; IP tells itself
    if packet.link_type not in _TYPED:
        raise SkippedPacket(f"link type {packet.link_type}")
    place, start = _TYPED[packet.link_type]
    (protocol,) = struct.unpack_from(">H", packet.data, place)
    while protocol in _VLAN:
        (protocol,) = struct.unpack_from(">H", packet.data, start + 2)
        start += 4
    if protocol not in _IP:
        raise SkippedPacket("not IP")
    return start


def _read_ipv4(packet: Packet, start: int) -> Segment:
    first, total, fragment, protocol, source, target = struct.unpack_from(
        ">BxHxxHxBxx4s4s", packet.data, start
    )
    if protocol != _TCP:
        raise SkippedPacket("not TCP")
    if fragment & 0x3FFF:
        raise SkippedPacket("IP fragment")
    end = start + total if total else packet.wire_length
    return _read_tcp(packet, start + (first & 0x0F) * 4, end, source, target)


def _read_ipv6(packet: Packet, start: int) -> Segment:
    length, following, source, target = struct.unpack_from(">4xHBx16s16s", packet.data, start)
    at = start + 40
    end = at + length if length else packet.wire_length
    while following != _TCP:
        if following == _FRAGMENT:
            after, fragment = struct.unpack_from(">BxH", packet.data, at)
            if fragment & 0xFFF9:
                raise SkippedPacket("IP fragment")
            step = 8
        elif following == _AUTHENTICATION or following in _EXTENSIONS:
            after, count = struct.unpack_from(">BB", packet.data, at)
            step = (count + 2) * 4 if following == _AUTHENTICATION else (count + 1) * 8
        else:
            raise SkippedPacket("not TCP")
        at += step
        following = after
    return _read_tcp(packet, at, end, source, target)


def _read_tcp(packet: Packet, at: int, end: int, source: bytes, target: bytes) -> Segment:
    source_port, target_port, sequence, acknowledged, offset, flags = struct.unpack_from(
        ">HHIIBB", packet.data, at
    )
    start = at + (offset >> 4) * 4
    if offset >> 4 < 5 or start > end:
        raise SkippedPacket("malformed")
    return Segment(
        Endpoint(source, source_port),
        Endpoint(target, target_port),
        sequence,
        acknowledged if flags & ACK else None,
        flags,
        packet.data[start:end],
        end - start,
    )
