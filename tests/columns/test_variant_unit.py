"""Tables as Variants: read back strictly, they say what the JSON text of the same table says."""

from __future__ import annotations

import json
import math
import struct
from random import Random
from typing import Any

import pytest

from amqpcodec import _columns, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns import variants
from tests.columns.batch_rows import decode, pa
from tests.reference import encode_table
from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w

VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)


def variant(table: bytes, **options: Any) -> dict[str, bytes]:
    frame = w.header_frame(headers=table)
    fields = ["properties.headers", "error"]
    [row] = decode(frame, fields=fields, field_tables="variant", **options).to_pylist()
    assert row["error"] is None
    [struct_row] = decode(
        frame, fields=["properties"], field_tables="variant", **options
    ).to_pylist()
    assert struct_row["properties"]["headers"] == row["properties.headers"]
    return dict(row["properties.headers"])


def check(table: bytes, **options: Any) -> Any:
    """What a Variant says, which is what JSON text says."""
    result = variants.read(**variant(table, **options))
    fields = ["properties.headers"]
    [row] = decode(w.header_frame(headers=table), fields=fields, **options).to_pylist()
    assert variants.same(result, row["properties.headers"])
    return result


def value(octets: bytes, **options: Any) -> Any:
    return check(w.table(("k", octets)), **options)["k"]


def test_schema() -> None:
    for fields, name in ((None, "properties"), (["properties.headers"], "properties.headers")):
        schema = pa.schema(batch.schema(fields=fields, field_tables="variant"))
        variant_type = schema.field(name).type
        variant_type = (
            variant_type if name == "properties.headers" else variant_type.field("headers").type
        )
        assert variant_type == VARIANT
        assert variant_type.field("metadata").metadata == {b"variant": b"true"}
        assert not variant_type.field("value").nullable
        for data in (b"", gen.stream(Random(1), 20)):
            rows = decode(data, fields=fields, field_tables="variant")
            assert rows.schema.equals(schema, check_metadata=True)
            stream = pa.table(batch.decode(data, fields=fields, field_tables="variant"))
            assert stream.schema.equals(schema, check_metadata=True)


def test_octet_by_octet() -> None:
    """Against bytes worked out by hand from the specification."""
    table = w.table(("b", b"b\2"), ("a", b"S\0\0\0\2hi"), ("c", w.array(b"V", b"t\1")))
    assert variant(table) == {
        "metadata": bytes.fromhex("11 03 00 01 02 03 616263"),
        # object, 3 fields, ids, offsets of a, b, c and the end, then b, a and c as they came
        "value": bytes.fromhex("02 03 000102 02 00 05 0c 0c02 096869 0302 00 01 02 00 04"),
    }
    assert variant(w.table()) == {
        "metadata": bytes.fromhex("110000"),
        "value": bytes.fromhex("020000"),
    }


@pytest.mark.parametrize(
    "octets",
    [
        *(b"t\0", b"t\1", b"t\xff", b"V", b"b\x80", b"B\xff", b"s\x80\0", b"U\xff\xff"),
        *(b"u\xff\xff", b"i\xff\xff\xff\xff", b"S\0\0\0\0", b"S\0\0\0\2\xc3\xa9"),
        *(b"S\0\0\0\3\xed\xa0\x80", b"x\0\0\0\0", b"x\0\0\0\1a", b"A\0\0\0\0", b"F\0\0\0\0"),
        *(b"A\0\0\0\4VVt\1", b"F\0\0\0\3\1aV", b"f\x7f\xc0\0\0", b"f\xff\x80\0\0"),
        *(b"f" + struct.pack(">f", x) for x in (0.0, -1.0, 0.1)),
        *(b"d" + struct.pack(">d", x) for x in (0.0, -0.0, 0.1, 1e300, math.nan, -math.inf)),
    ],
)  # fmt: skip
def test_values(octets: bytes) -> None:
    value(octets)


@pytest.mark.parametrize("power", [0, 7, 8, 15, 16, 31, 32, 62, 63])
def test_integers_in_the_least_octets(power: int) -> None:
    for number in {sign * (1 << power) + more for sign in (1, -1) for more in (-1, 0, 1)}:
        if -(1 << 63) <= number < 1 << 63:
            assert value(b"l" + struct.pack(">q", number)) == number
            assert value(b"L" + struct.pack(">q", number)) == number
        if 0 <= number < 1 << 64:  # of 64 bits without a sign, in this dialect
            assert value(b"l" + struct.pack(">Q", number), dialect="0-9-1") == number
        if -(1 << 31) <= number < 1 << 31:
            assert value(b"I" + struct.pack(">i", number)) == number


@pytest.mark.parametrize("scale", [0, 1, 8, 9, 10, 18, 19, 38, 39, 255])
def test_decimals(scale: int) -> None:
    edges = (0, 1, -1, 999_999_999, 1_000_000_000, -1_000_000_000, 2**31 - 1, -(2**31))
    for unscaled in edges:
        value(struct.pack(">cBi", b"D", scale, unscaled))


def test_types_of_decimals() -> None:
    """A decimal of 4, 8 or 16 bytes by its digits and places; beyond 38 it is no decimal."""

    def head(scale: int, unscaled: int) -> int:
        octets = struct.pack(">cBi", b"D", scale, unscaled)
        return variant(w.table(("k", octets)))["value"][5] >> 2

    assert [head(s, 999_999_999) for s in (0, 9, 10, 18, 19, 38)] == [8, 8, 9, 9, 10, 10]
    assert [head(s, -1_000_000_000) for s in (0, 9, 10)] == [9, 9, 9]
    assert value(struct.pack(">cBi", b"D", 40, 1)) == {"$decimal": "0." + "0" * 39 + "1"}


@pytest.mark.parametrize("seconds", [0, 1, 1_700_000_000_000, 9223372036854, 9223372036855])
def test_timestamps(seconds: int) -> None:
    assert value(b"T" + struct.pack(">Q", seconds)) == {"$timestamp": seconds}
    octets = variant(w.table(("k", b"T" + struct.pack(">Q", seconds))))["value"]
    assert (octets[5] >> 2 == 12) == (seconds <= 9223372036854)


def test_timestamps_beyond_everything() -> None:
    assert value(b"T" + b"\xff" * 8) == {"$timestamp": 2**64 - 1}
    many = w.array(b"T" + b"\xff" * 8, b"T" + b"\0" * 8, b"D\xff\0\0\0\1")
    assert [list(element) for element in value(many)] == [
        ["$timestamp"],
        ["$timestamp"],
        ["$decimal"],
    ]


@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 65, 255, 256, 70_000])
def test_text_and_octets_of_every_size(size: int) -> None:
    assert value(b"S" + w.longstr(b"a" * size)) == "a" * size
    assert value(b"S" + w.longstr("é".encode() * (size // 2))) == "é" * (size // 2)
    value(b"S" + w.longstr(b"\xff" * size))
    value(b"x" + w.longstr(b"a" * size))
    if size < 256:
        value(b"s" + w.shortstr(b"a" * size), dialect="0-9-1")
        value(b"s" + w.shortstr(b"\xff" * size), dialect="0-9-1")


@pytest.mark.parametrize("size", [1, 2, 23, 24, 25, 254, 255, 256, 257, 3000, 70_000])
def test_many(size: int) -> None:
    """Sizes at which counts, ids and offsets take more bytes."""
    assert value(w.array(*[b"V"] * size)) == [None] * size
    keys = [b"%x" % number for number in range(size)]
    Random(size).shuffle(keys)
    result = check(w.table(*((key, b"b\1") for key in keys)))
    assert result == {key.decode(): 1 for key in keys}


#: The first offset of four bytes.
WIDEST = pytest.param(16_777_200, marks=pytest.mark.slow)


@pytest.mark.parametrize("size", [200, 247, 248, 249, 250, 251, 65_520, 65_530, WIDEST])
def test_widths_of_offsets(size: int) -> None:
    for more in range(0, 12, 2):
        value(w.nested(("a", b"x" + w.longstr(b"a" * (size + more))), ("b", b"V")))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 30])
def test_keys_that_begin_alike(length: int) -> None:
    rng = Random(length)
    for count in (2, 10, 24, 25, 60, 400):
        keys = {b"p" * length + rng.choice((b"", b"\0", b"$", b"a", b"\xc3\xa9")) + b"%d" % n
                for n in range(count)}  # fmt: skip
        keys |= {b"p" * n for n in range(length + 1)}
        table = w.table(*((key, b"b\3") for key in rng.sample(sorted(keys), len(keys))))
        assert len(check(table)) == len(keys)


KEYS = [
    *(b"", b"k", b"$", b"$k", b"$$", b"$table", b"$binary", b"$key:a", "é".encode(), b"\0"),
    *("$é".encode(), b"\xff", b"$\xff", b'"\\\n', b"k" * 255, b"\xff" * 255, b"$" * 255),
]


def test_keys() -> None:
    for key in KEYS:
        assert len(check(w.table((key, b"b\1")))) == 1
    result = check(w.table(*((key, b"b\1") for key in KEYS)))
    assert len(result) == len(KEYS)
    assert {"$$table", "$$", "$key:/w=="} < set(result)


def test_keys_are_kept_once() -> None:
    pairs = (("name", b"b\1"), ("other", b"V"))
    table = w.table(("list", w.array(w.nested(*pairs), w.nested(*pairs), w.nested(*pairs[::-1]))))
    assert variants.names(variant(table)["metadata"]) == ["list", "name", "other"]
    check(table)


def test_keys_that_come_twice() -> None:
    for key in KEYS:
        result = check(w.table((key, b"b\1"), ("x", b"V"), (key, w.nested((key, b"b\2")))))
        assert [len(pair) for pair in result["$table"]] == [2, 2, 2]
    inner = w.nested(("k", b"V"), ("k", b"V"))
    for _ in range(60):
        inner = w.nested(("k", inner), ("k", b"V"))
    check(w.table(("a", b"V"), ("k", inner)))
    assert check(w.table(("", b"V"), ("", b"t\1"))) == {"$table": [["", None], ["", True]]}


def test_nesting_to_the_limit() -> None:
    inner = w.nested(("k", b"V"))
    for _ in range(126):
        inner = w.nested(("k", inner))
    check(w.table(("k", inner)))
    frame = w.header_frame(headers=w.table(("k", w.nested(("k", inner)))))
    [row] = decode(frame, field_tables="variant").to_pylist()
    assert row["properties"] is None
    assert "nested deeper" in row["error"]


def test_keys_that_spark_orders_in_another_way() -> None:
    """Then the table is a list of pairs, and only that table."""
    high, higher = "\uffee", "\U00010000"
    odd = w.table((high, b"b\1"), (higher, b"b\2"), ("a", w.nested(("b", b"V"))))
    result = variants.read(**variant(odd))
    assert result == {"$table": [[high, 1], [higher, 2], ["a", {"b": None}]]}
    around = w.table(("a", w.nested(("b", b"V"))), ("t", b"F" + odd), (high, b"V"))
    result = variants.read(**variant(around))
    assert result == {
        "a": {"b": None},
        "t": {"$table": [[high, 1], [higher, 2], ["a", {"b": None}]]},
        high: None,
    }
    check(w.table(("a", w.nested((high, b"V"))), ("b", w.nested((higher, b"V"))), ("c", b"V")))
    check(w.table((b"\xff\xff", b"V"), (high, b"V"), ("\ud7ff", b"V")))  # not UTF-8: base64


# ---- columns ----


def same_as_json(data: Any, **options: Any) -> int:
    """Rows of Variants against rows of JSON text, all other columns too; how many had headers."""
    fields = [
        "properties.headers",
        "connection.start-ok.client_properties",
        "queue.declare.arguments",
    ]
    other_fields = ["method", "channel", "error", "properties.message_id", "headers.n"]
    variant_rows = decode(
        data, fields=[*fields, *other_fields], field_tables="variant", **options
    ).to_pylist()
    expected = decode(data, fields=[*fields, *other_fields], **options).to_pylist()
    assert len(variant_rows) == len(expected)
    count = 0
    for one, other in zip(variant_rows, expected, strict=True):
        for name in fields:
            assert (one[name] is None) == (other[name] is None)
            if one[name] is not None:
                assert variants.same(variants.read(**one.pop(name)), other.pop(name))
                count += 1
            else:
                del one[name], other[name]
        assert one == other
    variant_batch = decode(data, field_tables="variant", **options)
    plain = decode(data, **options)
    at = plain.schema.names.index("properties")
    for name in plain.schema.names:
        if name != "properties":
            assert variant_batch.column(name).equals(plain.column(name))
    for child in ("message_id", "app_id", "timestamp"):
        assert variant_batch.column(at).field(child).equals(plain.column(at).field(child))
    headers = variant_batch.column(at).field("headers").to_pylist()
    both = [*plain.schema.names, "properties.headers"]
    one_by_one = decode(data, fields=both, field_tables="variant", **options)
    assert headers == one_by_one.column("properties.headers").to_pylist()
    return count


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("seed", range(6))
def test_streams(level: str, seed: int) -> None:
    rng = Random(seed)
    header_count = 0
    for _ in range(10):
        header_count += same_as_json(gen.conversation(rng, 12), level=level)
        header_count += same_as_json(gen.stream(rng, 60), level=level, dialect="0-9-1")
    assert header_count > 25


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("seed", range(4))
def test_spoilt_streams(mode: str, level: str, seed: int) -> None:
    """What a reader took back leaves nothing behind."""
    rng = Random(seed + 100)
    for _ in range(15):
        frames = gen.frames(gen.conversation(rng, 15))
        spoilt = [gen.spoil_inside(rng, f) if rng.random() < 0.3 else f for f in frames]
        same_as_json(b"".join(spoilt), level=level, mode=mode)
        same_as_json(pa.array(spoilt, pa.binary()), level=level, mode=mode)


def test_a_fault_behind_the_table() -> None:
    """The fast path falls back after headers that it has written; so may all of the frame."""
    good = w.header_frame(headers=w.table(("k", b"V")), app_id="a")
    for app_id in (b"\xff", b"a"):
        odd = w.header_frame(headers=w.table(("k", b"S\0\0\0\1a")), app_id=app_id)
        short_frame = w.header_frame(headers=w.table(("long", b"V")), app_id="a")[:-3] + b"\xce"
        short_frame = short_frame[:3] + (len(short_frame) - 8).to_bytes(4, "big") + short_frame[7:]
        for mode in ("PERMISSIVE", "DROPMALFORMED"):
            same_as_json((good + odd + short_frame + good) * 50, mode=mode)


def test_slices_and_nulls() -> None:
    frame = w.header_frame(headers=w.table(("k", b"b\1")))
    values = pa.array([None, frame, b"", w.HEARTBEAT, frame * 2, None, frame], pa.large_binary())
    for array in (values, values[2:], values[:4], values[4:5], values[:1]):
        same_as_json(array)


def test_columns_that_end() -> None:
    """A lower limit stands in for the 2 GiB of int32 offsets."""
    frame = w.header_frame(headers=w.table(("some key", b"x" + w.longstr(b"v" * 100))))
    for data, limit in ((frame * 200, 5_000), (frame * 500, 5_500)):
        with pytest.raises(ValueError, match=r"properties\.headers"):
            _columns.decode_columns(
                amqp.PROTOCOL, data, None, "PERMISSIVE", "rabbitmq", limit, field_tables="variant"
            )


def test_other_names() -> None:
    for wrong in ("jsons", "xml", ""):
        with pytest.raises(ValueError, match="field_tables is"):
            batch.decode(b"", field_tables=wrong)
        with pytest.raises(ValueError, match="field_tables is"):
            batch.schema(field_tables=wrong)


def test_json_columns_stay_json() -> None:
    frame = w.header_frame(headers=w.table(("k", b"b\1")))
    fields = ["properties_json", "headers.k", "arguments"]
    data = frame + w.method_frame("queue.declare", arguments=w.table(("x", b"b\1")))
    record_batch = decode(data, fields=fields, field_tables="variant")
    assert record_batch.equals(decode(data, fields=fields))
    assert json.loads(record_batch.column(0)[0].as_py()) == {"headers": {"k": 1}}


def test_random_tables_of_the_reference() -> None:
    rng = Random(77)
    for count in (1, 5, 30, 300):
        keys = [b"%d" % rng.randrange(count * 2) for _ in range(count)]
        table = encode_table([(key, ("I", rng.randrange(-(2**31), 2**31))) for key in keys])
        check(table)
