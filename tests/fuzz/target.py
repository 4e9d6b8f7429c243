"""What a fuzz target is: a promise that any input has to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar
from zlib import crc32

T = TypeVar("T")

#: One input in so many is asked all of a promise whose check is slow.
SHARE = 16


class Choices:
    """The first bytes of an input choose options, the rest is what is read.

    Every input is one, also the empty one: bytes that are missing are zero.
    """

    def __init__(self, data: bytes, count: int) -> None:
        self._head = data[:count].ljust(count, b"\0")
        self._next = 0
        self.rest = data[count:]

    def byte(self) -> int:
        """The next of the first bytes."""
        self._next += 1
        return self._head[self._next - 1]

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.byte() % len(options)]

    def rng(self) -> Random:
        """A generator that the next byte seeds."""
        return Random(self.byte())


def chunks(data: bytes, rng: Random) -> list[bytes]:
    """The same bytes in pieces."""
    pieces, place = [], 0
    while place < len(data):
        size = rng.choice((1, 2, 3, 7, 8, 9, 20, 100, 1000))
        pieces.append(data[place : place + size])
        place += size
    return pieces


Mutator = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """One promise.

    Args:
        name: what the command line and the corpus call it.
        run: takes an input and asks all of the promise; any exception is a finding.
        seeds: inputs to begin with.
        mutate: changes an input so that its structure stays; libFuzzer's own mutations come
            between.
        around: what has to be in place for all inputs.
        largest: bytes of an input.
        python: modules of ours in Python whose branches are to be counted, too.
        module: of the core, whose edges alone are counted; others have targets of their own.
        quick: what every execution asks where run is slow; run then takes one input in SHARE.
        core: whether the core is built anew, to count its edges and see its wrong accesses;
            otherwise the plain build runs, and only what `python` names is counted.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    mutate: Mutator | None = None
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    largest: int = 4096
    python: tuple[str, ...] = ()
    module: str | None = None
    quick: Callable[[bytes], None] | None = None
    core: bool = True

    def check_all(self, data: bytes) -> None:
        """Everything that is ever asked of an input."""
        if self.quick is not None:
            self.quick(data)
        self.run(data)

    def check(self, data: bytes) -> None:
        """What one execution of millions asks: the same of the same input."""
        if self.quick is None or crc32(data) % SHARE == 0:
            self.run(data)
        else:
            self.quick(data)
