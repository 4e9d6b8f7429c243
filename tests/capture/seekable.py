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
