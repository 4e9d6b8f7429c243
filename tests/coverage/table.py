"""How much of each part the tests reached, as a table."""

from __future__ import annotations

from collections import defaultdict


class Table:
    """Counts by part, and over all parts."""

    def __init__(self, part: str, unit: str) -> None:
        self.part = part
        self.unit = unit
        self.rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, name: str, total: int, missed: int, left_out: int) -> None:
        """Counts of a file that belongs to a part."""
        for row in (self.rows[name], self.rows["all"]):
            for column, count in enumerate((total, missed, left_out)):
                row[column] += count

    def percent(self, name: str = "all") -> float:
        """How much of a part was reached."""
        total, missed, _ = self.rows[name]
        return 100 * (total - missed) / max(total, 1)

    def print(self) -> None:
        """A line for each part, and one for all."""
        width = len(self.unit) + 2
        print(f"\n{self.part:<12}{self.unit:>{width}}{'missed':>9}{'left out':>10}{'reached':>10}")
        for name in sorted(self.rows, key=lambda name: (name == "all", name)):
            total, missed, left_out = self.rows[name]
            print(f"{name:<12}{total:>{width}}{missed:>9}{left_out:>10}{self.percent(name):>9.1f}%")
