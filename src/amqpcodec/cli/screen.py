"""An answer on a terminal while its recording is made: drawn anew each second."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..capture._notices import counted_noun
from .output import Writer
from .queries import Chosen
from .recent import Recent
from .sources import Reading

__all__ = ["Screen"]

#: Seconds between two drawings; longer where the answer takes its time: at most this share of it.
TICK_SECONDS = 1.0
BUSY_SHARE = 0.2
#: Lines of a terminal that an answer leaves free.
MARGIN = 2
#: When a connection is read of which no beginning was recorded.
WAITS = "connections from before the recording need about 64 frames or 32 KB of a direction"


class Screen:
    """Follows a recording: takes its events, and shows the answer so far until they end."""

    def __init__(
        self,
        chosen: Chosen,
        reading: Reading,
        writer: Callable[[io.StringIO], Writer],
        recent: Recent,
    ) -> None:
        """Nothing is shown before the first tick. writer: what makes lines of rows."""
        self.chosen, self.reading = chosen, reading
        self.writer = writer
        self.recent = recent
        self.console = Console()
        self.live = Live(console=self.console, auto_refresh=False, transient=True)
        self.began = time.monotonic()
        self.next = 0.0

    def take(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Take the events to the end, and show the answer while they come."""
        self.reading.on_wait = self.tick
        with self.live:
            self.tick()
            for batch in batches:
                self.recent.add(batch)
                self.tick()
        self.reading.on_wait = None

    def tick(self) -> None:
        """Draw the answer, if it is time to."""
        now = time.monotonic()
        if now < self.next or self.reading.stop.pressed:
            return
        self.live.update(self._drawn(), refresh=True)
        spent = time.monotonic() - now
        self.next = now + max(TICK_SECONDS, spent / BUSY_SHARE)

    def _drawn(self) -> Text:
        """The state of the recording, and as much of the answer as there is room for."""
        canvas = _Canvas()
        writer = self.writer(canvas)
        answer = self.recent.answer(self.recent.now)
        for batch in self.chosen.rows(answer):
            writer.write(batch)
        writer.close()
        lines = canvas.getvalue().splitlines()
        room = max(1, self.console.height - MARGIN - 2)
        more = len(lines) - room
        if more > 0:
            lines[room - 1 :] = [f"{more + 1} more lines: --limit, --where or a higher terminal"]
        state = [self._state(), *self._pending()]
        return Text.from_ansi("\n".join([*state, *lines]), no_wrap=True)

    def _pending(self) -> list[str]:
        """Why there are packets and no frame yet, where that is so: on a line of its own."""
        counted = self.reading.stats()
        if not counted.get("packets", 0) or counted["frames"]:
            return []
        return ["no frame yet: " + WAITS]

    def _state(self) -> str:
        """How much was recorded until now, and where."""
        seconds = int(time.monotonic() - self.began)
        counted = self.reading.stats()
        frames = sum(counted.get("frames", {}).values())
        parts = [
            f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}",
            self.reading.place,
            counted_noun(counted.get("packets", 0), "packet"),
            counted_noun(frames, "frame"),
            self.recent.extent,
            "Ctrl-C ends it",
        ]
        return " · ".join(part for part in parts if part)


class _Canvas(io.StringIO):
    """Lines for the terminal, kept until they are shown there."""

    def isatty(self) -> bool:
        """So that what writes to it uses colours, and fits the width."""
        return True
