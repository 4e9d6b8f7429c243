"""Percentiles of durations, exact for few values, within 1 % for many; of bounded size."""

from __future__ import annotations

__all__ = ["Durations"]

#: Different values that are kept exactly.
EXACT = 10_000
#: Significant bits of a value where there are more: an error of at most 1/256.
BITS = 8


class Durations:
    """Counts whole numbers of microseconds."""

    def __init__(self) -> None:
        """No value yet."""
        self.counts: dict[int, int] = {}
        self.n = self.total = self.largest = 0
        self.smallest: int | None = None
        self.rounds = False

    def add(self, value: int) -> None:
        """Count one; a clock that went back makes it 0."""
        value = max(value, 0)
        self.n += 1
        self.total += value
        self.largest = max(self.largest, value)
        self.smallest = value if self.smallest is None else min(self.smallest, value)
        if self.rounds:
            value = _rounded(value)
        self.counts[value] = self.counts.get(value, 0) + 1
        if len(self.counts) > EXACT and not self.rounds:
            self.rounds = True
            exact, self.counts = self.counts, {}
            for bucket, count in exact.items():
                bucket = _rounded(bucket)
                self.counts[bucket] = self.counts.get(bucket, 0) + count

    def at(self, *shares: float) -> list[int]:
        """The smallest values that these shares of all are not above. shares: ascending."""
        percentiles: list[int] = []
        cumulative = 0
        for value in sorted(self.counts):
            cumulative += self.counts[value]
            while (
                len(percentiles) < len(shares) and cumulative >= shares[len(percentiles)] * self.n
            ):
                percentiles.append(min(value, self.largest))
        return percentiles


def _rounded(value: int) -> int:
    """The middle of the values that have the same first bits."""
    drop = value.bit_length() - BITS
    return value if drop <= 0 else (value >> drop << drop) + (1 << drop >> 1)
