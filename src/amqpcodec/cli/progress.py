"""How far the reading is, on a terminal that shows nothing else."""

from __future__ import annotations

import os
import stat
import sys
from typing import IO, Any, Self, cast

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from .._facade.escaping import escaped

__all__ = ["Bar", "Progress"]


class Bar:
    """The last line of the terminal, taken while the block runs; none where bars is None."""

    def __init__(self, bars: Bars | None) -> None:
        self.bars = bars

    def __enter__(self) -> Self:
        """Takes the line."""
        if self.bars is not None:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Gives it back."""
        if self.bars is not None:
            self.bars.stop()


class Progress(Bar):
    """Opens files, and shows a bar for the one that is read: on standard error, where it may."""

    def __init__(self, output: str | None) -> None:
        """output: where the rows go. On a terminal, or through a pipe to one, they would mix."""
        to_file = output not in (None, "-") or stat.S_ISREG(os.fstat(1).st_mode)
        bars: Bars | None = None
        self.task: TaskID | None = None
        if sys.stderr.isatty() and to_file:
            bars = Bars(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
        super().__init__(bars)

    def watch(self, file: IO[bytes]) -> IO[bytes]:
        """Show how far the reading of this file is, and no longer that of the one before."""
        if self.bars is None:
            return file
        if self.task is not None:
            self.bars.remove_task(self.task)
        name = escaped(os.path.basename(str(file.name)))
        self.task = self.bars.add_task(name, total=_size(file) or None)
        return cast(IO[bytes], _Watched(file, self.bars, self.task))


def _size(file: IO[bytes]) -> int:
    """Bytes; a file of a store has no number of this system's."""
    size: Any = getattr(file, "size", None)
    return size if isinstance(size, int) else os.fstat(file.fileno()).st_size


class _Watched:
    """A file whose place moves a bar."""

    def __init__(self, file: IO[bytes], bars: Bars, task: TaskID) -> None:
        self.file, self.bars, self.task = file, bars, task

    def read(self, size: int = -1) -> bytes:
        raw = self.file.read(size)
        self.bars.advance(self.task, len(raw))
        return raw

    def readinto(self, room: memoryview) -> int:
        count: int = self.file.readinto(room)  # type: ignore[attr-defined]
        self.bars.advance(self.task, count)
        return count

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)
