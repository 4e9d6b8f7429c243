"""Headers and application properties as columns of decimals; what a column cannot hold."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec import batch, types
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from amqpcodec.errors import DecodeError
from tests.columns.batch_rows import decode, pa

EXACT = Context(prec=7000, Emin=-99999, Emax=99999)
#: Of each family: the name of its column, and the options of a decode.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "0-9-1": ("headers.x", {"protocol": "0-9-1", "level": "message"}),
    "1.0": ("application_properties.x", {"protocol": "1.0", "level": "message"}),
}


def message(protocol: str, value: Any) -> bytes:
    """A message with the value under the key x."""
    if protocol == "1.0":
        transfer = v1.Transfer(handle=0, delivery_id=1, delivery_tag=b"t", settled=True)
        content = v1.Message(b"body", to="q", application_properties={"x": value})
        return v1.encode_message(1, transfer, content, frame_max=4096)
    properties = amqp.Basic.Properties(content_type="text/plain", headers={"x": value})
    return amqp.encode_message(1, amqp.Basic.Publish("e", "k"), properties, b"body")


def column(protocol: str, values: list[Any], kind: str, **options: Any) -> Any:
    """(the column, the errors) of a message for each value."""
    name, more = FAMILIES[protocol]
    data = pa.array([message(protocol, value) for value in values], pa.binary())
    record_batch = decode(data, fields=[f"{name}:{kind}", "body", "error"], **more, **options)
    if options.get("mode") != "DROPMALFORMED":
        assert record_batch.column("body").to_pylist() == [b"body"] * len(values)
    return record_batch.column(0), record_batch.column("error").to_pylist()


def fits(value: Decimal, precision: int, scale: int) -> bool:
    """Whether decimal(precision,scale) holds the value exactly."""
    if not value.is_finite():
        return False
    unscaled = value.scaleb(scale, EXACT)
    return unscaled == unscaled.to_integral_value() and abs(unscaled) < 10**precision


kinds = st.integers(1, 76).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))


@pytest.mark.parametrize("layout", ["plain", "view"])
@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 255))), kinds)
def test_decimals_of_0_9_1(
    layout: str, parts: list[tuple[int, int]], kind: tuple[int, int]
) -> None:
    check("0-9-1", [Decimal(n).scaleb(-scale, EXACT) for n, scale in parts], kind, layout)


small = st.tuples(st.integers(-(10**6), 10**6), st.integers(-9, 9))
large = st.tuples(st.integers(1 - 10**34, 10**34 - 1), st.integers(-6143, 6111))


@pytest.mark.parametrize("layout", ["plain", "view"])
@given(st.lists(small | large), kinds)
def test_decimals_of_1_0(layout: str, parts: list[tuple[int, int]], kind: tuple[int, int]) -> None:
    check("1.0", [Decimal(n).scaleb(power, EXACT) for n, power in parts], kind, layout)


def check(protocol: str, values: list[Decimal], kind: tuple[int, int], layout: str) -> None:
    values_column, errors = column(protocol, values, f"decimal({kind[0]},{kind[1]})", layout=layout)
    wide = pa.decimal128 if kind[0] <= 38 else pa.decimal256
    assert values_column.type == wide(*kind)
    expected = [value if fits(value, *kind) else None for value in values]
    assert values_column.to_pylist() == expected
    assert [error is None for error in errors] == [value is not None for value in expected]


@pytest.mark.parametrize("protocol", FAMILIES)
def test_what_is_taken(protocol: str) -> None:
    """Decimals and integers, exactly; another type is null without an error, and so is nothing."""
    values: list[Any] = [Decimal("1.50"), -7, 0, True, 1.5, "1.5", b"1", None, Decimal("-0.00")]
    decimals, errors = column(protocol, values, "decimal(10,2)")
    assert [None if v is None else str(v) for v in decimals.to_pylist()] == [
        "1.50", "-7.00", "0.00", None, None, None, None, None, "0.00",
    ]  # fmt: skip
    assert errors == [None] * len(values)


@pytest.mark.parametrize("kind", ["Decimal( 5 , 0 )", "DECIMAL(5,0)", " decimal(5,0) "])
def test_how_a_type_is_written(kind: str) -> None:
    decimals, _ = column("0-9-1", [Decimal(99999), Decimal(100000)], kind)
    assert decimals.type == pa.decimal128(5, 0)
    assert decimals.to_pylist() == [99999, None]


@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize(
    "kind", ["decimal(0,0)", "decimal(77,0)", "decimal(5,6)", "decimal(99999,1)"]
)
def test_decimals_that_there_are_not(protocol: str, kind: str) -> None:
    name, options = FAMILIES[protocol]
    with pytest.raises(
        ValueError, match="1 to 76 digits, and no more of them after the point"
    ) as e:
        batch.schema(options["protocol"], "message", [f"{name}:{kind}"])
    assert f"{name}:{kind}" in str(e.value)


@pytest.mark.parametrize("protocol", FAMILIES)
def test_decimals_as_text(protocol: str) -> None:
    """Every digit that the wire has, also zeros at the end."""
    texts = ["1.50", "-0.001", "0.0", "2147483647", "0.0000001"]
    strings, errors = column(protocol, [Decimal(text) for text in texts], "string")
    assert [Decimal(text).as_tuple() for text in strings.to_pylist()] == [
        Decimal(text).as_tuple() for text in texts
    ]
    assert errors == [None] * len(texts)


def test_longest_text_of_a_decimal() -> None:
    tiny = Decimal(-(2**31)).scaleb(-255, EXACT)
    for layout in ("plain", "view"):
        strings, _ = column("0-9-1", [tiny] * 50, "string", layout=layout)
        assert strings.to_pylist() == [f"{tiny:f}"] * 50


def test_text_of_no_number() -> None:
    strings, _ = column("1.0", [Decimal("NaN"), Decimal("-Infinity"), Decimal("1E+6000")], "string")
    assert strings.to_pylist() == ["NaN", "-Infinity", "1E+6000"]


#: (protocol, value, type, what the error says after the place "…headers: " or "…properties: ").
FULL = [
    ("0-9-1", Decimal("1.505"), "decimal(10,2)", "decimal does not fit decimal(10,2)"),
    ("0-9-1", 10**8, "decimal(10,2)", "integer does not fit decimal(10,2)"),
    ("0-9-1", types.Timestamp(2**64 - 1), "timestamp",
     f"timestamp {2**64 - 1} does not fit the column"),
    ("1.0", Decimal("1.505"), "decimal(10,2)", "decimal128 does not fit decimal(10,2)"),
    ("1.0", v1.Decimal32(Decimal("NaN")), "decimal(9,2)", "decimal32 does not fit decimal(9,2)"),
    ("1.0", v1.Decimal64(Decimal("-Infinity")), "decimal(76,2)",
     "decimal64 does not fit decimal(76,2)"),
    ("1.0", v1.ULong(10**8), "decimal(10,2)", "ulong does not fit decimal(10,2)"),
    ("1.0", v1.ULong(2**64 - 1), "long", f"ulong {2**64 - 1} does not fit the column"),
    ("1.0", v1.Timestamp(-(2**63)), "timestamp", f"timestamp {-(2**63)} does not fit the column"),
    ("1.0", v1.Timestamp(2**63 - 1), "timestamp", f"timestamp {2**63 - 1} does not fit the column"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "value", "kind", "text"), FULL)
def test_a_value_that_does_not_fit(protocol: str, value: Any, kind: str, text: str) -> None:
    """It is null with an error, as of a property; FAILFAST raises, DROPMALFORMED drops it."""
    values_column, errors = column(protocol, [5, value, 5, 5], kind)
    assert values_column.null_count == (1 if kind != "timestamp" else 4)
    assert errors[:1] + errors[2:] == [None] * 3
    raw = message(protocol, value)
    place = raw.index(b"\xa1\x01x" if protocol == "1.0" else b"\x01x") + (
        3 if protocol == "1.0" else 2
    )
    field = "application-properties" if protocol == "1.0" else "basic.properties.headers"
    assert errors[1] == f"{field}: {text} (offset {place})"
    with pytest.raises(DecodeError) as caught:
        column(protocol, [5, value], kind, mode="FAILFAST")
    assert text in str(caught.value)
    values_column, _ = column(protocol, [5, value, 5], kind, mode="DROPMALFORMED")
    assert len(values_column) == 2


def test_integers_beyond_int64_by_the_letter_of_0_9_1() -> None:
    """There, l has no sign."""
    raw = amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers={"x": -(2**62)})))
    raw = raw.replace(b"l\xc0", b"l\xff", 1)
    names = ["headers.x:long", "headers.x:decimal(20,0)", "headers.x:double", "error"]
    (row,) = decode(raw, fields=names, dialect="0-9-1").to_pylist()
    number = 0xFF << 56
    assert row["headers.x:long"] is None
    assert row["headers.x:decimal(20,0)"] == number
    assert row["headers.x:double"] == float(number)
    assert f"integer {number} does not fit the column" in row["error"]
    (row,) = decode(raw, fields=names).to_pylist()
    assert row["headers.x:long"] == row["headers.x:decimal(20,0)"] == number - 2**64
    assert row["error"] is None


@pytest.mark.parametrize("protocol", FAMILIES)
def test_columns_that_come_late(protocol: str) -> None:
    """Rows without a value before and after those with one, over many blocks."""
    values: list[Any] = ["no"] * 300 + [Decimal(n).scaleb(-2) for n in range(500)] + ["no"] * 300
    for kind in ("decimal(12,2)", "decimal(60,5)"):
        decimals, _ = column(protocol, values, kind)
        assert decimals.to_pylist() == [None if value == "no" else value for value in values]


def test_a_fault_after_a_value_that_does_not_fit_keeps_its_place() -> None:
    """A section after the one with the error does not take the name of its place away."""
    transfer = v1.Transfer(handle=0, delivery_id=1, delivery_tag=b"t", settled=True)
    content = v1.Message(
        b"x", creation_time=v1.Timestamp(2**63 - 1), application_properties={"x": 1}
    )
    raw = v1.encode_message(1, transfer, content, frame_max=4096)
    names = ["properties.creation_time", "application_properties.x:long", "error"]
    (row,) = decode(raw, protocol="1.0", level="message", fields=names).to_pylist()
    assert row["application_properties.x:long"] == 1
    assert row["error"].startswith("properties.creation_time: timestamp 9223372036854775807 does")


def test_the_first_value_that_does_not_fit_is_the_one_an_error_names() -> None:
    transfer = v1.Transfer(handle=0, delivery_id=1, delivery_tag=b"t", settled=True)
    far = v1.ULong(2**64 - 1)
    content = v1.Message(b"x", application_properties={"x": far, "y": far, "z": 3})
    raw = v1.encode_message(1, transfer, content, frame_max=4096)
    fields = [*(f"application_properties.{name}:long" for name in "xyz"), "error", "error_offset"]
    (row,) = decode(raw, protocol="1.0", level="message", fields=fields).to_pylist()
    *numbers, error, offset = row.values()
    assert numbers == [None, None, 3]
    assert error.startswith(f"application-properties: ulong {far} does not fit the column")
    assert offset == raw.index(b"\xa1\x01x") + 3


def test_lists_and_maps_are_no_value_of_another_type() -> None:
    for kind in ("long", "string", "binary", "decimal(5,0)", "timestamp"):
        values, errors = column("1.0", [[1, 2], {"a": 1}], kind)
        assert values.to_pylist() == errors == [None, None]


@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize("kind", ["decimal(10,2)", "bool", "Int", "long"])
def test_encode_takes_what_decode_called_a_column(protocol: str, kind: str) -> None:
    """A type in a column's name, however it is written, is no part of the header's name."""
    name, options = FAMILIES[protocol]
    value: Any = {"decimal(10,2)": Decimal("1.50"), "bool": True}.get(kind, 2**40)
    record_batch = decode(message(protocol, value), fields=[f"{name}:{kind}", "body"], **options)
    back = batch.encode(record_batch, protocol)
    assert pa.array(back.errors).to_pylist() == [None]
    (row,) = decode(
        pa.array(back), fields=[f"{name}:{kind}", f"{name}:json"], **options
    ).to_pylist()
    assert row[f"{name}:{kind}"] == value
    assert "1.50" in row[f"{name}:json"] or kind != "decimal(10,2)"


def test_encode_keeps_colons_of_names() -> None:
    rows = pa.RecordBatch.from_pydict({"headers.:long": [1], "headers.a:b": [2]})
    (raw,) = pa.array(batch.encode(rows)).to_pylist()
    _, (_, header), *_ = amqp.Decoder().feed(raw)
    assert dict(header.properties.headers) == {":long": 1, "a:b": 2}
