"""A consumer: an asynchronous iterator of messages, inside of ``async with``."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, Self, final

from ..session import Channel as SessionChannel
from ..session import Consumer as Subscription
from ..session import LocalProtocolError
from ..session import events as session_events
from ._errors import AMQPError, ConsumerCancelled
from ._link import LEAVE, Link, take_error
from ._message import Message, Settler

__all__ = ["Consumer", "Host"]


class Host(Settler, Protocol):
    """What a consumer asks of its channel."""

    session: SessionChannel
    _link: Link
    _consumers: set[Consumer]

    def _usable_session(self) -> SessionChannel: ...

    def _give_up(self) -> None: ...


@final
class Consumer:
    """The messages of a queue. Made by `Channel.consume`; consumes inside of ``async with``.

    Any number of tasks may iterate over it: each message goes to one of them. The iteration ends by
    an exception when the broker cancels the consumer (`ConsumerCancelled`) or the channel or the
    connection ends, and by StopAsyncIteration when this client has left it.

    Attributes:
        queue: the name of the queue.
        tag: the consumer tag, once it consumes.
    """

    def __init__(
        self,
        channel: Host,
        queue: str,
        *,
        prefetch: int,
        no_ack: bool,
        exclusive: bool,
        tag: str,
        arguments: dict[str, Any] | None,
    ) -> None:
        if not 0 <= prefetch <= 65535:
            raise ValueError(f"prefetch is {prefetch}, not a number from 0 to 65535")
        self.queue: str = queue
        self.tag: str = tag
        self._channel = channel
        self._prefetch = prefetch
        self._no_ack = no_ack
        self._bound = prefetch if no_ack else 0
        self._exclusive = exclusive
        self._arguments = arguments
        self._subscription: Subscription | None = None
        self._buffer: deque[Any] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._is_leaving = False
        self._is_over = False
        self._make_error: Callable[[], AMQPError] | None = None

    def __repr__(self) -> str:
        return f"<Consumer {self.tag!r} of queue {self.queue!r}>"

    async def __aenter__(self) -> Self:
        """Set the prefetch, and consume."""
        if self._subscription is not None:
            raise RuntimeError("a Consumer can be entered once; call consume() again")
        channel = self._channel
        session = channel._usable_session()
        if not self._no_ack:
            # In one write with basic.consume: it holds for this consumer alone.
            session.qos(prefetch_count=self._prefetch)
        request = session.consume(
            self.queue,
            self.tag,
            no_ack=self._no_ack,
            exclusive=self._exclusive,
            arguments=self._arguments,
        )
        assert request.consumer is not None
        self._subscription = request.consumer
        self._subscription.context = self
        channel._consumers.add(self)
        try:
            await channel._link.call(request, lambda reply: self._undo())
        except BaseException:
            self._is_leaving = True
            channel._consumers.discard(self)
            raise
        self.tag = self._subscription.tag
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop consuming: see `cancel`."""
        await self.cancel()

    def __aiter__(self) -> Self:
        """Itself: each message goes to one of the tasks that iterate."""
        return self

    async def __anext__(self) -> Message:
        """The next message."""
        buffer = self._buffer
        while not buffer:
            if self._subscription is None:
                raise RuntimeError("a Consumer consumes inside of 'async with'")
            if self._is_over:
                if self._make_error is None:
                    raise StopAsyncIteration
                raise self._make_error()
            waiter: asyncio.Future[None] = self._channel._link.loop.create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.cancelled():
                    with contextlib.suppress(ValueError):
                        self._waiters.remove(waiter)
                else:
                    self._wake()  # the message is for another task
                raise
        content = buffer.popleft()
        if self._bound and len(buffer) <= self._bound // 2:
            self._channel._link.read_on(self)
        return Message(self._channel, content, self._no_ack)

    async def get(self, timeout: float | None = None) -> Message:
        """The next message.

        Args:
            timeout: seconds; None waits as long as the consumer lives.

        Raises:
            TimeoutError: none came in time. None is lost by that.
            AMQPError: as the iteration raises it.
        """
        async with asyncio.timeout(timeout):
            try:
                return await self.__anext__()
            except StopAsyncIteration:
                raise ConsumerCancelled("this client has left the consumer") from None

    async def cancel(self, timeout: float = LEAVE) -> None:
        """Stop consuming, and give back what no task has taken. ``async with`` does it at its end.

        A broker that does not answer in time loses the channel, so that nothing hangs. Raises no
        error of the broker: what is over is over.
        """
        if self._is_leaving or self._subscription is None:
            return
        request = self._leave(no_wait=False)
        self._channel._consumers.discard(self)
        if request is None:
            return
        link = self._channel._link
        future = link.expect(request)
        done, _ = await asyncio.wait((future,), timeout=timeout)
        if not done:
            self._channel._give_up()
        take_error(future)

    # ---- what the channel tells ----

    def _on_delivered(self, event: session_events.Delivered) -> None:
        """A delivery came."""
        if self._is_leaving:
            self._give_back(event.message)
            return
        self._buffer.append(event.message)
        if self._waiters:
            self._wake()
        elif self._bound and len(self._buffer) > self._bound:
            self._channel._link.full.add(self)

    def _on_cancelled(self, event: session_events.ConsumerCancelled) -> None:
        """The broker ended it: what came before can be handled."""
        self._channel._consumers.discard(self)
        text = f"the broker cancelled the consumer {self.tag!r} of queue {self.queue!r}"
        self._finish(lambda: ConsumerCancelled(text))

    def _on_ended(self, make_error: Callable[[], AMQPError]) -> None:
        """The channel is over: the broker delivers again what was not acknowledged."""
        if not self._no_ack:
            self._buffer.clear()
        self._finish(make_error)

    def _stop_now(self) -> None:
        """This client closes the channel."""
        self._leave(no_wait=True)

    def _undo(self) -> None:
        # The caller was cancelled while it waited for basic.consume-ok.
        self._is_leaving = False
        self._leave(no_wait=True)

    def _leave(self, *, no_wait: bool) -> Any:
        """Ask the broker to cancel, and give back what no task has taken; the request, if any."""
        if self._is_leaving or self._subscription is None:
            return None
        self._is_leaving = True
        self._finish(None)
        session = self._channel.session
        request = None
        if session.is_open and self._subscription.active:
            with contextlib.suppress(LocalProtocolError):  # not there yet: see _undo
                request = session.cancel(self._subscription.tag, no_wait=no_wait)
        while self._buffer:
            self._give_back(self._buffer.popleft())
        self._channel._link.soon()
        return request

    def _give_back(self, content: Any) -> None:
        """Nack, which RabbitMQ does not count as a failure of the message."""
        session = self._channel.session
        if not self._no_ack and session.is_open:
            with contextlib.suppress(LocalProtocolError):  # settled by multiple
                session.nack(content.method.delivery_tag, requeue=True)
            self._channel._link.soon()

    def _finish(self, make_error: Callable[[], AMQPError] | None) -> None:
        """No more will come: tell every task that waits."""
        if not self._is_over:
            self._is_over = True
            self._make_error = make_error
            self._channel._link.read_on(self)
        while self._waiters:
            self._wake()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
