"""Message level against a model that puts the frame level together, and MessageDecoder."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import DecodeError, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode, pa, rows
from tests.reference import FACTS
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w

DEFAULT = (
    "row", "channel", "method", "exchange", "routing_key", "consumer_tag", "delivery_tag",
    "redelivered", "mandatory", "reply_code", "reply_text", "properties", "body", "error",
)  # fmt: skip
ASKED = [
    "row", "offset", "frame_type", "channel", "method", "arguments", "properties", "body_size",
    "body", "frame", "error",
]  # fmt: skip


# ---- the model: rows of frames to rows of messages ----


@dataclass
class Open:
    """A method whose content has yet to come."""

    method: dict[str, Any]
    frames: list[dict[str, Any]] = field(default_factory=list)
    size: int | None = None
    body: bytes = b""


def join(frames: list[dict[str, Any]], lost: Any) -> list[dict[str, Any]]:
    """lost: whether a row of frames is one behind which the framing is not known."""
    out: list[dict[str, Any]] = []
    channels: dict[int, Open] = {}

    def end(number: int, error: str | None) -> None:
        open_ = channels.pop(number)
        row = {name: open_.method.get(name) for name in ASKED}
        header = next((f for f in open_.frames if f["frame_type"] == "header"), None)
        faults = [f["error"] for f in (open_.method, *open_.frames) if f["error"]]
        if header is not None:
            other = struct.unpack(">H", header["frame"][7:9].ljust(2, b"\0"))[0]
            mine = struct.unpack(">H", open_.method["frame"][7:9])[0]
            if other != mine and len(header["frame"]) >= 20:
                if not open_.method["error"]:
                    faults = ["not that of the method"]
            else:
                row.update(properties=header["properties"], body_size=header["body_size"])
        row["frame"] = b"".join(f["frame"] for f in (open_.method, *open_.frames))
        complete = error is None and open_.size is not None
        row["body"] = open_.body if complete else None
        row["error"] = faults[0] if faults else error
        out.append(row)

    def alone(frame: dict[str, Any], error: str | None) -> None:
        row = {name: frame.get(name) for name in ASKED}
        if frame["frame_type"] != "method":
            row.update(properties=None, body_size=None)
        row["error"] = frame["error"] if frame["frame_type"] == "method" else None
        row["error"] = row["error"] or error or frame["error"]
        out.append(row)

    for frame in frames:
        kind, number = frame["frame_type"], frame["channel"]
        if lost(frame):
            for open_number in list(channels):
                end(open_number, "ended inside a message")
            out.append({name: frame.get(name) for name in ASKED})
        elif kind is None or kind == "heartbeat" or kind == "protocol-header":
            if frame["error"]:
                out.append({name: frame.get(name) for name in ASKED})
        elif kind == "method":
            if number in channels:
                end(number, "method frame inside of a content")
            fact = FACTS.methods.get(frame["method"])
            if fact is None or not fact.content:
                alone(frame, None)
            elif number == 0:
                alone(frame, "content on channel 0")
            else:
                channels[number] = Open(frame)
        elif number == 0:
            alone({**frame, "error": None}, "content on channel 0")
        elif kind == "header":
            open_ = channels.get(number)
            if open_ is not None and open_.size is not None:
                end(number, "content header inside of a content")
                open_ = None
            if open_ is None:
                alone({**frame, "error": None}, "content header without a method before it")
                continue
            open_.frames.append(frame)
            if len(frame["frame"]) < 20:
                end(number, None)
                continue
            open_.size = struct.unpack(">Q", frame["frame"][11:19])[0]
            if open_.size == 0:
                end(number, None)
        else:
            open_ = channels.get(number)
            error = "body frame without a content header before it"
            if open_ is not None and open_.size is None:
                end(number, error)
            elif open_ is not None and len(open_.body) + len(frame["payload"]) > open_.size:
                end(number, "body frame beyond the size")
            if number not in channels:
                alone(frame, error)
                continue
            open_ = channels[number]
            open_.frames.append(frame)
            open_.body += frame["payload"]
            if len(open_.body) == open_.size:
                end(number, None)
    for number in list(channels):
        end(number, "ended inside a message")
    return out


def check(data: Any, lost: Any = lambda frame: False) -> None:
    frames = rows(data)
    expected = join(frames, lost)
    by: Any = None if isinstance(data, bytes) else []
    message_rows = rows(data, level="message", fields=ASKED, by=by)
    assert len(message_rows) == len(expected)
    for one, other in zip(message_rows, expected, strict=True):
        error, expected_error = one.pop("error"), other.pop("error")
        assert (error is None) == (expected_error is None), (error, expected_error)
        assert expected_error is None or expected_error in error, (error, expected_error)
        assert one == other


@given(some.seeds)
@settings(max_examples=400)
def test_conversations(rng: Random) -> None:
    check(gen.conversation(rng, 5))


@given(some.seeds)
@settings(max_examples=400)
def test_frames_in_any_order(rng: Random) -> None:
    raws = gen.frames(gen.conversation(rng) + gen.stream(rng, 3))
    if rng.random() < 0.5:
        rng.shuffle(raws)
    else:
        del raws[rng.randrange(len(raws))]
    values = pa.array(raws, pa.binary()) if rng.random() < 0.5 else b"".join(raws)
    check(values)


@given(some.seeds)
@settings(max_examples=400)
def test_bad_frames(rng: Random) -> None:
    check(gen.spoil_inside(rng, gen.conversation(rng)))


@given(some.seeds)
@settings(max_examples=400)
def test_lost_framing(rng: Random) -> None:
    """It ends what is open, and the next value goes on."""
    values = []
    for _ in range(rng.randrange(1, 4)):
        data = gen.conversation(rng, 2)
        if rng.random() < 0.6:
            data += rng.choice((b"\1", b"\1\0\1\0\0\0\1\0\0", b"\xff" * 12, b"\3\0\1\xff\0\0\0zz"))
        values.append(data)
    check(
        pa.array(values, pa.binary()),
        lambda f: (
            f["error"]
            and (
                "stream ended" in f["error"]
                or "ends with" in f["error"]
                or "type 255" in f["error"]
            )
        ),
    )


@given(some.seeds)
@settings(max_examples=300)
def test_equal_to_the_message_decoder(rng: Random) -> None:
    data = gen.conversation(rng, 5)
    message_rows = rows(data, level="message")
    expected = list(amqp.MessageDecoder(0).feed(data))
    assert len(message_rows) == len(expected)
    for row, (channel, event) in zip(message_rows, expected, strict=True):
        assert list(row) == list(DEFAULT)
        message = isinstance(event, amqp.Message)
        method = event.method if message else event
        assert (row["channel"], row["method"]) == (channel, type(method).NAME)
        assert row["body"] == (event.body if message else None)
        assert (row["properties"] is not None) == message
        for name in DEFAULT[3:11]:
            value = getattr(method, name, None)
            if isinstance(value, str) and not value.isascii():
                assert row[name] == value or row["error"]
            elif value is not None and name == "delivery_tag" and value >= 1 << 63:
                assert row[name] is None
                assert row["error"]
            else:
                assert row[name] == value


def test_schema() -> None:
    schema = pa.schema(batch.schema("0-9-1", "message"))
    assert schema.names == list(DEFAULT)
    assert decode(b"", level="message").schema == schema
    frame_level = pa.schema(batch.schema(fields=[n for n in DEFAULT if n != "body"]))
    for column in frame_level:
        assert schema.field(column.name) == column


MESSAGE = [
    w.method_frame("basic.deliver", 5, consumer_tag="c", delivery_tag=3, exchange="e"),
    w.header_frame(4, channel=5),
    w.body_frame(5, b"ab"),
    w.body_frame(5, b"cd"),
]


def test_a_message_over_values() -> None:
    values = [w.HEARTBEAT, MESSAGE[0], None, MESSAGE[1] + MESSAGE[2], w.HEARTBEAT + MESSAGE[3]]
    columns = [*ASKED, "error_offset"]
    (row,) = rows(pa.array(values, pa.binary()), level="message", fields=columns, by=[])
    assert (row["row"], row["offset"], row["body"], row["error"]) == (1, 0, b"abcd", None)
    assert row["frame"] == b"".join(MESSAGE)


def test_places_of_faults() -> None:
    """The row is the method's; the place is one in the value with the fault."""
    data = pa.array([MESSAGE[0] + MESSAGE[1], w.HEARTBEAT + MESSAGE[0], MESSAGE[2]], pa.binary())
    first, second, third = rows(
        data, level="message", fields=["row", "error", "error_offset"], by=[]
    )
    assert (first["row"], first["error_offset"]) == (0, 8)
    assert first["error"] == "basic.deliver: method frame inside of a content (offset 8)"
    assert (second["row"], second["error_offset"]) == (1, 0)
    assert (third["row"], third["error_offset"]) == (2, 0)
    assert "without a content header" in second["error"]
    with pytest.raises(DecodeError, match=r"row 1: .* inside of a content") as caught:
        batch.decode(data, level="message", mode="FAILFAST", by=[])
    assert caught.value.row == 1
    assert caught.value.channel == 5
    assert caught.value.scope == "channel"


def test_drop_malformed() -> None:
    orphan = w.body_frame(9, b"x")
    data = orphan + b"".join(MESSAGE) + orphan + w.method_frame("basic.ack") + MESSAGE[0]
    message_rows = rows(data, level="message", mode="DROPMALFORMED")
    assert [row["method"] for row in message_rows] == ["basic.deliver", "basic.ack"]
    assert [row["body"] for row in message_rows] == [b"abcd", None]


def test_many_channels() -> None:
    """All open at once, then each goes on; rows come in the order of completion."""
    channels = list(range(1, 65536, 7))
    opened = [w.method_frame("basic.publish", n, routing_key=str(n)) for n in channels]
    Random(3).shuffle(channels)
    contents = [w.header_frame(2, channel=n) + w.body_frame(n, b"a") for n in channels]
    ends = [w.body_frame(n, b"b") for n in reversed(channels)]
    record_batch = decode(b"".join(opened + contents + ends), level="message")
    assert record_batch.column("channel").to_pylist() == channels[::-1]
    assert record_batch.column("routing_key").to_pylist() == [str(n) for n in channels[::-1]]
    assert set(record_batch.column("body").to_pylist()) == {b"ab"}
    incomplete = decode(b"".join(opened), level="message")
    assert incomplete.column("channel").to_pylist() == list(range(1, 65536, 7))
    assert incomplete.column("error").null_count == 0


def test_announced_sizes_take_no_memory() -> None:
    head = MESSAGE[0] + w.header_frame(1 << 62, channel=5) + w.body_frame(5, b"x")
    (row,) = rows(head, level="message", fields=["body", "error", "body_size"])
    assert (row["body"], row["body_size"]) == (None, 1 << 62)
    assert "ended inside a message" in row["error"]


def test_large_bodies() -> None:
    body = Random(1).randbytes(300_000)
    for frame_max in (131072, 4096, 1000):
        data = amqp.encode_message(1, amqp.Basic.Publish(), None, body, frame_max)
        message_rows = rows(data * 3, level="message", fields=["body", "frame"])
        assert [row["body"] for row in message_rows] == [body] * 3
        assert [row["frame"] for row in message_rows] == [data] * 3
