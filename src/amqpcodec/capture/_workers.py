"""Several threads read a capture: each finds rows in its turn, and makes their columns after it.

Finding rows is one pass in the order of the packets; making their columns is not, and takes longer.
Who found rows makes their columns, since they lie in the cache of that processor. A further thread
reads and unpacks packed files ahead. None of this holds the GIL.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event, RLock
from typing import Any, NamedTuple

from .._capture import CaptureBatch, CaptureRows
from ._chain import Chain

__all__ = ["Workers"]


class _Found(NamedTuple):
    """Rows, and whether a thread has done what it could for their columns."""

    rows: CaptureRows
    done: Event


class Workers:
    """Batches of chains, in order, some of them made before they are asked for."""

    def __init__(self, number: int) -> None:
        """number: of threads that read, the caller's included."""
        self.number = number
        #: Of the thread that finds rows: nobody else may ask the reader anything meanwhile.
        self.turn = RLock()
        #: Rows that were found and not given yet, in order.
        self.waiting: deque[_Found] = deque()

    def read(self, chain: Chain, stop: tuple[int, int] | None, end: bool) -> Iterator[CaptureBatch]:
        """What chain.read() gives. No thread is left when this ends, or is closed.

        An error comes after the batches of the rows that were found before it.
        """
        helping = ThreadPoolExecutor(self.number - 1, "amqpcodec-worker")
        reading = ThreadPoolExecutor(1, "amqpcodec-reading")
        chain.start(reading, self.number)
        turns = _Turns(self, chain.read(stop, end))
        asked: deque[Future[None]] = deque()
        try:
            while True:
                while asked and asked[0].done():
                    asked.popleft()
                while not turns.over and len(asked) + len(self.waiting) <= self.number:
                    asked.append(helping.submit(turns.take))
                if self.waiting and self.waiting[0].done.is_set():
                    yield self._next()
                elif asked and asked[-1].cancel():
                    asked.pop()
                    turns.take()
                elif self.waiting:
                    self.waiting[0].done.wait()
                elif asked:
                    asked[0].result()
                else:
                    break
            if turns.fault is not None:
                raise turns.fault
        finally:
            reading.shutdown(cancel_futures=True)
            helping.shutdown(cancel_futures=True)
            chain.stop()

    def _next(self) -> CaptureBatch:
        """The oldest batch; if it could not be made, this raises what is the matter."""
        batch = self.waiting[0].rows.fill()
        self.waiting.popleft()
        return batch


class _Turns:
    """Rows that are found by one thread at a time, while others make columns."""

    def __init__(self, workers: Workers, found: Iterator[Any]) -> None:
        """found: lists of rows."""
        self.workers = workers
        self.found = found
        #: No more rows are found.
        self.over = False
        #: What ended that early.
        self.fault: Exception | None = None

    def take(self) -> None:
        """Find rows when it is this thread's turn, and make their columns after it."""
        with self.workers.turn:
            found = self._find()
        try:
            for each in found:
                with suppress(Exception):  # it is raised again when this batch is asked for
                    each.rows.fill()
                each.done.set()
        finally:
            for each in found:
                each.done.set()

    def _find(self) -> list[_Found]:
        if self.over:
            return []
        self.over = True
        try:
            found = [_Found(rows, Event()) for rows in next(self.found)]
        except StopIteration:
            return []
        except Exception as error:
            self.fault = error
            return []
        self.workers.waiting.extend(found)
        self.over = False
        return found
