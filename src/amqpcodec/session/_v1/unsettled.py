"""The unsettled deliveries of a session in one direction, by their ids and by ranges of them.

A disposition names a range in some 30 bytes. It costs what it changes for good: the deliveries
that it settles or gives an outcome, each of which happens once. A state that can change again is
kept as a range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .resumption import is_outcome
from .serial import distance

if TYPE_CHECKING:
    from .delivery import Delivery

__all__ = ["Ascending", "Unsettled"]

D = TypeVar("D", bound="Delivery")

_ALL_IDS = 1 << 32
#: A range of so many ids is looked up id by id.
_SHORT_RANGE = 8


class Ascending(Generic[D]):
    """Deliveries by ids that ascend as serial numbers. Any of them can go; a range is found fast.

    Most ranges are short and are looked up id by id. The first long one makes an index, in which
    ids are positions: numbers that do not wrap around. Those that are gone stay in the index, with
    a link to the next one that may not be, until they are more than half of it.
    """

    def __init__(self) -> None:
        self._items: dict[int, D] = {}  # by id, in their order
        self._new: list[int] = []  # ids that are not in the index yet, in their order
        self._last_id = 0  # of the index
        self._last = 0  # its position
        self._position_of: dict[int, int] = {}  # by id, of those in the index
        self._positions: list[int] = []
        self._at: list[D | None] = []
        self._next: list[int] = []  # index of the next item that may not be gone; itself if not

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, number: int) -> bool:
        return number in self._items

    def __setitem__(self, number: int, delivery: D) -> None:
        """Add a delivery. Its id comes after all that were added, and is that of none here."""
        self._items[number] = delivery
        self._new.append(number)

    def pop(self, number: int, default: None = None) -> D | None:
        """Take a delivery out, where it is there."""
        delivery = self._items.pop(number, default)
        if delivery is not None:
            if self._position_of:
                self._take_from_index(number)
            if len(self._new) > 2 * len(self._items) + 64:
                items, known = self._items, self._position_of
                self._new = [n for n in self._new if n in items and n not in known]
        return delivery

    def clear(self) -> None:
        """Take all out."""
        self._items.clear()
        self._new.clear()
        self._position_of.clear()
        self._at.clear()
        self._compact()

    def within(self, first: int, count: int, most: int = _ALL_IDS) -> list[D]:
        """The deliveries among so many ids, in order, `most` of them."""
        result: list[D] = []
        if count <= _SHORT_RANGE:
            items = self._items
            for number in range(first, first + count):
                delivery = items.get(number & (_ALL_IDS - 1))
                if delivery is not None:
                    result.append(delivery)
            return result[:most]
        start = self._position(first)
        index = self._alive(bisect_left(self._positions, start))
        while index < len(self._at) and self._positions[index] < start + count:
            delivery = self._at[index]
            assert delivery is not None
            result.append(delivery)
            if len(result) == most:
                break
            index = self._alive(index + 1)
        return result

    def _position(self, number: int) -> int:
        """Where an id is, of those half of all ids before the last one or after it."""
        self._index_new()
        return self._last + distance(self._last_id, number)

    def _index_new(self) -> None:
        """Bring the index up to date."""
        for number in self._new:
            self._last += (number - self._last_id) % _ALL_IDS
            self._last_id = number
            delivery = self._items.get(number)
            if delivery is not None:
                self._position_of[number] = self._last
                self._next.append(len(self._at))
                self._positions.append(self._last)
                self._at.append(delivery)
        self._new.clear()

    def _take_from_index(self, number: int) -> None:
        position = self._position_of.pop(number, None)
        if position is not None:
            index = bisect_left(self._positions, position)
            self._at[index] = None
            self._next[index] = index + 1
            if len(self._at) > 2 * len(self._position_of) + 64:
                self._compact()

    def _alive(self, index: int) -> int:
        """The first index from there on whose delivery is not gone."""
        after = self._next
        end = index
        while end < len(after) and after[end] != end:
            end = after[end]
        while index < end:  # the next search takes one step
            after[index], index = end, after[index]
        return end

    def _compact(self) -> None:
        alive = [index for index, delivery in enumerate(self._at) if delivery is not None]
        self._positions = [self._positions[index] for index in alive]
        self._at = [self._at[index] for index in alive]
        self._next = list(range(len(alive)))


class Unsettled(Ascending[D]):
    """All unsettled deliveries, and the states that the peer told of ranges of them.

    Attributes:
        clock: how many ranges were told; a state of a delivery is older than the ranges with a
            higher number.
    """

    def __init__(self) -> None:
        super().__init__()
        self._undecided: Ascending[D] | None = None  # until it is asked for
        self.clock = 0
        # Disjoint ranges of positions, ascending, both ends included; (clock, state) of each.
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._states: list[tuple[int, Any]] = []

    @property
    def has_ranges(self) -> bool:
        """Whether the peer told a state of a range that may still count."""
        return bool(self._starts)

    @property
    def undecided(self) -> Ascending[D]:
        """Those of which the peer told no outcome."""
        undecided = self._undecided
        if undecided is None:
            undecided = self._undecided = Ascending()
            for number, delivery in self._items.items():
                if not is_outcome(delivery.remote_state):
                    undecided[number] = delivery
        return undecided

    def __setitem__(self, number: int, delivery: D) -> None:
        super().__setitem__(number, delivery)
        if self._undecided is not None:
            self._undecided[number] = delivery

    def pop(self, number: int, default: None = None) -> D | None:
        """Take a delivery out, where it is there. It keeps the state that it has."""
        if self._starts and number in self._items:
            self._items[number].keep_remote_state()
        delivery = super().pop(number, default)
        if delivery is not None:
            if self._undecided is not None:
                self._undecided.pop(number)
            if self._starts and not self._items:
                self._keep_ranges([])
        return delivery

    def clear(self) -> None:
        """Take all out. They keep the states that they have."""
        for delivery in self._items.values():
            delivery.keep_remote_state()
        super().clear()
        self._undecided = None
        self._keep_ranges([])

    def state_of(self, delivery: D, own: Any, clock: int) -> Any:
        """The state of a delivery: its own, set at that clock, or that of a later range."""
        if self._starts and self._items.get(delivery.id) is delivery:
            self._index_new()
            position = self._position_of[delivery.id]
            index = bisect_right(self._starts, position) - 1
            if index >= 0 and position <= self._ends[index] and self._states[index][0] > clock:
                return self._states[index][1]
        return own

    def set_state(self, first: int, count: int, state: Any) -> None:
        """Note the state of all that are here now among so many ids."""
        self.clock += 1
        start = self._position(first)
        end = min(start + count - 1, self._last)
        low, high = bisect_left(self._ends, start), bisect_right(self._starts, end)
        ranges = [(start, end, (self.clock, state))]
        if low < high and self._starts[low] < start:
            ranges.insert(0, (self._starts[low], start - 1, self._states[low]))
        if low < high and self._ends[high - 1] > end:
            ranges.append((end + 1, self._ends[high - 1], self._states[high - 1]))
        self._starts[low:high] = [start for start, _, _ in ranges]
        self._ends[low:high] = [end for _, end, _ in ranges]
        self._states[low:high] = [state for _, _, state in ranges]
        if len(self._starts) > 2 * len(self._items) + 64:
            self._keep_ranges([n for n in range(len(self._starts)) if self._holds_any(n)])

    def _holds_any(self, index: int) -> bool:
        place = self._alive(bisect_left(self._positions, self._starts[index]))
        return place < len(self._positions) and self._positions[place] <= self._ends[index]

    def _keep_ranges(self, indexes: list[int]) -> None:
        self._starts = [self._starts[index] for index in indexes]
        self._ends = [self._ends[index] for index in indexes]
        self._states = [self._states[index] for index in indexes]
