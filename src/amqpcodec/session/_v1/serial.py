"""Numbers that wrap around at 2**32: transfer-ids, delivery-ids, delivery-counts (RFC 1982).

And those that are used again: channels and handles.
"""

from __future__ import annotations

from heapq import heappop, heappush

__all__ = ["FreeNumbers", "advance", "distance", "size_of_range"]

_MASK = 0xFFFF_FFFF
_HALF = 0x8000_0000


def advance(number: int, count: int) -> int:
    """The number that comes count steps after another; count may be negative."""
    return (number + count) & _MASK


def distance(start: int, end: int) -> int:
    """Steps from start to end: negative where end comes before start."""
    return ((end - start + _HALF) & _MASK) - _HALF


def size_of_range(first: int, last: int) -> int:
    """How many numbers first..last names, both included; 0 or less where last comes before."""
    return distance(first, last) + 1


class FreeNumbers:
    """Numbers from 0 on of which the lowest free one is taken next."""

    def __init__(self) -> None:
        self._free: list[int] = []  # a heap of those that came back
        self._next = 0

    def lowest(self, most: int) -> int | None:
        """The lowest free number; None where that is above `most`."""
        number = self._free[0] if self._free else self._next
        return number if number <= most else None

    def take(self) -> None:
        """Take the lowest free number."""
        if self._free:
            heappop(self._free)
        else:
            self._next += 1

    def give_back(self, number: int) -> None:
        """Free a number that was taken."""
        heappush(self._free, number)
