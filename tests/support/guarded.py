"""Memory in front of a page that nobody may read: reading on behind its end stops the process."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

from tests.columns.batch_rows import pa
from tests.support.guard_page import guarded_memory

POSIX_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="takes mprotect")


def guarded(octets: Any) -> Any:
    """A buffer of these bytes in front of a page without access."""
    octets = memoryview(octets).cast("B")
    memory, room = guarded_memory(len(octets))
    start = room - len(octets)
    memory[start:room] = octets
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return pa.foreign_buffer(address + start, len(octets), base=memory)


def guarded_value(octets: bytes) -> Any:
    """An Arrow array of one binary, whose bytes are guarded; decode borrows them."""
    offsets = pa.array([0, len(octets)], pa.int64()).buffers()[1]
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, guarded(octets)])


def guard(array: Any) -> Any:
    """An array with its buffers guarded, each exactly as long as its rows need."""
    if pa.types.is_struct(array.type):
        children = [guard(array.field(i)) for i in range(array.type.num_fields)]
        valid = guarded_bits(array)
        return pa.Array.from_buffers(array.type, len(array), [valid], children=children)
    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(guard(array.indices), guard(array.dictionary))
    if kind.num_fields or "view" in str(kind):
        return array
    array = pa.concat_arrays([array.slice(0, 0), array])  # offsets begin at 0, buffers at the rows
    assert array.offset == 0
    buffers = array.buffers()
    valid = guarded_bits(array)
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(
            kind, len(array), [valid, guarded(first_bytes(buffers[1], (len(array) + 7) // 8))]
        )
    if len(buffers) == 2:
        size = len(array) * kind.bit_width // 8
        values = guarded(first_bytes(buffers[1], size))
        return pa.Array.from_buffers(kind, len(array), [valid, values])
    if len(buffers) != 3:
        return array
    width = 8 if "large" in str(kind) else 4
    offsets = first_bytes(buffers[1], width * (len(array) + 1)) if len(array) else bytes(width)
    last = int.from_bytes(offsets[-width:], sys.byteorder)
    data = guarded(first_bytes(buffers[2], last))
    return pa.Array.from_buffers(kind, len(array), [valid, guarded(offsets), data])


def first_bytes(buffer: Any, size: int) -> bytes:
    """The first bytes of a buffer, which may be None."""
    return b"" if buffer is None else buffer.slice(0, size).to_pybytes()


def guarded_bits(array: Any) -> Any:
    """Which rows there are, or None."""
    if not array.null_count:
        return None
    bits = pa.array(array.is_valid().to_pylist(), pa.bool_()).buffers()[1]
    return guarded(first_bytes(bits, (len(array) + 7) // 8))
