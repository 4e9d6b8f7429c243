"""Numbers over time: how many of each name, in pieces of time that grow with the recording."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["MAX_PIECES", "Series"]

#: Pieces of time that a recording is cut into, at most; and names that are told apart.
MAX_PIECES, MAX_NAMES = 240, 200
OTHERS = "(others)"


class Series:
    """name -> piece of time -> count. Pieces of 1 ms are doubled where there are many."""

    def __init__(self) -> None:
        """Nothing was counted."""
        self.width = 1000  # µs
        self.counts: dict[str, dict[int, int]] = {}
        self.first: int | None = None
        self.last: int | None = None

    def begin(self, width: int, first: int, last: int) -> None:
        """Take pieces of so many µs, from one time to another."""
        self.width, self.first, self.last = width, first, last

    def add(self, name: str, time: int | None, count: int = 1) -> None:
        """Count. time: µs since 1970; None: it is not known, and nothing is counted."""
        if time is None:
            return
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)
        while self.last - self.first >= self.width * MAX_PIECES:
            self._double()
        if name not in self.counts and len(self.counts) >= MAX_NAMES:
            name = OTHERS
        pieces = self.counts.setdefault(name, {})
        at = time // self.width
        pieces[at] = pieces.get(at, 0) + count

    def _double(self) -> None:
        self.width *= 2
        for name, pieces in self.counts.items():
            merged: dict[int, int] = {}
            for at, count in pieces.items():
                merged[at // 2] = merged.get(at // 2, 0) + count
            self.counts[name] = merged

    def busiest(self, most: int) -> list[str]:
        """The names with the largest sums, the largest first."""
        return sorted(self.counts, key=lambda name: -sum(self.counts[name].values()))[:most]

    def curve(self, names: Iterable[str]) -> tuple[list[int], list[float]]:
        """(times in µs, counts a second) of some names together, also where there is nothing."""
        if self.first is None or self.last is None:
            return [], []
        pieces = range(self.first // self.width, self.last // self.width + 1)
        counters = [self.counts.get(name, {}) for name in names]
        second = self.width / 1e6
        rates = [sum(counter.get(at, 0) for counter in counters) / second for at in pieces]
        return [at * self.width for at in pieces], rates

    def total(self, name: str) -> int:
        """All of a name."""
        return sum(self.counts.get(name, {}).values())
