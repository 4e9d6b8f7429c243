"""Runs of messages of 0-9-1 at random: alike in methods, properties and headers, or nearly."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w

CONTENT = ("basic.publish", "basic.deliver", "basic.return", "basic.get-ok")
WIRES = dict(w.PROPERTIES)


def entry(rng: Random) -> tuple[bytes, bytes]:
    usual = (b"S" + w.longstr(b"text" * rng.randrange(9)), b"I" + rng.randbytes(4), b"t\1", b"V")
    return b"k%d" % rng.randrange(9), rng.choice((*usual, gen.value(rng)))


def a_value(rng: Random, wire: str) -> Any:
    if wire == "s":
        size = rng.choice((0, 1, 11, 12, 13, 16, 17, 36, 255))
        return "é" if rng.random() < 0.02 else "x" * size
    if wire == "F":
        return w.table(*(entry(rng) for _ in range(rng.randrange(4))))
    return rng.getrandbits({"o": 8, "T": 40}[wire])


def run(rng: Random, count: int) -> bytes:
    """Messages with one method, on some channels, and the same properties."""
    name = rng.choice(CONTENT)
    property_names = [field for field in WIRES if rng.random() < 0.4]
    out = []
    for _ in range(count):
        channel = rng.randrange(1, 4)
        body = rng.randbytes(rng.choice((0, 1, 12, 13, 100)))
        arguments: dict[str, Any] = {}
        for field, wire in w.SPECS[name].fields:
            if wire == "s":
                arguments[field] = a_value(rng, "s")
            elif wire == "q":
                arguments[field] = rng.getrandbits(rng.choice((8, 40, 63, 63, 64)))
            elif wire in "bohl":
                arguments[field] = rng.randrange(2)
        out.append(w.method_frame(name, channel, **arguments))
        properties = {field: a_value(rng, WIRES[field]) for field in property_names}
        out.append(w.header_frame(len(body), channel=channel, **properties))
        if body:
            split = rng.randrange(len(body)) if rng.random() < 0.05 else 0
            out += [w.body_frame(channel, piece) for piece in (body[:split], body[split:]) if piece]
    return b"".join(out)


def spoilt(rng: Random, data: bytes) -> bytes:
    raws = gen.frames(data)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(raws))
        how = rng.randrange(3)
        if how == 0:
            raws[place] = gen.spoil_inside(rng, raws[place])
        elif how == 1:
            raws[place] = w.HEARTBEAT
        else:
            raws.insert(place, rng.choice((w.HEARTBEAT, gen.any_frame(rng))))
    data = b"".join(raws)
    return gen.spoil(rng, data, 1) if rng.random() < 0.3 else data


def alike(count: int, **properties: Any) -> bytes:
    """Messages of one kind, and more than enough of them behind those for a plan."""
    raws = [
        w.method_frame("basic.deliver", 1, consumer_tag="c" * 20, delivery_tag=7),
        w.header_frame(3, channel=1, **properties),
        w.body_frame(1, b"abc"),
    ]
    return b"".join(raws) * count


def one_size(rng: Random, count: int) -> list[bytes]:
    """Messages of one size: every value has its length, and is another in each."""
    name = rng.choice(CONTENT)
    sizes = {field: rng.choice((0, 1, 11, 12, 13, 16, 17, 36, 255)) for field in "abcdefghijklmnop"}
    property_names = [field for field in WIRES if rng.random() < 0.4]
    kinds = rng.choices(("S", "I", "t", "V", "l", "F", "A"), k=rng.randrange(4))
    size, channel = rng.choice((0, 1, 12, 13, 100)), rng.randrange(1, 4)
    nested = w.table((b"n", b"I" + rng.randbytes(4)))
    out = []
    for _ in range(count):

        def value(field: str, wire: str) -> Any:
            if wire == "s":
                return "".join(rng.choices("abcxyz", k=sizes["abcdefghijklmnop"[len(field)]]))
            if wire == "F":
                entries = {
                    "S": b"S" + w.longstr(rng.randbytes(sizes["a"])),
                    "I": b"I" + rng.randbytes(4),
                    "t": b"t" + rng.randbytes(1),
                    "V": b"V",
                    "l": b"l" + rng.randbytes(8),
                    "F": b"F" + nested,
                    "A": b"A" + w.longstr(b"V" * 3),
                }
                return w.table(*((b"%d" % number, entries[k]) for number, k in enumerate(kinds)))
            return rng.getrandbits({"o": 8, "h": 16, "l": 32, "q": 63, "T": 42, "b": 1}[wire])

        arguments = {
            field: value(field[:15], wire) for field, wire in w.SPECS[name].fields if wire != "F"
        }
        properties = {field: value(field[:15], WIRES[field]) for field in property_names}
        body = [w.body_frame(channel, rng.randbytes(size))] if size else []
        raws = [
            w.method_frame(name, channel, **arguments),
            w.header_frame(size, channel=channel, **properties),
        ]
        out.append(b"".join(raws + body))
    return out
