"""Ascending numbers as ranges: what an acknowledgement names, and a set that is cut at a number."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, TypeAlias, overload

__all__ = ["Node", "RangeSet", "TagRanges", "tag_ranges", "tags_of"]

#: (left, right, first number, number after the last, priority, how many numbers are below).
#: Immutable, so that an event and a set share what neither of them can change.
Node: TypeAlias = "tuple[Any, Any, int, int, float, int]"


class TagRanges(Sequence[int]):
    """Delivery tags or publication numbers, ascending, held as ranges.

    A sequence of int that equals the tuple of the same numbers. It takes memory by its ranges and
    not by its numbers: `ranges` gives them without a walk over the numbers.
    """

    __slots__ = ("_node", "_places", "_ranges")

    def __init__(self, ranges: Iterable[range] = ()) -> None:
        """ranges: ascending, without overlaps; each of step 1 and not empty."""
        self._node: Node | None = None
        self._ranges: tuple[range, ...] | None = tuple(ranges)
        self._places: list[int] | None = None

    @property
    def ranges(self) -> tuple[range, ...]:
        """The numbers as ranges, ascending."""
        ranges = self._ranges
        if ranges is None:
            ranges = self._ranges = tuple(_walk(self._node))
            self._node = None
        return ranges

    def _ends(self) -> list[int]:
        """For each range, how many numbers there are up to its end."""
        if self._places is None:
            self._places = list(accumulate(map(len, self.ranges)))
        return self._places

    def __len__(self) -> int:
        """How many numbers there are."""
        if self._node is not None:
            return self._node[5]
        ends = self._ends()
        return ends[-1] if ends else 0

    def __iter__(self) -> Iterator[int]:
        """The numbers, ascending."""
        return chain.from_iterable(self.ranges)

    def __reversed__(self) -> Iterator[int]:
        """The numbers, descending."""
        return chain.from_iterable(map(reversed, reversed(self.ranges)))

    def __contains__(self, tag: object) -> bool:
        """Whether a number is among them, in the logarithm of the ranges."""
        if not isinstance(tag, int):
            return False
        place = bisect_right(self.ranges, tag, key=_start) - 1
        return place >= 0 and tag in self.ranges[place]

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...

    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        """The number at a place, or a tuple of those in a slice; IndexError as of a tuple."""
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index if index >= 0 else index + len(self)
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} tags and no tag {index}")
        at = bisect_right(self._ends(), place)
        return self.ranges[at][place - self._ends()[at]]

    def __eq__(self, other: object) -> bool:
        """Whether the other is the same numbers, as TagRanges or a tuple."""
        if isinstance(other, TagRanges):
            return self.ranges == other.ranges
        if isinstance(other, tuple):
            return len(self) == len(other) and all(
                mine == theirs for mine, theirs in zip(self, other, strict=True)
            )
        return NotImplemented

    def __hash__(self) -> int:
        """That of the tuple of the numbers."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """The first eight ranges."""
        shown = [
            f"{one[0]}" if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in self.ranges[:8]
        ]
        if len(self.ranges) > 8:
            shown.append("...")
        return f"TagRanges({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TagRanges, (self.ranges,)


def tag_ranges(tags: Iterable[int]) -> TagRanges:
    """Ranges out of ascending numbers."""
    if isinstance(tags, list) and tags and tags[-1] - tags[0] == len(tags) - 1:
        return TagRanges((range(tags[0], tags[-1] + 1),))
    ranges: list[range] = []
    first = after = -1
    for tag in tags:
        if tag != after:
            if after > first:
                ranges.append(range(first, after))
            first = tag
        after = tag + 1
    if after > first:
        ranges.append(range(first, after))
    return TagRanges(ranges)


def _start(numbers: range) -> int:
    return numbers.start


class RangeSet:
    """A set of numbers that can be cut at one and joined again, each in the logarithm of its size.

    A treap of ranges. Its nodes are never changed, so that a part of it is kept by a reference.
    """

    __slots__ = ("_root",)

    def __init__(self, tags: Iterable[int] = ()) -> None:
        self._root: Node | None = None
        for one in tag_ranges(tags).ranges:
            self._root = _join(self._root, _leaf(one.start, one.stop))

    def __len__(self) -> int:
        return _size(self._root)

    def __iter__(self) -> Iterator[int]:
        for one in _walk(self._root):
            yield from one

    def __contains__(self, tag: object) -> bool:
        node = self._root
        while node is not None:
            if tag < node[2]:  # type: ignore[operator]
                node = node[0]
            elif tag >= node[3]:  # type: ignore[operator]
                node = node[1]
            else:
                return True
        return False

    def add(self, tag: int) -> None:
        """Add a number above all that are there."""
        self._root = _join(self._root, _leaf(tag, tag + 1))

    def take(self, tag: int) -> Node | None:
        """Remove a number that is there; `put_back` adds it again."""
        lower, upper = _split(self._root, tag - 1)
        part, higher = _split(upper, tag)
        self._root = _join(lower, higher)
        return part

    def take_through(self, tag: int) -> Node | None:
        """Remove all numbers up to one; `put_back` adds them again."""
        part, self._root = _split(self._root, tag)
        return part

    def discard_above(self, tag: int) -> None:
        """Remove all numbers above one."""
        self._root = _split(self._root, tag)[0]

    def put_back(self, part: Node | None) -> None:
        """Add what was taken. Between its numbers there are none now."""
        if part is not None:
            lower, higher = _split(self._root, _last(part)[3] - 1)
            self._root = _join(_join(lower, part), higher)


def tags_of(part: Node | None) -> TagRanges:
    """What was taken of a RangeSet, as the numbers of an event: no walk, no copy."""
    tags = TagRanges()
    if part is not None:
        tags._node, tags._ranges = part, None
    return tags


def _leaf(start: int, stop: int) -> Node:
    # The peer does not know the priorities: no order of its calls makes the tree deep.
    return None, None, start, stop, random.random(), stop - start


def _size(node: Node | None) -> int:
    return 0 if node is None else node[5]


def _with(node: Node, left_child: Node | None, right_child: Node | None) -> Node:
    _, _, start, stop, priority, _ = node
    size = stop - start + _size(left_child) + _size(right_child)
    return left_child, right_child, start, stop, priority, size


def _split(node: Node | None, tag: int) -> tuple[Node | None, Node | None]:
    """What is up to a number, and what is above it."""
    if node is None:
        return None, None
    left_child, right_child, start, stop, _, _ = node
    if tag < start:
        lower, higher = _split(left_child, tag)
        return lower, _with(node, higher, right_child)
    if tag >= stop - 1:
        lower, higher = _split(right_child, tag)
        return _with(node, left_child, lower), higher
    middle = tag + 1
    return _merge(left_child, _leaf(start, middle)), _merge(_leaf(middle, stop), right_child)


def _merge(lower: Node | None, higher: Node | None) -> Node | None:
    if lower is None or higher is None:
        return higher if lower is None else lower
    if lower[4] >= higher[4]:
        return _with(lower, lower[0], _merge(lower[1], higher))
    return _with(higher, _merge(lower, higher[0]), higher[1])


def _first(node: Node) -> Node:
    while node[0] is not None:
        node = node[0]
    return node


def _last(node: Node) -> Node:
    while node[1] is not None:
        node = node[1]
    return node


def _join(lower: Node | None, higher: Node | None) -> Node | None:
    """Two trees, all of one below all of the other; ranges that touch become one."""
    if lower is None or higher is None:
        return higher if lower is None else lower
    before, after = _last(lower), _first(higher)
    if before[3] != after[2]:
        return _merge(lower, higher)
    start, stop = before[2], after[3]
    lower = _split(lower, start - 1)[0]
    higher = _split(higher, stop - 1)[1]
    return _merge(_merge(lower, _leaf(start, stop)), higher)


def _walk(node: Node | None) -> Iterator[range]:
    """The ranges of a tree, ascending."""
    above: list[Node] = []
    while node is not None or above:
        while node is not None:
            above.append(node)
            node = node[0]
        node = above.pop()
        yield range(node[2], node[3])
        node = node[1]
