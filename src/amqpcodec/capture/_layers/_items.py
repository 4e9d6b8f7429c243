"""What the layers of a direction give."""

from __future__ import annotations

from typing import TypeAlias

#: Bytes, how many are lost, or None where the direction cannot be read on.
Item: TypeAlias = bytes | int | None
#: With their directions: 0 is the client's.
Items: TypeAlias = list[tuple[int, Item]]


class Stop(Exception):
    """A direction cannot be read on. both: nor can the other one."""

    def __init__(self, reason: str, both: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.both = both
