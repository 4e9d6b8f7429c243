"""Publications that wait for their confirms: their futures, returns, and the window."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ._errors import (
    AMQPError,
    ChannelClosed,
    Nacked,
    NotFound,
    PublishError,
    PublishUnconfirmed,
    Returned,
)
from ._link import logger

__all__ = ["Publication", "Publications"]


class Publication:
    """A publication that was sent."""

    __slots__ = (
        "body",
        "deadline",
        "exchange",
        "future",
        "is_mandatory",
        "properties",
        "return_method",
        "routing_key",
    )

    def __init__(
        self,
        future: asyncio.Future[None],
        exchange: str,
        routing_key: str,
        body: bytes,
        properties: Any,
        is_mandatory: bool,
        deadline: float,
    ) -> None:
        self.future = future
        self.exchange = exchange
        self.routing_key = routing_key
        self.body = body
        self.properties = properties
        self.is_mandatory = is_mandatory
        self.deadline = deadline
        self.return_method: Any = None

    def fail(
        self, kind: type[PublishError], text: str, reply_code: int = 0, cause: Any = None
    ) -> None:
        """End it by a new exception. Does nothing where its caller is gone."""
        if self.future.done():
            return
        error = kind(
            text,
            reply_code,
            body=self.body,
            exchange=self.exchange,
            routing_key=self.routing_key,
            properties=self.properties,
        )
        error.__cause__ = cause
        self.future.set_exception(error)

    def refuse(self, acked: bool) -> None:
        """Its confirm came, after it had come back or as a nack."""
        method = self.return_method
        if acked:
            self.fail(Returned, method.reply_text, method.reply_code)
        else:
            self.fail(Nacked, "the broker could not take over the message")


class _Turn:
    """A caller that waits for a place in the window."""

    future: asyncio.Future[None] | None = None


class Publications:
    """Those of a channel, by number. One timer serves all: few of them reach their deadlines.

    Attributes:
        window, window_bytes: how many, and of how many bytes, may wait.
        is_open: whether the channel and the broker take publications now.
        turns: those who wait for a place, in order: who comes later waits behind.
        size: bytes of the bodies that wait.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, window: int, window_bytes: int) -> None:
        if window < 1 or window_bytes < 1:
            raise ValueError("window and window_bytes have to be at least 1")
        self.window = window
        self.window_bytes = window_bytes
        self.is_open = True
        self.size = 0
        self._by_number: dict[int, Publication] = {}
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._next_deadline = math.inf
        self.turns: deque[_Turn] = deque()
        self._end_waiters: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._by_number)

    def has_room(self, size: int) -> bool:
        """Whether a body of that size may be sent now; a large one may go alone."""
        count = len(self._by_number)
        is_free = count < self.window and (not count or self.size + size <= self.window_bytes)
        return is_free and self.is_open

    def add(self, number: int, publication: Publication) -> bool:
        """One was sent; whether it is the only one."""
        is_only = not self._by_number
        self._by_number[number] = publication
        self.size += len(publication.body)
        if publication.deadline < self._next_deadline:
            self._set_timer(publication.deadline)
        return is_only

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next_deadline = when
        self._timer = self._loop.call_at(when, self._expire) if when < math.inf else None

    def _expire(self) -> None:
        """Those whose time is over fail; their places in the window stay taken."""
        now = self._loop.time()
        earliest = math.inf
        for publication in self._by_number.values():
            if publication.future.done():
                continue
            if publication.deadline <= now:
                text = "no confirm came in time: the message may be in the queue"
                publication.fail(PublishUnconfirmed, text)
            else:
                earliest = min(earliest, publication.deadline)
        self._set_timer(earliest)

    def confirm(self, numbers: Iterable[int], acked: bool) -> None:
        """The broker took them over, or could not."""
        pop = self._by_number.pop
        for number in numbers:
            publication = pop(number, None)
            if publication is None:
                continue
            self.size -= len(publication.body)
            if not acked or publication.return_method is not None:
                publication.refuse(acked)
            elif not publication.future.done():
                publication.future.set_result(None)
        self.wake()
        self._check_empty()

    def give_back(self, message: Any) -> None:
        """A mandatory one came back.

        basic.return has no number: it is the oldest equal one that waits and has not come back.
        Equal messages can be mixed up among themselves only.
        """
        method = message.method
        fallback: Publication | None = None
        for publication in self._by_number.values():
            if (
                publication.is_mandatory
                and publication.return_method is None
                and publication.body == message.body
                and publication.routing_key == method.routing_key
                and publication.exchange == method.exchange
            ):
                if publication.properties == message.properties:
                    publication.return_method = method
                    return
                fallback = fallback or publication  # a broker takes out the header BCC
        if fallback is None:
            logger.warning("a returned message equals none that waits: %r", method)
        else:
            fallback.return_method = method

    def end(self, error: AMQPError) -> None:
        """The channel is over: whatever was sent fails, each by an error of its own."""
        text = (
            "the confirm did not come, and the message may be in the queue: "
            f"{error.reply_text if error.reply_code == 200 else error}"
        )
        publications = list(self._by_number.values())
        self._by_number.clear()
        self.size = 0
        self._set_timer(math.inf)
        is_missing_exchange = isinstance(error, ChannelClosed) and error.reply_code == 404
        for publication in publications:
            future = publication.future
            missing = f"no exchange '{publication.exchange}' "
            if is_missing_exchange and publication.exchange and missing in error.reply_text:
                if not future.done():
                    future.set_exception(NotFound(error.reply_text, 404))
            else:
                publication.fail(PublishUnconfirmed, text, cause=error)
        self.wake()  # one after the other fails
        self._check_empty()

    # ---- those who wait ----

    async def wait_for_turn(self, is_ready: Callable[[], bool]) -> None:
        """Wait in the order of the callers, until is_ready() for this one; it may raise."""
        turn = _Turn()
        self.turns.append(turn)
        try:
            while self.turns[0] is not turn or not is_ready():
                turn.future = self._loop.create_future()
                await turn.future
        finally:
            self.turns.remove(turn)
            self.wake()

    def wake(self) -> None:
        """Let the first one that waits look again."""
        if self.turns:
            future = self.turns[0].future
            if future is not None and not future.done():
                future.set_result(None)

    def when_empty(self) -> asyncio.Future[None]:
        """A future, done once no publication waits for its confirm."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._end_waiters.append(waiter)
        self._check_empty()
        return waiter

    def _check_empty(self) -> None:
        if not self._by_number:
            for waiter in self._end_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._end_waiters.clear()
