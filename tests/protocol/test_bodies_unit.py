"""Bodies of messages: read from wherever a chunk ends straight into the bytes that they become."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

PROPERTIES = {"content_type": "t"}
BODY = bytes(range(256)) * 3


def start(channel: int, size: int) -> bytes:
    method = w.method_frame("basic.deliver", channel, consumer_tag="c", routing_key="k")
    return method + w.header_frame(size, channel, **PROPERTIES)


def events(decoder: Any, *chunks: bytes) -> list[tuple[int, Any]]:
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def fed(decoder: Any, data: bytes, step: int) -> list[tuple[int, Any]]:
    return events(decoder, *[data[at : at + step] for at in range(0, len(data), step)])


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("pieces", [[768], [1, 767], [300, 0, 468], [768, 0]])
def test_a_body_frame_cut_at_every_place(pieces: list[int], copy: bool) -> None:
    """The message, and what is pending in between, wherever the chunk ends."""
    frames, at = [], 0
    for size in pieces:
        frames.append(w.body_frame(5, BODY[at : at + size]))
        at += size
    data = start(5, len(BODY)) + b"".join(frames)
    late = len(frames[-1]) if pieces[-1] == 0 else 0  # an empty frame after a whole body is refused
    if late:
        data = data[:-late]
    for position in range(len(data) + 1):
        decoder = amqp.MessageDecoder(copy=copy)
        first = events(decoder, data[:position])
        assert decoder.offset + decoder.pending == position
        later_events = events(decoder, data[position:])
        ((channel, message),) = first + later_events
        assert channel == 5
        assert bytes(message.body) == BODY
        assert type(message.body) is (bytes if copy else memoryview)
        assert (decoder.offset, decoder.pending) == (len(data), 0)
        decoder.eof()


@pytest.mark.parametrize("step", [1, 2, 7, 100, 10_000])
def test_a_wrong_frame_end_is_the_same_error_in_any_chunking(step: int) -> None:
    data = start(5, len(BODY)) + w.body_frame(5, BODY[:400])
    wrong = len(data) - 1
    data = data[:-1] + b"\x00" + w.body_frame(5, BODY[400:])
    decoder = amqp.MessageDecoder(errors="frame")
    caught = []
    for at in range(0, len(data), step):
        try:
            assert events(decoder, data[at : at + step]) == []
        except amqpcodec.DecodeError as error:
            caught.append(error)
    with pytest.raises(amqpcodec.FrameEndError) as again:
        events(decoder, b"")
    for error in [*caught, again.value]:
        assert type(error) is amqpcodec.FrameEndError
        assert (error.offset, error.frame_type, error.channel) == (wrong, 3, 5)
        assert error.scope == "connection"
        assert str(error) == str(again.value)
    assert decoder.offset == wrong - 400 - 7
    assert decoder.offset + decoder.pending == len(data)


@pytest.mark.parametrize("position", [1, 7, 8, 100, 407, 408])
def test_discard_inside_of_a_body_frame(position: int) -> None:
    """The rest of the frame and of the content passes; the next message is whole."""
    data = start(5, len(BODY))
    first, second = w.body_frame(5, BODY[:400]), w.body_frame(5, BODY[400:])
    decoder = amqp.MessageDecoder()
    assert events(decoder, data + first[:position]) == []
    assert decoder.discard(5) is True
    after = start(5, 3) + w.body_frame(5, b"abc")
    ((channel, message),) = events(decoder, first[position:], second + after)
    assert (channel, message.body) == (5, b"abc")


def test_channels_take_turns_inside_of_what_was_not_asked_for() -> None:
    """Chunks that nobody iterated over, a frame across their border."""
    data = start(1, 600) + start(2, 5) + w.body_frame(1, BODY[:300])
    data += w.body_frame(2, b"hello") + w.body_frame(1, BODY[300:600])
    decoder = amqp.MessageDecoder()
    for at in range(0, len(data), 33):
        last = decoder.feed(data[at : at + 33])
    messages = [(channel, message.body) for channel, message in last]
    assert messages == [(2, b"hello"), (1, BODY[:600])]


def test_reset_inside_of_a_body_frame() -> None:
    decoder = amqp.MessageDecoder()
    assert events(decoder, start(5, 600) + w.body_frame(5, BODY[:600])[:50]) == []
    decoder.reset()
    assert (decoder.offset, decoder.pending) == (0, 0)
    ((_, message),) = events(decoder, start(5, 3) + w.body_frame(5, b"abc"))
    assert message.body == b"abc"


def test_eof_inside_of_a_body_frame() -> None:
    decoder = amqp.MessageDecoder()
    head = start(5, 600)
    assert events(decoder, head + w.body_frame(5, BODY[:600])[:50]) == []
    with pytest.raises(amqpcodec.IncompleteError, match="50 bytes into it") as caught:
        decoder.eof()
    assert caught.value.offset == len(head)


@pytest.mark.parametrize(
    "frame", [w.body_frame(5, BODY[:601]), w.body_frame(6, b"x"), w.body_frame(5, BODY[:90])]
)
@pytest.mark.parametrize("step", [1, 50, 10_000])
def test_body_frames_out_of_place_are_refused_whole(frame: bytes, step: int) -> None:
    """Too much for the content, on another channel, beyond frame_max: errors as they were."""
    limit = 97 if len(frame) == 98 else 0
    data = start(5, 600) + frame
    decoder = amqp.MessageDecoder(frame_max=limit)
    with pytest.raises(amqpcodec.DecodeError) as caught:
        fed(decoder, data, step)
    assert caught.value.offset == len(data) - len(frame)
    expected = amqpcodec.FrameTooLargeError if limit else amqpcodec.UnexpectedFrameError
    assert type(caught.value) is expected


def test_announced_bodies_get_little_memory_on_all_channels_together() -> None:
    """A byte of a body of 1 GiB each, on 1,000 channels."""
    data = [start(n, 1 << 30) + w.body_frame(n, b"x") for n in range(1, 1001)]
    decoder = amqp.MessageDecoder()
    tracemalloc.start()
    try:
        for chunk in data:
            assert events(decoder, chunk) == []
        assert tracemalloc.get_traced_memory()[0] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 4095, 4096, 131071, 131072, 131073, 700_000])
@pytest.mark.parametrize("chunk", [1000, 65536, 1 << 20])
def test_bodies_grow_to_their_size(size: int, chunk: int) -> None:
    body = (BODY * (size // len(BODY) + 1))[:size]
    data = start(5, size)
    data += b"".join(w.body_frame(5, body[at : at + 4088]) for at in range(0, size, 4088))
    data *= 2
    messages = fed(amqp.MessageDecoder(), data, chunk)
    assert [message.body == body for _, message in messages] == [True, True]
