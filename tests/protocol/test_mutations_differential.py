"""Damaged frames: package and reference refuse the same ones, for the same reason, at one place."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.reference import DIALECTS, FACTS, Malformed, decode_frame, encode_frame
from tests.support.bridge import check, py_name
from tests.support.damage import damage, reframe
from tests.support.generate import Generate

METHODS = sorted(FACTS.methods)
LENGTHS = (b"\x00", b"\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x01")


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
        data = encode_frame(generate.channel(), frame, dialect)
        data = reframe(data, damage(random, data[7:-1], LENGTHS))
        good += agree(data, dialect, random.choice(["plain", "typed"]))
    if name == "header":
        assert 50 < good < 550, "these mutations say little: too harmless or too rough"
