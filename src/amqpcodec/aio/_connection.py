"""Connections: how they begin, what is true of them, how they end."""

from __future__ import annotations

import asyncio
import math
import random
import socket
import ssl as tls
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable
from dataclasses import replace
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, final

from ..session import Connection as SessionConnection
from ._addresses import Address, parse
from ._channel import Channel
from ._consumer import ConsumeOptions, Consumer
from ._errors import (
    AMQPError,
    AuthenticationFailed,
    ChannelClosed,
    ConnectFailed,
    VirtualHostRefused,
)
from ._link import Closeable, Link, State
from ._message import PublishOptions

__all__ = ["ConnectOptions", "Connection", "Opening", "connect"]

#: Exchanges whose publications have a channel of their own.
_PUBLISHERS = 50
#: Options that a session takes.
_OF_SESSION = ("username", "password", "virtual_host", "mechanism", "heartbeat")


class ConnectOptions(TypedDict, total=False):
    """Options of `connect` and `connections`. Those of a session go before those of the URL.

    Attributes:
        name: shown by RabbitMQ's management.
        username, password, virtual_host, mechanism: of the login. password may be a coroutine
            function, which is asked at each attempt.
        ssl: for amqps; None, the default, verifies the broker by the system's certificates.
        server_hostname: what the broker's certificate has to be for; by default the URL's host.
        heartbeat: seconds, 0 for none; None, the default, takes the broker's.
        timeout: seconds for all of it, 30 by default; None for no limit.
        client_properties: put over those that this package sends.
    """

    name: str | None
    username: str | None
    password: str | Callable[[], Awaitable[str]] | None
    virtual_host: str | None
    mechanism: Literal["PLAIN", "AMQPLAIN", "EXTERNAL"] | None
    ssl: tls.SSLContext | None
    server_hostname: str | None
    heartbeat: int | None
    timeout: float | None
    client_properties: dict[str, Any] | None


CloseableT = TypeVar("CloseableT", bound=Closeable)


@final
class Opening(Generic[CloseableT]):
    """What can be awaited, or used by ``async with``, which closes it at the end."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, CloseableT]]) -> None:
        self._start = start
        self._opened: CloseableT

    def __await__(self) -> Generator[Any, Any, CloseableT]:
        """Open it."""
        return self._start().__await__()

    async def __aenter__(self) -> CloseableT:
        """Open it."""
        self._opened = await self._start()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self._opened.__aexit__()


def connect(
    url: str | Iterable[str] = "amqp://guest:guest@localhost:5672/",
    **options: Unpack[ConnectOptions],
) -> Opening[Connection]:
    """Connect and log in: ``async with connect(url) as connection``, or ``await connect(url)``.

    Args:
        url: ``amqp[s]://user:password@host:port/vhost?heartbeat=10``, or several: they are tried
            once each, and so are all addresses of a name, in random order. A name or password is
            percent-encoded; so is a virtual host of its own path segment; without one it is "/".
            Options after the question mark: auth_mechanism, channel_max, frame_max, heartbeat.
        options: see `ConnectOptions`.

    Raises:
        ValueError: a URL is wrong; says what. Or there is none.
        AuthenticationFailed, VirtualHostRefused: the broker's refusal; other URLs are not tried.
        ConnectFailed: no broker could be reached within timeout; says why, for each URL.
    """
    for name in options.keys() - ConnectOptions.__annotations__.keys():
        raise TypeError(f"connect() got an unexpected keyword argument {name!r}")
    addresses = [parse(one) for one in ([url] if isinstance(url, str) else url)]
    if not addresses:
        raise ValueError("connect: no URL")
    if options.get("ssl") is not None and not all(address.tls for address in addresses):
        raise ValueError("connect: ssl is for URLs that begin with amqps://")
    return Opening(lambda: _connect(addresses, options))


async def _connect(addresses: list[Address], options: ConnectOptions) -> Connection:
    loop = asyncio.get_running_loop()
    timeout = options.get("timeout", 30.0)
    deadline = math.inf if timeout is None else loop.time() + timeout
    failures: list[str] = []
    cause: Exception | None = None
    is_final = True
    untried = random.sample(addresses, len(addresses))
    while untried:
        share = max(deadline - loop.time(), 0) / len(untried)
        address = untried.pop(0)
        scope = asyncio.timeout(None if share == math.inf else share)
        try:
            async with scope:
                if not address.ip:
                    untried[:0] = await _resolve(address)
                    continue
                return await _attempt(address, options)
        except (AuthenticationFailed, VirtualHostRefused):
            raise
        except (OSError, ConnectFailed) as error:
            late = isinstance(error, TimeoutError) and scope.expired()
            reason = f"no answer within {math.ceil(10 * share) / 10:g} s" if late else str(error)
            failures.append(f"{address}: {reason}")
            cause = error
            is_final &= isinstance(error, tls.SSLCertVerificationError) or (
                isinstance(error, ConnectFailed) and error.is_final
            )
    failure = ConnectFailed(f"no connection: {'; '.join(failures)}")
    if isinstance(cause, ConnectFailed) and len(addresses) == 1:
        failure.reply_code = cause.reply_code
    failure.is_final = is_final
    raise failure from cause


async def _resolve(address: Address) -> list[Address]:
    """One for each IP address of its host: at random, but families as the system prefers them."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    families = list(dict.fromkeys(family for family, *_ in infos))
    ordered = sorted(random.sample(infos, len(infos)), key=lambda info: families.index(info[0]))
    return [replace(address, ip=str(place[0])) for *_, place in ordered]


async def _attempt(address: Address, options: ConnectOptions) -> Connection:
    properties = dict(options.get("client_properties") or {})
    name = options.get("name")
    if name is not None:
        properties["connection_name"] = name
    chosen: dict[str, Any] = {name: options.get(name) for name in _OF_SESSION}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    password = chosen.get("password")
    if password is not None and not isinstance(password, str):
        chosen["password"] = await password()
    context, host = None, None
    if address.tls:
        host, context = options.get("server_hostname") or address.host, options.get("ssl")
        if context is None:  # making one reads files
            context = await asyncio.to_thread(tls.create_default_context)
    loop = asyncio.get_running_loop()
    chosen = address.options | chosen | {"client_properties": properties}
    session = SessionConnection("client", **chosen)
    link = Link(loop, session)
    try:
        await loop.create_connection(
            lambda: link, address.ip, address.port, ssl=context, server_hostname=host
        )
        await link.opened
    except BaseException:
        link.abort()
        raise
    return Connection(link, address)


@final
class Connection(Closeable):
    """A connection to a broker. Made by `connect`; for all tasks of its event loop, not threads.

    Attributes:
        session: the connection of `amqpcodec.session`, for what this class does not have.
    """

    def __init__(self, link: Link, address: Address) -> None:
        self._link = link
        self._address = address
        self._publishers: dict[str | None, Channel] = {}
        self.session: SessionConnection = link.session

    def __repr__(self) -> str:
        return f"<Connection to {self._address}, {self.state}>"

    @property
    def state(self) -> State:
        """Whether it can be used: "open", "closing" or "closed"."""
        return self._link.states.name

    def states(self) -> AsyncIterator[State]:
        """Its state, and each later one when it comes, to "closed", the last one."""
        return self._link.states.follow()

    @property
    def error(self) -> AMQPError | None:
        """Why it cannot be used any more; None while it can. A new exception each time."""
        return self._link.error()

    @property
    def blocked(self) -> str | None:
        """Which resource the broker is short of, in its words; None while it takes publications."""
        return self.session.blocked

    @property
    def last_received(self) -> float:
        """When the last byte came, by the clock of the event loop (``loop.time()``)."""
        return self._link.last_received

    @property
    def heartbeat(self) -> int:
        """Seconds between heartbeats, as agreed; 0 for none."""
        return self.session.heartbeat

    @property
    def server_properties(self) -> dict[str, Any]:
        """The table in which the broker describes itself."""
        return self.session.peer_properties

    def channel(
        self, *, confirms: bool = True, window: int = 1000, window_bytes: int = 1 << 20
    ) -> Opening[Channel]:
        """Open a channel: ``async with connection.channel() as channel``, or await it.

        Args:
            confirms: whether the broker confirms publications, which `Channel.publish` waits for.
            window: how many publications may wait for their confirms; more wait to be sent.
            window_bytes: of how many bytes together; one that is larger is sent alone.

        Raises:
            ConnectionLost: the connection is over.
            AMQPError: all channels that the connection may have are in use.
        """

        async def start() -> Channel:
            self._link.check_open()
            channel = Channel(
                self._link, confirms=confirms, window=window, window_bytes=window_bytes
            )
            await channel._open()
            return channel

        return Opening(start)

    async def publish(
        self,
        body: bytes,
        *,
        routing_key: str,
        timeout: float | None = 30.0,
        **options: Unpack[PublishOptions],
    ) -> None:
        """Publish a message on a channel that the connection keeps for its exchange.

        A publication that the broker closes the channel for takes none to other exchanges along,
        and the next one has a new channel. Beyond 50 exchanges the others share one.

        Arguments and errors are those of `Channel.publish`, but for a plain ChannelClosed.
        """
        link = self._link
        link.check_loop()
        deadline = link.loop.time() + (math.inf if timeout is None else timeout)
        while True:
            channel = self._publisher(options.get("exchange", ""))
            remaining = max(deadline - link.loop.time(), 0.0)
            try:
                await channel.publish(body, routing_key=routing_key, timeout=remaining, **options)
                return
            except ChannelClosed as error:
                if type(error) is not ChannelClosed:
                    raise
                # It waited for a place behind one that was at fault, and was not sent.

    def _publisher(self, exchange: str) -> Channel:
        self._link.check_open()
        publishers = self._publishers
        is_known = exchange in publishers or len(publishers) < _PUBLISHERS
        key = exchange if is_known else None
        channel = publishers.get(key)
        if channel is None or not channel.is_open:
            channel = publishers[key] = Channel(self._link)
        return channel

    def consume(self, queue: str, **options: Unpack[ConsumeOptions]) -> Consumer:
        """The messages of a queue, by a channel of their own. See `Channel.consume`.

        The channel is closed at the end of ``async with``: settle messages inside of it.
        """
        return Consumer(queue, open_channel=lambda: self.channel(confirms=False), **options)

    async def wait_unblocked(self) -> None:
        """Wait until the broker takes publications.

        Raises:
            ConnectionLost: the connection ended before.
        """
        self._link.check_loop()
        await self._link.unblocked.wait()
        if (error := self._link.error()) is not None:
            raise error

    async def wait_closed(self) -> None:
        """Wait until the connection is over, for whatever reason: see `error`."""
        self._link.check_loop()
        await asyncio.wait((self._link.ended,))

    async def update_secret(self, secret: str | bytes, reason: str = "") -> None:
        """Renew the credentials, such as a token before it expires."""
        self._link.check_open()
        raw = secret.encode() if isinstance(secret, str) else secret
        await self._link.call(self.session.update_secret(raw, reason))

    async def check(self, timeout: float = 5.0) -> None:
        """Ask the broker for a sign of life: a channel is opened and closed.

        Raises:
            TimeoutError: no answer came.
            AMQPError: the connection is over.
        """
        async with asyncio.timeout(timeout):
            channel = await self.channel(confirms=False)
            await channel.close(timeout)

    async def close(self, timeout: float = 10.0) -> None:
        """Close the connection: stop consuming, wait for the confirms, and tell the broker.

        What is not done within timeout (seconds) is given up: publications without a confirm fail
        with PublishUnconfirmed, and the transport is aborted. Raises no AMQPError.
        """
        link = self._link
        link.check_loop()
        deadline = link.loop.time() + timeout
        link.refuse_calls()
        contexts = (channel.context for channel in self.session.channels.values())
        channels: list[Channel] = [context for context in contexts if context is not None]
        try:
            for channel in channels:
                channel._stop_consumers()
            for channel in channels:
                await link.wait(channel._when_empty(), deadline)
            self.session.close()
            link.flush()
            await link.wait(link.ended, deadline)
            await link.wait(link.lost, deadline)
        finally:
            if not link.lost.done():
                link.abort()
        await asyncio.wait((link.lost,), timeout=1)
