"""Numbers that wrap around at 2**32: transfer-ids, delivery-ids, delivery-counts (RFC 1982)."""

from __future__ import annotations

__all__ = ["advance", "distance", "size_of_range"]

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
