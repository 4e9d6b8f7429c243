"""Field tables: every tag in both dialects, plain and typed, in both directions."""

from __future__ import annotations

import copy
import pickle
import struct
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import EncodeError, _codec, types
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import same

MOMENT = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
T = b"T" + (1_700_000_000).to_bytes(8, "big")
RABBIT, PDF = "rabbitmq", "0-9-1"


def read(raw: bytes, dialect: str = RABBIT, tables: str = "plain") -> Any:
    """What one tagged value becomes, as a table entry and as an array item alike."""
    data = w.header_frame(headers=w.table(("k", raw), ("a", w.array(raw))))
    result = amqp.decode(data, dialect=dialect, tables=tables)
    assert result is not None
    headers = result[2].properties.headers
    assert list(headers) == ["k", "a"]
    assert same(headers["a"], [headers["k"]])
    assert amqp.encode(1, result[2], dialect=dialect) == data
    return headers["k"]


def written(value: Any, dialect: str = RABBIT) -> bytes:
    """Tag and bytes that a value is encoded to, the same inside a table and an array."""
    declare = amqp.Queue.Declare(arguments={"k": value, "a": [value]})
    octets = amqp.encode(1, declare, dialect=dialect)
    start = octets.index(b"\x01k") + 2
    stop = octets.index(b"\x01aA", start)
    raw = octets[start:stop]
    assert octets == w.method_frame(
        "queue.declare", arguments=w.table(("k", raw), ("a", w.array(raw)))
    )
    return raw


# tag bytes, RabbitMQ's meaning, the PDF's meaning
READS: list[tuple[bytes, Any, Any]] = [
    (b"t\0", False, False),
    (b"t\1", True, True),
    (b"t\x80", True, True),
    (b"b\x80", -128, -128),
    (b"b\x7f", 127, 127),
    (b"B\xff", 255, 255),
    (b"U\xff\xfe", -2, -2),
    (b"u\xff\xfe", 65534, 65534),
    (b"s\x80\0", -32768, None),
    (b"s\0\5", 5, None),
    (b"s\x02hi", None, "hi"),
    (b"s\x02\xff\xfe", None, "\udcff\udcfe"),
    (b"I\x80\0\0\0", -(1 << 31), -(1 << 31)),
    (b"I\x7f\xff\xff\xff", (1 << 31) - 1, (1 << 31) - 1),
    (b"i\xff\xff\xff\xff", (1 << 32) - 1, (1 << 32) - 1),
    (b"l" + b"\xff" * 8, -1, (1 << 64) - 1),
    (b"l\x80" + b"\0" * 7, -(1 << 63), 1 << 63),
    (b"L" + b"\xff" * 8, -1, -1),
    (b"L\x7f" + b"\xff" * 7, (1 << 63) - 1, (1 << 63) - 1),
    (b"f" + struct.pack(">f", 1.5), 1.5, 1.5),
    (b"f" + struct.pack(">f", 0.1), struct.unpack(">f", struct.pack(">f", 0.1))[0], ...),
    (b"f\x7f\x80\0\0", float("inf"), float("inf")),
    (b"d" + struct.pack(">d", 0.1), 0.1, 0.1),
    (b"d\x80" + b"\0" * 7, -0.0, -0.0),
    (b"d\xff\xf0" + b"\0" * 6, float("-inf"), float("-inf")),
    (b"D\2\0\0\x01\x3a", Decimal("3.14"), Decimal("3.14")),
    (b"D\0\0\0\0\0", Decimal("0"), Decimal("0")),
    (b"D\3\0\0\0\0", Decimal("0.000"), Decimal("0.000")),
    (b"D\1\xff\xff\xff\xfb", Decimal("-0.5"), Decimal("-0.5")),
    (b"D\xff\x80\0\0\0", Decimal((1, tuple(map(int, "2147483648")), -255)), ...),
    (b"S\0\0\0\2\xc3\xa9", "é", "é"),
    (b"S\0\0\0\0", "", ""),
    (b"S\0\0\0\2\xff\0", b"\xff\0", b"\xff\0"),
    (b"x\0\0\0\2\xc3\xa9", b"\xc3\xa9", b"\xc3\xa9"),
    (b"x\0\0\0\0", b"", b""),
    (T, MOMENT, MOMENT),
    (b"T" + b"\xff" * 8, types.Timestamp((1 << 64) - 1), types.Timestamp((1 << 64) - 1)),
    (b"V", None, None),
    (w.array(), [], []),
    (w.array(b"V", b"t\1", w.array(b"b\1")), [None, True, [1]], [None, True, [1]]),
    (w.nested(), {}, {}),
    (w.nested(("x", w.nested(("y", b"V")))), {"x": {"y": None}}, {"x": {"y": None}}),
]
ONLY_PDF = {b"s\x02hi", b"s\x02\xff\xfe"}
ONLY_RABBIT = {b"s\x80\0", b"s\0\5"}


@pytest.mark.parametrize(("raw", "value", "_"), [r for r in READS if r[0] not in ONLY_PDF])
def test_read_in_rabbitmqs_dialect(raw: bytes, value: Any, _: Any) -> None:
    assert same(read(raw, RABBIT), value)


@pytest.mark.parametrize(("raw", "value", "pdf"), [r for r in READS if r[0] not in ONLY_RABBIT])
def test_read_by_the_pdf(raw: bytes, value: Any, pdf: Any) -> None:
    assert same(read(raw, PDF), value if pdf is ... else pdf)


def test_rabbitmq_is_the_default() -> None:
    data = w.header_frame(headers=w.table(("k", b"l" + b"\xff" * 8)))
    assert amqp.decode(data)[2].properties.headers == {"k": -1}
    assert written(1 << 40) == b"l" + (1 << 40).to_bytes(8, "big")


# value, RabbitMQ's bytes, the PDF's bytes
WRITES: list[tuple[Any, bytes, bytes]] = [
    (True, b"t\1", b"t\1"),
    (False, b"t\0", b"t\0"),
    (0, b"I\0\0\0\0", b"I\0\0\0\0"),
    (-1, b"I\xff\xff\xff\xff", b"I\xff\xff\xff\xff"),
    ((1 << 31) - 1, b"I\x7f\xff\xff\xff", b"I\x7f\xff\xff\xff"),
    (-(1 << 31), b"I\x80\0\0\0", b"I\x80\0\0\0"),
    (1 << 31, b"l\0\0\0\0\x80\0\0\0", b"L\0\0\0\0\x80\0\0\0"),
    (
        -(1 << 31) - 1,
        b"l" + struct.pack(">q", -(1 << 31) - 1),
        b"L" + struct.pack(">q", -(1 << 31) - 1),
    ),
    ((1 << 63) - 1, b"l\x7f" + b"\xff" * 7, b"L\x7f" + b"\xff" * 7),
    (-(1 << 63), b"l\x80" + b"\0" * 7, b"L\x80" + b"\0" * 7),
    (1.5, b"d" + struct.pack(">d", 1.5), b"d" + struct.pack(">d", 1.5)),
    (-0.0, b"d\x80" + b"\0" * 7, b"d\x80" + b"\0" * 7),
    (float("inf"), b"d\x7f\xf0" + b"\0" * 6, b"d\x7f\xf0" + b"\0" * 6),
    (Decimal("3.14"), b"D\2\0\0\x01\x3a", b"D\2\0\0\x01\x3a"),
    (Decimal("-0.50"), b"D\2\xff\xff\xff\xce", b"D\2\xff\xff\xff\xce"),
    (Decimal("0.000"), b"D\3\0\0\0\0", b"D\3\0\0\0\0"),
    (Decimal((0, (1,), -255)), b"D\xff\0\0\0\1", b"D\xff\0\0\0\1"),
    (Decimal((1 << 31) - 1), b"D\0\x7f\xff\xff\xff", b"D\0\x7f\xff\xff\xff"),
    (Decimal(-(1 << 31)), b"D\0\x80\0\0\0", b"D\0\x80\0\0\0"),
    ("é", b"S\0\0\0\2\xc3\xa9", b"S\0\0\0\2\xc3\xa9"),
    ("", b"S\0\0\0\0", b"S\0\0\0\0"),
    (b"\xff", b"x\0\0\0\1\xff", b"S\0\0\0\1\xff"),
    (bytearray(b"ab"), b"x\0\0\0\2ab", b"S\0\0\0\2ab"),
    (memoryview(b"ab"), b"x\0\0\0\2ab", b"S\0\0\0\2ab"),
    (MOMENT, T, T),
    (datetime(1970, 1, 1, tzinfo=UTC), b"T" + b"\0" * 8, b"T" + b"\0" * 8),
    (None, b"V", b"V"),
    ([], b"A\0\0\0\0", b"A\0\0\0\0"),
    ((1, "x"), w.array(b"I\0\0\0\1", b"S\0\0\0\1x"), w.array(b"I\0\0\0\1", b"S\0\0\0\1x")),
    ({}, b"F\0\0\0\0", b"F\0\0\0\0"),
    ({"é": [None]}, w.nested(("é", w.array(b"V"))), w.nested(("é", w.array(b"V")))),
]


@pytest.mark.parametrize(("value", "raw", "pdf"), WRITES, ids=range(len(WRITES)))
def test_write(value: Any, raw: bytes, pdf: bytes) -> None:
    assert written(value, RABBIT) == raw
    assert written(value, PDF) == pdf


@pytest.mark.parametrize("value", [1 << 63, (1 << 64) - 1])
def test_unsigned_integers_by_the_pdf(value: int) -> None:
    assert written(value, PDF) == b"l" + value.to_bytes(8, "big")
    with pytest.raises(EncodeError):
        written(value, RABBIT)
    with pytest.raises(EncodeError):
        written(1 << 64, PDF)


def test_decimals_with_a_positive_exponent() -> None:
    assert written(Decimal("1E+2")) == b"D\0\0\0\0\x64"
    with pytest.raises(EncodeError):
        written(Decimal("1E+10"))


def test_bool_is_not_an_integer_here() -> None:
    assert written(True) != written(1)


def test_nan_is_written() -> None:
    raw = written(float("nan"))
    assert raw[:1] == b"d"
    assert same(read(raw), struct.unpack(">d", raw[1:])[0])


def test_subclasses_of_the_plain_types() -> None:
    class Text(str):
        pass

    class Number(int):
        pass

    class Real(float):
        pass

    class Pairs(dict[str, Any]):
        pass

    assert written(Text("x")) == written("x")
    assert written(Number(5)) == written(5)
    assert written(Real(1.5)) == written(1.5)
    assert written(Pairs(k=1)) == written({"k": 1})


def test_order_of_keys_is_kept() -> None:
    names = ["b", "a", "", "c", "é", "B"]
    octets = amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers=dict.fromkeys(names, 1))))
    assert list(amqp.decode(octets)[2].properties.headers) == names


# type name, python value, tag bytes, dialects
TYPED: list[tuple[str, Any, bytes, tuple[str, ...]]] = [
    ("Int8", -128, b"b\x80", (RABBIT, PDF)),
    ("Int8", 127, b"b\x7f", (RABBIT, PDF)),
    ("UInt8", 255, b"B\xff", (RABBIT, PDF)),
    ("Int16", -2, b"s\xff\xfe", (RABBIT,)),
    ("Int16", -2, b"U\xff\xfe", (PDF,)),
    ("Int16U", -2, b"U\xff\xfe", (RABBIT,)),
    ("UInt16", 65535, b"u\xff\xff", (RABBIT, PDF)),
    ("Int32", -(1 << 31), b"I\x80\0\0\0", (RABBIT, PDF)),
    ("UInt32", (1 << 32) - 1, b"i\xff\xff\xff\xff", (RABBIT, PDF)),
    ("Int64", -1, b"l" + b"\xff" * 8, (RABBIT,)),
    ("Int64", -1, b"L" + b"\xff" * 8, (PDF,)),
    ("Int64L", 5, b"L" + b"\0" * 7 + b"\5", (RABBIT,)),
    ("UInt64", (1 << 64) - 1, b"l" + b"\xff" * 8, (PDF,)),
    ("Float", 1.5, b"f\x3f\xc0\0\0", (RABBIT, PDF)),
    ("Double", 0.1, b"d" + struct.pack(">d", 0.1), (RABBIT, PDF)),
    ("LongString", "é", b"S\0\0\0\2\xc3\xa9", (RABBIT, PDF)),
    ("LongBytes", b"\xff", b"S\0\0\0\1\xff", (RABBIT, PDF)),
    ("ShortString", "hi", b"s\2hi", (PDF,)),
    ("ByteArray", b"\0\xff", b"x\0\0\0\2\0\xff", (RABBIT, PDF)),
    ("Timestamp", 1_700_000_000, T, (RABBIT, PDF)),
    ("Timestamp", (1 << 64) - 1, b"T" + b"\xff" * 8, (RABBIT, PDF)),
]
TYPED_CASES = [(n, v, raw, d) for n, v, raw, dialects in TYPED for d in dialects]


@pytest.mark.parametrize(("name", "value", "raw", "dialect"), TYPED_CASES)
def test_typed_values_both_ways(name: str, value: Any, raw: bytes, dialect: str) -> None:
    kind = getattr(types, name)
    typed = kind(value)
    assert typed == value
    assert isinstance(typed, type(value))
    assert written(typed, dialect) == raw
    typed_value = read(raw, dialect, "typed")
    assert type(typed_value) is kind
    assert typed_value == value
    assert written(typed_value, dialect) == raw


@pytest.mark.parametrize("dialect", [RABBIT, PDF])
def test_typed_tables_leave_the_unambiguous_types_plain(dialect: str) -> None:
    for raw, value in (
        (b"t\1", True),
        (b"t\0", False),
        (b"D\2\0\0\x01\x3a", Decimal("3.14")),
        (w.array(b"t\1", w.array()), [True, []]),
        (w.nested(("k", b"t\0")), {"k": False}),
    ):
        assert same(read(raw, dialect, "typed"), value)
        assert written(value, dialect) == raw


@pytest.mark.parametrize("dialect", [RABBIT, PDF])
def test_void(dialect: str) -> None:
    void = read(b"V", dialect, "typed")
    assert type(void) is types.Void
    assert void == types.Void()
    assert not void
    assert hash(void) == hash(types.Void())
    assert written(types.Void(), dialect) == b"V"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Int8", 128),
        ("Int8", -129),
        ("UInt8", 256),
        ("UInt8", -1),
        ("Int16", 1 << 15),
        ("Int16U", 1 << 15),
        ("UInt16", 1 << 16),
        ("UInt16", -1),
        ("Int32", 1 << 31),
        ("UInt32", 1 << 32),
        ("UInt32", -1),
        ("Int64", 1 << 63),
        ("Int64L", -(1 << 63) - 1),
        ("UInt64", 1 << 64),
        ("UInt64", -1),
        ("Timestamp", -1),
        ("Timestamp", 1 << 64),
        ("ShortString", "x" * 256),
    ],
)
def test_typed_values_out_of_range(name: str, value: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        written(getattr(types, name)(value), PDF)


@pytest.mark.parametrize(("name", "content"), [("UInt64", 5), ("ShortString", "5")])
def test_types_that_rabbitmq_does_not_have(name: str, content: Any) -> None:
    value = getattr(types, name)(content)
    with pytest.raises(EncodeError) as caught:
        written(value, RABBIT)
    assert str(caught.value.field).startswith("arguments")


def test_float_that_does_not_fit_32_bits() -> None:
    """Float is the tag f; what overflows it is refused or infinite, but never another tag."""
    try:
        raw = written(types.Float(1e300))
    except (EncodeError, ValueError, OverflowError):
        return
    assert raw[:1] == b"f"


def test_typed_tables_reencode_by_value() -> None:
    """After a change of everything around, each value still carries its own tag."""
    entries = [(f"k{i}", raw) for i, (_, _, raw, d) in enumerate(TYPED) if RABBIT in d]
    data = w.header_frame(headers=w.table(*entries))
    headers = amqp.decode(data, tables="typed")[2].properties.headers
    moved = amqp.Basic.Properties(headers={"first": True, **headers})
    assert amqp.encode(1, amqp.Header(0, moved)) == w.header_frame(
        headers=w.table(("first", b"t\1"), *entries)
    )


def test_typed_arithmetic_gives_plain_values() -> None:
    assert type(types.Int8(5) + 1) is int
    assert type(types.Float(1.5) * 2) is float


def test_plain_values_in_a_typed_table() -> None:
    data = w.header_frame(headers=w.table(("a", b"b\1"), ("b", b"S\0\0\0\1x")))
    frame = amqp.decode(data, tables="typed")[2]
    frame.properties.headers["c"] = 7
    frame.properties.headers["b"] = "y"
    assert amqp.encode(1, frame) == w.header_frame(
        headers=w.table(("a", b"b\1"), ("b", b"S\0\0\0\1y"), ("c", b"I\0\0\0\7"))
    )


def test_typed_type_change_is_a_change() -> None:
    """An equal number of another type is another value: 5 is not Int8(5)."""
    data = w.header_frame(headers=w.table(("a", b"b\5"), ("b", b"V")))
    frame = amqp.decode(data, tables="typed")[2]
    frame.properties.headers["a"] = types.UInt16(5)
    assert amqp.encode(1, frame) == w.header_frame(headers=w.table(("a", b"u\0\5"), ("b", b"V")))


def test_typed_values_survive_pickle_and_compare_plainly() -> None:
    for name, value, _, _ in TYPED:
        typed = getattr(types, name)(value)
        for other in (pickle.loads(pickle.dumps(typed)), copy.deepcopy(typed), copy.copy(typed)):
            assert type(other) is type(typed)
            assert other == typed
        assert hash(typed) == hash(value)


@pytest.mark.parametrize(("tag", "form", "shape"), _codec.table_forms())
def test_a_form_takes_the_bytes_that_its_shape_says(tag: str, form: int, shape: int) -> None:
    """Else the module is not loaded: reading would pass the bytes that were checked."""
    _codec.check_forms(((tag, form, shape),))
    if shape < 0:
        wrong_shapes, message = [0, 4, -3], "a form of TABLE_TEXTS is SHAPE_LONG or SHAPE_SHORT"
    else:
        message = f"its form stores {shape} bytes, its shape says "
        wrong_shapes = [other for other in (0, 1, 3, 7, 9) if other != shape]
        with pytest.raises(ImportError, match=f"tag '{tag}': the shape of .* is its width"):
            _codec.check_forms(((tag, form, -2),))
    for wrong_shape in wrong_shapes:
        with pytest.raises(ImportError, match=f"tag '{tag}': {message}"):
            _codec.check_forms(((tag, form, wrong_shape),))
