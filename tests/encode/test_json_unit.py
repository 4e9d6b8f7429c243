"""JSON text on its way in: strict, and what Python's parser reads where it is right."""

from __future__ import annotations

import json
import math
import random
import re
import struct
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amqpcodec import v0_9 as amqp_0_9
from amqpcodec import v0_9_1 as amqp
from amqpcodec.types import Reference
from tests.columns.batch_rows import pa
from tests.encode.encode_values import EPOCH, Sent, encode, json_text, tables

DEPTH = 128


def read(texts: list[str], **options: Any) -> list[Any]:
    """The table that each text becomes, typed, or its error."""
    columns = pa.RecordBatch.from_pydict({"properties.headers": pa.array(texts, pa.string())})
    values, errors = encode(columns, **options)
    skip = len(amqp.encode(1, amqp.Basic.Publish()))
    return [
        error if value is None else amqp.decode(value, skip, tables="typed")[2].properties.headers
        for value, error in zip(values, errors, strict=True)
    ]


def refused(text: str) -> str:
    (message,) = read([text])
    assert isinstance(message, str), message
    assert message.startswith("basic.properties.headers: ")
    return message.removeprefix("basic.properties.headers: ")


def value(text: str) -> Any:
    (table,) = read(['{"k":' + text + "}"])
    assert isinstance(table, dict), table
    return table["k"]


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("", "an object expected", 0),
        ("  ", "an object expected", 2),
        ("{", "a string expected", 1),
        ("[]", "an object expected", 0),
        ("null", "an object expected", 0),
        ('"a"', "an object expected", 0),
        ("{} {}", "the end of the text expected", 3),
        ("{}x", "the end of the text expected", 2),
        ('{"a":1}}', "the end of the text expected", 7),
        ('{"a":1]', "a comma or the end of an object expected", 6),
        ('{"a":1,}', "a string expected", 7),
        ('{"a" 1}', "a colon expected", 5),
        ('{"a":}', "a value expected", 5),
        ('{"a":1 "b":2}', "a comma or the end of an object expected", 7),
        ('{a:1}', "a string expected", 1),
        ("{'a':1}", "a string expected", 1),
        ('{"a":[1,]}', "a value expected", 8),
        ('{"a":[1 2]}', "a comma or the end of an array expected", 8),
        ('{"a":[1', "a comma or the end of an array expected", 7),
        ('{"a":"b', "the end of a string expected", 7),
        ('{"a":"\n"}', "a control character", 6),
        ('{"a\0":1}', "a control character", 3),
        ('{"a":"\\x41"}', "an escape expected", 7),
        ('{"a":"\\u12"}', "four hexadecimal digits expected", 8),
        ('{"a":"\\u00g0"}', "four hexadecimal digits expected", 8),
        ('{"a":"\\', "an escape expected", 7),
        ('{"a":"\\ud800"}', "a lone surrogate", 12),
        ('{"a":"\\udc00"}', "a lone surrogate", 12),
        ('{"a":"\\ud800\\u0041"}', "a lone surrogate", 18),
        ('{"a":"\\ud800x"}', "a lone surrogate", 12),
        ('{"a":tru}', "a value expected", 5),
        ('{"a":nulls}', "a comma or the end of an object expected", 9),
        ('{"a":NaN}', "a value expected", 5),
        ('{"a":-Infinity}', "a value expected", 6),
        ('{"a":+1}', "a value expected", 5),
        ('{"a":.5}', "a value expected", 5),
        ('{"a":01}', "a number with a zero in front", 6),
        ('{"a":-01}', "a number with a zero in front", 7),
        ('{"a":1.}', "a digit expected", 7),
        ('{"a":1e}', "a digit expected", 7),
        ('{"a":1e+}', "a digit expected", 8),
        ('{"a":0x10}', "a comma or the end of an object expected", 6),
        ('{"a":1e400}', "a number beyond what a double holds", 10),
        ('{"a":-1e400}', "a number beyond what a double holds", 11),
        ('{"a":1,"a":2}', "an object has a key twice", 13),
        ('{"a":1,"b":2,"\\u0061":2}', "an object has a key twice", 24),
        ('{"x":{"a":1,"a":2}}', "an object has a key twice", 18),
        ('{"$binary":""}', "the object has a key with one $ other than $table", 11),
        ('{"a":{"$x":1}}', "a key with one $ that means nothing", 11),
        ('{"a":{"$":1}}', "a key with one $ that means nothing", 10),
        ('{"a":{"$binary":"","b":1}}', "the end of an object whose key starts with $ expected", 18),
        ('{"a":{"b":1,"$binary":""}}', "a key with one $ beside others", 22),
        ('{"a":{"$binary":"="}}', "base64 before it expected", 19),
        ('{"a":{"$binary":"AB=A"}}', "base64 before it expected", 22),
        ('{"a":{"$binary":"AB\\n=="}}', "base64 before it expected", 24),
        ('{"a":{"$binary":"AB=="}}', "base64 before it expected", 22),
        ('{"a":{"$binary":"AA-_"}}', "base64 before it expected", 22),
        ('{"a":{"$binary":5}}', "a string expected", 16),
        ('{"$key:=":1}', "base64 in a key $key:... before it expected", 9),
        ('{"a":{"$double":"nan"}}', "NaN, Infinity or -Infinity before it expected", 21),
        ('{"a":{"$double":"Infinite"}}', "NaN, Infinity or -Infinity before it expected", 26),
        ('{"a":{"$double":1.5}}', "a string expected", 16),
        ('{"a":{"$decimal":1.5}}', "a string expected", 17),
        ('{"a":{"$decimal":""}}', "a decimal before it expected", 19),
        ('{"a":{"$decimal":"1."}}', "a decimal before it expected", 21),
        ('{"a":{"$decimal":".5"}}', "a decimal before it expected", 21),
        ('{"a":{"$decimal":"1.5.0"}}', "a decimal before it expected", 24),
        ('{"a":{"$decimal":"1e5"}}', "a decimal before it expected", 22),
        ('{"a":{"$decimal":"NaN"}}', "a decimal before it expected", 22),
        ('{"$table":{}}', "an array of keys and values expected", 10),
        ('{"$table":[["a"]]}', "a comma expected", 15),
        ('{"$table":[["a",1,2]]}', "the end of a key and a value expected", 17),
        ('{"$table":[[1,2]]}', "a string expected", 12),
        ('{"$table":["a",1]}', "a key and a value in an array expected", 11),
        ('{"$table":[["$binary",1]]}', "a key with one $ that means nothing", 21),
        ('{"$table":[["a",1],]}', "a key and a value in an array expected", 19),
        ('{"$table":[],"b":1}', "the end of an object whose key starts with $ expected", 12),
    ],
)  # fmt: skip
def test_refused_texts(text: str, message: str, offset: int) -> None:
    error_text = refused(text)
    assert error_text.startswith("JSON: " + message)
    assert re.search(rf"byte {offset}\b", error_text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":9223372036854775808}', "an int in a table must fit 64 bits, signed"),
        ('{"a":-9223372036854775809}', "an int in a table must fit 64 bits, signed"),
        ('{"a":18446744073709551616}', "an int in a table must fit 64 bits, signed"),
        ('{"a":%s}' % ("9" * 400), "an int in a table must fit 64 bits, signed"),
        ('{"a":{"$timestamp":-1}}', "a timestamp must be from 1970 on"),
        ('{"a":{"$timestamp":1.5}}', "a timestamp must be from 1970 on"),
        ('{"a":{"$timestamp":18446744073709551616}}', "a timestamp must be from 1970 on"),
        ('{"a":{"$decimal":"2147483648"}}', "must fit 32 bits"),
        ('{"a":{"$decimal":"-2147483649"}}', "must fit 32 bits"),
        ('{"a":{"$decimal":"21474836.48"}}', "must fit 32 bits"),
        ('{"a":{"$decimal":"0.%s"}}' % ("0" * 256), "a decimal's scale is at most 255, not 256"),
        ('{"%s":1}' % ("k" * 256), "a table name takes at most 255 bytes, not 256"),
        ('{"%s":1}' % ("é" * 128), "a table name takes at most 255 bytes, not 256"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(text: str, message: str) -> None:
    assert message in refused(text)


def test_forms() -> None:
    assert value('{"$timestamp": 18446744073709551615}') == (1 << 64) - 1
    assert value(' { "$timestamp" : -0 } ') == 0
    assert value('{"\\u0024binary":"AAE="}') == b"\0\1"
    assert value('"\\u00Aa\\u00fF\\u00F0\\u00af"') == "\xaa\xff\xf0\xaf"
    assert value('{"$binary":""}') == b""
    assert str(value('{"$decimal":"-00.50"}')) == "-0.50"
    assert str(value('{"$decimal":"-0"}')) == "0"
    assert math.isnan(value('{"$double":"NaN"}'))
    assert value('{"$double":"-Infinity"}') == -math.inf
    assert value('{"$table":[]}') == {}
    assert value('{"$$table":[]}') == {"$table": []}
    assert value('{"$key:JA==":1, "$$key:":2}') == {"$": 1, "$key:": 2}
    (table,) = read(['{"$table":[["a",1],["$$b",{"$table":[["c",1],["c",2]]}],["a",2]]}'])
    assert table == {"a": 2, "$b": {"c": 2}}


def test_a_table_may_have_a_key_twice() -> None:
    columns = pa.RecordBatch.from_pydict({"properties.headers": ['{"$table":[["k",1],["k",2]]}']})
    (octets,), _ = encode(columns)
    table = b"\1kI\0\0\0\1\1kI\0\0\0\2"
    assert octets is not None
    assert len(table).to_bytes(4, "big") + table in octets


def test_many_keys() -> None:
    """One of many that comes twice is found, wherever it is."""
    for count in (23, 24, 25, 1000):
        names = [f"key-{i}" for i in range(count)]
        (table,) = read([json.dumps(dict.fromkeys(names, 1))])
        assert list(table) == names
        for twice in (0, count // 2, count - 1):
            pairs = ",".join(f'"{name}":1' for name in [*names, names[twice]])
            assert "a key twice" in refused("{" + pairs + "}")


@pytest.mark.parametrize(
    ("start", "end"), [('{"a":', "}"), ("[", "]"), ('{"$table":[["a",', "]]}")]
)
def test_depth(start: str, end: str) -> None:
    """As deep as the object encoder goes, and no deeper."""
    inner = DEPTH - 1
    if start == "[":
        nested = value(start * inner + end * inner)
    else:
        nested = value(start * (inner - 1) + "{}" + end * (inner - 1))
    levels = 0
    while nested:
        nested = nested[0] if start == "[" else nested["a"]
        levels += 1
    assert levels == inner - 1
    for deep in (inner + 1, 100_000):
        text = '{"k":' + start * deep + "1" + end * deep + "}"
        assert refused(text) == f"tables nested deeper than {DEPTH} levels"
    assert value(start * (inner - 1) + '{"$timestamp":1}' + end * (inner - 1))


def nearest(text: str) -> bytes:
    return struct.pack(">d", float(text))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@settings(max_examples=200)
def test_doubles_come_back(doubles: list[float]) -> None:
    texts = [json.dumps({"k": double}) for double in doubles]
    for table, double in zip(read(texts), doubles, strict=True):
        assert struct.pack(">d", table["k"]) == struct.pack(">d", double)


@pytest.mark.untraced
@given(
    st.lists(
        st.from_regex(
            r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
        ),
        max_size=10,
    )
)
@settings(max_examples=300)
@example(
    ["9007199254740993.0", "9007199254740992.5", "0.1e-321", "1.7976931348623158e308", "0e999"]
)
@example(["2.2250738585072011e-308", "0.500000000000000166533453693773481063544750213623046875"])
@example(
    ["12345678901234567890.5", "18446744073709551615.0", "18446744073709551616.0", "1e22", "1e23"]
)
@example(
    [f"0.{'0' * 40}1", f"1{'0' * 40}.0", f"1{'0' * 308}.0", "-0.0", "-0", "0.0000001", "123e-22"]
)
def test_numbers(texts: list[str]) -> None:
    for text, table in zip(texts, read([f'{{"k":{text}}}' for text in texts]), strict=True):
        number = json.loads(text)
        if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
            assert "must fit 64 bits" in table
        elif math.isinf(number):
            assert "beyond what a double holds" in table
        elif isinstance(number, int):
            assert table["k"] == number
            assert type(table["k"]).__name__ == (
                "Int32" if -(1 << 31) <= number < 1 << 31 else "Int64"
            )
        else:
            assert struct.pack(">d", table["k"]) == nearest(text)


def test_letter_of_the_protocol() -> None:
    columns = pa.RecordBatch.from_pydict(
        {"properties.headers": ['{"a":18446744073709551615,"b":{"$binary":"AA=="}}']}
    )
    assert encode(columns, dialect="0-9-1")[0] == [
        Sent("basic.publish", properties={"headers": {"a": (1 << 64) - 1, "b": b"\0"}}).octets(
            dialect="0-9-1"
        )
    ]


# ---- any text ----


def python_reads(text: str) -> bool:
    """Whether Python's parser takes it as a table without `$`, and each number and text fits."""

    def constant(name: str) -> Any:
        raise ValueError(name)

    def pairs(items: list[tuple[str, Any]]) -> Any:
        keys = [key for key, _ in items]
        if len(set(keys)) < len(keys) or any(len(key.encode()) > 255 for key in keys):
            raise ValueError
        return dict(items)

    def number(text: str) -> int:
        if not -(1 << 63) <= int(text) < 1 << 63:
            raise ValueError
        return int(text)

    def double(text: str) -> float:
        if math.isinf(float(text)):
            raise ValueError
        return float(text)

    try:
        json_value = json.loads(
            text,
            parse_constant=constant,
            object_pairs_hook=pairs,
            parse_int=number,
            parse_float=double,
        )
        json.dumps(json_value, ensure_ascii=False).encode()  # no lone surrogates
    except (ValueError, RecursionError):
        return False
    return isinstance(json_value, dict)


PIECES = '{}[]:,"\\ \t0123456789-+.eEtruefalsnk\x00éu/bx'


@pytest.mark.untraced
@given(tables, st.integers(0, (1 << 32) - 1), st.integers(1, 3))
@settings(max_examples=600)
def test_spoilt_texts(table: dict[str, Any], seed: int, times: int) -> None:
    """What Python's parser refuses is refused, what it takes is taken, and means the same."""
    rng = random.Random(seed)
    text = json_text(table, ensure_ascii=rng.random() < 0.5)
    for _ in range(times):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(3)
        if kind == 0:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + 1 :]
        else:
            text = text[:at] + rng.choice(PIECES) + text[at + 1 :]
    if "$" in text:
        (result,) = read([text])  # no more than that it does not fail
        return
    (result,) = read([text])
    assert isinstance(result, dict) == python_reads(text), (text, result)
    if isinstance(result, dict):
        value = json.loads(text)
        assert [Sent("basic.publish", properties={"headers": value}).octets()] == encode(
            pa.RecordBatch.from_pydict({"properties.headers": [text]})
        )[0]


@given(st.binary(max_size=30))
@settings(max_examples=300)
@example(b"{")
def test_any_octets(octets: bytes) -> None:
    array = pa.Array.from_buffers(
        pa.string(),
        1,
        [None, pa.py_buffer(bytes(4) + len(octets).to_bytes(4, "little")), pa.py_buffer(octets)],
    )
    for column in ("properties.headers", "arguments", "properties_json"):
        values, errors = encode(pa.RecordBatch.from_pydict({column: array}))
        assert (values[0] is None) == (errors[0] is not None)


def test_timestamps_of_arguments() -> None:
    """Where the wire type is a timestamp, in both forms."""
    for text in (
        '{"timestamp":{"$timestamp":5}}',
        '{"timestamp":5}',
        '{"timestamp":5,"app_id":null}',
    ):
        values, _ = encode(pa.RecordBatch.from_pydict({"properties_json": [text]}))
        moment = EPOCH.replace(second=5)
        assert values == [Sent("basic.publish", properties={"timestamp": moment}).octets()]


def test_content_in_arguments_is_inline_or_a_reference() -> None:
    """0-9's message.transfer alone has such a field."""
    texts = ['{"body":"r"}', '{"body":{"$reference":"r"}}', '{"body": { "$reference" : "r" }}']
    texts += ['{"body":{"$other":"r"}}', '{"body":{"$reference":"r","a":1}}']
    columns = {"method": ["message.transfer"] * len(texts), "arguments": texts}
    values, errors = encode(pa.RecordBatch.from_pydict(columns), protocol="0-9")
    reference = amqp_0_9.encode(1, amqp_0_9.Message.Transfer(body=Reference(b"r")))
    inline = amqp_0_9.encode(1, amqp_0_9.Message.Transfer(body=b"r"))
    assert values == [inline, reference, reference, None, None]
    assert [bool(error) for error in errors] == [False, False, False, True, True]


@pytest.mark.parametrize("number", ["1", "1.5", "1e1", "-1", "0.25"])
def test_a_number_ends_where_its_text_does(number: str) -> None:
    """The text of the next row follows at once."""
    alone, _ = read(['{"k":' + number, "x"])
    assert isinstance(alone, str)
    followed, _ = read(['{"k":' + number, "23456789"])
    assert followed == alone
