"""Any bytes give frames, "need more" or a DecodeError, and nothing else."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import key_of

CODES = {311, 501, 502, 503, 504, 505}


def judge(error: amqpcodec.DecodeError, size: int) -> None:
    """An error says where and what."""
    assert 0 <= error.offset <= size
    assert error.reply_code in CODES
    assert error.scope in ("frame", "channel", "connection")
    assert f"(offset {error.offset})" in str(error)
    assert type(error) is not amqpcodec.DecodeError


def walk(data: bytes, **options: Any) -> int:
    """Decode frame by frame; every frame that decodes must give its bytes again."""
    offset = frames = 0
    while True:
        try:
            result = amqp.decode(data, offset, **options)
        except amqpcodec.DecodeError as error:
            judge(error, len(data))
            return frames
        if result is None:
            return frames
        consumed, channel, frame = result
        assert 8 <= consumed <= len(data) - offset
        raw = data[offset : offset + consumed]
        assert amqp.encode(channel, frame) == raw
        key_of(frame)  # the lazy tables cannot fail later
        repr(frame)
        assert amqp.encode(channel, frame) == raw
        offset += consumed
        frames += 1


@given(some.randoms)
@settings(max_examples=400)
def test_spoilt_streams(rng: Random) -> None:
    walk(gen.spoil(rng, gen.stream(rng, 3)))


@given(some.seeds)
@settings(max_examples=1200)
def test_spoilt_payloads(rng: Random) -> None:
    walk(gen.spoil_inside(rng, gen.any_frame(rng)))


@given(st.sampled_from(sorted(w.SPECS)), st.binary(max_size=60))
@settings(max_examples=600)
@example("queue.declare", b"\0\0\1q\xff\0\0\0\0")
def test_random_arguments(name: str, octets: bytes) -> None:
    spec = w.SPECS[name]
    walk(w.frame(1, 1, struct.pack(">HH", spec.class_id, spec.method_id) + octets))


@given(st.integers(0, 65535), st.binary(max_size=60))
@settings(max_examples=300)
def test_random_properties(flags: int, octets: bytes) -> None:
    walk(w.frame(2, 1, struct.pack(">HHQH", 60, 0, 0, flags) + octets))


@given(
    st.lists(st.sampled_from([bytes([c]) for c in b"tbBsUuIilLfdDSATFVx\0\1\2\5\xff"]), max_size=30)
)
@settings(max_examples=400)
def test_random_tables(pieces: list[bytes]) -> None:
    """Bytes that are mostly tags and small lengths reach deep into the table reader."""
    for dialect in ("rabbitmq", "0-9-1"):
        for tables in ("plain", "typed"):
            data = w.header_frame(headers=w.longstr(b"".join(pieces)))
            try:
                frame = amqp.decode(data, dialect=dialect, tables=tables)[2]
            except amqpcodec.DecodeError as error:
                judge(error, len(data))
                continue
            key_of(frame.properties.headers)
            assert amqp.encode(1, frame, dialect=dialect) == data


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_octets(data: bytes) -> None:
    walk(data)


def drain(decoder: Any, data: bytes, rng: Random) -> None:
    """Feed with every error caught; the decoder must come to an end by itself."""
    size = len(data)
    events = 0
    for chunk in [*gen.chunks(rng, data), b""]:
        pending: bytes = chunk
        for _ in range(size + 2):
            try:
                for channel, frame in decoder.feed(pending):
                    assert 0 <= channel <= 65535
                    events += 1
                    if isinstance(frame, amqp.BadFrame):
                        judge(frame.error, size)
                        assert bytes(frame.raw) in data
                break
            except amqpcodec.DecodeError as error:
                judge(error, size)
                if error.scope == "connection":
                    return
                pending = b""
        else:
            pytest.fail("the decoder makes no progress")
    assert events <= size // 8 + 1
    assert 0 <= decoder.pending <= size


@pytest.mark.parametrize("errors", ["strict", "frame"])
@pytest.mark.parametrize("kind", [amqp.Decoder, amqp.MessageDecoder], ids=["frames", "messages"])
def test_decoders_never_break(kind: Any, errors: str) -> None:
    @settings(max_examples=800)
    @given(some.seeds)
    def check(rng: Random) -> None:
        data = gen.conversation(rng)
        how = rng.randrange(3)
        if how == 0:
            data = gen.spoil(rng, data)
        elif how == 1:
            data = gen.spoil_inside(rng, data)
        else:  # whole frames lost, doubled and moved
            frames = gen.frames(data)
            for _ in range(rng.randrange(1, 4)):
                place = rng.randrange(len(frames))
                frames.insert(rng.randrange(len(frames)), frames[place])
                del frames[rng.randrange(len(frames))]
            data = b"".join(frames)
        options: dict[str, Any] = {"errors": errors, "copy": rng.random() < 0.5}
        if kind is amqp.MessageDecoder:
            options["max_body_size"] = rng.choice((None, 0, 5, 1000))
        drain(kind(rng.choice((0, 4096)), **options), data, rng)

    check()
