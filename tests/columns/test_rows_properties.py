"""The row path equals the column path, frame by frame, but for text that is not UTF-8."""

from __future__ import annotations

import base64
import json
import math
import struct
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import DecodeError, batch, types
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w

pa = pytest.importorskip("pyarrow")

COLUMNS = [
    "row", "offset", "frame_type", "channel", "method", "arguments", "properties", "body_size",
    "payload", "frame", "error", "error_offset",
]  # fmt: skip
KINDS = {
    amqp.Header: "header",
    amqp.Body: "body",
    amqp.Heartbeat: "heartbeat",
    amqp.ProtocolHeader: "protocol-header",
}
# May be withheld from output, as credentials.
SECRETS = {("connection.start-ok", "response"), ("connection.secure-ok", "response"),
           ("connection.update-secret", "new_secret")}  # fmt: skip


def rows(data: Any, **options: Any) -> list[dict[str, Any]]:
    dicts = pa.record_batch(batch.decode(data, **options)).to_pylist()
    assert isinstance(dicts, list)
    return dicts


def typed_pair(value: Any) -> Any:
    """A typed table value as (kind, content), where only JSON's own distinctions are kept."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, types.Timestamp):
        return ("time", int(value))
    if isinstance(value, int):
        return ("int", int(value))
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else struct.pack(">d", value))
    if isinstance(value, Decimal):
        return ("decimal", Decimal(value).as_tuple())
    if isinstance(value, bytes):
        return ("bytes", bytes(value))
    if isinstance(value, str):
        return ("text", str(value))
    if isinstance(value, types.Void) or value is None:
        return ("void",)
    if isinstance(value, list):
        return ("list", [typed_pair(item) for item in value])
    assert isinstance(value, dict)
    return ("table", [(key, typed_pair(item)) for key, item in value.items()])


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that nothing of it is lost to a dict."""


def read(node: Any) -> Any:
    """What lossless JSON says, in the form of told()."""
    if isinstance(node, Pairs):
        if len(node) == 1:
            name, inner = node[0]
            if name == "$binary":
                return ("bytes", base64.b64decode(inner, validate=True))
            if name == "$decimal":
                return ("decimal", Decimal(inner).as_tuple())
            if name == "$timestamp":
                assert type(inner) is int
                return ("time", inner)
            if name == "$double":
                number = float(inner)
                assert not math.isfinite(number)
                return ("float", "nan" if math.isnan(number) else struct.pack(">d", number))
            if name == "$table":
                merged: dict[str, Any] = {}
                for key, item in inner:
                    merged[_key(key)] = read(item)
                assert len(merged) < len(inner)  # this form is for duplicates only
                return ("table", list(merged.items()))
        return ("table", [(_key(key), read(item)) for key, item in node])
    if isinstance(node, bool):
        return ("bool", node)
    if isinstance(node, int):
        return ("int", node)
    if isinstance(node, float):
        return ("float", struct.pack(">d", node))
    if isinstance(node, str):
        return ("text", node)
    if node is None:
        return ("void",)
    return ("list", [read(item) for item in node])


def _key(key: str) -> str:
    if key.startswith("$key:"):
        raw = base64.b64decode(key[5:], validate=True)
        with pytest.raises(UnicodeDecodeError):
            raw.decode("utf-8")
        return raw.decode("utf-8", "surrogateescape")
    if key.startswith("$"):
        assert key.startswith("$$"), key
        return key[1:]
    return key


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


def load(text: str) -> Any:
    return json.loads(text, object_pairs_hook=Pairs, parse_constant=_refuse)


def check_arguments(text: str, method: Any) -> None:
    given_names = {key.replace("-", "_").rstrip("_"): value for key, value in load(text)}
    for name in type(method).FIELDS:
        short = name.rstrip("_")
        if name.startswith("reserved_") and short not in given_names:
            continue
        if (type(method).NAME, name) in SECRETS:
            given_names.pop(short, None)
            continue
        json_value, value = given_names.pop(short), getattr(method, name)
        if isinstance(value, bytes):  # a longstr may come as text where it is text
            kind, octets = read(json_value)
            assert value == (octets.encode() if kind == "text" else octets)
        else:
            assert read(json_value) == typed_pair(value)
    assert not given_names


def check_properties(struct_: dict[str, Any], properties: Any) -> None:
    for name, _ in w.PROPERTIES:
        value, column_value = getattr(properties, name), struct_[name]
        if value is None:
            assert column_value is None
        elif name == "headers":
            assert read(load(column_value)) == typed_pair(value)
        elif isinstance(value, datetime) and not isinstance(column_value, datetime):
            assert column_value == int(value.timestamp())
        else:
            assert column_value == value


def not_utf8(frame: Any) -> bool:
    """Whether Arrow text cannot hold it: a short string with surrogate escapes."""
    parts = [frame, frame.properties] if isinstance(frame, amqp.Header) else [frame]
    for part in parts:
        for name in getattr(type(part), "FIELDS", None) or [n for n, _ in w.PROPERTIES]:
            value = getattr(part, name, None)
            if isinstance(value, str) and not value.isascii():
                try:
                    value.encode()
                except UnicodeEncodeError:
                    return True
    return False


def check(row: dict[str, Any], channel: int, frame: Any, raw: bytes) -> None:
    """One row against one object."""
    assert row["frame"] == raw
    if isinstance(frame, amqp.BadFrame) or not_utf8(frame):
        assert row["error"]
        assert row["error_offset"] is not None
        return
    assert row["error"] is None
    assert row["error_offset"] is None
    assert row["channel"] == channel
    assert row["frame_type"] == KINDS.get(type(frame), "method")
    assert row["payload"] == (frame.payload if isinstance(frame, amqp.Body) else None)
    assert row["body_size"] == (frame.body_size if isinstance(frame, amqp.Header) else None)
    if row["frame_type"] == "method":
        assert row["method"] == type(frame).NAME
        check_arguments(row["arguments"], frame)
    else:
        assert row["method"] is None
        assert row["arguments"] is None
    if isinstance(frame, amqp.Header):
        check_properties(row["properties"], frame.properties)
    else:
        assert row["properties"] is None


def frames_of(data: bytes) -> list[tuple[int, Any, bytes]]:
    """The object path: channel, frame (or BadFrame) and bytes."""
    frames = []
    for channel, frame in amqp.Decoder(0, errors="frame", tables="typed").feed(data):
        if isinstance(frame, amqp.BadFrame):
            frames.append((channel, frame, bytes(frame.raw)))
        else:
            frames.append((channel, frame, amqp.encode(channel, frame)))
    return frames


def usable(raw: bytes) -> bool:
    """Leave out what a column of timestamps or of int64 cannot say, here and there alike."""
    try:
        frame = amqp.decode(raw)[2]
    except DecodeError:
        return True
    if isinstance(frame, amqp.Header):
        return not isinstance(frame.properties.timestamp, int) and frame.body_size < 1 << 63
    return True


def some_frames(rng: Random, count: int = 6) -> list[bytes]:
    candidates = (gen.any_frame(rng) for _ in range(count * 3))
    return [raw for raw in candidates if usable(raw)][:count]


def compare(actual_rows: list[dict[str, Any]], data: bytes, row: int, offset: int = 0) -> None:
    expected = frames_of(data)
    assert len(actual_rows) == len(expected)
    for item, (channel, frame, raw) in zip(actual_rows, expected, strict=True):
        assert list(item) == COLUMNS
        assert item["row"] == row
        assert item["offset"] == offset
        check(item, channel, frame, raw)
        offset += len(raw)


@given(some.seeds)
@settings(max_examples=250)
def test_octets(rng: Random) -> None:
    data = b"".join(some_frames(rng))
    compare(rows(data, protocol="0-9-1", level="frame"), data, 0)


@given(some.seeds)
@settings(max_examples=250)
def test_octets_with_bad_frames(rng: Random) -> None:
    raws = []
    for raw in some_frames(rng):
        spoilt = gen.spoil_inside(rng, raw) if rng.random() < 0.5 else raw
        raws.append(spoilt if usable(spoilt) else raw)
    data = b"".join(raws)
    compare(rows(data), data, 0)


@given(some.seeds)
@settings(max_examples=150)
def test_arrow_values(rng: Random) -> None:
    """Each value holds one or more whole frames."""
    values = [b"".join(some_frames(rng, rng.randrange(1, 4))) for _ in range(rng.randrange(1, 5))]
    kind = rng.choice((pa.binary(), pa.large_binary()))
    frame_rows = rows(pa.array(values, kind))
    assert [item["row"] for item in frame_rows] == sorted(item["row"] for item in frame_rows)
    for number, value in enumerate(values):
        compare([item for item in frame_rows if item["row"] == number], value, number)


def test_sliced_and_null_arrow_values() -> None:
    ack, beat = w.method_frame("basic.ack"), w.HEARTBEAT
    array = pa.array([ack, None, beat, b"", ack + beat], pa.binary())
    frame_rows = rows(array.slice(1))
    assert {(item["row"], item["frame_type"]) for item in frame_rows if item["error"] is None} >= {
        (1, "heartbeat"), (3, "method"), (3, "heartbeat")
    }  # fmt: skip


TABLE = w.table(
    ("text", b"S\0\0\0\2\xc3\xa9"),
    ("raw", b"x\0\0\0\2\xff\0"),
    ("S", b"S\0\0\0\2\xff\0"),
    ("dec", b"D\2\0\0\0\x96"),
    ("time", b"T" + (1_700_000_000).to_bytes(8, "big")),
    ("late", b"T" + b"\xff" * 8),
    ("nan", b"d\x7f\xf8" + b"\0" * 6),
    ("inf", b"d\xff\xf0" + b"\0" * 6),
    ("one", b"d\x3f\xf0" + b"\0" * 6),
    ("zero", b"d\x80" + b"\0" * 7),
    ("f32", b"f\x3d\xcc\xcc\xcd"),
    ("void", b"V"),
    ("yes", b"t\x07"),
    ("big", b"l\x7f" + b"\xff" * 7),
    ("$own", b"b\1"),
    ("$$own", b"b\2"),
    ("$binary", b"b\3"),
    (b"k\xff", b"b\4"),
    ("list", w.array(b"V", w.array(), w.nested(("$decimal", b"S\0\0\0\1x")))),
    ('quote"\\\n\0\x7f', b"S" + w.longstr(b'a"\\\n\t\r\b\f\0\x1f\x7f/')),
    ("astral", b"S" + w.longstr("🐇\u2028".encode())),
)


def test_json_rules() -> None:
    (row,) = rows(w.header_frame(headers=TABLE))
    assert row["error"] is None
    pairs = dict(load(row["properties"]["headers"]))
    assert pairs["text"] == "é"
    assert pairs["raw"] == pairs["S"] == [("$binary", "/wA=")]
    assert pairs["dec"] == [("$decimal", "1.50")]
    assert pairs["time"] == [("$timestamp", 1_700_000_000)]
    assert pairs["late"] == [("$timestamp", (1 << 64) - 1)]
    assert pairs["nan"] == [("$double", "NaN")]
    assert pairs["inf"][0][0] == "$double"
    assert type(pairs["one"]) is float
    assert math.copysign(1, pairs["zero"]) == -1
    assert pairs["void"] is None
    assert pairs["yes"] is True
    assert pairs["big"] == (1 << 63) - 1
    assert pairs["$$own"] == 1
    assert pairs["$$$own"] == 2
    assert pairs["$$binary"] == 3
    assert pairs["$key:" + base64.b64encode(b"k\xff").decode()] == 4
    assert pairs["list"] == [None, [], [("$$decimal", "x")]]
    typed = amqp.decode(w.header_frame(headers=TABLE), tables="typed")[2].properties.headers
    assert read(load(row["properties"]["headers"])) == typed_pair(typed)


def test_json_of_duplicate_names() -> None:
    table = w.table(("k", b"b\1"), ("$x", b"V"), ("k", b"b\2"))
    (row,) = rows(w.header_frame(headers=table))
    ((name, pairs),) = load(row["properties"]["headers"])
    assert name == "$table"
    assert [key for key, _ in pairs] in (["k", "$x", "k"], ["k", "$$x", "k"])
    assert [value for _, value in pairs] == [1, None, 2]


def test_json_of_an_inner_table_with_duplicates_only() -> None:
    inner = w.nested(("k", b"b\1"), ("k", b"b\2"))
    (row,) = rows(w.header_frame(headers=w.table(("a", inner), ("b", w.nested()))))
    assert json.loads(row["properties"]["headers"]) == {
        "a": {"$table": [["k", 1], ["k", 2]]}, "b": {}
    }  # fmt: skip


def test_text_that_is_not_utf8_is_an_error_row() -> None:
    data = w.method_frame("basic.consume-ok", consumer_tag=b"\xff")
    good, bad, after = rows(w.HEARTBEAT + data + w.HEARTBEAT)
    assert good["error"] is None
    assert after["error"] is None
    assert bad["error"]
    assert bad["frame"] == data
    assert bad["offset"] == 8


@pytest.mark.parametrize(
    "data",
    [w.header_frame((1 << 64) - 1), w.header_frame(timestamp=(1 << 64) - 1)],
    ids=["body size", "timestamp"],
)
def test_numbers_that_no_column_holds(data: bytes) -> None:
    """Fine as objects; here an error row that keeps the bytes, and the rows behind go on."""
    assert amqp.encode(1, amqp.decode(data)[2]) == data
    bad, after = rows(data + w.HEARTBEAT)
    assert bad["error"]
    assert bad["frame"] == data
    assert (after["frame_type"], after["offset"], after["error"]) == ("heartbeat", len(data), None)


def test_failfast() -> None:
    data = w.HEARTBEAT + w.frame(1, 1, b"\0\x3c\0\x15\xc8tag")
    with pytest.raises(DecodeError):
        batch.decode(data, mode="FAILFAST")
    assert len(rows(w.HEARTBEAT, mode="FAILFAST")) == 1


def test_schema_says_what_decode_returns() -> None:
    schema = pa.schema(batch.schema("0-9-1", "frame"))
    assert schema.names == COLUMNS
    for data in (b"", w.HEARTBEAT, w.header_frame(headers=TABLE)):
        assert pa.record_batch(batch.decode(data)).schema.equals(schema)


@given(some.seeds)
@settings(max_examples=300)
def test_any_octets_give_rows(rng: Random) -> None:
    """PERMISSIVE never raises, and every byte of whole frames is in some row."""
    data = gen.spoil(rng, gen.stream(rng, 4))
    record_batch = pa.record_batch(batch.decode(data))
    record_batch.validate(full=True)
    out = b"".join(value.as_py() or b"" for value in record_batch.column("frame"))
    assert out in data
    complete_size = sum(len(raw) for _, _, raw in _until_broken(data))
    assert len(out) >= complete_size


def _until_broken(data: bytes) -> list[tuple[int, Any, bytes]]:
    frames: list[tuple[int, Any, bytes]] = []
    try:
        for channel, frame in amqp.Decoder(0, errors="frame").feed(data):
            raw = frame.raw if isinstance(frame, amqp.BadFrame) else amqp.encode(channel, frame)
            frames.append((channel, frame, bytes(raw)))
    except DecodeError:
        pass
    return frames
