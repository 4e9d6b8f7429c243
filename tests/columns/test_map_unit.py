"""Tables as maps of text: strings are themselves, void is null, all else is its JSON text."""

from __future__ import annotations

import ctypes
import gc
import json
from random import Random
from typing import Any

import pytest

from amqpcodec import _columns, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.arrow_structs import RawArray, raw
from tests.columns.batch_rows import decode, is_text, json_key, json_value, pa
from tests.columns.test_capsules_unit import Release
from tests.reference import Header, decode_frame, encode_table
from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w

MAP = pa.map_(pa.string(), pa.string())


def plain(table: Any) -> list[tuple[str, str | None]]:
    """What is expected of a table that the reference read."""

    def key_of(octets: bytes) -> str:
        return str(json.loads(json_key(octets)))

    if len({key for key, _ in table}) < len(table):
        pairs = [f"[{json_key(key)},{json_value(value)}]" for key, value in table]
        return [("$table", f"[{','.join(pairs)}]")]
    entries: list[tuple[str, str | None]] = []
    for key, value in table:
        tag, inside = value
        if tag == "V":
            text = None
        elif (tag == "S" or (tag == "s" and isinstance(inside, bytes))) and is_text(inside):
            text = inside.decode()
        else:
            text = json_value(value)
        entries.append((key_of(key), text))
    return entries


def check(data: Any, dialect: str = "rabbitmq", **options: Any) -> int:
    """Maps at frame level against the reference; how many there were."""
    fields = ["frame_type", "frame", "error", "properties.headers", "properties.app_id"]
    record_batch = decode(data, fields=fields, field_tables="map", dialect=dialect, **options)
    count = 0
    for row in record_batch.to_pylist():
        if row["error"] is not None or row["frame_type"] != "header":
            continue
        _, _, frame = decode_frame(row["frame"], 0, dialect)
        assert isinstance(frame, Header)
        headers = frame.properties.get("headers")
        assert row["properties.headers"] == (None if headers is None else plain(headers))
        count += headers is not None
    properties_column = decode(data, field_tables="map", dialect=dialect, **options).column(
        "properties"
    )
    assert record_batch.column(3).to_pylist() == properties_column.field("headers").to_pylist()
    return count


def one(table: bytes, **options: Any) -> list[tuple[str, str | None]]:
    [row] = decode(
        w.header_frame(headers=table), fields=["properties.headers"], field_tables="map", **options
    ).to_pylist()
    return list(row["properties.headers"])


def test_schema() -> None:
    schema = pa.schema(batch.schema(fields=["properties.headers"], field_tables="map"))
    map_type = schema.field(0).type
    assert map_type == MAP
    assert not map_type.key_field.nullable
    assert map_type.item_field.nullable
    assert not map_type.keys_sorted
    inner = pa.schema(batch.schema(field_tables="map")).field("properties").type.field("headers")
    assert inner.type == MAP
    for data in (b"", w.HEARTBEAT, gen.stream(Random(1), 20)):
        rows = decode(data, field_tables="map")
        assert rows.schema.equals(pa.schema(batch.schema(field_tables="map")))
        assert pa.table(batch.decode(data, field_tables="map")).to_batches() in ([rows], [])


def test_values() -> None:
    table = w.table(
        ("text", b"S\0\0\0\2hi"),
        ("empty", b"S\0\0\0\0"),
        ("octets", b"S\0\0\0\1\xff"),
        ("bytes", b"x\0\0\0\1a"),
        ("void", b"V"),
        ("number", b"b\x80"),
        ("true", b"t\1"),
        ("list", w.array(b"V", b"S\0\0\0\1x", w.nested(("a", b"b\1")))),
        ("$key", w.nested(("$", b"V"))),
        (b"\xff", b"T" + b"\0" * 8),
        ("", b"D\2\0\0\0\x96"),
    )
    assert one(table) == [
        ("text", "hi"),
        ("empty", ""),
        ("octets", '{"$binary":"/w=="}'),
        ("bytes", '{"$binary":"YQ=="}'),
        ("void", None),
        ("number", "-128"),
        ("true", "true"),
        ("list", '[null,"x",{"a":1}]'),
        ("$$key", '{"$$":null}'),
        ("$key:/w==", '{"$timestamp":0}'),
        ("", '{"$decimal":"1.50"}'),
    ]
    assert one(w.table()) == []
    assert one(w.table(("s", b"s\2hi"), ("t", b"s\1\xff")), dialect="0-9-1") == [
        ("s", "hi"),
        ("t", '{"$binary":"/w=="}'),
    ]


def test_a_key_that_comes_twice() -> None:
    """Nothing is lost: all pairs, in order, as JSON text of what the other forms have there."""
    table = w.table(("k", b"b\1"), ("x", b"S\0\0\0\1y"), ("k", b"V"), ("$", b"V"))
    assert one(table) == [("$table", '[["k",1],["x","y"],["k",null],["$$",null]]')]
    inner = w.nested(("k", b"V"), ("k", b"V"))
    assert one(w.table(("a", inner))) == [("a", '{"$table":[["k",null],["k",null]]}')]


@pytest.mark.parametrize("count", [1, 24, 25, 500])
def test_many(count: int) -> None:
    keys = [b"%d" % n for n in range(count)]
    table = [(key, ("b", n % 100)) for n, key in enumerate(keys)]
    assert one(encode_table(table)) == plain(table)
    assert check(w.header_frame(headers=encode_table([*table, table[0]])) * 3) == 3


@pytest.mark.parametrize("dialect", ["rabbitmq", "0-9-1"])
@pytest.mark.parametrize("seed", range(4))
def test_streams(dialect: str, seed: int) -> None:
    rng = Random(seed)
    map_count = 0
    for _ in range(10):
        map_count += check(b"".join(gen.header_frame(rng, 1) for _ in range(60)), dialect)
        map_count += check(gen.stream(rng, 60), dialect)
    assert map_count > 20


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("seed", range(4))
def test_spoilt_streams(mode: str, seed: int) -> None:
    """What a reader took back leaves no entry behind."""
    rng = Random(seed + 50)
    map_count = 0
    for _ in range(15):
        frames = [gen.header_frame(rng, 1) for _ in range(60)]
        spoilt = [gen.spoil_inside(rng, f) if rng.random() < 0.3 else f for f in frames]
        map_count += check(pa.array(spoilt, pa.binary()), mode=mode)
    assert map_count > 20


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_a_fault_behind_the_table(mode: str) -> None:
    good = w.header_frame(headers=w.table(("k", b"V"), ("l", b"b\1")), app_id="a")
    odd = w.header_frame(headers=w.table(*((str(n), b"V") for n in range(5))), app_id=b"\xff")
    data = (odd * 3 + good + odd + good) * 20
    assert check(data, mode=mode) == 40
    column = decode(
        data, fields=["properties.headers"], field_tables="map", mode="PERMISSIVE"
    ).column(0)
    values = column.to_pylist()
    assert [len(entries) for entries in values[:6]] == [5, 5, 5, 2, 5, 2]


def test_message_level_and_arguments() -> None:
    declare = w.method_frame("queue.declare", arguments=w.table(("x", b"S\0\0\0\1y")))
    message = w.method_frame("basic.publish") + w.content(
        1, b"hello", headers=w.table(("k", b"b\1"))
    )
    record_batch = decode(
        (declare + message) * 2,
        level="message",
        fields=["properties.headers", "queue.declare.arguments", "body"],
        field_tables="map",
    )
    assert (
        record_batch.to_pylist()
        == [
            {"properties.headers": None, "queue.declare.arguments": [("x", "y")], "body": None},
            {"properties.headers": [("k", "1")], "queue.declare.arguments": None, "body": b"hello"},
        ]
        * 2
    )


def test_slices_and_nulls() -> None:
    frame = w.header_frame(headers=w.table(("k", b"b\1")))
    values = pa.array([None, frame, b"", w.HEARTBEAT, frame * 2, None, frame], pa.large_binary())
    for array, count in ((values, 4), (values[2:], 3), (values[:1], 0), (values[4:5], 2)):
        assert check(array) == count


def test_columns_that_end() -> None:
    frame = w.header_frame(headers=w.table(("some key", b"x" + w.longstr(b"v" * 100))))
    many = w.header_frame(headers=w.table(*((str(n), b"V") for n in range(30))))
    for data in (frame * 200, many * 200):
        with pytest.raises(ValueError, match=r"properties\.headers"):
            _columns.decode_columns(
                amqp.PROTOCOL, data, None, "PERMISSIVE", "rabbitmq", 5_400, field_tables="map"
            )


@pytest.mark.parametrize("parent_first", [False, True])
def test_entries_moved_out_live_by_themselves(parent_first: bool) -> None:
    """By Arrow's rules a consumer may move children out, and release parent and child apart."""
    frame = w.header_frame(headers=w.table(("k", b"b\1"), ("l", b"S\0\0\0\1x")))
    result = batch.decode(frame * 100, fields=["properties.headers"], field_tables="map")
    _, capsule = result.__arrow_c_array__()
    parent = raw(capsule)
    child = ctypes.cast(parent.children, ctypes.POINTER(ctypes.POINTER(RawArray)))[0].contents
    entries = ctypes.cast(child.children, ctypes.POINTER(ctypes.POINTER(RawArray)))[0]
    moved = RawArray()
    ctypes.memmove(ctypes.byref(moved), entries, ctypes.sizeof(RawArray))
    entries.contents.release = None
    if parent_first:
        Release(parent.release)(ctypes.addressof(parent))
    del result, capsule, parent, child, entries
    gc.collect()
    for _ in range(20):
        decode(b"\xff" * 10_000)
    type_ = pa.struct([pa.field("key", pa.string(), False), pa.field("value", pa.string())])
    array = pa.Array._import_from_c(ctypes.addressof(moved), type_)
    array.validate(full=True)
    assert array.to_pylist() == [{"key": "k", "value": "1"}, {"key": "l", "value": "x"}] * 100


@pytest.mark.parametrize("field_tables", ["map", "variant"])
def test_the_layout_of_views(field_tables: str) -> None:
    """Other columns become views; what tables become has one layout."""
    rng = Random(3)
    data = b"".join(gen.header_frame(rng, 1) for _ in range(50))
    fields = ["properties.headers", "properties.app_id"]
    view_batch = decode(data, fields=fields, field_tables=field_tables, layout="view")
    plain = decode(data, fields=fields, field_tables=field_tables)
    assert view_batch.schema.field(0).equals(plain.schema.field(0), check_metadata=True)
    assert view_batch.schema.field(1).type == pa.string_view()
    assert view_batch.column(0).equals(plain.column(0))
    headers_column = (
        decode(data, field_tables=field_tables, layout="view").column("properties").field("headers")
    )
    assert headers_column.equals(plain.column(0))
