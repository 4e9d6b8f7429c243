"""A file that is fetched in ranges, the next one while this one is read."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["RANGE", "RangeFile", "retried"]

#: Bytes of a range: fewer cost more requests, more cost memory.
RANGE = 8 << 20
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
    for left in range(TRIES - 1, -1, -1):
        try:
            return request()
        except _FINAL:
            raise
        except (ValueError, TypeError, ImportError):
            raise
        except Exception as problem:  # each client has errors of its own
            if not left:
                if isinstance(problem, OSError):
                    raise
                raise OSError(f"{type(problem).__name__}: {problem}") from problem
            time.sleep(pause)
            pause *= 2
    raise AssertionError


class RangeFile(io.RawIOBase):
    """Reads a file of a known size. At most three ranges are in memory."""

    def __init__(
        self, fetch: Callable[[int, int], bytes], size: int, name: str, step: int = RANGE
    ) -> None:
        """fetch: gives the bytes from a start to an end. size, step: bytes."""
        self.name = name
        self.size = size
        self._fetch = fetch
        self._step = step
        self._at = 0
        self._start = 0  # of what is here
        self._here: bytes = b""
        self._next: tuple[int, Future[bytes]] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Bytes from the start."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As files have it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, room: Any) -> int:
        """As many bytes as are wanted, or all that are left."""
        done = 0
        while done < len(room) and self._at < self.size:
            if not self._start <= self._at < self._start + len(self._here):
                self._start, self._here = self._at, self._range(self._at)
            first = self._at - self._start
            part = memoryview(self._here)[first : first + len(room) - done]
            room[done : done + len(part)] = part
            self._at += len(part)
            done += len(part)
        return done

    def _range(self, start: int) -> bytes:
        ahead, self._next = self._next, None
        wanted = ahead is not None and ahead[0] == start
        found = ahead[1].result() if wanted and ahead else self._load(start)
        after = start + len(found)
        if after < self.size:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, "amqpcodec-ahead")
            self._next = after, self._pool.submit(self._load, after)
        return found

    def _load(self, start: int) -> bytes:
        end = min(start + self._step, self.size)

        def request() -> bytes:
            found = self._fetch(start, end)
            if len(found) != end - start:
                raise OSError(f"{self.name}: {len(found)} bytes came instead of {end - start}")
            return found

        return retried(request)

    def close(self) -> None:
        """Let go of what was read ahead; what is being fetched ends by itself."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._here, self._next = b"", None
        super().close()
