"""Numbers that are settled later, one by one or all up to one: confirms and deliveries."""

from __future__ import annotations

__all__ = ["Deliveries", "Publications"]


class Publications:
    """Publications that wait for a confirm. Numbered from 1 without holes.

    Keeps the lowest open number and the settled ones above it, so that publishing only counts.
    """

    __slots__ = ("_early", "_low", "last")

    last: int

    def __init__(self) -> None:
        self.last = 0
        self._low = 1
        self._early: set[int] = set()

    def __len__(self) -> int:
        return self.last + 1 - self._low - len(self._early)

    def settle(self, tag: int, multiple: bool) -> tuple[int, ...] | None:
        """The numbers that a confirm settles, ascending; None where it names none that waits.

        multiple with tag 0 means all.
        """
        if not multiple:
            if not self._low <= tag <= self.last or tag in self._early:
                return None
            if tag != self._low:
                self._early.add(tag)
                return (tag,)
            self._low += 1
            if self._early:
                self._pass_over()
            return (tag,)
        if tag == 0:
            tag = self.last
        if not self._low <= tag <= self.last:
            return None
        early = self._early
        if early:
            found = tuple(one for one in range(self._low, tag + 1) if one not in early)
            early.difference_update(range(self._low, tag + 1))
        else:
            found = tuple(range(self._low, tag + 1))
        self._low = tag + 1
        if early:
            self._pass_over()
        return found

    def _pass_over(self) -> None:
        early = self._early
        while self._low in early:
            early.remove(self._low)
            self._low += 1

    def open(self) -> tuple[int, ...]:
        """All that wait, ascending."""
        return tuple(one for one in range(self._low, self.last + 1) if one not in self._early)


class Deliveries:
    """Deliveries that wait for an acknowledgement. Numbers ascend, with holes for no-ack ones."""

    __slots__ = ("_low", "last", "waiting")

    last: int

    def __init__(self) -> None:
        self.last = 0
        self._low = 1
        self.waiting: set[int] = set()

    def __len__(self) -> int:
        return len(self.waiting)

    def settle(self, tag: int, multiple: bool) -> tuple[int, ...] | None:
        """As that of Publications."""
        waiting = self.waiting
        if not multiple:
            if tag not in waiting:
                return None
            waiting.remove(tag)
            return (tag,)
        if tag == 0:
            tag = self.last
        elif tag not in waiting:
            return None
        if tag - self._low > 2 * len(waiting) + 64:
            # The peer gives the numbers: a leap must not become a walk.
            found = tuple(sorted(one for one in waiting if one <= tag))
        else:
            # Each number is looked at once: the walk goes on where the last one ended.
            found = tuple(one for one in range(self._low, tag + 1) if one in waiting)
        waiting.difference_update(found)
        self._low = max(self._low, tag + 1)
        return found

    def put_back(self, tags: tuple[int, ...]) -> None:
        """Take tags as waiting again, as tx.rollback does."""
        if tags:
            self.waiting.update(tags)
            self._low = min(self._low, *tags)

    def forget(self) -> None:
        """None waits any more: basic.recover gives all of them back to their queues."""
        self.waiting.clear()
        self._low = self.last + 1
