"""A limit of amqpcodec.limits, for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def limited(limit: Callable[[int], int], value: int) -> Iterator[int]:
    """Set a limit, and set it back."""
    before = limit(value)
    try:
        yield value
    finally:
        limit(before)
