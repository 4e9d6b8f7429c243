"""A limit of amqpcodec.limits, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from amqpcodec import limits


@contextmanager
def limited(name: str, value: int) -> Iterator[int]:
    """Sets the limit of a name such as "max_nesting", and sets it back."""
    set_limit = getattr(limits, f"set_{name}")
    before = getattr(limits, f"get_{name}")()
    set_limit(value)
    try:
        yield value
    finally:
        set_limit(before)
