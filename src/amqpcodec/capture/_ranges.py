"""A file that is fetched in ranges, the next ones while this one is read."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from ._positioned import PositionedFile

__all__ = ["MAX_PENDING", "RANGE", "RangeFile", "retried"]

#: Bytes of a range: fewer cost more requests, more cost memory.
RANGE = 8 << 20
#: Bytes of the first range at a place, at least, and how many times as large the next ones become
#: until they are whole: of many files nothing but a few bytes is wanted.
LOOK = 64 << 10
GROWTH = 8
#: Ranges that are fetched at once: a store sends one no faster than a connection to it is.
MAX_PENDING = 3
#: How often a request is made, and the seconds before the second time; they double.
TRIES = 5
PAUSE = 0.2

#: What is so the next time, too.
_FINAL = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)

Answer = TypeVar("Answer")


def retried(request: Callable[[], Answer]) -> Answer:
    """What a request gives, which is made again after a pause where it fails.

    Raises:
        OSError: it failed at last, or in a way that trying again does not mend.
    """
    pause = PAUSE
    for tries_left in range(TRIES - 1, -1, -1):
        try:
            return request()
        except _FINAL:
            raise
        except (ValueError, TypeError, ImportError):
            raise
        except Exception as problem:  # each client has errors of its own
            if not tries_left:
                if isinstance(problem, OSError):
                    raise
                raise OSError(f"{type(problem).__name__}: {problem}") from problem
            time.sleep(pause)
            pause *= 2
    raise AssertionError


class _Range(NamedTuple):
    """A part of the file that was asked for. done: waits until it is there."""

    start: int
    size: int
    room: bytearray
    future: Future[None]


class RangeFile(PositionedFile):
    """Reads a file of a known size, some ranges ahead of what is asked for once it is read on.

    The memory of a range is used again for another one: fresh memory takes as long as fetching.
    """

    def __init__(
        self, fetch: Callable[[int, memoryview], int], size: int, name: str, step: int = RANGE
    ) -> None:
        """fetch: fills a room from an offset on, in any thread: how many bytes it is. size, step:
        bytes."""
        super().__init__()
        self.name = name
        self.size = size
        #: Bytes from the start: for now little is wanted after it, and nothing is read ahead.
        self.until = size
        self._fetch = fetch
        self._whole = min(step, size)
        self._start = 0  # of what is here
        self._here = memoryview(b"")
        self._length = 0  # of the range that is here, or of the last one that was asked for
        self._next: deque[_Range] = deque()
        self._free: list[bytearray] = []
        self._pool: ThreadPoolExecutor | None = None

    def _end(self) -> int:
        return self.size

    def readinto(self, room: Any) -> int:
        """As many bytes as are wanted, or all that are left."""
        count = 0
        while count < len(room) and self._at < self.size:
            if not self._start <= self._at < self._start + len(self._here):
                self._move(self._at, len(room) - count)
            first = self._at - self._start
            part = self._here[first : first + len(room) - count]
            room[count : count + len(part)] = part
            self._at += len(part)
            count += len(part)
        return count

    def _move(self, start: int, needed_bytes: int) -> None:
        """Have the range at an offset here, and ask for those after it where it is read on."""
        end = min(self.until + LOOK, self.size)
        goes_on = len(self._here) > 0 and start == self._start + len(self._here) and start < end
        if isinstance(self._here.obj, bytearray) and len(self._here.obj) == self._whole:
            self._free.append(self._here.obj)
        self._here = memoryview(b"")
        if self._next and self._next[0].start == start:
            here = self._next.popleft()
            room, size = here.room, here.size
            here.future.result()
        else:
            while self._next:  # the memory of those that are being fetched goes with them
                self._next.popleft().future.cancel()
            length = self._length * GROWTH if goes_on else max(needed_bytes, LOOK)
            self._length = min(length, self._whole)
            size = min(self._length, (end if start < end else self.size) - start)
            room = self._room(size)
            self._load(start, size, room)
        self._start, self._here = start, memoryview(room)[:size]
        after = self._next[-1].start + self._next[-1].size if self._next else start + size
        while (
            goes_on
            and self._length == self._whole
            and after < end
            and len(self._next) < MAX_PENDING
        ):
            if self._pool is None:
                self._pool = ThreadPoolExecutor(MAX_PENDING, "amqpcodec-ahead")
            size, room = min(self._whole, end - after), self._room(self._whole)
            future = self._pool.submit(self._load, after, size, room)
            self._next.append(_Range(after, size, room, future))
            after += size

    def _room(self, size: int) -> bytearray:
        return self._free.pop() if size == self._whole and self._free else bytearray(size)

    def _load(self, start: int, size: int, room: bytearray) -> None:
        """Fill the beginning of a room."""

        def request() -> None:
            with memoryview(room) as room_view, room_view[:size] as part:
                count = self._fetch(start, part)
            if count != size:
                raise OSError(f"{self.name}: {count} bytes came instead of {size}")

        retried(request)

    def close(self) -> None:
        """Let go of what was read ahead; what is being fetched ends by itself."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._here = memoryview(b"")
        self._next.clear()
        self._free.clear()
        super().close()
