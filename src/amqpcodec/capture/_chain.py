"""One chain: a capture file, or those that one rotation wrote, read as if they were one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from amqpcodec._facade.interpreter import _codec

from .. import _capture, _v1
from .._capture import CaptureBatch, CaptureRows
from ._errors import ReaderExhausted, StateError, no_capture
from ._files import Ahead, Pieces, Source, Watch, source_name
from ._limits import LIMITS, Unpacking
from ._order import CaptureFile, capture_file_of, in_order

#: A file that begins so much before the end of the one before it is of another recording: ns.
OVERLAP = 5 * 10**9


class Chain:
    """Reads files one after the other; what connections wait for is carried on."""

    def __init__(
        self,
        sources: Sequence[Source],
        core: _capture.CaptureReader,
        protocol: _codec.Protocol | _v1.V1Core,
        files: list[CaptureFile] | None = None,
        unpacking: Unpacking = LIMITS,
    ) -> None:
        """Nothing is opened yet. files: the sources in their order, where that is known."""
        self.core = core
        self.overlaps: list[str] = []
        #: What is read instead of an open file, if anything.
        self.watch: Watch | None = None
        #: Rows go out as soon as the bytes that were read have them, not when a batch is full.
        self.live = False
        self._bare = False  # rows go out without their columns
        self._pool: Executor | None = None
        #: Called where a file ends and its rows went out.
        self.at_end_of_file: Callable[[], None] | None = None
        self._sources = sources
        self._protocol = protocol
        self.unpacking = unpacking
        self._files = files
        self._next = 0  # of the files
        self._skip = 0
        self._bytes: Ahead | None = None  # of the file before, while it is open
        self._pieces: Pieces | None = None
        self._file_ended = False
        self._ended = False
        self._failure: BaseException | None = None  # which ended the reading of a file
        self._damaged: str | None = None  # of the last file
        self._stats: list[dict[str, Any]] = []  # of files that were closed
        self._before: dict[str, Any] = {}

    @property
    def files(self) -> list[CaptureFile]:
        """The files in order; where there are several, they are opened to see which comes first."""
        if self._files is None:
            if len(self._sources) == 1:
                source = self._sources[0]
                self._files = [CaptureFile(source, source_name(source), None, False)]
            else:
                self._files = in_order(
                    capture_file_of(path_or_file, self._protocol, self.unpacking)
                    for path_or_file in self._sources
                )
        return self._files

    def read(
        self, stop: tuple[int, int] | None, end: bool
    ) -> Iterator[CaptureBatch | list[CaptureRows]]:
        """Batches of the records before `stop`, (index of the file, offset); see Reader.read.

        After start(), the rows of some batches at once.
        """
        core = self.core
        self.refuse_after_failure()
        stop_file = None if stop is None else stop[0]
        while not self._ended:
            if self._bytes is None:
                if self._next == len(self.files) or (stop is not None and (self._next, 0) >= stop):
                    break
                self._open(self.files[self._next])
            here = self._next - 1
            limit = None if stop is None or here < stop[0] else stop[1] if here == stop[0] else 0
            yield from self._read_file(limit)
            if limit is not None and (not core.damaged or here == stop_file):
                break  # also after damage: the state says where in this file that is
            self._file_ended = True
            assert self._pieces is not None
            if not core.known and len(self.files) == 1 and not self._pieces.empty:
                raise no_capture(self.files[0].name, self._pieces.fault)
            if self.at_end_of_file is not None:
                yield from self._take_all()
            if self._next == len(self.files) and end:
                self._ended = True
                while core.advance(last=True):
                    yield from self._take()
                yield from self._take_all()
                self._damaged = self._damage()
                core.release()
            if self.at_end_of_file is not None:
                self.at_end_of_file()
            if not self._ended:
                self._close()
        yield from self._take_all()

    def start(self, pool: Executor) -> None:
        """Give rows without columns, and read ahead in compressed files that are opened from now
        on.

        pool: of one thread.
        """
        self._bare = True
        self._pool = pool

    def stop(self) -> None:
        """The pool was shut down: go on without it, and give batches."""
        self._bare = False
        self._pool = None
        if self._bytes is not None:
            self._bytes.stop()

    def _open(self, file: CaptureFile) -> None:
        core = self.core
        self._next += 1
        self._file_ended = False
        self._pieces = Pieces(file.source, self._skip, self.watch, self.unpacking)
        self._skip = 0
        self._bytes = Ahead(self._pieces)
        if self._pool is not None:
            self._bytes.start(self._pool)
        if core.between:
            last = core.last_time if self._stats else None
            core.begin(file.name, os.path.basename(file.name))
            if last is not None and file.time is not None and file.time < last - OVERLAP:
                self.overlaps.append(file.name)

    def _read_file(self, limit: int | None) -> Iterator[CaptureBatch | list[CaptureRows]]:
        """To the end of the file, or to an offset in it."""
        core = self.core
        assert self._bytes is not None
        assert self._pieces is not None
        self._pieces.stop_at(limit)
        core.stop_at(limit)
        while True:
            while core.advance():
                yield from self._take()
            if self.live:
                yield from self._take_all()
            if core.damaged or (limit is not None and core.at >= limit):
                return
            piece = self.next_of(self._bytes)
            if piece is None:
                return
            core.feed(piece)

    def refuse_after_failure(self) -> None:
        """Raise ReaderExhausted where the bytes of a file ended with an error."""
        if self._failure is not None:
            kind = type(self._failure).__name__
            raise ReaderExhausted(
                f"reading ended with an error before ({kind}: {self._failure}): open the capture"
                " again"
            ) from self._failure

    def next_of(
        self, pieces: Iterator[bytes | memoryview] | Iterator[bytes]
    ) -> bytes | memoryview | None:
        """The next bytes of a file, or None after its last ones."""
        try:
            return next(pieces, None)
        except BaseException as error:
            self._failure = error
            raise

    def _close(self) -> None:
        """The file has ended, another one may follow."""
        self._stats.append(self._of_file())
        self._before = self.core.counts()
        self._bytes = None
        self._pieces = None
        self.core.end()

    def _take(self) -> Iterator[CaptureBatch | list[CaptureRows]]:
        if not self._bare:
            batch = self.core.take()
            if batch is not None:
                yield batch
        elif rows := self.core.take_rows():
            yield rows

    def _take_all(self) -> Iterator[CaptureBatch | list[CaptureRows]]:
        while self._bare and (rows := self.core.take_rows(True)):
            yield rows
            del rows
        while (batch := self.core.take(True)) is not None:
            yield batch
            del batch  # so that the next one can have its memory

    def state(self) -> bytes:
        """See Reader.state; without the seal."""
        if self._pieces is not None and not self._pieces.finds(self.core.at):
            name = self.files[self._next - 1].name
            raise StateError(f"{name}: its table of frames is wrong, so that none can go on in it")
        return self.core.state()

    def resume(self, state: bytes) -> None:
        """See Reader.resume; without the seal."""
        core = self.core
        if core.begun:
            raise ValueError("this reader has begun already")
        try:
            core.resume(state)
        except ValueError as error:
            raise StateError(str(error)) from None
        if core.between:
            self._before = core.counts()
            return
        names = [file.name for file in self.files]
        if core.name in names:
            self._next = names.index(core.name)
        elif len(names) > 1:
            raise StateError(
                f"the state is of the middle of {core.name}, which is not among the files"
            )
        self._skip = core.at

    def stats(self) -> list[dict[str, Any]]:
        """What was counted of each file that was read."""
        return self._stats if self._bytes is None else [*self._stats, self._of_file()]

    def _of_file(self) -> dict[str, Any]:
        counts = increase(self.core.counts(), self._before)
        return {"file": self.files[self._next - 1].name, **counts, "damaged": self._damage()}

    def _damage(self) -> str | None:
        """What ended the reading of the newest file early."""
        core = self.core
        if self._damaged is not None:
            return self._damaged
        if not core.damaged:
            if self._pieces is not None and self._pieces.empty:
                return None
            if not core.known and self._file_ended:
                return "it ends before its first record: nothing was written yet"
        return damage(core.damaged, core.at, core.waiting if self._file_ended else 0, self._pieces)


def damage(damaged: bool, at: int, pending_bytes: int, pieces: Pieces | None) -> str | None:
    """What is wrong with a file that was read up to an offset.

    pending_bytes: bytes after it. pieces: what was read of it.
    """
    if damaged:
        return f"no record at byte {at}"
    if pieces is not None and pieces.fault is not None:
        return f"{pieces.fault}, after byte {at}"
    if pending_bytes:
        return f"the last record is cut: {pending_bytes} bytes of it at byte {at}"
    return None if pieces is None else pieces.mistake


def increase(counts: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """How much larger each number is, also in the dicts inside: there, only what is larger."""
    out: dict[str, Any] = {}
    for key, value in counts.items():
        if isinstance(value, dict):
            inner = increase(value, before.get(key, {}))
            out[key] = {name: n for name, n in inner.items() if n}
        else:
            out[key] = value - before.get(key, 0)
    return out
