"""Numbers that are settled later, one by one or all up to one: confirms and deliveries."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from ._tag_ranges import Node, RangeSet, TagRanges, tag_ranges, tags_of

__all__ = ["Deliveries", "Publications", "Tags", "TransactionalDeliveries"]

#: What a settlement names: a tuple of one number, or ranges of many.
Tags: TypeAlias = "tuple[int, ...] | TagRanges"


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

    def settle(self, tag: int, multiple: bool) -> Tags | None:
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
        settled = self._open_through(tag)
        if self._early:
            self._early.difference_update(range(self._low, tag + 1))
        self._low = tag + 1
        if self._early:
            self._pass_over()
        return settled

    def _open_through(self, tag: int) -> TagRanges:
        early, numbers = self._early, range(self._low, tag + 1)
        if not early:
            return TagRanges((numbers,) if numbers else ())
        return tag_ranges(one for one in numbers if one not in early)

    def _pass_over(self) -> None:
        early = self._early
        while self._low in early:
            early.remove(self._low)
            self._low += 1

    def open(self) -> TagRanges:
        """All that wait, ascending."""
        return self._open_through(self.last)


class Deliveries:
    """Deliveries that wait for an acknowledgement. Numbers ascend, with holes for no-ack ones.

    Attributes:
        last: the number of the last delivery that has to be acknowledged.
        void: the last number that basic.recover gave back; 0 for none.
        waiting: the numbers that wait.
    """

    __slots__ = ("_order", "_ordered", "last", "void", "waiting")

    last: int
    void: int
    waiting: set[int]

    def __init__(self) -> None:
        self.last = 0
        self.void = 0
        self.waiting = set()
        #: Those up to _ordered that waited when an acknowledgement of many came, ascending.
        self._order: deque[int] = deque()
        self._ordered = 0

    def __len__(self) -> int:
        return len(self.waiting)

    def settle(self, tag: int, multiple: bool) -> Tags | None:
        """As that of Publications."""
        unsettled = self.waiting
        if not multiple:
            if tag not in unsettled:
                return None
            unsettled.remove(tag)
            return (tag,)
        if tag == 0:
            tag = self.last
        elif tag not in unsettled:
            return None
        order = self._order
        if tag > self._ordered:
            # Each number is put into order once, whatever leaps the peer's numbers make: all up to
            # _ordered are settled now.
            order.extend(sorted(one for one in unsettled if one > self._ordered))
            self._ordered = self.last
        if order and order[-1] <= tag:  # as when all that waits is settled
            settled = [one for one in order if one in unsettled]
            order.clear()
        else:
            settled = []
            while order and order[0] <= tag:
                one = order.popleft()
                if one in unsettled:
                    settled.append(one)
        unsettled.difference_update(settled)
        return tag_ranges(settled)

    def forget(self, mark: int = 0) -> None:
        """None above mark waits any more: basic.recover gives all of them back to their queues."""
        self.waiting.clear()
        self.void = self.last

    def transactional(self) -> TransactionalDeliveries:
        """The same, from tx.select on."""
        return TransactionalDeliveries(self)


class TransactionalDeliveries:
    """Deliveries of a channel with transactions, where a rollback makes settled ones wait again.

    A client may settle all of them and roll back as often as it likes: neither costs more for more
    deliveries. Attributes as those of Deliveries.
    """

    __slots__ = ("_settled", "last", "void", "waiting")

    last: int
    void: int
    waiting: RangeSet

    def __init__(self, before: Deliveries) -> None:
        self.last = before.last
        self.void = before.void
        self.waiting = RangeSet(sorted(before.waiting))
        #: What was settled since the last commit, in order.
        self._settled: list[Node | None] = []

    def __len__(self) -> int:
        return len(self.waiting)

    def settle(self, tag: int, multiple: bool) -> Tags | None:
        """As that of Publications."""
        unsettled = self.waiting
        if multiple and tag == 0:
            tag = self.last
        elif tag not in unsettled:
            return None
        if not multiple:
            self._settled.append(unsettled.take(tag))
            return (tag,)
        part = unsettled.take_through(tag)
        if part is not None:
            self._settled.append(part)
        return tags_of(part)

    def commit(self) -> None:
        """What was settled is so for good."""
        self._settled.clear()

    def rollback(self) -> None:
        """What was settled since the last commit waits again."""
        while self._settled:
            self.waiting.put_back(self._settled.pop())

    def forget(self, mark: int = 0) -> None:
        """None above mark waits any more; what was settled may still be rolled back."""
        self.waiting.discard_above(mark)
        self.void = self.last

    def transactional(self) -> TransactionalDeliveries:
        """The same: tx.select was sent before."""
        return self
