"""Columns made by several threads, while the caller's one looks for the rows that follow.

Finding rows is one pass in the order of the packets; making their columns is not, and takes about
as long. A further thread reads and unpacks compressed files ahead. None of this holds the GIL.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from .._capture import CaptureBatch, CaptureRows
from ._chain import Chain

__all__ = ["Workers"]


class Workers:
    """Batches of chains, in order, some of them made before they are asked for."""

    def __init__(self, number: int) -> None:
        """number: of threads that work on rows, the caller's included."""
        self.number = number
        #: Rows that were found and not given yet, in order.
        self.waiting: deque[CaptureRows] = deque()
        self._making: dict[CaptureRows, Future[CaptureBatch]] = {}

    def read(self, chain: Chain, stop: tuple[int, int] | None, end: bool) -> Iterator[CaptureBatch]:
        """What chain.read() gives. No thread is left when this ends, or is closed.

        An error comes after the batches of the rows that were found before it.
        """
        making = ThreadPoolExecutor(self.number - 1, "amqpcodec-columns")
        reading = ThreadPoolExecutor(1, "amqpcodec-reading")
        chain.start(reading)
        try:
            batches: Iterator[Any] = chain.read(stop, end)
            fault: Exception | None = None
            while True:
                try:
                    some: list[CaptureRows] = next(batches)
                except StopIteration:
                    break
                except Exception as error:
                    fault = error
                    break
                self.waiting.extend(some)
                self._making.update((rows, making.submit(rows.fill)) for rows in some)
                while len(self.waiting) > self.number:
                    self._help()
                    yield self._next()
            while self.waiting:
                yield self._next()
            if fault is not None:
                raise fault
        finally:
            reading.shutdown(cancel_futures=True)
            making.shutdown(cancel_futures=True)
            self._making.clear()
            chain.stop()

    def _help(self) -> None:
        """Make the newest batch in this thread if the others are behind."""
        oldest, newest = (self._making.get(self.waiting[at]) for at in (0, -1))
        if oldest is not None and newest is not None and not oldest.done() and newest.cancel():
            with suppress(Exception):  # what fails now fails again when it is this batch's turn
                self.waiting[-1].fill()

    def _next(self) -> CaptureBatch:
        """The oldest batch: of a thread that has begun with it, or made here."""
        rows = self.waiting[0]
        future = self._making.pop(rows, None)
        begun = future is not None and not future.cancel()
        batch = future.result() if future is not None and begun else rows.fill()
        self.waiting.popleft()
        return batch
