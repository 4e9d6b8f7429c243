"""Encodings that a filler moves over the end of a growing buffer.

A writer's buffer begins with one of the first `CAPACITIES` (on the stack, or as the smallest block
of the pool) and at least doubles when it is full. A place that was remembered across that move, or
a store without a reservation, shows only where the buffer ends between two stores. A filler before
a value takes every length near each capacity, so that each byte of the value is once the first one
after the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

#: Capacities that buffers begin with, and what they grow to.
CAPACITIES = (1024, 2048, 4096, 8192, 16384)
#: What a filler consists of: no case has as many of these bytes in a row elsewhere.
FILLER = b"f"
#: A filler whose encoding has sizes of 4 bytes and fits the first memory with a value after it.
SHORT = 300

#: An encoding with a filler of so many bytes.
Encode = Callable[[int], bytes]


@dataclass(frozen=True)
class Layout:
    """How an encoding depends on the length of its filler, learned where no buffer has to grow.

    Attributes:
        prefix: bytes before a filler of `length` bytes.
        suffix: bytes after it, which no length changes.
        sizes: offsets in `prefix` of big-endian 32-bit sizes that count the filler.
    """

    prefix: bytes
    suffix: bytes
    length: int
    sizes: tuple[int, ...]

    def expected(self, length: int) -> bytes:
        """The encoding with a filler of this length."""
        prefix = bytearray(self.prefix)
        for at in self.sizes:
            size = int.from_bytes(prefix[at : at + 4]) + length - self.length
            prefix[at : at + 4] = size.to_bytes(4)
        return bytes(prefix) + FILLER * length + self.suffix

    def lengths(self, capacities: tuple[int, ...] = CAPACITIES) -> Iterator[int]:
        """Lengths by which each byte of the suffix, and of the prefix, comes to each capacity."""
        around = len(self.prefix) + len(self.suffix) + 8
        for capacity in capacities:
            yield from range(max(capacity - around, SHORT), capacity + 8)


def learn(encode: Encode) -> Layout:
    """The layout of an encoding, from two short fillers that differ by one byte."""
    for length in range(SHORT, SHORT + 16):
        short, longer = encode(length), encode(length + 1)
        start = short.index(FILLER * length)
        prefix, suffix = short[:start], short[start + length :]
        assert longer[start : start + length + 1] == FILLER * (length + 1)
        assert longer[start + length + 1 :] == suffix
        changed = [at for at in range(start) if prefix[at] != longer[at]]
        if all(longer[at] == prefix[at] + 1 for at in changed):  # else a size has a carry
            return Layout(prefix, suffix, length, tuple(at - 3 for at in changed))
    raise AssertionError("no length without a carry")


def check(encode: Encode, capacities: tuple[int, ...] = CAPACITIES) -> None:
    """An encoding is the same at every distance from the end of a buffer."""
    layout = learn(encode)
    for length in layout.lengths(capacities):
        assert encode(length) == layout.expected(length), length


# ---- inputs of fuzzing: a choice, a length and a seed ----

#: Bytes of an input.
LARGEST = 5


def read_input(data: bytes) -> tuple[int, int, bytes]:
    """A choice of the case, the length of the filler, and the seed of what follows it."""
    data = data[:LARGEST].ljust(LARGEST, b"\0")
    return data[0], int.from_bytes(data[1:3]), data[3:]


def seeds(choices: int) -> Iterator[bytes]:
    """Each choice at each capacity."""
    for choice in range(choices):
        for capacity in CAPACITIES:
            yield (
                bytes((choice,))
                + (capacity - 40 * choice % 200).to_bytes(2)
                + b"\0"
                + bytes((choice,))
            )


def near_border(data: bytes, rng: Random) -> bytes:
    """Another choice, distance from a capacity, or seed."""
    length = max(rng.choice(CAPACITIES) - rng.randrange(400), 0)
    return rng.randbytes(1) + length.to_bytes(2) + rng.randbytes(2)
