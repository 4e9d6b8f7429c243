"""A recording, mangled: the same TCP bytes in other packets, files and orders."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.capture.reference.files import Packet, packets
from tests.capture.reference.segments import Segment, read_segment
from tests.support import recording as make


@dataclass(frozen=True)
class Part:
    """A segment of a recording."""

    source: tuple[str, int]
    target: tuple[str, int]
    sequence: int
    ack: int
    flags: int
    data: bytes
    time_ns: int

    @property
    def from_client(self) -> bool:
        """Whether the client sent it."""
        return self.target[1] == 5672

    @property
    def client(self) -> str:
        """The client's end, as rows have it."""
        host, port = self.source if self.from_client else self.target
        return f"{host}:{port}"

    def raw(self) -> bytes:
        """A packet of IPv4, or of IPv6 between such addresses."""
        segment = make.tcp(self.source, self.target, self.sequence, self.data, self.flags, self.ack)
        wrap = make.ipv6 if ":" in self.source[0] else make.ipv4
        return wrap(self.source, self.target, segment)


def _end(endpoint: object) -> tuple[str, int]:
    host, _, port = str(endpoint).rpartition(":")
    return host.strip("[]"), int(port)


def parts(path: Path) -> list[Part]:
    """The segments of a recording."""
    return parts_of(packets(path))


def parts_of_talk(talk: Iterable[bytes | make.Record]) -> list[Part]:
    """The segments of packets in Ethernet, a millisecond apart where they have no times."""
    return parts_of(
        Packet(number, record.time_ns, 1, memoryview(record.data), len(record.data))
        for number, record in enumerate(make.records(talk), 1)
    )


def parts_of(recorded_packets: Iterable[Packet]) -> list[Part]:
    """The segments in packets."""
    segments = []
    for packet in recorded_packets:
        segment: Segment = read_segment(packet)
        segments.append(
            Part(
                _end(segment.source),
                _end(segment.target),
                segment.sequence,
                segment.acknowledged or 0,
                segment.flags,
                bytes(segment.data),
                packet.timestamp_ns or 0,
            )
        )
    return segments


def split(items: list[Part], size: int) -> Iterator[Part]:
    """Segments of at most so many bytes."""
    for item in items:
        for at in range(0, len(item.data), size):
            flags = item.flags
            if at + size < len(item.data):
                flags &= ~make.FIN
            piece = item.data[at : at + size]
            yield replace(item, sequence=item.sequence + at, data=piece, flags=flags)
        if not item.data:
            yield item


def shuffled(items: list[Part], seed: int, window: int = 8) -> list[Part]:
    """Nearby segments change places."""
    rng = random.Random(seed)
    keys = [(i + rng.random() * window, i) for i in range(len(items))]
    return [items[i] for _, i in sorted(keys)]


def lossy(items: list[Part], seed: int, size: int = 90, loss: float = 0.02) -> list[Part]:
    """Segments of at most that size, out of order; that share of them is missing, but no SYN."""
    rng = random.Random(seed)
    remaining = [p for p in split(items, size) if p.flags & make.SYN or rng.random() > loss]
    return shuffled(remaining, seed)


def repeated(items: list[Part], seed: int) -> list[Part]:
    """Some segments come again: whole, in part, longer by bytes before, and as keep-alives."""
    rng = random.Random(seed)
    out: list[Part] = []
    before: dict[tuple[object, object], Part] = {}
    for item in items:
        out.append(item)
        key = item.source, item.target
        kind = rng.randrange(5)
        if kind == 0:
            out.append(item)
        elif kind == 1 and len(item.data) > 2:
            length = rng.randrange(1, len(item.data))
            out.append(replace(item, data=item.data[:length], flags=make.ACK))
        elif kind == 2 and item.data and key in before:
            old = before[key]
            if old.data and old.sequence + len(old.data) == item.sequence:
                out.append(replace(old, data=old.data + item.data, flags=make.ACK))
        elif kind == 3 and item.data:
            last = (item.sequence + len(item.data) - 1) % 2**32
            out.append(replace(item, sequence=last, data=b"\0", flags=make.ACK))
        before[key] = item
    return out


def wrapped(items: list[Part]) -> list[Part]:
    """Sequence numbers that wrap soon."""
    shift: dict[tuple[object, object], int] = {}
    out = []
    for item in items:
        key, back = (item.source, item.target), (item.target, item.source)
        if item.flags & make.SYN:
            shift[key] = 2**32 - 1500 - item.sequence
        sequence = (item.sequence + shift.get(key, 0)) % 2**32
        out.append(replace(item, sequence=sequence, ack=(item.ack + shift.get(back, 0)) % 2**32))
    return out


def records(items: list[Part], link: Callable[[bytes], bytes] = make.ethernet) -> list[make.Record]:
    """Packets for recording.pcap."""
    return [make.Record(link(item.raw()), item.time_ns) for item in items]


def mixed_pcapng(items: list[Part], seed: int) -> bytes:
    """Sections of both byte orders, interfaces of several kinds, all kinds of packet blocks."""
    rng = random.Random(seed)
    out = []
    for start in range(0, len(items), 40):
        order = rng.choice("<>")
        out.append(make.section(order))
        out.append(make.interface(order, 1))
        out.append(make.interface(order, 101, options=make.option(order, 9, b"\x09")))
        out.append(make.interface(order, 113, options=make.option(order, 9, b"\x94")))
        for item in items[start : start + 40]:
            raw = item.raw()
            kind = rng.randrange(5)
            if kind == 0:
                out.append(make.enhanced(order, 1, item.time_ns, raw))
            elif kind == 1:
                ticks = (item.time_ns << 20) // 10**9
                sll = bytes(14) + b"\x08\x00" + raw
                out.append(make.enhanced(order, 2, ticks, sll))
            elif kind == 2:
                out.append(make.simple(order, make.ethernet(raw)))
            elif kind == 3:
                data = make.ethernet(raw)
                ticks = item.time_ns // 1000
                head = struct.pack(
                    order + "HHIIII", 0, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data)
                )
                out.append(make.block(order, 2, head + data))
            else:
                out.append(make.block(order, 0x0BAD, bytes(12)))
                ticks = item.time_ns // 1000
                out.append(make.enhanced(order, 0, ticks, make.ethernet(raw)))
    return b"".join(out)


def survivors(
    frames_by_stream: dict[tuple[str, str], list[bytes]], captured_parts: list[Part]
) -> dict[tuple[str, str], list[bytes]]:
    """The frames of which every byte is in captured_parts. Needs the SYN of each direction."""
    out: dict[tuple[str, str], list[bytes]] = {}
    for (client, side), frames in frames_by_stream.items():
        mine = [
            p for p in captured_parts if p.client == client and p.from_client == (side == "client")
        ]
        first = next(p.sequence + 1 for p in mine if p.flags & make.SYN)
        captured_mask = bytearray(sum(map(len, frames)))
        for part in mine:
            at = (part.sequence - first) % 2**32
            if not part.flags & make.SYN:
                captured_mask[at : at + len(part.data)] = b"\1" * len(part.data)
        at, complete_frames = 0, []
        for frame in frames:
            if all(captured_mask[at : at + len(frame)]):
                complete_frames.append(frame)
            at += len(frame)
        if complete_frames:
            out[client, side] = complete_frames
    return out


def unpacked(path: Path) -> bytes:
    """The bytes of a compressed file."""
    return gzip.decompress(path.read_bytes())
