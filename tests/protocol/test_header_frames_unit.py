"""Content headers and methods above frame_max, which RabbitMQ sends, and other protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_8, v0_9, v1_0
from amqpcodec import v0_9_1 as amqp

FRAME_MAX = 4096
DELIVER = amqp.encode(1, amqp.Basic.Deliver("t", 1, False, "", "q"))


def header(size: int, *, body: int = 1) -> bytes:
    """A content header frame of so many bytes."""
    empty = amqp.encode(1, amqp.Header(body, amqp.Basic.Properties(headers={"h": ""})))
    properties = amqp.Basic.Properties(headers={"h": "x" * (size - len(empty))})
    frame = amqp.encode(1, amqp.Header(body, properties))
    assert len(frame) == size
    return frame


def method(size: int) -> bytes:
    """A method frame of so many bytes."""
    empty = amqp.encode(0, amqp.Connection.Secure(b""))
    return amqp.encode(0, amqp.Connection.Secure(b"x" * (size - len(empty))))


BODY = amqp.encode(1, amqp.Body(b"b"))
DECODERS = [amqp.Decoder, amqp.MessageDecoder]


def in_pieces(decoder: Any, data: bytes, step: int) -> list[Any]:
    return [item for at in range(0, len(data), step) for item in decoder.feed(data[at : at + step])]


@pytest.mark.parametrize("step", [1_000_000, 5000, 61])
@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("size", [FRAME_MAX + 1, 16 * FRAME_MAX])
def test_headers_and_methods_up_to_the_default_are_taken(kind, size, step) -> None:
    data = DELIVER + header(size) + BODY + method(size) + DELIVER + header(100) + BODY
    expected = list(kind(0).feed(data))
    assert len(expected) in (3, 7)
    assert in_pieces(kind(FRAME_MAX), data, step) == expected


@pytest.mark.parametrize("step", [1_000_000, 5000, 61])
@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("frame", [header, method])
def test_above_the_default_the_stream_is_lost(kind, frame, step) -> None:
    data = (DELIVER if frame is header else b"") + frame(16 * FRAME_MAX + 1)
    with pytest.raises(amqpcodec.FrameTooLargeError) as caught:
        in_pieces(kind(FRAME_MAX), data, step)
    assert (caught.value.reply_code, caught.value.scope) == (501, "connection")
    assert "65537 bytes exceeds max_header_frame 65536" in str(caught.value)


@pytest.mark.parametrize("kind", DECODERS)
def test_bodies_stay_within_frame_max(kind) -> None:
    body = amqp.encode(1, amqp.Body(b"x" * (FRAME_MAX - 7)))
    decoder = kind(FRAME_MAX, max_header_frame=1 << 20)
    with pytest.raises(amqpcodec.FrameTooLargeError, match="4097 bytes exceeds frame_max 4096"):
        list(decoder.feed(DELIVER + header(100, body=len(body) - 8) + body))


@pytest.mark.parametrize("kind", DECODERS)
def test_the_option(kind) -> None:
    assert kind().max_header_frame == 16 * 131072
    assert kind(4096, max_header_frame=5000).max_header_frame == 5000
    assert kind(4096, max_header_frame=0).max_header_frame == 0
    assert kind(0, max_header_frame=5000).max_header_frame == 0
    assert kind(4096, max_header_frame=100).max_header_frame == 4096  # what was agreed is taken
    decoder = kind(max_header_frame=200_000)
    decoder.frame_max = 4096
    assert decoder.max_header_frame == 200_000
    decoder = kind()
    decoder.frame_max = 4096
    assert decoder.max_header_frame == 65536
    decoder.frame_max = 0
    assert decoder.max_header_frame == 0
    limited = kind(FRAME_MAX, max_header_frame=5000)
    assert len(list(limited.feed(DELIVER + header(5000) + BODY))) in (1, 3)
    with pytest.raises(amqpcodec.FrameTooLargeError, match="exceeds max_header_frame 5000"):
        list(limited.feed(DELIVER + header(5001)))
    assert list(kind(FRAME_MAX, max_header_frame=0).feed(method(1 << 20)))
    for value in (-1, "x", 1.5, True):
        with pytest.raises(ValueError, match="max_header_frame is None, 0"):
            kind(max_header_frame=value)


@pytest.mark.parametrize("module", [v0_8, v0_9, amqp])
def test_every_version(module) -> None:
    properties = module.Basic.Properties(headers={"h": "x" * 9000})
    deliver = module.Basic.Deliver("t", 1, False, "", "q")
    data = module.encode_message(1, deliver, properties, b"b", frame_max=0)
    ((_, message),) = module.MessageDecoder(FRAME_MAX).feed(data)
    assert message.properties == properties


def test_frames_as_errors() -> None:
    decoder = amqp.Decoder(FRAME_MAX, errors="frame")
    with pytest.raises(amqpcodec.FrameTooLargeError):
        list(decoder.feed(method(16 * FRAME_MAX + 1)))


OTHERS = {
    "HTTP": [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        *(b"%s / HTTP/1.1\r\n" % name for name in (b"GET", b"POST", b"PUT", b"HEAD", b"PATCH")),
        *(b"%s / HTTP/1.1\r\n" % name for name in (b"DELETE", b"OPTIONS", b"TRACE")),
        b"CONNECT host:1 HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n",
    ],
    "TLS": [
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"\x16\x03\x03\x00\x7a\x02\x00\x00",
    ],
    "MQTT": [
        b"\x10\x13\x00\x04MQTT\x04\x02",
        b"\x10\x1a\x00\x06MQIsdp\x03",
        b"\x10\x80\x01\x00\x04MQTT",
        b"\x10\xff\xff\x03\x00\x04MQTT",
        b"\x10\xff\xff\xff\x7f\x00\x04MQTT",
    ],
    "STOMP": [
        *(b"CONNECT\naccept", b"CONNECT\r\naccept", b"CONNECTED\nversion"),
        *(b"STOMP\naccept", b"ERROR\nmessage"),
    ],
    "SSH": [b"SSH-2.0-OpenSSH_9.2\r\n"],
}  # fmt: skip
STREAMS = [(name, data) for name, streams in OTHERS.items() for data in streams]


def first(decoder: Any, data: bytes, step: int) -> Any:
    """What a decoder raises."""
    with pytest.raises(amqpcodec.FrameTypeError) as caught:
        in_pieces(decoder, data, step)
    return caught.value


@pytest.mark.parametrize(("name", "data"), STREAMS)
@pytest.mark.parametrize("step", [1, 3, 100])
@pytest.mark.parametrize("frame_max", [0, 4096])
@pytest.mark.parametrize("kind", [*DECODERS, v1_0.Decoder, v1_0.MessageDecoder])
def test_other_protocols_are_named(kind, frame_max, step, name, data) -> None:
    error = first(kind(frame_max), data, step)
    assert str(error) == f"not AMQP but {name} (offset 0)"
    assert error.scope == "connection"
    assert error.condition in (None, "amqp:connection:framing-error")


@pytest.mark.parametrize(("name", "data"), STREAMS)
@pytest.mark.parametrize("module", [v0_8, v0_9, amqp, v1_0])
def test_other_protocols_are_named_by_decode(module, name, data) -> None:
    with pytest.raises(amqpcodec.FrameTypeError, match=rf"^not AMQP but {name} \(offset 2\)"):
        module.decode(b"--" + data, 2)


SHORT = [(name, data[:size]) for name, data in STREAMS for size in range(7)]


@pytest.mark.parametrize(("name", "data"), SHORT)
def test_fewer_than_seven_bytes_may_become_anything(name, data) -> None:
    assert list(amqp.Decoder().feed(data)) == []
    assert amqp.decode(data) is None


@pytest.mark.parametrize(
    "data",
    [b"220 mx ESMTP\r\n", b"hello\r\n\r\n", b"AMQX\0\0\x09\x01", b"\x16\x02\x01\x00\xff\x01\x00"],
)
def test_what_is_no_amqp_at_all(data) -> None:
    text = f"not AMQP: no frame and no protocol header begins with 0x{data[0]:02x}"
    with pytest.raises(amqpcodec.FrameTypeError, match=text):
        list(amqp.Decoder().feed(data))


def test_later_in_a_stream() -> None:
    """A proxy that ends a connection of AMQP with a page."""
    decoder = amqp.Decoder()
    frames: Callable[[], Any] = iter(decoder.feed(DELIVER + b"HTTP/1.1 408 Timeout\r\n")).__next__
    frames()
    with pytest.raises(amqpcodec.FrameTypeError, match=rf"but HTTP \(offset {len(DELIVER)}\)"):
        frames()
