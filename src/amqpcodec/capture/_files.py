"""The bytes of a capture file, unpacked, piece by piece."""

from __future__ import annotations

import os
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from itertools import islice
from typing import IO, Any

from .._facade.scalars import as_text
from ._errors import CaptureWarning
from ._limits import LIMITS, Unpacking, passed_limit
from ._ranges import RANGE, RangeFile
from ._seekable import SeekTable, seek_table
from ._storage import Located, Storage, locate

#: Bytes read at once: so many stay in the processor's cache until they are used.
CHUNK_BYTES = 1 << 18
COMPRESSED_CHUNK_BYTES = 1 << 16
#: Bytes that are decompressed at once where a packed file is damaged.
BEFORE_DAMAGE = 1 << 12

#: Pieces that a thread reads ahead at once, and how often it does so.
CHUNKS_PER_JOB = 4
TIMES_AHEAD = 2

#: What a capture is read from: the name of a file, or an open binary file.
Source = str | os.PathLike[str] | IO[bytes]

#: Gives what is read in place of an open file, for example one that tells of its progress.
Watch = Callable[[IO[bytes]], IO[bytes]]


#: Why unpacking ended early.
DAMAGED = "the compressed file is damaged or cut"
#: pyarrow decompresses zstd with windows of 128 MiB at most.
LARGE_WINDOW = (
    "the compressed file needs a larger window than 128 MiB, as zstd --ultra or --long makes it;"
    " decompress it with zstd -d --long=31 first"
)


def source_name(source: Source) -> str:
    """What rows call a file: its path as given, or what an open file says."""
    if isinstance(source, str | os.PathLike):
        path: str = as_text(os.fspath(source))
        return path
    name: Any = getattr(source, "name", "")
    text: str = as_text(name) if isinstance(name, str) else ""
    return text


def has_position(source: Any) -> bool:
    """Whether it is an open file, whose position the system keeps and a fork shares."""
    if isinstance(source, str | os.PathLike):
        return False
    try:
        return source.fileno() >= 0  # type: ignore[no-any-return]
    except (AttributeError, OSError):
        return False


def open_source(source: str | os.PathLike[str], step: int = RANGE) -> IO[bytes]:
    """A file of this machine, or of wherever a URI says; step: bytes that a store is asked for."""
    if not isinstance(source, Located):
        source = locate(source, Storage())
    return source.open(step) if isinstance(source, Located) else open(source, "rb")


class _Part:
    """A part of a file that is open: what was read of it already, then so many bytes, or all.

    ``at``: bytes of the file before what is read next.
    """

    closed = False

    def __init__(
        self, file: IO[bytes], first: bytes = b"", at: int = 0, size: int | None = None
    ) -> None:
        self.at = at
        self._file = file
        self._first = first
        self._remaining_bytes = size
        self._begin = at, size
        self._small: int | None = None

    def again(self, small: int) -> _Part | None:
        """The same part from its beginning, or None where the file does not seek.

        small: byte of the file from which on every read gives one byte.
        """
        try:
            place = self._file.tell() - len(self._first) - (self.at - self._begin[0])
            self._file.seek(place)
        except (AttributeError, OSError):
            return None
        part = _Part(self._file, at=self._begin[0], size=self._begin[1])
        part._small = small
        return part

    def read(self, n: int) -> bytes:
        """At most n bytes."""
        if self._small is not None:
            n = min(n, max(1, self._small - self.at))
        if self._first:
            part, self._first = self._first[:n], self._first[n:]
        else:
            if self._remaining_bytes is not None:
                n = min(n, self._remaining_bytes)
            part = self._file.read(n) or b""
            if self._remaining_bytes is not None:
                self._remaining_bytes -= len(part)
        self.at += len(part)
        return part

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

    ``fault``: why the unpacking stopped before the end; what came before that was given. Where it
    is a limit, a CaptureWarning says so, too. ``unpacked``: bytes that came out of a compressed
    file, skipped ones included. ``empty``: the file has no byte at all, or none when unpacked.
    ``packed``: it is unpacked, as its first piece says. ``mistake``: what its table of frames has
    wrong.
    """

    def __init__(
        self,
        source: Source,
        offset: int = 0,
        watch: Watch | None = None,
        unpacking: Unpacking = LIMITS,
    ) -> None:
        """offset: bytes, unpacked, to skip. watch: what is to be read instead of the file."""
        self.source = source
        self.watch = watch
        self.offset = offset
        self.fault: str | None = None
        self.unpacked = 0
        self.empty = False
        self.packed = False
        self.mistake: str | None = None
        self._opened: IO[bytes] | None = None
        self._until: int | None = None
        self._table: SeekTable | None = None
        self._frame = 0  # that is read: the table is right about those before it
        self._limits = unpacking
        self._part: _Part  # that is unpacked

    def finds(self, offset: int) -> bool:
        """Whether a byte that was read, unpacked, is where a table of frames says, if any does."""
        table = self._table
        return table is None or (self.mistake is None and table.frame_of(offset) <= self._frame)

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Pieces of at most CHUNK_BYTES bytes, each good until the next one.

        Those of a compressed file are good for longer.
        """
        if isinstance(self.source, str | os.PathLike):
            with open_source(self.source) as file:
                self._opened = file
                self.stop_at(self._until)
                yield from self._read(self.watch(file) if self.watch else file)
        else:
            yield from self._read(self.watch(self.source) if self.watch else self.source)

    def stop_at(self, offset: int | None) -> None:
        """For now nothing is wanted after an offset, unpacked: so a store is asked for no more."""
        self._until = offset
        if isinstance(self._opened, RangeFile):  # a compressed one ends before: read all of it
            self._opened.until = self._opened.size if offset is None else offset

    def _read(self, file: IO[bytes]) -> Iterator[bytes | memoryview]:
        first = file.read(COMPRESSED_CHUNK_BYTES) or b""
        self.empty = not first
        packed = None
        skip = self.offset
        if first[:2] == b"\x1f\x8b":
            packed = self._unpack(_Part(file, first))
        elif (codec := _codec_of(first)) is not None:
            if codec == "zstd" and (table := seek_table(file)) is not None:
                number = table.frame_of(skip) if skip else 0
                self.unpacked = table.unpacked[number]
                skip -= self.unpacked
                self._table = table
                packed = self._unpack_frames(table, number, file)
            else:
                packed = self._unpack_by_arrow(codec, _Part(file, first))
        if packed is not None:
            self.packed = True
            for piece in self._within_limits(packed):
                if skip < len(piece):
                    yield piece[skip:]
                skip = max(0, skip - len(piece))
            self.empty = not self.unpacked and self.fault is None and self.mistake is None
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
            while piece := file.read(CHUNK_BYTES):
                yield piece
            return
        if not (piece := file.read(CHUNK_BYTES)):
            return  # small files end here, without memory for more
        yield piece
        # The same memory again and again: fresh pages for each piece would cost as much as reading.
        room = memoryview(bytearray(CHUNK_BYTES))
        while count := into(room):
            yield room[:count]

    def _within_limits(self, packed: Iterator[bytes]) -> Iterator[bytes]:
        for piece in packed:
            limit = self._limits.of(self._part.at)
            if limit is not None and self.unpacked + len(piece) > limit[0]:
                most, option = limit
                room = max(0, most - self.unpacked)
                self.unpacked += room
                self.fault = passed_limit(option, self._limits.options[option])
                yield piece[:room]
                name = source_name(self.source) or "a capture"
                warnings.warn(f"{name}: {self.fault}", CaptureWarning, stacklevel=2)
                return
            self.unpacked += len(piece)
            yield piece

    def _unpack_frames(self, table: SeekTable, first: int, file: IO[bytes]) -> Iterator[bytes]:
        """zstd, from a frame of a table on, as long as frames are as large as the table says."""
        for number in range(first, len(table.packed) - 1):
            self._frame = number
            start, end = table.packed[number : number + 2]
            file.seek(start)
            output_bytes = 0
            for piece in self._unpack_by_arrow("zstd", _Part(file, at=start, size=end - start)):
                yield piece
                output_bytes += len(piece)
            if output_bytes != table.unpacked[number + 1] - table.unpacked[number] or self.fault:
                break
        else:
            return
        self.fault = None
        self.mistake = f"its table of frames is wrong about the frame at byte {start}"
        file.seek(start)
        for piece in self._unpack_by_arrow("zstd", _Part(file, at=start)):
            yield piece[output_bytes:]
            output_bytes = max(0, output_bytes - len(piece))

    def _unpack_by_arrow(self, codec: str, part: _Part) -> Iterator[bytes]:
        """zstd and lz4, frame after frame, by pyarrow."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError(
                f"captures compressed with {codec} need pyarrow: pip install 'amqpcodec[arrow]'"
            ) from None
        output_bytes = 0
        # Arrow gives nothing of a call that fails: what was decompressed within it comes from ever
        # smaller calls, the last ones of which read a byte and give a byte.
        for step in (COMPRESSED_CHUNK_BYTES, BEFORE_DAMAGE, 1):
            self._part = part
            skip = output_bytes
            try:
                with pa.CompressedInputStream(pa.PythonFile(part, mode="r"), codec) as unpacked:
                    while piece := unpacked.read(min(skip, COMPRESSED_CHUNK_BYTES) or step):
                        if skip:
                            skip -= len(piece)
                            continue
                        output_bytes += len(piece)
                        yield piece
                return
            except OSError as error:
                self.fault = LARGE_WINDOW if "too much memory" in str(error) else DAMAGED
            again = part.again(part.at - 2 * COMPRESSED_CHUNK_BYTES)
            if again is None:
                return
            part = again

    def _unpack(self, part: _Part) -> Iterator[bytes]:
        self._part = part
        raw = b""
        member = zlib.decompressobj(wbits=31)
        fresh = True  # nothing of the member was read
        while True:
            if not raw:
                raw = part.read(COMPRESSED_CHUNK_BYTES)
                if not raw:
                    self.fault = None if fresh else DAMAGED
                    return
            if fresh and raw[:1] != b"\x1f":  # padding after the last member
                raw = raw.lstrip(b"\0")
                if raw[:1] not in (b"", b"\x1f"):
                    self.fault = DAMAGED
                    return
                continue
            before = member.copy()
            try:
                piece = member.decompress(raw, CHUNK_BYTES)
            except zlib.error:
                self.fault = DAMAGED
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
    """Iterates over the pieces of a file. Those of a compressed one are read ahead by a thread,
    between start() and stop(); others are read sooner than they are handed over to another
    processor.
    """

    def __init__(self, pieces: Pieces) -> None:
        """Nothing is read yet."""
        self._source = pieces
        self._pieces = iter(pieces)
        self._pool: Executor | None = None
        self._read: deque[bytes | memoryview] = deque()
        self._requests: deque[Future[tuple[list[bytes | memoryview], Exception | None]]] = deque()
        self._fault: Exception | None = None

    def start(self, pool: Executor) -> None:
        """pool: of one thread."""
        self._pool = pool

    def stop(self) -> None:
        """The pool was shut down; what it has read comes next."""
        self._pool = None
        self._requests = deque(request for request in self._requests if not request.cancelled())

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Itself."""
        return self

    def __next__(self) -> bytes | memoryview:
        """A piece, or the error that reading it gave."""
        while not self._read:
            if self._fault is not None:
                raise self._fault
            while (
                self._pool is not None and self._source.packed and len(self._requests) < TIMES_AHEAD
            ):
                self._requests.append(self._pool.submit(self._some))
            if not self._requests:
                return next(self._pieces)
            pieces, self._fault = self._requests.popleft().result()
            if not pieces and self._fault is None:
                raise StopIteration
            self._read.extend(pieces)
        return self._read.popleft()

    def _some(self) -> tuple[list[bytes | memoryview], Exception | None]:
        pieces: list[bytes | memoryview] = []
        try:
            pieces.extend(islice(self._pieces, CHUNKS_PER_JOB))
        except Exception as fault:
            return pieces, fault
        return pieces, None


def _up_to_damage(member: Any, raw: bytes) -> bytes:
    """What can be unpacked: zlib gives nothing of a call that fails, so calls must be small."""
    out = []
    before = member
    try:
        while not member.eof:
            before = member.copy()
            piece = member.decompress(raw, 128)
            out.append(piece)
            raw = member.unconsumed_tail
            if not raw and not piece:
                return b"".join(out)
        return b"".join(out)
    except zlib.error:
        member = before
    # Within those 128 bytes: a byte in, and what it gives byte by byte.
    try:
        for at in range(max(len(raw), 1)):
            piece = member.decompress(raw[at : at + 1], 1)
            while piece or member.unconsumed_tail:
                out.append(piece)
                piece = member.decompress(member.unconsumed_tail, 1)
    except zlib.error:
        pass
    return b"".join(out)
