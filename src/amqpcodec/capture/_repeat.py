"""Sources of captures that queries read any number of times, also at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from threading import Lock
from typing import IO, Any

from ._errors import ReaderExhausted, refuse_fork
from ._files import Source, has_position, source_name
from ._positioned import PositionedFile
from ._storage import Located, Storage, locate_each

__all__ = ["RepeatableSources"]


class RepeatableSources:
    """What a dataset reads: paths, and open files, each scan of which has a position of its own."""

    def __init__(self, path_or_file: Source | Iterable[Source], filesystem: Any = None) -> None:
        """path_or_file, filesystem: as capture.read takes them.

        Raises:
            FileNotFoundError: a path or a glob stands for nothing.
            OSError, ValueError, ImportError: as capture.read says of stores.
        """
        single = isinstance(path_or_file, str | os.PathLike) or hasattr(path_or_file, "read")
        sources: list[Any] = [path_or_file] if single else list(path_or_file)  # type: ignore[arg-type]
        self._single = single
        self._sources: list[Any] = []
        for source in locate_each(sources, Storage(filesystem=filesystem)):
            if hasattr(source, "read"):
                self._sources.append(_OpenFile(source))
                continue
            if isinstance(source, str | os.PathLike) and not isinstance(source, Located):
                os.stat(source)  # its error says what is wrong
            self._sources.append(source)

    def open(self) -> Any:
        """What capture.read takes for one more scan."""
        opened = [
            source.view() if isinstance(source, _OpenFile) else source for source in self._sources
        ]
        return opened[0] if self._single and len(opened) == 1 else opened


class _OpenFile:
    """An open file that scans share."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.lock = Lock()
        self.process = os.getpid()
        self.reader: object = None  # the only one, where the file does not seek
        seekable = getattr(file, "seekable", None)
        self.start = file.tell() if seekable is not None and seekable() else None

    def view(self) -> IO[bytes]:
        """A file of its own to read.

        Raises:
            RuntimeError: in a fork of the process in which the file was opened.
        """
        if has_position(self.file):
            refuse_fork(self.process)
        view: Any = _View(self) if self.start is None else _SeekableView(self, self.start)
        return view  # type: ignore[no-any-return]


class _View:
    """An open file that can be read once: the first scan takes its bytes."""

    def __init__(self, shared: _OpenFile) -> None:
        self._shared = shared
        self.name = source_name(shared.file)

    def read(self, size: int = -1) -> bytes:
        """As files have it.

        Raises:
            ReaderExhausted: another scan has read it.
        """
        shared = self._shared
        shared.reader = shared.reader or self
        if shared.reader is not self:
            raise ReaderExhausted(
                f"the open file {self.name or shared.file!r} cannot be read again, since it does"
                " not seek: give its path, or a file that seeks"
            )
        return shared.file.read(size) or b""


class _SeekableView(PositionedFile):
    """An open file, read at a position of the view's own."""

    def __init__(self, shared: _OpenFile, start: int) -> None:
        super().__init__(start)
        self._shared = shared
        self.name = source_name(shared.file)

    def fileno(self) -> int:
        """That of the file, whose position a fork shares."""
        return self._shared.file.fileno()

    def _end(self) -> int:
        file = self._shared.file
        with self._shared.lock:
            place = file.tell()
            end = file.seek(0, os.SEEK_END)
            file.seek(place)
        return end

    def readinto(self, room: Any) -> int:
        """As files have it."""
        shared = self._shared
        with shared.lock:
            place = shared.file.tell()
            shared.file.seek(self._at)
            data = shared.file.read(len(room)) or b""
            shared.file.seek(place)
        room[: len(data)] = data
        self._at += len(data)
        return len(data)
