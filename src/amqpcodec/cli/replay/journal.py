"""The journal of a replay: which messages the broker confirmed or refused; none is sent twice.

A text file. Its first line names the format, its version and a digest of each part of the replay's
identity. Every other line is a record: ``17`` or ``18-40`` for messages that were confirmed,
``41 {"reply_code": 406, "reply_text": "..."}`` for one that the broker refused. Numbers count the
messages that the replay selects, from 0.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..errors import UsageError

__all__ = ["FORMAT", "Journal", "NumberRanges", "Refusal"]

#: What the first line of a journal has under "format"; its version is raised where lines change.
FORMAT, VERSION = "amqpcodec replay journal", 2
#: Bytes that a first line and a record may have at most.
MAX_HEAD, MAX_RECORD = 1 << 14, 4096
#: Characters of the broker's reason that a record keeps.
MAX_REASON = 255
DIGEST_CHARACTERS = 32
#: first[-last], or number and reason.
RECORD = re.compile(rb"([0-9]{1,19})(?:-([0-9]{1,19})| (\{.*\}))?")

Refusal = tuple[int, str]


class NumberRanges:
    """Numbers of messages, kept as ascending ranges: a range costs as much as one number."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __len__(self) -> int:
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def add(self, first: int, last: int) -> None:
        """Add the numbers from first to last, both included; ranges that touch become one."""
        start = bisect_left(self._lasts, first - 1)
        end = bisect_right(self._firsts, last + 1)
        if start < end:
            first = min(first, self._firsts[start])
            last = max(last, self._lasts[end - 1])
        self._firsts[start:end] = [first]
        self._lasts[start:end] = [last]


class Journal:
    """The journal's file, locked while it is open. Without a path nothing is stored.

    Attributes:
        confirmed: the numbers that the broker confirmed, in this replay and the ones before.
        refused: number -> (reply code, reply text) of messages that the broker refused.
    """

    def __init__(
        self, path: Path | None, identity: Mapping[str, Any], read_only: bool = False
    ) -> None:
        """Load a journal, or begin one where the file is missing or empty.

        Args:
            path: of the file; None for no journal.
            identity: name -> JSON value of everything that decides which messages are sent.
            read_only: leave the file as it is, and create none.

        Raises:
            UsageError: the file is no journal, is damaged, is of another replay, is used by one
                that runs, or cannot be written. The file is left as it was.
        """
        self.confirmed = NumberRanges()
        self.refused: dict[int, Refusal] = {}
        self._file: int | None = None
        self._read_only = read_only
        if path is None:
            return
        self._path = path
        digests = {name: _digest(value) for name, value in identity.items()}
        try:
            if not self._open():
                return
            self._load(digests)
        except OSError as error:
            self._close()
            raise UsageError(f"{path}: {error.strerror}") from None
        except UsageError:
            self._close()
            raise

    def _open(self) -> bool:
        """Open and lock the file; False where there is none and none is to be created."""
        flags = os.O_RDONLY if self._read_only else os.O_RDWR | os.O_CREAT
        try:
            # Not blocking: the other end of a pipe may be nobody's.
            self._file = os.open(self._path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
        except FileNotFoundError:
            if self._read_only:
                return False
            raise
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise UsageError(f"{self._path} is not a regular file: name another --journal")
        if not self._read_only:
            self._lock()
        return True

    def _lock(self) -> None:
        """Keep other replays from this journal, where the system has such locks."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self._path}: another replay is using this journal") from None

    def _load(self, digests: dict[str, str]) -> None:
        assert self._file is not None
        if os.fstat(self._file).st_size == 0:
            if not self._read_only:
                head = {"format": FORMAT, "version": VERSION, "identity": digests}
                self._write(json.dumps(head, sort_keys=True) + "\n")
            return
        with open(os.dup(self._file), "rb") as file:
            head_line = file.readline(MAX_HEAD)
            self._check_head(head_line, digests)
            end = len(head_line)
            for number, line in enumerate(_lines(file), 2):
                if not line.endswith(b"\n") and len(line) < MAX_RECORD:
                    break  # a kill cut the last record: its messages are sent again
                self._take(line.removesuffix(b"\n"), number)
                end += len(line)
        if not self._read_only:
            os.ftruncate(self._file, end)
            os.lseek(self._file, end, os.SEEK_SET)

    def _check_head(self, line: bytes, digests: dict[str, str]) -> None:
        try:
            head = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            head = None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise UsageError(
                f"{self._path} is no journal of amqpcodec replay, or its first line is damaged;"
                " it was left as it is: name another --journal"
            )
        if head.get("version") != VERSION:
            raise UsageError(
                f"{self._path}: journals of version {head.get('version')!r} are not read, only"
                f" those of version {VERSION}: name another --journal"
            )
        stored = head.get("identity")
        if stored == digests:
            return
        names = sorted({*digests, *(stored if isinstance(stored, dict) else ())})
        other = [
            name
            for name in names
            if not isinstance(stored, dict) or stored.get(name) != digests.get(name)
        ]
        raise UsageError(
            f"{self._path} is of another replay, with other values of"
            f" {', '.join(map(_in_words, other))}: repeat that command, or name another --journal"
        )

    def _take(self, line: bytes, at: int) -> None:
        """Take a record, without the end of its line."""
        match = RECORD.fullmatch(line)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if match is None or last < first:
            raise UsageError(f"{self._path}: line {at} is damaged; name another --journal")
        if match[3] is None:
            self.confirmed.add(first, last)
            return
        try:
            reason = json.loads(match[3])
            self.refused[first] = int(reason["reply_code"]), str(reason["reply_text"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(
                f"{self._path}: line {at} is damaged; name another --journal"
            ) from None

    def __contains__(self, number: int) -> bool:
        """Whether a message is not to be sent again."""
        return number in self.confirmed or number in self.refused

    def confirm(self, numbers: Iterable[int]) -> None:
        """Store messages as confirmed, by their numbers in ascending order."""
        ranges: list[list[int]] = []
        for number in numbers:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        for first, last in ranges:
            self.confirmed.add(first, last)
        if self._file is not None and ranges:
            texts = [f"{a}\n" if a == b else f"{a}-{b}\n" for a, b in ranges]
            self._write("".join(texts))

    def refuse(self, number: int, reply_code: int, reply_text: str) -> None:
        """Store a message as refused, with the broker's reason."""
        self.refused[number] = reply_code, reply_text
        if self._file is not None:
            reason = {"reply_code": reply_code, "reply_text": reply_text[:MAX_REASON]}
            self._write(f"{number} {json.dumps(reason)}\n")

    def _write(self, text: str) -> None:
        """Past every buffer of this process: a kill does not take it back."""
        assert self._file is not None
        data = memoryview(text.encode())
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise UsageError(f"{self._path}: {error.strerror}") from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Have all of it on the disk."""
        if self._file is not None and not self._read_only:
            os.fsync(self._file)
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; a longer one than a record may be comes in pieces."""
    while line := file.readline(MAX_RECORD):
        yield line


def _in_words(name: str) -> str:
    """A part of the identity, as the user knows it."""
    words = {"files": "FILE", "arrangement": "--files", "version": "amqpcodec --version"}
    return words.get(name, f"--{name.replace('_', '-')}")


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]
