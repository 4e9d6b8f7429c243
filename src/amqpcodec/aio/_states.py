"""A state that changes, and those who follow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

__all__ = ["States"]

NameT = TypeVar("NameT", bound=str)


class _State(Generic[NameT]):
    """One of the states; it leads to the next one, so that nothing lists who is behind."""

    def __init__(self, name: NameT) -> None:
        self.name = name
        self.is_over = asyncio.Event()
        self.next = self


class States(Generic[NameT]):
    """The present state, by name. "closed" is the last one."""

    def __init__(self, name: NameT) -> None:
        self._present = _State(name)

    @property
    def name(self) -> NameT:
        """Of the present state."""
        return self._present.name

    def change(self, name: NameT) -> None:
        """Go on to another state; not from the last one."""
        before = self._present
        if before.name not in (name, "closed"):
            before.next = self._present = _State(name)
            before.is_over.set()

    async def changed(self) -> None:
        """Wait for the next state."""
        await self._present.is_over.wait()

    async def follow(self) -> AsyncIterator[NameT]:
        """The present state, and each later one when it comes, however late it is asked for."""
        state = self._present
        while True:
            yield state.name
            if state.name == "closed":
                return
            await state.is_over.wait()
            state = state.next
