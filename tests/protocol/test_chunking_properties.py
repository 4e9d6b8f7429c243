"""Any chunking gives what all at once gives: frames, errors, places, and what is left."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support.amqp091_same import key_of

Outcome = tuple[list[Any], Any, int]


def description_of(error: amqpcodec.DecodeError) -> Any:
    return (type(error), str(error), error.offset, error.channel, error.method, error.field,
            error.reply_code, error.scope, error.frame_type)  # fmt: skip


def run(decoder: Any, chunks: list[bytes], reuse: bool = False) -> Outcome:
    """Feed until the first error: the frames, the error, and the bytes left when there is none."""
    rows: list[Any] = []
    try:
        for chunk in chunks:
            buffer = bytearray(chunk) if reuse else chunk
            frames = decoder.feed(buffer)
            if isinstance(buffer, bytearray):
                buffer[:] = b"\xee" * len(buffer)
                buffer.clear()
            for channel, frame in frames:
                if isinstance(frame, amqp.BadFrame):
                    rows.append((channel, "bad", description_of(frame.error), bytes(frame.raw)))
                else:
                    rows.append((channel, frame))
    except amqpcodec.DecodeError as error:
        return _keys(rows), description_of(error), -1
    return _keys(rows), None, decoder.pending


def _keys(rows: list[Any]) -> list[Any]:
    return [item if len(item) == 4 else (item[0], key_of(item[1])) for item in rows]


def split(data: bytes, rng: Random) -> list[bytes]:
    return gen.chunks(rng, data)


KINDS = [amqp.Decoder, amqp.MessageDecoder]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@every_kind
@pytest.mark.parametrize("errors", ["strict", "frame"])
def test_valid_streams(kind: Any, errors: str) -> None:
    @settings(max_examples=200)
    @given(some.seeds)
    def check(rng: Random) -> None:
        data = gen.conversation(rng)
        complete = run(kind(0, errors=errors), [data])
        assert complete[1] is None
        assert not any(item[1] == "bad" for item in complete[0] if len(item) == 4)
        assert run(kind(0, errors=errors), split(data, rng)) == complete
        assert run(kind(0, errors=errors), split(data, rng), reuse=True) == complete
        assert run(kind(0, errors=errors, copy=False), split(data, rng)) == complete
        assert run(kind(0, errors=errors, copy=False), split(data, rng), reuse=True) == complete

    check()


@every_kind
@pytest.mark.parametrize("errors", ["strict", "frame"])
def test_spoilt_streams(kind: Any, errors: str) -> None:
    @settings(max_examples=500)
    @given(some.seeds)
    def check(rng: Random) -> None:
        data = gen.conversation(rng) if rng.random() < 0.5 else gen.stream(rng)
        data = gen.spoil(rng, data) if rng.random() < 0.5 else gen.spoil_inside(rng, data)
        frame_max = rng.choice((0, 4096, 131072))
        complete = run(kind(frame_max, errors=errors), [data])
        for chunks in (split(data, rng), [data[i : i + 1] for i in range(len(data))]):
            assert run(kind(frame_max, errors=errors), chunks) == complete
            assert run(kind(frame_max, errors=errors), chunks, reuse=True) == complete

    check()


@given(some.seeds)
@settings(max_examples=400)
def test_decoder_agrees_with_decode(rng: Random) -> None:
    data = gen.spoil(rng, gen.stream(rng)) if rng.random() < 0.6 else gen.stream(rng)
    frames, error, offset = [], None, 0
    try:
        while (result := amqp.decode(data, offset)) is not None:
            consumed, channel, frame = result
            assert consumed > 0
            frames.append((channel, frame))
            offset += consumed
    except amqpcodec.DecodeError as caught:
        error = description_of(caught)
    remaining_bytes = len(data) - offset if error is None else -1
    assert run(amqp.Decoder(0), [data]) == (_keys(frames), error, remaining_bytes)


@given(some.seeds)
@settings(max_examples=400)
def test_strict_and_events_tell_the_same(rng: Random) -> None:
    """errors="frame" gives, in order, what a caller gets who catches and feeds on."""
    data = gen.spoil_inside(rng, gen.stream(rng))
    events = run(amqp.Decoder(0, errors="frame"), [data])
    decoder, outcomes, fatal = amqp.Decoder(0), [], None
    frames = decoder.feed(data)
    for _ in range(len(data) + 2):
        try:
            for channel, frame in frames:
                outcomes.append((channel, key_of(frame)))
            break
        except amqpcodec.DecodeError as error:
            if error.scope == "connection":
                fatal = description_of(error)
                break
            outcomes.append(description_of(error))
            frames = decoder.feed(b"")
    else:
        pytest.fail("no progress")
    assert outcomes == [item[2] if len(item) == 4 else item for item in events[0]]
    assert fatal == events[1]


@given(some.seeds)
@settings(max_examples=200)
def test_bad_frames_hold_the_octets_of_the_stream(rng: Random) -> None:
    """Frames and bad frames, put together again, are the stream."""
    data = gen.spoil_inside(rng, gen.stream(rng))
    out = b""
    for channel, frame in amqp.Decoder(0, errors="frame").feed(data):
        if isinstance(frame, amqp.BadFrame):
            out += bytes(frame.raw)
        else:
            out += amqp.encode(channel, frame)
    assert out == data
