"""Files in zstd's seekable format."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa


def seekable(parts: Sequence[bytes], checksums: bool = False) -> bytes:
    """A frame for each part, and the table of the frames."""
    frames = [pa.compress(part, "zstd", asbytes=True) for part in parts]
    check = struct.pack("<I", 0) if checksums else b""
    sizes = zip(frames, parts, strict=True)
    table = b"".join(struct.pack("<II", len(frame), len(part)) + check for frame, part in sizes)
    table += struct.pack("<IBI", len(frames), 0x80 if checksums else 0, 0x8F92EAB1)
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


def in_frames(data: bytes, size: int, checksums: bool = False) -> bytes:
    """Frames of so many bytes, unpacked."""
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    return seekable(parts, checksums)


def lying(packed: bytes, column: int, frame: int, size: int) -> bytes:
    """The table says this of a frame, and as much less of the next one. column: 0 packed, 1 not."""
    data = bytearray(packed)
    at = data.rindex(b"\x5e\x2a\x4d\x18") + 8 + 8 * frame + 4 * column
    original_size, following = struct.unpack_from("<I4xI", data, at)
    struct.pack_into("<I", data, at, size)
    struct.pack_into("<I", data, at + 8, original_size + following - size)
    return bytes(data)
