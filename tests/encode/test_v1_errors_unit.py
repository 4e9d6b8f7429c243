"""Rows of AMQP 1.0 that cannot be encoded: an error of that row, or an exception with its place."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import EncodeError, _encode, batch
from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_v1_values import encode, octets, only
from tests.support.invalid_arrow import not_text

GOOD = octets(amqp.Message(b"x"))
BEYOND = datetime(2400, 1, 1, tzinfo=UTC)

#: column, value, performative or section, field, text; or (value, type) for the value.
BAD: dict[str, tuple[str, Any, str | None, str | None, str]] = {
    "handle too large": ("handle", 1 << 32, "transfer", "handle", "uint takes 0 to 4294967295"),
    "handle below 0": ("handle", -1, "transfer", "handle", "uint takes 0 to 4294967295"),
    "handle as text": ("handle", "1", "transfer", "handle", "takes integers, not string"),
    "tag as number": (
        "delivery_tag",
        5,
        "transfer",
        "delivery_tag",
        "takes binary or text, not int64",
    ),
    "settled as text": (
        "settled",
        "yes",
        "transfer",
        "settled",
        "a boolean takes bool, not string",
    ),
    "no such choice": ("rcv_settle_mode", 2, "transfer", "rcv_settle_mode", "has no choice 2"),
    "channel": ("channel", 65536, None, None, "takes 0 to 65535"),
    "no such performative": (
        "performative",
        "basic.publish",
        None,
        None,
        "there is no such performative",
    ),
    "a section is none": ("performative", "header", None, None, "there is no such performative"),
    "performative as number": ("performative", 5, None, None, "takes text, not int64"),
    "no performative": ("performative", (None, pa.string()), None, None, "no performative"),
    "field of another": ("link_credit", 5, "transfer", None, "has no field link_credit"),
    "priority": ("header.priority", 256, "header", "priority", "ubyte takes 0 to 255"),
    "member": ("header", {"ttl": -5}, "header", "ttl", "uint takes 0 to 4294967295"),
    "subject not UTF-8": (
        "properties.subject",
        not_text(b"\xff"),
        "properties",
        "subject",
        "text that is not UTF-8",
    ),
    "bytes not UTF-8": (
        "properties.to",
        not_text(b"\xff"),
        "properties",
        "to",
        "text that is not UTF-8",
    ),
    "symbol not ASCII": (
        "properties.content_type",
        "é",
        "properties",
        "content_type",
        "a symbol takes ASCII characters only",
    ),
    "symbol as number": (
        "properties.content_type",
        1,
        "properties",
        "content_type",
        "takes text, not int64",
    ),
    "id as double": (
        "properties.message_id",
        1.0,
        "properties",
        "message_id",
        "takes text, binary or integers, not float64",
    ),
    "id as bool": ("properties.message_id", True, "properties", "message_id", "not bool"),
    "id below 0": (
        "properties.message_id",
        -1,
        "properties",
        "message_id",
        "ulong takes 0 to 18446744073709551615",
    ),
    "ulong": (
        "properties.message_id",
        "AMQP_ULONG:x",
        "properties",
        "message_id",
        "AMQP_ULONG: takes digits",
    ),
    "no ulong": ("properties.message_id", "AMQP_ULONG:", "properties", "message_id", "digits"),
    "large ulong": (
        "properties.message_id",
        "AMQP_ULONG:18446744073709551616",
        "properties",
        "message_id",
        "digits",
    ),
    "no JSON in an id": ("properties.to", "AMQP_VALUE:x", "properties", "to", "a value expected"),
    "format": ("message_format", 1, "transfer", "message_format", "only 0 has sections"),
    "uuid": ("properties.message_id", "AMQP_UUID:0", "properties", "message_id", "takes a UUID"),
    "hexadecimal": (
        "properties.message_id",
        "AMQP_BINARY:0g",
        "properties",
        "message_id",
        "hexadecimal",
    ),
    "odd hexadecimal": (
        "properties.message_id",
        "AMQP_BINARY:012",
        "properties",
        "message_id",
        "hexadecimal",
    ),
    "time as text": (
        "properties.creation_time",
        "now",
        "properties",
        "creation_time",
        "takes timestamp or integers, not string",
    ),
    "time as date": (
        "properties.creation_time",
        date(2024, 1, 1),
        "properties",
        "creation_time",
        "not date32",
    ),
    "time too large": (
        "properties.creation_time",
        (1 << 63, pa.uint64()),
        "properties",
        "creation_time",
        "must fit 64 bits",
    ),
    "seconds too large": (
        "value",
        pa.array([1 << 62]).cast(pa.timestamp("s")),
        "amqp-value",
        None,
        "must fit 64 bits",
    ),
    "annotation key not ASCII": (
        "message_annotations",
        '{"é": 1}',
        "message-annotations",
        None,
        "a symbol takes ASCII",
    ),
    "annotation key": (
        "message_annotations",
        '{"$map": [[true, 1]]}',
        "message-annotations",
        None,
        "JSON: a value expected",
    ),
    "key of a form": (
        "footer",
        '{"$map": [[{"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}, 1]]}',
        "footer",
        None,
        "symbol or ulong",
    ),
    "key below 0": ("footer", '{"$map": [[-1, 1]]}', "footer", None, "symbol or ulong"),
    "key of a map": (
        "footer",
        ([(1.5, 1)], pa.map_(pa.float64(), pa.int8())),
        "footer",
        None,
        "a key here is a symbol or ulong, not float64",
    ),
    "name of a member": ("footer", {"é": 1}, "footer", None, "a symbol takes ASCII"),
    "annotations as list": ("footer", [1], "footer", None, "takes JSON text, a map or a struct"),
    "annotations as binary": (
        "footer",
        b"{}",
        "footer",
        None,
        "takes JSON text, a map or a struct",
    ),
    "not a map": (
        "footer",
        '{"$symbol": "x"}',
        "footer",
        None,
        "takes a JSON object that is a map",
    ),
    "JSON list": ("footer", "[]", "footer", None, "JSON: an object expected"),
    "JSON null": ("footer", "null", "footer", None, "JSON: an object expected"),
    "no JSON": ("application_properties", "", "application-properties", None, "an object expected"),
    "body as number": ("body", 5, "data", None, "a body takes binary or text, not int64"),
    "body not UTF-8": ("body", not_text(b"\xff"), "data", None, "text that is not UTF-8"),
    "kind": ("body_kind", "Data", None, None, "is data, sequence or value"),
    "kind as number": ("body_kind", 1, None, None, "takes text, not int64"),
    "date": (
        "value",
        date(2024, 1, 1),
        "amqp-value",
        None,
        "no type of AMQP 1.0 stands for date32",
    ),
    "decimal": (
        "value",
        pa.array([Decimal("1" * 35)], pa.decimal256(40, 0)),
        "amqp-value",
        None,
        "a decimal128 holds 34 digits",
    ),
    "message as text of numbers": ("message", 5, "transfer", None, "takes binary, not int64"),
    "arguments as struct": ("arguments", {"handle": 1}, "transfer", None, "takes JSON text"),
    "arguments": ("arguments", '{"handle": -1}', "transfer", "handle", "uint takes 0 to"),
    "arguments, a type": ("arguments", '{"handle": "1"}', "transfer", "handle", "a value expected"),
    "arguments, no field": (
        "arguments",
        '{"link_credit": 1}',
        "transfer",
        None,
        "a name that is none of its fields",
    ),
    "arguments twice": (
        "arguments",
        '{"handle": 1, "handle": 2}',
        "transfer",
        "handle",
        "key twice",
    ),
    "arguments behind": ("arguments", '{"handle": 1} x', "transfer", None, "the end of the text"),
    "error": ("error", "it was bad", None, None, "the row came with an error"),
}


def array_of(value: Any) -> Any:
    if isinstance(value, pa.Array):
        return value
    return pa.array([value[0]], value[1]) if isinstance(value, tuple) else pa.array([value])


@pytest.mark.parametrize("name", BAD)
def test_bad_rows(name: str) -> None:
    column, value, method, field, text = BAD[name]
    frame, error = only(column, array_of(value))
    assert frame is None
    assert error is not None
    place = method if field is None else f"{method}.{field}"
    assert error.startswith(f"{column if method is None else place}: ")
    assert text in error


@pytest.mark.parametrize("name", BAD)
def test_the_first_bad_row_raises(name: str) -> None:
    column, value, method, field, text = BAD[name]
    bad = array_of(value)
    columns = pa.concat_arrays([pa.nulls(2, bad.type), bad])
    bodies = pa.array([b"x"] * 3)
    cells_by_column = {column: columns} if column == "body" else {column: columns, "body": bodies}
    if column in ("value", "performative"):
        cells_by_column = {column: bad}
    with pytest.raises(EncodeError) as caught:
        batch.encode(pa.RecordBatch.from_pydict(cells_by_column), "1.0", mode="FAILFAST")
    assert (caught.value.method, caught.value.field) == (method, field)
    assert caught.value.row == len(cells_by_column[column]) - 1
    assert text in str(caught.value)
    if column != "header":
        assert caught.value.column == column
    else:
        assert caught.value.column == "header.ttl"


def test_rows_around_a_bad_one_are_fine() -> None:
    rows = pa.RecordBatch.from_pydict({"handle": [0, -1, 0], "body": [b"x"] * 3})
    assert encode(rows) == (
        [GOOD, None, GOOD],
        [None, "transfer.handle: uint takes 0 to 4294967295", None],
    )


# ---- JSON ----

BAD_JSON = {
    "[1": "a comma or the end",
    "[1,": "a value",
    "{": "a string",
    '{"a"': "a colon",
    "{1:2}": "a string",
    '{"a":1,}': "a string",
    "[1,]": "a value",
    "nul": "a value",
    "+1": "a value",
    "01": "a zero in front",
    "1.": "a digit",
    '"a': "the end of a string",
    '"\\x"': "an escape",
    '"\\ud800"': "a lone surrogate",
    '"\n"': "a control character",
    "1 2": "the end of the text",
    "1e999": "beyond what a double holds",
    "18446744073709551616": "beyond 64 bits",
    "-9223372036854775809": "beyond 64 bits",
    '{"a":1,"a":2}': "a key twice",
    '{"a":1,"$binary":""}': "beside others",
    '{"$binary":"","a":1}': "the end of an object",
    '{"$nothing":1}': "means nothing",
    '{"$binary":"a"}': "base64",
    '{"$binary":1}': "a string",
    '{"$uuid":"x"}': "a UUID",
    '{"$char":""}': "one character",
    '{"$char":"ab"}': "one character",
    '{"$char":"\\ud83d\\ude00a"}': "one",
    '{"$double":"1"}': "NaN, Infinity",
    '{"$decimal":"x"}': "no decimal",
    '{"$decimal":""}': "no decimal",
    '{"$decimal":"1E"}': "no decimal",
    '{"$decimal":"1E9999"}': "not every exponent",
    '{"$decimal":"NaNx"}': "no decimal",
    '{"$decimal":"sNa"}': "no decimal",
    '{"$timestamp_ms":1.5}': "a whole number",
    '{"$timestamp_ms":9223372036854775808}': "signed",
    '{"$timestamp_ms":-9223372036854775809}': "a whole number",
    '{"$symbol":"é"}': "ASCII",
    '{"$described":[1]}': "a comma",
    '{"$described":["x",1,2]}': "the end of an array",
    '{"$described":[-1,1]}': "symbol or ulong",
    '{"$described":[1.5,1]}': "a whole number",
    '{"$described":["amqp:accepted:list",[]]}': "$type",
    '{"$described":[36,[]]}': "$type",
    '{"$map":[[1]]}': "a comma",
    '{"$map":[1]}': "a key and a value",
    '{"$map":{}}': "an array",
    '{"$type":"nothing"}': "no type of this name",
    '{"$type":1}': "a string",
    '{"$type":"accepted","x":1}': "none of its fields",
    '{"$type":"received","section_number":-1}': "uint takes 0",
    '{"$type":"modified","delivery_failed":1}': "takes boolean",
    '{"$type":"rejected","error":{"$type":"accepted"}}': "takes error",
    '{"$type":"error","condition":"x","info":[]}': "takes map",
    '{"$type":"error","condition":5}': "takes symbol",
    '{"$type":"source","durable":3}': "no choice 3",
    '{"$type":"source","durable":-1}': "uint takes 0",
    '{"$type":"source","expiry_policy":"x"}': "none of the field's choices",
    '{"$type":"source","outcomes":[1]}': "a string expected",
    '{"$type":"data"}': "a data has a value",
    "": "a value",
}


@pytest.mark.parametrize("text", BAD_JSON)
def test_bad_json(text: str) -> None:
    frame, error = only("value", text)
    assert frame is None
    assert BAD_JSON[text] in (error or "")


@given(
    st.text(st.sampled_from('{}[]",:$ \\u01234.5eE+-tfn' + 'binarymaptypedscribed"""'), max_size=30)
)
@settings(max_examples=1500, deadline=None)
def test_any_text(text: str) -> None:
    """A value or an error, and what JSON refuses is refused."""
    frame, error = only("value", text)
    assert (frame is None) == (error is not None)
    if frame is not None:
        json.loads(text)
        assert amqp.decode(frame) is not None


def test_keys_that_come_twice() -> None:
    for n in (2, 24, 25, 1000):
        pairs = [f'"k{i}": [{{"$described": [300, {i}]}}]' for i in range(n)]
        fine = {f"k{i}": [amqp.Described(300, i)] for i in range(n)}
        text = "{" + ", ".join(pairs) + "}"
        assert only("value", text) == (octets(amqp.Message(value=fine)), None)
        for again in (0, n // 2, n - 1):
            frame, error = only("value", text[:-1] + f', "\\u006b{again}": 1}}')
            assert frame is None
            assert "a key twice" in (error or "")


def test_depth() -> None:
    """As deep as the object encoder goes, and no deeper."""
    for before, behind, wrap in (
        ("[", "]", lambda value: [value]),
        ('{"a":', "}", lambda value: {"a": value}),
        ('{"$map":[[5,', "]]}", lambda value: amqp.Map([(5, value)])),
        ('{"$described":["x",', "]}", lambda value: amqp.Described(amqp.Symbol("x"), value)),
    ):
        value: Any = 1
        for _ in range(127):
            value = wrap(value)
        assert only("value", before * 127 + "1" + behind * 127) == (
            octets(amqp.Message(value=value)),
            None,
        )
        with pytest.raises(EncodeError):
            octets(amqp.Message(value=wrap(value)))
        for depth in (128, 100_000):
            frame, error = only("value", before * depth + "1" + behind * depth)
            assert frame is None
            assert "nested deeper than 128 levels" in (error or "")
    frame, error = only("value", '{"$type":"rejected","error":' * 100_000)
    assert frame is None


def test_depth_of_arrow_types() -> None:
    type_: Any = pa.int64()
    value: Any = 1
    for _ in range(127):
        type_, value = pa.list_(type_), [value]
    assert only("value", value, type_) == (octets(amqp.Message(value=value)), None)
    frame, error = only("value", [value], pa.list_(type_))
    assert frame is None
    assert "nested deeper than 128 levels" in (error or "")


# ---- bodies ----


def test_bodies_that_do_not_fit_together() -> None:
    lists = "a sequence takes a list of lists, one for each section"
    for row, error in (
        ({"body": b"x", "value": "1"}, "data: a message has a body or a value"),
        ({"body": b"x", "body_kind": "value"}, "amqp-value: a message has a body or a value"),
        ({"value": "1", "body_kind": "data"}, "data: there is no body"),
        ({"body_kind": "data"}, "data: there is no body"),
        ({"body_kind": "sequence"}, "amqp-sequence: there is no value"),
        (
            {"value": "1", "body_kind": "sequence"},
            "amqp-sequence: JSON: an array expected (byte 0 of the text)",
        ),
        ({"value": "[1]", "body_kind": "sequence"}, f"amqp-sequence: {lists}"),
        ({"value": "[[1], 2]", "body_kind": "sequence"}, f"amqp-sequence: {lists}"),
        ({"value": [1], "body_kind": "sequence"}, f"amqp-sequence: {lists}"),
        ({"value": [[1], None], "body_kind": "sequence"}, f"amqp-sequence: {lists}"),
        ({"value": 5, "body_kind": "sequence"}, f"amqp-sequence: {lists}"),
        ({"body": b"x", "performative": "close"}, "close: carries no message"),
        ({"value": "1", "performative": "close"}, "close: carries no message"),
        ({"properties.to": "x", "performative": "close"}, "close: carries no message"),
        ({"application_properties.x": "x", "performative": "close"}, "close: carries no message"),
    ):
        assert encode([row]) == ([None], [error])
    assert encode([{"performative": "close", "body": b""}])[0] == [amqp.encode(0, amqp.Close())]


def test_frames_that_are_too_large() -> None:
    row = {"delivery_tag": b"t" * 600, "body": b"x"}
    assert encode([row], frame_max=512)[1] == [
        "transfer.frame_max: 512 bytes do not hold the performative"
    ]
    row = {"performative": "open", "container_id": "x" * 600}
    assert encode([row], frame_max=512)[1] == [
        "open.frame_max: the limit does not hold a frame of 625 bytes"
    ]
    for frame_max in (1, 511):
        with pytest.raises(EncodeError, match="at least 512 bytes"):
            batch.encode(pa.RecordBatch.from_pydict({"body": [b""]}), "1.0", frame_max)


# ---- the call ----


@pytest.mark.parametrize(
    ("columns", "error", "text"),
    [
        ({"nothing": [1]}, ValueError, "no part of a message: column 'nothing'$"),
        ({"body": [b""], "exchange": ["x"], "no": [1]}, ValueError, "columns 'exchange', 'no'$"),
        ({"message_id": ["x"]}, ValueError, "a column properties.message_id"),
        ({"durable": [True]}, ValueError, "a column header.durable"),
        ({"header.x": [1]}, ValueError, "'header.x'"),
        ({"properties.": [1]}, ValueError, "'properties.'"),
        ({"application_properties.": [1]}, ValueError, "'application_properties.'"),
        ({"properties": [{"x": 1}]}, ValueError, "no field: 'properties.x'"),
        ({"properties": ["x"]}, TypeError, "'properties' is a struct, not string"),
        ({"header": [{"ttl": 1}], "header.ttl": [1]}, ValueError, "header.ttl is there twice"),
        (
            {"application_properties": ["{}"], "application_properties.x": [1]},
            ValueError,
            "not both",
        ),
    ],
)
def test_columns_that_say_nothing(columns: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        batch.encode(pa.RecordBatch.from_pydict(columns), "1.0")


def test_other_arguments() -> None:
    rows = pa.RecordBatch.from_pydict({"body": [b"x"]})
    for dialect in ("rabbitmq", "0-9-1"):
        with pytest.raises(ValueError, match="no dialects"):
            batch.encode(rows, "1.0", dialect=dialect)
    with pytest.raises(ValueError, match="PERMISSIVE"):
        batch.encode(rows, "1.0", mode="DROPMALFORMED")
    with pytest.raises(TypeError, match="struct array or record batch"):
        batch.encode(pa.array([1]), "1.0")
    assert pa.array(batch.encode(rows, amqp)).to_pylist() == [GOOD]
    twice = pa.RecordBatch.from_arrays([pa.array([1])] * 2, names=["handle", "handle"])
    with pytest.raises(ValueError, match="there twice"):
        batch.encode(twice, "1.0")
    with pytest.raises(TypeError, match="Protocol or V1Protocol"):
        _encode.encode_columns(5, rows, 0, "PERMISSIVE", None)


def test_more_than_offsets_reach() -> None:
    rows = pa.RecordBatch.from_pydict({"body": [b"x" * 100] * 10})
    for limit in (50, 1000):
        with pytest.raises(ValueError, match="encode fewer rows at a time"):
            _encode.encode_columns(amqp.PROTOCOL, rows, 0, "PERMISSIVE", None, limit=limit)
    messages = _encode.encode_columns(amqp.PROTOCOL, rows, 0, "PERMISSIVE", None, limit=10_000)
    assert pa.array(messages).to_pylist() == [octets(amqp.Message(b"x" * 100))] * 10
