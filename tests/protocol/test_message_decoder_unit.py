"""MessageDecoder: contents joined per channel, and what does not belong there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

PROPERTIES = {"content_type": "t", "headers": {"n": 1}}


def deliver(channel: int, key: str = "k") -> bytes:
    return w.method_frame("basic.deliver", channel, consumer_tag="c", routing_key=key)


def message(body: bytes, key: str = "k") -> Any:
    method = amqp.Basic.Deliver("c", routing_key=key)
    return amqp.Message(method, amqp.Basic.Properties(**PROPERTIES), body)


def encoded_message(channel: int, body: bytes, key: str = "k", split: int = 4000) -> bytes:
    return deliver(channel, key) + w.content(channel, body, split=split, **PROPERTIES)


def feed(data: bytes, size: int = 0, **options: Any) -> list[Any]:
    decoder = amqp.MessageDecoder(**options)
    size = size or len(data)
    events = []
    for i in range(0, len(data), size):
        events += list(decoder.feed(data[i : i + size]))
    return events


def failure(data: bytes, **options: Any) -> tuple[list[Any], Any, Any]:
    """Events before the error, the error, and the decoder."""
    decoder = amqp.MessageDecoder(**options)
    events: list[Any] = []
    with pytest.raises(amqpcodec.DecodeError) as caught:
        events.extend(decoder.feed(data))  # keeps what came before the error
    return events, caught.value, decoder


@pytest.mark.parametrize("name", [n for n, s in w.SPECS.items() if s.has_content])
def test_every_method_with_content(name: str) -> None:
    data = w.method_frame(name, 3) + w.content(3, b"body", **PROPERTIES)
    ((channel, event),) = feed(data)
    assert channel == 3
    assert type(event) is amqp.Message
    assert event.method == w.class_of(amqp, name)()
    assert event.properties == amqp.Basic.Properties(**PROPERTIES)
    assert event.body == b"body"
    assert type(event.body) is bytes


@pytest.mark.parametrize("name", [n for n, s in w.SPECS.items() if not s.has_content])
def test_methods_without_content_come_alone(name: str) -> None:
    assert feed(w.method_frame(name, 3)) == [(3, w.class_of(amqp, name)())]


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 50, 4095])
@pytest.mark.parametrize("body", [0, 1, 10, 3999, 4000, 4001, 20_000])
def test_bodies_of_many_frames_in_any_chunking(body: int, size: int) -> None:
    octets = (b"0123456789" * 2000)[:body]
    if body > 10 and size == 1:
        octets = octets[:500]
    data = encoded_message(1, octets, split=400) + w.method_frame("basic.ack", 1, delivery_tag=7)
    assert feed(data, size) == [(1, message(octets)), (1, amqp.Basic.Ack(7))]


def test_message_is_whole_as_soon_as_its_last_octet_is_there() -> None:
    data = encoded_message(1, b"hello")
    decoder = amqp.MessageDecoder()
    assert list(decoder.feed(data[:-1])) == []
    assert list(decoder.feed(data[-1:])) == [(1, message(b"hello"))]


def test_empty_body_needs_no_body_frame() -> None:
    decoder = amqp.MessageDecoder()
    assert list(decoder.feed(encoded_message(1, b""))) == [(1, message(b""))]
    assert list(decoder.feed(encoded_message(1, b"x"))) == [(1, message(b"x"))]
    decoder.eof()


def test_empty_body_frames_between() -> None:
    data = deliver(1) + w.header_frame(4, 1, **PROPERTIES)
    for piece in (b"", b"ab", b"", b"", b"cd"):
        data += w.body_frame(1, piece)
    assert feed(data) == [(1, message(b"abcd"))]


def test_channels_interleave() -> None:
    data = (
        deliver(1, "one")
        + deliver(2, "two")
        + w.header_frame(6, 2, **PROPERTIES)
        + w.header_frame(3, 1, **PROPERTIES)
        + w.body_frame(2, b"abc")
        + w.method_frame("basic.ack", 3, delivery_tag=1)
        + w.body_frame(1, b"xyz")
        + encoded_message(65535, b"", "far")
        + w.body_frame(2, b"def")
    )
    assert feed(data) == [
        (3, amqp.Basic.Ack(1)),
        (1, message(b"xyz", "one")),
        (65535, message(b"", "far")),
        (2, message(b"abcdef", "two")),
    ]


def test_every_channel_at_once() -> None:
    channels = list(range(1, 3000, 7))
    data = b"".join(deliver(c, str(c)) for c in channels)
    data += b"".join(w.header_frame(2, c, **PROPERTIES) for c in channels)
    data += b"".join(w.body_frame(c, b"a") for c in channels)
    data += b"".join(w.body_frame(c, b"b") for c in reversed(channels))
    assert feed(data) == [(c, message(b"ab", str(c))) for c in reversed(channels)]


def test_heartbeats_and_channel_zero_between() -> None:
    data = (
        deliver(1)
        + w.HEARTBEAT
        + w.header_frame(3, 1, **PROPERTIES)
        + w.method_frame("connection.blocked", 0, reason="r")
        + w.HEARTBEAT
        + w.body_frame(1, b"abc")
    )
    events = [event for event in feed(data) if not isinstance(event[1], amqp.Heartbeat)]
    assert events == [(0, amqp.Connection.Blocked("r")), (1, message(b"abc"))]


def test_protocol_header_first() -> None:
    events = feed(w.PROTOCOL_HEADER + encoded_message(1, b"x"))
    assert events[-1] == (1, message(b"x"))
    assert all(isinstance(event, amqp.ProtocolHeader) for _, event in events[:-1])


UNEXPECTED = {
    "header without method": w.header_frame(3, 1),
    "body without header": w.body_frame(1, b"abc"),
    "empty body without header": w.body_frame(1, b""),
    "body right after the method": deliver(1) + w.body_frame(1, b"abc"),
    "two headers": deliver(1) + w.header_frame(3, 1) + w.header_frame(3, 1),
    "body of too many bytes": deliver(1) + w.header_frame(3, 1) + w.body_frame(1, b"abcd"),
    "body beyond the last": deliver(1)
    + w.header_frame(3, 1)
    + w.body_frame(1, b"ab")
    + w.body_frame(1, b"cd"),
    "body behind an empty content": encoded_message(1, b"") + w.body_frame(1, b"x"),
    "method between method and header": deliver(1) + w.method_frame("basic.ack", 1),
    "method between header and body": deliver(1)
    + w.header_frame(3, 1)
    + w.method_frame("basic.ack", 1),
    "content method in content": deliver(1) + w.header_frame(3, 1) + deliver(1),
    "method between bodies": deliver(1) + w.header_frame(3, 1) + w.body_frame(1, b"a") + deliver(1),
    "header behind a method without content": w.method_frame("basic.ack", 1) + w.header_frame(3, 1),
}


@pytest.mark.parametrize("data", UNEXPECTED.values(), ids=UNEXPECTED.keys())
def test_unexpected_frames(data: bytes) -> None:
    before = encoded_message(2, b"before")
    _, error, _ = failure(before + data)
    assert type(error) is amqpcodec.UnexpectedFrameError
    assert error.reply_code == 505
    assert error.channel == 1
    assert error.offset >= len(before)
    assert error.scope in ("frame", "channel", "connection")


@pytest.mark.parametrize("data", UNEXPECTED.values(), ids=UNEXPECTED.keys())
def test_unexpected_frames_as_events(data: bytes) -> None:
    """The other channels, and the channel itself with its next method, go on."""
    half = deliver(2, "half") + w.header_frame(4, 2, **PROPERTIES) + w.body_frame(2, b"ab")
    remainder = w.body_frame(2, b"cd")
    events = feed(half + data + remainder + encoded_message(3, b"three"), errors="frame")
    bad = [(channel, event) for channel, event in events if isinstance(event, amqp.BadFrame)]
    assert bad
    assert all(channel == 1 for channel, _ in bad)
    assert type(bad[0][1].error) is amqpcodec.UnexpectedFrameError
    assert bad[0][1].raw in data
    assert events[-2:] == [
        (
            2,
            amqp.Message(
                amqp.Basic.Deliver("c", routing_key="half"),
                amqp.Basic.Properties(**PROPERTIES),
                b"abcd",
            ),
        ),
        (3, message(b"three")),
    ]


@pytest.mark.parametrize("data", UNEXPECTED.values(), ids=UNEXPECTED.keys())
def test_a_channel_recovers_by_discard(data: bytes) -> None:
    _, _, decoder = failure(data)
    decoder.discard(1)
    events = list(decoder.feed(encoded_message(1, b"again") + encoded_message(2, b"other")))
    assert events[-2:] == [(1, message(b"again")), (2, message(b"other"))]


def test_header_of_another_class() -> None:
    _, error, _ = failure(deliver(1) + w.header_frame(3, 1, class_id=50))
    assert isinstance(error, amqpcodec.HeaderError | amqpcodec.UnexpectedFrameError)
    assert error.reply_code == 505


@pytest.mark.parametrize("data", [w.header_frame(1, 0), w.body_frame(0, b"x"), deliver(0)])
def test_content_on_channel_zero(data: bytes) -> None:
    _, error, _ = failure(data)
    assert isinstance(error, amqpcodec.ChannelError)
    assert (error.reply_code, error.channel) == (504, 0)


def test_error_then_on() -> None:
    events, error, decoder = failure(
        encoded_message(1, b"one") + w.body_frame(2, b"stray") + encoded_message(3, b"three")
    )
    assert events == [(1, message(b"one"))]
    assert error.channel == 2
    if error.scope == "connection":
        decoder.reset()
        assert list(decoder.feed(encoded_message(3, b"three"))) == [(3, message(b"three"))]
    else:
        assert list(decoder.feed(b"")) == [(3, message(b"three"))]


def test_decode_errors_pass_through() -> None:
    bad = w.frame(1, 1, b"\0\x3c\0\x15\xc8tag")
    events, error, decoder = failure(encoded_message(2, b"one") + bad + encoded_message(2, b"two"))
    assert events == [(2, message(b"one"))]
    assert type(error) is amqpcodec.TruncatedError
    assert list(decoder.feed(b"")) == [(2, message(b"two"))]
    events = feed(encoded_message(2, b"one") + bad + encoded_message(2, b"two"), errors="frame")
    assert [type(event) for _, event in events] == [amqp.Message, amqp.BadFrame, amqp.Message]
    assert events[1][1].raw == bad


def test_bad_header_does_not_join_its_bodies_to_the_next_message() -> None:
    bad = w.header_frame(3, 1, headers=w.table(("k", b"Z")))
    data = deliver(1, "lost") + bad + w.body_frame(1, b"abc") + encoded_message(1, b"good", "next")
    events = feed(data, errors="frame")
    assert [e for e in events if isinstance(e[1], amqp.Message)] == [(1, message(b"good", "next"))]
    assert events[0][1].raw == bad


def test_max_body_size() -> None:
    assert feed(encoded_message(1, b"12345"), max_body_size=5) == [(1, message(b"12345"))]
    _, error, decoder = failure(encoded_message(1, b"123456"), max_body_size=5)
    assert type(error) is amqpcodec.ContentTooLargeError
    assert (error.reply_code, error.scope, error.channel) == (311, "channel", 1)
    decoder.discard(1)


def test_max_body_size_is_seen_at_the_header() -> None:
    data = deliver(1) + w.header_frame(6, 1)
    _, error, _ = failure(data, max_body_size=5)
    assert type(error) is amqpcodec.ContentTooLargeError
    assert feed(encoded_message(1, b""), max_body_size=0) == [(1, message(b""))]


def test_max_body_size_and_the_other_channels() -> None:
    data = (
        deliver(1)
        + w.header_frame(6, 1)
        + encoded_message(2, b"fine")
        + w.body_frame(1, b"123")
        + w.body_frame(1, b"456")
        + encoded_message(2, b"too")
    )
    events = feed(data, errors="frame", max_body_size=5)
    assert type(events[0][1]) is amqp.BadFrame
    assert type(events[0][1].error) is amqpcodec.ContentTooLargeError
    good = [event for event in events if not isinstance(event[1], amqp.BadFrame)]
    assert good == [(2, message(b"fine")), (2, message(b"too"))]
    later = feed(data + encoded_message(1, b"ok"), errors="frame", max_body_size=5)
    assert later[-1] == (1, message(b"ok"))


@pytest.mark.parametrize("value", [-1, "5", 1.5])
def test_bad_max_body_size(value: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        amqp.MessageDecoder(max_body_size=value)


linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


@linux
@pytest.mark.parametrize("size", [1 << 60, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 1 << 40, 1 << 32])
def test_a_claimed_body_is_not_allocated(size: int) -> None:
    """Address space counts what malloc was asked for, written to or not."""
    before = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    decoder = amqp.MessageDecoder()
    assert list(decoder.feed(deliver(1) + w.header_frame(size, 1) + w.body_frame(1, b"abc"))) == []
    assert list(decoder.feed(encoded_message(2, b"other"))) == [(2, message(b"other"))]
    after = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    assert after - before < 256 << 20
    decoder.discard(1)
    assert list(decoder.feed(encoded_message(1, b"next"))) == [(1, message(b"next"))]


def test_discard() -> None:
    decoder = amqp.MessageDecoder()
    list(decoder.feed(deliver(1) + w.header_frame(6, 1) + w.body_frame(1, b"abc")))
    list(decoder.feed(deliver(2) + w.header_frame(3, 2, **PROPERTIES)))
    decoder.discard(1)
    assert list(decoder.feed(w.body_frame(2, b"xyz"))) == [(2, message(b"xyz"))]
    assert list(decoder.feed(encoded_message(1, b"next"))) == [(1, message(b"next"))]
    decoder.discard(9)  # nothing there
    decoder.discard(1)


def test_discard_swallows_what_is_still_on_its_way() -> None:
    """Between channel.close and close-ok the rest of a content still comes: no second error."""
    for first in (deliver(1), deliver(1) + w.header_frame(20, 1) + w.body_frame(1, b"abc")):
        decoder = amqp.MessageDecoder()
        list(decoder.feed(first))
        decoder.discard(1)
        remainder = (w.header_frame(20, 1) if first == deliver(1) else b"") + w.body_frame(
            1, b"d" * 9
        )
        assert list(decoder.feed(remainder)) == []
        closed = w.method_frame("channel.close-ok", 1)
        assert list(decoder.feed(closed)) == [(1, amqp.Channel.CloseOk())]
        assert list(decoder.feed(encoded_message(1, b"next"))) == [(1, message(b"next"))]


@pytest.mark.parametrize("channel", [-1, 65536, "1", None])
def test_discard_of_no_channel(channel: Any) -> None:
    decoder = amqp.MessageDecoder()
    try:
        decoder.discard(channel)
    except (ValueError, TypeError, OverflowError, KeyError):
        pass
    assert list(decoder.feed(encoded_message(1, b"x"))) == [(1, message(b"x"))]


def test_reset_forgets_contents() -> None:
    decoder = amqp.MessageDecoder()
    list(decoder.feed(deliver(1) + w.header_frame(6, 1) + w.body_frame(1, b"abc") + b"\x01\0"))
    decoder.reset()
    assert decoder.pending == 0
    assert list(decoder.feed(encoded_message(1, b"next"))) == [(1, message(b"next"))]
    decoder.eof()


def test_eof_inside_a_frame() -> None:
    decoder = amqp.MessageDecoder()
    list(decoder.feed(encoded_message(1, b"x") + b"\x01\0"))
    assert decoder.pending == 2
    with pytest.raises(amqpcodec.IncompleteError):
        decoder.eof()


def test_frame_max_holds_here_too() -> None:
    decoder = amqp.MessageDecoder(4096)
    assert decoder.frame_max == 4096
    with pytest.raises(amqpcodec.FrameTooLargeError):
        list(decoder.feed(w.body_frame(1, b"x" * 4089)))
    decoder.frame_max = 0
    assert decoder.frame_max == 0


def test_iterator_left_half_way() -> None:
    decoder = amqp.MessageDecoder()
    data = encoded_message(1, b"one") + encoded_message(1, b"two") + deliver(1)
    assert next(decoder.feed(data)) == (1, message(b"one"))
    later_events = list(decoder.feed(w.content(1, b"three", **PROPERTIES)))
    assert later_events == [(1, message(b"two")), (1, message(b"three"))]


@pytest.mark.parametrize("size", [0, 3, 40])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_bodies_do_not_depend_on_the_chunk(size: int, kind: Any) -> None:
    for copy in (True, False):
        decoder = amqp.MessageDecoder(copy=copy)
        data = encoded_message(1, b"abcdef" * 10, split=13) + encoded_message(2, b"single")
        messages: list[Any] = []
        step = size or len(data)
        for i in range(0, len(data), step):
            chunk = kind(data[i : i + step])
            events = decoder.feed(chunk)
            if kind is bytearray:
                chunk[:] = b"\xee" * len(chunk)
                chunk.clear()
            messages += events
        list(decoder.feed(encoded_message(3, b"\xee" * 5000)))
        del decoder
        assert [bytes(event.body) for _, event in messages] == [b"abcdef" * 10, b"single"]
        assert [event.properties.headers for _, event in messages] == [{"n": 1}, {"n": 1}]


def test_buffered_protocol() -> None:
    decoder = amqp.MessageDecoder()
    data = encoded_message(1, b"hello" * 100, split=50)
    messages: list[Any] = []
    while data:
        buffer = memoryview(decoder.get_buffer(-1))
        size = min(len(data), buffer.nbytes, 33)
        buffer[:size] = data[:size]
        buffer.release()
        events = decoder.buffer_updated(size)
        if events is not None:
            messages += list(events)
        messages += list(decoder.feed(b""))
        data = data[size:]
    assert messages == [(1, message(b"hello" * 100))]


def test_options_reach_the_tables() -> None:
    data = deliver(1) + w.content(1, b"", headers=w.table(("l", b"l" + b"\xff" * 8)))
    ((_, event),) = feed(data, dialect="0-9-1")
    assert event.properties.headers == {"l": (1 << 64) - 1}
    ((_, event),) = feed(data, tables="typed")
    assert type(event.properties.headers["l"]).__name__ == "Int64"


def test_message_encodes_back() -> None:
    data = deliver(5) + w.content(5, b"abcdef", headers=w.table(("odd", b"t\x07")))
    ((channel, event),) = feed(data)
    assert amqp.encode_message(channel, event.method, event.properties, event.body) == data


def test_max_open() -> None:
    """One content too many is passed over in silence; others that end make room."""
    decoder = amqp.MessageDecoder(max_open=2)
    assert decoder.max_open == 2
    header = w.header_frame(4, channel=1)
    assert list(decoder.feed(deliver(1) + header + w.body_frame(1, b"ab") + deliver(2))) == []
    with pytest.raises(amqpcodec.ResourceLimitError, match="more than 2 contents") as caught:
        list(
            decoder.feed(
                encoded_message(3, b"refused")
                + w.body_frame(1, b"cd")
                + encoded_message(3, b"taken")
            )
        )
    error = caught.value
    assert (error.reply_code, error.channel, error.scope) == (506, 3, "channel")
    assert [(channel, event.body) for channel, event in decoder.feed()] == [
        (1, b"abcd"),
        (3, b"taken"),
    ]
    assert decoder.discard(2) is True
    data = deliver(4) + deliver(5) + w.content(4, b"x") + w.content(5, b"y")
    assert [event.body for _, event in decoder.feed(data)] == [b"x", b"y"]


def test_no_limit_of_contents() -> None:
    assert amqp.MessageDecoder().max_open == 65536
    decoder = amqp.MessageDecoder(max_open=None)
    assert decoder.max_open is None
    channels = range(1, 300)
    assert list(decoder.feed(b"".join(deliver(channel) for channel in channels))) == []
    contents = b"".join(w.content(channel, b"x", **PROPERTIES) for channel in channels)
    assert list(decoder.feed(contents)) == [(channel, message(b"x")) for channel in channels]


@pytest.mark.parametrize("limit", [0, -1, True, "2", 2.0])
def test_no_number_of_contents(limit: Any) -> None:
    with pytest.raises(ValueError, match="max_open is None or a number from 1"):
        amqp.MessageDecoder(max_open=limit)
