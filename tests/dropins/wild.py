"""Python values to encode: ordinary, at the edges, and of types that no client takes."""

from __future__ import annotations

import enum
import time
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from uuid import UUID


class Number(enum.IntEnum):
    """An int that is an enum member too."""

    ONE = 1
    MANY = 70000


class Word(enum.StrEnum):
    """A str that is an enum member too."""

    TEXT = "text"


class MyStr(str):
    """A user's text."""


class MyInt(int):
    """A user's number."""


class MyFloat(float):
    """A user's float."""


class MyBytes(bytes):
    """A user's bytes."""


class MyDict(dict):  # type: ignore[type-arg]
    """A user's table."""


class MyList(list):  # type: ignore[type-arg]
    """A user's array."""


class MyTime(datetime):
    """A user's time."""


class Indexed:
    """Has __index__, and is no int."""

    def __index__(self) -> int:
        return 5


class Truthy:
    """Refuses to be a bool."""

    def __bool__(self) -> bool:
        raise RuntimeError("no truth here")


class Sized:
    """Behaves like text a little."""

    def __len__(self) -> int:
        return 3

    def encode(self, *_arguments: object) -> bytes:
        """Bytes."""
        return b"abc"


Pair = namedtuple("Pair", "a b")

EDGES = [
    edge
    for bits in (7, 8, 15, 16, 31, 32, 63, 64)
    for edge in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1)
]
TEXTS = [
    "",
    "a",
    "orders",
    "größe",
    "\u4e2d\u6587" * 20,
    "\U0001f407",
    "nul\0nul",
    "\ud800",
    "x" * 127,
    "x" * 128,
    "x" * 129,
    "x" * 255,
    "x" * 256,
    "ä" * 64,
    "ä" * 65,
    "é" * 127,
    "é" * 128,
    "y" * 70000,
    "with space",
    "bad\nname",
]
OCTETS = [b"", b"a", b"\xff\xfe", "größe".encode(), b"x" * 127, b"x" * 256, b"\xed\xa0\x80"]
FLOATS = [0.0, -0.0, 1.5, -1e300, 3.4028235677973366e38, 3.5e38, 5e-324, 1e-46]
FLOATS += [float("inf"), float("-inf"), float("nan"), 0.1, 16777217.0]
DECIMALS = [
    Decimal(text)
    for text in (
        "0",
        "-0",
        "0.00",
        "1.5",
        "-1.50",
        "100",
        "1E+2",
        "1E+9",
        "1E+10",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "21474836.47",
        "21474836.48",
        "1E-255",
        "1E-256",
        "1.0E-255",
        "12345678901234567890.123",
        "0.12345678901234567890",
        "NaN",
        "sNaN",
        "Infinity",
        "-Infinity",
        "0E-300",
        "0E+5",
    )
]
ZONES = [None, UTC, timezone(timedelta(hours=-5, minutes=30)), timezone(timedelta(hours=14))]


def integer(random: Random) -> Any:
    """An int, often at an edge of a width."""
    kind = random.randrange(6)
    if kind < 3:
        return random.choice(EDGES)
    if kind == 3:
        return random.choice([True, False, Number.ONE, Number.MANY, MyInt(7), MyInt(2**40)])
    value = random.randrange(2 ** random.randint(1, 66))
    return value if kind == 4 else -value


def moment(random: Random) -> Any:
    """A date and time, with and without zone, also before 1970 and far away."""
    zone = random.choice(ZONES)
    kind = random.randrange(8)
    if kind == 0:
        return random.choice([datetime.min, datetime.max]).replace(tzinfo=zone)
    if kind == 1:
        return datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=zone)
    if kind == 2:
        return MyTime(2020, 2, 29, 12, tzinfo=zone)
    if kind == 3:
        return time.gmtime(random.randrange(2**32))
    start = datetime(1970, 1, 2, tzinfo=zone)
    return start + timedelta(microseconds=random.randrange(2**57))


def strange(random: Random) -> Any:
    """A value that hardly any client takes."""
    makers: list[Callable[[], Any]] = [
        lambda: {1, 2},
        frozenset,
        lambda: 1 + 2j,
        object,
        lambda: Fraction(1, 3),
        lambda: UUID(int=7),
        lambda: date(2020, 1, 1),
        lambda: timedelta(1),
        lambda: memoryview(b"view"),
        lambda: range(3),
        lambda: Indexed(),
        lambda: Truthy(),
        lambda: Sized(),
        lambda: Word.TEXT,
        lambda: (item for item in (1, 2)),
        lambda: Pair(1, "b"),
        lambda: int,
        lambda: ...,
        lambda: iter([1]),
    ]
    return random.choice(makers)()


def key(random: Random) -> Any:
    """A key of a table."""
    kind = random.randrange(20)
    if kind == 0:
        return random.choice([1, None, b"octets", b"\xff", True, 1.5, (), Word.TEXT, MyStr("k")])
    if kind == 1:
        return random.choice(TEXTS)
    return "k" + str(random.randrange(50))


def mapping(random: Random, depth: int = 3) -> Any:
    """A table, mostly of good values."""
    items = [(key(random), any_value(random, depth)) for _ in range(random.randrange(5))]
    kind = random.randrange(12)
    if kind == 0:
        return OrderedDict(items)
    if kind == 1:
        return MyDict(items)
    if kind == 2:
        table: Any = defaultdict(int)
        table.update(items)
        return table
    return dict(items)


def any_value(random: Random, depth: int = 3) -> Any:
    """Any value of a table."""
    kind = random.randrange(30 if depth else 24)
    if kind < 6:
        return integer(random)
    if kind < 9:
        return random.choice(TEXTS)
    if kind == 9:
        return MyStr("mine")
    if kind in (10, 11):
        return random.choice(OCTETS)
    if kind == 12:
        return random.choice([bytearray(b"array"), MyBytes(b"mine"), memoryview(b"view")])
    if kind in (13, 14):
        return random.choice(FLOATS)
    if kind == 15:
        return MyFloat(2.5)
    if kind in (16, 17):
        return random.choice(DECIMALS)
    if kind in (18, 19, 20):
        return moment(random)
    if kind == 21:
        return None
    if kind == 22:
        return random.choice([True, False])
    if kind == 23:
        return strange(random)
    if kind in (24, 25, 26):
        return mapping(random, depth - 1)
    items = [any_value(random, depth - 1) for _ in range(random.randrange(4))]
    return random.choice([items, items, tuple(items), MyList(items)])


_BITS = {"octet": 8, "short": 16, "long": 32, "longlong": 64}


def good_table(random: Random, depth: int = 2) -> dict[str, Any]:
    """A table that every client takes."""
    table: dict[str, Any] = {}
    for number in range(random.randrange(6)):
        kind = random.randrange(9 if depth else 7)
        value: Any
        if kind == 0:
            value = random.randrange(-(2**31) + 1, 2**31)
        elif kind == 1:
            value = random.randrange(-(2**63), 2**63)
        elif kind == 2:
            value = random.choice(["", "text", "größe", "z" * 300])
        elif kind == 3:
            value = random.choice([True, False, None])
        elif kind == 4:
            value = Decimal(random.randrange(2**31)).scaleb(-random.randrange(5))
        elif kind == 5:
            value = datetime.fromtimestamp(random.randrange(2**32), UTC)
        elif kind == 6:
            value = "s" * random.randrange(20)
        elif kind == 7:
            value = good_table(random, depth - 1)
        else:
            value = [good_table(random, depth - 1), 5, "x"]
        table[f"key{number}"] = value
    return table


def argument(random: Random, wire_type: str) -> Any:
    """A value for an argument or property of this type: mostly a good one."""
    kind = random.randrange(16)
    if kind == 0:
        return any_value(random, 1)
    if wire_type == "bit":
        return random.choice([True, False, 0, 1, 2, None, ""]) if kind == 1 else kind % 2 == 0
    if wire_type == "shortstr":
        if kind == 1:
            return random.choice([*TEXTS, *OCTETS, None, MyStr("mine")])
        return random.choice(["", "amq.direct", "orders", "a.b-c_1", "größe", "q" * 100])
    if wire_type == "longstr":
        if kind == 1:
            return random.choice([*TEXTS, *OCTETS, None, bytearray(b"x")])
        return random.choice(["", "PLAIN", "\0guest\0guest", b"\0guest\0guest", "l" * 1000])
    if wire_type == "table":
        return mapping(random) if kind < 6 else good_table(random)
    if wire_type == "timestamp":
        if kind < 6:
            return moment(random)
        return random.choice([0, 1, 1700000000, 2**32, 2**63, 2**64 - 1, 2**64, -1])
    bits = _BITS[wire_type]
    if kind == 1:
        return integer(random)
    return random.choice([0, 1, 2, 2 ** (bits - 1), 2**bits - 1, random.randrange(2**bits)])
