"""The table profiles as bytes: what each client makes of each Python value and of each tag."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from tests.dropins.canon import canon, name_of, outcome
from tests.dropins.conftest import need
from tests.dropins.stock import Side, installed

PACKAGES = ("pamqp", "pika", "amqp")
UNSUPPORTED = "pika.exceptions.UnsupportedAMQPFieldException"
SYNTAX = "amqp.exceptions.FrameSyntaxError"
STRUCT = "struct.error"
TYPE = "builtins.TypeError"
NOON = datetime(2020, 2, 29, 12)
FIVE_HOURS = timezone(timedelta(hours=5))


def f(letter: str, layout: str, *values: Any) -> bytes:
    return letter.encode() + struct.pack(">" + layout, *values)


def long(letter: str, octets: bytes) -> bytes:
    return f(letter, "I", len(octets)) + octets


def write(side: Side, value: Any) -> bytes:
    """The bytes of one value, written as the only entry of a table."""
    pieces: list[bytes] = []
    if side.package == "pamqp":
        pieces.append(side.encode.field_table({"k": value}))
    elif side.package == "pika":
        assert side.data.encode_table(pieces, {"k": value}) == len(b"".join(pieces))
    else:
        side.serialization._write_table({"k": value}, pieces.append, [])
    octets = b"".join(pieces)
    assert octets[:6] == struct.pack(">I", len(octets) - 4) + b"\x01k"
    return octets[6:]


def read(side: Side, octets: bytes) -> Any:
    """The value of one entry, read as a table of that entry."""
    entry = b"\x01k" + octets
    table = struct.pack(">I", len(entry)) + entry
    if side.package == "pamqp":
        consumed, values = side.decode.field_table(table)
        assert consumed == len(table)
    elif side.package == "pika":
        values, _ = side.data.decode_table(table, 0)
    else:
        [values], _ = side.serialization.loads("F", table, 0)
    assert list(values) == ["k"]
    return values["k"]


WRITTEN: list[tuple[Any, Any, Any, Any]] = [
    (0, f("b", "b", 0), f("I", "i", 0), f("I", "i", 0)),
    (127, f("b", "b", 127), f("I", "i", 127), f("I", "i", 127)),
    (128, f("s", "h", 128), f("I", "i", 128), f("I", "i", 128)),
    (-128, f("b", "b", -128), f("I", "i", -128), f("I", "i", -128)),
    (32767, f("s", "h", 32767), f("I", "i", 32767), f("I", "i", 32767)),
    (32768, f("u", "H", 32768), f("I", "i", 32768), f("I", "i", 32768)),
    (65536, f("I", "i", 65536), f("I", "i", 65536), f("I", "i", 65536)),
    (2**31, f("i", "I", 2**31), f("l", "q", 2**31), f("L", "q", 2**31)),
    (-(2**31), f("I", "i", -(2**31)), f("I", "i", -(2**31)), f("L", "q", -(2**31))),
    (2**32, f("l", "q", 2**32), f("l", "q", 2**32), f("L", "q", 2**32)),
    (2**63, TYPE, STRUCT, STRUCT),
    (1.5, f("f", "f", 1.5), UNSUPPORTED, f("d", "d", 1.5)),
    (Decimal("-1.50"), f("D", "Bi", 2, -150), f("D", "Bi", 1, -15), f("D", "Bi", 2, -150)),
    ("ä", long("S", b"\xc3\xa4"), long("S", b"\xc3\xa4"), long("S", b"\xc3\xa4")),
    (b"\xff", TYPE, long("x", b"\xff"), long("S", b"\xff")),
    (bytearray(b"\xff"), long("x", b"\xff"), UNSUPPORTED, SYNTAX),
    ((True,), TYPE, UNSUPPORTED, long("A", b"t\x01")),
    ([True], long("A", b"t\x01"), long("A", b"t\x01"), long("A", b"t\x01")),
    (NOON, *[f("T", "Q", 1582977600)] * 3),
    (NOON.replace(tzinfo=FIVE_HOURS), *[f("T", "Q", 1582959600)] * 3),
    (True, *[b"t\x01"] * 3),
    (False, *[b"t\x00"] * 3),
    (None, *[b"V"] * 3),
    ({"b": None, "a": None}, long("F", b"\x01aV\x01bV"), *[long("F", b"\x01bV\x01aV")] * 2),
]

UTC_NOON = NOON.replace(tzinfo=UTC)
READ: list[tuple[bytes, Any, Any, Any]] = [
    (b"t\x02", True, True, True),
    (f("b", "b", -1), -1, -1, -1),
    (f("B", "B", 255), 255, 255, 255),
    (f("s", "h", -2), -2, -2, -2),
    (f("u", "H", 65535), 65535, 65535, 65535),
    (f("U", "h", -3), "builtins.ValueError", -3, -3),
    (f("I", "i", -4), -4, -4, -4),
    (f("i", "I", 2**32 - 1), 2**32 - 1, 2**32 - 1, 2**32 - 1),
    (f("l", "q", -5), -5, ("pika.compat.long", ("int", -5), ("dict", [])), -5),
    (f("L", "q", -6), -6, ("pika.compat.long", ("int", -6), ("dict", [])), -6),
    (f("f", "f", 2.75), 2.75, ("pika.compat.long", ("int", 2), ("dict", [])), 2.75),
    (f("d", "d", -2.75), -2.75, ("pika.compat.long", ("int", -2), ("dict", [])), -2.75),
    (f("D", "Bi", 2, -150), Decimal("-1.50"), Decimal("-1.50"), Decimal("-1.5")),
    (long("S", b"\xc3\xa4"), "ä", "ä", "ä"),
    (long("S", b"\xff"), b"\xff", b"\xff", b"\xff"),
    (long("S", b"\xed\xa0\x80"), b"\xed\xa0\x80", b"\xed\xa0\x80", "\ud800"),
    (long("x", b"\xff"), bytearray(b"\xff"), b"\xff", b"\xff"),
    (long("A", b"Vt\x00"), [None, False], [None, False], [None, False]),
    (long("F", b"\x01aV"), {"a": None}, {"a": None}, {"a": None}),
    (f("T", "Q", 1582977600), UTC_NOON, UTC_NOON, NOON),
    (
        f("T", "Q", 1582977600_000),
        UTC_NOON,
        "builtins.ValueError",
        "builtins.ValueError",
    ),
    (b"V", None, None, None),
    (
        b"Z\x00",
        "builtins.ValueError",
        "pika.exceptions.InvalidFieldTypeException",
        SYNTAX,
    ),
    (b"I\x00\x00", "builtins.ValueError", STRUCT, STRUCT),
]


def _cases(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [
        pytest.param(package, row[0], row[index + 1], id=f"{package}-{row[0]!r}"[:50])
        for row in rows
        for index, package in enumerate(PACKAGES)
    ]


def check(pair: tuple[Side, Side], call: Any, argument: Any, want: Any) -> None:
    """Both copies, so that a wrong expectation shows as well."""
    for side in pair:
        if isinstance(want, str) and "." in want:
            with pytest.raises(Exception) as info:
                call(side, argument)
            assert name_of(type(info.value)) == want
        elif isinstance(want, tuple):
            assert canon(call(side, argument)) == want
        else:
            assert canon(call(side, argument)) == canon(want)


@pytest.fixture
def pair_of(request: pytest.FixtureRequest) -> Any:
    names = {"pamqp": "pamqp_pair", "pika": "pika_pair", "amqp": "py_amqp_pair"}
    return lambda package: request.getfixturevalue(names[package])


@pytest.mark.parametrize(("package", "value", "want"), _cases(WRITTEN))
def test_written(pair_of: Any, package: str, value: Any, want: Any) -> None:
    check(pair_of(package), write, value, want)


@pytest.mark.parametrize(("package", "octets", "want"), _cases(READ))
def test_read(pair_of: Any, package: str, octets: bytes, want: Any) -> None:
    check(pair_of(package), read, octets, want)


#: Times whose UTC is before 1970 or beyond Python's calendar, and one whose zone has microseconds.
FAR_TIMES = [
    datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5))),
    datetime(1, 1, 1, tzinfo=FIVE_HOURS),
    datetime(1970, 1, 1, 1, tzinfo=FIVE_HOURS),
    datetime(1990, 1, 1, 0, 0, 0, 5, tzinfo=timezone(timedelta(hours=1, microseconds=7))),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_times_far_away_are_written_as_by_the_client(package: str) -> None:
    need(package)
    with installed(package) as sides:
        for time in FAR_TIMES:
            first, second = (outcome(partial(write, side, time)) for side in sides)
            assert first == second, time
