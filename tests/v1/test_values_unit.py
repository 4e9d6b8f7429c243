"""Every encoding of every primitive type, both ways; what plain and typed values become."""

from __future__ import annotations

import datetime
import json
import math
import sys
import uuid
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import DecodeError, EncodeError
from amqpcodec import v1_0 as amqp
from tests.paths import shared_dir
from tests.support.amqp10_wire import nested_lists

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=1))
ONE_AND_A_HALF = "823ff8000000000000"
U = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
A300 = "61" * 300

#: bytes, plain value, typed value. The typed value encodes to the bytes if they are the smallest.
SMALLEST: list[tuple[str, Any, Any]] = [
    ("40", None, None),
    ("41", True, True),
    ("42", False, False),
    ("50ff", 255, amqp.UByte(255)),
    ("60ffff", 65535, amqp.UShort(65535)),
    ("43", 0, amqp.UInt(0)),
    ("52ff", 255, amqp.UInt(255)),
    ("7000000100", 256, amqp.UInt(256)),
    ("70ffffffff", 2**32 - 1, amqp.UInt(2**32 - 1)),
    ("44", 0, amqp.ULong(0)),
    ("5301", 1, amqp.ULong(1)),
    ("80ffffffffffffffff", 2**64 - 1, amqp.ULong(2**64 - 1)),
    ("5180", -128, amqp.Byte(-128)),
    ("618000", -32768, amqp.Short(-32768)),
    ("5480", -128, amqp.Int(-128)),
    ("71ffffff7f", -129, amqp.Int(-129)),
    ("5500", 0, amqp.Long(0)),
    ("557f", 127, amqp.Long(127)),
    ("810000000000000080", 128, amqp.Long(128)),
    ("818000000000000000", -(2**63), amqp.Long(-(2**63))),
    ("723fc00000", 1.5, amqp.Float(1.5)),
    ("823ff8000000000000", 1.5, amqp.Double(1.5)),
    ("7432800001", Decimal(1), amqp.Decimal32(1)),
    ("84b1c0000000000001", Decimal(-1), amqp.Decimal64(-1)),
    ("94" + "303e" + "00" * 13 + "0f", Decimal("1.5"), amqp.Decimal128("1.5")),
    ("730001f600", amqp.Char("\U0001f600"), amqp.Char("\U0001f600")),
    (
        "8300000000000003e8",
        datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        amqp.Timestamp(1000),
    ),
    (
        "83ffffffffffffffff",
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
        amqp.Timestamp(-1),
    ),
    ("837fffffffffffffff", amqp.Timestamp(2**63 - 1), amqp.Timestamp(2**63 - 1)),
    ("98" + U.hex, U, U),
    ("a000", b"", b""),
    ("a003010203", b"\1\2\3", b"\1\2\3"),
    ("b00000012c" + A300, b"a" * 300, b"a" * 300),
    ("a100", "", ""),
    ("a102c3a9", "é", "é"),
    ("b10000012c" + A300, "a" * 300, "a" * 300),
    ("a30161", amqp.Symbol("a"), amqp.Symbol("a")),
    ("b30000012c" + A300, amqp.Symbol("a" * 300), amqp.Symbol("a" * 300)),
    ("45", [], []),
    ("c00402550140", [1, None], [amqp.Long(1), None]),
    ("d0000001360000000241b00000012c" + A300, [True, b"a" * 300], [True, b"a" * 300]),
    ("c10100", {}, {}),
    ("c10602a1016b5505", {"k": 5}, {"k": amqp.Long(5)}),
    (
        "e004025601" + "00",
        amqp.Array("boolean", [True, False]),
        amqp.Array("boolean", [True, False]),
    ),
    ("e003015205", amqp.Array("uint", [5]), amqp.Array("uint", [amqp.UInt(5)])),
    ("e0020040", amqp.Array("null"), amqp.Array("null")),
    ("0053ff5501", amqp.Described(255, 1), amqp.Described(255, amqp.Long(1))),
    (
        "00a3036b6579a10176",
        amqp.Described(amqp.Symbol("key"), "v"),
        amqp.Described(amqp.Symbol("key"), "v"),
    ),
]

#: bytes of encodings that are not the smallest, and the plain value.
LARGER: list[tuple[str, Any]] = [
    ("5601", True),
    ("5600", False),
    ("5200", 0),
    ("7000000000", 0),
    ("5300", 0),
    ("800000000000000001", 1),
    ("7100000001", 1),
    ("8100000000000000ff", 255),
    ("b00000000161", b"a"),
    ("b10000000161", "a"),
    ("b30000000161", amqp.Symbol("a")),
    ("c00100", []),
    ("d0000000050000000140", [None]),
    ("d10000000800000002a1016b40", {"k": None}),
    ("f000000009000000017100000005", amqp.Array("int", [5])),
]


@pytest.mark.parametrize(
    ("octets", "plain", "typed"), SMALLEST, ids=[row[0][:40] for row in SMALLEST]
)
def test_smallest(octets: str, plain: Any, typed: Any) -> None:
    data = bytes.fromhex(octets)
    for kind, expected in (("plain", plain), ("typed", typed)):
        value, consumed = amqp.decode_value(data, types=kind)
        assert (value, type(value), consumed) == (expected, type(expected), len(data))
    assert amqp.encode_value(typed) == data
    assert amqp.decode_value(b"\0" + data + b"\0", 1) == (plain, len(data))


@pytest.mark.parametrize(("octets", "plain"), LARGER, ids=[row[0][:40] for row in LARGER])
def test_larger_encodings_are_read(octets: str, plain: Any) -> None:
    data = bytes.fromhex(octets)
    value, consumed = amqp.decode_value(data)
    assert (value, type(value), consumed) == (plain, type(plain), len(data))


def test_all_39_encodings_are_in_these_tables() -> None:
    """But those that hold others' constructors: the first byte of each row."""
    codes = {code for _, encodings in amqp.PROTOCOL.table["primitives"] for code, *_ in encodings}
    assert len(codes) == 39
    covered_codes = {bytes.fromhex(row[0])[0] for row in [*SMALLEST, *LARGER]}
    assert codes - covered_codes == set()


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        (1, "5501"),  # an int is a long, whatever its value
        (2**40, "810000010000000000"),
        (True, "41"),
        (1.0, "823ff0000000000000"),
        ("a", "a10161"),
        (b"a", "a00161"),
        (bytearray(b"a"), "a00161"),
        (memoryview(b"a"), "a00161"),
        (Decimal("1.5"), "94" + "303e" + "00" * 13 + "0f"),
        (datetime.datetime(1970, 1, 1, 1, tzinfo=EAST), "83" + "00" * 8),
        (datetime.datetime(1970, 1, 1, 0, 0, 0, 1999, tzinfo=UTC), "83" + "00" * 7 + "01"),
        ((1,), "c003015501"),
        ({1: 2}, "c1050255015502"),
        (amqp.Map([(1.5, 2), (1.5, 3)]), f"c11704{ONE_AND_A_HALF}5502{ONE_AND_A_HALF}5503"),
        (amqp.Role.RECEIVER, "5501"),
        (amqp.AmqpError.NOT_FOUND, "a30e" + b"amqp:not-found".hex()),
        (amqp.Accepted(), "00532445"),
        (amqp.Data(b"x"), "005375a00178"),
        (amqp.AmqpValue(), "00537740"),
        (amqp.Header(priority=4), "005370c00402405004"),
        (amqp.Header(durable=False), "005370c0020142"),
    ],
)  # fmt: skip
def test_python_to_amqp(value: Any, octets: str) -> None:
    assert amqp.encode_value(value).hex() == octets


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (2**63, "long takes .*; ULong holds up to"),
        (-(2**63) - 1, "long takes"),
        (datetime.datetime(2020, 1, 1), "aware datetime"),
        (Decimal("1" * 35), "34 digits"),
        (Decimal("1E+7000"), "34 digits"),
        (Decimal("1" * 5000), "34 digits"),
        (Decimal("NaN" + "1" * 5000), "33 digits"),
        ("\ud800", "surrogate"),
        (object(), "no type of AMQP 1.0 stands for object"),
        ({"a": {1, 2}}, "stands for set"),
        (amqp.Array("nonsense", []), "no such type"),
        (amqp.Array("nothing", [1]), "no such type"),
        (amqp.Array("double", [10**400]), "so large a number"),
        (amqp.Array("float", [1e39]), "so large a number"),
        (amqp.Array("float", [-(10**400)]), "so large a number"),
        (amqp.Array("double", ["1"]), "takes float, not str"),
        (amqp.Array("ubyte", [256]), "ubyte takes 0 to 255"),
        (amqp.Array("string", [b"a"]), "takes str, not bytes"),
        (amqp.Array("null", [1]), "takes None"),
        (amqp.Array("boolean", [1]), "boolean takes bool"),
        (amqp.Array("list", [1]), "takes list"),
        (amqp.Array("map", [1]), "takes dict"),
        (amqp.Array("uuid", [1]), "takes UUID"),
        (amqp.Array("symbol", ["é"]), "ASCII"),
        (amqp.Array("null", [None] * 65537), "at most 65536"),
        (amqp.Data("text"), "takes bytes, not str"),
        (amqp.ProtocolHeader(), "stands for ProtocolHeader"),
    ],
)
def test_what_cannot_be_encoded(value: Any, what: str) -> None:
    with pytest.raises(EncodeError, match=what):
        amqp.encode_value(value)


@pytest.mark.parametrize(
    ("octets", "name", "offset"),
    [
        ("", "TruncatedError", 0),
        ("70000000", "TruncatedError", 1),
        ("a161", "TruncatedError", 2),
        ("a1ff61", "TruncatedError", 2),  # azure's returns b'a'
        ("b1ffffffff", "TruncatedError", 5),
        ("f0000000097fffffffa3", "TruncatedError", 5),
        ("3f", "UnknownTagError", 0),
        ("c002015f", "UnknownTagError", 3),
        ("a101ff", "TextError", 2),
        ("a301ff", "TextError", 2),
        ("a103eda080", "TextError", 2),
        ("7300110000", "TextError", 1),
        ("730000d800", "TextError", 1),
        ("c00000", "SizeError", 1),
        ("d000000003000000", "TruncatedError", 1),
        ("d00000000300000000", "SizeError", 1),
        ("c003014040", "SizeError", 4),  # bytes left in the list
        ("c0020240", "SizeError", 3),  # more items than bytes
        ("c10201" + "40", "SizeError", 3),  # an odd count
        ("c003" + "01a102", "TruncatedError", 5),  # a string runs out of its list
        ("e003027100", "SizeError", 4),
        ("e0030171" + "00", "TruncatedError", 4),
        ("e00101", "TruncatedError", 3),
        ("e0020119", "UnknownTagError", 3),
        ("00", "TruncatedError", 1),
        ("0053ff", "TruncatedError", 3),
        ("005324a10161", "FieldError", 3),
    ],
)
def test_what_cannot_be_decoded(octets: str, name: str, offset: int) -> None:
    data = bytes.fromhex(octets)
    for kind in ("plain", "typed"):
        with pytest.raises(DecodeError) as caught:
            amqp.decode_value(data, types=kind)
        assert type(caught.value).__name__ == name, caught.value
        assert caught.value.condition == "amqp:decode-error"
    with pytest.raises(DecodeError) as caught:
        amqp.decode_value(b"\x40" * 3 + data, 3)
    assert caught.value.offset == offset + 3


def test_depth_is_bounded() -> None:
    assert amqp.decode_value(nested_lists(127))[1] == len(nested_lists(127))
    for bomb in (
        nested_lists(128),
        nested_lists(5000),
        b"\0" * 100_000,
        b"\xe0\x03\x01" * 1000,
        b"\xc0\xff\x01" * 300,
    ):
        with pytest.raises(DecodeError):
            amqp.decode_value(bomb)
    with pytest.raises(DecodeError) as caught:
        amqp.decode_value(nested_lists(2000))
    assert type(caught.value).__name__ == "DepthError"
    assert caught.value.condition == "amqp:resource-limit-exceeded"
    deep: Any = []
    for _ in range(127):
        deep = [deep]
    amqp.encode_value(deep)
    with pytest.raises(EncodeError, match="deeper than 128"):
        amqp.encode_value([deep])


@pytest.mark.parametrize("code", ["40", "41", "42", "43", "44", "45"])
def test_elements_without_octets_are_bounded(code: str) -> None:
    """An array of 2**32 nulls costs ten bytes."""
    few = bytes.fromhex("f00000000500010000" + code)
    assert len(amqp.decode_value(few)[0]) == 65536
    many = bytes.fromhex("f000000005ffffffff" + code)
    with pytest.raises(DecodeError, match="4294967295 elements without bytes exceed the limit"):
        amqp.decode_value(many)
    # and in all arrays of one value together
    body = few * 2
    both = b"\xd0" + (len(body) + 4).to_bytes(4, "big") + (2).to_bytes(4, "big") + body
    with pytest.raises(DecodeError, match="131072 elements"):
        amqp.decode_value(both)


# ---- maps ----


@pytest.mark.parametrize(
    ("octets", "pairs"),
    [
        ("c10d04a1016b5501a1016b5502", [("k", 1), ("k", 2)]),  # a key twice
        ("c10d04a3016b5501a1016b5502", [(amqp.Symbol("k"), 1), ("k", 2)]),  # equal, not the same
        ("c10704" + "415501" + "55015502", [(True, 1), (1, 2)]),
        ("c1040245" + "5501", [([], 1)]),  # cannot be hashed
        ("c104024040", [(None, None)]),
        ("c10c0282" + "3ff8000000000000" + "5501", [(1.5, 1)]),  # a peer could choose the hash
        ("c1140298" + "00" * 16 + "5501", [(uuid.UUID(int=0), 1)]),
        ("c107020053ff4040", [(amqp.Described(255, None), None)]),
    ],
)
def test_maps_that_no_dict_holds(octets: str, pairs: list[tuple[Any, Any]]) -> None:
    data = bytearray.fromhex(octets)
    data[1] = len(data) - 2
    value, _ = amqp.decode_value(data)
    assert type(value) is amqp.Map
    assert list(value) == pairs
    assert [type(pair[0]) for pair in value] == [type(pair[0]) for pair in pairs]
    if all(type(pair[1]) in (int, type(None)) for pair in pairs):
        assert amqp.encode_value(value) == data


def test_map() -> None:
    pairs = amqp.Map({"a": 1})
    pairs.append((1, "x"))
    pairs.append((True, "y"))
    assert (pairs.get("a"), pairs.get(True), pairs.get(1), pairs.get(2, 0)) == (1, "y", "x", 0)
    assert (pairs.keys(), pairs.values()) == (["a", 1, True], [1, "x", "y"])
    assert pairs.items() == list(pairs)
    assert repr(amqp.Map([(1, 2)])) == "Map([(1, 2)])"
    with pytest.raises(TypeError):
        hash(pairs)


@pytest.mark.parametrize("length", [1, 2, 40])
@pytest.mark.skipif("free-threading" in sys.version, reason="one-shot calls have no cache there")
def test_equal_symbols_are_one_object(length: int) -> None:
    """However often a peer repeats a short one."""
    data = amqp.encode_value([amqp.Symbol("s" * length)] * 3)
    symbols, _ = amqp.decode_value(data)
    assert len({id(symbol) for symbol in symbols}) == 1


def test_keys_with_one_hash_do_not_cost_a_dict() -> None:
    """4,000 keys like these took half a second in a dict."""
    body = b"".join(b"\x98" + (n * (2**61 - 1)).to_bytes(16, "big") + b"\x40" for n in range(4000))
    data = b"\xd1" + (len(body) + 4).to_bytes(4, "big") + (8000).to_bytes(4, "big") + body
    assert type(amqp.decode_value(data)[0]) is amqp.Map


def test_duplicates_in_nested_maps_cost_no_more_than_their_octets() -> None:
    data = b"\x40"
    for _ in range(100):
        body = b"\x40\x40\x40" + data
        data = b"\xd1" + (len(body) + 4).to_bytes(4, "big") + (4).to_bytes(4, "big") + body
    value, _ = amqp.decode_value(data)
    for _ in range(100):
        value = value[1][1]
    assert value is None


# ---- classes ----


@pytest.mark.parametrize(
    ("cls", "low", "high"),
    [(getattr(amqp, n), *r) for n, r in {
        "UByte": (0, 255), "UShort": (0, 65535), "UInt": (0, 2**32 - 1), "ULong": (0, 2**64 - 1),
        "Byte": (-128, 127), "Short": (-32768, 32767), "Int": (-(2**31), 2**31 - 1),
        "Long": (-(2**63), 2**63 - 1), "Timestamp": (-(2**63), 2**63 - 1),
    }.items()],
)  # fmt: skip
def test_numbers_check_their_range_and_calculate_plainly(cls: Any, low: int, high: int) -> None:
    assert (int(cls(low)), int(cls(high))) == (low, high)
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=cls.__name__):
            cls(value)
    assert type(cls(1) + 1) is int
    assert (repr(cls(1)), str(cls(1))) == (f"{cls.__name__}(1)", "1")
    assert not hasattr(cls(1), "__dict__")


def test_other_classes() -> None:
    for bad in ("é", "\ud800"):
        with pytest.raises(ValueError, match="ASCII"):
            amqp.Symbol(bad)
    for bad in ("", "ab", "\udfff"):
        with pytest.raises(ValueError, match="one character"):
            amqp.Char(bad)
    assert amqp.Float(0.1) == 0.10000000149011612
    with pytest.raises(ValueError, match="Float takes"):
        amqp.Float(1e39)
    assert math.isnan(amqp.Float("nan"))
    assert repr(amqp.Array("int", [1], [amqp.Symbol("d")])) == "Array('int', [1], (Symbol('d'),))"
    match amqp.Described(1, 2):
        case amqp.Described(descriptor, value):
            assert (descriptor, value) == (1, 2)
    assert not amqp.ABSENT
    assert repr(amqp.ABSENT) == "ABSENT"
    assert amqp.Absent() is amqp.ABSENT


@pytest.mark.parametrize("width", [32, 64, 128])
def test_decimals_keep_their_bits(width: int) -> None:
    code = {32: "74", 64: "84", 128: "94"}[width]
    n = width // 8
    odd = [
        b"\x7c" + b"\0" * (n - 2) + b"\x05",  # a NaN with a payload
        b"\x7c" + b"\xff" * (n - 1),  # one beyond the digits
        b"\x7e" + b"\0" * (n - 1),
        b"\xfc" + b"\0" * (n - 1),
        b"\x78" + b"\0" * (n - 1),
        b"\x78" + b"\0" * (n - 2) + b"\x01",  # an infinity with more
        b"\xf8" + b"\0" * (n - 1),
        b"\x6f" + b"\xff" * (n - 1),  # too many digits: counts as 0
        b"\x5f" + b"\xff" * (n - 1),
        b"\x80" + b"\0" * (n - 1),
        b"\0" * n,
    ]
    for bits in odd:
        data = bytes.fromhex(code) + bits
        typed = amqp.decode_value(data, types="typed")[0]
        assert amqp.encode_value(typed) == data
        plain = amqp.decode_value(data)[0]
        assert isinstance(plain, Decimal)
        if type(plain) is not Decimal or width == 128:
            assert amqp.encode_value(plain) == data


def test_zeros_beyond_the_digits_of_a_decimal() -> None:
    """They are part of the exponent, however many there are."""
    for cls, digits, largest in (
        (amqp.Decimal32, 7, 96),
        (amqp.Decimal64, 16, 384),
        (amqp.Decimal128, 34, 6144),
    ):
        for size in (digits, digits + 1, largest):
            value = Decimal("1" * digits + "0" * (size + 1 - digits))
            assert amqp.decode_value(amqp.encode_value(cls(value)))[0] == value
        for text in ("1" + "0" * (largest + 1), "1" * (digits + 1), "1" + "0" * digits + "1"):
            with pytest.raises(ValueError, match=f"holds {digits} digits, and not every exponent"):
                cls(text)


def test_decimal_values() -> None:
    rows = {
        32: ["0", "1", "-1", "9999999", "1E+90", "1E-101", "9999999E+90", "0E-101", "1.50"],
        64: ["9999999999999999", "1E+369", "-1E-398", "0.1"],
        128: ["9" * 34, "1E+6111", "1E-6176", "-0", "123.456"],
    }
    for width, texts in rows.items():
        cls = getattr(amqp, f"Decimal{width}")
        for text in texts:
            data = amqp.encode_value(cls(text))
            assert len(data) == 1 + width // 8
            value = amqp.decode_value(data)[0]
            assert str(value) == str(Decimal(text)), text
    # exponents beyond the range, where the digits make up for it
    assert amqp.decode_value(amqp.encode_value(Decimal("1E+6144")))[0] == Decimal("1E+6144")
    assert amqp.decode_value(amqp.encode_value(Decimal("100E-6178")))[0] == Decimal("1E-6176")
    with pytest.raises(ValueError, match="decimal32"):
        amqp.Decimal32("12345678")


def test_copies_and_pickles() -> None:
    import copy
    import pickle

    for value in (
        *(row[2] for row in SMALLEST),
        amqp.ABSENT,
        amqp.Map([(1, 2)]),
        amqp.Decimal32.from_bits(b"\x7c\xff\xff\xff"),
    ):
        for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert type(again) is type(value)
            assert (
                amqp.encode_value(again) == amqp.encode_value(value)
                if value is not amqp.ABSENT
                else again is value
            )


# ---- the vectors of other projects ----


def tagged(value: Any) -> Any:
    """A typed value in the vectors' own form."""
    if value is None:
        return ["null", None]
    if isinstance(value, amqp.Composite):
        raw = value.value if type(value).__match_args__ == ("value",) else None
        return ["described", ["ulong", type(value).DESCRIPTOR], raw if raw is None else tagged(raw)]
    if isinstance(value, amqp.Described):
        descriptor = value.descriptor
        if type(descriptor) is int:
            descriptor = amqp.ULong(descriptor)
        return ["described", tagged(descriptor), tagged(value.value)]
    if isinstance(value, amqp.Array):
        items = [plain(tagged(item)[1]) for item in value]
        array = {"of": value.type.replace("boolean", "bool"), "items": items}
        if value.descriptors:
            array["descriptor"] = tagged(value.descriptor)
        return ["array", array]
    if isinstance(value, amqp.Map | dict):
        return ["map", [tagged(part) for pair in value.items() for part in pair]]
    if isinstance(value, list):
        return ["list", [tagged(item) for item in value]]
    names = {
        bool: "bool",
        str: "string",
        bytes: "binary",
        uuid.UUID: "uuid",
    }
    name = names.get(type(value), type(value).__name__.lower())
    if isinstance(value, bytes):
        return [name, f"hex:{value.hex()}"]
    if isinstance(value, amqp.Decimal32 | amqp.Decimal64):
        return [name, f"raw:{value.bits.hex()}"]
    if isinstance(value, amqp.Decimal128):
        return [name, f"hex:{value.bits.hex()}"]
    return [name, str(value) if isinstance(value, uuid.UUID) else plain(value)]


def plain(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value) if isinstance(value, str) else value
    return int(value)


def shared_vectors() -> list[Any]:
    shared = shared_dir()
    path = shared / "vectors" / "amqp-1.0" / "index.json" if shared else None
    if path is None or not path.is_file():
        return []
    return [pytest.param(row, id=row["id"]) for row in json.loads(path.read_bytes())["vectors"]]


@pytest.mark.skipif(not shared_vectors(), reason="the vectors are not beside the repository")
@pytest.mark.parametrize("row", shared_vectors())
def test_vectors_of_other_projects(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    if "proton" not in row:  # proton and we reject what its origin takes for an array
        with pytest.raises(DecodeError):
            amqp.decode_value(data)
        return
    offset = 0
    values = []
    while offset < len(data):
        value, consumed = amqp.decode_value(data, offset, types="typed")
        again, size = amqp.decode_value(amqp.encode_value(value), types="typed")
        assert again == value
        assert size <= consumed
        values.append(value)
        offset += consumed
    if any(isinstance(value, amqp.Composite) for value in values):
        return  # its value is held against the bytes: classes do not show their list
    assert [tagged(value) for value in values] == row["proton"]


def test_an_array_without_its_type() -> None:
    with pytest.raises(TypeError, match=r"name of its items' type first, Array\('int', \[1, 2\]\)"):
        amqp.Array([1, 2])  # type: ignore[arg-type]
