"""A consumer: an asynchronous iterator of messages, inside of ``async with``."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, Self, TypedDict, final

from ..session import Channel as SessionChannel
from ..session import Consumer as Subscription
from ..session import LocalProtocolError
from ..session import events as session_events
from ._errors import AMQPError, ConnectionLost, ConsumerCancelled
from ._link import LEAVE, Link, take_error
from ._message import Message, Settler

__all__ = ["ConsumeOptions", "Consumer", "Host"]


class ConsumeOptions(TypedDict, total=False):
    """Options of consume().

    Attributes:
        prefetch: how many messages may wait to be acknowledged, 100 by default; 0 for any number.
            With no_ack the client stops reading where more wait for a task, unless a call on the
            connection waits for its answer.
        no_ack: have the broker forget a message once it is sent. What no task has taken is lost at
            the end.
        exclusive: be the only consumer of the queue.
        tag: the consumer tag; "", the default, has the broker choose one.
        ack_timeout: seconds within which a message has to be acknowledged, or the broker ends the
            channel; None, the default, for the broker's own limit, as a rule 30 minutes.
        arguments: such as ``{"x-priority": 10}``.
    """

    prefetch: int
    no_ack: bool
    exclusive: bool
    tag: str
    ack_timeout: float | None
    arguments: dict[str, Any] | None


class Host(Settler, Protocol):
    """What a consumer asks of its channel."""

    _link: Link
    _consumers: set[Consumer]

    async def close(self, timeout: float = ...) -> None: ...

    def _usable_session(self) -> SessionChannel: ...

    def _give_up(self) -> None: ...


@final
class Consumer:
    """The messages of a queue. Made by consume(); consumes inside of ``async with``.

    Any number of tasks may iterate over it: each message goes to one of them. The iteration ends by
    an exception when the broker cancels the consumer (`ConsumerCancelled`) or the channel or the
    connection ends, and by StopAsyncIteration when this client has left it, or closed its channel
    or connection. One of `Connections.consume` goes on with the next connection after a loss.

    Attributes:
        queue: the name of the queue.
        tag: the consumer tag, once it consumes.
    """

    _channel: Host

    def __init__(
        self,
        queue: str,
        *,
        channel: Host | None = None,
        open_channel: Callable[[], Awaitable[Host]] | None = None,
        lasting: set[Consumer] | None = None,
        prefetch: int = 100,
        no_ack: bool = False,
        exclusive: bool = False,
        tag: str = "",
        ack_timeout: float | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> None:
        if not 0 <= prefetch <= 65535:
            raise ValueError(f"prefetch is {prefetch}, not a number from 0 to 65535")
        if ack_timeout is not None:
            if not ack_timeout > 0:
                raise ValueError(f"ack_timeout is {ack_timeout}, not a number above 0")
            arguments = {"x-consumer-timeout": round(ack_timeout * 1000)} | (arguments or {})
        self.queue: str = queue
        self.tag: str = tag
        if channel is not None:
            self._channel = channel
        self._open_channel = open_channel
        self._lasting = lasting
        self._prefetch = prefetch
        self._no_ack = no_ack
        self._bound = prefetch if no_ack else 0
        self._options: dict[str, Any] = {"consumer_tag": tag, "exclusive": exclusive}
        self._options["arguments"] = arguments
        self._subscription: Subscription | None = None
        self._buffer: deque[Any] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._is_entered = False
        self._is_leaving = False
        self._is_over = False
        self._make_error: Callable[[], AMQPError] | None = None

    def __repr__(self) -> str:
        return f"<Consumer {self.tag!r} of queue {self.queue!r}>"

    async def __aenter__(self) -> Self:
        """Set the prefetch, and consume."""
        if self._is_entered:
            raise RuntimeError("a Consumer can be entered once; call consume() again")
        self._is_entered = True
        if self._open_channel is None:
            await self._subscribe()
            return self
        while True:
            self._channel = await self._open_channel()
            with contextlib.suppress(ConnectionLost):  # the next channel has a connection, or fails
                await self._subscribe()
                if self._is_over or self._channel.session.is_open:
                    break
        if self._lasting is not None:
            self._lasting.add(self)
        return self

    async def _subscribe(self) -> None:
        channel = self._channel
        session = channel._usable_session()
        if not self._no_ack:
            # In one write with basic.consume: it holds for this consumer alone.
            session.qos(prefetch_count=self._prefetch)
        try:
            request = session.consume(self.queue, no_ack=self._no_ack, **self._options)
        except LocalProtocolError as error:  # the tag is in use
            raise AMQPError(str(error)) from None
        subscription = self._subscription = request.consumer
        assert subscription is not None
        subscription.context = self
        channel._consumers.add(self)
        is_alone = self._open_channel is not None
        try:
            await channel._link.call(request, None if is_alone else lambda reply: self._undo())
        except BaseException:
            channel._consumers.discard(self)
            if is_alone:
                channel._give_up()
            else:
                self._is_leaving = True
            raise
        self.tag = subscription.tag

    async def _renew(self, opening: Awaitable[Host]) -> None:
        """Go on by a channel of the next connection. Raises ConnectionLost where that ends."""
        try:
            self._channel = await opening
            await self._subscribe()
        except ConnectionLost:
            raise
        except AMQPError as error:
            kind, text, code = type(error), error.reply_text, error.reply_code
            self._is_over = self._is_leaving  # the end of its channel was told first
            self._finish(lambda: kind(text, code))
        else:
            if self._is_leaving:
                self._channel._give_up()

    async def __aexit__(self, *_: object) -> None:
        """Stop consuming: see `cancel`."""
        try:
            await self.cancel()
            if self._open_channel is not None:
                await self._channel.close(LEAVE)
        finally:
            if self._open_channel is not None:
                self._channel._give_up()  # where this task was cancelled

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
            self._channel._link.check_loop()
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
        request = self._leave(no_wait=False)
        if request is None:
            return
        channel = self._channel
        channel._consumers.discard(self)
        future = channel._link.expect(request)
        future.add_done_callback(take_error)  # nobody wants it
        done, _ = await asyncio.wait((future,), timeout=timeout)
        if not done:
            channel._give_up()

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
        text = f"the broker cancelled the consumer {self.tag!r} of queue {self.queue!r}"
        self._finish(lambda: ConsumerCancelled(text))

    def _on_ended(self, make_error: Callable[[], AMQPError]) -> None:
        """The channel is over: the broker delivers again what was not acknowledged.

        One that lasts waits for the next connection.
        """
        if not self._no_ack:
            self._buffer.clear()
        if self._lasting is None or not isinstance(make_error(), ConnectionLost):
            self._finish(make_error)

    def _undo(self) -> None:
        # The caller was cancelled while it waited for basic.consume-ok.
        self._is_leaving = False
        self._leave(no_wait=True)

    def _leave(self, *, no_wait: bool) -> Any:
        """Ask the broker to cancel, and give back what no task has taken; the request, if any."""
        if self._is_leaving or self._subscription is None:
            return None
        self._channel._link.check_loop()
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
        if self._no_ack or not self._channel.session.is_open:
            return
        with contextlib.suppress(LocalProtocolError):  # settled by multiple
            self._channel.session.nack(content.method.delivery_tag, requeue=True)
        self._channel._link.soon()

    def _finish(self, make_error: Callable[[], AMQPError] | None) -> None:
        """No more will come: tell every task that waits."""
        self._channel._consumers.discard(self)
        self._channel._link.read_on(self)
        if self._lasting is not None:
            self._lasting.discard(self)
        if not self._is_over or make_error is None:
            self._is_over = True
            self._make_error = make_error
        while self._waiters:
            self._wake()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
