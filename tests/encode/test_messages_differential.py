"""batch.encode writes the bytes of the object encoder, whatever the columns look like."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import EncodeError, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_values import (
    ARGUMENTS,
    CONTENT,
    EPOCH,
    Sent,
    encode,
    field_name,
    form,
    json_text,
    only,
    sent,
)
from tests.support import amqp091_wire as w
from tests.support.message_columns import as_type, columns_of, seconds

pc = pytest.importorskip("pyarrow.compute")

frame_maxes = st.sampled_from([0, 4096, 131072])


@given(st.lists(sent(CONTENT), max_size=4), frame_maxes, st.booleans())
@settings(max_examples=250)
def test_content_methods(messages: list[Sent], frame_max: int, long_names: bool) -> None:
    columns = pa.RecordBatch.from_pydict(columns_of(messages, long_names))
    expected: list[Any] = []
    for message in messages:
        try:
            expected.append(message.octets(frame_max))
        except EncodeError:  # headers beyond frame_max
            expected.append(None)
    values, errors = encode(columns, frame_max=frame_max)
    assert values == expected
    assert [error is None for error in errors] == [value is not None for value in expected]


@given(st.lists(sent(), max_size=4), st.booleans())
@settings(max_examples=150)
def test_all_methods_by_columns(messages: list[Sent], long_names: bool) -> None:
    columns = pa.RecordBatch.from_pydict(columns_of(messages, long_names))
    assert encode(columns)[0] == [message.octets() for message in messages]


@given(st.lists(sent(), max_size=4), st.sampled_from(["rabbitmq", "0-9-1"]))
@settings(max_examples=250)
def test_all_methods_by_json(messages: list[Sent], dialect: str) -> None:
    """Arguments and properties each as one text, in the forms that decode writes."""
    rows = [
        {
            "method": message.method,
            "channel": message.channel,
            "arguments": texts(message.arguments, w.SPECS[message.method].fields),
            "properties_json": None if message.properties is None
            else texts(message.properties, w.PROPERTIES),
            "body": message.body,
        }
        for message in messages
    ]  # fmt: skip
    schema = pa.schema(
        [
            ("method", pa.string()),
            ("channel", pa.int64()),
            ("arguments", pa.string()),
            ("properties_json", pa.string()),
            ("body", pa.binary()),
        ]
    )
    values, errors = encode(pa.RecordBatch.from_pylist(rows, schema), dialect=dialect)
    assert errors == [None] * len(messages)
    assert values == [message.octets(dialect=dialect) for message in messages]


def texts(values: dict[str, Any], fields: Any) -> str:
    """An object of fields; bytes that are text as text."""
    kinds = {field_name(name): wire for name, wire in fields}
    out = {}
    for name, value in values.items():
        if kinds[name] == "S":
            try:
                out[name] = value.decode()
                continue
            except UnicodeDecodeError:
                pass
        out[name] = form(value)
    return json.dumps(out, allow_nan=False)


# ---- the same in other types of columns ----

TEXTS = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
)
BODIES = (*TEXTS, pa.binary())
INTEGERS = (
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()),
    *(pa.uint64(), pa.dictionary(pa.int32(), pa.int16())),
)
TIMES = (
    *(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "Europe/Helsinki"),
    pa.timestamp("ms"),
    pa.int64(),
    pa.uint64(),
)


texts_of_any_length = st.none() | st.sampled_from(
    ["", "a", "orders", "exactly12oct", "thirteen octs", "é" * 30, "k" * 255, "日本"]
)


@given(st.data())
@settings(max_examples=300)
def test_types_of_columns(data: Any) -> None:
    """Any physical type for each column, cut out of a larger batch, with nulls everywhere."""
    count = data.draw(st.integers(0, 9))

    def column(values: Any) -> list[Any]:
        return data.draw(st.lists(values, min_size=count, max_size=count))

    keys, exchanges, ids = (column(texts_of_any_length) for _ in range(3))
    modes = column(st.none() | st.sampled_from([0, 1, 2, 127]))
    times = column(st.none() | st.integers(0, 4_000_000_000))
    bodies = column(texts_of_any_length)
    mandatory = column(st.none() | st.booleans())
    channels = column(st.none() | st.integers(0, 100))
    hidden = column(st.sampled_from([False, False, True]))
    gone = column(st.sampled_from([False, False, False, True]))
    mandatory_type = data.draw(st.sampled_from([pa.bool_(), pa.int8()]))
    properties = pa.StructArray.from_arrays(
        [
            seconds(times, data.draw(st.sampled_from(TIMES))),
            as_type(ids, data.draw(st.sampled_from(TEXTS))),
            as_type(modes, data.draw(st.sampled_from(INTEGERS))),
            pa.nulls(count),
        ],
        names=["timestamp", "message_id", "delivery_mode", "app_id"],
        mask=pa.array(hidden, pa.bool_()),
    )
    struct = pa.StructArray.from_arrays(
        [
            as_type(keys, data.draw(st.sampled_from(TEXTS))),
            as_type(exchanges, data.draw(st.sampled_from(TEXTS))),
            pa.array([None if m is None else int(m) for m in mandatory], pa.int8()).cast(
                mandatory_type
            ),
            as_type(bodies, data.draw(st.sampled_from(BODIES))),
            as_type(channels, data.draw(st.sampled_from(INTEGERS))),
            properties,
        ],
        names=["routing_key", "exchange", "mandatory", "body", "channel", "properties"],
        mask=pa.array(gone, pa.bool_()),
    )
    expected = [
        None if gone[i] else Sent(
            "basic.publish",
            1 if channels[i] is None else channels[i],
            {
                "routing_key": keys[i] or "",
                "exchange": exchanges[i] or "",
                "mandatory": bool(mandatory[i]),
            },
            None if hidden[i] else {
                "timestamp": times[i],
                "message_id": ids[i],
                "delivery_mode": modes[i],
            },
            (bodies[i] or "").encode(),
        ).octets()
        for i in range(count)
    ]  # fmt: skip
    assert encode(struct)[0] == expected
    start = data.draw(st.integers(0, count))
    length = data.draw(st.integers(0, count - start))
    expected_slice = expected[start : start + length]
    assert encode(struct.slice(start, length))[0] == expected_slice
    # the offset may be that of the columns instead
    parts = [struct.field(i).slice(start, length) for i in range(struct.type.num_fields)]
    names = [field.name for field in struct.type]
    mask = pa.array(gone[start : start + length], pa.bool_())
    assert encode(pa.StructArray.from_arrays(parts, names=names, mask=mask))[0] == expected_slice


@given(st.lists(sent(CONTENT), min_size=1, max_size=9), st.data())
@settings(max_examples=60)
def test_streams_of_batches(messages: list[Sent], data: Any) -> None:
    table = pa.Table.from_pydict(columns_of(messages, True))
    ends = sorted({0, len(messages), *data.draw(st.lists(st.integers(0, len(messages))))})
    chunks = [table.slice(a, b - a) for a, b in itertools.pairwise(ends)]
    chunks.insert(data.draw(st.integers(0, len(chunks))), table.slice(0, 0))
    complete_table = pa.concat_tables(chunks)
    assert not hasattr(complete_table, "__arrow_c_array__")
    assert encode(complete_table) == encode(table.combine_chunks().to_batches()[0])
    assert encode(complete_table.to_reader()) == encode(complete_table)
    assert encode(complete_table.schema.empty_table()) == ([], [])


# ---- tables from Arrow types ----


def decoded_headers(value: bytes | None) -> Any:
    """Headers of a publish, with their tags."""
    assert value is not None
    first = amqp.decode(value)[0]
    return amqp.decode(value, first, tables="typed")[2].properties.headers


def header(value: Any, type_: Any = None) -> Any:
    """One header by its Arrow type: in a struct, in a map and as a column. All write the same."""
    array = value if isinstance(value, pa.Array) else pa.array([value], type_)
    struct = pa.StructArray.from_arrays([array], names=["h"])
    keyed = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["h"]), array)
    messages = []
    for column, cells in (
        ("properties.headers", struct),
        ("properties.headers", keyed),
        ("headers.h", array),
    ):
        octets, error = only(column, cells)
        assert error is None
        messages.append(octets)
    assert len(set(messages)) == 1
    return decoded_headers(messages[0])["h"]


@pytest.mark.parametrize(
    ("value", "type_", "kind"),
    [
        (5, pa.int8(), "Int32"),
        (5, pa.uint64(), "Int32"),
        (-(1 << 31), pa.int64(), "Int32"),
        ((1 << 31) - 1, pa.uint32(), "Int32"),
        (1 << 31, pa.uint32(), "Int64"),
        ((1 << 63) - 1, pa.uint64(), "Int64"),
        (1.5, pa.float64(), "Double"),
        (1.5, pa.float32(), "Float"),
        ("é", pa.string(), "LongString"),
        ("é" * 9, pa.string_view(), "LongString"),
        (b"\xff", pa.binary(), "ByteArray"),
        (b"\xff\0", pa.binary(2), "ByteArray"),
        (True, pa.bool_(), "bool"),
        (Decimal("-1.50"), pa.decimal128(5, 2), "Decimal"),
    ],
)
def test_tags(value: Any, type_: Any, kind: str) -> None:
    header_value = header(value, type_)
    assert type(header_value).__name__ == kind
    assert header_value == value


@pytest.mark.parametrize("scale", [0, 2, 9, 18, 37])
@pytest.mark.parametrize("text", ["0", "1", "-1", "2147483647", "-2147483648", "1.5", "-0.000001"])
@pytest.mark.parametrize("make", [pa.decimal128, pa.decimal256])
def test_decimals_keep_their_value(text: str, scale: int, make: Any) -> None:
    """Zeros behind the point are dropped where the digits would not fit otherwise, only then."""
    value, type_ = Decimal(text), make(38 if make is pa.decimal128 else 60, scale)
    try:
        array = pa.array([value], type_)
    except pa.ArrowInvalid:
        return
    header_value = header(array)
    assert header_value == value
    exact = value.scaleb(scale)
    if -(1 << 31) <= exact < 1 << 31:
        assert -header_value.as_tuple().exponent == scale


def test_decimals_of_negative_scale() -> None:
    assert header(pa.array([Decimal("1200")], pa.decimal128(5, -2))) == 1200


def test_timestamps_in_tables() -> None:
    moment = EPOCH + timedelta(days=20000, milliseconds=1999)
    for unit in ("ms", "us", "ns"):
        assert header(moment, pa.timestamp(unit, "UTC")) == 20000 * 86400 + 1


def test_halves() -> None:
    np = pytest.importorskip("numpy")
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for half in [*every[:: 1 << 7].tolist(), every[1], every[1023], every[31744]]:
        header_value = header(pa.array([np.float16(half)]))
        assert type(header_value).__name__ == "Float"
        assert header_value == half or half != half


def test_nested_values() -> None:
    value = {"list": [1, None, 3], "map": [("a", 1), ("b", None)], "struct": {"x": None, "y": b"z"}}
    type_ = pa.struct(
        [
            ("list", pa.list_(pa.int64())),
            ("map", pa.map_(pa.string(), pa.int32())),
            ("struct", pa.struct([("x", pa.string()), ("y", pa.binary())])),
        ]
    )
    octets, error = only("properties.headers", value, type_)
    assert error is None
    assert (
        octets
        == Sent(
            "basic.publish",
            properties={
                "headers": {"list": [1, None, 3], "map": {"a": 1, "b": None}, "struct": {"y": b"z"}}
            },
        ).octets()
    )


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_(pa.int16()),
        pa.large_list(pa.int16()),
        pa.list_view(pa.int16()),
        pa.large_list_view(pa.int16()),
        pa.list_(pa.int16(), 2),
    ],
)
def test_kinds_of_lists(type_: Any) -> None:
    lists = [[1, 2], None, [3, None], [5, 6]]
    array = pa.array(lists, type_)
    for start in range(4):
        values, errors = encode(pa.RecordBatch.from_pydict({"headers.h": array.slice(start)}))
        assert errors == [None] * (4 - start)
        assert values == [
            Sent("basic.publish", properties=None if x is None else {"headers": {"h": x}}).octets()
            for x in lists[start:]
        ]


def test_maps_may_have_a_key_twice() -> None:
    octets, _ = only("properties.headers", [("k", 1), ("k", 2)], pa.map_(pa.string(), pa.int8()))
    table = b"\1kI\0\0\0\1\1kI\0\0\0\2"
    assert octets is not None
    assert len(table).to_bytes(4, "big") + table in octets


def test_one_column_a_header() -> None:
    rows = {
        "headers.a": pa.array([1, None, None]),
        "headers.b:long": pa.array([None, "x", None]),
        "headers.$c:d": pa.array([None, "y", None]),
    }
    values, errors = encode(pa.RecordBatch.from_pydict(rows))
    assert errors == [None] * 3
    expected: list[Any] = [{"headers": {"a": 1}}, {"headers": {"b": "x", "$c:d": "y"}}, None]
    assert values == [Sent("basic.publish", properties=p).octets() for p in expected]


def test_one_column_a_property() -> None:
    rows = {
        "properties.message_id": pa.array(["m", None]),
        "properties.cluster_id": pa.array(["c", "d"]),
        "properties.headers": pa.array(['{"a": {}}', None]),
    }
    expected: list[Any] = [
        {"message_id": "m", "reserved": "c", "headers": {"a": {}}},
        {"reserved": "d"},
    ]
    values, errors = encode(pa.RecordBatch.from_pydict(rows))
    assert errors == [None, None]
    assert values == [Sent("basic.publish", properties=p).octets() for p in expected]


@given(st.lists(ARGUMENTS["F"], max_size=5))
@settings(max_examples=150)
def test_white_space_and_escapes_change_nothing(tables: list[Any]) -> None:
    expected = [Sent("basic.publish", properties={"headers": table}).octets() for table in tables]
    for style in ({"indent": 3}, {"ensure_ascii": False}, {"separators": (" ,\t", "\r\n: ")}):
        texts_ = pa.array([json_text(table, **style) for table in tables], pa.string())
        values, errors = encode(pa.RecordBatch.from_pydict({"properties.headers": texts_}))
        assert errors == [None] * len(tables)
        assert values == expected


def test_no_columns_and_no_rows() -> None:
    empty = pa.StructArray.from_buffers(pa.struct([]), 3, [None])
    assert encode(empty)[0] == [Sent("basic.publish").octets()] * 3
    assert encode(pa.RecordBatch.from_pydict({"body": pa.array([], pa.binary())})) == ([], [])
    nothing = pa.RecordBatch.from_pydict({"body": pa.nulls(2), "properties": pa.nulls(2)})
    assert encode(nothing)[0] == [Sent("basic.publish").octets()] * 2


# ---- back and forth ----


@given(st.lists(sent(CONTENT), max_size=4))
@settings(max_examples=60)
def test_decoding_gives_the_columns_back(messages: list[Sent]) -> None:
    """By frames: method, header and bodies of each value are what went in."""
    columns = columns_of(messages, True)
    values = pa.array(batch.encode(pa.RecordBatch.from_pydict(columns)))
    rows = pa.record_batch(batch.decode(values))
    assert rows.column("error").null_count == rows.num_rows
    heads = rows.filter(pc.equal(rows.column("frame_type"), "header"))
    assert heads.num_rows == len(messages)
    for child, field in zip(heads.column("properties").flatten(), w.PROPERTIES, strict=True):
        if field[0] != "headers":
            assert child.equals(columns["properties"].field(field[0])), field
    methods = rows.filter(pc.equal(rows.column("frame_type"), "method"))
    assert methods.column("method").to_pylist() == [message.method for message in messages]
    assert methods.column("channel").equals(columns["channel"])
    again, errors = encode(
        pa.RecordBatch.from_pydict(
            {
                "method": methods.column("method"),
                "channel": methods.column("channel"),
                "arguments": methods.column("arguments"),
                "properties": heads.column("properties"),
                "body": columns["body"],
            }
        )
    )
    assert errors == [None] * len(messages)
    assert again == values.to_pylist()


def leave_out_what_no_column_holds(message: Sent) -> None:
    """A delivery tag above the signed numbers of Arrow and Spark is a row with an error."""
    if message.arguments.get("delivery_tag", 0) >= 1 << 63:
        del message.arguments["delivery_tag"]


def message_level(octets: Any, **options: Any) -> Any:
    return pa.record_batch(batch.decode(octets, level="message", **options))


@given(st.lists(sent(), max_size=5), st.sampled_from([4096, 131072]), st.booleans())
@settings(max_examples=150)
def test_message_level_is_the_identity(messages: list[Sent], frame_max: int, lazily: bool) -> None:
    """Columns of decode encode to the bytes that they came from, with `arguments` for those that
    have no column of their own, whether a value is a message or all are one stream."""
    messages = [
        message
        for message in messages
        if message.channel or not w.SPECS[message.method].has_content  # no content on channel 0
    ]
    for message in messages:
        leave_out_what_no_column_holds(message)
    octets = [message.octets() for message in messages]
    again = [message.octets(frame_max) for message in messages]
    if not all(frames_fit(message_bytes, frame_max) for message_bytes in octets):
        return
    fields = [*batch.schema(level="message").names, "arguments"]
    if lazily:
        fields = ["method", "channel", "arguments", "properties_json", "body", "error", "frame"]
    for stream in (pa.array(octets, pa.binary()), b"".join(octets)):
        rows = message_level(stream, fields=fields)
        values, errors = encode(rows, frame_max=frame_max)
        assert errors == [None] * len(messages)
        assert values == again


@given(st.lists(sent(CONTENT), max_size=5))
@settings(max_examples=100)
def test_message_level_as_it_is(messages: list[Sent]) -> None:
    """Its own columns, where they say all: they have none of what nearly nobody uses."""
    for message in messages:
        message.channel = message.channel or 7
        for name in ("immediate", "message_count", "reserved_1"):
            message.arguments.pop(name, None)
        leave_out_what_no_column_holds(message)
    octets = [message.octets() for message in messages]
    assert encode(message_level(b"".join(octets))) == (octets, [None] * len(octets))
    assert encode(batch.decode(b"".join(octets), level="message")) == (octets, [None] * len(octets))


def frames_fit(octets: bytes, frame_max: int) -> bool:
    """Whether method and header frames are no longer than that."""
    decoder = amqp.Decoder(0)
    return all(
        isinstance(frame, amqp.Body) or len(amqp.encode(channel, frame)) <= frame_max
        for channel, frame in decoder.feed(octets)
    )


def test_rows_of_decode_that_are_broken_stay_so() -> None:
    good, bad = Sent("basic.publish", body=b"x").octets(), b"\1\0\1\0\0\0\2\0\x3c\xce"
    rows = message_level(good + bad + good)
    values, errors = encode(rows)
    assert [value == good for value in values] == [row is None for row in rows["error"].to_pylist()]
    assert errors.count("error: the row came with an error") == 1
