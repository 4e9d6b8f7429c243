"""Bad frames in the three modes, and columns chosen by name."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import pytest

import amqpcodec
from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import COLUMNS, LAST_SECOND, decode, pa, rows
from tests.support import amqp091_wire as w

ACK = w.method_frame("basic.ack", 3, delivery_tag=9)
HEADER = w.header_frame(4, 3, content_type="text/plain", headers={"n": 1})
BODY = w.body_frame(3, b"body")
GOOD = ACK + HEADER + BODY + w.HEARTBEAT + w.PROTOCOL_HEADER


def deliver(**values: Any) -> bytes:
    return w.method_frame("basic.deliver", 3, **values)


#: name -> bytes of one bad frame, error class, and the columns that stay
BAD: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "unknown method": (
        w.frame(1, 3, b"\0\x63\0\x63"),
        "UnknownMethodError",
        {"frame_type": "method", "channel": 3},
    ),
    "no ids": (
        w.frame(1, 3, b"\0\x3c\0"),
        "TruncatedError",
        {"frame_type": "method", "channel": 3},
    ),
    "short arguments": (
        w.frame(1, 3, w.method_payload("basic.deliver", consumer_tag="tag")[:-3]),
        "TruncatedError",
        {"frame_type": "method", "channel": 3, "method": "basic.deliver"},
    ),
    "long arguments": (
        w.frame(1, 3, w.method_payload("basic.ack") + b"\0"),
        "TrailingError",
        {"frame_type": "method", "channel": 3, "method": "basic.ack"},
    ),
    "unknown tag": (
        w.header_frame(5, 3, headers=w.table(("k", b"Z"))),
        "UnknownTagError",
        {"frame_type": "header", "channel": 3, "body_size": 5},
    ),
    "short header": (
        w.frame(2, 3, b"\0\x3c\0\0"),
        "TruncatedError",
        {"frame_type": "header", "channel": 3},
    ),
    "no flags": (
        w.frame(2, 3, b"\0\x3c\0\0" + b"\0" * 8),
        "TruncatedError",
        {"frame_type": "header", "channel": 3, "body_size": 0},
    ),
    "class without content": (
        w.frame(2, 3, b"\0\x0a\0\0" + b"\0" * 10),
        "HeaderError",
        {"frame_type": "header", "channel": 3},
    ),
    "heartbeat with payload": (
        w.frame(8, 0, b"x"),
        "HeartbeatError",
        {"frame_type": "heartbeat", "channel": 0},
    ),
    "heartbeat on a channel": (
        w.frame(8, 3, b""),
        "HeartbeatError",
        {"frame_type": "heartbeat", "channel": 3},
    ),
    "undefined type": (w.frame(9, 3, b"x"), "FrameTypeError", {"channel": 3}),
    "type 0": (w.frame(0, 3, b"x"), "FrameTypeError", {"channel": 3}),
    "type 4": (w.frame(4, 3, b""), "FrameTypeError", {"channel": 3}),
    "type 255": (w.frame(255, 3, b"x"), "FrameTypeError", {"channel": 3}),
}
LOST: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "frame end": (
        ACK[:-1] + b"\xcd" + ACK + HEADER,
        "FrameEndError",
        {"frame_type": "method", "channel": 3},
    ),
    "cut": (HEADER[:-1], "IncompleteError", {"frame_type": "header", "channel": 3}),
    "cut in the envelope": (ACK[:6], "IncompleteError", {}),
    "one byte": (b"\1", "IncompleteError", {}),
    "oversize": (
        b"\1\0\3\xff\xff\xff\xff" + ACK * 9,
        "IncompleteError",
        {"frame_type": "method", "channel": 3},
    ),
    "no frame": (b"\xff" * 40, "FrameTypeError", {}),
    "undefined type, cut": (w.frame(9, 3, b"x")[:-1], "IncompleteError", {}),
    "protocol header, cut": (b"AMQP\0", "IncompleteError", {}),
    "no protocol header": (b"AMQX" + ACK, "FrameTypeError", {}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_frame_is_a_row(name: str) -> None:
    raw, _, stays = BAD[name]
    frame_rows = rows(GOOD + raw + GOOD)
    assert len(frame_rows) == 11
    assert [row["error"] is None for row in frame_rows] == [True] * 5 + [False] + [True] * 5
    bad = frame_rows[5]
    expected = dict.fromkeys(COLUMNS) | stays
    expected.update(row=0, offset=len(GOOD), frame=raw)
    expected.update(error=bad["error"], error_offset=bad["error_offset"])
    assert bad == expected
    assert f"(offset {bad['error_offset']})" in bad["error"]
    assert len(GOOD) <= bad["error_offset"] <= len(GOOD + raw)
    assert [row["frame"] for row in frame_rows[6:]] == [row["frame"] for row in frame_rows[:5]]


@pytest.mark.parametrize("name", LOST)
def test_lost_framing_is_one_last_row(name: str) -> None:
    raw, _, stays = LOST[name]
    values = [GOOD + raw, ACK, raw, None, GOOD]
    frame_rows = rows(pa.array(values, pa.binary()))
    assert [row["row"] for row in frame_rows] == [0] * 6 + [1, 2] + [4] * 5
    for bad, before in ((frame_rows[5], GOOD), (frame_rows[7], b"")):
        expected = dict.fromkeys(COLUMNS) | stays
        expected.update(row=bad["row"], offset=len(before), frame=raw)
        expected.update(error=bad["error"], error_offset=bad["error_offset"])
        assert bad == expected
        assert len(before) <= bad["error_offset"] < len(before + raw)
    assert sum(row["error"] is not None for row in frame_rows) == 2


@pytest.mark.parametrize(("name", "fields"), [("exchange", ["consumer_tag", "routing_key"])])
def test_text_that_is_not_utf8(name: str, fields: list[str]) -> None:
    """Only that argument is null; the others and the frame stay."""
    raw = deliver(consumer_tag="t", exchange=b"\xff", routing_key="r", delivery_tag=7)
    (row,) = rows(raw)
    assert row["arguments"] == (
        '{"consumer_tag":"t","delivery_tag":7,"redelivered":false,"exchange":null,"routing_key":"r"}'
    )
    assert row["error"] == "basic.deliver.exchange: shortstr is not UTF-8 (offset 23)"
    assert raw[row["error_offset"]] == 0xFF
    assert row["method"] == "basic.deliver"
    assert row["frame"] == raw


def test_property_that_is_not_utf8() -> None:
    raw = w.header_frame(4, 3, content_type="a", reply_to=b"ok\xff", user_id=b"\xff", app_id="b")
    (row,) = rows(raw)
    properties = {name: value for name, value in row["properties"].items() if value is not None}
    assert properties == {"content_type": "a", "app_id": "b"}
    assert row["body_size"] == 4
    assert row["error"].startswith("basic.properties.reply_to: shortstr is not UTF-8")
    assert raw[row["error_offset"] :].startswith(b"ok\xff")


@pytest.mark.parametrize("seconds", [LAST_SECOND + 1, (1 << 64) - 1])
def test_timestamp_beyond_the_column(seconds: int) -> None:
    raw = w.header_frame(4, 3, content_type="a", headers={"n": 1}, timestamp=seconds, app_id="b")
    (row,) = rows(raw)
    properties = {name: value for name, value in row["properties"].items() if value is not None}
    assert properties == {"content_type": "a", "headers": '{"n":1}', "app_id": "b"}
    assert row["error"].startswith(
        f"basic.properties.timestamp: timestamp {seconds} does not fit the column"
    )
    assert raw[row["error_offset"] :].startswith(seconds.to_bytes(8, "big"))


def test_last_timestamp_of_the_column() -> None:
    (row,) = rows(w.header_frame(timestamp=LAST_SECOND))
    assert row["error"] is None
    assert row["properties"]["timestamp"] == LAST_SECOND * 1_000_000


def test_body_size_beyond_the_column() -> None:
    raw = w.header_frame(1 << 63, content_type="a")
    (row,) = rows(raw)
    assert row["body_size"] is None
    assert row["properties"]["content_type"] == "a"
    assert row["error"] == "body size 9223372036854775808 does not fit the column (offset 11)"
    assert rows(w.header_frame((1 << 63) - 1))[0]["body_size"] == (1 << 63) - 1


ALL_BAD = {**BAD, **LOST, "not UTF-8": (deliver(exchange=b"\xff"), "DecodeError", {})}


@pytest.mark.parametrize("name", ALL_BAD)
def test_dropmalformed(name: str) -> None:
    raw = ALL_BAD[name][0]
    values = [GOOD + raw, ACK + raw, raw, GOOD]
    dropped = decode(pa.array(values, pa.binary()), mode="DROPMALFORMED")
    good_rows = [row for row in rows(pa.array(values, pa.binary())) if row["error"] is None]
    assert len(good_rows) == 11
    assert rows(pa.array(values, pa.binary()), mode="DROPMALFORMED") == good_rows
    assert dropped.column("error").null_count == 11


@pytest.mark.parametrize("fields", [None, ["row"], [], ["arguments"], ["properties", "method"]])
@pytest.mark.parametrize("name", ALL_BAD)
def test_failfast(name: str, fields: list[str] | None) -> None:
    raw, error_class, _ = ALL_BAD[name]
    values = pa.array([GOOD, None, GOOD + raw, raw], pa.binary())
    with pytest.raises(amqpcodec.DecodeError) as caught:
        batch.decode(values, mode="FAILFAST", fields=fields)
    error = caught.value
    assert type(error) is getattr(amqpcodec, error_class)
    first = next(row for row in rows(values) if row["error"] is not None)
    assert (error.row, error.offset) == (2, first["error_offset"])
    assert str(error) == f"row 2: {first['error']}"
    assert error.channel == first["channel"] or first["channel"] is None
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.row, again.offset) == (str(error), 2, error.offset)


@pytest.mark.parametrize("name", BAD)
def test_failfast_raises_what_the_object_path_raises(name: str) -> None:
    raw = BAD[name][0]
    with pytest.raises(amqpcodec.DecodeError) as ours:
        batch.decode(GOOD + raw, mode="FAILFAST")
    with pytest.raises(amqpcodec.DecodeError) as theirs:
        amqp.decode(GOOD + raw, len(GOOD))
    expected = theirs.value.__dict__ | {"row": 0}
    assert ours.value.__dict__ == expected
    assert str(ours.value) == f"row 0: {theirs.value}"
    assert type(ours.value) is type(theirs.value)


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_all_is_well(mode: str) -> None:
    assert rows(GOOD * 200, mode=mode) == rows(GOOD * 200)


# ---- fields ----


@pytest.mark.parametrize("name", COLUMNS)
def test_one_column(name: str) -> None:
    data = GOOD + BAD["unknown tag"][0] + GOOD + LOST["cut"][0]
    assert decode(data, fields=[name]).schema.names == [name]
    assert [row[name] for row in rows(data, fields=[name])] == [row[name] for row in rows(data)]


def test_orders() -> None:
    data = GOOD + BAD["unknown tag"][0]
    all_columns = decode(data)
    for names in permutations(("error", "properties", "row", "arguments"), 3):
        record_batch = decode(data, fields=names)
        assert record_batch.schema.names == list(names)
        assert record_batch.equals(all_columns.select(list(names)))
    assert decode(data, fields=reversed(COLUMNS)).schema.names == list(reversed(COLUMNS))


def test_no_column() -> None:
    assert len(batch.decode(GOOD, fields=[])) == 5
    assert pa.schema(batch.schema(fields=[])).names == []


def test_what_is_not_asked_for_is_not_decoded() -> None:
    """A frame that is bad inside is no matter where nobody looks inside."""
    raw = BAD["short arguments"][0]
    assert rows(raw, fields=["method"]) == [{"method": "basic.deliver"}]
    assert rows(raw, fields=["method", "error"])[0]["error"]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"fields": ["queues"]}, ValueError, "no column 'queues'.*did you mean 'queue'"),
        ({"fields": ["properties.nothing"]}, ValueError, "row, offset"),
        ({"fields": ["basic.consume.noack"]}, ValueError, "basic.consume.no_ack"),
        ({"fields": ["headers."]}, ValueError, "no column"),
        ({"fields": ["headers." + "x" * 256]}, ValueError, "255 bytes"),
        ({"fields": ["headers.\ud800"]}, ValueError, "UTF-8"),
        ({"fields": ["body"]}, ValueError, "frame level"),
        ({"fields": ["payload"], "level": "message"}, ValueError, "message level"),
        ({"fields": ["queue", "queue"]}, ValueError, "twice"),
        ({"fields": ["row", "row"]}, ValueError, "twice"),
        ({"fields": "row"}, TypeError, "list"),
        ({"fields": [1]}, TypeError, "int"),
        ({"fields": 5}, TypeError, "iterable"),
        ({"mode": "permissible"}, ValueError, "PERMISSIVE"),
        ({"mode": None}, TypeError, "mode"),
        ({"level": "messages"}, ValueError, "level"),
        ({"layout": "views"}, ValueError, "layout"),
        ({"dialect": "pdf"}, ValueError, "dialect"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        batch.decode(GOOD, **options)


def test_dialects() -> None:
    short = w.header_frame(headers=w.table(("k", b"s\2ab"), ("l", b"l" + b"\xff" * 8)))
    (row,) = rows(short, dialect="0-9-1")
    assert row["properties"]["headers"] == '{"k":"ab","l":18446744073709551615}'
    assert rows(short)[0]["error"]
