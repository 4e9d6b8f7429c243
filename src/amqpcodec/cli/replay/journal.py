"""What was confirmed, in a file that outlives the replay: none of it is sent twice.

A line of text each: the first says which replay it is of, all others which messages the broker
confirmed, as ``17`` or ``18-40``, counted from 0 among those that the replay selects.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import Problem

__all__ = ["Done", "Journal"]

VERSION = 1
#: Bytes of a line that names messages.
LONGEST = 50


class Done:
    """Numbers that are done, as ranges in order: what a range names costs nothing."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __len__(self) -> int:
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def add(self, first: int, last: int) -> None:
        """first to last, both included; ranges that touch become one."""
        start = bisect_left(self._lasts, first - 1)
        end = bisect_right(self._firsts, last + 1)
        if start < end:
            first = min(first, self._firsts[start])
            last = max(last, self._lasts[end - 1])
        self._firsts[start:end] = [first]
        self._lasts[start:end] = [last]


class Journal:
    """The file. Without a path it remembers nothing."""

    def __init__(self, path: Path | None, replay: dict[str, Any]) -> None:
        """replay: what makes a replay the same one.

        Raises:
            Problem: the file is of another replay, is no journal, or cannot be written.
        """
        self.done = Done()
        self._file: int | None = None
        if path is None:
            return
        self._path = path
        head = json.dumps({"amqpcodec": "replay", "version": VERSION, **replay}, sort_keys=True)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            self._lock()
            self._load(head)
        except OSError as error:
            self._close()
            raise Problem(f"{path}: {error.strerror}") from None
        except Problem:
            self._close()
            raise

    def _lock(self) -> None:
        """Two replays must not share a journal; where locks are not to be had, they could."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem(f"{self._path}: another replay is using this journal") from None

    def _load(self, head: str) -> None:
        assert self._file is not None
        with open(os.dup(self._file), "rb") as file:
            data = file.read()
        lines = data.split(b"\n")
        torn = lines.pop()  # what a kill left without its end; nothing, mostly
        if lines:
            if lines[0] != head.encode():
                raise Problem(
                    f"{self._path} is of another replay, or no journal: other files, --to, --where,"
                    " --map or times; name another --journal"
                )
            for at, line in enumerate(lines[1:], 2):
                self.done.add(*self._range(line, at))
        os.ftruncate(self._file, len(data) - len(torn))
        os.lseek(self._file, 0, os.SEEK_END)
        if not lines:
            self._write(f"{head}\n")

    def _range(self, line: bytes, at: int) -> tuple[int, int]:
        first, sign, last = line.partition(b"-")
        if len(line) > LONGEST or not first.isdigit() or (sign and not last.isdigit()):
            raise Problem(f"{self._path}: line {at} is damaged")
        found = int(first), int(last or first)
        if found[1] < found[0]:
            raise Problem(f"{self._path}: line {at} is damaged")
        return found

    def confirm(self, numbers: Iterable[int]) -> None:
        """Remember messages, by their numbers in ascending order; they are in the file then."""
        ranges: list[list[int]] = []
        for number in numbers:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        for first, last in ranges:
            self.done.add(first, last)
        if self._file is not None and ranges:
            texts = [f"{a}\n" if a == b else f"{a}-{b}\n" for a, b in ranges]
            self._write("".join(texts))

    def _write(self, text: str) -> None:
        """In one piece, past every buffer of this process: a kill does not take it back."""
        assert self._file is not None
        data = memoryview(text.encode())
        while data:
            data = data[os.write(self._file, data) :]

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Have it on the disk."""
        if self._file is not None:
            os.fsync(self._file)
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
