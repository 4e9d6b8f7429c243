"""Frames to compare a drop-in with its client on, before it is used."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

__all__ = ["header_frame", "method_frame", "outcome", "same_values"]

#: Wire types, numbered as in lowered tables.
_BIT, _OCTET, _SHORT, _LONG, _LONGLONG, _SHORTSTR, _LONGSTR, _TIMESTAMP, _TABLE = range(9)

_TABLE_PAIRS = b"\x01kS\0\0\0\x01v\x02b1t\x01\x01nI\xff\xff\xff\xfe\x01eV"
_SAMPLES = {
    _OCTET: b"\x07",
    _SHORT: b"\x02\x01",
    _LONG: b"\x00\x01\x11\x70",
    _LONGLONG: b"\x00\x00\x01\x00\x00\x00\x00\x05",
    _TIMESTAMP: struct.pack(">Q", 1_700_000_000),
    _TABLE: struct.pack(">I", len(_TABLE_PAIRS)) + _TABLE_PAIRS,
}


def _sample(wire_type: int, number: int) -> bytes:
    """Bytes of a value; texts differ, so that none can stand in another's place."""
    text = f"text-{number}".encode()
    if wire_type == _SHORTSTR:
        return bytes([len(text)]) + text
    if wire_type == _LONGSTR:
        return struct.pack(">I", len(text)) + text
    return _SAMPLES[wire_type]


def _frame(frame_type: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", frame_type, 3, len(payload)) + payload + b"\xce"


def method_frame(class_id: int, method_id: int, wire_types: Sequence[int], flip: int = 0) -> bytes:
    """A method frame; every other bit is set, beginning with the first or (flip=1) the second."""
    out = bytearray(struct.pack(">HH", class_id, method_id))
    run = 0
    for number, wire_type in enumerate(wire_types):
        if wire_type != _BIT:
            out += _sample(wire_type, number)
            run = 0
            continue
        if run % 8 == 0:
            out.append(0)
        out[-1] |= ((run + flip + 1) % 2) << run % 8
        run += 1
    return _frame(1, bytes(out))


def header_frame(class_id: int, wire_types: Sequence[int], present: Sequence[bool]) -> bytes:
    """A content header frame with the properties that are marked."""
    word = sum(0x8000 >> i for i, here in enumerate(present) if here)
    values = [
        _sample(wire_type, i)
        for i, (wire_type, here) in enumerate(zip(wire_types, present, strict=True))
        if here
    ]
    return _frame(2, struct.pack(">HHQH", class_id, 0, 77, word) + b"".join(values))


def outcome(work: Callable[[], Any]) -> tuple[bool, Any]:
    """(True, what comes of it), or (False, the exception's type)."""
    try:
        return True, work()
    except Exception as error:
        return False, type(error)


#: What may follow a tag: numbers, a text, a table, an array, too little.
_PAYLOADS = (
    bytes(range(1, 17)),
    b"\0\0\0\3abc" + bytes(8),
    b"\0\0\0\4\1kt\1" + bytes(8),
    b"\0\0\0\5I\xff\xff\xff\xfe" + bytes(8),
    b"\2\xff\xff\xff\x85" + bytes(8),
    b"\0\0\0\0ef\5\x80",
    b"\0",
)
_VALUES: tuple[Any, ...] = (
    0, -1, 127, 128, -129, 40000, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**40, 2**63, 1.5, -0.1,
    True, False, None, "text", "\u00e4", "", b"bytes", bytearray(b"bytes"), Decimal("1.25"),
    Decimal("-7E2"), datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    [1, "a", [None]], (1, 2), {"b": 1, "a": {"c": [True]}}, {"k": object()}, 1j,
)  # fmt: skip


def same_values(
    read: Callable[[bytes], Any],
    their_read: Callable[[bytes], Any],
    write: Callable[[Any], Any],
    their_write: Callable[[Any], Any],
) -> bool:
    """Whether values of every tag are read, and of each class written, as the client does."""
    given: list[tuple[Any, Any, Any]] = [
        (read, their_read, bytes([tag]) + payload) for tag in range(256) for payload in _PAYLOADS
    ]
    given += [(write, their_write, value) for value in _VALUES]
    return all(
        repr(outcome(lambda ours=ours, value=value: ours(value)))  # type: ignore[misc]
        == repr(outcome(lambda theirs=theirs, value=value: theirs(value)))  # type: ignore[misc]
        for ours, theirs, value in given
    )
