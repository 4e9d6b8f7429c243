"""Application properties of AMQP 1.0 as Variants: read back strictly, they say what JSON does."""

from __future__ import annotations

import datetime
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import DecodeError, _columns, batch
from amqpcodec import v1_0 as amqp
from tests.columns import variants
from tests.columns.batch_rows import pa
from tests.columns.v1_rows import decode
from tests.encode.encode_v1_values import keys
from tests.v1.test_v1_properties import values

SMALL = "9.999999999999999999999999999999999E-5"
MICROSECONDS = 9223372036854  # seconds that they reach in 64 bits


def delivery(pairs: Any) -> bytes:
    return amqp.encode(
        1, amqp.Transfer(0, 1, b"t"), amqp.Message(application_properties=pairs).encode()
    )


def both(*maps: Any, layout: str = "plain") -> list[tuple[Any, str]]:
    """What the Variants say, and the JSON text of the same messages."""
    data = b"".join(map(delivery, maps))
    options: Any = {"level": "message", "fields": ["application_properties", "error"]}
    record_batch = decode(data, field_tables="variant", layout=layout, **options)
    assert record_batch["error"].null_count == len(maps), record_batch["error"]
    text = decode(data, **options)["application_properties"].to_pylist()
    read = [variants.read(**row) for row in record_batch["application_properties"].to_pylist()]
    return list(zip(read, text, strict=True))


def usual(value: Any) -> Any:
    """JSON text's forms as the reader of Variants gives what Variants have numbers for."""
    if isinstance(value, list):
        return [usual(child) for child in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$timestamp_ms"}:
        ms = value["$timestamp_ms"]
        return {"$moment_ms": ms} if abs(ms) <= MICROSECONDS * 1000 else value
    if set(value) == {"$decimal"}:
        number = Decimal(value["$decimal"])
        _, digits, exponent = number.as_tuple()
        if (
            not isinstance(exponent, int)
            or exponent > 0
            or exponent < -38
            or number.is_signed() > bool(number)
        ):
            return value
        assert len(digits) <= 38
        if exponent == 0 and number >= 1 << 63:
            return int(number)
        return {"$decimal": f"{number:f}"}
    return {key: usual(child) for key, child in value.items()}


def with_milliseconds(value: Any) -> Any:
    """A timestamp as milliseconds."""
    if isinstance(value, list):
        return [with_milliseconds(child) for child in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$timestamp_us"}:
        assert value["$timestamp_us"] % 1000 == 0
        return {"$moment_ms": value["$timestamp_us"] // 1000}
    if set(value) == {"$timestamp"}:
        return {"$moment_ms": value["$timestamp"] * 1000}
    return {key: with_milliseconds(child) for key, child in value.items()}


def as_objects(value: Any) -> Any:
    """A $table whose keys differ is one that only Variants have: an object in JSON text."""
    if isinstance(value, list):
        return [as_objects(child) for child in value]
    if not isinstance(value, dict):
        return value
    pairs = value.get("$table", [])
    if pairs and len({key for key, _ in pairs}) == len(pairs):
        value = dict(pairs)
    return {key: as_objects(child) for key, child in value.items()}


def check(*maps: Any, layout: str = "plain") -> list[Any]:
    pairs = both(*maps, layout=layout)
    for read, text in pairs:
        assert variants.same(with_milliseconds(read), json.dumps(usual(json.loads(text))))
    return [read for read, _ in pairs]


def test_schema_is_that_of_0_9_1() -> None:
    schema = pa.schema(
        batch.schema("1.0", "message", ["application_properties"], field_tables="variant")
    )
    other = pa.schema(batch.schema(fields=["properties.headers"], field_tables="variant"))
    assert schema.field(0).type == other.field(0).type
    assert decode(b"", level="message", field_tables="variant").num_rows == 0
    frame = amqp.encode(1, amqp.Transfer(0, 1, b"t"), amqp.Message(b"x").encode())
    record_batch = decode(frame, level="message", field_tables="variant")
    assert record_batch["application_properties"].to_pylist() == [None]


def test_scalars() -> None:
    moment = datetime.datetime(2026, 1, 1, 1, 2, 3, 4000, tzinfo=datetime.UTC)
    pairs = {
        "null": None, "yes": True, "no": False, "text": "é", "long text": "é" * 100, "": "",
        "symbol": amqp.Symbol("s"), "binary": b"\0\xff", "long": -(2**63), "small": 5,
        "ubyte": amqp.UByte(200), "ushort": amqp.UShort(65535), "uint": amqp.UInt(2**32 - 1),
        "ulong": amqp.ULong(2**64 - 1), "byte": amqp.Byte(-1), "short": amqp.Short(-300),
        "int": amqp.Int(-70000), "float": amqp.Float(1.5), "double": 0.1, "nan": float("nan"),
        "moment": moment, "late": amqp.Timestamp(2**63 - 1), "early": amqp.Timestamp(-1),
        "uuid": uuid.UUID(int=5), "char": amqp.Char("€"), "$dollar": 1,
    }  # fmt: skip
    for layout in ("plain", "view"):
        [properties] = check(pairs, layout=layout)
        assert properties["moment"] == {"$timestamp_us": int(moment.timestamp() * 1e6)}
        assert properties["late"] == {"$timestamp_ms": 2**63 - 1}
        assert properties["ulong"] == 2**64 - 1
        assert properties["uuid"] == {"$uuid": str(uuid.UUID(int=5))}
        assert properties["$$dollar"] == 1


@pytest.mark.parametrize(
    ("number", "read"),
    [
        ("1E-10", "0.0000000001"),
        ("1E-38", f"{Decimal('1E-38'):f}"),
        (SMALL, f"{Decimal(SMALL):f}"),
        *((same, same) for same in ("1.50", "-1.50", "0", "0.00", "9" * 34, "-" + "9" * 34)),
        *((same, same) for same in ("123456789012345678.9", "-18446744073709551616")),
        *((same, same) for same in ("-9223372036854775808", "-9223372036854775809")),
        *((form, None) for form in ("1E-39", "1E+3", "-0.0", "NaN", "-Infinity")),
    ],
)
def test_decimals(number: str, read: str | None) -> None:
    [properties] = check({"k": amqp.Decimal128(number)})
    expected: Any = {"$decimal": number if read is None else read}
    if number == "9" * 34:
        expected = int(number)
    assert properties["k"] == expected


def test_what_holds_others() -> None:
    described = amqp.Described(amqp.Symbol("x:y"), [1, {"a": b"x"}])
    results = check(
        {},
        {"list": [], "more": [1, ["a", []]], "map": {"b": {"a": 1}, "a": 2}},
        {"array": amqp.Array("ulong", [1, 2**63]), "lists": amqp.Array("list", [[1], []])},
        {"nulls": amqp.Array("null", [None] * 3), "none": amqp.Array("string", [])},
        {"d": described, "twice": amqp.Described(amqp.ULong(2**40), described)},
        {"a": amqp.Array("string", ["x", "y"], [amqp.Symbol("d:d")])},
    )
    assert results[4]["d"] == {"$described": ["x:y", [1, {"a": {"$binary": "eA=="}}]]}
    assert results[5]["a"] == {"$described_array": ["d:d", ["x", "y"]]}
    # A type of the protocol's own is a described value as any other here.
    [(read, _)] = both({"k": amqp.Accepted(), "e": amqp.Error("amqp:not-found", "no")})
    assert read == {
        "k": {"$described": [0x24, []]},
        "e": {"$described": [0x1D, ["amqp:not-found", "no"]]},
    }


def test_keys() -> None:
    results = check(
        amqp.Map([("k", 1), ("k", 2), ("$", 3), ("$" + "l" * 100, 4)]),
        amqp.Map(
            [(1, "x"), ("$a", 2), (amqp.Described(amqp.Symbol("d:d"), 1), amqp.Map([(None, 1)]))]
        ),
        {"in": amqp.Map([("a", 1), ("a", 2)])},
        {"z" * 255: 1, "y" * 200: 2, "$" * 255: 3},
        {"b": 1, "a": {"b": 2, "c": {"a": 3}}},
    )
    assert results[0] == {"$table": [["k", 1], ["k", 2], ["$$", 3], ["$$" + "l" * 100, 4]]}
    assert results[1]["$map"][0] == [1, "x"]
    # Longer than a name may be here, and names that two orders put in different places.
    [(read, text)] = both({"k" * 256: 1, "$" + "l" * 300: 2})
    assert read == {"$table": [[key, number] for key, number in json.loads(text).items()]}
    [(read, _)] = both({"in": {"\uffff": 1, "\U00010000": 2}, "\uffff": 3})
    assert read == {"in": {"$table": [["\uffff", 1], ["\U00010000", 2]]}, "\uffff": 3}


def test_many_keys_and_rows() -> None:
    """Working memory is used again, and grows."""
    maps = [{f"key {i * k % 1000}": [i] * (i % 7) for i in range(size)}
            for k, size in ((1, 300), (7, 3), (3, 70), (1, 0), (11, 1000))]  # fmt: skip
    for read, pairs in zip(check(*maps * 3), maps * 3, strict=True):
        assert read == pairs


@pytest.mark.slow
@given(st.lists(st.dictionaries(keys, values, max_size=4), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_values(maps: list[Any]) -> None:
    """Where JSON text has a type of the protocol's own, only that it can be read."""
    for read, text in both(*maps):
        if '"$type"' not in text:
            assert variants.same(
                with_milliseconds(as_objects(read)), json.dumps(usual(json.loads(text)))
            )


def test_errors_are_those_of_json() -> None:
    good = delivery({"a": 1})
    for bad in (b"\xa1\x01\xff", b"\xa1\x05abc", b"\xff"):
        section = b"\0\x53\x74\xd1" + (len(bad) + 7).to_bytes(4, "big") + b"\0\0\0\2\xa1\1k" + bad
        data = good + amqp.encode(1, amqp.Transfer(0, 1, b"t"), section) + good
        rows = [
            decode(
                data, level="message", field_tables=field_tables, fields=["error", "error_offset"]
            )
            for field_tables in ("json", "variant")
        ]
        assert rows[0] == rows[1]
        assert rows[0]["error"].null_count == 2
        record_batch = decode(data, level="message", field_tables="variant", mode="DROPMALFORMED")
        properties = record_batch["application_properties"].to_pylist()
        assert [variants.read(**row) for row in properties] == [{"a": 1}, {"a": 1}]
        with pytest.raises(DecodeError):
            batch.decode(data, "1.0", "message", field_tables="variant", mode="FAILFAST")


def test_a_full_column_is_an_error() -> None:
    data = delivery({"a": "x" * 1000})
    with pytest.raises(ValueError, match=r"500 bytes.*: application_properties;"):
        _columns.decode_columns(
            amqp.PROTOCOL, data, ["application_properties"], "PERMISSIVE", "rabbitmq", 500,
            "message", "plain", "variant",
        )  # fmt: skip
