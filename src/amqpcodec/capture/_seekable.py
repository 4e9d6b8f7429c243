"""zstd in frames, with a table of them at the end: such a file is read from the middle.

Spec: zstd's contrib/seekable_format/zstd_seekable_compression_format.md, 0.1.1.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from itertools import accumulate
from typing import IO, NamedTuple

__all__ = ["SeekTable", "seek_table"]

_HEAD = struct.Struct("<II")  # magic, and bytes that follow
_FOOT = struct.Struct("<IBI")  # number of frames, descriptor, magic
_SKIPPABLE, _SEEKABLE = 0x184D2A5E, 0x8F92EAB1
_CHECKSUMS, _RESERVED = 0x80, 0x7C


class SeekTable(NamedTuple):
    """Where frames begin, and the last one ends: bytes in the file, and bytes unpacked."""

    packed: list[int]
    unpacked: list[int]

    @property
    def size(self) -> int:
        """Bytes of all frames, unpacked."""
        return self.unpacked[-1]

    def frame_of(self, offset: int) -> int:
        """Number of the frame that holds an unpacked byte; the last one, if none does."""
        return bisect_right(self.unpacked, offset, 1, len(self.unpacked) - 1) - 1


def seek_table(file: IO[bytes]) -> SeekTable | None:
    """The table of a file, which is left where it is; None: it has none that fits to its size."""
    can_seek = getattr(file, "seekable", None)  # sources need to have no more than read()
    if can_seek is None or not can_seek():
        return None
    place = file.tell()
    try:
        return _read(file)
    finally:
        file.seek(place)


def _read(file: IO[bytes]) -> SeekTable | None:
    size = file.seek(0, os.SEEK_END)
    if size < _HEAD.size + _FOOT.size:
        return None
    file.seek(size - _FOOT.size)
    frames, descriptor, magic = _FOOT.unpack(file.read(_FOOT.size))
    entry = struct.Struct("<III" if descriptor & _CHECKSUMS else "<II")
    length = frames * entry.size + _FOOT.size
    start = size - length - _HEAD.size
    if magic != _SEEKABLE or descriptor & _RESERVED or not frames or start < 0:
        return None
    file.seek(start)
    if _HEAD.unpack(file.read(_HEAD.size)) != (_SKIPPABLE, length):
        return None
    entries = list(entry.iter_unpack(file.read(length - _FOOT.size)))
    packed = list(accumulate((sizes[0] for sizes in entries), initial=0))
    unpacked = list(accumulate((sizes[1] for sizes in entries), initial=0))
    return SeekTable(packed, unpacked) if packed[-1] == start else None
