"""Columns that the fast writers meet and leave to the slow ones, and what no row can say."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import pytest

import amqpcodec
from amqpcodec import _encode, batch
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as new
from tests.columns.arrow_structs import raw_schema
from tests.columns.batch_rows import pa
from tests.support.invalid_arrow import text_of

#: More than one block of rows.
ROWS = 600


def encode(columns: dict[str, Any], **how: Any) -> list[bytes | None]:
    return list(pa.array(batch.encode(pa.table(columns), **how)).to_pylist())


def one_by_one(columns: dict[str, Any], **how: Any) -> list[bytes | None]:
    """The same, a row at a time, which takes the slow way."""
    table = pa.table(columns)
    out: list[bytes | None] = []
    for at in range(table.num_rows):
        out += pa.array(batch.encode(table.slice(at, 1), **how)).to_pylist()
    return out


def error(columns: dict[str, Any], **how: Any) -> str:
    with pytest.raises(ValueError) as caught:
        encode(columns, mode="FAILFAST", **how)
    return str(caught.value)


def many(value: Any, kind: Any = None) -> Any:
    return pa.array([value] * ROWS, kind)


def indexed(values: Any, *, null: bool = False) -> Any:
    """A dictionary of values, which holds a null that some rows refer to."""
    indices = pa.array([n % len(values) for n in range(ROWS)], pa.int16())
    dictionary = pa.DictionaryArray.from_arrays(indices, values)
    assert not null or dictionary.null_count == 0
    return dictionary


BASE = {"routing_key": many("k"), "body": many(b"b"), "channel": many(1, pa.uint16())}
BAD_TEXT = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(struct.pack("<2i", 0, 2)), pa.py_buffer(b"\xff\xff")]
)

FALLS_BACK: dict[str, dict[str, Any]] = {
    "a body that is in a dictionary with a null": {
        "body": indexed(pa.array([b"one", None, b"three"]))
    },
    "a body of text in a dictionary": {"body": indexed(pa.array(["one", "zwei", "drei"]))},
    "a flag in a dictionary": {"mandatory": indexed(pa.array([True, False]))},
    "a flag of numbers in a dictionary": {"mandatory": indexed(pa.array([1, 0, 7]))},
    "channels in a dictionary": {"channel": indexed(pa.array([1, 2, 3], pa.uint16()))},
    "headers in a dictionary with a null": {"headers.h": indexed(pa.array(["x", None, "y"]))},
    "numbers in a dictionary": {"headers.h": indexed(pa.array([1, None, 2**40]))},
    "lists in a dictionary": {"headers.h": indexed(pa.array([[1], None, [2, 3]]))},
    "a priority in a dictionary": {"properties.priority": indexed(pa.array([1, None, 3]))},
    "a key in a dictionary with a null": {"routing_key": indexed(pa.array(["a", None, "c"]))},
    "a type of numbers": {"properties.type": many("t"), "headers.n": many(5, pa.uint64())},
    "every method by its name": {"method": pa.array(["basic.publish"] * ROWS)},
    "names of methods, the last one another": {
        "method": pa.array(["basic.publish"] * (ROWS - 1) + ["basic.deliver"]),
    },
    "a header that is large once": {
        "headers.h": pa.array(["x"] * (ROWS - 1) + ["y" * 100_000]),
    },
    "headers in a struct with nulls": {
        "properties": pa.array(
            [{"headers": {"a": 1, "b": None}, "message_id": "m"}, None] * (ROWS // 2),
            pa.struct(
                {
                    "headers": pa.struct({"a": pa.int64(), "b": pa.string()}),
                    "message_id": pa.string(),
                }
            ),
        ),
    },
}


@pytest.mark.parametrize("name", FALLS_BACK)
def test_rows_are_as_one_at_a_time(name: str) -> None:
    columns = {**BASE, **FALLS_BACK[name]}
    results = encode(columns)
    assert results == one_by_one(columns)
    assert None not in results


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a key of numbers": ({"routing_key": many(5)}, "a shortstr takes text, not int64"),
    "a key of numbers in a dictionary": (
        {"routing_key": indexed(pa.array([5, 6]))},
        "a shortstr takes text, not",
    ),
    "a body of numbers": ({"body": many(5)}, "not int64"),
    "a body of numbers in a dictionary": ({"body": indexed(pa.array([5, 6]))}, "not int64"),
    "a body of text that is none": (
        {"body": indexed(BAD_TEXT)},
        "not UTF-8",
    ),
    "two columns for an argument": (
        {"basic.publish.routing_key": many("other")},
        "basic.publish.routing_key",
    ),
    "a header of too large a number": (
        {"headers.h": many(2**64 - 1, pa.uint64())},
        "64 bits",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_row_says(name: str) -> None:
    columns, what = REFUSED[name]
    columns = {**BASE, **columns}
    assert encode(columns) == one_by_one(columns)
    if encode(columns) == [None] * ROWS:
        assert what in error(columns)


def test_properties_by_two_columns() -> None:
    struct_ = pa.array([{"message_id": "m"}] * ROWS)
    with pytest.raises(ValueError, match="there twice"):
        encode({**BASE, "properties": struct_, "properties.message_id": many("other")})
    columns = {**BASE, "properties": struct_, "properties.app_id": many("app")}
    assert encode(columns) == one_by_one(columns)
    # 0-9-1 calls by another name what 0-9 has.
    columns = {**BASE, "properties.reserved": many("a")}
    assert encode(columns) == one_by_one(columns)


# ---- other protocols ----


def loaded(properties: str, *methods: str) -> Any:
    text = f"""<amqp major="0" minor="9" revision="1" port="5672">
        <class name="basic" handler="channel" index="60">{properties}{"".join(methods)}</class>
        </amqp>"""
    return amqpcodec.load_xml_spec(io.BytesIO(text.encode())).PROTOCOL


PUBLISH = """<method name="publish" index="40" content="1">
    <field name="routing-key" type="shortstr"/></method>"""


def test_more_columns_than_the_fast_way_takes() -> None:
    names = [f"f{n}" for n in range(60)]
    fields = "".join(f'<field name="{name}" type="shortstr"/>' for name in names)
    method = f'<method name="go" index="10" content="1">{fields}</method>'
    headers = '<field name="headers" type="table"/>'
    for properties in (fields, fields + headers):
        protocol = loaded(properties, method)
        columns = {"method": many("basic.go"), "body": many(b"b")}
        columns |= {f"basic.go.{name}": many(name) for name in names}
        columns |= {f"properties.{name}": many(name) for name in names}
        if properties != fields:
            columns |= {f"headers.h{n}": many("x") for n in range(40)}
        messages = encode(columns, protocol=protocol)
        assert messages == one_by_one(columns, protocol=protocol)
        assert None not in messages


@pytest.mark.parametrize("value", ["text", 5, True, b"x", 1.5, None])
def test_more_headers_than_the_fast_way_takes(value: Any) -> None:
    for name in ("h{}", "h" * 200 + "{}"):
        columns = {**BASE, **{"headers." + name.format(n): many(value) for n in range(100)}}
        assert encode(columns) == one_by_one(columns)
    inside = pa.array([{f"h{n}": value for n in range(100)}] * ROWS)
    columns = {**BASE, "properties.headers": inside}
    assert encode(columns) == one_by_one(columns)


def test_flags_among_the_properties() -> None:
    protocol = loaded(
        '<field name="flag" type="bit"/><field name="n" type="short"/>',
        '<method name="publish" index="40" content="1"><field name="a" type="bit"/>'
        '<field name="b" type="bit"/></method>',
    )
    columns = {"body": many(b"b"), "properties.flag": many(True), "properties.n": many(5)}
    messages = encode(columns, protocol=protocol)
    assert messages == one_by_one(columns, protocol=protocol)
    assert None not in messages
    assert "has no headers" in error({"body": [b"b"], "headers.h": [1]}, protocol=protocol)


def test_one_flag_by_two_columns() -> None:
    for one, other in ((True, None), (None, True), (None, None)):
        columns = {
            **BASE,
            "mandatory": many(True),
            "immediate": many(one, pa.bool_()),
            "basic.publish.immediate": many(other, pa.bool_()),
        }
        assert encode(columns) == one_by_one(columns)


@pytest.mark.parametrize("protocol", ["0-8", "0-9"])
def test_properties_that_are_null_where_a_class_has_them_not(protocol: str) -> None:
    columns = {
        "method": many("file.publish"),
        "routing_key": many("k"),
        "properties.delivery_mode": many(None, pa.int8()),
        "properties.message_id": many("m"),
    }
    assert encode(columns, protocol=protocol) == one_by_one(columns, protocol=protocol)


def test_large_numbers_among_nulls() -> None:
    for top in (2**64 - 1, 2**63, 2**63 - 1):
        values = pa.array([None, 5, top] * (ROWS // 3), pa.uint64())
        columns = {**BASE, "headers.n": values}
        assert encode(columns) == one_by_one(columns)
        for dialect in ("rabbitmq", "0-9-1"):
            assert encode(columns, dialect=dialect) == one_by_one(columns, dialect=dialect)


def test_lists_deeper_than_tables_may_be() -> None:
    value: Any = 1
    kind: Any = pa.int64()
    for _ in range(140):
        value, kind = [value], pa.list_(kind)
    columns = {"routing_key": ["k"], "body": [b"b"], "headers.h": pa.array([value], kind)}
    assert "deeper than 128 levels" in error(columns)


@pytest.mark.parametrize("name", ["properties.headers", "arguments", "properties_json"])
def test_json_text_that_lies_elsewhere(name: str) -> None:
    for offsets in ((0, 9, 4), (2, 0, 4), (0, -1, 4)):
        columns: dict[str, Any] = {"body": [b"b"] * 2, name: text_of(*offsets)}
        if name == "arguments":
            columns = {"method": ["queue.declare"] * 2, name: text_of(*offsets)}
        else:
            columns["routing_key"] = ["k"] * 2
        with pytest.raises(ValueError, match="point outside of it"):
            encode(columns)


def test_a_type_with_a_long_name_in_an_error() -> None:
    """Cut after a whole letter."""
    for shift in range(2):
        rows = pa.StructArray.from_arrays([pa.array([1])], ["headers.h"])
        capsules = rows.__arrow_c_array__()
        child = type(raw_schema(capsules[0])).from_address(raw_schema(capsules[0]).children[0])
        original_format, child.format = child.format, ("x" * shift + "\u00e9" * 400).encode()
        try:
            with pytest.raises(ValueError) as caught:
                batch.encode(Given("__arrow_c_array__", capsules), mode="FAILFAST")
        finally:
            child.format = original_format
        assert "\ufffd" not in str(caught.value)


def test_a_protocol_without_publish() -> None:
    protocol = loaded("", '<method name="go" index="10"><field name="n" type="long"/></method>')
    assert "name the method" in error({"body": [b"b"]}, protocol=protocol)
    assert encode({"method": ["basic.go"], "n": [5]}, protocol=protocol) == [
        b"\1\0\1\0\0\0\x08\0\x3c\0\x0a\0\0\0\5\xce"
    ]


def test_more_properties_than_a_word_of_flags_has() -> None:
    names = [f"p{n}" for n in range(17)]
    protocol = loaded("".join(f'<field name="{n}" type="short"/>' for n in names), PUBLISH)
    columns = {**BASE, **{f"properties.{name}": many(k) for k, name in enumerate(names)}}
    messages = encode(columns, protocol=protocol)
    assert messages == one_by_one(columns, protocol=protocol)
    assert messages[0] is not None
    assert len(messages[0]) > 2 * 17


@pytest.mark.parametrize("protocol", ["0-8", "0-9"])
@pytest.mark.parametrize(
    "method", ["file.open", "file.publish", "stream.publish", "tunnel.request"]
)
@pytest.mark.parametrize("name", ["properties.delivery_mode", "properties.app_id", "headers.h"])
def test_properties_that_a_class_has_or_not(protocol: str, method: str, name: str) -> None:
    value = 1 if name == "properties.delivery_mode" else "v"
    columns = {"method": [method] * ROWS, "body": many(b"b"), name: many(value)}
    messages = encode(columns, protocol=protocol)
    assert messages == one_by_one(columns, protocol=protocol)
    assert messages == [None] * ROWS or None not in messages
    if messages[0] is None:
        message = error(columns, protocol=protocol)
        assert "has no" in message or "carries no content" in message


def test_types_of_tables_of_old_versions() -> None:
    columns = {"routing_key": ["k"], "body": [b"b"], "properties.headers": ['{"k":null}']}
    assert encode(columns, protocol="0-9") != [None]
    assert "0-8 hold S I D T F only" in error(columns, protocol="0-8")


def test_numbers_of_tables_by_the_letter() -> None:
    base = {"routing_key": ["k"], "body": [b"b"]}
    for dialect, bits in (("0-9-1", "-2**63 to 2**64-1"), ("rabbitmq", "64 bits, signed")):
        for text in ('{"k":18446744073709551616}', '{"k":-9223372036854775809}'):
            assert bits in error({**base, "properties.headers": [text]}, dialect=dialect)
    top = {**base, "properties.headers": ['{"k":18446744073709551615}']}
    typed = {**base, "headers.k": pa.array([2**64 - 1], pa.uint64())}
    (one,), (other,) = encode(top, dialect="0-9-1"), encode(typed, dialect="0-9-1")
    assert one == other
    assert one is not None
    assert b"\1kl" + b"\xff" * 8 in one


# ---- JSON text ----

BAD_JSON = {
    '{"k":': "a value",
    '{"k":{"$timestamp":"x"}}': "a value",
    '{"k":{"$timestamp":}}': "a value",
    '{"$table":[["k",1]x': "a comma or the end of an array",
    '{"$table":[["k",1] ': "a comma or the end of an array",
    '{"$table" [["k",1]]}': "colon",
    '{"$table"': "colon",
    '{"k":1e400}': "number",
}


@pytest.mark.parametrize("text", BAD_JSON)
def test_json_text_that_is_none(text: str) -> None:
    columns = {"routing_key": ["k"], "body": [b"b"], "properties.headers": [text]}
    assert BAD_JSON[text] in error(columns)
    assert encode(columns) == [None]


def test_arguments_and_properties_as_json() -> None:
    for value, bit in (("1", 1), ("0", 0), ("7", 1), ("true", 1), ("false", 0)):
        columns = {"method": ["queue.declare"], "arguments": [f'{{"queue":"q","durable":{value}}}']}
        declare = amqp.Queue.Declare(queue="q", durable=bool(bit))
        assert encode(columns) == [amqp.encode(1, declare)]
    columns = {"routing_key": ["k"], "body": [b"b"], "properties_json": ['{"timestamp":-5}']}
    assert "from 1970 on" in error(columns)


def test_a_frame_that_has_no_room_for_a_byte() -> None:
    for frame_max in (8, 12, 20):
        with pytest.raises(ValueError, match="frame"):
            encode({"routing_key": ["k"], "body": [b"b"]}, frame_max=frame_max, mode="FAILFAST")


def test_a_long_name_of_a_column_in_an_error() -> None:
    for shift in range(4):
        name = "headers." + "x" * shift + "\u00e9" * 400
        message = error({"routing_key": ["k"], "body": [b"b"], name: pa.array([{"a": b"x" * 300}])})
        assert "\u00e9" in message
        assert "\ufffd" not in message


# ---- what is no input ----


class Given:
    def __init__(self, name: str, capsules: Any) -> None:
        setattr(self, name, lambda requested_schema=None: capsules)


def test_a_schema_that_was_taken() -> None:
    for protocol in ("0-9-1", "1.0"):
        capsules = pa.array([{"body": b"b"}]).__arrow_c_array__()
        pa.Array._import_from_c_capsule(*capsules)
        with pytest.raises(ValueError, match="released already"):
            batch.encode(Given("__arrow_c_array__", capsules), protocol)


def test_a_stream_that_is_none() -> None:
    schema, _ = pa.array([{"body": b"b"}]).__arrow_c_array__()
    with pytest.raises(TypeError, match="arrow_array_stream"):
        batch.encode(Given("__arrow_c_stream__", schema))


def test_a_dictionary_by_text() -> None:
    values = pa.array([{"body": b"b"}]).field("body").dictionary_encode()
    capsules = pa.StructArray.from_arrays([values], ["body"]).__arrow_c_array__()
    schema = raw_schema(capsules[0])
    child = type(schema).from_address(schema.children[0])
    original_format = child.format
    child.format = b"u"
    with pytest.raises(ValueError, match="indices of an Arrow dictionary are integers"):
        batch.encode(Given("__arrow_c_array__", capsules))
    child.format = original_format


def test_what_encode_gives_is_made_by_it() -> None:
    cls = type(batch.encode(pa.table({"body": [b"b"]})))
    assert cls.__module__ == _encode.__name__ or cls.__name__
    with pytest.raises(TypeError, match="made by"):
        cls.__new__(cls).__arrow_c_array__()


def test_maps_with_names_that_are_none() -> None:
    keys = pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array(["a", None], pa.string())
    )
    values = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, pa.array([1, 2]))
    columns = {"routing_key": ["k"] * 2, "body": [b"b"] * 2, "properties.headers": values}
    messages = encode(columns)
    assert messages[0] is not None
    assert messages[1] is None
    assert "a name in a map is null" in error(columns)
    message = {"body": ["x"] * 2, "delivery_annotations": values}
    messages = encode(message, protocol="1.0")
    assert messages[0] is not None
    assert messages[1] is None
    assert "a key in a map is null" in error(message, protocol="1.0")


def test_text_of_a_message_of_1_0() -> None:
    decoded = json.dumps({"k": 1})
    (frame,) = encode({"body": ["text"], "application_properties": [decoded]}, protocol="1.0")
    assert frame is not None
    assert new.decode(frame) is not None
