"""The bytes of a capture file, unpacked, piece by piece."""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from itertools import cycle, islice
from typing import IO, Any

from ._seekable import seek_table
from ._storage import Located, Storage, locate

#: Bytes read at once: so many stay in the processor's cache until they are used.
PIECE = 1 << 18
PACKED_PIECE = 1 << 16

#: Pieces that a thread reads ahead at once, and how often it does so.
TOGETHER = 4
TIMES_AHEAD = 2

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

    def __init__(
        self, source: Source, offset: int = 0, watch: Watch | None = None, kept: int = 1
    ) -> None:
        """offset: bytes, unpacked, to pass over. watch: what is to be read instead of the file.

        kept: how many pieces are good at a time.
        """
        self.source = source
        self.watch = watch
        self.offset = offset
        self.kept = kept
        self.whole = True
        self.empty = False

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Pieces of at most PIECE bytes; each is good until the `kept`-th after it is asked for."""
        if isinstance(self.source, str | os.PathLike):
            with open_source(self.source) as file:
                yield from self._read(self.watch(file) if self.watch else file)
        else:
            yield from self._read(self.watch(self.source) if self.watch else self.source)

    def _read(self, file: IO[bytes]) -> Iterator[bytes | memoryview]:
        first = file.read(PACKED_PIECE) or b""
        self.empty = not first
        packed = None
        skip = self.offset
        if first[:2] == b"\x1f\x8b":
            packed = self._unpack(first, file)
        elif (codec := _codec_of(first)) is not None:
            if skip and codec == "zstd" and (table := seek_table(file)) is not None:
                place, before = table.before(skip)
                file.seek(place)
                first = file.read(PACKED_PIECE) or b""
                skip -= before
            packed = self._unpack_by_arrow(codec, first, file)
        if packed is not None:
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
        for room in cycle([memoryview(bytearray(PIECE)) for _ in range(self.kept)]):
            if not (count := into(room)):
                return
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


class Ahead:
    """Iterates over the pieces of a file, which a thread reads ahead between start() and stop()."""

    #: How many pieces must be good at a time.
    KEPT = TOGETHER * (TIMES_AHEAD + 1)

    def __init__(self, pieces: Iterator[bytes | memoryview]) -> None:
        """Nothing is read yet."""
        self._pieces = pieces
        self._pool: Executor | None = None
        self._read: deque[bytes | memoryview] = deque()
        self._asked: deque[Future[tuple[list[bytes | memoryview], Exception | None]]] = deque()
        self._fault: Exception | None = None

    def start(self, pool: Executor) -> None:
        """pool: of one thread."""
        self._pool = pool

    def stop(self) -> None:
        """The pool was shut down; what it has read comes next."""
        self._pool = None
        self._asked = deque(each for each in self._asked if not each.cancelled())

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Itself."""
        return self

    def __next__(self) -> bytes | memoryview:
        """A piece, or the error that reading it gave."""
        while not self._read:
            if self._fault is not None:
                raise self._fault
            while self._pool is not None and len(self._asked) < TIMES_AHEAD:
                self._asked.append(self._pool.submit(self._some))
            if not self._asked:
                return next(self._pieces)
            pieces, self._fault = self._asked.popleft().result()
            if not pieces and self._fault is None:
                raise StopIteration
            self._read.extend(pieces)
        return self._read.popleft()

    def _some(self) -> tuple[list[bytes | memoryview], Exception | None]:
        pieces: list[bytes | memoryview] = []
        try:
            pieces.extend(islice(self._pieces, TOGETHER))
        except Exception as fault:
            return pieces, fault
        return pieces, None


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
