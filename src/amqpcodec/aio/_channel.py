"""A channel: declarations, publications with confirms, consumers, transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, Unpack, final

from .. import v0_9_1 as amqp
from ..session import Channel as SessionChannel
from ..session import LocalProtocolError
from ..session import events as session_events
from ._consumer import ConsumeOptions, Consumer
from ._errors import AlreadySettled, AMQPError, ChannelClosed, ResourceLocked
from ._link import CLOSED_HERE, Link, logger, resolve, take_error
from ._message import Message
from ._publishing import Publishing

__all__ = ["Channel", "DeclaredQueue"]

Arguments: TypeAlias = "dict[str, Any] | None"


class DeclaredQueue(NamedTuple):
    """What the broker said of a queue.

    Attributes:
        name: its name, which the broker chose where none was given.
        messages: how many wait in it.
        consumers: how many consumers it has.
    """

    name: str
    messages: int
    consumers: int


@final
class Channel(Publishing):
    """A channel of a connection. Made by `Connection.channel`; any number of tasks may share it.

    It lives once: when the broker closes it, or the connection ends, what waits and every later
    call raises a `ChannelClosed` or `ConnectionLost`, with the broker's reason.

    Attributes:
        session: the channel of `amqpcodec.session`, for what this class does not have.
    """

    def __init__(
        self, link: Link, *, confirms: bool = True, window: int = 1000, window_bytes: int = 1 << 20
    ) -> None:
        super().__init__(link, confirms=confirms, window=window, window_bytes=window_bytes)
        try:
            self.session: SessionChannel = link.session.open_channel()
        except LocalProtocolError as error:
            raise AMQPError(str(error)) from None
        self.session.context = self
        self._selected = self.session.confirm() if confirms else None
        self._consumers: set[Consumer] = set()
        self._opened: asyncio.Future[None] = link.loop.create_future()
        self._ended: asyncio.Future[None] = link.loop.create_future()
        self._end: session_events.ChannelClosed | None = None
        self._is_end_of_connection = False
        self._closing_here = False
        self._was_late = False
        self._look_again()

    def __repr__(self) -> str:
        return f"<Channel {self.number}, {'open' if self.is_open else 'closed'}>"

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self.session.number

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self.error is None

    @property
    def error(self) -> AMQPError | None:
        """Why it cannot be used any more; None while it can. A new exception each time."""
        if self._is_end_of_connection:
            return self._link.error()
        end = self._end
        if self._closing_here and (end is None or end.closed_by == "local"):
            return ChannelClosed(CLOSED_HERE, 200)
        return self._link.error() if end is None else ChannelClosed(end.reply_text, end.reply_code)

    # ---- queues and exchanges ----

    async def declare_queue(
        self,
        name: str = "",
        *,
        durable: bool | None = None,
        exclusive: bool | None = None,
        auto_delete: bool = False,
        passive: bool = False,
        arguments: Arguments = None,
    ) -> DeclaredQueue:
        """Create a queue, or with passive only ask for it.

        Args:
            name: "" has the broker choose one.
            durable: whether it survives a restart; None: if it has a name.
            exclusive: whether it is for this connection alone; None: if it has no name. On a later
                connection of `connections` the lock of the one before is waited for, at most two
                heartbeats.
            auto_delete: whether it goes with its last consumer.
            passive: only ask; NotFound is raised where it does not exist.
            arguments: such as ``{"x-queue-type": "quorum"}``.
        """
        options = {
            "durable": bool(name) if durable is None else durable,
            "exclusive": not name if exclusive is None else exclusive,
            "auto_delete": auto_delete,
            "passive": passive,
            "arguments": arguments,
        }
        if exclusive and name:
            await self._wait_until_unlocked(name, options)
        reply = await self._call("declare_queue", name, **options)
        return DeclaredQueue(reply.queue, reply.message_count, reply.consumer_count)

    async def _wait_until_unlocked(self, name: str, options: dict[str, Any]) -> None:
        """Declare a queue while the connection before may lock it: see `Link.locked_until`."""
        link = self._link
        delay = 0.05
        while link.loop.time() < link.locked_until:
            link.check_open()
            # A refusal closes the channel: each attempt has one of its own.
            async with Channel(link, confirms=False) as channel:
                try:
                    await channel._call("declare_queue", name, **options)
                    return
                except ResourceLocked:
                    await asyncio.sleep(delay)
                    delay = min(2 * delay, 1.0)

    async def bind_queue(
        self, queue: str, exchange: str, routing_key: str = "", *, arguments: Arguments = None
    ) -> None:
        """Have an exchange pass messages to a queue."""
        await self._call("bind_queue", queue, exchange, routing_key, arguments=arguments)

    async def unbind_queue(
        self, queue: str, exchange: str, routing_key: str = "", *, arguments: Arguments = None
    ) -> None:
        """Undo `bind_queue`."""
        await self._call("unbind_queue", queue, exchange, routing_key, arguments=arguments)

    async def purge_queue(self, queue: str) -> int:
        """Remove the messages that wait in a queue; how many these were."""
        count: int = (await self._call("purge_queue", queue)).message_count
        return count

    async def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False
    ) -> int:
        """Delete a queue; how many messages were in it."""
        reply = await self._call("delete_queue", queue, if_unused=if_unused, if_empty=if_empty)
        count: int = reply.message_count
        return count

    async def declare_exchange(
        self,
        name: str,
        type: str = "direct",
        *,
        durable: bool = True,
        auto_delete: bool = False,
        internal: bool = False,
        passive: bool = False,
        arguments: Arguments = None,
    ) -> None:
        """Create an exchange, or with passive only ask for it.

        Args:
            name: of the exchange.
            type: "direct", "fanout", "topic", "headers", or one of a plugin.
            durable: whether it survives a restart.
            auto_delete: whether it goes with its last binding.
            internal: whether only other exchanges may pass messages to it.
            passive: only ask; NotFound is raised where it does not exist.
            arguments: such as ``{"alternate-exchange": "unrouted"}``.
        """
        await self._call(
            "declare_exchange",
            name,
            type,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            passive=passive,
            arguments=arguments,
        )

    async def delete_exchange(self, exchange: str, *, if_unused: bool = False) -> None:
        """Delete an exchange."""
        await self._call("delete_exchange", exchange, if_unused=if_unused)

    async def bind_exchange(
        self, destination: str, source: str, routing_key: str = "", *, arguments: Arguments = None
    ) -> None:
        """Have one exchange (source) pass messages to another (destination)."""
        await self._call("bind_exchange", destination, source, routing_key, arguments=arguments)

    async def unbind_exchange(
        self, destination: str, source: str, routing_key: str = "", *, arguments: Arguments = None
    ) -> None:
        """Undo `bind_exchange`."""
        await self._call("unbind_exchange", destination, source, routing_key, arguments=arguments)

    # ---- messages ----

    def consume(self, queue: str, **options: Unpack[ConsumeOptions]) -> Consumer:
        """The messages of a queue, to be used as ``async with channel.consume(...) as messages``.

        Args:
            queue: its name.
            options: see `ConsumeOptions`.
        """
        return Consumer(queue, channel=self, **options)

    async def get(self, queue: str, *, no_ack: bool = False) -> Message | None:
        """Take one message; None where the queue is empty.

        A message that comes for a caller that was cancelled goes back to its queue.
        """

        def undo(reply: Any) -> None:
            if not no_ack and not isinstance(reply, amqp.Basic.GetEmpty) and self.session.is_open:
                self.session.nack(reply.method.delivery_tag, requeue=True)
                self._link.soon()

        reply = await self._call("get", queue, undo=undo, no_ack=no_ack)
        if isinstance(reply, amqp.Basic.GetEmpty):
            return None
        return Message(self, reply, no_ack)

    async def _settle(self, message: Message, call: Callable[[int], None]) -> bool:
        """Send what `Message.ack` and its like ask for."""
        link = self._link
        link.check_loop()
        if message.no_ack:
            raise AlreadySettled("the message needs no acknowledgement: no_ack")
        session = self.session
        if not session.is_open:
            if not self._was_late:
                self._was_late = True
                text = "channel %d is over: the broker delivers again what was not acknowledged"
                logger.info(text, session.number)
            return False
        tag = message._content.method.delivery_tag
        try:
            call(tag)
        except LocalProtocolError:
            raise AlreadySettled(f"delivery {tag} was settled before") from None
        if not link.is_flushing:
            link.soon()
        if link.is_paused:
            await link.drain()
        return True

    # ---- transactions ----

    async def select_tx(self) -> None:
        """Give a channel without confirms transactions: the first one begins.

        Raises:
            ValueError: the channel has confirms; open it with ``confirms=False``.
        """
        if self._confirms:
            raise ValueError("a channel with confirms has no transactions; use confirms=False")
        await self._call("select_tx")

    async def commit_tx(self) -> None:
        """Make what was published and acknowledged since the last commit valid."""
        await self._call("commit_tx")

    async def rollback_tx(self) -> None:
        """Undo it: the deliveries wait to be acknowledged again."""
        await self._call("rollback_tx")

    # ---- its end ----

    async def close(self, timeout: float = 10.0) -> None:
        """Close the channel: stop consuming, wait for the confirms, and tell the broker.

        What is not done within timeout (seconds) is given up: publications without a confirm
        fail with PublishUnconfirmed. Does nothing where the channel is over. Raises no AMQPError.
        """
        link = self._link
        link.check_loop()
        if self._ended.done():
            return
        deadline = link.loop.time() + timeout
        self._closing_here = True
        self._stop_consumers()
        try:
            await link.wait(self._when_empty(), deadline)
            self._close_session()
            await link.wait(self._ended, deadline)
        finally:
            self._give_up()

    def _stop_consumers(self) -> None:
        for consumer in list(self._consumers):
            consumer._leave(no_wait=True)
        self._consumers.clear()
        self._look_again()

    def _close_session(self) -> None:
        if self.session.is_open:
            self.session.close()
            self._link.soon()

    def _give_up(self) -> None:
        """Wait for nothing more; the broker still gets the close."""
        if self._ended.done():
            return
        self._closing_here = True
        self._close_session()
        for request in self.session.sent:
            future = request.context and request.context[0]
            if future is not None and not future.done():
                future.set_exception(ChannelClosed(CLOSED_HERE, 200))
        self._finish()

    # ---- calls, and what the link tells ----

    def _usable_session(self) -> SessionChannel:
        """The session's channel, or the error that says why it cannot be used."""
        self._link.check_loop()
        if (error := self.error) is not None:
            raise error
        return self.session

    async def _call(self, name: str, *arguments: Any, undo: Any = None, **options: Any) -> Any:
        request = getattr(self._usable_session(), name)(*arguments, **options)
        return await self._link.call(request, undo)

    async def _open(self) -> None:
        future = self._link.expect(self._selected) if self._confirms else self._opened
        self._link.soon()
        try:
            await future
        except BaseException:
            take_error(future)
            self._give_up()
            raise

    def _on_opened(self, event: session_events.ChannelOpened) -> None:
        """channel.open-ok came."""
        resolve(self._opened)

    def _on_ended(self, event: session_events.ChannelClosed) -> None:
        """The channel is over."""
        if not self._ended.done():  # it was not given up
            self._end = event
            self._is_end_of_connection = self._link.is_end_of_connection(event)
            self._finish()

    def _finish(self) -> None:
        def make_error() -> AMQPError:
            return self.error or ChannelClosed(CLOSED_HERE, 200)

        if not self._opened.done():
            self._opened.set_exception(make_error())
            self._opened.exception()  # with confirms nobody waits for it
        end = self._end
        is_refusal = (
            end is not None
            and not self._is_end_of_connection
            and (end.closed_by, end.method) == ("remote", "basic.publish")
        )
        self._end_publications(make_error(), is_refusal=is_refusal)
        for consumer in list(self._consumers):
            consumer._on_ended(make_error)
        self._consumers.clear()
        resolve(self._ended)
