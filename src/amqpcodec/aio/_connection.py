"""Connections: how they begin, what is true of them, how they end."""

from __future__ import annotations

import asyncio
import random
import ssl as tls
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, final

from ..session import Connection as SessionConnection
from ._addresses import Address, parse_all
from ._channel import Channel
from ._errors import (
    AMQPError,
    AuthenticationFailed,
    ChannelClosed,
    ConnectFailed,
    VirtualHostRefused,
)
from ._link import Closeable, Link
from ._message import PublishOptions

__all__ = ["ConnectOptions", "Connection", "Opening", "connect"]

#: Exchanges whose publications have a channel of their own.
_PUBLISHERS = 50


class ConnectOptions(TypedDict, total=False):
    """Options of `connect`."""

    name: str | None
    username: str | None
    password: str | Callable[[], Awaitable[str]] | None
    virtual_host: str | None
    mechanism: Literal["PLAIN", "AMQPLAIN", "EXTERNAL"] | None
    ssl: tls.SSLContext | None
    server_hostname: str | None
    heartbeat: int | None
    timeout: float
    client_properties: dict[str, Any] | None


CloseableT = TypeVar("CloseableT", bound=Closeable)


@final
class Opening(Generic[CloseableT]):
    """What can be awaited, or used by ``async with``, which closes it at the end."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, CloseableT]]) -> None:
        self._start = start
        self._opened: CloseableT | None = None

    def __await__(self) -> Generator[Any, Any, CloseableT]:
        """Open it."""
        return self._start().__await__()

    async def __aenter__(self) -> CloseableT:
        """Open it."""
        self._opened = await self._start()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        assert self._opened is not None
        await self._opened.__aexit__()


def connect(
    url: str | Iterable[str] = "amqp://guest:guest@localhost:5672/",
    *,
    name: str | None = None,
    username: str | None = None,
    password: str | Callable[[], Awaitable[str]] | None = None,
    virtual_host: str | None = None,
    mechanism: Literal["PLAIN", "AMQPLAIN", "EXTERNAL"] | None = None,
    ssl: tls.SSLContext | None = None,
    server_hostname: str | None = None,
    heartbeat: int | None = None,
    timeout: float = 30.0,
    client_properties: dict[str, Any] | None = None,
) -> Opening[Connection]:
    """Connect and log in: ``async with connect(url) as connection``, or ``await connect(url)``.

    Args:
        url: ``amqp[s]://user:password@host:port/vhost?heartbeat=10``, or several: they are tried
            once each, in random order. A name or password is percent-encoded; so is a virtual host
            of its own path segment; without one it is "/". Options after the question mark:
            auth_mechanism, channel_max, frame_max, heartbeat.
        name: shown by RabbitMQ's management.
        username, password, virtual_host, mechanism, heartbeat: go before those of the URL. password
            may be a coroutine function, which is asked at each attempt.
        ssl: for amqps; None verifies the broker by the system's certificates.
        server_hostname: what the broker's certificate has to be for; None: the URL's host.
        heartbeat: seconds, 0 for none; None takes the broker's.
        timeout: seconds for all of it.
        client_properties: put over those that this package sends.

    Raises:
        ValueError: the URL is wrong; says what.
        AuthenticationFailed, VirtualHostRefused: the broker's refusal; other URLs are not tried.
        ConnectFailed: no broker could be reached within timeout; says why, for each URL.
    """
    addresses = parse_all(url)
    if ssl is not None and not all(address.tls for address in addresses):
        raise ValueError("connect: ssl is for URLs that begin with amqps://")
    options: dict[str, Any] = {"client_properties": dict(client_properties or {})}
    if name is not None:
        options["client_properties"]["connection_name"] = name
    for option, value in (
        ("username", username),
        ("virtual_host", virtual_host),
        ("mechanism", mechanism),
        ("heartbeat", heartbeat),
    ):
        if value is not None:
            options[option] = value

    async def start() -> Connection:
        return await _connect(addresses, options, password, ssl, server_hostname, timeout)

    return Opening(start)


async def _connect(
    addresses: list[Address],
    options: dict[str, Any],
    password: str | Callable[[], Awaitable[str]] | None,
    context: tls.SSLContext | None,
    server_hostname: str | None,
    timeout: float,
) -> Connection:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    order = random.sample(addresses, len(addresses))
    failures: list[str] = []
    cause: Exception | None = None
    is_final = True
    for position, address in enumerate(order):
        share = max(deadline - loop.time(), 0) / (len(order) - position)
        scope = asyncio.timeout(share)
        try:
            async with scope:
                if address.tls and context is None:
                    # It reads files.
                    context = await asyncio.to_thread(tls.create_default_context)
                return await _attempt(address, options, password, context, server_hostname)
        except (AuthenticationFailed, VirtualHostRefused):
            raise
        except (OSError, ConnectFailed) as error:
            late = isinstance(error, TimeoutError) and scope.expired()
            reason = f"no answer within {share:.3g} s" if late else str(error)
            failures.append(f"{address}: {reason}")
            cause = error
            is_final &= isinstance(error, tls.SSLCertVerificationError) or (
                isinstance(error, ConnectFailed) and error.is_final
            )
            if len(order) == 1 and isinstance(error, ConnectFailed):
                raise
    failure = ConnectFailed(f"no connection: {'; '.join(failures)}")
    failure.is_final = is_final
    raise failure from cause


async def _attempt(
    address: Address,
    options: dict[str, Any],
    password: str | Callable[[], Awaitable[str]] | None,
    context: tls.SSLContext | None,
    server_hostname: str | None,
) -> Connection:
    chosen: dict[str, Any] = {
        "username": address.username,
        "password": address.password,
        "virtual_host": address.virtual_host,
    }
    chosen = {key: value for key, value in chosen.items() if value is not None}
    chosen |= address.options | options
    if password is not None:
        chosen["password"] = password if isinstance(password, str) else await password()
    loop = asyncio.get_running_loop()
    link = Link(loop, SessionConnection("client", **chosen))
    try:
        await loop.create_connection(
            lambda: link,
            address.host,
            address.port,
            ssl=context if address.tls else None,
            server_hostname=server_hostname if address.tls else None,
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
    def state(self) -> Literal["open", "closing", "closed"]:
        """Whether it can be used."""
        if self.session.closed:
            return "closed"
        return "open" if self._link.error() is None else "closing"

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

        Arguments and errors are those of `Channel.publish`; of its ChannelClosed NotFound alone.
        """
        self._link.check_loop()
        loop = self._link.loop
        deadline = None if timeout is None else loop.time() + timeout
        while True:
            channel = self._publisher(options.get("exchange", ""))
            remaining = None if deadline is None else max(deadline - loop.time(), 0.0)
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

    async def wait_unblocked(self) -> None:
        """Wait until the broker takes publications.

        Raises:
            ConnectionLost: the connection ended before.
        """
        await self._link.unblocked.wait()
        error = self._link.error()
        if error is not None:
            raise error

    async def wait_closed(self) -> None:
        """Wait until the connection is over, for whatever reason: see `error`."""
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
        loop = link.loop
        deadline = loop.time() + timeout
        link.refuse_calls()
        contexts = (channel.context for channel in self.session.channels.values())
        channels: list[Channel] = [context for context in contexts if context is not None]
        try:
            for channel in channels:
                channel._stop_consumers()
                channel._on_may_publish()
            for channel in channels:
                empty = channel._publications.when_empty()
                await asyncio.wait((empty,), timeout=max(deadline - loop.time(), 0))
            link.close()
            await asyncio.wait((link.ended,), timeout=max(deadline - loop.time(), 0))
            await asyncio.wait((link.lost,), timeout=max(deadline - loop.time(), 0))
        finally:
            if not link.lost.done():
                link.abort()
        await asyncio.wait((link.lost,), timeout=1)
