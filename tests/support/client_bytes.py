"""Frames, tables and other bytes to read: well-formed ones of every form, and damaged ones."""

from __future__ import annotations

import struct
from functools import cache
from random import Random

from tests.reference import FACTS, encode_frame, encode_table
from tests.support.damage import damage, reframe
from tests.support.generate import Generate

METHODS = sorted(FACTS.methods)
POOL = 3000
LENGTHS = (b"\x00", b"\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x01")
ODD_TAGS = b"aCGhnNzXsSlLUTDdfFAxVtbBuiI\x00\xff"


class Usual(Generate):
    """Values as programs send them: text is UTF-8, times have four-digit years."""

    def octets(self, most: int) -> bytes:
        """Text."""
        word = self.random.choice(["", "a", "orders", "größe", "k" * 200, "中文", "x-death", "q.1"])
        return word.encode()[: most - most % 2] if most >= 8 else word[:1].encode()[:most]

    def seconds(self) -> int:
        """Up to the year 2106, where pamqp goes on in milliseconds."""
        edges = [0, 2**32 - 1, 2**32, 1_700_000_000]
        return self.random.choice(edges) if self.random.randrange(8) == 0 else self.uint(31)


@cache
def pool() -> tuple[bytes, ...]:
    """Frames of every method and properties of every kind, from a fixed seed."""
    random = Random("compat/pool")
    kinds = [Generate(random), Usual(random), Usual(random)]
    frames = []
    for number in range(POOL):
        generate = kinds[number // 200 % 3]
        if number % 3 == 0:
            frame = generate.method(METHODS[number // 3 % len(METHODS)])
        elif number % 3 == 1:
            frame = generate.header()
        else:
            frame = generate.method(generate.random.choice(METHODS))
        frames.append(encode_frame(generate.channel(), frame))
    return tuple(frames)


def body(random: Random) -> bytes:
    """A body frame."""
    payload = random.randbytes(random.choice([0, 1, 7, 256, 5000]))
    return b"\x03" + struct.pack(">HI", random.randrange(65536), len(payload)) + payload + b"\xce"


def odd(random: Random) -> bytes:
    """What is neither method, header nor body."""
    return random.choice(
        [
            b"",
            b"\x08\x00\x00\x00\x00\x00\x00\xce",
            b"\x08\x00\x01\x00\x00\x00\x00\xce",
            b"\x08\x00\x00\x00\x00\x00\x01a\xce",
            b"AMQP\x00\x00\x09\x01",
            b"AMQP\x01\x01\x00\x0a",
            b"AMQP\x03\x01\x00",
            b"AMQ",
            b"AMQPAMQPAMQP",
            b"\x01\x00\x00\x00\x00\x00\x00\xce",
            b"\x02\x00\x00\x00\x00\x00\x00\xce",
            b"\x03\x00\x00\x00\x00\x00\x00\xce",
            b"\x01\x00\x00\x00\x00\x00\x04\x00\x3c\x00\x50\xce",
            b"\x01\x00\x00\x00\x00\x00\x03\x00\x3c\x00\xce",
            b"\x04\x00\x00\x00\x00\x00\x01a\xce",
            b"\x00\x00\x00\x00\x00\x00\x00\x00",
            b"\xff" * 20,
            random.randbytes(random.randrange(40)),
        ]
    )


def splice(random: Random, first: bytes, second: bytes) -> bytes:
    """The beginning of one and the end of the other."""
    return first[: random.randrange(len(first) + 1)] + second[random.randrange(len(second) + 1) :]


def frame(random: Random) -> bytes:
    """Any bytes that a client may be handed as a frame: whole, damaged, or followed by more."""
    kind = random.randrange(12)
    if kind == 0:
        return odd(random)
    if kind == 1:
        data = body(random)
        return damage(random, data, LENGTHS, ODD_TAGS) if random.randrange(3) == 0 else data
    data = random.choice(pool())
    if kind == 2:  # as it is, and maybe what follows
        return data + random.choice([b"", b"", random.choice(pool())[: random.randrange(30)]])
    if kind == 3:
        return data[: random.randrange(len(data))]
    if kind == 4:
        return damage(random, data, LENGTHS, ODD_TAGS)
    if kind == 5:
        return splice(random, data, random.choice(pool()))
    payload = data[7:-1]
    if kind == 6:
        return reframe(data, splice(random, payload, random.choice(pool())[7:-1]))
    if kind == 7:  # flag words and their continuations
        word = random.choice([1, 3, 0xFFFF, 0xFFFE, 0x8001, 2])
        offset = 12 if data[0] == 2 else 4
        return reframe(data, payload[:offset] + struct.pack(">H", word) + payload[offset + 2 :])
    if kind in (8, 9):
        return data
    return reframe(data, damage(random, payload, LENGTHS, ODD_TAGS))


@cache
def tables() -> tuple[bytes, ...]:
    """Field tables with their sizes in front, from a fixed seed."""
    random = Random("compat/tables")
    kinds = [Generate(random), Usual(random), Usual(random)]
    encoded = []
    for number in range(1500):
        generate = kinds[number // 100 % 3]
        value = generate.every_tag() if number % 4 == 0 else generate.table()
        encoded.append(encode_table(value))
    return tuple(encoded)


@cache
def headers() -> tuple[bytes, ...]:
    """The content headers of the pool."""
    return tuple(data for data in pool() if data[0] == 2)


def header(random: Random) -> bytes:
    """The payload of a content header, whole or damaged."""
    data = random.choice(headers())[7:-1]
    return damage(random, data, LENGTHS, ODD_TAGS) if random.randrange(3) == 0 else data


def table(random: Random) -> bytes:
    """A field table, whole or damaged."""
    data = random.choice(tables())
    return damage(random, data, LENGTHS, ODD_TAGS) if random.randrange(2) else data


def nested(depth: int, tag: str = "F") -> bytes:
    """A table in a table in a table, or arrays, so many levels deep."""
    inner = struct.pack(">I", 0)
    for _ in range(depth):
        entry = (b"\x01kF" if tag == "F" else b"A") + inner
        inner = struct.pack(">I", len(entry)) + entry
    if tag == "A":
        entry = b"\x01kA" + inner
        inner = struct.pack(">I", len(entry)) + entry
    return inner
