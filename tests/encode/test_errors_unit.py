"""Rows that cannot be encoded: an error of that row, or an exception that names row and column."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import EncodeError, _encode, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_values import Sent, encode, only
from tests.support.invalid_arrow import not_text

GOOD = Sent("basic.publish").octets()
BEFORE = datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)


def headers(value: Any, type_: Any = None) -> Any:
    array = value if isinstance(value, pa.Array) else pa.array([value], type_)
    return pa.StructArray.from_arrays([array], names=["h"])


BAD: dict[str, tuple[str, Any, str | None, str | None, str]] = {
    "long shortstr": ("routing_key", "k" * 256, "basic.publish", "routing_key",
                      "a shortstr takes at most 255 bytes, not 256"),
    "long in bytes": ("exchange", "é" * 128, "basic.publish", "exchange", "not 256"),
    "shortstr not UTF-8": ("routing_key", not_text(b"a\xff"), "basic.publish", "routing_key",
                           "text that is not UTF-8"),
    "binary not UTF-8": ("routing_key", b"\xc3", "basic.publish", "routing_key",
                         "text that is not UTF-8"),
    "text as number": ("exchange", 5, "basic.publish", "exchange", "takes text, not int64"),
    "bit": ("mandatory", "yes", "basic.publish", "mandatory", "takes bool, not string"),
    "list": ("exchange", ["a"], "basic.publish", "exchange", "takes text, not list"),
    "property too large": ("properties.priority", 256, "basic.properties", "priority",
                           "octet takes 0 to 255"),
    "property below 0": ("properties.delivery_mode", -1, "basic.properties", "delivery_mode",
                         "octet takes 0 to 255"),
    "property as double": ("properties.priority", 1.0, "basic.properties", "priority",
                           "takes integers, not float64"),
    "property as date": ("properties.timestamp", date(2024, 1, 1), "basic.properties",
                         "timestamp", "not date32"),
    "before 1970": ("properties.timestamp", BEFORE, "basic.properties", "timestamp",
                    "from 1970 on"),
    "seconds below 0": ("properties.timestamp", -1, "basic.properties", "timestamp",
                        "from 1970 on"),
    "long property": ("properties.app_id", "x" * 300, "basic.properties", "app_id",
                      "at most 255 bytes, not 300"),
    "channel": ("channel", 65536, None, None, "takes 0 to 65535"),
    "channel below 0": ("channel", -1, None, None, "takes 0 to 65535"),
    "channel as text": ("channel", "1", None, None, "takes integers, not string"),
    "no such method": ("method", "basic.publisher", None, None, "no such method"),
    "no method": ("method", pa.nulls(1, pa.string()), None, None, "no method"),
    "method as number": ("method", 60, None, None, "takes text, not int64"),
    "body": ("body", 5, "basic.publish", None, "a body takes binary or text, not int64"),
    "body not UTF-8": ("body", not_text(b"\xed\xa0\x80"), "basic.publish", None, "not UTF-8"),
    "of another method": ("delivery_tag", 7, "basic.publish", None, "has no argument delivery_tag"),
    "of another, full name": ("basic.consume.queue", "q", "basic.publish", None,
                              "has no argument basic.consume.queue"),
    "error": ("error", "basic.publish: bad (offset 7)", None, None, "came with an error"),
    "headers of a number": ("properties.headers", 5, "basic.properties", "headers",
                            "a table takes JSON text, a map or a struct, not int64"),
    "headers of bytes": ("properties.headers", b"{}", "basic.properties", "headers",
                          "not binary"),
    "headers not UTF-8": ("properties.headers", not_text(b'{"a":"\xff"}'), "basic.properties",
                          "headers", "not UTF-8"),
    "date in headers": ("properties.headers", headers(date(2024, 1, 1)), "basic.properties",
                        "headers", "a table cannot hold date32"),
    "duration in headers": ("properties.headers", headers(timedelta(1)), "basic.properties",
                            "headers", "a table cannot hold duration"),
    "uint64 in headers": ("properties.headers", headers(1 << 63, pa.uint64()), "basic.properties",
                          "headers", "an int in a table must fit 64 bits, signed"),
    "decimal": ("properties.headers", headers(Decimal("2147483.649"), pa.decimal128(10, 3)),
                "basic.properties", "headers", "must fit 32 bits"),
    "header before 1970": ("headers.t", BEFORE, "basic.properties", "headers", "from 1970 on"),
    "header not UTF-8": ("headers.t", not_text(b"\xff"), "basic.properties", "headers",
                         "not UTF-8"),
    "long name": ("properties.headers",
                  pa.array([[("k" * 256, 1)]], pa.map_(pa.string(), pa.int8())),
                  "basic.properties", "headers", "a table name takes at most 255 bytes, not 256"),
    "name as number": ("properties.headers", pa.array([[(1, 1)]], pa.map_(pa.int8(), pa.int8())),
                       "basic.properties", "headers", "a table name is text, not int8"),
    "name not UTF-8": ("properties.headers",
                       pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), not_text(b"\xff"),
                                               pa.array([1])),
                       "basic.properties", "headers", "name that is not UTF-8"),
    "arguments as number": ("arguments", 5, "basic.publish", None, "takes JSON text, not int64"),
    "arguments as array": ("arguments", "[]", "basic.publish", None, "an object expected"),
    "unknown argument": ("arguments", '{"queue":"q"}', "basic.publish", None, "none of its fields"),
    "argument twice": ("arguments", '{"exchange":"q","exchange":"q"}', "basic.publish", None,
                       "a key twice"),
    "argument of a type": ("arguments", '{"exchange":5}', "basic.publish", "exchange",
                           "shortstr takes another type of value"),
    "double as argument": ("arguments", '{"exchange":1.5}', "basic.publish", "exchange",
                           "shortstr takes another type of value"),
    "decimal as property": ("properties_json", '{"priority":{"$decimal":"1.5"}}',
                            "basic.properties", "priority", "octet takes another type of value"),
    "bytes as property": ("properties_json", '{"timestamp":{"$binary":"/w=="}}',
                          "basic.properties", "timestamp", "another type of value"),
    "long argument": ("arguments", '{"exchange":"%s"}' % ("k" * 256), "basic.publish", "exchange",
                      "at most 255 bytes, not 256"),
    "bytes as argument": ("arguments", '{"exchange":{"$binary":"/w=="}}', "basic.publish",
                           "exchange", "not UTF-8"),
    "cut arguments": ("arguments", '{"exchange":"a"', "basic.publish", None, "a comma or the end"),
    "properties as array": ("properties_json", "[]", "basic.properties", None,
                            "an object expected"),
    "property of a type": ("properties_json", '{"priority":"1"}', "basic.properties", "priority",
                           "octet takes another type of value"),
    "property over": ("properties_json", '{"priority":256}', "basic.properties", "priority",
                      "octet takes 0 to 255"),
    "time as date": ("properties_json", '{"timestamp":"2024"}', "basic.properties", "timestamp",
                     "timestamp takes another"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_rows_that_cannot_be_encoded(name: str) -> None:
    column, cell, method, field, text = BAD[name]
    octets, error = only(column, cell)
    assert octets is None
    assert error is not None
    assert text in error
    with pytest.raises(EncodeError) as caught:
        batch.encode(
            pa.RecordBatch.from_pydict({column: cell if isinstance(cell, pa.Array) else [cell]}),
            mode="FAILFAST",
        )
    exception = caught.value
    assert (exception.row, exception.column, exception.method, exception.field) == (
        0,
        column,
        method,
        field,
    )
    assert str(exception) == f"row 0, column {column}: {error}"
    assert pickle.loads(pickle.dumps(exception)).row == 0
    # nothing of what a row holds is told: payloads and credentials are secrets
    assert "kkkk" not in error
    # the rows around are fine
    other = pa.array([None], cell.type) if isinstance(cell, pa.Array) else pa.nulls(1)
    cells = cell if isinstance(cell, pa.Array) else pa.array([cell])
    other = pa.nulls(1, cells.type)
    if column == "method":
        other = pa.array(["basic.publish"])
        if cells.type != other.type:
            return
    both = pa.RecordBatch.from_pydict({column: pa.concat_arrays([other, cells, other])})
    assert encode(both) == ([GOOD, None, GOOD], [None, error, None])
    with pytest.raises(EncodeError) as caught:
        batch.encode(pa.Table.from_batches([both.slice(0, 1), both.slice(1)]), mode="FAILFAST")
    assert caught.value.row == 1


def test_struct_members_are_named_in_full() -> None:
    rows = pa.RecordBatch.from_pylist(
        [{"properties": {"priority": 1}}, {"properties": {"priority": 500}}]
    )
    with pytest.raises(EncodeError) as caught:
        batch.encode(rows, mode="FAILFAST")
    assert (caught.value.row, caught.value.column) == (1, "properties.priority")


def test_what_says_nothing_may_stand_in_a_foreign_column() -> None:
    rows = [
        {"method": "basic.ack", "delivery_tag": 5, "exchange": "", "mandatory": False, "body": b""},
        {
            "method": "basic.publish",
            "delivery_tag": 0,
            "exchange": "e",
            "mandatory": True,
            "body": b"x",
        },
        {
            "method": "basic.ack",
            "delivery_tag": 5,
            "exchange": "e",
            "mandatory": False,
            "body": None,
        },
        {"method": "basic.ack", "delivery_tag": 5, "exchange": "", "mandatory": True, "body": None},
    ]
    values, errors = encode(rows)
    assert values == [
        Sent("basic.ack", 1, {"delivery_tag": 5}).octets(),
        Sent("basic.publish", 1, {"exchange": "e", "mandatory": True}, None, b"x").octets(),
        None,
        None,
    ]
    assert errors[2:] == [
        "basic.ack: has no argument exchange",
        "basic.ack: has no argument mandatory",
    ]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("body", b"x"),
        ("properties", {"message_id": "m"}),
        ("properties.priority", 0),
        ("properties_json", "{}"),
        ("headers.h", 1),
    ],
)
def test_methods_without_content_carry_none(column: str, cell: Any) -> None:
    octets, error = only(column, cell, method="channel.open")
    assert (octets, error) == (None, "channel.open: carries no content")
    type_ = pa.array([cell]).type
    octets, error = only(column, pa.nulls(1, type_), method="channel.open")
    assert (octets, error) == (Sent("channel.open").octets(), None)


def test_a_struct_of_nulls_is_no_content() -> None:
    cell = pa.array([{"message_id": None}], pa.struct([("message_id", pa.string())]))
    assert only("properties", cell, method="channel.open")[1] is None


def test_columns_go_before_the_text_and_full_names_before_short_ones() -> None:
    rows = {
        "method": ["basic.consume"] * 4,
        "arguments": ['{"queue":"text","consumer_tag":"t"}'] * 4,
        "queue": ["short", "short", None, None],
        "basic.consume.queue": ["full", None, None, "full"],
    }
    expected = ["full", "short", "text", "full"]
    values, _ = encode(pa.RecordBatch.from_pydict(rows))
    assert values == [
        Sent("basic.consume", 1, {"queue": queue, "consumer_tag": "t"}).octets()
        for queue in expected
    ]


def test_frame_max() -> None:
    row = {"routing_key": "k" * 40, "body": b"x" * 100}
    head = len(Sent("basic.publish", 1, {"routing_key": "k" * 40}).octets()) - 22
    for frame_max in range(1, 120):
        values, errors = encode([row], frame_max=frame_max)
        try:
            expected = Sent("basic.publish", 1, {"routing_key": "k" * 40}, None, b"x" * 100)
            assert values == [expected.octets(frame_max)]
            assert frame_max >= head
        except EncodeError:
            assert values == [None]
            assert errors[0] is not None
            assert errors[0].startswith("basic.publish.frame_max: the limit does not hold a frame")
    with pytest.raises(EncodeError) as caught:
        batch.encode(pa.RecordBatch.from_pylist([row]), frame_max=20, mode="FAILFAST")
    assert (caught.value.row, caught.value.column, caught.value.field) == (0, None, "frame_max")
    assert encode([{"channel": 1}], frame_max=22)[0] == [GOOD]
    assert encode([{"body": b""}], frame_max=22)[0] == [GOOD]


@pytest.mark.parametrize("frame_max", [-1, 1 << 40, "1", None])
def test_impossible_frame_max(frame_max: Any) -> None:
    with pytest.raises(EncodeError, match="frame_max"):
        batch.encode(pa.RecordBatch.from_pylist([{"channel": 1}]), frame_max=frame_max)


# ---- columns that cannot be meant ----


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["bodies", "queue", "x"], "columns 'bodies', 'x'"),
        (["payload"], "column 'payload'"),
        (["message_id"], r"column 'message_id' \(a property is .* properties\.message_id\)"),
        (["properties.nothing"], "column 'properties.nothing'"),
        (["headers."], "column 'headers.'"),
        (["basic.consume.exchange"], "column 'basic.consume.exchange'"),
        (["headers." + "k" * 256], "at most 255 bytes, not 256"),
        (["properties.headers", "headers.x"], "not both"),
    ],
)
def test_unknown_columns(columns: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        batch.encode(pa.RecordBatch.from_pydict({name: ["x"] for name in columns}))


def test_unknown_members() -> None:
    with pytest.raises(ValueError, match=r"no property: 'properties\.x', 'properties\.y'"):
        batch.encode(
            pa.RecordBatch.from_pylist([{"properties": {"x": 1, "message_id": "", "y": 1}}])
        )
    with pytest.raises(TypeError, match="'properties' is a struct, not string"):
        batch.encode(pa.RecordBatch.from_pylist([{"properties": "{}"}]))
    twice = pa.RecordBatch.from_arrays([pa.array(["a"])] * 2, names=["body", "body"])
    with pytest.raises(ValueError, match="'body' is there twice"):
        batch.encode(twice)
    both = {"properties": [{"app_id": "x"}], "properties.app_id": ["x"]}
    with pytest.raises(ValueError, match=r"properties\.app_id is there twice"):
        batch.encode(pa.RecordBatch.from_pydict(both))


def test_ignored_columns() -> None:
    row = {
        "row": 5, "offset": 7, "frame": b"x", "frame_type": "x", "body_size": 3,
        "error_offset": None, "error": None,
    }  # fmt: skip
    assert encode([row])[0] == [GOOD]


@pytest.mark.parametrize("argument", [b"", [], None, pa.array([1]), pa.array(["a"]), 5])
def test_what_is_no_struct(argument: Any) -> None:
    with pytest.raises(TypeError, match="takes"):
        batch.encode(argument)


def test_modes_dialects_protocols() -> None:
    rows = pa.RecordBatch.from_pylist([{"body": b""}])
    with pytest.raises(ValueError, match="DROPMALFORMED"):
        batch.encode(rows, mode="DROPMALFORMED")
    with pytest.raises(ValueError, match="dialect"):
        batch.encode(rows, dialect="x")
    with pytest.raises(TypeError, match="protocol"):
        batch.encode(rows, protocol=5)  # type: ignore[arg-type]
    assert encode(rows, protocol=amqp)[0] == [GOOD]


def test_values_beyond_int32_offsets() -> None:
    rows = pa.RecordBatch.from_pylist([{"body": bytes(1000)}] * 3)
    size = len(Sent("basic.publish", body=bytes(1000)).octets())
    publish = amqp.PROTOCOL

    def limited(limit: int) -> Any:
        return _encode.encode_columns(publish, rows, 131072, "PERMISSIVE", None, limit)

    assert len(pa.array(limited(3 * size)).buffers()[2]) >= 3 * size
    for limit in (3 * size - 1, 2 * size, size, 999, 30, 0):
        with pytest.raises(ValueError, match=f"more than {limit} bytes.* encode fewer rows"):
            limited(limit)


@pytest.mark.parametrize("version", ["0-8", "0-9"])
def test_older_versions(version: str) -> None:
    """Their own classes, types of tables and content classes."""
    old = __import__("amqpcodec").protocol(version)
    rows = [
        {
            "method": "basic.publish",
            "properties.headers": '{"a":1,"b":"x"}',
            "properties.priority": 1,
        },
        {"method": "basic.publish", "properties.headers": '{"a":1.5}', "properties.priority": 1},
        {
            "method": "basic.publish",
            "properties.headers": '{"a":5000000000}',
            "properties.priority": 1,
        },
        {"method": "basic.publish", "properties.headers": '{"a":[]}', "properties.priority": 1},
        {"method": "stream.publish", "properties.headers": '{"a":1}', "properties.priority": 1},
        {"method": "tx.select", "properties.headers": None, "properties.priority": None},
    ]
    values, errors = encode(rows, protocol=version)
    p = old.Basic.Properties(headers={"a": 1, "b": "x"}, priority=1)
    assert values[0] == old.encode_message(1, old.Basic.Publish(), p, b"")
    assert values[1:4] == [None] * 3
    assert all(
        f"of {version} hold" in (error or "") or "fit 32 bits" in (error or "")
        for error in errors[1:4]
    )
    p = old.Stream.Properties(headers={"a": 1}, priority=1)
    assert values[4] == old.encode_message(1, old.Stream.Publish(), p, b"")
    assert values[5] == old.encode(1, old.Tx.Select())


@pytest.mark.parametrize(
    ("levels", "message"), [(395, "no part of a message"), (405, "nested too deep")]
)
def test_arrow_types_within_each_other_are_bounded(levels: int, message: str) -> None:
    """What is not too deep is looked at, and refused for another reason."""
    kind = pa.int32()
    for _ in range(levels):
        kind = pa.list_(kind)
    columns = pa.record_batch({"method": pa.array(["basic.ack"]), "x": pa.nulls(1, kind)})
    with pytest.raises(ValueError, match=message):
        batch.encode(columns)
