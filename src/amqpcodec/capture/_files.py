"""The bytes of a capture file, unpacked, piece by piece."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from ._storage import Located, Storage, locate

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


def open_source(source: str | os.PathLike[str]) -> IO[bytes]:
    """A file of this machine, or of wherever a URI says."""
    if not isinstance(source, Located):
        source = locate(source, Storage())
    return source.open() if isinstance(source, Located) else open(source, "rb")


class _Joined:
    """What was read of a file already, and the rest of it."""

    closed = False

    def __init__(self, first: bytes, file: IO[bytes]) -> None:
        self._first = first
        self._file = file

    def read(self, n: int = -1) -> bytes:
        if self._first:
            part = self._first if n < 0 else self._first[:n]
            self._first = self._first[len(part) :]
            return part if n >= 0 else part + self._file.read()
        return self._file.read(n) or b""

    def close(self) -> None:
        """The file is closed by whoever opened it."""


def _codec_of(first: bytes) -> str | None:
    """What a file is packed with, by its first bytes; frames that zstd skips are frames of it."""
    if first[:4] == b"\x28\xb5\x2f\xfd" or (
        first[1:4] == b"\x2a\x4d\x18" and 0x50 <= first[0] <= 0x5F
    ):
        return "zstd"
    return "lz4" if first[:4] == b"\x04\x22\x4d\x18" else None


class Pieces:
    """Iterates over the bytes of a file; gzip, of several members too, zstd and lz4 are unpacked.

    ``whole`` is False where the unpacking stopped before the end: what came before it was given.
    ``empty``: the file has no byte at all.
    """

    def __init__(self, source: Source, offset: int = 0, watch: Watch | None = None) -> None:
        """offset: bytes, unpacked, to pass over. watch: what is to be read instead of the file."""
        self.source = source
        self.watch = watch
        self.offset = offset
        self.whole = True
        self.empty = False

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Pieces of at most PIECE bytes; each is good until the next one is asked for."""
        if isinstance(self.source, str | os.PathLike):
            with open_source(self.source) as file:
                yield from self._read(self.watch(file) if self.watch else file)
        else:
            yield from self._read(self.source)

    def _read(self, file: IO[bytes]) -> Iterator[bytes | memoryview]:
        first = file.read(PACKED_PIECE) or b""
        self.empty = not first
        packed = None
        if first[:2] == b"\x1f\x8b":
            packed = self._unpack(first, file)
        elif (codec := _codec_of(first)) is not None:
            packed = self._unpack_by_arrow(codec, first, file)
        if packed is not None:
            skip = self.offset
            for piece in packed:
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

    def _unpack_by_arrow(self, codec: str, raw: bytes, file: IO[bytes]) -> Iterator[bytes]:
        """zstd and lz4, frame after frame, by pyarrow."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError(
                f"captures packed with {codec} need pyarrow: pip install 'amqpcodec[arrow]'"
            ) from None
        packed = pa.PythonFile(_Joined(raw, file), mode="r")
        try:
            with pa.CompressedInputStream(packed, codec) as unpacked:
                while piece := unpacked.read(PACKED_PIECE):
                    yield piece
        except OSError:
            self.whole = False

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
