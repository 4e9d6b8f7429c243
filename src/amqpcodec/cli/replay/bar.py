"""How far a replay is, on a terminal."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..progress import Bar
from .player import Player

__all__ = ["ReplayBar"]

#: Seconds between two looks of the bar at the counts.
REFRESH_SECONDS = 0.1


class ReplayBar(Bar):
    """A line on standard error: messages sent and confirmed; total where it is known."""

    def __init__(self, total: int | None) -> None:
        bars: Progress | None = None
        self._next = 0.0
        if sys.stderr.isatty():
            bars = Progress(
                TextColumn("{task.fields[sent]:,} sent, {task.completed:,.0f} confirmed"),
                BarColumn(),
                TextColumn("{task.fields[rate]:,.0f}/s"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = bars.add_task("", total=total, sent=0, rate=0.0)
            self._begin = time.monotonic()
        super().__init__(bars)

    def show(self, player: Player) -> None:
        """The counts of now."""
        now = time.monotonic()
        if self.bars is None or now < self._next:
            return
        self._next = now + REFRESH_SECONDS
        rate = player.confirmed / max(now - self._begin, 0.001)
        self.bars.update(self._task, completed=player.confirmed, sent=player.sent, rate=rate)
