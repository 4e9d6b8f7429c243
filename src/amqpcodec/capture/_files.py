"""The bytes of a capture file, unpacked, piece by piece."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

#: Bytes read at once: so many stay in the processor's cache until they are used.
PIECE = 1 << 18
PACKED_PIECE = 1 << 16

#: What a capture is read from: the name of a file, or an open binary file.
Source = str | os.PathLike[str] | IO[bytes]

#: Gives what is read in place of an open file, for example one that tells of its progress.
Watch = Callable[[IO[bytes]], IO[bytes]]


def source_name(source: Source) -> str:
    """What rows call a file: its path as given, or what an open file says."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name: Any = getattr(source, "name", "")
    return name if isinstance(name, str) else ""


class Pieces:
    """Iterates over the bytes of a file; gzip, also of several members, is unpacked.

    ``whole`` is False where the unpacking stopped before the end: what came before it was given.
    """

    def __init__(self, source: Source, offset: int = 0, watch: Watch | None = None) -> None:
        """offset: bytes, unpacked, to pass over. watch: what is to be read instead of the file."""
        self.source = source
        self.watch = watch
        self.offset = offset
        self.whole = True

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Pieces of at most PIECE bytes; each is good until the next one is asked for."""
        if isinstance(self.source, str | os.PathLike):
            with open(self.source, "rb") as file:
                yield from self._read(self.watch(file) if self.watch else file)
        else:
            yield from self._read(self.source)

    def _read(self, file: IO[bytes]) -> Iterator[bytes | memoryview]:
        first = file.read(PACKED_PIECE)
        if first[:2] == b"\x1f\x8b":
            skip = self.offset
            for piece in self._unpack(first, file):
                if skip < len(piece):
                    yield piece[skip:]
                skip = max(0, skip - len(piece))
            return
        if self.offset:
            if self.offset < len(first):
                yield first[self.offset :]
            else:
                file.seek(self.offset - len(first), os.SEEK_CUR)
        else:
            yield first
        into: Callable[[memoryview], int | None] | None = getattr(file, "readinto", None)
        if into is None:
            while piece := file.read(PIECE):
                yield piece
            return
        # The same memory again and again: fresh pages for each piece would cost as much as reading.
        with memoryview(bytearray(PIECE)) as room:
            while count := into(room):
                yield room[:count]

    def _unpack(self, raw: bytes, file: IO[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(wbits=31)
        fresh = True  # nothing of the member was read
        while True:
            if not raw:
                raw = file.read(PACKED_PIECE)
                if not raw:
                    self.whole = fresh
                    return
            if fresh and raw[:1] != b"\x1f":
                return  # padding after the last member
            before = member.copy()
            try:
                piece = member.decompress(raw, PIECE)
            except zlib.error:
                self.whole = False
                yield _up_to_damage(before, raw)
                return
            fresh = False
            if piece:
                yield piece
            if member.eof:
                raw = member.unused_data
                member = zlib.decompressobj(wbits=31)
                fresh = True
            else:
                raw = member.unconsumed_tail


def _up_to_damage(member: Any, raw: bytes) -> bytes:
    """What can be unpacked: zlib gives nothing of a call that fails, so calls must be small."""
    out = []
    try:
        while raw and not member.eof:
            out.append(member.decompress(raw, 128))
            raw = member.unconsumed_tail
    except zlib.error:
        pass
    return b"".join(out)
