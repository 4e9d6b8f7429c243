"""Frames of AMQP 1.0, part by part: constructors, described types, sections of messages."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from .tree import TruncatedFrame, Walk

__all__ = ["frame"]

FRAMES = {0: "amqp", 1: "sasl"}


def frame(raw: bytes, table: Mapping[str, Any]) -> Walk:
    """The parts of a frame; what cannot be read is bytes. table: TABLE of amqpcodec.v1_0."""
    from .amqp0 import _header

    walk = Walk(raw)
    if raw[:4] == b"AMQP":
        _header(walk)
        return walk
    reader = Reader(walk, table)
    try:
        walk.add(0, "size", "4 bytes", walk.number(4))
        doff = walk.number(1)
        walk.add(4, "doff", "1 byte", doff, "words of 4 bytes before the body")
        kind = walk.number(1)
        walk.add(5, "type", "1 byte", kind, FRAMES.get(kind, "unknown"))
        walk.add(6, "channel", "2 bytes", walk.number(2))
        if doff > 2:
            walk.add_remainder(4 * doff, "extended_header")
        end = len(raw)
        if walk.at < end:
            reader.value("performative", end)
        if walk.at < end:
            start = walk.at
            node = walk.add(start, "payload", "bytes", "")
            with walk.inside():
                try:
                    while walk.at < end and raw[walk.at] == 0:
                        reader.value("section", end)
                except (TruncatedFrame, struct.error):
                    pass
                walk.add_remainder(end, "rest", "what belongs to other frames, or cannot be read")
            node.value = f"{node.length} bytes"
    except (TruncatedFrame, struct.error):
        walk.add_remainder(len(raw), "rest", "what cannot be read")
    return walk


class Reader:
    """Reads values by their constructors."""

    def __init__(self, walk: Walk, table: Mapping[str, Any]) -> None:
        """table: TABLE of amqpcodec.v1_0."""
        self.walk = walk
        self.codes = {
            code: (name, category, width, label)
            for name, encodings in table["primitives"]
            for code, category, width, label in encodings
        }
        self.types = {entry["code"]: entry for entry in table["types"]}
        self.symbols = {entry["symbol"]: entry for entry in table["types"]}

    def value(self, name: str, end: int, fields: Sequence[Any] = (), note: str = "") -> None:
        """The next value. fields: of a described list."""
        walk = self.walk
        start = walk.at
        code = walk.number(1, end)
        if code == 0:
            self._described(name, start, end, note)
        else:
            self._plain(name, code, start, end, fields, note)

    def _described(self, name: str, start: int, end: int, note: str) -> None:
        walk = self.walk
        node = walk.add(start, name, "described", "", note)
        with walk.inside():
            self.value("descriptor", end)
            descriptor = walk.nodes[-1].value
            entry = self.symbols.get(descriptor) or self.types.get(
                int(descriptor) if descriptor.isdigit() else -1
            )
            if entry is not None:
                node.value = walk.nodes[-1].note = entry["name"]
            fields = entry["fields"] if entry is not None and entry.get("composite") else ()
            self.value("fields" if fields else "value", end, fields or ())

    def _plain(
        self, name: str, code: int, start: int, end: int, fields: Sequence[Any], note: str
    ) -> None:
        walk = self.walk
        if code not in self.codes:
            raise TruncatedFrame
        of, category, width, label = self.codes[code]
        kind = label or of
        if category in ("compound", "array"):
            self._many(name, of, kind, width, start, end, fields)
        elif category == "variable":
            walk.add(start, name, kind, walk.take(walk.number(width, end), end), note)
        elif label == "list0":
            walk.add(start, name, kind, "0 items", note)
        else:
            walk.add(start, name, kind, _fixed(of, label, walk.take(width, end)), note)

    def _many(
        self, name: str, of: str, kind: str, width: int, start: int, end: int, fields: Sequence[Any]
    ) -> None:
        walk = self.walk
        size = walk.number(width, end)
        inner = walk.at + size
        if inner > min(end, len(walk.raw)):
            raise TruncatedFrame
        count = walk.number(width, inner)
        node = walk.add(start, name, kind, f"{count} items")
        with walk.inside():
            if of == "array":
                self._items(count, inner)
            else:
                self._entries(count, inner, of == "map", fields)
            walk.add_remainder(inner, "rest", "after the last item")
        node.length = walk.at - start

    def _entries(self, count: int, end: int, pairs: bool, fields: Sequence[Any]) -> None:
        for at in range(count):
            if self.walk.at >= end:
                raise TruncatedFrame
            name, note = f"[{at}]", ""
            if pairs:
                name = "value" if at % 2 else "key"
            elif at < len(fields):
                name, note = fields[at][0], fields[at][7]
            self.value(name, end, (), note)

    def _items(self, count: int, end: int) -> None:
        """Items of an array: one constructor for all of them."""
        walk = self.walk
        start = walk.at
        code = walk.number(1, end)
        if code == 0:
            walk.at = start
            walk.add_remainder(end, "items", "of a described type")
            return
        of = self.codes.get(code)
        walk.add(start, "constructor", "1 byte", f"0x{code:02x}", of[0] if of else "unknown")
        if of is None or of[1] in ("compound", "array"):
            walk.add_remainder(end, "items")
            return
        for at in range(count):
            if walk.at >= end:
                break
            self._plain(f"[{at}]", code, walk.at, end, (), "")


def _fixed(of: str, label: str | None, raw: bytes) -> object:
    """A value of one size."""
    if of == "null":
        return "null"
    if of == "boolean":
        return label == "true" if label in ("true", "false") else raw != b"\0"
    if of in ("ubyte", "ushort", "uint", "ulong"):
        return int.from_bytes(raw, "big")
    if of in ("byte", "short", "int", "long"):
        return int.from_bytes(raw, "big", signed=True)
    if of in ("float", "double"):
        return struct.unpack(">f" if of == "float" else ">d", raw)[0]
    if of == "timestamp":
        ticks = int.from_bytes(raw, "big", signed=True)
        try:
            start = datetime(1970, 1, 1, tzinfo=UTC)
            return (start + timedelta(milliseconds=ticks)).isoformat()
        except OverflowError:
            return ticks
    if of == "uuid":
        return uuid.UUID(bytes=raw)
    if of == "char":
        return repr(chr(int.from_bytes(raw, "big"))) if raw < b"\0\x11" else raw
    return "0x" + raw.hex()
