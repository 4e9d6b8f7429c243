"""Frames of AMQP 0-9-1, 0-9 and 0-8, part by part, by the tables of the protocol."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .tree import TruncatedFrame, Walk

__all__ = ["frame"]

FRAMES = {1: "method", 2: "header", 3: "body", 8: "heartbeat"}
#: Wire types by their numbers in the protocol's table.
BIT, OCTET, SHORT, LONG, LONGLONG, SHORTSTR, LONGSTR, TIMESTAMP, TABLE = range(9)
SIZES = {OCTET: ("octet", 1), SHORT: ("short", 2), LONG: ("long", 4), LONGLONG: ("longlong", 8)}
#: Tag -> (name, struct format) of table values of one size, as RabbitMQ has them.
FIXED = {
    "t": ("boolean", "?"), "b": ("int8", "b"), "B": ("uint8", "B"), "s": ("int16", ">h"),
    "u": ("uint16", ">H"), "I": ("int32", ">i"), "i": ("uint32", ">I"), "l": ("int64", ">q"),
    "L": ("int64", ">q"), "f": ("float", ">f"), "d": ("double", ">d"), "U": ("int16", ">h"),
}  # fmt: skip


def frame(raw: bytes, table: Mapping[str, Any]) -> Walk:
    """The parts of a frame; what cannot be read is bytes. table: TABLE of the protocol's module."""
    walk = Walk(raw)
    if raw[:4] == b"AMQP":
        _header(walk)
        return walk
    try:
        kind = walk.number(1)
        walk.add(0, "type", "octet", kind, FRAMES.get(kind, "unknown"))
        start = walk.at
        walk.add(start, "channel", "short", walk.number(2))
        start = walk.at
        size = walk.number(4)
        walk.add(start, "size", "long", size)
        end = min(walk.at + size, len(raw))
        start = walk.at
        node = walk.add(start, "payload", FRAMES.get(kind, "unknown"), "")
        with walk.inside():
            try:
                _payload(walk, kind, table, end)
            except (TruncatedFrame, struct.error):
                pass
            walk.add_remainder(end, "rest", "what is left, or cannot be read")
        node.value = f"{node.length} bytes"
        start = walk.at
        walk.add(start, "frame_end", "octet", f"0x{walk.number(1):02x}")
    except TruncatedFrame:
        pass
    walk.add_remainder(len(raw), "rest", "what belongs to no part of a frame")
    return walk


def _header(walk: Walk) -> None:
    walk.take(4)
    walk.add(0, "protocol", "4 bytes", "AMQP")
    start = walk.at
    version = walk.take(min(4, len(walk.raw) - 4))
    walk.add(start, "version", "4 bytes", " ".join(map(str, version)))
    walk.add_remainder(len(walk.raw), "rest")


def _payload(walk: Walk, kind: int, table: Mapping[str, Any], end: int) -> None:
    if kind == 1:
        _method(walk, table, end)
    elif kind == 2:
        _content_header(walk, table, end)
    elif kind == 3:
        start = walk.at
        walk.add(start, "body", "bytes", walk.take(walk.remaining(end)))


def _class(walk: Walk, table: Mapping[str, Any], end: int) -> Mapping[str, Any]:
    start = walk.at
    number = walk.number(2, end)
    class_entry = next((entry for entry in table["classes"] if entry["index"] == number), None)
    name = class_entry["name"] if class_entry else "unknown"
    walk.add(start, "class_id", "short", number, name)
    return class_entry or {"name": name, "methods": (), "properties": ()}


def _method(walk: Walk, table: Mapping[str, Any], end: int) -> None:
    of = _class(walk, table, end)
    start = walk.at
    number = walk.number(2, end)
    method = next((entry for entry in of["methods"] if entry["index"] == number), None)
    name = f"{of['name']}.{method['name'] if method else 'unknown'}"
    walk.add(start, "method_id", "short", number, name)
    _fields(walk, method["fields"] if method else (), end)


def _content_header(walk: Walk, table: Mapping[str, Any], end: int) -> None:
    of = _class(walk, table, end)
    start = walk.at
    walk.add(start, "weight", "short", walk.number(2, end))
    start = walk.at
    walk.add(start, "body_size", "longlong", walk.number(8, end))
    start, flags = walk.at, []
    while True:
        word = walk.number(2, end)
        flags += [bool(word >> bit & 1) for bit in range(15, 0, -1)]
        if not word & 1:
            break
    properties = of["properties"] or ()
    present_fields = [field for field, flag in zip(properties, flags, strict=False) if flag]
    names = " ".join(field[0] for field in present_fields)
    walk.add(start, "property_flags", "short", f"0x{walk.raw[start : walk.at].hex()}", names)
    _fields(walk, present_fields, end)


def _fields(walk: Walk, fields: Sequence[Any], end: int) -> None:
    bits = 0
    byte = 0
    for name, kind, *_ in fields:
        note = _[1] if len(_) > 1 else ""
        start = walk.at
        if kind == BIT:
            if bits % 8 == 0:
                byte = walk.number(1, end)
            is_set = bool(byte >> bits % 8 & 1)
            node = walk.add(walk.at - 1, name, f"bit {bits % 8}", is_set, note)
            node.length = 1
            bits += 1
            continue
        bits = 0
        if kind in SIZES:
            of, size = SIZES[kind]
            value = walk.number(size, end)
            walk.add(start, name, of, value, note)
        elif kind == SHORTSTR:
            walk.add(start, name, "shortstr", walk.take(walk.number(1, end), end), note)
        elif kind == LONGSTR:
            walk.add(start, name, "longstr", walk.take(walk.number(4, end), end), note)
        elif kind == TIMESTAMP:
            walk.add(start, name, "timestamp", _time(walk.number(8, end)), note)
        elif kind == TABLE:
            _table(walk, name, end, note)
        else:
            raise TruncatedFrame


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _table(
    walk: Walk, name: str, end: int, note: str = "", start: int | None = None, kind: str = "table"
) -> None:
    start = walk.at if start is None else start
    size = walk.number(4, end)
    is_complete = walk.at + size <= end
    node = walk.add(start, name, kind, "", note)
    inner = min(walk.at + size, end)
    count = 0
    with walk.inside():
        while walk.at < inner:
            at = walk.at
            key = walk.take(walk.number(1, inner), inner)
            _value(walk, key.decode("utf-8", "replace"), at, inner)
            count += 1
    node.value = f"{count} entries"
    if not is_complete:
        raise TruncatedFrame


def _value(walk: Walk, name: str, start: int, end: int) -> None:
    """A tagged value. start: where its name begins, if it has one."""
    tag = chr(walk.number(1, end))
    if tag in FIXED:
        kind, code = FIXED[tag]
        (value,) = struct.unpack(code, walk.take(struct.calcsize(code), end))
        walk.add(start, name, f"{tag} {kind}", value)
    elif tag in "Sx":
        kind = "longstr" if tag == "S" else "bytes"
        walk.add(start, name, f"{tag} {kind}", walk.take(walk.number(4, end), end))
    elif tag == "T":
        walk.add(start, name, "T timestamp", _time(walk.number(8, end)))
    elif tag == "D":
        scale, value = walk.number(1, end), walk.number(4, end, signed=True)
        walk.add(start, name, "D decimal", f"{value}e-{scale}")
    elif tag == "V":
        walk.add(start, name, "V void", "")
    elif tag == "F":
        _table(walk, name, end, "", start, "F table")
    elif tag == "A":
        size = walk.number(4, end)
        node = walk.add(start, name, "A array", "")
        inner = min(walk.at + size, end)
        count = 0
        with walk.inside():
            while walk.at < inner:
                _value(walk, f"[{count}]", walk.at, inner)
                count += 1
        node.value = f"{count} items"
    else:
        raise TruncatedFrame
