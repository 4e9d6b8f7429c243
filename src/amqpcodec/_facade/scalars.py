"""What the typed numbers of field tables (types) and of AMQP 1.0 (v1_types) are made of.

And what NumPy's scalars are, without importing NumPy: who has one has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from operator import index
from typing import Any, ClassVar, SupportsIndex

__all__ = ["RangedInt", "ShownFloat", "as_int", "as_ints", "as_text", "from_numpy"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Seconds of the units of datetime64 that are multiples of a second.
_SECONDS = {"W": 604800, "D": 86400, "h": 3600, "m": 60, "s": 1}
#: How many of the others make a second.
_PARTS = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}


class RangedInt(int):
    """An int that must fit LOW to HIGH; arithmetic gives plain ints.

    ``class UInt8(RangedInt, bits=8)`` sets both, as does ``signed=True`` beside it.
    """

    __slots__ = ()
    LOW: ClassVar[int] = 0
    HIGH: ClassVar[int] = 0

    def __init_subclass__(cls, bits: int = 0, signed: bool = False) -> None:
        super().__init_subclass__()
        if bits:
            cls.LOW = -(1 << (bits - 1)) if signed else 0
            cls.HIGH = cls.LOW + (1 << bits) - 1

    def __new__(cls, value: SupportsIndex | str = 0) -> RangedInt:
        self = super().__new__(cls, value)
        if not cls.LOW <= self <= cls.HIGH:
            raise ValueError(f"{cls.__name__} takes {cls.LOW} to {cls.HIGH}, not {int(self)}")
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    # int.__str__ is object's, which would call the repr above.
    def __str__(self) -> str:
        return int.__repr__(self)


class ShownFloat(float):
    """A float whose repr names its class; arithmetic gives plain floats."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float.__repr__(self)})"

    def __str__(self) -> str:
        return float.__repr__(self)


def as_int(value: Any) -> Any:
    """The int that a value stands for, as NumPy's do; a bool, or any other value, as it is."""
    if isinstance(value, bool):
        return value
    try:
        return index(value)
    except TypeError:
        return value


def as_ints(numbers: Any) -> tuple[Any, ...]:
    """One number or several, as a tuple of what as_int() makes of them."""
    number = as_int(numbers)
    several: Iterable[Any] = (number,) if isinstance(number, int) else numbers
    return tuple(map(as_int, several))


def as_text(value: Any) -> Any:
    """The plain str of text of any class, as NumPy's is; any other value as it is."""
    return str.__str__(value) if isinstance(value, str) else value


def from_numpy(value: object, classes: Mapping[str, type]) -> object:
    """The value of a protocol that a scalar of NumPy stands for; any other value as it is.

    Text and bytes are subclasses of Python's own and need no conversion, and neither does float64.
    A datetime64 is UTC: an aware datetime, or a Timestamp where Python's calendar does not reach.
    What no value stands for (NaT, complex numbers, float128) is returned as it is.

    Args:
        classes: name of a dtype -> the class for it, where its width counts; "datetime64": the
            protocol's Timestamp, whose unit is a second or, of AMQP 1.0, a millisecond.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return value
    scalar: Any = value
    kind = scalar.dtype.kind
    if kind == "M":
        return _moment(numpy, scalar, classes["datetime64"])
    own = classes.get(scalar.dtype.name)
    if own is not None:
        return own(scalar)
    if kind in "iu":
        return int(scalar)
    return bool(scalar) if kind == "b" else value


def _moment(numpy: Any, value: Any, timestamp: type[RangedInt]) -> object:
    """A datetime64."""
    unit, step = numpy.datetime_data(value.dtype)
    if numpy.isnat(value):
        return value
    if unit in ("Y", "M"):
        value, unit, step = value.astype("datetime64[D]"), "D", 1
    microseconds = int(value.astype("int64")) * step
    if unit in _SECONDS:
        microseconds *= _SECONDS[unit] * 10**6
    else:
        microseconds = microseconds * 10**6 // _PARTS[unit]
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        count = microseconds // (1000 if timestamp.LOW else 1000000)
        return timestamp(count) if timestamp.LOW <= count <= timestamp.HIGH else value
