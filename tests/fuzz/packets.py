"""Captures made at random, and changes of them that leave files, packets and frames whole."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from tests.fuzz import mutators, talks, v1_model, v1_mutators
from tests.fuzz.mutators import below, edit, lead
from tests.fuzz.target import Mutator
from tests.support import amqp091_gen as gen
from tests.support import mangle, wrap
from tests.support import recording as make
from tests.support.mangle import Part
from tests.support.tls_talk import Payloads, split_segments

#: Of all calls: a capture of its own, and changes of bytes without regard to what they are.
FRESH, BYTES = 0.12, 0.12
#: Bytes of a generated capture.
MOST = 8000
SEGMENT_SIZES = (1, 7, 30, 90, 400, 1400)
FLAGS = (make.ACK, make.SYN, make.SYN | make.ACK, make.FIN | make.ACK, make.RST, 0, 24, 255)
PORTS = (5672, 40000, 40001, 5671, 443, 0)
#: A hop's and a target's options, a route, a check; of IPv6.
EXTENSIONS = (
    (0, b"\0" + bytes(6)),
    (60, b"\0" + bytes(6)),
    (43, b"\0" + bytes(6)),
    (51, b"\1" + bytes(10)),
)
#: Blocks of pcapng, by what they are.
INTERFACE, OLD, SIMPLE, NAMES, STATISTICS, ENHANCED, SECRETS, SECTION = (
    *(1, 2, 3, 4, 5, 6, 10, 0x0A0D0D0A),
)
TLS_KEYS = 0x544C534B


def _after(head: bytes) -> Callable[[bytes], bytes]:
    return lambda packet: head + packet


def _typed(before: int, after: int) -> Callable[[bytes], bytes]:
    """A header that has Ethernet's type between zeros."""
    return lambda packet: bytes(before) + make.ethernet(packet)[12:14] + bytes(after) + packet


def _tagged(*tags: int) -> Callable[[bytes], bytes]:
    return lambda packet: make.ethernet(packet, *tags)


#: Link types and what makes their frames of IP packets.
LINKS: tuple[tuple[int, Callable[[bytes], bytes]], ...] = (
    *((1, make.ethernet), (1, _tagged(0x8100)), (1, _tagged(0x88A8, 0x9100, 0x9200))),
    *(
        (113, _typed(14, 0)),
        (276, _typed(0, 18)),
        (0, _after(b"\2\0\0\0")),
        (108, _after(b"\0\0\0\2")),
    ),
    *((number, _after(b"")) for number in (101, 12, 14, 228, 229, 99)),
    *wrap.LINKS.values(),
)
TUNNELS = tuple(wrap.TUNNELS.values())


# ---- captures of their own


def segments(rng: Random, messages: Payloads, client: int, port: int) -> list[Part]:
    """A connection: its opening, what is said, its end; each of them at times."""
    hosts = ("fd00::1", "fd00::2") if rng.random() < 0.15 else ("10.0.0.1", "10.0.0.2")
    ends = (hosts[0], client), (hosts[1], port)
    place = [1001, 5001]
    parts = []

    def add(side: int, flags: int, data: bytes = b"", back: int = 0) -> None:
        numbers = place[side] - back, place[1 - side], flags, data, make.START_NS
        parts.append(Part(ends[side], ends[1 - side], *numbers))
        place[side] += len(data)

    if rng.random() < 0.85:
        add(0, make.SYN, back=1)
        if rng.random() < 0.9:
            add(1, make.SYN | make.ACK, back=1)
    if rng.random() < 0.5:
        messages = split_segments(messages, rng.choices(SEGMENT_SIZES, (1, 2, 4, 4, 4, 3), k=2))[
            :120
        ]
    for side, data in messages:
        add(side, make.ACK, data)
    if rng.random() < 0.4:
        for side in (0, 1)[below(rng, 2) :]:
            add(side, make.RST if rng.random() < 0.3 else make.FIN | make.ACK)
    return parts


def spoiled(rng: Random, parts: list[Part]) -> list[Part]:
    """The same as networks and recorders bring it."""
    if rng.random() < 0.25:
        parts = mangle.shuffled(parts, below(rng, 1 << 16), 2 + below(rng, 8))
    if rng.random() < 0.2:
        parts = mangle.repeated(parts, below(rng, 1 << 16))
    if rng.random() < 0.1:
        parts = mangle.wrapped(parts)
    if rng.random() < 0.25:
        parts = [part for part in parts if rng.random() > 0.08]
    if parts and rng.random() < 0.1:
        del parts[: below(rng, len(parts))]
    if parts and rng.random() < 0.15:  # the same bytes again, but others
        which = below(rng, len(parts))
        data = bytearray(parts[which].data)
        edit(data, rng)
        parts.insert(which + below(rng, 3), replace(parts[which], data=bytes(data)))
    return parts


def ip_packet(rng: Random, part: Part) -> bytes:
    """A segment in IPv4 or IPv6, some with options."""
    options = b"\1\1\1\0" if rng.random() < 0.04 else b""
    ends = part.source, part.target
    segment = make.tcp(*ends, part.sequence, part.data, part.flags, part.ack, options)
    if ":" in part.source[0]:
        some = EXTENSIONS[: below(rng, 5)] if rng.random() < 0.2 else ()
        return bytes(make.ipv6(*ends, segment, extensions=some))
    return bytes(make.ipv4(*ends, segment, options=bytes(4) if rng.random() < 0.03 else b""))


def conversation(rng: Random) -> tuple[list[Part], bytes]:
    """The segments of some connections that take turns, and the keys of those over TLS."""
    parts: list[Part] = []
    keys = b""
    for number in range((1, 1, 1, 2, 3)[below(rng, 5)]):
        port, how = 5672, rng.random()
        if how < 0.12 and (tls_talks := talks.tls()):
            messages, keys = tls_talks[below(rng, len(tls_talks))]
            port = (5672, 5671)[below(rng, 2)]
        elif how < 0.25:
            messages = talks.web(rng)
        else:
            messages = talks.plain(rng)
        one = spoiled(rng, segments(rng, messages, 40000 + below(rng, 2) * number, port))
        at = below(rng, len(parts) + 1)
        if rng.random() < 0.5:
            parts[at:at] = one
        else:
            step = len(one) / (len(parts) + 1)
            mixed = one[: int(step) + 1]
            for k, part in enumerate(parts, 1):
                mixed += [part, *one[int(k * step) + 1 : int((k + 1) * step) + 1]]
            parts = mixed
    return parts, keys


def frames(rng: Random, parts: list[Part], link: Callable[[bytes], bytes]) -> list[bytes]:
    """Frames of a link, some in tunnels, some in fragments."""
    ip_packets = [ip_packet(rng, part) for part in parts]
    tunnel = TUNNELS[below(rng, len(TUNNELS))] if rng.random() < 0.12 else None
    late = rng.random() < 0.5
    if tunnel and late:  # the outer packets are what fragments are made of
        outer = [tunnel(packet) for packet in ip_packets]
        ip_packets = [
            packet_bytes[14:] if packet_bytes[12:14] in (b"\x08\0", b"\x86\xdd") else packet_bytes
            for packet_bytes in outer
        ]
    if rng.random() < 0.1 and all(packet_bytes[0] >> 4 in (4, 6) for packet_bytes in ip_packets):
        ip_packets = wrap.fragmented(ip_packets, below(rng, 1 << 16), 2 + below(rng, 20))
        if rng.random() < 0.5:
            ip_packets = [packet_bytes for packet_bytes in ip_packets if rng.random() > 0.05]
    if tunnel and not late:
        return [tunnel(packet) for packet in ip_packets]
    return [link(packet) if packet[0] >> 4 in (4, 6) else packet for packet in ip_packets]


def records(rng: Random, packets: list[bytes]) -> list[make.Record]:
    """With times, and with a limit of what was captured, in some."""
    snap = 40 + below(rng, 300) if rng.random() < 0.1 else MOST
    step = (1_000_000, 0, -1000, 10**9)[below(rng, 4)]
    packet_records, room = [], MOST
    for number, data in enumerate(packets):
        captured = data[:snap]
        room -= len(captured) + 32
        if room < 0:
            break
        packet_records.append(make.Record(captured, make.START_NS + number * step, len(data)))
    return packet_records


def options(rng: Random, order: str) -> bytes:
    """Of an interface: the unit of its times, their begin, others; or of a packet."""
    out = b""
    for _ in range(below(rng, 3)):
        how = below(rng, 4)
        if how == 0:
            out += make.option(
                order, 9, bytes([(0, 3, 6, 9, 19, 20, 0x80, 0x94, 0xBF, 0xFF)[below(rng, 10)]])
            )
        elif how == 1:
            begin = (0, 1, -1, 10**9, 1 << 40, -(1 << 62))[below(rng, 6)]
            out += make.option(order, 14, struct.pack(order + "q", begin))
        else:
            out += make.option(order, below(rng, 16), rng.randbytes(below(rng, 9)))
    return out + (make.option(order, 0, b"") if rng.random() < 0.5 else b"")


def secrets(order: str, keys: bytes, kind: int = TLS_KEYS) -> bytes:
    """A decryption secrets block."""
    return make.block(order, SECRETS, struct.pack(order + "II", kind, len(keys)) + keys)


def other_block(rng: Random, order: str) -> bytes:
    """One without a packet, known or not."""
    how = below(rng, 6)
    if how == 0:
        return make.section(order) + make.interface(order, 1, options=options(rng, order))
    if how == 1:
        return make.interface(order, LINKS[below(rng, len(LINKS))][0], options=options(rng, order))
    if how == 2:
        return secrets(order, rng.randbytes(below(rng, 20)), (TLS_KEYS, 0x57474B4C)[below(rng, 2)])
    kind = (NAMES, STATISTICS, 0x0BAD, 0x80000001)[below(rng, 4)]
    return make.block(order, kind, rng.randbytes(below(rng, 30)))


def pcapng(rng: Random, parts: list[Part], keys: bytes) -> bytes:
    """One or more sections, their interfaces, and every kind of block."""
    order = "<>"[below(rng, 2)]
    out = make.section(order)
    links = [LINKS[0], *(LINKS[below(rng, len(LINKS))] for _ in range(below(rng, 3)))]
    described = b""
    for link, _ in links:
        snap = 60 + below(rng, 900) if rng.random() < 0.1 else 0
        described += make.interface(order, link, snap, options(rng, order))
    out += described
    if keys:
        out += secrets(order, keys)
    index = below(rng, len(links))
    for data, time_ns, wire in records(rng, frames(rng, parts, links[index][1])):
        how = below(rng, 24)
        ticks = time_ns // 1000
        if how == 0 and index == 0:
            out += make.simple(order, data, wire)
        elif how == 1:
            head = struct.pack(order + "HHII", index, 0, ticks >> 32, ticks & 0xFFFFFFFF)
            sizes = struct.pack(order + "II", len(data), wire)
            out += make.block(order, OLD, head + sizes + data)
        else:
            record_block = make.enhanced(order, index, ticks, data, wire)
            if how == 2:
                body = record_block[8:-4] + options(rng, order)
                record_block = make.block(order, ENHANCED, body)
            out += record_block
        if how == 3:
            out += other_block(rng, order)
        elif how == 4 and rng.random() < 0.3:
            out += make.section(order) + described
    return out


def pcap(rng: Random, parts: list[Part]) -> bytes:
    """A file of one link."""
    link, wrapped = LINKS[0] if rng.random() < 0.6 else LINKS[below(rng, len(LINKS))]
    packet_records = records(rng, frames(rng, parts, wrapped))
    return make.pcap(packet_records, link, "<>"[below(rng, 2)], nano=rng.random() < 0.3)


def fresh(rng: Random) -> bytes:
    """A small capture of anything."""
    parts, keys = conversation(rng)
    return pcapng(rng, parts, keys) if keys or rng.random() < 0.35 else pcap(rng, parts)


# ---- changes


@dataclass
class Item:
    """A record of a pcap, or a block of a pcapng; head: what is before a packet's sizes."""

    kind: int
    head: bytes
    data: bytearray
    link: int = -1  # of a packet
    missing: int = 0  # bytes of it that were not captured
    tail: bytes = b""

    def copy(self) -> Item:
        return replace(self, data=bytearray(self.data))


@dataclass
class File:
    """A capture, taken apart."""

    order: str
    head: bytes = b""
    items: list[Item] = field(default_factory=list)
    trailer: bytes = b""

    def pack(self) -> bytes:
        """The bytes of it, with sizes that fit."""
        return self.head + b"".join(map(self.pack_item, self.items)) + self.trailer

    def size(self, item: Item) -> int:
        """Bytes of a record or block."""
        return len(self.pack_item(item))

    def pack_item(self, item: Item) -> bytes:
        """A record or block."""
        have = len(item.data)
        sizes = struct.pack(self.order + "II", have, have + item.missing & 0xFFFFFFFF)
        if item.link < 0:
            body = bytes(item.data)
        elif item.kind == SIMPLE:
            body = sizes[4:] + item.data
        else:
            body = item.head + sizes + item.data
        if self.head:
            return body
        padded = body + bytes(-len(body) % 4) if item.tail else body
        return make.block(self.order, item.kind, padded + item.tail)


def take_apart(data: bytes) -> File | None:
    """The records of a capture in one byte order; None: it is none."""
    if data[:4] == b"\n\r\r\n":
        return _blocks(data)
    order = {0xD4: "<", 0x4D: "<", 0xA1: ">"}.get(data[0]) if len(data) >= 24 else None
    if order is None:
        return None
    file = File(order, data[:24])
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    at = 24
    while at + 16 <= len(data):
        have, wire = struct.unpack_from(order + "II", data, at + 8)
        if at + 16 + have > len(data):
            break
        packet = bytearray(data[at + 16 : at + 16 + have])
        file.items.append(Item(-1, data[at : at + 8], packet, link, wire - have))
        at += 16 + have
    file.trailer = data[at:]
    return file


def _blocks(data: bytes) -> File:
    file = File("<" if data[8:9] == b"\x4d" else ">")
    form, at = file.order + "II", 0
    links: list[int] = []
    while at + 12 <= len(data):
        kind, size = struct.unpack_from(form, data, at)
        if size < 12 or size % 4 or at + size > len(data):
            break
        body = data[at + 8 : at + size - 4]
        item = Item(kind, b"", bytearray(body))
        if kind == SECTION:
            links.clear()
        elif kind == INTERFACE and len(body) >= 2:
            links.append(struct.unpack_from(file.order + "H", body)[0])
        elif kind in (ENHANCED, OLD) and len(body) >= 20 and links:
            have, wire = struct.unpack_from(form, body, 12)
            index = struct.unpack_from(file.order + ("I" if kind == ENHANCED else "H"), body)[0]
            if have <= len(body) - 20 and index < len(links):
                packet = bytearray(body[20 : 20 + have])
                tail = body[20 + (have + 3 & ~3) :]
                item = Item(kind, body[:12], packet, links[index], wire - have, tail)
        elif kind == SIMPLE and len(body) >= 4 and links:
            (wire,) = struct.unpack_from(file.order + "I", body)
            packet = bytearray(body[4 : 4 + wire])
            item = Item(kind, b"", packet, links[0], wire - len(packet))
        file.items.append(item)
        at += size
    file.trailer = data[at:]
    return file


#: Where IP begins, by link type; below 0 an Ethernet type stands so many bytes before it.
STARTS = {1: -14, 113: -16, 0: 4, 108: 4, 276: 20, 101: 0, 12: 0, 14: 0, 228: 0, 229: 0}


def find_tcp(data: bytearray, link: int) -> tuple[list[int], int] | None:
    """Where the lengths of the IP packets around a segment are, and where it begins."""
    at = STARTS.get(link, 1 << 20)
    if at < 0:
        at = _after_tags(data, -at)
    lengths = []
    while at + 40 <= len(data):
        if data[at] >> 4 == 4 and data[at] & 15 >= 5:
            lengths.append(at + 2)
            protocol, at = data[at + 9], at + (data[at] & 15) * 4
        elif data[at] >> 4 == 6:
            lengths.append(at + 4)
            protocol, at = data[at + 6], at + 40
        else:
            return None
        if protocol == 6:
            return (lengths, at) if at + 20 <= len(data) else None
        if at + 10 > len(data):
            return None
        if protocol == 17:  # VXLAN, or Geneve with a frame in it
            at = _after_tags(data, at + 30 + (data[at + 8] & 63 if data[at + 2] == 0x17 else 0) * 4)
        elif protocol == 47:
            kind = data[at + 2 : at + 4]
            at += 4 + 4 * (data[at] & 0xB0).bit_count()
            if kind == b"\x65\x58":
                at = _after_tags(data, at + 14)
        elif protocol not in (4, 41):
            return None
    return None


def _after_tags(data: bytearray, at: int) -> int:
    while bytes(data[at - 2 : at]) in (b"\x81\0", b"\x88\xa8", b"\x91\0", b"\x92\0"):
        at += 4
    return at


def put_payload(item: Item, tcp_position: tuple[list[int], int], payload: bytes) -> int:
    """Another payload of a segment, in packets that fit; how many bytes it is longer."""
    lengths, at = tcp_position
    start = at + (item.data[at + 12] >> 4) * 4
    more = len(payload) - max(len(item.data) - start, 0)
    for place in lengths:
        size = int.from_bytes(item.data[place : place + 2]) + more & 0xFFFF
        item.data[place : place + 2] = size.to_bytes(2)
    item.data[start:] = payload
    return more


def add_sequence(data: bytearray, at: int, more: int) -> None:
    number = int.from_bytes(data[at + 4 : at + 8]) + more & 0xFFFFFFFF
    data[at + 4 : at + 8] = number.to_bytes(4)


LEGACY, V1 = mutators.legacy(1), v1_mutators.streams(0)


def edit_payload(file: File, which: int, rng: Random) -> None:
    """What a segment carries: frames, or bytes. What follows moves with its end, or does not."""
    item = file.items[which]
    tcp_position = find_tcp(item.data, item.link)
    if tcp_position is None or item.missing:
        edit(item.data, rng)
        return
    at = tcp_position[1]
    payload = bytes(item.data[at + (item.data[at + 12] >> 4) * 4 :])
    how = below(rng, 5)
    if how == 0:
        changed = bytearray(payload)
        edit(changed, rng)
        new = bytes(changed)
    elif how == 1:
        frame = v1_model.frame(rng) if payload[:2] == b"\0\0" else gen.any_frame(rng)
        new = payload + frame
    elif payload[:2] == b"\0\0" or payload[:5] == b"AMQP\3":
        new = V1(payload, rng)[:4000]
    else:
        new = LEGACY(bytes([below(rng, 4)]) + payload, rng)[1:4000]
    more = put_payload(item, tcp_position, new)
    if more == 0 or rng.random() < 0.2:
        return
    ports = item.data[at : at + 4]
    for other in file.items[which + 1 :]:
        place = find_tcp(other.data, other.link) if other.link >= 0 else None
        if place and other.data[place[1] : place[1] + 4] == ports:
            add_sequence(other.data, place[1], more)


def edit_tcp(file: File, which: int, rng: Random) -> None:
    """Numbers, flags and ports of a segment."""
    item = file.items[which]
    tcp_position = find_tcp(item.data, item.link)
    if tcp_position is None:
        return
    data, at, how = item.data, tcp_position[1], below(rng, 6)
    if how < 3:
        far = (1, -1, 2, -7, 30, -30, 1 << 16, 1 << 31, -(1 << 20))[below(rng, 9)]
        add_sequence(data, at + 4 * (how == 2), far)
    elif how == 3:
        data[at + 13] = FLAGS[below(rng, len(FLAGS))]
    elif how == 4:
        place = at + 2 * below(rng, 2)
        data[place : place + 2] = PORTS[below(rng, len(PORTS))].to_bytes(2)
    else:
        data[at : at + 4] = data[at + 2 : at + 4] + data[at : at + 2]


def overlap(file: File, which: int, rng: Random) -> None:
    """A part of a segment comes again, later: the same bytes, or others."""
    again = file.items[which].copy()
    if tcp_position := find_tcp(again.data, again.link):
        at = tcp_position[1]
        payload = bytearray(again.data[at + (again.data[at + 12] >> 4) * 4 :])
        first = below(rng, len(payload) + 1)
        payload = payload[first : first + 1 + below(rng, len(payload) + 1)]
        if rng.random() < 0.5:
            edit(payload, rng)
        put_payload(again, tcp_position, bytes(payload))
        add_sequence(again.data, at, first)
    file.items.insert(which + below(rng, 5), again)


def halve(file: File, which: int, rng: Random) -> None:
    """A segment becomes two, the second one first at times."""
    first = file.items[which]
    tcp_position = find_tcp(first.data, first.link)
    if tcp_position is None:
        return
    second, at = first.copy(), tcp_position[1]
    payload = bytes(first.data[at + (first.data[at + 12] >> 4) * 4 :])
    middle = below(rng, len(payload) + 1)
    put_payload(first, tcp_position, payload[:middle])
    put_payload(second, tcp_position, payload[middle:])
    add_sequence(second.data, at, middle)
    file.items.insert(which + (rng.random() < 0.7), second)


def wrap_packet(file: File, which: int, rng: Random) -> None:
    """A packet in Ethernet goes into a tunnel, or becomes fragments."""
    item = file.items[which]
    packet = bytes(item.data[14:])
    if item.link != 1 or len(packet) < 40 or packet[0] >> 4 not in (4, 6):
        return
    if rng.random() < 0.4:
        item.data = bytearray(TUNNELS[below(rng, len(TUNNELS))](packet))
        return
    pieces = wrap.fragmented([packet], below(rng, 1 << 16), 2 + below(rng, 12))
    new_items = [replace(item, data=bytearray(make.ethernet(piece))) for piece in pieces]
    file.items[which : which + 1] = new_items


def reorder(file: File, which: int, rng: Random) -> None:
    """A record goes, comes again, or changes its place."""
    items, how = file.items, below(rng, 5)
    if how == 0:
        del items[which]
    elif how == 1:
        items[which:which] = [items[which].copy() for _ in range(1 + below(rng, 3))]
    elif how == 2:
        other = below(rng, len(items))
        items[which], items[other] = items[other], items[which]
    elif how == 3:
        items.insert(min(which + 1 + below(rng, 4), len(items)), items.pop(which))
    else:
        start = below(rng, len(items))
        items[which:which] = [
            another.copy() for another in items[start : start + 1 + below(rng, 8)]
        ]


def splice(file: File, which: int, rng: Random) -> None:
    """Records of another capture in between, or all of it behind."""
    other = take_apart(fresh(rng))
    if other is None:
        return
    other_items = other.items[: 1 + below(rng, 40)]
    if bool(other.head) != bool(file.head) or other.order != file.order:
        file.trailer += other.pack()
        return
    if file.head:
        other_items = [another for another in other_items if another.link == file.items[which].link]
    file.items[which:which] = other_items


def cut_packet(file: File, which: int, rng: Random) -> None:
    """Less of a packet was captured; or of the file."""
    item = file.items[which]
    if rng.random() < 0.1:
        del file.items[which + 1 :]
        file.trailer = file.pack()[-1 - below(rng, 40) :]
        file.items.pop()
    elif item.link >= 0:
        captured_bytes = below(rng, len(item.data) + 1)
        item.missing += len(item.data) - captured_bytes
        del item.data[captured_bytes:]


def edit_record(file: File, which: int, rng: Random) -> None:
    """Bytes of a packet's headers, or of a block; the time; a block or damage in between."""
    item, how = file.items[which], below(rng, 5)
    if how == 0 and not file.head:
        new_items = _blocks(make.section(file.order) + other_block(rng, file.order)).items[1:]
        file.items[which:which] = new_items
    elif how == 1 and file.head:
        damage = bytearray(rng.randbytes(1 + below(rng, 60)))
        file.items.insert(which, Item(-1, b"", damage))
    elif how == 2:
        head = bytearray(item.head)
        edit(head, rng)
        item.head = bytes(head)
    else:
        start = bytearray(item.data[:80])
        edit(start, rng)
        item.data[:80] = start


EDITS: tuple[Callable[[File, int, Random], None], ...] = (
    *(edit_payload, edit_payload, edit_payload, edit_payload, edit_tcp, edit_tcp, overlap, halve),
    *(wrap_packet, reorder, reorder, reorder, splice, cut_packet, edit_record, edit_record),
)


def captures(head: int) -> Mutator:
    """Of captures after so many choosing bytes."""
    by_bytes = mutators.plain(head)

    def mutate(data: bytes, rng: Random) -> bytes:
        how = rng.random()
        if how < FRESH:
            return bytes(lead(data, head, rng)) + fresh(rng)
        file = None if how < FRESH + BYTES else take_apart(data[head:])
        if file is None or not file.items:
            return by_bytes(data, rng)
        for _ in range(1 + below(rng, 3)):
            if file.items:
                EDITS[below(rng, len(EDITS))](file, below(rng, len(file.items)), rng)
        return bytes(lead(data, head, rng)) + file.pack()

    return mutate
