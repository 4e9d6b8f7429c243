"""The unsettled deliveries of a session in one direction, by their ids and by ranges of them.

A disposition names a range in some 30 bytes. It costs what it changes for good: the deliveries
that it settles or gives an outcome, each of which happens once. A state that can change again is
kept as a range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Generic, Protocol, TypeVar

from .resumption import is_outcome
from .serial import distance

__all__ = ["Ascending", "Unsettled"]


class _Numbered(Protocol):
    """What a delivery has that these need."""

    @property
    def id(self) -> Any: ...

    @property
    def remote_state(self) -> Any: ...

    def _keep_remote_state(self) -> None: ...


D = TypeVar("D", bound=_Numbered)

_ALL_IDS = 1 << 32
#: A range is looked up id by id until so many ids were those of no delivery.
_MISSES = 8


class Ascending(Generic[D]):
    """Deliveries by ids that ascend as serial numbers. Any of them can go; a range is found fast.

    Most ranges have a delivery for each id, or are short, and are looked up id by id. The first one
    with many gaps makes an index, in which ids are positions: numbers that do not wrap around.
    Those that are gone stay in the index, with a link to the next one that may not be, until they
    are more than half of it. With the last delivery the index goes. Where no range has gaps a
    delivery costs nothing but its place in a dict.

    Attributes:
        by_id: the deliveries, in their order; to be read only.
    """

    def __init__(self) -> None:
        self.by_id: dict[int, D] = {}
        #: Whether anything but `by_id` has to follow what comes and goes.
        self._tracked = False
        self._indexed = False
        self._new: dict[int, D] = {}  # by id, what is not in the index yet, in its order
        self._last_id = 0  # of the index
        self._last = 0  # its position
        self._position_of: dict[int, int] = {}  # by id, of those in the index
        self._positions: list[int] = []
        self._at: list[D | None] = []
        self._next: list[int] = []  # index of the next item that may not be gone; itself if not

    def __len__(self) -> int:
        return len(self.by_id)

    def add(self, number: int, delivery: D) -> None:
        """Add a delivery. Its id comes after all that were added, and is that of none here."""
        self.by_id[number] = delivery
        if self._tracked:
            self._note_added(number, delivery)

    def pop(self, number: int) -> D | None:
        """Take a delivery out, where it is there."""
        if self._tracked and number in self.by_id:
            self._note_removed(number)
        return self.by_id.pop(number, None)

    def clear(self) -> None:
        """Take all out."""
        self.by_id.clear()
        self._stop_tracking()

    def _note_added(self, number: int, delivery: D) -> None:
        if self._indexed:
            self._new[number] = delivery

    def _note_removed(self, number: int) -> None:
        """A delivery that is here yet will be taken out."""
        if len(self.by_id) == 1:
            self._stop_tracking()
        elif self._indexed and self._new.pop(number, None) is None:
            self._remove_from_index(number)

    def _stop_tracking(self) -> None:
        """Nothing is here: forget the index."""
        self._tracked = self._indexed = False
        self._new.clear()
        self._position_of.clear()
        self._positions.clear()
        self._at.clear()
        self._next.clear()

    def within(self, first: int, count: int, most: int = _ALL_IDS) -> list[D]:
        """The deliveries among so many ids, in order, `most` of them."""
        result: list[D] = []
        by_id, end, misses = self.by_id, first + count, 0
        for number in range(first, end):
            delivery = by_id.get(number & (_ALL_IDS - 1))
            if delivery is not None:
                result.append(delivery)
                if len(result) == most:
                    break
            elif misses < _MISSES:
                misses += 1
            else:
                result += self._within_index(number, end - number, most - len(result))
                break
        return result

    def _within_index(self, first: int, count: int, most: int) -> list[D]:
        """The same by the index, in which gaps cost nothing."""
        result: list[D] = []
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
        """Bring the index up to date, or make it."""
        if not self._indexed:
            self._tracked = self._indexed = True
            self._new = dict(self.by_id)
        for number, delivery in self._new.items():
            self._last += (number - self._last_id) % _ALL_IDS
            self._last_id = number
            self._position_of[number] = self._last
            self._next.append(len(self._at))
            self._positions.append(self._last)
            self._at.append(delivery)
        self._new.clear()

    def _remove_from_index(self, number: int) -> None:
        index = bisect_left(self._positions, self._position_of.pop(number))
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
        has_ranges: whether the peer told a state of a range that may still count.
    """

    def __init__(self) -> None:
        super().__init__()
        self._undecided: Ascending[D] | None = None  # until it is asked for
        self.clock: int = 0
        self.has_ranges: bool = False
        # Disjoint ranges of positions, ascending, both ends included; (clock, state) of each.
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._states: list[tuple[int, Any]] = []

    @property
    def undecided(self) -> Ascending[D]:
        """Those of which the peer told no outcome."""
        undecided = self._undecided
        if undecided is None:
            undecided = self._undecided = Ascending()
            for number, delivery in self.by_id.items():
                if not is_outcome(delivery.remote_state):
                    undecided.add(number, delivery)
            self._tracked = True
        return undecided

    def clear(self) -> None:
        """Take all out. They keep the states that they have."""
        for delivery in self.by_id.values():
            delivery._keep_remote_state()
        super().clear()

    def _note_added(self, number: int, delivery: D) -> None:
        super()._note_added(number, delivery)
        if self._undecided is not None:
            self._undecided.add(number, delivery)

    def _note_removed(self, number: int) -> None:
        if self.has_ranges:  # it keeps the state that it has
            self.by_id[number]._keep_remote_state()
        if self._undecided is not None:
            self._undecided.pop(number)
        super()._note_removed(number)

    def _stop_tracking(self) -> None:
        super()._stop_tracking()
        self._undecided = None
        self._keep_ranges([])

    def state_of(self, delivery: D, own: Any, clock: int) -> Any:
        """The state of a delivery: its own, set at that clock, or that of a later range."""
        if self.has_ranges and self.by_id.get(delivery.id) is delivery:
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
        self.has_ranges = True
        if len(self._starts) > 2 * len(self.by_id) + 64:
            self._keep_ranges([n for n in range(len(self._starts)) if self._holds_any(n)])

    def _holds_any(self, index: int) -> bool:
        place = self._alive(bisect_left(self._positions, self._starts[index]))
        return place < len(self._positions) and self._positions[place] <= self._ends[index]

    def _keep_ranges(self, indexes: list[int]) -> None:
        self._starts = [self._starts[index] for index in indexes]
        self._ends = [self._ends[index] for index in indexes]
        self._states = [self._states[index] for index in indexes]
        self.has_ranges = bool(indexes)
