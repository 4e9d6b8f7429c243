"""Random valid frames of every form the wire allows, and ways to spoil them.

Driven by a random.Random, so that hypothesis (st.randoms) and the plain fuzzer share it.
The bytes go beyond what an encoder writes: odd booleans, unused bits, every tag, duplicate
names, continued flag words, text that is not UTF-8.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from tests.support import amqp091_wire as w

# Tags that both this text and RabbitMQ's errata know, with the bytes of a fixed-width value.
FIXED = {
    "t": 1, "b": 1, "B": 1, "s": 2, "U": 2, "u": 2, "I": 4, "i": 4,
    "l": 8, "L": 8, "f": 4, "d": 8, "D": 5, "T": 8, "V": 0,
}  # fmt: skip
_INTERESTING = (
    b"", b"\0", b"a", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf0\x9f\x90\x87", b"x-death",
    b"orders", b"\xc3", b"amq.ctag-0123456789", b"\xce", b"a" * 60,
)  # fmt: skip


def octets(rng: Random, size: int) -> bytes:
    how = rng.randrange(4)
    if how == 0:
        return b"\0" * size
    if how == 1:
        return b"\xff" * size
    return bytes(rng.randrange(256) for _ in range(size))


def text(rng: Random, limit: int = 255) -> bytes:
    if rng.random() < 0.8:
        return rng.choice(_INTERESTING)[:limit]
    return octets(rng, rng.choice((1, 3, 40, min(limit, 255))))


def value(rng: Random, depth: int = 0) -> bytes:
    """Tag and bytes of any table value."""
    tag = rng.choice("tbBsUuIilLfdDTVSxFA" if depth < 4 else "tbBsUuIilLfdDTVSx")
    if tag in FIXED:
        return tag.encode() + octets(rng, FIXED[tag])
    if tag in "Sx":
        return tag.encode() + w.longstr(text(rng, 1000))
    if tag == "F":
        return b"F" + table(rng, depth + 1)
    return w.array(*(value(rng, depth + 1) for _ in range(rng.randrange(4))))


def table(rng: Random, depth: int = 0) -> bytes:
    entries = [(text(rng), value(rng, depth)) for _ in range(rng.randrange(5))]
    if entries and rng.random() < 0.15:
        entries.append(rng.choice(entries))
    return w.table(*entries)


def argument(rng: Random, wire: str) -> bytes:
    if wire == "b":
        raise AssertionError("bits are packed by the caller")
    if wire == "s":
        return w.shortstr(text(rng))
    if wire == "S":
        return w.longstr(text(rng, 1000))
    if wire == "F":
        return table(rng)
    return octets(rng, {"o": 1, "h": 2, "l": 4, "q": 8, "T": 8}[wire])


def method_frame(rng: Random, channel: int, name: str | None = None) -> bytes:
    spec = w.SPECS[name or rng.choice(tuple(w.SPECS))]
    out = bytearray(struct.pack(">HH", spec.class_id, spec.method_id))
    last = ""
    for _, wire in spec.fields:
        if wire != "b":
            out += argument(rng, wire)
        elif last != "b":
            out += octets(rng, 1)  # a run of bits; the unused ones are whatever they are
        last = wire
    return w.frame(1, channel, bytes(out))


def header_frame(rng: Random, channel: int, body_size: int | None = None) -> bytes:
    flags, values = 0, b""
    for place, (_, wire) in enumerate(w.PROPERTIES):
        if rng.random() < 0.4:
            flags |= 1 << (15 - place)
            values += argument(rng, wire)
    words = struct.pack(">H", flags)
    if rng.random() < 0.1:
        words = struct.pack(">HH", flags | 1, 0)
    if body_size is None:
        body_size = rng.choice((0, 1, 5, 4088, 1 << 32, (1 << 64) - 1))
    return w.frame(2, channel, struct.pack(">HHQ", 60, 0, body_size) + words + values)


def any_frame(rng: Random) -> bytes:
    """One valid frame of any kind."""
    channel = rng.choice((1, 2, 7, 65535))
    how = rng.randrange(10)
    if how < 5:
        return method_frame(rng, channel)
    if how < 8:
        return header_frame(rng, channel)
    if how < 9:
        return w.body_frame(channel, octets(rng, rng.choice((0, 1, 9, 300))))
    return rng.choice((w.HEARTBEAT, w.PROTOCOL_HEADER, b"AMQP\x01\x01\x00\x09"))


def message(rng: Random, channel: int) -> list[bytes]:
    """The frames of one method with its content."""
    name = rng.choice(("basic.publish", "basic.return", "basic.deliver", "basic.get-ok"))
    pieces = [octets(rng, rng.choice((0, 1, 9, 100))) for _ in range(rng.randrange(4))]
    size = sum(map(len, pieces))
    while pieces and not pieces[-1]:  # an empty frame behind the last byte is not part of it
        pieces.pop()
    head = [method_frame(rng, channel, name), header_frame(rng, channel, size)]
    return head + [w.body_frame(channel, piece) for piece in pieces]


def stream(rng: Random, frames: int = 5) -> bytes:
    return b"".join(any_frame(rng) for _ in range(frames))


def conversation(rng: Random, messages: int = 4) -> bytes:
    """Whole messages on several channels, their frames interleaved."""
    queues = []
    for channel in range(1, 1 + rng.randrange(1, 4)):
        queue: list[bytes] = []
        for _ in range(rng.randrange(1, messages + 1)):
            if rng.random() < 0.3:
                names = [n for n, s in w.SPECS.items() if not s.has_content]
                queue.append(method_frame(rng, channel, rng.choice(names)))
            else:
                queue += message(rng, channel)
        queues.append(queue)
    out = b""
    while queues := [queue for queue in queues if queue]:
        out += rng.choice(queues).pop(0)
    return out


def _flip(rng: Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(rng: Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xCE, 0xFE, 0xFF))


def _delete_range(rng: Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randrange(1, 9)]


def _insert(rng: Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = octets(rng, rng.randrange(1, 9))


def _splice(rng: Random, data: bytearray) -> None:
    start, place = rng.randrange(len(data)), rng.randrange(len(data))
    data[place:place] = data[start : start + rng.randrange(1, 40)]


def _number(rng: Random, data: bytearray) -> None:
    """Overwrite four bytes by a length that lies."""
    if len(data) >= 4:
        place = rng.randrange(len(data) - 3)
        number = rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.randrange(300)))
        data[place : place + 4] = struct.pack(">I", number)


def _truncate(rng: Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


_WAYS: tuple[Callable[[Random, bytearray], None], ...] = (
    _flip, _flip, _set, _delete_range, _insert, _splice, _number, _truncate,
)  # fmt: skip


def spoil(rng: Random, data: bytes, times: int | None = None) -> bytes:
    """Change a stream in one to four places."""
    out = bytearray(data)
    for _ in range(times or rng.randrange(1, 5)):
        if out:
            rng.choice(_WAYS)(rng, out)
    return bytes(out)


def frames(data: bytes) -> list[bytes]:
    """The frames of a stream; what is no whole frame comes last."""
    frame_list, place = [], 0
    while place < len(data):
        size = 8
        if data[place : place + 4] != b"AMQP":
            size += int.from_bytes(data[place + 3 : place + 7])
        frame_list.append(data[place : place + size])
        place += size
    return frame_list


def spoil_inside(rng: Random, data: bytes) -> bytes:
    """Change payloads only, sizes kept true, so that the framing holds and readers see it."""
    frame_list = frames(data)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(frame_list))
        kind, raw = frame_list[place][0], frame_list[place]
        if raw[:4] == b"AMQP":
            continue
        payload = bytearray(raw[7:-1])
        # The ids of method and class are mostly left alone: behind them is more to find.
        first = 0 if rng.random() < 0.1 else {1: 4, 2: 2}.get(kind, 0)
        if len(payload) > first and rng.random() < 0.6:
            mark = rng.choice((0, 1, 0x41, 0x46, 0x53, 0x5A, 0x7F, 0x80, 0xFF))
            payload[rng.randrange(first, len(payload))] = mark
        elif rng.random() < 0.5:
            del payload[max(first, len(payload) - rng.randrange(1, 4)) :]
        else:
            position = rng.randrange(first, len(payload) + 1) if len(payload) >= first else 0
            payload[position:position] = octets(rng, rng.randrange(1, 4))
        frame_list[place] = w.frame(kind, struct.unpack_from(">H", raw, 1)[0], bytes(payload))
    return b"".join(frame_list)


def chunks(rng: Random, data: bytes) -> list[bytes]:
    """Cut at random places, empty chunks included."""
    how = rng.randrange(3)
    if how == 0:
        return [data[i : i + 1] for i in range(len(data))]
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 9)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
