"""How far the reading of captures is, told to whoever asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import IO, Any, TypeAlias, cast

from ._files import Source
from ._storage import Located

__all__ = ["OnProgress", "Progress"]

#: Called with bytes of files that were read so far, as they are packed, and how many there are.
OnProgress: TypeAlias = Callable[[int, int | None], object]


class Progress:
    """Adds up what is read of several files."""

    def __init__(self, tell: OnProgress, sources: Iterable[Source]) -> None:
        """sources: all that will be read."""
        self.tell = tell
        self.done = 0
        self.expect(sources)

    def expect(self, sources: Iterable[Source]) -> None:
        """These are all that will be read."""
        sizes = [_size(source) for source in sources]
        known_sizes = [size for size in sizes if size is not None]
        self.total: int | None = sum(known_sizes) if len(known_sizes) == len(sizes) else None

    def watch(self, file: IO[bytes]) -> IO[bytes]:
        """What is to be read in place of a file."""
        return cast(IO[bytes], _Counted(file, self))

    def add(self, count: int) -> None:
        """So many bytes more were read."""
        if count:
            self.done += count
            self.tell(self.done, self.total)


def _size(source: Source) -> int | None:
    """Bytes of a file of this machine, or of an open one from where it stands; else None."""
    try:
        if isinstance(source, Located):
            return None
        if isinstance(source, str | os.PathLike):
            return os.stat(source).st_size
        if not source.seekable():
            return None
        start = source.tell()
        end = source.seek(0, os.SEEK_END)
        source.seek(start)
        return end - start
    except (AttributeError, OSError):
        return None  # reading says what is wrong


class _Counted:
    """A file whose reading is counted."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self.file = file
        self.progress = progress

    def read(self, size: int = -1) -> bytes:
        raw = self.file.read(size) or b""
        self.progress.add(len(raw))
        return raw

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.file, name)
        if name != "readinto":
            return attribute

        def readinto(room: memoryview) -> int:
            count: int = attribute(room) or 0
            self.progress.add(count)
            return count

        return readinto
