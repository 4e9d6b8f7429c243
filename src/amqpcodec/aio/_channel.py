"""A channel: declarations, publications with confirms, consumers, transactions."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

from .. import v0_9_1 as amqp
from ..session import Channel as SessionChannel
from ..session import LocalProtocolError
from ..session import events as session_events
from ._consumer import Consumer
from ._errors import (
    AlreadySettled,
    AMQPError,
    ChannelClosed,
    ConnectionBlocked,
    ResourceLocked,
    WindowFull,
)
from ._link import CLOSED_HERE, Closeable, Link, logger, take_error
from ._message import Message
from ._publishing import Publication, Publications

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message import MessageProperties

__all__ = ["Channel", "DeclaredQueue"]

_REPLY_TO = "amq.rabbitmq.reply-to."
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
class Channel(Closeable):
    """A channel of a connection. Made by `Connection.channel`; any number of tasks may share it.

    It lives once: when the broker closes it, or the connection ends, what waits and every later
    call raises a `ChannelClosed` or `ConnectionLost`, with the broker's reason.

    Attributes:
        session: the channel of `amqpcodec.session`, for what this class does not have.
    """

    def __init__(
        self, link: Link, *, confirms: bool = True, window: int = 1000, window_bytes: int = 1 << 20
    ) -> None:
        self._publications = Publications(link.loop, window, window_bytes)
        self._link = link
        try:
            self.session: SessionChannel = link.session.open_channel()
        except LocalProtocolError as error:
            raise AMQPError(str(error)) from None
        self.session.context = self
        self._confirms = confirms
        self._selected = self.session.confirm() if confirms else None
        self._consumers: set[Consumer] = set()
        self._opened: asyncio.Future[None] = link.loop.create_future()
        self._ended: asyncio.Future[None] = link.loop.create_future()
        self._end: session_events.ChannelClosed | None = None
        self._is_end_of_connection = False
        self._closing_here = False
        self._was_late = False
        self._on_may_publish()

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
        end = self._end
        if end is None:
            if self._closing_here:
                return ChannelClosed(CLOSED_HERE, 200)
            return self._link.error()
        if self._is_end_of_connection:
            return self._link.error()
        if self._closing_here and end.closed_by == "local":
            return ChannelClosed(CLOSED_HERE, 200)
        return ChannelClosed(end.reply_text, end.reply_code)

    @property
    def unconfirmed(self) -> int:
        """How many publications wait for their confirms."""
        return len(self._publications)

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

    # ---- publications ----

    async def publish(
        self,
        body: bytes,
        *,
        routing_key: str,
        exchange: str = "",
        mandatory: bool | None = None,
        timeout: float | None = 30.0,
        **properties: Unpack[MessageProperties],
    ) -> None:
        """Publish a message; returns when the broker has confirmed it.

        Waits for a place in the window, and while the broker is short of a resource. On a channel
        without confirms it returns when the message is handed to the transport. A caller that is
        cancelled before that has sent nothing; later the message may be in the queue.

        Args:
            body: the bytes.
            routing_key: with the default exchange the name of the queue.
            exchange: "" is the default exchange.
            mandatory: whether `Returned` is raised when no queue takes it; None: with confirms and
                the default exchange, unless it is a reply by direct reply-to.
            timeout: seconds for all of it; None for no limit.
            properties: see `MessageProperties`; messages are persistent unless delivery_mode is 1.

        Raises:
            Returned: it was mandatory, and no queue takes it.
            Nacked: the broker could not take it over.
            PublishUnconfirmed: it was sent, and no confirm came: it may be in the queue.
            ConnectionBlocked, WindowFull: nothing was sent within timeout.
            NotFound: there is no such exchange; the channel is closed.
            ChannelClosed, ConnectionLost: the channel was over before: nothing was sent.
        """
        link = self._link
        link.check_loop()
        loop = link.loop
        size = len(body)
        deadline = math.inf if timeout is None else loop.time() + timeout
        publications = self._publications
        if publications.turns or not publications.has_room(size):
            await self._wait_for_room(size, deadline)
        future = self._send(body, exchange, routing_key, mandatory, properties, deadline)
        if future is None:
            await link.drain()
            return
        try:
            await future
        except asyncio.CancelledError:
            take_error(future)
            raise

    def publish_nowait(
        self,
        body: bytes,
        *,
        routing_key: str,
        exchange: str = "",
        mandatory: bool | None = None,
        **properties: Unpack[MessageProperties],
    ) -> asyncio.Future[None]:
        """Publish a message now; a future that is done when the broker has confirmed it.

        The future has no timeout. Cancelling it frees no place in the window.

        Raises:
            WindowFull, ConnectionBlocked: nothing more can wait now. Nothing was sent.
            ValueError: the channel has no confirms.
        """
        self._link.check_loop()
        if not self._confirms:
            raise ValueError("publish_nowait needs a channel with confirms; await publish()")
        error = self.error
        if error is not None:
            raise error
        if self._publications.turns or not self._publications.has_room(len(body)):
            raise self._no_room("now")
        future = self._send(body, exchange, routing_key, mandatory, properties, math.inf)
        assert future is not None
        return future

    def _no_room(self, when: str) -> AMQPError:
        blocked = self._link.session.blocked
        if blocked is not None:
            return ConnectionBlocked(
                f"the broker takes no publications {when}, for it is short of a resource "
                f"({blocked}); nothing was sent"
            )
        if not self.session.flow_active:
            return ConnectionBlocked(f"the broker stopped the channel's flow {when}; not sent")
        return WindowFull(
            f"{len(self._publications)} publications of {self._publications.size} bytes wait for "
            f"their confirms, and there was no room {when}; nothing was sent"
        )

    async def _wait_for_room(self, size: int, deadline: float) -> None:
        def is_ready() -> bool:
            error = self.error
            if error is not None:
                raise error
            return self._publications.has_room(size)

        try:
            async with asyncio.timeout_at(None if deadline == math.inf else deadline):
                await self._publications.wait_for_turn(is_ready)
        except TimeoutError:
            raise self._no_room("in time") from None

    def _send(
        self,
        body: bytes,
        exchange: str,
        routing_key: str,
        mandatory: bool | None,
        properties: MessageProperties,
        deadline: float,
    ) -> asyncio.Future[None] | None:
        if mandatory and not self._confirms:
            raise ValueError("mandatory needs a channel with confirms, which tell of the return")
        if mandatory is None:
            # RabbitMQ returns a mandatory reply by direct reply-to, although it arrives.
            mandatory = self._confirms and not exchange and not routing_key.startswith(_REPLY_TO)
        properties.setdefault("delivery_mode", 2)
        content = amqp.Basic.Properties(**properties)
        number = self.session.publish(exchange, routing_key, body, content, mandatory=mandatory)
        link = self._link
        if number is None:
            link.soon()
            return None
        future: asyncio.Future[None] = link.loop.create_future()
        publication = Publication(future, exchange, routing_key, body, content, mandatory, deadline)
        if self._publications.add(number, publication):
            link.flush()  # one after the other: each is sent at once
        else:
            link.soon()
        return future

    # ---- messages ----

    def consume(
        self,
        queue: str,
        *,
        prefetch: int = 100,
        no_ack: bool = False,
        exclusive: bool = False,
        tag: str = "",
        ack_timeout: float | None = None,
        arguments: Arguments = None,
    ) -> Consumer:
        """The messages of a queue, to be used as ``async with channel.consume(...) as messages``.

        Args:
            queue: its name.
            prefetch: how many messages may wait to be acknowledged; 0 for any number. With no_ack
                the client stops reading where more wait for a task, unless a call on the connection
                waits for its answer.
            no_ack: have the broker forget a message once it is sent. What no task has taken is lost
                at the end.
            exclusive: be the only consumer of the queue.
            tag: the consumer tag; "" has the broker choose one.
            ack_timeout: seconds within which a message has to be acknowledged, or the broker ends
                the channel; None for the broker's own limit, as a rule 30 minutes.
            arguments: such as ``{"x-priority": 10}``.
        """
        if ack_timeout is not None:
            if not ack_timeout > 0:
                raise ValueError(f"ack_timeout is {ack_timeout}, not a number above 0")
            limit = {"x-consumer-timeout": round(ack_timeout * 1000)}
            arguments = limit | (arguments or {})
        return Consumer(
            self,
            queue,
            prefetch=prefetch,
            no_ack=no_ack,
            exclusive=exclusive,
            tag=tag,
            arguments=arguments,
        )

    async def get(self, queue: str, *, no_ack: bool = False) -> Message | None:
        """Take one message; None where the queue is empty.

        A message that comes for a caller that was cancelled goes back to its queue.
        """

        def undo(reply: Any) -> None:
            if not no_ack and not isinstance(reply, amqp.Basic.GetEmpty) and self.session.is_open:
                self.session.nack(reply.method.delivery_tag, requeue=True)
                self._link.soon()

        request = self._usable_session().get(queue, no_ack=no_ack)
        reply = await self._link.call(request, undo)
        if isinstance(reply, amqp.Basic.GetEmpty):
            return None
        return Message(self, reply, no_ack)

    async def _settle(self, message: Message, name: str, **options: bool) -> bool:
        """Send what `Message.ack` and its like ask for."""
        link = self._link
        link.check_loop()
        if message.no_ack:
            raise AlreadySettled("the message needs no acknowledgement: no_ack")
        session = self.session
        if not session.is_open:
            if not self._was_late:
                self._was_late = True
                logger.info(
                    "channel %d is over: the broker delivers again what was not acknowledged",
                    session.number,
                )
            return False
        try:
            getattr(session, name)(message.delivery_tag, **options)
        except LocalProtocolError:
            raise AlreadySettled(f"delivery {message.delivery_tag} was settled before") from None
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
        loop = link.loop
        deadline = loop.time() + timeout
        self._begin_close()
        try:
            if not self._ended.done():
                await asyncio.wait((self._publications.when_empty(),), timeout=timeout)
                self._close_session()
                await asyncio.wait((self._ended,), timeout=max(deadline - loop.time(), 0))
        finally:
            self._give_up()

    def _begin_close(self) -> None:
        """Refuse calls, and stop consuming."""
        if not self._ended.done():
            self._closing_here = True
        self._stop_consumers()
        self._on_may_publish()

    def _stop_consumers(self) -> None:
        for consumer in list(self._consumers):
            consumer._stop_now()
        self._consumers.clear()

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
        error = self.error
        if error is not None:
            raise error
        return self.session

    async def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        request = getattr(self._usable_session(), name)(*arguments, **options)
        return await self._link.call(request)

    async def _open(self) -> None:
        link = self._link
        future = link.expect(self._selected) if self._confirms else self._opened
        link.soon()
        try:
            await future
        except BaseException:
            take_error(future)
            self._give_up()
            raise

    def _on_opened(self, event: session_events.ChannelOpened) -> None:
        """channel.open-ok came."""
        if not self._opened.done():
            self._opened.set_result(None)

    def _on_acked(self, event: session_events.Acked) -> None:
        """The broker took publications over."""
        self._publications.confirm(event.tags, True)

    def _on_nacked(self, event: session_events.Nacked) -> None:
        """The broker could not take publications over."""
        self._publications.confirm(event.tags, False)

    def _on_returned(self, event: session_events.Returned) -> None:
        """A mandatory publication came back."""
        self._publications.give_back(event.message)

    def _on_may_publish(self, event: session_events.FlowChanged | None = None) -> None:
        """Something that publishers wait for may have changed."""
        link = self._link
        self._publications.is_open = (
            self.error is None
            and not link.is_paused
            and link.session.blocked is None
            and self.session.flow_active
        )
        self._publications.wake()

    def _on_ended(self, event: session_events.ChannelClosed) -> None:
        """The channel is over."""
        if self._ended.done():
            return  # it was given up
        self._end = event
        self._is_end_of_connection = self._link.is_end_of_connection(
            event.reply_code, event.reply_text
        )
        self._finish()

    def _finish(self) -> None:
        def make_error() -> AMQPError:
            return self.error or ChannelClosed(CLOSED_HERE, 200)

        self._publications.is_open = False
        if not self._opened.done():
            self._opened.set_exception(make_error())
            self._opened.exception()  # with confirms nobody waits for it
        self._publications.end(make_error())
        for consumer in list(self._consumers):
            consumer._on_ended(make_error)
        self._consumers.clear()
        self._ended.set_result(None)
