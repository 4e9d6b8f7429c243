"""encode, encode_into, encode_message and encode_parts: the bytes and the buffers."""

from __future__ import annotations

import array
from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

PROPERTIES = {"content_type": "text/plain", "delivery_mode": 2, "priority": 0}


def samples(spec: w.Spec) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments by the package's names and by ours."""
    plain = {"o": 200, "h": 65535, "l": 4294967295, "q": (1 << 64) - 1, "s": "é" * 127,
             "S": b"\0\xff" * 300, "F": {"k": [1, {"z": None}]}}  # fmt: skip
    names = w.class_of(amqp, spec.name).FIELDS
    ours, theirs = {}, {}
    for place, (name, (field, wire)) in enumerate(zip(names, spec.fields, strict=True)):
        value = place % 2 == 0 if wire == "b" else plain[wire]
        theirs[name], ours[field] = value, value
    return theirs, ours


@pytest.mark.parametrize("spec", w.SPECS.values(), ids=w.SPECS.keys())
def test_every_method(spec: w.Spec) -> None:
    theirs, ours = samples(spec)
    kind = w.class_of(amqp, spec.name)
    octets = amqp.encode(513, kind(**theirs))
    assert type(octets) is bytes
    assert octets == w.method_frame(spec.name, 513, **ours)
    assert amqp.encode(0, kind()) == w.method_frame(spec.name, 0)
    assert amqp.decode(octets) == (len(octets), 513, kind(**theirs))


@pytest.mark.parametrize("name", [n for n, s in w.SPECS.items() if "b" in dict(s.fields).values()])
def test_every_bit_has_its_place(name: str) -> None:
    spec = w.SPECS[name]
    kind = w.class_of(amqp, name)
    for field, (ours, wire) in zip(kind.FIELDS, spec.fields, strict=True):
        if wire == "b":
            octets = amqp.encode(1, kind(**{field: True}))
            assert octets == w.method_frame(name, 1, **{ours: True})


def test_known_octets() -> None:
    ack = bytes.fromhex("0100010000000d003c0050000000000000006400ce")
    assert amqp.encode(1, amqp.Basic.Ack(100)) == ack
    assert amqp.encode(0, amqp.Heartbeat()) == bytes.fromhex("08000000000000ce")
    assert amqp.encode(0, amqp.ProtocolHeader()) == b"AMQP\x00\x00\x09\x01"
    assert amqp.encode(0, amqp.ProtocolHeader(1, 1, 8, 0)) == b"AMQP\x01\x01\x08\x00"
    assert amqp.encode(2, amqp.Body(b"abc")) == bytes.fromhex("03000200000003616263ce")
    assert amqp.encode(2, amqp.Body()) == bytes.fromhex("03000200000000ce")


@pytest.mark.parametrize(
    ("values", "wire"),
    [
        ({}, {}),
        (PROPERTIES, PROPERTIES),
        ({"headers": {}}, {"headers": b"\0\0\0\0"}),
        ({"headers": {"n": 1}}, {"headers": {"n": 1}}),
        ({"content_type": ""}, {"content_type": ""}),
        ({"priority": 255, "delivery_mode": 0}, {"priority": 255, "delivery_mode": 0}),
        ({"reserved": "cluster"}, {"reserved": "cluster"}),
        ({"timestamp": 5}, {"timestamp": 5}),
    ],
)
def test_headers(values: dict[str, Any], wire: dict[str, Any]) -> None:
    header = amqp.Header(10, amqp.Basic.Properties(**values))
    assert amqp.encode(3, header) == w.header_frame(10, 3, **wire)


@pytest.mark.parametrize(("name", "wire"), w.PROPERTIES)
def test_each_property_alone(name: str, wire: str) -> None:
    value: Any = {"s": "text", "F": {"k": "v"}, "o": 9, "T": 1_700_000_000}[wire]
    header = amqp.Header(0, amqp.Basic.Properties(**{name: value}))
    assert amqp.encode(1, header) == w.header_frame(0, 1, **{name: value})


def test_header_class_weight_and_size() -> None:
    octets = amqp.encode(1, amqp.Header((1 << 64) - 1, None, weight=7))
    assert octets == w.header_frame((1 << 64) - 1, 1, weight=7)


@pytest.mark.parametrize("channel", [0, 1, 255, 256, 65535])
def test_channels(channel: int) -> None:
    assert amqp.encode(channel, amqp.Tx.Select()) == w.method_frame("tx.select", channel)


@pytest.mark.parametrize("channel", [-1, 65536, 1 << 70, "1", None, 1.0])
def test_bad_channels(channel: Any) -> None:
    publish = amqp.Basic.Publish()
    for encode in (amqp.encode, amqp.encode_message, amqp.encode_parts):
        with pytest.raises((EncodeError, TypeError), match="channel"):
            encode(channel, amqp.Tx.Select() if encode is amqp.encode else publish)


@pytest.mark.parametrize(
    "frame", [None, 1, "x", b"x", {}, object(), amqp.Basic.Publish, amqp.Basic.Properties()]
)
def test_what_is_no_frame(frame: Any) -> None:
    with pytest.raises((EncodeError, TypeError)):
        amqp.encode(1, frame)


def test_unknown_options_are_refused() -> None:
    with pytest.raises((ValueError, TypeError)):
        amqp.encode(1, amqp.Tx.Select(), dialect="klingon")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: array.array("B", b)])
def test_payload_buffers(kind: Any) -> None:
    assert amqp.encode(1, amqp.Body(kind(b"payload"))) == w.body_frame(1, b"payload")
    publish = amqp.Basic.Publish("e")
    expected = w.method_frame("basic.publish", 1, exchange="e") + w.content(1, b"payload")
    assert amqp.encode_message(1, publish, None, kind(b"payload")) == expected
    parts = amqp.encode_parts(1, publish, None, kind(b"payload"))
    assert b"".join(parts) == expected


def test_wide_items_count_in_octets() -> None:
    wide = array.array("I", [1, 2, 3])
    assert amqp.encode(1, amqp.Body(memoryview(wide))) == w.body_frame(1, wide.tobytes())
    octets = amqp.encode_message(1, amqp.Basic.Publish(), None, memoryview(wide))
    assert octets == w.method_frame("basic.publish") + w.content(1, wide.tobytes())
    assert b"".join(amqp.encode_parts(1, amqp.Basic.Publish(), None, memoryview(wide))) == octets


@pytest.mark.parametrize("payload", [memoryview(b"abcdef")[::2], "text", 5, None, [1], object()])
def test_payload_that_is_no_flat_buffer(payload: Any) -> None:
    errors = (EncodeError, TypeError, BufferError)
    with pytest.raises(errors):
        amqp.encode(1, amqp.Body(payload))
    with pytest.raises(errors):
        amqp.encode_message(1, amqp.Basic.Publish(), None, payload)
    with pytest.raises(errors):
        amqp.encode_parts(1, amqp.Basic.Publish(), None, payload)


def test_encode_into() -> None:
    publish = amqp.Basic.Publish("orders", "eu")
    expected = amqp.encode(1, publish)
    for offset in (0, 1, 17):
        buffer = bytearray(b"\xaa" * (len(expected) + 40))
        written = amqp.encode_into(buffer, offset, 1, publish)
        assert written == len(expected)
        assert buffer[offset : offset + written] == expected
        assert set(buffer[:offset]) <= {0xAA}
        assert set(buffer[offset + written :]) == {0xAA}


@pytest.mark.parametrize(
    "frame",
    [
        amqp.Header(5, amqp.Basic.Properties(headers={"a": [1, 2.5, "x"]}, user_id="u")),
        amqp.Body(b"abc" * 100),
        amqp.Heartbeat(),
        amqp.ProtocolHeader(),
        amqp.Queue.Declare(queue="q", arguments={"x-max-length": 5}),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_encode_into_takes_every_kind_and_an_exact_fit(frame: Any) -> None:
    channel = 0 if type(frame) is amqp.Heartbeat else 9
    expected = amqp.encode(channel, frame)
    buffer = bytearray(len(expected))
    assert amqp.encode_into(memoryview(buffer), 0, channel, frame) == len(expected)
    assert buffer == expected
    for short in range(len(expected)):
        small = bytearray(b"\xaa" * (short + 8))
        view = memoryview(small)[:short]
        with pytest.raises((EncodeError, ValueError, BufferError, IndexError)):
            amqp.encode_into(view, 0, channel, frame)
        assert small[short:] == b"\xaa" * 8  # nothing behind the end was written


@pytest.mark.parametrize("offset", [-1, 41, 1 << 62, -(1 << 62), 1 << 70])
def test_encode_into_bad_offsets(offset: int) -> None:
    buffer = bytearray(40)
    with pytest.raises((EncodeError, ValueError, IndexError, OverflowError, BufferError)):
        amqp.encode_into(buffer, offset, 1, amqp.Tx.Select())
    assert buffer == bytearray(40)


@pytest.mark.parametrize("buffer", [b"\0" * 99, memoryview(b"\0" * 99), "x" * 99, None, 5])
def test_encode_into_needs_a_writable_buffer(buffer: Any) -> None:
    with pytest.raises((TypeError, BufferError, ValueError)):
        amqp.encode_into(buffer, 0, 1, amqp.Tx.Select())
    assert buffer is None or isinstance(buffer, int) or set(bytes(buffer, "ascii")
        if isinstance(buffer, str) else bytes(buffer)) <= {0, 120}  # fmt: skip


def test_encode_into_refuses_gaps() -> None:
    buffer = bytearray(200)
    with pytest.raises((BufferError, ValueError, TypeError)):
        amqp.encode_into(memoryview(buffer)[::2], 0, 1, amqp.Tx.Select())
    assert buffer == bytearray(200)


def test_encode_into_releases_the_buffer() -> None:
    buffer = bytearray(100)
    amqp.encode_into(buffer, 0, 1, amqp.Tx.Select())
    with pytest.raises(EncodeError):
        amqp.encode_into(buffer, 0, 1, amqp.Basic.Ack(-1))
    buffer.extend(b"more")  # a held export would make this a BufferError


@pytest.mark.parametrize("frame_max", [4096, 131072, 0])
@pytest.mark.parametrize(
    "size", [0, 1, 4087, 4088, 4089, 8176, 8177, 131063, 131064, 131065, 300000]
)
def test_encode_message(size: int, frame_max: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    body = body[:size]
    publish = amqp.Basic.Publish("orders", "eu")
    properties = amqp.Basic.Properties(**PROPERTIES)
    octets = amqp.encode_message(4, publish, properties, body, frame_max=frame_max)
    assert type(octets) is bytes
    split = frame_max - 8 if frame_max else max(size, 1)
    expected = w.publication(body, 4, "orders", "eu", split=split, **PROPERTIES)
    assert octets == expected
    assert amqp.encode_message(4, publish, properties, body, frame_max) == octets
    parts = amqp.encode_parts(4, publish, properties, body, frame_max=frame_max)
    assert isinstance(parts, list)
    assert b"".join(parts) == octets


def test_encode_message_defaults_to_131072() -> None:
    body = b"x" * 131065
    assert amqp.encode_message(
        4, amqp.Basic.Publish("orders", "eu"), amqp.Basic.Properties(**PROPERTIES), body
    ) == w.publication(body, 4, "orders", "eu", split=131064, **PROPERTIES)


@pytest.mark.parametrize("body", [b"x" * 100_000, bytearray(b"y" * 100_000)], ids=["ro", "rw"])
def test_encode_parts_lend_the_body(body: Any) -> None:
    parts = amqp.encode_parts(1, amqp.Basic.Publish(), None, body, frame_max=4096)
    lent = [part for part in parts if isinstance(part, memoryview) and part.obj is body]
    assert sum(part.nbytes for part in lent) == len(body)
    assert all(isinstance(part, bytes | bytearray | memoryview) for part in parts)


def test_encode_message_of_every_content_method() -> None:
    for name, spec in w.SPECS.items():
        kind = w.class_of(amqp, name)
        if spec.has_content:
            octets = amqp.encode_message(1, kind(), None, b"x")
            assert octets == w.method_frame(name) + w.content(1, b"x")
        else:
            with pytest.raises((EncodeError, TypeError)):
                amqp.encode_message(1, kind(), None, b"x")
            with pytest.raises((EncodeError, TypeError)):
                amqp.encode_parts(1, kind(), None, b"x")


@pytest.mark.parametrize("frame_max", [1, 7, 8, -1, "4096", None, 1.5, 1 << 80])
def test_encode_message_refuses_a_frame_max_without_room(frame_max: Any) -> None:
    with pytest.raises((EncodeError, ValueError, TypeError, OverflowError)):
        amqp.encode_message(1, amqp.Basic.Publish(), None, b"xyz", frame_max=frame_max)
    with pytest.raises((EncodeError, ValueError, TypeError, OverflowError)):
        amqp.encode_parts(1, amqp.Basic.Publish(), None, b"xyz", frame_max=frame_max)


def test_encode_message_wrong_arguments() -> None:
    for method in (None, amqp.Header(), amqp.Body(), b"x", amqp.Basic.Properties()):
        with pytest.raises((EncodeError, TypeError)):
            amqp.encode_message(1, method, None, b"x")
    for properties in ({}, "x", amqp.Header(), amqp.Basic.Publish()):
        with pytest.raises((EncodeError, TypeError)):
            amqp.encode_message(1, amqp.Basic.Publish(), properties, b"x")


def test_encode_message_with_dialect() -> None:
    properties = amqp.Basic.Properties(headers={"n": 1 << 40})
    octets = amqp.encode_message(1, amqp.Basic.Publish(), properties, b"", dialect="0-9-1")
    assert b"\x01nL" + (1 << 40).to_bytes(8, "big") in octets


def test_values_are_read_at_encode_not_before() -> None:
    payload = bytearray(b"one")
    body = amqp.Body(payload)
    payload[:] = b"two"
    assert amqp.encode(1, body) == w.body_frame(1, b"two")
