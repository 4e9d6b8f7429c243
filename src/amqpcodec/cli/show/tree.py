"""A frame taken apart: a node each part, with where it stands, what it is and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["MAX_NODES", "Node", "TruncatedFrame", "Walk"]

#: Parts that are shown of one frame, and how deep they are nested.
MAX_NODES, MAX_DEPTH = 20_000, 64


class TruncatedFrame(Exception):
    """The bytes end inside of a part, or no part can be told any more."""


@dataclass(slots=True)
class Node:
    """A part of a frame. offset, length: bytes, in the frame. depth: 0 for the frame itself."""

    depth: int
    offset: int
    length: int
    name: str
    type: str
    value: str
    note: str = ""


class Walk:
    """Goes through bytes from the front, and writes down what it finds."""

    def __init__(self, raw: bytes) -> None:
        """raw: a frame."""
        self.raw, self.at = raw, 0
        self.parts_end = 0  # the end of the last part
        self.nodes: list[Node] = []
        self.depth = 0

    def remaining(self, end: int) -> int:
        """Bytes up to an end."""
        return min(end, len(self.raw)) - self.at

    def take(self, count: int, end: int | None = None) -> bytes:
        """The next bytes.

        Raises:
            TruncatedFrame: there are not so many before the end.
        """
        limit = len(self.raw) if end is None else min(end, len(self.raw))
        if count > limit - self.at:
            raise TruncatedFrame
        taken_bytes = self.raw[self.at : self.at + count]
        self.at += count
        return taken_bytes

    def number(self, size: int, end: int | None = None, signed: bool = False) -> int:
        """A number of so many bytes."""
        return int.from_bytes(self.take(size, end), "big", signed=signed)

    def add(self, offset: int, name: str, kind: str, value: object, note: str = "") -> Node:
        """Write down a part that began at an offset and ends here.

        Raises:
            TruncatedFrame: there are too many.
        """
        if len(self.nodes) >= MAX_NODES or self.depth > MAX_DEPTH:
            raise TruncatedFrame
        node = Node(self.depth, offset, self.at - offset, name, kind, _text(value), note)
        self.nodes.append(node)
        self.parts_end = self.at
        return node

    def add_remainder(self, end: int, name: str, note: str = "") -> None:
        """What belongs to no part yet, up to an end, as bytes."""
        start = self.at = self.parts_end
        count = self.remaining(end)
        if count > 0:
            text = _text(self.take(count))
            self.nodes.append(Node(self.depth, start, count, name, "bytes", text, note))
            self.parts_end = self.at

    def inside(self) -> _Inside:
        """The parts that follow are parts of the last one."""
        return _Inside(self)

    def __iter__(self) -> Iterator[Node]:
        """The parts, in order."""
        return iter(self.nodes)


class _Inside:
    """One level deeper; the part around it ends where this does."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.around = walk, walk.nodes[-1]

    def __enter__(self) -> None:
        self.walk.depth += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.walk.depth -= 1
        if kind is not None:  # what was begun is no part
            self.walk.at = self.walk.parts_end
        self.around.length = self.walk.at - self.around.offset


def _text(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return "0x" + value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
