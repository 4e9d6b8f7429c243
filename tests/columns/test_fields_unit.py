"""Columns that `fields` names: arguments, properties, headers."""

from __future__ import annotations

import json
import re
import struct
from decimal import Context, Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

import amqpcodec
from amqpcodec import _codec, batch
from amqpcodec import v0_9_1 as amqp
from amqpcodec.spec.lower import lower
from amqpcodec.spec.model import Class, Field, Method, Protocol
from tests.columns.batch_rows import (
    decode,
    expected_properties,
    is_text,
    json_table,
    json_value,
    pa,
    python_name,
    rows,
)
from tests.reference import FACTS, Header, decode_frame
from tests.reference import Method as FoundMethod
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w

TYPES = {
    "bit": pa.bool_(),
    "octet": pa.int32(),
    "short": pa.int32(),
    "long": pa.int64(),
    "longlong": pa.int64(),
    "shortstr": pa.string(),
    "longstr": pa.binary(),
    "table": pa.string(),
}
QUALIFIED = {
    f"{method.name}.{python_name(name)}": kind
    for method in FACTS.methods.values()
    for name, kind in method.fields
}


def expected_argument(value: Any, kind: str) -> Any:
    if kind == "shortstr":
        return value.decode() if is_text(value) else None
    if kind == "table":
        return json_table(value)
    if kind == "longlong" and value >= 1 << 63:
        return None
    return bool(value) if kind == "bit" else value


def test_types() -> None:
    schema = pa.schema(batch.schema(fields=list(QUALIFIED)))
    assert {field.name: field.type for field in schema} == {
        name: TYPES[kind] for name, kind in QUALIFIED.items()
    }
    for name in {name.rpartition(".")[2] for name in QUALIFIED}:
        if name.startswith("reserved_") or name == "arguments":
            continue
        kinds = {kind for full, kind in QUALIFIED.items() if full.endswith("." + name)}
        for level in ("frame", "message"):
            assert pa.schema(batch.schema(level=level, fields=[name])).field(0).type in {
                TYPES[kind] for kind in kinds
            }


@given(some.seeds)
@settings(max_examples=500)
def test_arguments(rng: Random) -> None:
    raws = [gen.method_frame(rng, 1) for _ in range(8)]
    methods = []
    for raw in raws:
        decoded = decode_frame(raw, 0, "rabbitmq")
        assert decoded is not None
        assert isinstance(decoded[2], FoundMethod)
        methods.append(decoded[2])
    own = [f"{m.name}.{python_name(n)}" for m in methods for n, _ in FACTS.methods[m.name].fields]
    wishes = {*rng.sample(own, min(len(own), 5)), *rng.sample(sorted(QUALIFIED), 3)}
    wishes |= {n.rpartition(".")[2] for n in own if "reserved" not in n and rng.random() < 0.5}
    wishes -= {"arguments"}
    frame_rows = rows(b"".join(raws), fields=rng.sample(sorted(wishes), len(wishes)))
    for row, method in zip(frame_rows, methods, strict=True):
        values = {
            python_name(n): expected_argument(method.args[n], kind)
            for n, kind in FACTS.methods[method.name].fields
        }
        for name, value in row.items():
            owner, _, last = name.rpartition(".")
            assert value == (values.get(last) if owner in ("", method.name) else None), name


@given(some.seeds)
@settings(max_examples=400)
def test_properties(rng: Random) -> None:
    raws = [gen.header_frame(rng, 1) for _ in range(5)]
    names = [python_name(name) for name, _ in FACTS.properties[60]]
    chosen = rng.sample(names, rng.randrange(1, 6))
    more = rng.sample(["properties", "properties_json"], rng.randrange(3))
    fields = [*(f"properties.{name}" for name in chosen), *more]
    rng.shuffle(fields)
    record_batch = decode(b"".join(raws), fields=fields)
    for name in chosen:
        column = record_batch.column(f"properties.{name}")
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        expected = [expected_properties(header(raw))[0][name] for raw in raws]
        assert column.to_pylist() == expected
    if "properties_json" in more:
        for raw, text in zip(raws, record_batch.column("properties_json").to_pylist(), strict=True):
            json_object = json.loads(text)
            properties = {python_name(n): v for n, v in header(raw).properties.items()}
            assert list(json_object) == [name for name in names if name in properties]
            assert json_object.get("priority") == properties.get("priority")
            if "timestamp" in json_object:
                assert json_object["timestamp"] == {"$timestamp": properties["timestamp"]}
            if "headers" in json_object:
                assert f'"headers":{json_table(properties["headers"])}' in text


def header(raw: bytes) -> Header:
    decoded = decode_frame(raw, 0, "rabbitmq")
    assert decoded is not None
    assert isinstance(decoded[2], Header)
    return decoded[2]


def cast(tag: str, value: Any, kind: str) -> Any:
    """What a header's value is as a type; None where it is another one."""
    if kind == "json":
        return json_value((tag, value))
    if kind in ("string", "binary") and tag == "S":
        return value if kind == "binary" else value.decode() if is_text(value) else None
    if kind == "binary" and tag == "x":
        return value
    if tag == "D" and kind in ("string", "decimal(15,3)"):
        number = Decimal(value[1]).scaleb(-value[0], EXACT)
        fits = number.scaleb(3, EXACT) == number.scaleb(3, EXACT).to_integral_value()
        return f"{number:f}" if kind == "string" else number if fits else None
    if kind == "boolean" and tag == "t":
        return bool(value)
    if kind == "timestamp" and tag == "T":
        return value * 1_000_000 if value * 1_000_000 < 1 << 63 else None
    if kind == "double" and tag in "fd":
        return struct.unpack(">" + tag, value)[0]
    if tag in "bBsUuIilL" and kind == "decimal(15,3)":
        return Decimal(value) if abs(value) < 10**12 else None
    if tag in "bBsUuIilL" and kind in ("long", "double"):
        return value if kind == "long" else float(value)
    return None


KINDS = {
    "json": pa.string(), "string": pa.string(), "long": pa.int64(), "double": pa.float64(),
    "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC"), "binary": pa.binary(),
    "decimal(15,3)": pa.decimal128(15, 3),
}  # fmt: skip
EXACT = Context(prec=400)
#: What is null with an error where the value has the type.
BOUNDED = {"timestamp": "T", "decimal(15,3)": "DbBsUuIilL"}


@given(some.seeds)
@settings(max_examples=500)
def test_headers(rng: Random) -> None:
    """Any value of any name as any type."""
    tables = [gen.table(rng) for _ in range(4)]
    raws = [w.header_frame(headers=table) for table in tables]
    names = {key for raw in raws for key, _ in header(raw).properties["headers"] if is_text(key)}
    wishes = [(name.decode(), kind) for name in sorted(names) for kind in KINDS if name]
    wishes = [*rng.sample(wishes, min(len(wishes), 6)), ("nobody", "json")]
    fields = [f"headers.{name}:{kind}" for name, kind in wishes]
    record_batch = decode(b"".join(raws), fields=[*fields, "error"])
    assert record_batch.schema.types == [*(KINDS[kind] for _, kind in wishes), pa.string()]
    misfits = [False] * len(raws)
    for number, (name, kind) in enumerate(wishes):
        column = record_batch.column(number)
        if kind == "timestamp":
            column = column.cast(pa.int64())
        expected = []
        for raw in raws:
            values = [v for k, v in header(raw).properties["headers"] if k == name.encode()]
            expected.append(cast(*values[-1], kind) if values else None)
            if values and expected[-1] is None and values[-1][0] in BOUNDED.get(kind, ""):
                misfits[len(expected) - 1] = True
        if kind == "decimal(15,3)":
            assert column.to_pylist() == expected
        else:
            assert list(map(repr, column.to_pylist())) == list(map(repr, expected))
    errors = record_batch.column("error").to_pylist()
    assert ["does not fit" in (error or "") for error in errors] == misfits
    assert [error is not None for error in errors] == misfits


def test_names_of_headers() -> None:
    """Dots and colons belong to the name, but for the last colon, after which a type stands."""
    names = ["a", "a.b", "a:b", "a:long", "x:", ":long", ":", "é", "a b"]
    data = amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers=dict.fromkeys(names, 7))))
    for name in names:
        for field in (f"headers.{name}:json", f"headers.{name}:long"):
            assert rows(data, fields=[field]) == [{field: "7" if "json" in field else 7}]
    assert rows(data, fields=["headers.:long"]) == [{"headers.:long": "7"}]
    assert rows(data, fields=["headers.a:Int"]) == [{"headers.a:Int": 7}]
    assert rows(data, fields=["headers.a:c:json"]) == [{"headers.a:c:json": None}]


@pytest.mark.parametrize(
    "kind", ["nonsense", "b", "", "decimal", "decimal(10)", "decimal(1,2,3)", "int32", "longs"]
)
@pytest.mark.parametrize("protocol", ["0-9-1", "1.0"])
def test_types_that_there_are_not(protocol: str, kind: str) -> None:
    """An error that lists the types, and says what to ask for."""
    name = ("headers.x:" if protocol == "0-9-1" else "application_properties.x:") + kind
    text = f"no type {kind!r}; there is json, string, long, double, boolean, timestamp, binary, int"
    with pytest.raises(ValueError, match=re.escape(text)) as caught:
        batch.decode(b"", protocol, "message", fields=[name])
    assert f"ask for {name + ':json'!r}" in str(caught.value)
    assert "int, bool and decimal(p,s), such as decimal(18,4)" in str(caught.value)
    with pytest.raises(ValueError, match=re.escape(text)):
        batch.schema(protocol, "message", fields=[name])


def test_one_column_stands_twice() -> None:
    """A property by itself and in its struct; an argument by both its names."""
    data = w.method_frame("queue.declare", queue="q") + w.method_frame("queue.purge", queue="p")
    frame_rows = rows(data, fields=["queue", "queue.purge.queue", "queue.declare.queue"])
    assert [list(row.values()) for row in frame_rows] == [["q", None, "q"], ["p", "p", None]]
    data = w.header_frame(message_id="m")
    (row,) = rows(data, fields=["properties.message_id", "properties"])
    assert row["properties.message_id"] == row["properties"]["message_id"] == "m"


def test_hyphens_of_the_specification() -> None:
    data = w.method_frame("basic.get-ok", message_count=7)
    for name in ("basic.get-ok.message_count", "basic.get_ok.message_count"):
        assert rows(data, fields=[name]) == [{name: 7}]


def test_message_level() -> None:
    data = w.method_frame("basic.publish", routing_key="r")
    data += w.header_frame(2, message_id="m", headers=w.table(("n", b"I\0\0\0\5")))
    data += w.body_frame(1, b"hi") + w.method_frame("queue.declare", queue="q")
    fields = ["headers.n:long", "body", "routing_key", "properties.message_id", "queue", "error"]
    message_rows = rows(data, level="message", fields=fields)
    assert [list(row.values()) for row in message_rows] == [
        [5, b"hi", "r", "m", None, None],
        [None, None, None, None, "q", None],
    ]


def protocol_with_fields(*fields: tuple[str, str, str]) -> Any:
    """A protocol with an argument `x` of a type in each of some methods."""
    methods = tuple(
        Method(name, number, fields=(Field("x", None, kind), Field(more, None, "octet")))
        for number, (name, kind, more) in enumerate(fields, 10)
    )
    model = Protocol("test", 0, 1, 0, 1, classes=(Class("all", 10, methods=methods),))
    return _codec.Protocol(lower(model, "tests.made"))


def test_arguments_of_several_types() -> None:
    numbers = protocol_with_fields(("a", "octet", "m"), ("b", "longlong", "n"), ("c", "long", "o"))
    data = w.frame(1, 1, b"\0\x0a\0\x0a\5\0") + w.frame(1, 1, b"\0\x0a\0\x0b" + b"\1" * 8 + b"\0")
    record_batch = decode(data, protocol=numbers, fields=["x", "all.a.x"])
    assert record_batch.schema.types == [pa.int64(), pa.int32()]
    assert record_batch.column(0).to_pylist() == [5, 0x0101010101010101]
    assert record_batch.column(1).to_pylist() == [5, None]
    mixed = protocol_with_fields(("a", "shortstr", "m"), ("b", "longstr", "n"), ("c", "table", "o"))
    with pytest.raises(ValueError, match=r"all\.a\.x \(shortstr\), all\.b\.x \(longstr\), all"):
        batch.schema(mixed, fields=["x"])
    assert pa.schema(batch.schema(mixed, fields=["all.b.x"])).types == [pa.binary()]
    tables = protocol_with_fields(("a", "shortstr", "m"), ("c", "table", "o"))
    with pytest.raises(ValueError, match="more than one type"):
        batch.schema(tables, fields=["x"])


def test_default_message_columns_of_any_protocol() -> None:
    """Those that no method has, or with another type, are null."""
    protocol = protocol_with_fields(("a", "octet", "exchange"))
    schema = pa.schema(batch.schema(protocol, "message"))
    assert schema.field("exchange").type == pa.string()
    (row,) = rows(w.frame(1, 1, b"\0\x0a\0\x0a\5\6"), protocol=protocol, level="message")
    assert row["exchange"] is None
    assert row["error"] is None


def test_only_what_is_asked_for_is_looked_at() -> None:
    bad_text = w.header_frame(content_type=b"\xff", message_id="m")
    assert rows(bad_text, fields=["properties.message_id"]) == [{"properties.message_id": "m"}]
    bad_method = w.frame(1, 1, b"\0\x3c\0\x15\xc8tag")
    assert rows(bad_method, fields=["queue"]) == [{"queue": None}]
    assert rows(bad_method, fields=["queue"], mode="DROPMALFORMED") == []
    (row,) = rows(bad_method, fields=["queue", "error"])
    assert row["error"]


@pytest.mark.parametrize("version", ["0-9-1", "0-9", "0-8"])
def test_every_argument_of_every_version(version: str) -> None:
    module = amqpcodec.protocol(version)
    for method in module.METHODS.values():
        fields = [f"{method.NAME}.{name}" for name in method.FIELDS]
        data = module.encode(1, method())
        for level in ("frame", "message"):
            names = [*fields, "method"]
            (row,) = rows(data, protocol=version, level=level, fields=names)
            if not method.HAS_CONTENT:
                (row,) = rows(data, protocol=version, level=level, fields=[*names, "error"])
                assert row["error"] is None
            assert row["method"] == method.NAME
            for name, field in zip(method.FIELDS, fields, strict=True):
                value = getattr(method(), name)
                assert row[field] == ("{}" if value == {} else value) or row[field] == '""'


def test_contents_as_arguments() -> None:
    """Which 0-9 has, inline or by reference."""
    amqp9 = amqpcodec.protocol("0-9")
    inline = amqp9.encode(1, amqp9.Message.Transfer(body=b"hi"))
    other = amqp9.encode(1, amqp9.Message.Transfer(body=amqpcodec.types.Reference(b"r")))
    field = "message.transfer.body"
    frame_rows = rows(inline + other, protocol="0-9", fields=[field])
    assert [row[field] for row in frame_rows] == ['"hi"', '{"$reference":"r"}']
    with pytest.raises(ValueError, match="frame level"):
        batch.schema("0-9", fields=["body"])
