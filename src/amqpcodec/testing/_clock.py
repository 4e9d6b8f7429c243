"""The broker's time, which tests can advance, and what is due at a time."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

__all__ = ["Clock", "Timer"]


class Timer:
    """What is due once.

    Attributes:
        when: seconds on the clock.
        action: what is called then; None once it was called or cancelled.
    """

    __slots__ = ("action", "when")

    def __init__(self, when: float, action: Callable[[], None]) -> None:
        self.when = when
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """It is not called any more."""
        self.action = None


class Clock:
    """Real time, plus what was advanced."""

    def __init__(self) -> None:
        self._advanced = 0.0
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = itertools.count()

    def now(self) -> float:
        """Seconds; never goes backward."""
        return time.monotonic() + self._advanced

    def wall(self) -> datetime:
        """The time of day, in UTC and without a fraction, as a timestamp of AMQP has it."""
        return (datetime.now(UTC) + timedelta(seconds=self._advanced)).replace(microsecond=0)

    def call_at(self, when: float, action: Callable[[], None]) -> Timer:
        """Call an action at a time."""
        timer = Timer(when, action)
        heapq.heappush(self._timers, (when, next(self._count), timer))
        return timer

    def next_due(self) -> float | None:
        """Seconds until something is due; None where nothing is."""
        while self._timers and self._timers[0][2].action is None:
            heapq.heappop(self._timers)
        return max(self._timers[0][0] - self.now(), 0) if self._timers else None

    def run_due(self) -> None:
        """Call what is due."""
        now = self.now()
        while self._timers and self._timers[0][0] <= now:
            action = heapq.heappop(self._timers)[2]
            if action.action is not None:
                call, action.action = action.action, None
                call()

    def advance(self, seconds: float) -> None:
        """Let time pass: what becomes due is called in order, each at its own time."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds} s")
        end = self.now() + seconds
        while self._timers and self._timers[0][0] <= end:
            self._advanced += max(self._timers[0][0] - self.now(), 0)
            self.run_due()
        self._advanced += max(end - self.now(), 0)
        self.run_due()
