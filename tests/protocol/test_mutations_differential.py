"""Damaged frames: package and reference refuse the same ones, for the same reason, at one place."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.reference import DIALECTS, FACTS, Malformed, decode_frame, encode_frame
from tests.support.bridge import check, py_name
from tests.support.generate import Generate

METHODS = sorted(FACTS.methods)
LENGTHS = (b"\x00", b"\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x01")


def reframe(data: bytes, payload: bytes) -> bytes:
    """The frame with another payload, its size and end put right."""
    return data[:3] + len(payload).to_bytes(4, "big") + payload + b"\xce"


def mutate(random: Random, data: bytes) -> bytes:
    """One to three small damages to the payload."""
    payload = bytearray(data[7:-1])
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(payload) + 1)
        kind = random.randrange(6)
        if kind == 0:
            del payload[at:]
        elif kind == 1:
            del payload[at : at + random.randint(1, 4)]
        elif kind == 2:
            payload[at:at] = random.randbytes(random.randint(1, 4))
        elif kind == 3:
            piece = random.choice(LENGTHS)
            payload[at : at + len(piece)] = piece
        elif at < len(payload):
            payload[at] = (
                random.randrange(256) if kind == 4 else payload[at] ^ 1 << random.randrange(8)
            )
    return reframe(data, bytes(payload))


def outcome(data: bytes, dialect: str) -> Any:
    """What the reference makes of it: a frame, or (error class, reply code, offset, field)."""
    try:
        got = decode_frame(data, 0, dialect)
    except Malformed as error:
        field = None if error.field is None else py_name(error.field)
        return error.kind, error.reply_code, error.offset, field
    assert got is not None
    return got


def agree(data: bytes, dialect: str, tables: str) -> bool:
    """Whether the bytes are a frame; both sides must say the same."""
    want = outcome(data, dialect)
    if isinstance(want[0], int):
        consumed, channel, got = amqp.decode(data, dialect=dialect, tables=tables)
        assert (consumed, channel) == want[:2]
        assert amqp.encode(channel, got, dialect=dialect) == data
        check(got, want[2], dialect, tables)
        assert amqp.encode(channel, got, dialect=dialect) == data
        return True
    with pytest.raises(amqpcodec.DecodeError) as info:
        amqp.decode(data, dialect=dialect, tables=tables)
    error = info.value
    assert (type(error).__name__, error.reply_code, error.offset, error.field) == want
    return False


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", [*METHODS, "header"])
def test_mutations(name: str, dialect: str) -> None:
    good = 0
    for number in range(600 if name == "header" else 60):
        random = Random(f"mutation/{name}/{dialect}/{number}")
        generate = Generate(random, dialect)
        frame = generate.header() if name == "header" else generate.method(name)
        data = mutate(random, encode_frame(generate.channel(), frame, dialect))
        good += agree(data, dialect, random.choice(["plain", "typed"]))
    if name == "header":
        assert 50 < good < 550, "these mutations say little: too harmless or too rough"
