"""Arrow arrays whose buffers are wrong: ends before beginnings, places after the end, no text."""

from __future__ import annotations

import struct
from typing import Any

from tests.columns.batch_rows import pa


def numbers(*values: int, width: int = 4) -> bytes:
    return b"".join(n.to_bytes(width, "little", signed=True) for n in values)


class Lie:
    """An array whose buffers say this; pyarrow, which looks at them, is shown zeros before."""

    def __init__(self, type_: Any, count: int, *buffers: bytes, children: Any = ()) -> None:
        self.buffers = buffers
        self.memory = [bytearray(len(buffer)) for buffer in buffers]
        parts = [None, *map(pa.py_buffer, self.memory)]
        self.array = pa.Array.from_buffers(type_, count, parts, children=list(children))

    def record_batch(self, column: str, **others: str) -> Any:
        """others: columns beside it, of one text in all rows."""
        for block in self.memory:
            block[:] = bytes(len(block))
        more = {name: [text] * len(self.array) for name, text in others.items()}
        rows = pa.RecordBatch.from_pydict({column: self.array, **more})
        for block, octets in zip(self.memory, self.buffers, strict=True):
            block[:] = octets
        return rows


def offsets_array(type_: Any, offsets: bytes) -> Any:
    return Lie(type_, 2, offsets, b"abcdef")


def view(size: int, piece: int, offset: int) -> Any:
    return Lie(pa.string_view(), 1, numbers(size) + b"abcd" + numbers(piece, offset), b"x" * 20)


def a_list(type_: Any, *buffers: bytes) -> Any:
    return Lie(type_, 1, *buffers, children=[pa.array([1, 2], pa.int8())])


def not_text(octets: bytes, type_: Any = None) -> Any:
    """An array that says it is UTF-8."""
    return pa.Array.from_buffers(
        type_ or pa.string(),
        1,
        [None, pa.py_buffer(bytes(4) + len(octets).to_bytes(4, "little")), pa.py_buffer(octets)],
    )


def text_of(*offsets: int) -> Any:
    return pa.Array.from_buffers(
        pa.string(),
        len(offsets) - 1,
        [None, pa.py_buffer(struct.pack(f"<{len(offsets)}i", *offsets)), pa.py_buffer(b"{}{}")],
    )


def text_beyond(kind: Any = None) -> Any:
    """Two texts; the offsets of the first one end after the data."""
    offsets = pa.py_buffer(struct.pack("<3i", 0, 9, 4))
    return pa.Array.from_buffers(kind or pa.string(), 2, [None, offsets, pa.py_buffer(b"text")])
