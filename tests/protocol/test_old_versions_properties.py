"""0-9 and 0-8 under hostile bytes: a frame, more needed, or an error that says where."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import DecodeError, _codec
from tests.columns.batch_rows import rows
from tests.reference import encode_frame
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support.bridge import V0_8, V0_9, Version
from tests.support.generate import Generate

VERSIONS = {"0-9": V0_9, "0-8": V0_8}
each_version = pytest.mark.parametrize("at", VERSIONS.values(), ids=VERSIONS)
SLOW = {name: _codec.Protocol(at.amqp.PROTOCOL.table, fast=False) for name, at in VERSIONS.items()}


def any_frame(at: Version, rng: Random) -> bytes:
    wild = Generate(rng, facts=at.facts)
    if rng.random() < 0.7:
        frame: Any = wild.method(rng.choice(sorted(at.facts.methods)))
    else:
        frame = wild.header(rng.choice(sorted(at.facts.properties)))
    return encode_frame(rng.choice((1, 7, 65535)), frame, facts=at.facts)


def outcome(protocol: Any, data: bytes, **options: Any) -> tuple[Any, ...]:
    """What a decode comes to: the bytes of the frame again, or the error and its place."""
    try:
        result = protocol.decode(data, **options)
    except DecodeError as error:
        return type(error), str(error), error.offset, error.method, error.field
    if result is None:
        return (None,)
    consumed, channel, frame = result
    again = protocol.encode(channel, frame)
    assert again == data[:consumed]
    return consumed, channel, repr(frame), again


@each_version
@given(some.seeds)
@settings(max_examples=300)
def test_spoilt_frames(at: Version, rng: Random) -> None:
    """Fast and slow readers agree; columns hold what objects hold."""
    raw = any_frame(at, rng)
    data = gen.spoil_inside(rng, raw) if rng.random() < 0.7 else gen.spoil(rng, raw)
    for options in ({}, {"tables": "typed"}, {"dialect": "0-9-1"}):
        compiled = outcome(at.amqp, data, **options)
        assert compiled == outcome(SLOW[at.name], data, **options)
    expected = outcome(at.amqp, data)
    if len(expected) == 5 and data[3:7] == raw[3:7] and len(data) == len(raw):
        (row,) = rows(data, protocol=at.name)
        assert row["error"] == expected[1]


@each_version
@given(some.seeds)
@settings(max_examples=100)
def test_any_chunking(at: Version, rng: Random) -> None:
    frames = [any_frame(at, rng) for _ in range(4)]
    data = b"".join(frames)
    complete = list(at.amqp.Decoder(0).feed(data))
    assert b"".join(at.amqp.encode(channel, frame) for channel, frame in complete) == data
    decoder = at.amqp.Decoder(0)
    pieces = [item for chunk in gen.chunks(rng, data) for item in decoder.feed(chunk)]
    again = b"".join(at.amqp.encode(channel, frame) for channel, frame in pieces)
    assert again == data
    assert [type(frame) for _, frame in pieces] == [type(frame) for _, frame in complete]
