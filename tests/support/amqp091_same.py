"""Equality without Python's leniency: True is not 1, 1 is not 1.0, order of keys counts."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any


def key_of(value: Any) -> Any:
    """A value that compares equal only for the same types, bits, digits and order."""
    kind = type(value)
    if isinstance(value, float):  # typed ones, too: NaN equals itself here
        return (kind.__name__, struct.pack(">d", value))
    if kind is Decimal:
        return ("decimal", value.as_tuple())
    if kind is dict:
        return ("dict", tuple((key_of(k), key_of(v)) for k, v in value.items()))
    if kind in (list, tuple):
        return (kind.__name__, tuple(map(key_of, value)))
    if kind is memoryview:
        return ("bytes", bytes(value))
    fields = getattr(kind, "FIELDS", None) or getattr(kind, "__match_args__", None)
    if fields:
        return (kind.__name__, tuple(key_of(getattr(value, name)) for name in fields))
    return (kind.__name__, value)


def same(first: Any, second: Any) -> bool:
    return bool(key_of(first) == key_of(second))
