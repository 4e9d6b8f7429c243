"""Publications that wait for their confirms: their futures, returns, and the window."""

from __future__ import annotations

import asyncio
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
    ) -> None:
        self.future = future
        self.exchange = exchange
        self.routing_key = routing_key
        self.body = body
        self.properties = properties
        self.is_mandatory = is_mandatory
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

    def expire(self, text: str) -> None:
        """Its time is over, and it still waits: its place in the window stays taken."""
        self.fail(PublishUnconfirmed, text)

    def settle(self, acked: bool) -> None:
        """Its confirm came."""
        if self.future.done():
            return
        if not acked:
            self.fail(Nacked, "the broker could not take over the message")
        elif self.return_method is not None:
            method = self.return_method
            self.fail(Returned, method.reply_text, method.reply_code)
        else:
            self.future.set_result(None)


class _Turn:
    """A caller that waits for a place in the window."""

    future: asyncio.Future[None] | None = None


class Publications:
    """Those of a channel, by number.

    Attributes:
        window, window_bytes: how many, and of how many bytes, may wait.
        size: bytes of the bodies that wait.
    """

    def __init__(self, window: int, window_bytes: int) -> None:
        if window < 1 or window_bytes < 1:
            raise ValueError("window and window_bytes have to be at least 1")
        self.window = window
        self.window_bytes = window_bytes
        self.size = 0
        self._by_number: dict[int, Publication] = {}
        self._turns: deque[_Turn] = deque()
        self._end_waiters: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._by_number)

    def has_room(self, size: int) -> bool:
        """Whether a body of that size may be sent now; a large one may go alone."""
        count = len(self._by_number)
        return count < self.window and (not count or self.size + size <= self.window_bytes)

    def add(self, number: int, publication: Publication) -> None:
        """One was sent."""
        self._by_number[number] = publication
        self.size += len(publication.body)

    def confirm(self, numbers: Iterable[int], acked: bool) -> None:
        """The broker took them over, or could not."""
        pop = self._by_number.pop
        for number in numbers:
            publication = pop(number, None)
            if publication is not None:
                self.size -= len(publication.body)
                publication.settle(acked)
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

    @property
    def has_waiters(self) -> bool:
        """Whether somebody waits for a place: who comes later waits behind."""
        return bool(self._turns)

    async def wait_for_turn(
        self, loop: asyncio.AbstractEventLoop, is_ready: Callable[[], bool]
    ) -> None:
        """Wait in the order of the callers, until is_ready() for this one; it may raise."""
        turn = _Turn()
        self._turns.append(turn)
        try:
            while self._turns[0] is not turn or not is_ready():
                turn.future = loop.create_future()
                await turn.future
        finally:
            self._turns.remove(turn)
            self.wake()

    def wake(self) -> None:
        """Let the first one that waits look again."""
        if self._turns:
            future = self._turns[0].future
            if future is not None and not future.done():
                future.set_result(None)

    def when_empty(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """A future, done once no publication waits for its confirm."""
        waiter: asyncio.Future[None] = loop.create_future()
        self._end_waiters.append(waiter)
        self._check_empty()
        return waiter

    def _check_empty(self) -> None:
        if not self._by_number:
            for waiter in self._end_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._end_waiters.clear()
