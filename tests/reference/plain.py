"""Which Python value the contract promises for a wire value, and the tag it gives to a value."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.reference.tables import Table, Tagged

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The last second that datetime can say: 9999-12-31 23:59:59.
LAST_SECOND = 253402300799


def timestamp(seconds: int) -> datetime | int:
    """An aware UTC datetime, or the number itself where datetime ends."""
    return EPOCH + timedelta(seconds=seconds) if seconds <= LAST_SECOND else seconds


def text(octets: bytes) -> str:
    """A short string: what is not UTF-8 is kept as surrogate escapes."""
    return octets.decode("utf-8", "surrogateescape")


def decimal(scale: int, unscaled: int) -> Decimal:
    digits = tuple(int(d) for d in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -scale))


def to_plain(tagged: Tagged, dialect: str) -> Any:
    """The plain Python value of a tagged table value."""
    tag, value = tagged
    if tag == "t":
        return value != 0
    if tag == "s" and dialect == "0-9-1":
        return text(value)
    if tag == "f":
        return struct.unpack(">f", value)[0]
    if tag == "d":
        return struct.unpack(">d", value)[0]
    if tag == "D":
        return decimal(*value)
    if tag == "S":
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value
    if tag == "A":
        return [to_plain(item, dialect) for item in value]
    if tag == "T":
        return timestamp(value)
    if tag == "F":
        return table_to_plain(value, dialect)
    # Integers as they are, x as its bytes, V as None.
    return value


def table_to_plain(table: Table, dialect: str) -> dict[str, Any]:
    """A dict; a name that comes twice has its first place and its last value."""
    return {text(key): to_plain(value, dialect) for key, value in table}


def to_python(wire_type: str, value: Any, dialect: str = "rabbitmq") -> Any:
    """The Python value of a method argument or property."""
    if wire_type == "bit":
        return value != 0
    if wire_type == "shortstr":
        return text(value)
    if wire_type == "timestamp":
        return timestamp(value)
    if wire_type == "table":
        return table_to_plain(value, dialect)
    if wire_type == "content" and value[0] == 0:
        return value[1]
    return value


def from_plain(value: Any, dialect: str) -> Tagged:
    """The tag and wire value that encoding gives to a plain Python value."""
    if value is None:
        return "V", None
    if isinstance(value, bool):
        return "t", int(value)
    if isinstance(value, int):
        return _int_tag(value, dialect), value
    if isinstance(value, float):
        return "d", struct.pack(">d", value)
    if isinstance(value, Decimal):
        return "D", _scaled(value)
    if isinstance(value, str):
        return "S", value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return ("x" if dialect == "rabbitmq" else "S"), value
    if isinstance(value, datetime):
        return "T", (value - EPOCH) // timedelta(seconds=1)
    if isinstance(value, dict):
        return "F", table_from_plain(value, dialect)
    if isinstance(value, list | tuple):
        return "A", [from_plain(item, dialect) for item in value]
    raise TypeError(type(value).__name__)


def table_from_plain(value: dict[str, Any], dialect: str) -> Table:
    return [
        (key.encode("utf-8", "surrogateescape"), from_plain(item, dialect))
        for key, item in value.items()
    ]


def _int_tag(value: int, dialect: str) -> str:
    if -(2**31) <= value < 2**31:
        return "I"
    if -(2**63) <= value < 2**63:
        return "l" if dialect == "rabbitmq" else "L"
    if dialect == "0-9-1" and 2**63 <= value < 2**64:
        return "l"
    raise ValueError("no tag holds this int")


def _scaled(value: Decimal) -> tuple[int, int]:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("not a finite decimal")
    unscaled = int("".join(map(str, digits)))
    if exponent > 0:
        unscaled *= 10**exponent
    return max(-exponent, 0), -unscaled if sign else unscaled
