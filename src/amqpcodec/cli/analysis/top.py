"""``amqpcodec top``: the busiest exchanges, keys, queues and connections, over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Self

import pyarrow as pa

from ..options import AnalysisOptions, TopOptions
from ..times import Window
from .base import TIME, Row
from .records import Message
from .traffic import Traffic

__all__ = ["Top", "sparkline"]

#: Names of one kind that are counted apart, and pieces of time that a name is counted in.
MAX_NAMES, MAX_PIECES = 50_000, 48
BARS = "▁▂▃▄▅▆▇█"


class Tally:
    """Messages and bytes of one name."""

    __slots__ = ("bytes", "delivered", "first", "last", "per", "published")

    def __init__(self) -> None:
        """Nothing yet."""
        self.published = self.delivered = self.bytes = 0
        self.first: int | None = None
        self.last: int | None = None
        self.per: dict[int, list[int]] = {}  # piece of time -> published, delivered, bytes

    @property
    def messages(self) -> int:
        """All of them."""
        return self.published + self.delivered


class Top(Traffic):
    """A row each name of the busiest; with --per, one for each of them and each piece of time."""

    NAME = "top"
    SINCE = None
    SCHEMA = pa.schema([
        ("by", pa.string()),
        ("name", pa.string()),
        ("time", TIME),
        ("messages", pa.int64()),
        ("published", pa.int64()),
        ("delivered", pa.int64()),
        ("bytes", pa.int64()),
        ("per_second", pa.float64()),
        ("first", TIME),
        ("last", TIME),
        ("over_time", pa.list_(pa.int64())),
        ("activity", pa.string()),
    ])  # fmt: skip
    TABLE = (
        *("by", "name", "messages", "published", "delivered", "bytes", "per_second", "activity"),
    )
    OPTIONAL = ("per_second", "bytes")
    STYLES: ClassVar[dict[str, str]] = {"activity": "cyan"}
    NOTHING = "no message"

    def __init__(
        self, window: Window, kinds: Iterable[str], max_rows: int, interval: int | None = None
    ) -> None:
        """Nothing yet.

        kinds: that are ranked. max_rows: of each kind. interval: the µs that a row is of; None: a
        row is of all the time.
        """
        super().__init__(window)
        self.max_rows, self.interval = max_rows, interval
        self.counted: dict[str, dict[str, Tally]] = {kind: {} for kind in kinds}
        self.begin: int | None = None
        self.end: int | None = None
        self.width: int = interval or 1000  # µs
        self.left_out = 0

    @classmethod
    def from_options(cls, options: AnalysisOptions, window: Window) -> Self:
        """See --by, --top and --per."""
        assert isinstance(options, TopOptions)
        return cls(window, options.by, options.top, options.per)

    @classmethod
    def table(cls, options: AnalysisOptions) -> tuple[str, ...]:
        """With --per the time is shown, and no curve."""
        assert isinstance(options, TopOptions)
        if not options.per:
            return cls.TABLE
        return ("time", *(name for name in cls.TABLE if name not in ("per_second", "activity")))

    def on_publish(self, message: Message) -> None:
        """Counts as published."""
        self._count(message, 0)

    def on_deliver(self, message: Message) -> None:
        """Counts as delivered."""
        self._count(message, 1)

    def _count(self, message: Message, which: int) -> None:
        time = message.time
        if not self.in_window(time):
            return
        if time is not None:
            self.begin = time if self.begin is None else min(self.begin, time)
            self.end = time if self.end is None else max(self.end, time)
            while not self.interval and self.end - self.begin >= self.width * MAX_PIECES:
                self._widen()
        names = {
            "exchange": message.exchange,
            "routing_key": message.key,
            "queue": message.queue,
            "connection": f"{message.conn} {message.peer}",
        }
        for kind, tallies in self.counted.items():
            name = names[kind]
            if name is None:
                continue
            if name not in tallies and len(tallies) >= MAX_NAMES:
                name = "(others)"
                self.left_out += 1
            tally = tallies.get(name)
            if tally is None:
                tally = tallies[name] = Tally()
            self._add(tally, time, which, message.size or 0)

    def _add(self, tally: Tally, time: int | None, which: int, size: int) -> None:
        if which:
            tally.delivered += 1
        else:
            tally.published += 1
        tally.bytes += size
        if time is None:
            return
        tally.first = time if tally.first is None else min(tally.first, time)
        tally.last = time if tally.last is None else max(tally.last, time)
        piece = tally.per.setdefault(time // self.width, [0, 0, 0])
        piece[which] += 1
        piece[2] += size

    def _widen(self) -> None:
        """Pieces of time are twice as long, so that there are not too many of them."""
        self.width *= 2
        for tallies in self.counted.values():
            for tally in tallies.values():
                old, tally.per = tally.per, {}
                for at, numbers in old.items():
                    into = tally.per.setdefault(at // 2, [0, 0, 0])
                    into[:] = [a + b for a, b in zip(into, numbers, strict=True)]

    def finish(self) -> Iterator[Row]:
        """The busiest, kind by kind."""
        for kind, tallies in self.counted.items():
            busiest = sorted(tallies.items(), key=lambda entry: -entry[1].messages)
            for name, tally in busiest[: self.max_rows]:
                if self.interval:
                    yield from self._pieces(kind, name, tally)
                else:
                    yield self._row(kind, name, tally)

    def _row(self, kind: str, name: str, tally: Tally) -> Row:
        curve: list[int] = []
        rate = None
        if self.begin is not None and self.end is not None:
            rate = round(tally.messages / max((self.end - self.begin) / 1e6, 1e-6), 3)
            pieces = range(self.begin // self.width, self.end // self.width + 1)
            curve = [sum(tally.per.get(at, (0, 0, 0))[:2]) for at in pieces]
        return (
            *(kind, name, self.begin, tally.messages, tally.published, tally.delivered),
            *(tally.bytes, rate, tally.first, tally.last, curve, sparkline(curve)),
        )

    def _pieces(self, kind: str, name: str, tally: Tally) -> Iterator[Row]:
        for at, (published, delivered, size) in sorted(tally.per.items()):
            messages = published + delivered
            rate = round(messages / (self.width / 1e6), 3)
            yield (
                *(kind, name, at * self.width, messages, published, delivered, size, rate),
                *(tally.first, tally.last, None, None),
            )

    def warnings(self) -> Iterator[str]:
        """What could not be told apart."""
        yield from super().warnings()
        if self.left_out:
            yield f"more than {MAX_NAMES:,} names of a kind: the rest is counted as (others)"


def sparkline(numbers: list[int]) -> str:
    """A curve of characters."""
    most = max(numbers, default=0)
    if not most:
        return ""
    return "".join(" " if not n else BARS[(n * len(BARS) - 1) // most] for n in numbers)
