"""decode: every kind of frame, the buffers it takes, incomplete input, exact bytes back."""

from __future__ import annotations

import array
import inspect
import mmap
import sys
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import DecodeError, types
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w
from tests.support.calls import result_of
from tests.support.guard_page import Guarded
from tests.support.samples_amqp0 import frames

DELIVER = w.method_frame(
    "basic.deliver",
    7,
    consumer_tag="ctag",
    delivery_tag=1 << 60,
    redelivered=True,
    exchange="orders",
    routing_key="eu",
)
HEADER = w.header_frame(5, 7, content_type="text/plain", headers={"n": 1}, priority=3)
BODY = w.body_frame(7, b"hello")
FRAMES = {
    "method": DELIVER,
    "header": HEADER,
    "body": BODY,
    "heartbeat": w.HEARTBEAT,
    "protocol header": w.PROTOCOL_HEADER,
    "table": w.method_frame("queue.declare", 1, queue="q", arguments={"a": [1, {"b": None}]}),
    "empty body": w.body_frame(1, b""),
}
#: A value of each type that properties have.
PROPERTY = {"s": "text", "F": {"n": 1}, "o": 1, "T": 1_700_000_000}
every_frame = pytest.mark.parametrize("data", FRAMES.values(), ids=FRAMES.keys())


def one(data: Any, **options: Any) -> Any:
    result = amqp.decode(data, **options)
    assert result is not None
    assert result[0] == len(data)
    return result[2]


def test_method() -> None:
    consumed, channel, frame = amqp.decode(DELIVER)
    assert (consumed, channel) == (len(DELIVER), 7)
    assert type(frame) is amqp.Basic.Deliver
    assert frame == amqp.Basic.Deliver("ctag", 1 << 60, True, "orders", "eu")
    assert frame.redelivered is True
    assert type(frame.consumer_tag) is str
    assert type(frame.delivery_tag) is int


def test_header() -> None:
    _, channel, frame = amqp.decode(HEADER)
    assert channel == 7
    assert type(frame) is amqp.Header
    assert (frame.body_size, frame.class_id, frame.weight) == (5, 60, 0)
    assert frame.properties == amqp.Basic.Properties(
        content_type="text/plain", headers={"n": 1}, priority=3
    )
    assert frame.properties.delivery_mode is None


def test_body_heartbeat_and_protocol_header() -> None:
    assert amqp.decode(BODY) == (len(BODY), 7, amqp.Body(b"hello"))
    assert type(one(BODY).payload) is bytes
    assert amqp.decode(w.HEARTBEAT) == (8, 0, amqp.Heartbeat())
    assert amqp.decode(w.PROTOCOL_HEADER) == (8, 0, amqp.ProtocolHeader())
    assert amqp.decode(b"AMQP\x01\x02\x03\x04") == (8, 0, amqp.ProtocolHeader(1, 2, 3, 4))


@every_frame
def test_every_prefix_is_incomplete(data: bytes) -> None:
    for size in range(len(data)):
        assert amqp.decode(data[:size]) is None
        assert amqp.decode(b"\xff" * 3 + data[:size], 3) is None


@every_frame
@pytest.mark.parametrize("offset", [0, 1, 8, 1000])
def test_offsets(data: bytes, offset: int) -> None:
    padded = b"\xee" * offset + data + b"\xee" * 9
    result = amqp.decode(padded, offset)
    assert result == amqp.decode(data)
    assert result[0] == len(data)
    assert amqp.decode(padded, offset=offset) == result


@pytest.mark.parametrize("offset", [-1, 100_000, 1 << 62, -(1 << 63), 1 << 70])
def test_offsets_outside(offset: int) -> None:
    try:
        assert amqp.decode(BODY, offset) is None
    except (ValueError, IndexError, OverflowError):
        pass


def test_offset_at_the_end_is_incomplete() -> None:
    assert amqp.decode(BODY, len(BODY)) is None
    assert amqp.decode(b"") is None


@every_frame
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: array.array("B", b)])
def test_buffers(data: bytes, kind: Any) -> None:
    assert amqp.decode(kind(data)) == amqp.decode(data)
    assert amqp.decode(kind(b"??" + data), 2) == amqp.decode(data)


def test_more_buffers() -> None:
    assert amqp.decode(memoryview(b"??" + BODY)[2:]) == amqp.decode(BODY)
    assert amqp.decode(memoryview(BODY).cast("b")) == amqp.decode(BODY)
    with tempfile.TemporaryFile() as file:
        file.write(DELIVER)
        file.flush()
        with mmap.mmap(file.fileno(), 0) as mapped:
            assert amqp.decode(mapped) == amqp.decode(DELIVER)


@pytest.mark.parametrize("data", ["text", None, 5, [1, 2], object()])
def test_what_is_no_buffer(data: Any) -> None:
    with pytest.raises(TypeError):
        amqp.decode(data)


def test_buffers_with_gaps_are_a_clear_error() -> None:
    for view in (memoryview(BODY)[::2], memoryview(BODY)[::-1]):
        with pytest.raises((BufferError, ValueError, TypeError)) as caught:
            amqp.decode(view)
        assert not isinstance(caught.value, DecodeError)
        assert "contiguous" in str(caught.value).lower()


def test_decode_releases_the_buffer_and_keeps_copies() -> None:
    for data in (DELIVER, HEADER, BODY, FRAMES["table"]):
        buffer = bytearray(data)
        frame = one(buffer)
        for i in range(len(buffer)):
            buffer[i] = 0xEE
        buffer.extend(b"x")  # a held export would make this a BufferError
        assert frame == one(data)
        assert amqp.encode(amqp.decode(data)[1], frame) == data


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((DELIVER,), {}),
    ((b"__" + HEADER, 2), {}),
    ((HEADER[:-1],), {}),
    ((HEADER, -1), {}),
    ((HEADER, len(HEADER) + 1), {}),
    ((HEADER, 1 << 70), {}),
    ((HEADER, True), {}),
    ((HEADER, 0.0), {}),
    ((HEADER, "0"), {}),
    ((HEADER, None), {}),
    ((bytearray(HEADER), 0), {}),
    ((memoryview(HEADER),), {}),
    ((), {}),
    ((HEADER, 0, 0), {}),
    ((), {"data": HEADER, "offset": 0}),
    ((HEADER,), {"tables": "typed"}),
    ((HEADER, 0), {"copy": False}),
    ((HEADER,), {"nonsense": 1}),
    ((HEADER,), {"offset": -1}),
    ((b"\x09" + bytes(6) + b"\xce",), {}),
    ((str(HEADER),), {}),
]


@pytest.mark.parametrize(("args", "options"), CALLS)
def test_however_it_is_called_decode_is_the_method_of_the_protocol(
    args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    want = result_of(amqp.PROTOCOL.decode, *args, **options)
    assert result_of(amqp.decode, *args, **options) == want


def test_decode_is_documented_as_the_method_of_the_protocol() -> None:
    assert amqp.decode.__doc__ == amqp.PROTOCOL.decode.__doc__
    assert inspect.signature(amqp.decode) == inspect.signature(amqp.PROTOCOL.decode)
    assert amqp.decode.__name__ == "decode"


def test_copy_false_lends_immutable_chunks() -> None:
    frame = one(BODY, copy=False)
    assert isinstance(frame.payload, memoryview)
    assert frame.payload.readonly
    assert frame.payload == b"hello"
    assert frame.payload.obj is BODY
    assert amqp.encode(7, frame) == BODY
    assert frame == one(BODY)


def test_copy_false_of_a_mutable_chunk_is_safe() -> None:
    buffer = bytearray(BODY)
    frame = one(buffer, copy=False)
    buffer[7:12] = b"HELLO"
    assert bytes(frame.payload) == b"hello"
    assert amqp.encode(7, frame) == BODY


@pytest.mark.parametrize("option", ["dialect", "tables", "trailing"])
def test_unknown_options_are_refused(option: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        amqp.decode(BODY, **{option: "nonsense"})
    with pytest.raises((ValueError, TypeError)):
        amqp.Decoder(**{option: "nonsense"})
    with pytest.raises((ValueError, TypeError)):
        amqp.MessageDecoder(**{option: "nonsense"})


def test_options_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        amqp.decode(BODY, 0, "rabbitmq")


ODD = {
    "unused bits of ack": w.frame(1, 1, b"\0\x3c\0\x50" + b"\0" * 7 + b"\x09" + b"\xfe"),
    "unused bits of declare": w.frame(
        1, 1, b"\0\x28\0\x0a\0\0\x01e\x06direct\xe5" + w.table(("t", b"t\x80"))
    ),
    "odd boolean": w.header_frame(headers=w.table(("k", b"t\x07"))),
    "duplicate names": w.header_frame(headers=w.table(("k", b"b\1"), ("k", b"b\2"))),
    "U and L": w.header_frame(headers=w.table(("u", b"U\xff\xfe"), ("l", b"L" + b"\xff" * 8))),
    "float nan bits": w.header_frame(
        headers=w.table(("f", b"f\x7f\x80\0\1"), ("d", b"d\x7f\xf0\0\0\0\0\0\1"))
    ),
    "continued flags": w.frame(2, 1, b"\0\x3c" + b"\0" * 10 + b"\x80\x01\0\0" + b"\x01t"),
    "twice continued flags": w.frame(2, 1, b"\0\x3c" + b"\0" * 10 + b"\x80\x01\0\1\0\0" + b"\x01t"),
    "weight": w.header_frame(3, weight=9),
    "zero scale decimal": w.header_frame(headers=w.table(("d", b"D\0\xff\xff\xff\xff"))),
    "wide scale decimal": w.header_frame(headers=w.table(("d", b"D\xff\x7f\xff\xff\xff"))),
    "minus zero": w.header_frame(
        headers=w.table(("f", b"f\x80\0\0\0"), ("d", b"d\x80" + b"\0" * 7))
    ),
    "void in array": w.header_frame(headers=w.table(("a", w.array(b"V", b"V")))),
    "empty names": w.header_frame(headers=w.table(("", b"V"), ("", b"V"))),
    "late timestamps": w.header_frame(
        timestamp=(1 << 64) - 1, headers=w.table(("t", b"T" + b"\xff" * 8))
    ),
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
def test_odd_forms_decode_and_come_back(data: bytes) -> None:
    frame = one(data)
    assert amqp.encode(1, frame) == data
    for part in (frame, getattr(frame, "properties", None)):
        for name in ("headers", "arguments"):
            getattr(part, name, None)
    repr(frame)
    assert amqp.encode(1, frame) == data
    assert amqp.encode(2, frame) == data[:1] + b"\0\2" + data[3:]


def test_odd_forms_equal_the_usual_ones_by_value() -> None:
    assert one(ODD["unused bits of ack"]) == amqp.Basic.Ack(9, False)
    assert one(ODD["odd boolean"]) == amqp.Header(0, amqp.Basic.Properties(headers={"k": True}))
    assert one(ODD["odd boolean"]).properties.headers["k"] is True
    assert one(ODD["continued flags"]).properties == amqp.Basic.Properties(content_type="t")
    assert one(ODD["weight"]) == amqp.Header(3, None, weight=9)
    assert one(ODD["zero scale decimal"]).properties.headers == {"d": Decimal(-1)}


def test_changed_fields_of_odd_frames_encode_by_value() -> None:
    ack = one(ODD["unused bits of ack"])
    ack.multiple = True
    assert one(amqp.encode(1, ack)) == amqp.Basic.Ack(9, True)
    ack = one(ODD["unused bits of ack"])
    ack.delivery_tag = 10
    assert one(amqp.encode(1, ack)) == amqp.Basic.Ack(10, False)
    declare = one(ODD["unused bits of declare"])
    assert (declare.passive, declare.durable, declare.auto_delete) == (True, False, True)
    declare.durable = True
    declare.exchange = "f"
    again = one(amqp.encode(1, declare))
    assert again == declare
    assert (again.passive, again.durable, again.auto_delete) == (True, True, True)
    header = one(ODD["continued flags"])
    header.properties.priority = 1
    assert one(amqp.encode(1, header)).properties == amqp.Basic.Properties(
        content_type="t", priority=1
    )
    header.properties.content_type = None
    assert one(amqp.encode(1, header)).properties == amqp.Basic.Properties(priority=1)
    header = one(ODD["continued flags"])
    header.body_size = 4
    assert one(amqp.encode(1, header)).body_size == 4


def test_bits_set_and_set_back() -> None:
    ack = one(w.frame(1, 1, b"\0\x3c\0\x50" + b"\0" * 7 + b"\x09" + b"\x01"))
    ack.multiple = False
    assert amqp.encode(1, ack) == w.method_frame("basic.ack", delivery_tag=9)
    ack.multiple = True
    assert amqp.encode(1, ack) == w.method_frame("basic.ack", delivery_tag=9, multiple=True)


EDGE = 253_402_300_799  # the last second of the year 9999


@pytest.mark.parametrize(
    ("seconds", "value"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1 << 32, datetime(2106, 2, 7, 6, 28, 16, tzinfo=UTC)),
        (951_782_400, datetime(2000, 2, 29, tzinfo=UTC)),
        (EDGE, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        *(
            (seconds, types.Timestamp(seconds))
            for seconds in (EDGE + 1, 1 << 63, (1 << 64) - 1, 1_700_000_000_000)
        ),
    ],
)
def test_timestamps(seconds: int, value: Any) -> None:
    data = w.header_frame(
        timestamp=seconds, headers=w.table(("t", b"T" + seconds.to_bytes(8, "big")))
    )
    properties = one(data).properties
    for timestamp in (properties.timestamp, properties.headers["t"]):
        assert type(timestamp) is type(value)
        assert timestamp == value
        if isinstance(timestamp, datetime):
            assert timestamp.utcoffset() is not None
            assert timestamp.tzinfo is UTC
    header = amqp.Header(0, amqp.Basic.Properties(timestamp=value))
    assert amqp.encode(1, header) == w.header_frame(timestamp=seconds)
    properties.content_type = "t"
    again = one(amqp.encode(1, amqp.Header(0, properties))).properties
    assert again.timestamp == value
    assert again.headers == {"t": value}


def test_short_strings_that_are_not_utf8() -> None:
    data = w.method_frame("basic.consume-ok", consumer_tag=b"a\xff\xc3\xa9\xed\xa0\x80")
    frame = one(data)
    assert frame.consumer_tag == "a\udcffé\udced\udca0\udc80"
    assert amqp.encode(1, frame) == data
    again = amqp.Basic.ConsumeOk(frame.consumer_tag)
    assert amqp.encode(1, again) == data


@pytest.mark.parametrize(
    "raw", [b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xc3", b"\xf0\x9f\x90"]
)
def test_malformed_utf8_is_kept(raw: bytes) -> None:
    data = w.header_frame(user_id=raw, headers=w.table((raw, b"S" + w.longstr(raw))))
    properties = one(data).properties
    assert properties.user_id == raw.decode("utf-8", "surrogateescape")
    assert properties.headers == {raw.decode("utf-8", "surrogateescape"): raw}
    properties.priority = 1
    octets = amqp.encode(1, amqp.Header(0, properties))
    assert octets.count(raw) == 3


def test_long_strings_are_bytes() -> None:
    data = w.method_frame("connection.start", 0, mechanisms=b"PLAIN\xff", locales=b"")
    frame = one(data)
    assert frame.mechanisms == b"PLAIN\xff"
    assert type(frame.mechanisms) is bytes
    assert frame.locales == b""


def test_text_with_nul_and_beyond_the_bmp() -> None:
    for text in ("\0", "a\0b", "🐇" * 63, "ÿ" * 127, "߿ࠀ\uffff"):
        data = w.method_frame("basic.consume-ok", consumer_tag=text)
        assert one(data).consumer_tag == text
        assert amqp.encode(1, one(data)) == data


def test_equal_strings_of_different_frames_do_not_mix() -> None:
    """A cache of strings must not confuse bytes that share a hash, a prefix or a length."""
    texts = [f"{a}{b}" for a in "abAB\0é" for b in ("", "x", "y", "xx", "é")] * 3
    for text in texts:
        frame = one(w.method_frame("basic.deliver", consumer_tag=text, exchange=text[::-1]))
        assert (frame.consumer_tag, frame.exchange) == (text, text[::-1])


def test_large_body() -> None:
    payload = bytes(range(256)) * 8192
    data = w.body_frame(1, payload)
    assert amqp.decode(data[:-1]) is None
    assert one(data).payload == payload


def test_decode_has_no_frame_max() -> None:
    assert amqp.decode(b"\x03\0\1\xff\xff\xff\xff") is None


@pytest.mark.skipif(sys.platform == "win32", reason="takes mprotect")
def test_lengths_that_lie_lead_to_no_octet_behind_the_frame() -> None:
    """Each octet of each frame larger, by little or by much, before a page nobody may read."""
    samples = [w.header_frame(0, 1, **{name: PROPERTY[wire]}) for name, wire in w.PROPERTIES]
    data = frames()
    while data:
        consumed = amqp.decode(data)[0]
        samples.append(data[: min(consumed, 300)])
        data = data[consumed:]
    guarded, wrong = Guarded(1024), 0
    for sample in samples:
        for at, octet in enumerate(sample):
            for more in {octet + 1, octet + 2, 255} - {256, 257}:
                lying = sample[:at] + bytes([more]) + sample[at + 1 :]
                result = result_of(amqp.decode, lying)
                assert result_of(amqp.decode, guarded(lying)) == result
                wrong += result is not None and type(result[0]) is not int
    assert wrong > 1000
