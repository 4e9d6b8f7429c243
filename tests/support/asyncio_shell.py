"""A thin asyncio client on a session, for live tests of it: a transport, futures, little else.

async with await connect("amqp://guest:guest@localhost:5672/%2F") as client:
    channel = await client.channel(confirms=True, prefetch=100)
    await channel.declare_queue("orders", durable=True)
    await channel.publish("", "orders", b"hello")          # returns when it is confirmed
    async with channel.consume("orders") as messages:      # cancels cleanly at its end
        async for message in messages:
            channel.ack(message)
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from amqpcodec.session import Connection, Event, RemoteProtocolError
from amqpcodec.session import events as session_events

#: Bytes that wait to be sent, above which publishers wait, too.
HIGH_WATER = 1 << 20


class AmqpError(Exception):
    """A request, a publication, a channel or the connection failed.

    reply_code is what the broker said, 0 where it said nothing.
    """

    def __init__(self, reply_code: int, text: str) -> None:
        super().__init__(f"{reply_code} {text}" if reply_code else text)
        self.reply_code = reply_code


_NACKED = AmqpError(0, "the broker could not take over the message")
_CANCELLED = AmqpError(0, "the broker cancelled the consumer")


async def connect(
    url: str = "amqp://guest:guest@localhost:5672/%2F",
    *,
    ssl: tls.SSLContext | None = None,
    timeout: float = 30,
    **options: Any,
) -> Client:
    """Connect and log in; amqps:// takes TLS. options: those of a session, such as heartbeat.

    Raises AmqpError where the login or the virtual host was refused; says why.
    """
    parts = urlsplit(url)
    if ssl is None and parts.scheme == "amqps":
        ssl = tls.create_default_context()
    for name, value in (("username", parts.username), ("password", parts.password)):
        if value is not None:
            options.setdefault(name, unquote(value))
    if len(parts.path) > 1:
        options.setdefault("virtual_host", unquote(parts.path[1:]))
    loop = asyncio.get_running_loop()
    port = parts.port or (5671 if ssl else 5672)
    async with asyncio.timeout(timeout):
        _, client = await loop.create_connection(
            lambda: Client(loop, options), parts.hostname or "localhost", port, ssl=ssl
        )
        try:
            await client.opened
        except BaseException:
            client.transport.abort()
            raise
    return client


class Client(asyncio.Protocol):
    """A connection. Made by `connect`.

    Attributes:
        session: the protocol.
        closed: a future, done when the connection is over: its ConnectionClosed event.
        on_blocked: called with the reason when the broker takes no publications, with None
            when it does again.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, options: dict[str, Any]) -> None:
        self.loop = loop
        self.session = Connection("client", **options)
        self.opened: asyncio.Future[Any] = loop.create_future()
        self.closed: asyncio.Future[Any] = loop.create_future()
        self.on_blocked: Callable[[str | None], None] = lambda reason: None
        self.transport: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = self._paused = False
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._handlers: dict[type, Callable[[Any], None]] = {
            session_events.Delivered: lambda event: event.consumer.context.put(event.message),
            session_events.Acked: lambda event: event.channel.context.confirmed(event.tags, None),
            session_events.Nacked: lambda event: event.channel.context.confirmed(
                event.tags, _NACKED
            ),
            session_events.Returned: lambda event: event.channel.context.on_return(event.message),
            session_events.Replied: lambda event: _resolve(event.request.context, event.reply),
            session_events.RequestFailed: lambda event: _fail(event.request.context, event),
            session_events.ConsumerCancelled: lambda event: event.consumer.context.end(_CANCELLED),
            session_events.ChannelOpened: lambda event: _resolve(
                event.channel.context.opened, None
            ),
            session_events.ChannelClosed: lambda event: event.channel.context.ended(event),
            session_events.ConnectionOpened: lambda event: _resolve(self.opened, event),
            session_events.ConnectionClosed: self._ended,
            session_events.Blocked: lambda event: self.on_blocked(event.reason),
            session_events.Unblocked: lambda event: self.on_blocked(None),
        }

    async def channel(self, *, confirms: bool = False, prefetch: int = 0) -> Channel:
        """Open a channel; prefetch: deliveries that may wait to be acknowledged, 0: any number."""
        channel = Channel(self)
        self.soon()
        await channel.opened
        if confirms:
            await channel.confirm()
        if prefetch:
            await channel.qos(prefetch_count=prefetch)
        return channel

    async def update_secret(self, secret: bytes, reason: str) -> None:
        """Renew the credentials of the connection, such as a token."""
        await self.answer(self.session.update_secret(secret, reason))

    async def close(self, timeout: float = 10) -> None:
        """Close in good order; a broker that does not answer in time is left."""
        if self.session.is_open:
            self.session.close()
            self.flush()
            await asyncio.wait([self.closed], timeout=timeout)
        if not self.transport.is_closing():
            self.transport.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- what asyncio calls ----

    def connection_made(self, transport: Any) -> None:
        """Send the protocol header."""
        self.transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER)
        self._tick()

    def data_received(self, data: bytes) -> None:
        """Have the session read, and act on what it says."""
        try:
            events = self.session.receive_data(data)
        except RemoteProtocolError as error:
            events = error.events
        self._act(events)
        if self.session.bytes_to_send:
            self.soon()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits."""
        if self._timer is not None:
            self._timer.cancel()
        self._act(self.session.receive_eof())

    def pause_writing(self) -> None:
        """The transport has enough."""
        self._paused = True
        self._check_writing()

    def resume_writing(self) -> None:
        """The transport takes more."""
        self._paused = False
        self._check_writing()

    def soon(self) -> None:
        """Send what waits when the loop comes round: many messages in one write."""
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what waits now."""
        self._flushing = False
        if self.session.bytes_to_send:
            self.transport.write(self.session.data_to_send())
        if self.session.closed:
            self.transport.close()

    @property
    def crowded(self) -> bool:
        """Whether publishers have to wait: for the broker, or for what they sent before."""
        return (self._paused or self.session.blocked is not None) and not self.session.closed

    def _check_writing(self) -> None:
        (self._may_write.clear if self.crowded else self._may_write.set)()

    async def may_write(self) -> None:
        """Wait until it is not crowded."""
        self.flush()
        await self._may_write.wait()

    def _tick(self) -> None:
        """Heartbeats, by the loop's clock; every second until they are agreed on."""
        now = self.loop.time()
        self._act(self.session.handle_timeout(now))
        self.flush()
        when = self.session.next_timeout(now)
        if when is None and not self.session.is_open:
            when = now + 1
        if when is not None and not self.session.closed:
            self._timer = self.loop.call_at(when, self._tick)

    def _act(self, events: list[Event]) -> None:
        handlers = self._handlers
        for event in events:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
        self._check_writing()

    def _ended(self, event: session_events.ConnectionClosed) -> None:
        _fail(self.opened, event)
        _resolve(self.closed, event)
        self.soon()

    async def answer(self, request: Any) -> Any:
        """The reply to a request of the session; None where it has none."""
        self.soon()
        if request is None:
            return None
        request.context = self.loop.create_future()
        return await request.context


def _resolve(future: Any, value: Any) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _fail(future: Any, event: Any) -> None:
    if future is not None and not future.done():
        future.set_exception(AmqpError(event.reply_code, event.reply_text))
        future.exception()  # nobody may be there to read it


class Channel:
    """A channel: the operations of the session's, as coroutines that give the reply.

    on_return is called with a mandatory message that came back; its confirm follows.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session = client.session.open_channel()
        self.session.context = self
        self.on_return: Callable[[Any], None] = lambda message: None
        self.opened: asyncio.Future[None] = client.loop.create_future()
        self.closed: asyncio.Future[Any] = client.loop.create_future()
        self._confirms: dict[int, asyncio.Future[None]] = {}
        self._create_future = client.loop.create_future

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        operation = getattr(self.session, name)

        async def call(*arguments: Any, **keywords: Any) -> Any:
            return await self.client.answer(operation(*arguments, **keywords))

        return call

    async def publish(
        self, exchange: str, routing_key: str, body: bytes, properties: Any = None, **flags: bool
    ) -> None:
        """Publish; on a channel with confirms this returns when the broker has taken it over.

        Raises AmqpError where it could not, or the channel ended before it said so.
        """
        client = self.client
        while client.crowded:
            await client.may_write()
        tag = self.session.publish(exchange, routing_key, body, properties, **flags)
        client.soon()
        if client.session.bytes_to_send > HIGH_WATER:
            client.flush()
        if tag is not None:
            future = self._confirms[tag] = self._create_future()
            await future

    def confirmed(self, tags: Iterable[int], error: AmqpError | None) -> None:
        """Publications came to their end."""
        pop = self._confirms.pop
        for tag in tags:
            future = pop(tag, None)
            if future is not None and not future.done():
                future.set_result(None) if error is None else future.set_exception(error)

    def consume(self, queue: str, **options: Any) -> Messages:
        """The messages of a queue, inside of ``async with``."""
        return Messages(self, queue, options)

    def ack(self, message: Any, *, multiple: bool = False) -> None:
        """A message is done; with multiple all before it, too."""
        self.session.ack(message.method.delivery_tag, multiple=multiple)
        self.client.soon()

    def reject(self, message: Any, *, requeue: bool = True) -> None:
        """A message is refused: back into its queue, or away."""
        self.session.reject(message.method.delivery_tag, requeue=requeue)
        self.client.soon()

    async def close(self) -> None:
        """Close the channel."""
        if self.session.is_open:
            self.session.close()
            self.client.soon()
            await self.closed

    def ended(self, event: session_events.ChannelClosed) -> None:
        """Tell whoever waits."""
        _fail(self.opened, event)
        _resolve(self.closed, event)
        error = AmqpError(event.reply_code, event.reply_text)
        self.confirmed(list(self._confirms), error)
        for consumer in self.session.consumers.values():
            consumer.context.end(error)


class Messages:
    """The messages of a consumer: an asynchronous iterator, and a context that cancels."""

    def __init__(self, channel: Channel, queue: str, options: dict[str, Any]) -> None:
        self._channel = channel
        self._asked = (queue, options)
        self._ready: deque[Any] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: AmqpError | None = None
        self.consumer: Any = None

    async def __aenter__(self) -> Self:
        queue, options = self._asked
        request = self._channel.session.consume(queue, **options)
        self.consumer = request.consumer
        self.consumer.context = self
        await self._channel.client.answer(request)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the consumer, and give back what nobody took."""
        inner = self._channel.session
        if inner.is_open and self.consumer.active:
            await self._channel.client.answer(inner.cancel(self.consumer.tag))
        while self._ready:
            message = self._ready.popleft()
            if inner.is_open and not self.consumer.no_ack:
                self._channel.reject(message)

    def put(self, message: Any) -> None:
        """A delivery came."""
        self._ready.append(message)
        if self._waiter is not None:
            _resolve(self._waiter, None)
            self._waiter = None

    def end(self, error: AmqpError) -> None:
        """No more will come."""
        self._error = error
        _resolve(self._waiter, None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._ready:
            if self._error is not None:
                raise self._error
            self._waiter = self._channel.client.loop.create_future()
            await self._waiter
        return self._ready.popleft()
