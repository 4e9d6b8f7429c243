"""Messages of one channel that wait for an answer, in the order of their numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .handler import MessageHandler
    from .records import Message

__all__ = ["PendingMessages"]

#: How far a returned message is looked for.
MAX_SEARCH_MESSAGES = 1000


class PendingMessages:
    """Number -> message. The sum over all channels is bounded by the traffic they belong to."""

    def __init__(self, traffic: MessageHandler) -> None:
        """Nothing waits."""
        self.traffic = traffic
        self.messages: OrderedDict[int, Message] = OrderedDict()

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, number: int | None, message: Message) -> None:
        """One more waits."""
        if number is None:
            return
        if number in self.messages:
            self._gone(self.messages.pop(number))
        if not self.traffic.may_wait():
            self.traffic.forgotten += 1
            if not self.messages:
                self.traffic.pending_count -= 1
                return
            self._gone(self.messages.popitem(last=False)[1])
        self.messages[number] = message

    def _gone(self, message: Message) -> Message:
        self.traffic.pending_count -= 1
        return message

    def take(self, number: int | None, multiple: bool = False) -> list[Message]:
        """Those that an answer is for; multiple: all up to a number, 0 for all that wait."""
        if number is None:
            return []
        if not multiple:
            message = self.messages.pop(number, None)
            return [] if message is None else [self._gone(message)]
        if number == 0:
            return self.take_all()
        messages = []
        while self.messages and next(iter(self.messages)) <= number:
            messages.append(self._gone(self.messages.popitem(last=False)[1]))
        return messages

    def take_range(self, first: int, last: int) -> list[Message]:
        """Those of the numbers from first to last."""
        if not self.messages:
            return []
        first = max(first, next(iter(self.messages)))
        last = min(last, next(reversed(self.messages)))
        few = last - first <= 4 * len(self.messages) + 1000
        numbers = range(first, last + 1) if few else list(self.messages)
        messages = []
        for number in numbers:
            if first <= number <= last and number in self.messages:
                messages.append(self._gone(self.messages.pop(number)))
        return messages

    def take_all(self) -> list[Message]:
        """All of them."""
        messages = [self._gone(message) for message in self.messages.values()]
        self.messages.clear()
        return messages

    def find(self, fits: Callable[[Message], bool]) -> Message | None:
        """The first that fits, among those that have waited longest; it goes on waiting."""
        for _, message in zip(range(MAX_SEARCH_MESSAGES), self.messages.values(), strict=False):
            if fits(message):
                return message
        return None
