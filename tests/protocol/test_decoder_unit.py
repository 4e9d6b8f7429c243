"""Decoder: any chunking, errors at their place, settings, buffers, bounded memory."""

from __future__ import annotations

import array
from itertools import chain
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

PUBLISH = w.method_frame("basic.publish", 1, exchange="orders", routing_key="eu")
HEADER = w.header_frame(5, 1, content_type="t", headers={"n": 1})
BODY = w.body_frame(1, b"hello")
STREAM = w.PROTOCOL_HEADER + PUBLISH + HEADER + BODY + w.HEARTBEAT
FRAMES = [
    (0, amqp.ProtocolHeader()),
    (1, amqp.Basic.Publish("orders", "eu")),
    (1, amqp.Header(5, amqp.Basic.Properties(content_type="t", headers={"n": 1}))),
    (1, amqp.Body(b"hello")),
    (0, amqp.Heartbeat()),
]
BAD = w.frame(1, 1, b"\0\x3c\0\x15" + b"\xc8" + b"tag")  # basic.consume-ok, tag cut
BAD_END = w.frame(1, 1, w.method_payload("tx.select"), b"\0")


def test_all_at_once() -> None:
    decoder = amqp.Decoder()
    assert list(decoder.feed(STREAM)) == FRAMES
    assert decoder.pending == 0
    decoder.eof()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 13, 50])
def test_chunks_of_one_size(size: int) -> None:
    decoder = amqp.Decoder()
    frames = []
    for i in range(0, len(STREAM), size):
        frames += list(decoder.feed(STREAM[i : i + size]))
    assert frames == FRAMES
    decoder.eof()


def test_every_two_chunks() -> None:
    for position in range(len(STREAM) + 1):
        decoder = amqp.Decoder()
        frames = list(decoder.feed(STREAM[:position])) + list(decoder.feed(STREAM[position:]))
        assert frames == FRAMES


def test_frames_come_as_soon_as_they_are_whole() -> None:
    decoder = amqp.Decoder()
    for i in range(len(PUBLISH) - 1):
        assert list(decoder.feed(PUBLISH[i : i + 1])) == []
        assert decoder.pending == i + 1
    assert list(decoder.feed(PUBLISH[-1:])) == [FRAMES[1]]
    assert decoder.pending == 0


def test_empty_chunks() -> None:
    decoder = amqp.Decoder()
    assert list(decoder.feed(b"")) == []
    list(decoder.feed(PUBLISH[:5]))
    assert list(decoder.feed(b"")) == []
    assert list(decoder.feed(PUBLISH[5:])) == [FRAMES[1]]


def test_large_frame_in_small_chunks() -> None:
    payload = bytes(range(256)) * 500
    data = w.body_frame(2, payload)
    decoder = amqp.Decoder()
    frames = []
    for i in range(0, len(data), 1000):
        frames += list(decoder.feed(data[i : i + 1000]))
    assert frames == [(2, amqp.Body(payload))]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: array.array("B", b)])
@pytest.mark.parametrize("copy", [True, False])
def test_buffers(kind: Any, copy: bool) -> None:
    decoder = amqp.Decoder(copy=copy)
    assert list(decoder.feed(kind(STREAM))) == FRAMES
    assert list(decoder.feed(kind(STREAM[:20]))) == FRAMES[:1]
    assert list(decoder.feed(kind(STREAM[20:]))) == FRAMES[1:]


@pytest.mark.parametrize("data", ["text", None, 5, [b"x"]])
def test_what_is_no_buffer(data: Any) -> None:
    decoder = amqp.Decoder()
    with pytest.raises(TypeError):
        decoder.feed(data)
    assert list(decoder.feed(STREAM)) == FRAMES


def test_buffers_with_gaps() -> None:
    decoder = amqp.Decoder()
    with pytest.raises((BufferError, ValueError, TypeError)):
        decoder.feed(memoryview(STREAM)[::2])
    assert list(decoder.feed(STREAM)) == FRAMES


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("position", [len(STREAM), 20, 61, 7])
def test_buffer_may_be_reused_before_iteration(copy: bool, position: int) -> None:
    """feed keeps no reference: overwriting or clearing the chunk at once changes nothing."""
    decoder = amqp.Decoder(copy=copy)
    buffer = bytearray(STREAM[:position])
    frames = decoder.feed(buffer)
    buffer[:] = b"\xee" * len(buffer)
    buffer.clear()  # with a held export this would be a BufferError
    first_frames = list(frames)
    buffer.extend(STREAM[position:])
    later_frames = decoder.feed(buffer)
    buffer[:] = b"\xee" * len(buffer)
    assert first_frames + list(later_frames) == FRAMES


@pytest.mark.parametrize("copy", [True, False])
def test_buffer_may_be_reused_during_iteration(copy: bool) -> None:
    decoder = amqp.Decoder(copy=copy)
    buffer = bytearray(STREAM)
    frames = []
    for item in decoder.feed(buffer):
        frames.append(item)
        buffer[:] = b"\xee" * len(STREAM)
    assert frames == FRAMES


def test_one_recv_buffer_for_a_whole_connection() -> None:
    decoder = amqp.Decoder()
    buffer = bytearray(16)
    frames = []
    for i in range(0, len(STREAM), 16):
        piece = STREAM[i : i + 16]
        buffer[: len(piece)] = piece
        frames += list(decoder.feed(memoryview(buffer)[: len(piece)]))
    assert frames == FRAMES


def test_chunk_that_is_gone() -> None:
    decoder = amqp.Decoder(copy=False)
    frames = decoder.feed(bytes(bytearray(STREAM)))
    junk = [b"\xee" * len(STREAM) for _ in range(100)]
    assert list(frames) == FRAMES
    del junk


def test_feed_returns_an_iterator() -> None:
    decoder = amqp.Decoder()
    frames = decoder.feed(STREAM)
    assert iter(frames) is frames
    assert next(frames) == FRAMES[0]
    assert list(frames) == FRAMES[1:]
    assert next(frames, None) is None


def test_iterator_left_half_way() -> None:
    decoder = amqp.Decoder()
    first = decoder.feed(STREAM)
    frames = [next(first), next(first)]
    frames += list(decoder.feed(STREAM))
    assert frames == FRAMES + FRAMES
    assert list(first) == []


def test_iterator_never_started() -> None:
    decoder = amqp.Decoder()
    decoder.feed(STREAM[:30])
    decoder.feed(STREAM[30:])
    assert decoder.pending == len(STREAM)
    assert list(decoder.feed(b"")) == FRAMES


def test_two_iterators_take_turns() -> None:
    decoder = amqp.Decoder()
    one = decoder.feed(STREAM)
    frames = [next(one)]
    other = decoder.feed(STREAM)
    while True:
        item = next(one, None) or next(other, None)
        if item is None:
            break
        frames.append(item)
    assert frames == FRAMES + FRAMES


def test_feed_inside_the_loop() -> None:
    decoder = amqp.Decoder()
    frames = []
    for number, item in enumerate(decoder.feed(STREAM)):
        frames.append(item)
        if number == 1:
            frames += list(decoder.feed(STREAM))
    assert frames == FRAMES + FRAMES


def test_reset_inside_the_loop() -> None:
    decoder = amqp.Decoder()
    frames = decoder.feed(STREAM)
    assert next(frames) == FRAMES[0]
    decoder.reset()
    assert decoder.pending == 0
    assert list(frames) == []
    assert list(decoder.feed(STREAM)) == FRAMES


def test_decoder_may_die_before_its_iterator() -> None:
    frames = amqp.Decoder().feed(STREAM)
    assert list(frames) == FRAMES


def test_reset() -> None:
    decoder = amqp.Decoder(4096)
    list(decoder.feed(STREAM[:12]))
    assert decoder.pending == 4
    decoder.reset()
    assert decoder.pending == 0
    assert decoder.frame_max == 4096
    decoder.eof()
    assert list(decoder.feed(STREAM)) == FRAMES


def test_reset_after_a_broken_frame() -> None:
    decoder = amqp.Decoder()
    with pytest.raises(amqpcodec.FrameEndError):
        list(decoder.feed(BAD_END))
    decoder.reset()
    assert list(decoder.feed(STREAM)) == FRAMES


@pytest.mark.parametrize("length", [1, 4, 7, 8, 20, 40])
def test_eof_inside_a_frame(length: int) -> None:
    decoder = amqp.Decoder()
    list(decoder.feed(STREAM[: 8 + length]))
    if decoder.pending == 0:
        decoder.eof()
        return
    with pytest.raises(amqpcodec.IncompleteError) as caught:
        decoder.eof()
    assert isinstance(caught.value, amqpcodec.DecodeError)


def test_error_comes_after_the_frames_before_it() -> None:
    decoder = amqp.Decoder()
    frames = []
    with pytest.raises(amqpcodec.TruncatedError) as caught:
        frames.extend(decoder.feed(STREAM + BAD + STREAM))  # keeps what came before the error
    assert frames == FRAMES
    assert caught.value.scope == "frame"
    assert caught.value.offset > len(STREAM)
    assert caught.value.channel == 1
    # The bad frame is consumed, what was not read stays.
    assert decoder.pending == len(STREAM)
    assert list(decoder.feed(b"")) == FRAMES


def test_feed_itself_raises_nothing() -> None:
    decoder = amqp.Decoder()
    frames = decoder.feed(BAD + PUBLISH)
    with pytest.raises(amqpcodec.TruncatedError):
        next(frames)
    assert list(decoder.feed(b"")) == [FRAMES[1]]


@pytest.mark.parametrize("size", [1, 7, 10, 1000])
def test_offsets_count_from_the_start_of_the_stream(size: int) -> None:
    decoder = amqp.Decoder()
    data = STREAM * 3 + BAD
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    with pytest.raises(amqpcodec.TruncatedError) as caught:
        list(chain.from_iterable(map(decoder.feed, pieces)))
    with pytest.raises(amqpcodec.TruncatedError) as alone:
        amqp.decode(BAD)
    assert caught.value.offset == len(STREAM) * 3 + alone.value.offset


def test_broken_framing_stays_put() -> None:
    decoder = amqp.Decoder()
    frames = []
    with pytest.raises(amqpcodec.FrameEndError) as first:
        frames.extend(decoder.feed(PUBLISH + BAD_END + PUBLISH))
    assert frames == [FRAMES[1]]
    assert first.value.scope == "connection"
    for chunk in (b"", PUBLISH, b""):
        with pytest.raises(amqpcodec.FrameEndError) as again:
            list(decoder.feed(chunk))
        assert again.value.offset == first.value.offset
        assert str(again.value) == str(first.value)


def test_bad_frames_as_events() -> None:
    decoder = amqp.Decoder(errors="frame")
    events = list(decoder.feed(PUBLISH + BAD + w.frame(9, 4, b"?") + HEADER + BAD))
    assert [type(frame) for _, frame in events] == [
        amqp.Basic.Publish, amqp.BadFrame, amqp.BadFrame, amqp.Header, amqp.BadFrame
    ]  # fmt: skip
    channel, bad = events[1]
    assert channel == 1
    assert bad.raw == BAD
    assert type(bad.error) is amqpcodec.TruncatedError
    assert bad.error.method == "basic.consume-ok"
    assert events[2][0] == 4
    assert type(events[2][1].error) is amqpcodec.FrameTypeError
    assert events[2][1].raw == w.frame(9, 4, b"?")
    assert events[4][1].error.offset == bad.error.offset + len(BAD + w.frame(9, 4, b"?") + HEADER)


@pytest.mark.parametrize("size", [1, 6, 11])
def test_bad_frames_keep_their_octets_in_any_chunking(size: int) -> None:
    decoder = amqp.Decoder(errors="frame")
    data = BAD + PUBLISH + BAD
    events = []
    for i in range(0, len(data), size):
        chunk = bytearray(data[i : i + size])
        frames = decoder.feed(chunk)
        chunk.clear()
        events += list(frames)
    assert [getattr(frame, "raw", None) for _, frame in events] == [BAD, None, BAD]


def test_events_do_not_hide_broken_framing() -> None:
    for bad, error in (
        (BAD_END, amqpcodec.FrameEndError),
        (b"\x01\0\1\xff\xff\xff\xff", amqpcodec.FrameTooLargeError),
    ):
        decoder = amqp.Decoder(errors="frame")
        frames = []
        with pytest.raises(error):
            frames.extend(decoder.feed(PUBLISH + bad))
        assert frames == [FRAMES[1]]


def test_unknown_error_mode_is_refused() -> None:
    for kind in (amqp.Decoder, amqp.MessageDecoder):
        with pytest.raises((ValueError, TypeError)):
            kind(errors="ignore")
        with pytest.raises(TypeError):
            kind(nonsense=1)


def test_frame_max() -> None:
    assert amqp.Decoder().frame_max == 131072
    assert amqp.Decoder(4096).frame_max == 4096
    assert amqp.Decoder(frame_max=0).frame_max == 0
    decoder = amqp.Decoder(4096)
    fits, large = w.body_frame(1, b"x" * 4088), w.body_frame(1, b"x" * 4089)
    assert list(decoder.feed(fits)) == [(1, amqp.Body(b"x" * 4088))]
    frames = decoder.feed(fits + large)
    assert next(frames) == (1, amqp.Body(b"x" * 4088))
    with pytest.raises(amqpcodec.FrameTooLargeError) as caught:
        next(frames)
    assert (caught.value.reply_code, caught.value.scope) == (501, "connection")
    assert caught.value.channel == 1
    with pytest.raises(amqpcodec.FrameTooLargeError):
        list(decoder.feed(b""))
    decoder.frame_max = 0
    assert decoder.frame_max == 0
    assert list(decoder.feed(b"")) == [(1, amqp.Body(b"x" * 4089))]


def test_oversize_is_seen_at_the_envelope() -> None:
    decoder = amqp.Decoder(4096)
    large = w.body_frame(1, b"x" * 4089)
    assert list(decoder.feed(large[:6])) == []
    with pytest.raises(amqpcodec.FrameTooLargeError):
        list(decoder.feed(large[6:7]))


def test_default_frame_max_is_enforced() -> None:
    fits, large = w.body_frame(1, b"x" * 131064), w.body_frame(1, b"x" * 131065)
    assert len(list(amqp.Decoder().feed(fits))) == 1
    with pytest.raises(amqpcodec.FrameTooLargeError):
        list(amqp.Decoder().feed(large))
    assert len(list(amqp.Decoder(0).feed(large))) == 1


@pytest.mark.parametrize("value", [-1, "4096", None, 1.5])
def test_bad_frame_max(value: Any) -> None:
    decoder = amqp.Decoder()
    with pytest.raises((ValueError, TypeError, OverflowError)):
        decoder.frame_max = value
    assert decoder.frame_max == 131072
    with pytest.raises((ValueError, TypeError, OverflowError)):
        amqp.Decoder(value)


def push(decoder: Any, data: bytes, hint: int = -1) -> list[Any]:
    """Feed as asyncio does with a BufferedProtocol."""
    received = []
    while data:
        buffer = memoryview(decoder.get_buffer(hint))
        assert not buffer.readonly
        assert buffer.nbytes > 0
        size = min(buffer.nbytes, len(data))
        buffer[:size] = data[:size]
        buffer.release()
        frames = decoder.buffer_updated(size)
        if frames is not None:
            received += list(frames)
        received += list(decoder.feed(b""))
        data = data[size:]
    return received


@pytest.mark.parametrize("hint", [-1, 0, 1, 10, 65536])
@pytest.mark.parametrize("size", [1, 3, 17, 1000])
def test_buffered_protocol(hint: int, size: int) -> None:
    decoder = amqp.Decoder()
    frames = []
    for i in range(0, len(STREAM), size):
        frames += push(decoder, STREAM[i : i + size], hint)
    assert frames == FRAMES
    assert decoder.pending == 0


def test_buffered_protocol_and_feed_mix() -> None:
    decoder = amqp.Decoder()
    frames = list(decoder.feed(STREAM[:13])) + push(decoder, STREAM[13:40])
    frames += list(decoder.feed(STREAM[40:]))
    assert frames == FRAMES


def test_buffered_protocol_large_frame() -> None:
    decoder = amqp.Decoder(0)
    data = w.body_frame(1, bytes(range(256)) * 4000)
    assert push(decoder, data) == [(1, amqp.Body(bytes(range(256)) * 4000))]


@pytest.mark.parametrize("size", [-1, 1 << 40])
def test_buffer_updated_by_more_than_there_is(size: int) -> None:
    decoder = amqp.Decoder()
    decoder.get_buffer(16)
    with pytest.raises((ValueError, OverflowError, IndexError, BufferError)):
        decoder.buffer_updated(size)


def test_buffer_updated_without_a_buffer() -> None:
    decoder = amqp.Decoder()
    with pytest.raises((ValueError, RuntimeError, BufferError, IndexError)):
        decoder.buffer_updated(5)


def test_a_lent_buffer_outlives_what_comes_after() -> None:
    """Writing into an old get_buffer view must never reach freed memory or later frames."""
    decoder = amqp.Decoder()
    old = memoryview(decoder.get_buffer(64))
    list(decoder.feed(STREAM[:30]))
    try:
        frames = list(decoder.feed(STREAM[30:] + w.body_frame(1, b"y" * 100_000)))
    except BufferError:
        return  # refusing to move a lent buffer is sound as well
    for i in range(min(old.nbytes, 64)):
        old[i] = 0xEE
    assert frames[-1] == (1, amqp.Body(b"y" * 100_000))


def test_copy_false_views_stay_valid() -> None:
    decoder = amqp.Decoder(copy=False)
    bodies = []
    for i in range(200):
        data = w.body_frame(1, b"%d-" % i * 50)
        for _, frame in decoder.feed(data):
            bodies.append(frame)
        del data
    for i, frame in enumerate(bodies):
        assert isinstance(frame.payload, memoryview)
        assert frame.payload.readonly
        assert bytes(frame.payload) == b"%d-" % i * 50
    del decoder
    assert bytes(bodies[7].payload) == b"7-" * 50


@pytest.mark.parametrize("size", [1, 9, 64, 10_000])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_copy_false_in_any_chunking(size: int, kind: Any) -> None:
    bodies = [b"%03d" % i * 20 for i in range(30)]
    data = b"".join(w.body_frame(1, body) for body in bodies)
    decoder = amqp.Decoder(copy=False)
    body_frames = []
    for i in range(0, len(data), size):
        chunk = kind(data[i : i + size])
        frames = decoder.feed(chunk)
        if kind is bytearray:
            chunk[:] = b"\xee" * len(chunk)
            chunk.clear()
        body_frames += [frame for _, frame in frames]
    list(decoder.feed(b"\x03\0\1\0\0\0\x09"))
    for frame, body in zip(body_frames, bodies, strict=True):
        assert bytes(frame.payload) == body
        assert memoryview(frame.payload).readonly


def test_headers_outlive_the_chunk() -> None:
    for copy in (True, False):
        decoder = amqp.Decoder(copy=copy)
        chunk = bytearray(HEADER)
        frames = decoder.feed(chunk)
        chunk[:] = b"\xee" * len(chunk)
        ((_, header),) = frames
        list(decoder.feed(w.body_frame(1, b"\xee" * 50_000)))
        del decoder
        assert header.properties.headers == {"n": 1}
        assert amqp.encode(1, header) == HEADER


@pytest.mark.parametrize("dialect", ["rabbitmq", "0-9-1"])
@pytest.mark.parametrize("tables", ["plain", "typed"])
def test_options_reach_the_tables(dialect: str, tables: str) -> None:
    data = w.header_frame(headers=w.table(("l", b"l" + b"\xff" * 8), ("v", b"V")))
    expected = amqp.decode(data, dialect=dialect, tables=tables)[2].properties.headers
    for size in (len(data), 5):
        decoder = amqp.Decoder(dialect=dialect, tables=tables)
        frames = []
        for i in range(0, len(data), size):
            frames += list(decoder.feed(data[i : i + size]))
        headers = frames[0][1].properties.headers
        assert headers == expected
        assert [type(v) for v in headers.values()] == [type(v) for v in expected.values()]


def test_protocol_header_in_pieces_and_strangers() -> None:
    decoder = amqp.Decoder()
    for i in range(7):
        assert list(decoder.feed(w.PROTOCOL_HEADER[i : i + 1])) == []
    assert list(decoder.feed(w.PROTOCOL_HEADER[7:])) == [FRAMES[0]]
    for stranger in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"):
        with pytest.raises(amqpcodec.DecodeError) as caught:
            list(amqp.Decoder().feed(stranger))
        assert caught.value.reply_code == 501


def test_heartbeat_errors_go_on() -> None:
    decoder = amqp.Decoder()
    with pytest.raises(amqpcodec.HeartbeatError):
        list(decoder.feed(w.frame(8, 0, b"x") + PUBLISH))
    assert list(decoder.feed(b"")) == [FRAMES[1]]


@pytest.mark.parametrize("length", [2, 16, 40])
def test_short_names_that_come_again_are_one_object(length: int) -> None:
    data = w.method_frame("basic.deliver", 1, exchange="e" * length, routing_key="key")
    exchanges = [frame.exchange for _, frame in amqp.Decoder().feed(data * 3)]
    assert exchanges == ["e" * length] * 3
    assert len({id(exchange) for exchange in exchanges}) == 1
