"""AMQP 1.0 at message level: every row against what MessageDecoder makes of the same bytes."""

from __future__ import annotations

import datetime
import random
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import DecodeError, IncompleteError, batch
from amqpcodec import v1_0 as amqp
from tests.columns.v1_rows import (
    ASKED,
    MESSAGE_COLUMNS,
    S,
    decode,
    expected_event,
    json_text,
    message_rows,
    pa,
)
from tests.support.amqp10_wire import frame
from tests.v1.mutation import mutated
from tests.v1.recordings import NAMES, recording
from tests.v1.test_v1_properties import values

MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
FIRST = amqp.Transfer(0, 1, b"t", 0)
REST = amqp.Transfer(0)


def messages() -> list[amqp.Message]:
    return [
        amqp.Message(
            header=amqp.Header(True, 5, 6, False, 7),
            delivery_annotations={S("a"): 1},
            message_annotations=amqp.Map([(1, 2)]),
            properties=amqp.Properties(
                *(5, b"u", "to", "s", "r", uuid.UUID(int=7), "text/plain", "gzip"),
                *(MOMENT, MOMENT, "g", 2**32 - 1, "h"),
            ),
            application_properties={"a": 1, "b": "text", "c": False, "$d": None, "e": 1.5},
            data=[b"x", b"yz"],
            footer={S("f"): b"x"},
        ),
        amqp.Message(data=[b""]),
        amqp.Message(data=[b"alone"], durable=False, message_id="m"),
        amqp.Message(sequences=[[1], ["a", [2]]], message_id=b"\x00\xff", priority=9),
        amqp.Message(sequences=[[]]),
        amqp.Message(None, value=None, message_id="AMQP_ULONG:5", correlation_id="AMQP_"),
        amqp.Message({"k": [1, None, amqp.Described(S("d"), 2)]}, reply_to="AMQP_STRING:"),
        amqp.Message(),
        amqp.Message(header=amqp.Header()),
    ]


def delivery_frame(message: amqp.Message, **fields: Any) -> bytes:
    transfer = amqp.Transfer(**{"handle": 0, "delivery_id": 1, "delivery_tag": b"t", **fields})
    return amqp.encode(1, transfer, message.encode())


def compare(data: bytes, *, fuzzy: bool = False) -> tuple[int, int]:
    """Rows of a stream against the events of it; how many are good, and how many are not.

    fuzzy: what a column cannot hold may be among them."""
    actual_rows = message_rows(data, fields=ASKED)
    decoder = amqp.MessageDecoder(0, errors="frame", types="typed", opened=True, eager=True)
    events = list(decoder.feed(data))
    good = bad = at = 0
    for channel, event in events:
        if type(event) in (amqp.Heartbeat, amqp.ProtocolHeader):
            continue
        row = actual_rows[at]
        while row["error"] and "that was given up" in row["error"]:
            at += 1
            row = actual_rows[at]
        at += 1
        if type(event) is amqp.BadFrame:
            error = event.error
            assert row["error"] is not None, event
            text = f"{error.condition}: {error}".rpartition(" (offset")[0]
            assert row["error"].rpartition(" (offset")[0] == text
            assert row["frame"].endswith(event.raw)
            assert 0 <= row["error_offset"] <= len(data)
            if row["message"] is None:
                assert row["error_offset"] == error.offset
            elif len(row["frame"]) == len(event.raw):
                end = row["offset"] + len(event.raw)
                assert row["error_offset"] == end - len(row["message"]) + error.offset
            bad += 1
            continue
        expected_row = expected_event(channel, event)
        if fuzzy and row["error"] is not None:
            assert "does not fit" in row["error"]
            continue
        assert row["error"] is None
        assert {name: row[name] for name in expected_row} == expected_row
        good += 1
    for row in actual_rows[at:]:
        assert "given up" in row["error"] or "ended inside a delivery" in row["error"]
    lost = sum("ended inside a delivery" in (row["error"] or "") for row in actual_rows)
    if lost:
        with pytest.raises(IncompleteError):
            decoder.eof()
    else:
        decoder.eof()
    return good, bad


def test_the_schema() -> None:
    schema = pa.schema(batch.schema("1.0", level="message"))
    assert tuple(schema.names) == MESSAGE_COLUMNS
    assert schema == decode(b"", level="message").schema
    same = pa.schema(batch.schema("1.0"))
    for name in set(schema.names) & set(same.names):
        assert schema.field(name).type == same.field(name).type
    types = {field.name: field.type for field in schema.field("header").type}
    assert types == {
        "durable": pa.bool_(),
        "priority": pa.int32(),
        "ttl": pa.int64(),
        "first_acquirer": pa.bool_(),
        "delivery_count": pa.int64(),
    }
    kinds = {field.name: field.type for field in schema.field("properties").type}
    assert len(kinds) == 13
    assert kinds["user_id"] == pa.binary()
    assert kinds["creation_time"] == pa.timestamp("us", "UTC")
    assert kinds["group_sequence"] == pa.int64()
    assert kinds["message_id"] == pa.string()


def test_every_section() -> None:
    frames = [delivery_frame(message) for message in messages()]
    assert compare(b"".join(frames)) == (len(frames), 0)
    row = message_rows(frames[0])[0]
    assert row["properties"]["message_id"] == "AMQP_ULONG:5"
    assert row["properties"]["correlation_id"] == f"AMQP_UUID:{uuid.UUID(int=7)}"
    assert row["properties"]["creation_time"] == MOMENT.timestamp() * 1_000_000
    assert row["body"] == b"xyz"
    assert row["message_annotations"] == '{"$map":[[1,2]]}'
    ids = [row["properties"] for row in message_rows(b"".join(frames))]
    assert ids[3]["message_id"] == "AMQP_BINARY:00FF"
    assert (ids[5]["message_id"], ids[5]["correlation_id"]) == ("AMQP_STRING:AMQP_ULONG:5", "AMQP_")
    assert ids[6]["reply_to"] == "AMQP_STRING:AMQP_STRING:"
    assert message_rows(b"".join(frames)) == message_rows(b"".join(frames), layout="view")


@pytest.mark.parametrize("size", [512, 600, 5000])
def test_deliveries_of_many_transfers(size: int) -> None:
    body = bytes(range(256)) * 12
    parts = []
    for channel in range(3):
        for handle in range(3):
            transfer = amqp.Transfer(handle, handle, b"t", 0, settled=handle == 1)
            message = amqp.Message(data=[body, b"!"], subject=f"{channel}.{handle}")
            octets = amqp.encode_message(channel, transfer, message, size)
            frames = []
            while octets:
                n = int.from_bytes(octets[:4], "big")
                frames.append(octets[:n])
                octets = octets[n:]
            parts.append(frames)
    source = random.Random(size)
    stream = b""
    while any(parts):
        stream += source.choice([part for part in parts if part]).pop(0)
    assert compare(stream) == (9, 0)
    delivery_rows = message_rows(stream)
    assert {row["body"] for row in delivery_rows} == {body + b"!"}
    assert sum(len(row["frame"]) for row in delivery_rows) == len(stream)


def test_settled_and_state_come_with_any_transfer() -> None:
    more = amqp.Transfer(0, 1, b"t", 0, more=True, state=amqp.Released())
    later = amqp.Transfer(0, settled=True, more=True, state=amqp.Accepted())
    last = amqp.Transfer(0, settled=False)
    body = amqp.Message(data=[b"abc"]).encode()
    data = b"".join(
        amqp.encode(1, *transfer)
        for transfer in ((more, body[:3]), (later, body[3:5]), (last, body[5:]))
    )
    assert compare(data) == (1, 0)
    row = message_rows(data, fields=["settled", "state", "message", "body"])[0]
    assert row == {
        "settled": True,
        "state": '{"$type":"accepted"}',
        "message": body,
        "body": b"abc",
    }


def test_what_makes_no_delivery() -> None:
    body = amqp.Message(data=[b"abc"]).encode()
    more = amqp.encode(1, amqp.Transfer(0, 1, b"t", 0, more=True), body[:4])
    end = amqp.encode(1, REST, body[4:])
    aborted = amqp.encode(1, amqp.Transfer(0, aborted=True))
    other = amqp.encode(1, amqp.Transfer(0, 2, b"u", more=True), body)
    for stop in (amqp.Detach(0), amqp.End(), amqp.Close()):
        compare(more + amqp.encode(1, stop) + delivery_frame(messages()[2]))
    assert compare(more + end) == (1, 0)
    assert compare(more + aborted + delivery_frame(messages()[2]) + aborted) == (1, 0)
    assert len(message_rows(more + aborted)) == 0
    assert compare(more + amqp.encode(1, amqp.Detach(1)) + end) == (2, 0)
    # Another delivery begins inside: all bytes of both are in rows.
    data = more + other + end + delivery_frame(messages()[2])
    good, bad = compare(data)
    assert (good, bad) == (1, 1)
    assert b"".join(row["frame"] for row in message_rows(data)) == data
    # The end of the input, or of the framing, cuts it off.
    (row,) = message_rows(more, fields=ASKED)
    assert "ended inside a delivery, 4 bytes into it" in row["error"]
    assert (row["frame"], row["performative"], row["channel"]) == (more, "transfer", 1)
    assert row["error_offset"] == len(more)
    delivery_rows = message_rows(
        pa.array([more + b"\0\0\0", end], pa.binary()), fields=ASKED, by=[]
    )
    assert ["ended inside" in (row["error"] or "") for row in delivery_rows] == [True, True, False]
    delivery_rows = message_rows(pa.array([more, end], pa.binary()), fields=ASKED, by=[])
    assert [(row["row"], row["body"], row["frame"]) for row in delivery_rows] == [
        (0, b"abc", more + end)
    ]


def test_an_error_in_a_later_transfer_has_its_place() -> None:
    body = amqp.Message(data=[b"abc"], application_properties={"k": "text"}).encode()
    bad = body.replace(b"\xa1\x04text", b"\xa1\x04te\xffx")
    at = bad.index(b"te\xffx")
    for split in range(1, len(bad)):
        first = amqp.encode(1, amqp.Transfer(0, 1, b"t", 0, more=True), bad[:split])
        second = amqp.encode(1, REST, bad[split:])
        array = pa.array([first, second], pa.binary())
        (row,) = message_rows(array, fields=ASKED, by=[])
        assert "string is not UTF-8" in row["error"]
        expected_offset = len(first) - split + at if at < split else len(second) - len(bad) + at
        assert row["error_offset"] == expected_offset
        with pytest.raises(DecodeError) as caught:
            decode(array, level="message", mode="FAILFAST", by=[])
        assert caught.value.row == (0 if at < split else 1)
        assert decode(first + second, level="message", mode="DROPMALFORMED").num_rows == 0


def test_resumed_deliveries_and_other_formats_are_no_messages() -> None:
    inside = amqp.Transfer(0, 1, b"t", 0, resume=True, state=amqp.Received(1, 2))
    only = amqp.Transfer(0, 1, b"t", 0, resume=True, state=amqp.Accepted())
    other = amqp.Transfer(0, 1, b"t", 7)
    data = (
        amqp.encode(1, inside, b"xyz")
        + amqp.encode(1, only)
        + amqp.encode(1, other, b"\0\0anything")
    )
    assert compare(data) == (3, 0)
    assert [row["message"] for row in message_rows(data, fields=["message"])] == [
        b"xyz",
        b"",
        b"\0\0anything",
    ]


@given(st.lists(values, min_size=1, max_size=3), st.data())
@settings(deadline=None, max_examples=150)
def test_any_values(some_values: list[Any], data: Any) -> None:
    stream = b""
    for value in some_values:
        kind = data.draw(st.sampled_from(["value", "sequence", "map"]))
        if kind == "value":
            message = amqp.Message(None, value=value)
        elif kind == "sequence":
            message = amqp.Message(sequences=[[value], [value, value]])
        else:
            message = amqp.Message(message_annotations={S("k"): value}, footer={S("f"): value})
        stream += delivery_frame(message)
    compare(stream)


@pytest.mark.parametrize("seed", range(6))
def test_mutated_streams(seed: int) -> None:
    source = random.Random(seed)
    body = messages()[0].encode()
    originals = [
        *(delivery_frame(message) for message in messages()),
        amqp.encode(1, amqp.Transfer(0, 1, b"t", 0, more=True), body[:99]),
        amqp.encode(1, REST, body[99:]),
        amqp.encode(1, amqp.Transfer(0, aborted=True)),
        amqp.encode(1, amqp.Detach(0)),
        amqp.encode(2, amqp.Flow(1, 2, 3, 4)),
        amqp.encode(0, amqp.Heartbeat()),
    ]
    good = bad = 0
    for _ in range(60):
        frames = [source.choice(originals) for _ in range(20)]
        stream = b"".join(
            mutated(frame, source) if source.random() < 0.4 else frame for frame in frames
        )
        counts = compare(stream, fuzzy=True)
        good += counts[0]
        bad += counts[1]
    assert good > 100
    assert bad > 100


FIELDS = {
    "header.durable": pa.bool_(),
    "header.priority": pa.int32(),
    "properties.message_id": pa.string(),
    "properties.creation_time": pa.timestamp("us", "UTC"),
    "application_properties.a": pa.string(),
    "application_properties.a:long": pa.int64(),
    "application_properties.e:double": pa.float64(),
    "application_properties.b:string": pa.string(),
    "application_properties.c:boolean": pa.bool_(),
    "application_properties.b:binary": pa.binary(),
    "application_properties.$d": pa.string(),
    "body": pa.binary(),
    "body_kind": pa.string(),
    "value": pa.string(),
    "footer": pa.string(),
    "delivery_annotations": pa.string(),
    "message": pa.binary(),
    "handle": pa.int64(),
    "transfer.delivery_tag": pa.binary(),
    "arguments": pa.string(),
    "frame_type": pa.string(),
    "error": pa.string(),
}


@given(st.lists(st.sampled_from(sorted(FIELDS)), unique=True, max_size=6), st.data())
@settings(deadline=None, max_examples=60)
def test_any_fields_in_any_order(names: list[str], data: Any) -> None:
    """Each column is what it is when it is asked for alone, whatever else is."""
    frames = [delivery_frame(message) for message in messages()]
    frames += [
        amqp.encode(1, amqp.Flow(1, 2, 3, 4)),
        frame(b"\x40"),
        delivery_frame(messages()[0])[:-1],
    ]
    stream = b"".join(data.draw(st.lists(st.sampled_from(frames), max_size=20)))
    layout = data.draw(st.sampled_from(["plain", "view"]))
    record_batch = decode(stream, level="message", fields=names, layout=layout)
    for name in names:
        ask = [name, "error"] if "error" in names and name != "error" else [name]
        alone = decode(stream, level="message", fields=ask)
        assert record_batch.column(name).to_pylist() == alone.column(name).to_pylist()
        if layout == "plain":
            assert record_batch.schema.field(name).type == FIELDS[name]


def test_single_application_properties() -> None:
    pairs = amqp.Map(
        [("n", 1), (1, 2), ("n", 3), ("t", MOMENT), ("u", amqp.ULong(2**63)), ("s", S("x"))]
    )
    data = delivery_frame(amqp.Message(application_properties=pairs)) + delivery_frame(
        amqp.Message()
    )
    expected = {
        "n:long": 3,
        "n": "3",
        "t:timestamp": MOMENT,
        "u:long": None,
        "u": str(2**63),
        "s:string": "x",
        "n:string": None,
        "n:double": 3.0,
        "none": None,
    }
    names = [f"application_properties.{name}" for name in expected]
    delivery_rows = message_rows(data, fields=names)
    assert list(delivery_rows[0].values()) == list(expected.values())
    assert set(delivery_rows[1].values()) == {None}
    row = message_rows(data)[0]
    assert row["application_properties"] == json_text(pairs).replace('{"$table"', '{"$table"')


def test_application_properties_as_maps() -> None:
    maps: list[Any] = [
        {"a": 1, "b": "x", "c": None, "$d": True, "e": [1]},
        {},
        amqp.Map([("k", 1), ("k", "v")]),
        amqp.Map([(1, "x")]),
    ]
    data = b"".join(
        delivery_frame(amqp.Message(application_properties=properties)) for properties in maps
    )
    record_batch = decode(
        data + delivery_frame(amqp.Message()), level="message", field_tables="map"
    )
    column = record_batch.column("application_properties")
    assert column.type == pa.map_(pa.string(), pa.string())
    assert column.to_pylist() == [
        [("a", "1"), ("b", "x"), ("c", None), ("$$d", "true"), ("e", "[1]")],
        [],
        [("$table", '[["k",1],["k","v"]]')],
        [("$map", '[[1,"x"]]')],
        None,
    ]


def test_many_open_deliveries_take_no_time() -> None:
    """Links are a peer's choice; each frame takes as long as ever."""
    opening = [
        amqp.encode(n & 1, amqp.Transfer(n * 2**12 + 5, n, b"", more=True), b"")
        for n in range(20000)
    ]
    ends = [amqp.encode(7, amqp.End()), amqp.encode(0, amqp.Detach(1))] * 20000
    record_batch = decode(
        b"".join(opening + ends), level="message", fields=["performative", "error"]
    )
    assert record_batch.num_rows == 60000
    assert record_batch.column("error").null_count == 40000


@pytest.mark.parametrize("name", NAMES)
def test_recordings(name: str) -> None:
    oracle = recording(name)
    for sender in {row["from"] for row in oracle}:
        mine = [bytes.fromhex(row["hex"]) for row in oracle if row["from"] == sender]
        good, bad = compare(b"".join(mine))
        assert good > 5
        assert bad == 0
