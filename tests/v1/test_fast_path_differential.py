"""What is read past the general way is what that reads, and as wrong where it is wrong."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp
from tests.support.amqp10_wire import composite

UTC = datetime.UTC
S = amqp.Symbol

#: What nearly all values are, each with the same in another encoding.
BOTH = {
    "null": (b"\x40", b"\x40"),
    "true": (b"\x41", b"\x56\x01"),
    "false": (b"\x42", b"\x56\x00"),
    "uint 0": (b"\x43", b"\x70\0\0\0\0"),
    "uint 7": (b"\x52\x07", b"\x70\0\0\0\x07"),
    "uint 2**32-1": (b"\x70" + b"\xff" * 4, b"\x70" + b"\xff" * 4),
    "ubyte 200": (b"\x50\xc8", b"\x50\xc8"),
    "ushort 999": (b"\x60\x03\xe7", b"\x60\x03\xe7"),
    "ulong 0": (b"\x44", b"\x53\x00"),
    "ulong 255": (b"\x53\xff", b"\x80" + bytes(7) + b"\xff"),
    "ulong 2**64-1": (b"\x80" + b"\xff" * 8, b"\x80" + b"\xff" * 8),
    "int -1": (b"\x54\xff", b"\x71" + b"\xff" * 4),
    "long -128": (b"\x55\x80", b"\x81" + b"\xff" * 7 + b"\x80"),
    "long 2**62": (b"\x81\x40" + bytes(7), b"\x81\x40" + bytes(7)),
    "byte -3": (b"\x51\xfd",) * 2,
    "short -300": (b"\x61\xfe\xd4",) * 2,
    "int 70000": (b"\x71\0\1\x11\x70",) * 2,
    "int -128": (b"\x71\xff\xff\xff\x80",) * 2,
    "float 1.5": (b"\x72\x3f\xc0\0\0",) * 2,
    "double 1.5": (b"\x82\x3f\xf8" + bytes(6), b"\x82\x3f\xf8" + bytes(6)),
    "timestamp": (b"\x83" + (10**12 + 7).to_bytes(8, "big"),) * 2,
    "binary": (b"\xa0\x02ab", b"\xb0\0\0\0\x02ab"),
    "string": (b"\xa1\x03abc", b"\xb1\0\0\0\x03abc"),
    "string of one": (b"\xa1\x01q", b"\xb1\0\0\0\x01q"),
    "string of none": (b"\xa1\x00", b"\xb1\0\0\0\0"),
    "string, not ASCII": (b"\xa1\x03\xe2\x82\xac", b"\xb1\0\0\0\x03\xe2\x82\xac"),
    "symbol": (b"\xa3\x03abc", b"\xb3\0\0\0\x03abc"),
}


def strict(value: Any) -> tuple[type, Any]:
    return type(value), value


@pytest.mark.parametrize("name", BOTH)
def test_values_in_both_encodings(name: str) -> None:
    usual, other = BOTH[name]
    plain, consumed = amqp.decode_value(usual)
    assert consumed == len(usual)
    again, consumed = amqp.decode_value(other)
    assert consumed == len(other)
    assert strict(again) == strict(plain)
    for end in range(len(usual)):
        with pytest.raises(DecodeError) as short:
            amqp.decode_value(usual[:end])
        with pytest.raises(DecodeError) as typed:
            amqp.decode_value(usual[:end], types="typed")
        assert repr(short.value) == repr(typed.value)


@pytest.mark.parametrize("name", BOTH)
def test_a_value_is_that_of_an_array_of_one(name: str) -> None:
    """Elements of arrays take the slow path, from the same constructor and content."""
    for encoded in BOTH[name]:
        value, _ = amqp.decode_value(encoded)
        array, _ = amqp.decode_value(b"\xe0" + bytes([len(encoded) + 1, 1]) + encoded)
        assert [strict(item) for item in array.items] == [strict(value)]


def plainly(value: Any) -> Any:
    """A typed value without its types of numbers."""
    if isinstance(value, dict | amqp.Map):
        return [(plainly(key), plainly(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [plainly(item) for item in value]
    if isinstance(value, amqp.Timestamp):
        return repr(
            datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(milliseconds=value)
        )
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return repr(value)
    return repr(float(value)) if isinstance(value, float) else int(value)


def test_damaged_values_are_read_the_same() -> None:
    """Typed values come the general way."""
    source = random.Random(11)
    good = bad = 0
    for _ in range(20_000):
        items = [source.choice(list(BOTH.values()))[source.randrange(2)] for _ in range(6)]
        if source.random() < 0.5:
            items[::2] = [b"\xa1\x01" + source.choice([b"a", b"b", b"c"]) for _ in range(3)]
            content = b"\x06" + b"".join(items)
            octets = bytearray(b"\xc1" + bytes([len(content)]) + content)
        else:
            content = b"\x06" + b"".join(items)
            octets = bytearray(b"\xc0" + bytes([len(content)]) + content)
        for _ in range(source.randrange(3)):
            octets[source.randrange(len(octets))] ^= 1 << source.randrange(8)
        if source.random() < 0.2:
            del octets[source.randrange(len(octets)) :]

        def read(types: str, octets: bytes = bytes(octets)) -> Any:
            try:
                return amqp.decode_value(octets, types=types)
            except DecodeError as error:
                return repr(error)

        plain, typed = read("plain"), read("typed")
        if isinstance(plain, str):
            assert plain == typed, octets.hex()
            bad += 1
        elif b"\x83" not in octets or "Timestamp" not in repr(plain):
            assert plain[1] == typed[1], octets.hex()
            assert plainly(plain[0]) == plainly(typed[0]), octets.hex()
            good += 1
    assert min(good, bad) > 3000


#: Fields of a composite as encode writes them, and one of each in another encoding.
FIELDS: dict[str, tuple[int, list[tuple[bytes, bytes]]]] = {
    "flow": (
        0x13,
        [BOTH[n] for n in ("uint 7", "uint 0", "uint 7", "uint 2**32-1", "uint 0", "null")],
    ),
    "transfer": (
        0x14,
        [BOTH[n] for n in ("uint 0", "uint 7", "binary", "uint 0", "true", "false")],
    ),
    "disposition": (
        0x15,
        [
            *(BOTH[n] for n in ("true", "uint 7", "uint 0", "false")),
            (b"\0\x53\x24\x45", b"\0\x53\x24\xc0\x01\x00"),
        ],
    ),
    "attach": (
        0x12,
        [
            *(BOTH[n] for n in ("string", "uint 7", "false")),
            (b"\x50\x01", b"\x50\x01"),
            (b"\x50\x00", b"\x50\x00"),
        ],
    ),
    "properties": (
        0x73,
        [
            *(BOTH[n] for n in ("string", "binary", "string, not ASCII", "string of one")),
            *(BOTH[n] for n in ("null", "ulong 255", "symbol", "null", "timestamp", "timestamp")),
        ],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_in_both_encodings(name: str) -> None:
    code, pairs = FIELDS[name]
    usual = composite(code, *[pair[0] for pair in pairs])
    expected, _ = amqp.decode_value(usual)
    assert name == type(expected).NAME
    while pairs and pairs[-1][0] == b"\x40":
        pairs = pairs[:-1]
    written = composite(code, *[pair[0] for pair in pairs])
    for number, (_, other) in enumerate(pairs):
        octets = composite(
            code, *[pair[0] if n != number else other for n, pair in enumerate(pairs)]
        )
        actual, consumed = amqp.decode_value(octets)
        assert consumed == len(octets)
        assert actual == expected
        for field in expected.FIELDS:
            assert strict(getattr(actual, field)) == strict(getattr(expected, field))
        assert amqp.encode_value(actual) == octets  # kept, whatever encode would write
        field_names = [field for field in actual.FIELDS if actual.is_set(field)]
        fresh = type(actual)(**{field: getattr(actual, field) for field in field_names})
        if other[0] != 0:  # a state keeps its own
            assert amqp.encode_value(fresh) == written


@pytest.mark.parametrize("name", FIELDS)
def test_fields_cut_off(name: str) -> None:
    """The list as long as it says, its last field not."""
    code, pairs = FIELDS[name]
    for number, (usual, _) in enumerate(pairs):
        before = [pair[0] for pair in pairs[:number]]
        cls = amqp.TYPES[code]
        for end in range(len(usual)):
            octets = bytearray(composite(code, *before, usual[:end]))
            if end == 4 and usual[0] == 0:
                continue
            with pytest.raises(DecodeError) as caught:
                amqp.decode_value(octets)
            assert caught.value.method == name or usual[0] == 0
            assert caught.value.field == cls.FIELDS[number] or usual[0] == 0
            assert caught.value.offset is not None
            assert caught.value.offset >= len(composite(code, *before))


def moment(ms: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(milliseconds=ms)


def test_moments_that_are_kept_stay_what_they_are() -> None:
    source = random.Random(3)
    times = [0, 1, 999, 1000, -1, 86_400_000, 10**12, 10**12 + 1, 253402300799999, -62135596800000]
    moments = []
    for _ in range(3000):
        ms = source.choice(times)
        value = amqp.decode_value(b"\x83" + ms.to_bytes(8, "big", signed=True))[0]
        assert value == moment(ms)
        assert value.microsecond == moment(ms).microsecond
        assert hash(value) == hash(moment(ms))
        if source.random() < 0.3:
            moments.append((ms, value))
    assert all(value == moment(ms) for ms, value in moments)


def test_states_without_fields_are_not_shared() -> None:
    octets = amqp.encode(0, amqp.Disposition(True, 1, state=amqp.Modified()))
    one, two = (amqp.decode(octets)[2].state for _ in range(2))
    assert one == two == amqp.Modified()
    one.delivery_failed = True
    assert two == amqp.Modified()
    assert one is not two
