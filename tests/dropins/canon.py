"""A form of any result in which two results of two copies of a client can be compared.

Exact in types, order of dicts and attributes, bits of floats, and zones of times. Classes of the
two copies are different objects with the same names, so a class is its module and qualified name.
"""

from __future__ import annotations

import logging
import struct
import warnings
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

_UNSET = "<unset>"
_ATOMS = (bool, int, str, bytes, type(None))


def name_of(kind: type) -> str:
    """A class, whichever copy it is of."""
    return f"{kind.__module__}.{kind.__qualname__}"


def slots_of(kind: type) -> list[str]:
    """The names of its slots, along the MRO."""
    slots: list[str] = []
    for base in reversed(kind.__mro__):
        names = base.__dict__.get("__slots__", ())
        slots += [names] if isinstance(names, str) else list(names)
    return [name for name in slots if name not in ("__dict__", "__weakref__")]


def canon(value: Any, depth: int = 0) -> Any:
    """The form of one value."""
    kind = type(value)
    if kind in _ATOMS:
        return kind.__name__, value
    if depth > 900:
        return "deeper"
    if kind is float:
        return "float", struct.pack(">d", value)
    if kind is Decimal:
        return "Decimal", value.as_tuple()
    if kind is datetime:
        return "datetime", value.replace(tzinfo=None).isoformat(), repr(value.tzinfo), value.fold
    if kind is dict:
        items = [(canon(k, depth + 1), canon(v, depth + 1)) for k, v in value.items()]
        return "dict", items
    if kind in (list, tuple):
        return kind.__name__, [canon(item, depth + 1) for item in value]
    if kind in (bytearray, memoryview):
        return kind.__name__, bytes(value)
    # the clients' own subclasses: pika's long, azure-servicebus's described values and tuples
    for base in (int, str, bytes, list, dict, tuple, float):
        if isinstance(value, base):
            own = canon(getattr(value, "__dict__", {}), depth + 1)
            return name_of(kind), canon(base(value), depth + 1), own
    if isinstance(value, type):
        return "class", name_of(value)
    if callable(value) and not hasattr(value, "__dict__"):
        return "callable", getattr(value, "__qualname__", repr(kind))
    attributes = list(getattr(value, "__dict__", {}).items())
    slots = [(name, getattr(value, name, _UNSET)) for name in slots_of(kind)]
    parts = [(name, canon(item, depth + 1)) for name, item in [*slots, *attributes]]
    if isinstance(value, BaseException):
        parts.append(("args", canon(value.args, depth + 1)))
    return name_of(kind), parts


class _Records(logging.Handler):
    """What the clients log: pamqp says that it cuts a key."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[tuple[str, int]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.name, record.levelno))


_RECORDS = _Records()


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call came to: its value or the type of its exception, and what it said on the way.

    A MemoryError is left to end the run: it says something about the machine or a real defect.
    """
    root = logging.getLogger()
    _RECORDS.records.clear()
    root.addHandler(_RECORDS)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            # Since 3.15, and only where the name is looked up for the first time in a process: it
            # says which side was called first.
            warnings.filterwarnings("ignore", "Support for non-ascii encoding names")
            # Of the clients' older versions since 3.12; drop-ins do not call what gives it.
            warnings.filterwarnings("ignore", r"datetime\.datetime\.utcfromtimestamp\(\)")
            try:
                result: tuple[Any, ...] = ("value", canon(call()))
            except MemoryError:
                raise
            except Exception as error:
                result = ("raises", name_of(type(error)), [name_of(t) for t in type(error).__mro__])
    finally:
        root.removeHandler(_RECORDS)
    categories = [warning.category.__name__ for warning in warned]
    return (*result, tuple(_RECORDS.records), tuple(categories))


def shown(result: tuple[Any, ...], most: int = 300) -> str:
    """An outcome for a person."""
    text = f"raises {result[1]}" if result[0] == "raises" else f"gives {result[1]!r}"
    if result[-2] or result[-1]:
        text += f" and says {result[-2:]}"
    return text if len(text) <= most else text[:most] + " ..."
