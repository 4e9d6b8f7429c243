"""batch.encode and batch.decode of AMQP 1.0 are each other's way back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amqpcodec import batch
from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_v1_values import (
    PERFORMATIVES,
    SCHEMA,
    Said,
    composites,
    encode,
    v1_messages,
)
from tests.v1.test_v1_properties import values as typed_values


def decoded(octets: bytes, level: str = "message", **options: Any) -> Any:
    record_batch = pa.record_batch(batch.decode(octets, "1.0", level, **options))
    record_batch.validate(full=True)
    return record_batch


def without(message: Said) -> Said:
    """What JSON text and µs can say: there, symbols are strings, and far times are none."""
    for name in ("absolute_expiry_time", "creation_time"):
        if message.properties is not None:
            message.properties.pop(name, None)
    return message


@given(st.lists(v1_messages, min_size=1, max_size=4), st.sampled_from([0, 512, 131072]))
@settings(max_examples=200, deadline=None)
def test_rows_come_back(messages: list[Said], frame_max: int) -> None:
    """decode, encode and decode again: the same rows, as they are."""
    octets = b"".join(message.octets(frame_max) for message in messages)
    first = decoded(octets)
    assert first["error"].null_count == len(messages)
    values, errors = encode(first, frame_max=frame_max)
    assert errors == [None] * len(messages)
    again = decoded(b"".join(value or b"" for value in values))
    names = [name for name in first.schema.names if name not in ("frame", "row")]
    assert again.select(names).to_pylist() == first.select(names).to_pylist()
    # and from here on nothing changes any more
    values_again, _ = encode(again, frame_max=frame_max)
    assert values_again == values


@given(st.lists(v1_messages.map(without), min_size=1, max_size=4), st.sampled_from([0, 512]))
@settings(max_examples=150, deadline=None)
def test_columns_come_back(messages: list[Said], frame_max: int) -> None:
    """encode and decode: what the columns said."""
    for message in messages:
        message.transfer.setdefault("handle", 0)
        if message.body == []:
            message.body = None  # no section at all
    columns = pa.RecordBatch.from_pylist([message.row() for message in messages], SCHEMA)
    values, errors = encode(columns, frame_max=frame_max)
    assert errors == [None] * len(messages)
    record_batch = decoded(b"".join(value or b"" for value in values), fields=SCHEMA.names)
    assert record_batch["body_kind"].to_pylist() == [
        message.message().body_kind for message in messages
    ]
    exact = ("handle", "delivery_id", "delivery_tag", "settled", "header", "properties", "body")
    for name in exact:
        assert record_batch[name].to_pylist() == columns[name].to_pylist(), name


CODES = {spec["code"] for spec in amqp.PROTOCOL.table["types"]}


def taken_for_own(value: Any) -> bool:
    """A uint somewhere as a descriptor: JSON text makes a ulong of it, an own type of AMQP."""
    if isinstance(value, amqp.Described):
        return value.descriptor in CODES or taken_for_own(value.value)
    if isinstance(value, (dict, amqp.Map)):
        return any(taken_for_own(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(map(taken_for_own, value))


@example(amqp.Described(amqp.UInt(16), None))
@example([{"a": amqp.Described(amqp.UInt(0x75), b"x")}])
@example(amqp.Described(amqp.UInt(15), None))
@given(typed_values)
@settings(max_examples=200, deadline=None)
def test_values_of_every_type(value: Any) -> None:
    """Of whatever type: widths and symbols are lost once, then it stays."""
    octets = amqp.encode_message(0, amqp.Transfer(0, message_format=0), amqp.Message(value=value))
    first = decoded(octets)
    assert first["error"].null_count == 1
    (frame,), (error,) = encode(first)
    text = first["value"][0].as_py()
    assert (error is not None) == taken_for_own(value), error
    if error is not None:
        assert "one of AMQP's own types" in error
        return
    again = decoded(frame or b"")
    assert json.loads(again["value"][0].as_py()) == json.loads(text)


@pytest.mark.parametrize("name", [spec["name"] for spec in PERFORMATIVES])
@given(data=st.data(), channel=st.integers(0, 65535))
@settings(max_examples=40, deadline=None)
def test_frames_come_back_to_the_octet(name: str, data: Any, channel: int) -> None:
    frame = data.draw(composites(name))
    payload = data.draw(st.binary(max_size=20)) if name == "transfer" else b""
    octets = amqp.encode(channel, frame, payload, incomplete=True)
    first = decoded(octets, "frame")
    assert first["error"].null_count == 1
    (frame_bytes,), (error,) = encode(first)
    assert error is None
    # Maps of symbols, and symbols in them, are all that changes.
    again = decoded(frame_bytes or b"", "frame")
    names = [column_name for column_name in first.schema.names if column_name != "frame"]
    assert again.select(names).to_pylist() == first.select(names).to_pylist()


def test_every_performative_of_a_stream() -> None:
    frames = [
        amqp.encode(0, amqp.Open("me", idle_time_out=5000, desired_capabilities=["a", "b"])),
        amqp.encode(1, amqp.Begin(None, 0, 100, 100)),
        amqp.encode(1, amqp.Attach("l", 0, False, source=amqp.Source("q"), target=amqp.Target("t"),
                                   initial_delivery_count=0)),
        amqp.encode(1, amqp.Flow(0, 1, 2, 3)),
        amqp.encode_message(1, amqp.Transfer(0, 0, b"t", 0), amqp.Message(b"x" * 2000), 512),
        amqp.encode(1, amqp.Disposition(True, 0, settled=True, state=amqp.Accepted())),
        amqp.encode(1, amqp.Detach(0, True, amqp.Error("amqp:not-found", "no"))),
        amqp.encode(1, amqp.End()),
        amqp.encode(0, amqp.Close()),
    ]  # fmt: skip
    fields = ["channel", "performative", "arguments", "header", "body_kind", "body", "error"]
    rows = decoded(b"".join(frames), fields=fields)
    assert encode(rows, frame_max=512) == (frames, [None] * len(frames))


def test_rows_that_are_broken_stay_so() -> None:
    good = amqp.encode_message(0, amqp.Transfer(0, message_format=0), amqp.Message(b"x"))
    bad = amqp.encode_message(0, amqp.Transfer(0, message_format=0), b"\0\x53\x75\xa0")
    rows = decoded(good + bad + good)
    assert encode(rows) == (
        [good, None, good],
        [None, "error: the row came with an error", None],
    )


def test_other_formats_are_not_lost_in_silence() -> None:
    octets = amqp.encode_message(0, amqp.Transfer(0, message_format=7), b"octets")
    assert encode(decoded(octets)) == (
        [None],
        ["transfer.message_format: only 0 has sections: message takes the bytes of others"],
    )
    fields = ["handle", "message_format", "message", "body"]
    assert encode(decoded(octets, fields=fields)) == ([octets], [None])
