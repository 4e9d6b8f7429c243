"""Capture files made by hand: TCP in IP in a link layer in pcap or pcapng."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

FIN, SYN, RST, ACK = 1, 2, 4, 16
CLIENT = ("10.0.0.1", 40000)
SERVER = ("10.0.0.2", 5672)
CLIENT6 = ("fd00::1", 40000)
SERVER6 = ("fd00::2", 5672)
START_NS = 1_700_000_000_123_456_789

Ends = tuple[str, int]


class Record(NamedTuple):
    """One packet as the file is to hold it."""

    data: bytes
    time_ns: int = START_NS
    wire_length: int | None = None  # None: all of it was captured


def tcp(
    source: Ends,
    target: Ends,
    sequence: int,
    data: bytes = b"",
    flags: int = ACK,
    ack: int = 0,
    options: bytes = b"",
) -> bytes:
    """A segment, without a checksum."""
    offset = (5 + len(options) // 4) << 4
    numbers = sequence % 2**32, ack % 2**32, offset, flags, 65535, 0, 0
    return struct.pack(">HHIIBBHHH", source[1], target[1], *numbers) + options + data


def ipv4(
    source: Ends,
    target: Ends,
    payload: bytes,
    *,
    total=None,
    fragment=0,
    options=b"",
    protocol=6,
    number=0,
):
    """An IPv4 packet; ``total``: another total length than the right one; number: its id."""
    header = 20 + len(options)
    total = header + len(payload) if total is None else total
    return (
        struct.pack(">BBHHHBBH", 0x40 | header // 4, 0, total, number, fragment, 64, protocol, 0)
        + ip_address(source[0]).packed
        + ip_address(target[0]).packed
        + options
        + payload
    )


def ipv6(source: Ends, target: Ends, payload: bytes, *, extensions=(), length=None, protocol=6):
    """An IPv6 packet; extensions: (number, octets behind the next-header octet) in order."""
    numbers = [number for number, _ in extensions] + [protocol]
    rest = b"".join(
        bytes([following]) + octets
        for following, (_, octets) in zip(numbers[1:], extensions, strict=True)
    )
    payload = rest + payload
    length = len(payload) if length is None else length
    return (
        struct.pack(">IHBB", 6 << 28, length, numbers[0], 64)
        + ip_address(source[0]).packed
        + ip_address(target[0]).packed
        + payload
    )


def ethernet(packet: bytes, *tags: int) -> bytes:
    """An Ethernet frame; tags: VLAN protocol numbers, the outermost first."""
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    vlan = b"".join(struct.pack(">HH", tag, 7) for tag in tags)
    return bytes(12) + vlan + struct.pack(">H", kind) + packet


def segment(source: Ends, target: Ends, sequence: int, data: bytes = b"", *args, **more) -> bytes:
    """A segment in IPv4 in Ethernet."""
    return ethernet(ipv4(source, target, tcp(source, target, sequence, data, *args, **more)))


def client(sequence: int, data: bytes = b"", *args, **more) -> bytes:
    """A segment from the client."""
    return segment(CLIENT, SERVER, sequence, data, *args, **more)


def server(sequence: int, data: bytes = b"", *args, **more) -> bytes:
    """A segment from the server."""
    return segment(SERVER, CLIENT, sequence, data, *args, **more)


def opening(client_start: int = 1000, server_start: int = 5000) -> list[bytes]:
    """SYN and SYN-ACK: the first octets have the numbers 1001 and 5001."""
    return [
        client(client_start, b"", SYN),
        server(server_start, b"", SYN | ACK, client_start + 1),
    ]


def packets(
    said: Iterable[tuple[int, bytes]], port: int = 5672, client: int = 40000
) -> list[bytes]:
    """A connection whose sides, 0 the client, say this: its opening, and a segment each."""
    ends = (CLIENT[0], client), (SERVER[0], port)
    out = [
        segment(ends[0], ends[1], 1000, b"", SYN),
        segment(ends[1], ends[0], 5000, b"", SYN | ACK, 1001),
    ]
    place = [1001, 5001]
    for side, data in said:
        numbers = place[side], data, ACK, place[1 - side]
        out.append(segment(ends[side], ends[1 - side], *numbers))
        place[side] += len(data)
    return out


def records(packets: Iterable[bytes | Record]) -> list[Record]:
    """Packets with times, a millisecond apart where they have none."""
    return [
        packet if isinstance(packet, Record) else Record(packet, START_NS + number * 1_000_000)
        for number, packet in enumerate(packets)
    ]


def pcap(packets: Iterable[bytes | Record], link: int = 1, order: str = "<", nano=False) -> bytes:
    """A pcap file."""
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for data, time_ns, wire_length in records(packets):
        seconds, fraction = divmod(time_ns, 10**9)
        length = len(data) if wire_length is None else wire_length
        out.append(
            struct.pack(
                order + "IIII", seconds, fraction if nano else fraction // 1000, len(data), length
            )
        )
        out.append(data)
    return b"".join(out)


def block(order: str, kind: int, body: bytes) -> bytes:
    """A pcapng block of any kind."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    """A section header block."""
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def option(order: str, code: int, value: bytes) -> bytes:
    """A pcapng option, padded."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(order: str, link: int, snap: int = 0, options: bytes = b"") -> bytes:
    """An interface description block."""
    return block(order, 1, struct.pack(order + "HHI", link, 0, snap) + options)


def enhanced(order: str, index: int, ticks: int, data: bytes, wire_length=None) -> bytes:
    """An enhanced packet block."""
    length = len(data) if wire_length is None else wire_length
    head = struct.pack(order + "IIIII", index, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length)
    return block(order, 6, head + data)


def simple(order: str, data: bytes, wire_length=None) -> bytes:
    """A simple packet block."""
    length = len(data) if wire_length is None else wire_length
    return block(order, 3, struct.pack(order + "I", length) + data)
