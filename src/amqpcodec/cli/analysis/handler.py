"""What analyzers of messages are called with, and how many messages may wait for an answer."""

from __future__ import annotations

from collections.abc import Iterator

from ..times import Window
from .base import Analyzer
from .records import Message, Record

__all__ = ["MessageHandler"]

#: Messages that wait for an answer, of all connections together: more are forgotten, and counted.
MAX_PENDING = 1_000_000


class MessageHandler(Analyzer):
    """Has a method ``on_...`` for what happens to a message; analyzers override those they need."""

    def __init__(self, window: Window) -> None:
        """Nothing was seen yet."""
        super().__init__(window)
        self.pending_count = 0
        self.forgotten = 0

    def may_wait(self) -> bool:
        """Whether one more message can be held; the one that has waited longest goes otherwise."""
        self.pending_count += 1
        return self.pending_count <= MAX_PENDING

    def warnings(self) -> Iterator[str]:
        """What the answer lacks."""
        if self.forgotten:
            yield (
                f"more than {MAX_PENDING:,} messages waited for an answer:"
                f" the answer lacks {self.forgotten:,} of them"
            )

    def on_publish(self, message: Message) -> None:
        """A client sent a message."""

    def on_confirm(self, message: Message, record: Record, outcome: str) -> None:
        """The broker said what became of it."""

    def on_return(self, message: Message | None, returned: Message, record: Record) -> None:
        """The broker could not route it. message: as it was published, where that is known."""

    def on_deliver(self, message: Message) -> None:
        """The broker sent a message: to a consumer, or (kind "get") on request."""

    def on_get(self, request: Record, answer: Record, queue: str | None) -> None:
        """basic.get had an answer, get-ok or get-empty."""

    def on_settle(self, message: Message, record: Record, outcome: str) -> None:
        """A delivery was settled by its receiver."""

    def on_lost(self, message: Message, record: Record, why: str) -> None:
        """A channel ended while a delivery was not settled, or a publish not confirmed."""

    def on_record(self, record: Record) -> None:
        """Any record of METHODS, before what it means is known."""
