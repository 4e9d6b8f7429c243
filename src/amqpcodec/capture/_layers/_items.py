"""What the layers of a direction give."""

from __future__ import annotations

from itertools import groupby
from typing import TypeAlias

#: Bytes, how many are lost, or None where the direction cannot be read on.
Item: TypeAlias = bytes | int | None
#: With their directions: 0 is the client's.
Items: TypeAlias = list[tuple[int, Item]]


def joined(items: Items) -> Items:
    """The same, the bytes that follow each other in a direction in one piece."""
    out: Items = []
    for (side, is_bytes), group in groupby(
        items, lambda item: (item[0], isinstance(item[1], bytes))
    ):
        if is_bytes:
            out.append((side, b"".join(item for _, item in group if isinstance(item, bytes))))
        else:
            out += group
    return out


class Stop(Exception):
    """A direction cannot be read on. both: nor can the other one."""

    def __init__(self, reason: str, both: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.both = both
