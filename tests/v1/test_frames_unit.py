"""Frames and the decoder: heads, layers, limits, chunking, errors; recordings of real peers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from amqpcodec import DecodeError, EncodeError, IncompleteError
from amqpcodec import v1_0 as amqp
from tests.support.calls import result_of
from tests.v1.recordings import NAMES, recording

OPEN = amqp.encode(0, amqp.Open(container_id="me"))
TRANSFER = amqp.encode(7, amqp.Transfer(handle=0, delivery_id=0, delivery_tag=b"t"), b"payload")
HEARTBEAT = bytes.fromhex("0000000802000000")
STREAM = (
    amqp.SASL_HEADER
    + amqp.encode(0, amqp.SaslMechanisms(["PLAIN", "ANONYMOUS"]))
    + amqp.encode(0, amqp.SaslInit("ANONYMOUS"))
    + amqp.encode(0, amqp.SaslOutcome(amqp.SaslCode.OK))
    + amqp.PROTOCOL_HEADER
    + OPEN
    + amqp.encode(7, amqp.Begin(next_outgoing_id=0, incoming_window=10, outgoing_window=10))
    + HEARTBEAT
    + TRANSFER * 3
    + amqp.encode(0, amqp.Close())
)


def frame(
    body: str, frame_type: int = 0, doff: int = 2, extra: str = "", channel: int = 1
) -> bytes:
    remainder = bytes([doff, frame_type]) + channel.to_bytes(2, "big") + bytes.fromhex(extra + body)
    return (4 + len(remainder)).to_bytes(4, "big") + remainder


def test_heads_and_constants() -> None:
    assert amqp.PROTOCOL_HEADER == b"AMQP\0\1\0\0"
    assert amqp.SASL_HEADER == b"AMQP\3\1\0\0"
    assert amqp.TLS_HEADER == b"AMQP\2\1\0\0"
    assert (amqp.VERSION, amqp.MIN_MAX_FRAME_SIZE, amqp.PORT) == ((1, 0, 0), 512, 5672)
    for octets, protocol_id in (
        (amqp.PROTOCOL_HEADER, 0),
        (amqp.TLS_HEADER, 2),
        (amqp.SASL_HEADER, 3),
    ):
        assert amqp.decode(octets) == (8, 0, amqp.ProtocolHeader(protocol_id))
        assert amqp.encode(0, amqp.ProtocolHeader(protocol_id)) == octets
    assert amqp.decode(HEARTBEAT) == (8, 0, amqp.Heartbeat())
    assert amqp.encode(0, amqp.Heartbeat()) == HEARTBEAT


def test_a_performative_and_its_payload() -> None:
    consumed, channel, transfer = amqp.decode(b"xx" + TRANSFER + b"xx", 2)
    assert (consumed, channel) == (len(TRANSFER), 7)
    assert transfer == amqp.Transfer(0, 0, b"t", payload=b"payload")
    assert transfer.payload == b"payload"
    assert amqp.encode(7, transfer) == TRANSFER
    assert amqp.encode(7, transfer, b"other").endswith(b"other")
    view = amqp.decode(TRANSFER, copy=False)[2].payload
    assert type(view) is memoryview
    assert view == b"payload"
    buffer = bytearray(100)
    assert amqp.encode_into(buffer, 3, 7, transfer) == len(TRANSFER)
    assert buffer[3 : 3 + len(TRANSFER)] == TRANSFER
    with pytest.raises(EncodeError, match="the buffer has 5"):
        amqp.encode_into(buffer, 95, 7, transfer)
    assert amqp.decode(TRANSFER[:-1]) is None
    assert amqp.decode(b"") is None


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((TRANSFER,), {}),
    ((b"__" + TRANSFER, 2), {}),
    ((TRANSFER[:-1],), {}),
    ((TRANSFER, -1), {}),
    ((TRANSFER, 1 << 70), {}),
    ((TRANSFER, True), {}),
    ((TRANSFER, None), {}),
    ((bytearray(TRANSFER), 0), {}),
    ((), {}),
    ((TRANSFER, 0, 0), {}),
    ((), {"data": TRANSFER, "offset": 0}),
    ((TRANSFER,), {"types": "typed"}),
    ((TRANSFER, 0), {"copy": False}),
    ((TRANSFER,), {"nonsense": 1}),
    ((bytes(8),), {}),
]


@pytest.mark.parametrize(("args", "options"), CALLS)
def test_however_it_is_called_decode_is_the_method_of_the_protocol(
    args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    want = result_of(amqp.PROTOCOL.decode, *args, **options)
    assert result_of(amqp.decode, *args, **options) == want


@pytest.mark.parametrize("fields", ["45", "c003024043", "c0050440434043"])
def test_without_a_mandatory_field_only_the_bytes_that_came_are_written(fields: str) -> None:
    # A begin: no field at all; a list that ends before the windows; a window that is null.
    octets = frame("005311" + fields)
    performative = amqp.decode(octets)[2]
    assert amqp.encode(1, performative) == octets
    performative.handle_max = 1
    with pytest.raises(EncodeError, match="is mandatory"):
        amqp.encode(1, performative)


EXTENDED = [(3, "ffffffff"), (5, "00" * 12), (255, "5a" * 1012)]
BODIES = [
    ("00531045", amqp.Open()),
    ("00800000000000000010450000"[:-4], amqp.Open()),  # a descriptor in a longer form
    ("005314c008054340a0017440410102", amqp.Transfer(0, None, b"t", None, True, payload=b"\1\2")),
    ("", amqp.Heartbeat()),
]


@pytest.mark.parametrize(("doff", "extra"), EXTENDED)
@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_extended_header_is_kept(doff: int, extra: str, body: str, expected: Any) -> None:
    octets = frame(body, doff=doff, extra=extra)
    plain = frame(body)
    consumed, channel, decoded = amqp.decode(octets)
    assert (consumed, channel, decoded) == (len(octets), 1, expected)
    for same in (decoded, copy.copy(decoded), pickle.loads(pickle.dumps(decoded))):
        assert amqp.encode(1, same) == octets
    fed = amqp.Decoder(opened=True).feed(octets)
    assert [amqp.encode(*pair) for pair in fed] == [octets]
    # It belongs to the frame: the value alone is without it, and so is what was changed.
    if body:
        assert amqp.encode_value(decoded) == amqp.encode_value(amqp.decode(plain)[2])
    if isinstance(decoded, amqp.Open):
        decoded.container_id = "other"
        assert amqp.encode(1, decoded) == amqp.encode(1, amqp.Open("other"))
        decoded.container_id = ""
        decoded.container_id = amqp.decode(plain)[2].container_id
        assert amqp.encode(1, decoded) == octets


def test_extended_header_of_sasl_and_of_a_new_payload() -> None:
    octets = frame("005344c003015000", 1, doff=3, extra="01020304")
    assert amqp.encode(1, amqp.decode(octets)[2], validate=True) == octets
    transfer = amqp.decode(frame(BODIES[2][0], doff=3, extra="01020304"))[2]
    assert amqp.encode(1, transfer, b"new") == frame(
        BODIES[2][0][:-4] + b"new".hex(), doff=3, extra="01020304"
    )


def test_extended_header_that_a_pickle_makes_up() -> None:
    decoded = amqp.decode(frame("00531045", doff=3, extra="ffffffff"))[2]
    restore, (cls, values, mode, origin) = decoded.__reduce__()
    for wrong in (mode & 0xFFFF | 1016 << 16, mode & 0xFFFF | 12 << 16, mode & 0xFFFF):
        with pytest.raises((ValueError, DecodeError)):
            restore(cls, values, wrong, origin)
    with pytest.raises(ValueError, match="extended header"):
        restore(amqp.Heartbeat, (), 8 << 16, b"1234")
    with pytest.raises(ValueError, match="bytes of another type"):
        restore(amqp.Heartbeat, (), 4 << 16, b"12345678")


def test_sasl_frames_are_of_their_own_type() -> None:
    init = amqp.encode(0, amqp.SaslInit("PLAIN", b"\0a\0b", "host"))
    assert init[5] == 1
    assert amqp.decode(init)[2] == amqp.SaslInit("PLAIN", b"\0a\0b", "host")
    # the channel means nothing there, but it is told
    assert amqp.decode(init[:6] + b"\1\2" + init[8:])[1] == 0x0102


@pytest.mark.parametrize(
    ("octets", "name", "condition", "scope", "offset"),
    [
        (b"\0\0\0\7\2\0\0\0", "FramingError", "amqp:connection:framing-error", "connection", 0),
        (b"\0\0\0\0\2\0\0\0", "FramingError", "amqp:connection:framing-error", "connection", 0),
        (b"\0\0\0\x08\1\0\0\0", "FramingError", "amqp:connection:framing-error", "connection", 4),
        (b"\0\0\0\x08\3\0\0\0", "FramingError", "amqp:connection:framing-error", "connection", 4),
        (frame("00531045", 2), "FrameTypeError", "amqp:connection:framing-error", "frame", 5),
        (frame("", 1), "TruncatedError", "amqp:decode-error", "frame", 8),
        (frame("40"), "FieldError", "amqp:decode-error", "frame", 8),
        (frame("00"), "TruncatedError", "amqp:decode-error", "frame", 9),
        (frame("0053"), "TruncatedError", "amqp:decode-error", "frame", 10),
        (frame("0053ff45"), "UnknownMethodError", "amqp:decode-error", "frame", 8),
        (frame("00537045"), "UnknownMethodError", "amqp:decode-error", "frame", 8),
        (frame("00534145"), "UnknownMethodError", "amqp:decode-error", "frame", 8),
        (frame("00531045", 1), "UnknownMethodError", "amqp:decode-error", "frame", 8),
        (frame("0053104500"), "TrailingError", "amqp:decode-error", "frame", 12),
        (frame("0053414500", 1), "TrailingError", "amqp:decode-error", "frame", 12),
        (frame("005310c003015005"), "FieldError", "amqp:decode-error", "frame", 14),
    ],
)  # fmt: skip
def test_bad_frames(octets: bytes, name: str, condition: str, scope: str, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        amqp.decode(b"junk" + octets, 4)
    error = caught.value
    attributes = (type(error).__name__, error.condition, error.scope, error.offset)
    assert attributes == (name, condition, scope, offset + 4), error
    assert error.frame_type == octets[5]
    decoder = amqp.Decoder(errors="frame")
    events = decoder.feed(octets + HEARTBEAT)
    if scope == "connection":
        for _ in range(2):
            with pytest.raises(DecodeError, match=type(error).__name__ and "frame"):
                next(decoder.feed())
        return
    (channel, bad), (_, after) = events
    assert (type(bad), bad.raw, channel) == (amqp.BadFrame, octets, 1)
    assert after == amqp.Heartbeat()
    strict = amqp.Decoder()
    with pytest.raises(DecodeError):
        list(strict.feed(octets + HEARTBEAT))
    assert list(strict.feed()) == [(0, amqp.Heartbeat())]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 50, 1000])
@pytest.mark.parametrize("copy", [True, False])
def test_any_chunking(size: int, copy: bool) -> None:
    expected = [(c, f) for c, f in amqp.Decoder().feed(STREAM)]
    assert len(expected) == 12
    decoder = amqp.Decoder(copy=copy)
    frames: list[Any] = []
    for start in range(0, len(STREAM), size):
        frames += decoder.feed(STREAM[start : start + size])
    assert [(c, type(f)) for c, f in frames] == [(c, type(f)) for c, f in expected]
    assert b"".join(amqp.encode(c, f) for c, f in frames) == STREAM
    assert (decoder.pending, decoder.offset) == (0, len(STREAM))
    decoder.eof()


def test_eof_inside_a_frame() -> None:
    decoder = amqp.Decoder()
    assert list(decoder.feed(OPEN[:-1])) == []
    with pytest.raises(IncompleteError, match="inside a frame") as caught:
        decoder.eof()
    assert caught.value.condition == "amqp:connection:framing-error"
    decoder.reset()
    decoder.eof()


def test_frame_size_before_and_after_open() -> None:
    big = amqp.encode(0, amqp.Open(container_id="x" * 600))
    with pytest.raises(DecodeError, match="exceeds max-frame-size 512") as caught:
        list(amqp.Decoder().feed(big))
    assert (caught.value.scope, caught.value.condition) == (
        "connection",
        "amqp:connection:framing-error",
    )
    assert len(list(amqp.Decoder(opened=True).feed(big))) == 1
    transfer = amqp.encode(0, amqp.Transfer(handle=0), b"x" * 900)
    decoder = amqp.Decoder(frame_max=1000)
    assert len(list(decoder.feed(OPEN + transfer))) == 2
    decoder.frame_max = len(transfer) - 1
    with pytest.raises(DecodeError, match="max-frame-size"):
        list(decoder.feed(transfer))
    decoder.reset()
    assert not decoder.opened
    with pytest.raises(DecodeError, match="512"):
        list(decoder.feed(transfer))
    # refused by its size alone, before its bytes came
    with pytest.raises(DecodeError, match="4294967295"):
        list(amqp.Decoder().feed(b"\xff\xff\xff\xff\2\0\0\0"))


@pytest.mark.parametrize(
    ("channel", "value", "payload", "what"),
    [
        (0, amqp.Open("c"), b"x", "open.payload: only a transfer"),
        (0, amqp.Heartbeat(), b"x", "heartbeat.payload: only a transfer"),
        (0, amqp.Accepted(), b"", "takes a performative"),
        (0, 5, b"", "takes a performative"),
        (0, amqp.Transfer(0), "x", "takes bytes, not str"),
        (65536, amqp.Close(), b"", "channel"),
        (0, amqp.ProtocolHeader(256), b"", "ubyte takes 0 to 255"),
    ],
)
def test_what_is_no_frame(channel: int, value: Any, payload: Any, what: str) -> None:
    with pytest.raises(EncodeError, match=what):
        amqp.encode(channel, value, payload)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("types", ["plain", "typed"])
def test_recordings_byte_for_byte(name: str, types: Any) -> None:
    rows = recording(name)
    for sender in {row["from"] for row in rows}:
        mine = [row for row in rows if row["from"] == sender]
        stream = b"".join(bytes.fromhex(row["hex"]) for row in mine)
        frames = list(amqp.Decoder(types=types).feed(stream))
        assert len(frames) == len(mine)
        for (channel, performative), row in zip(frames, mine, strict=True):
            assert amqp.encode(channel, performative) == bytes.fromhex(row["hex"])
            if row["kind"] == "protocol-header":
                assert type(performative) is amqp.ProtocolHeader
                continue
            assert channel == row["channel"]
            if row.get("performative"):
                assert row["performative"] == type(performative).NAME
            assert len(getattr(performative, "payload", b"")) == row["payload_bytes"]
