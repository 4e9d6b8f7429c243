"""One connection after the other: the user's own code sets each of them up."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, Unpack, final

from ._channel import Channel
from ._connection import Connection, ConnectOptions, Opening, connect
from ._consumer import ConsumeOptions, Consumer
from ._errors import ConnectFailed, ConnectionLost
from ._link import LEAVE, logger
from ._message import PublishOptions
from ._states import States

__all__ = ["Backoff", "Connections", "connections"]

StateOfAll: TypeAlias = Literal["connecting", "open", "down", "closed"]
Setup: TypeAlias = Callable[[Connection], Awaitable[object]]


@final
@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a connection is tried again: at random, so that not all come at once.

    Attributes:
        first: seconds, the most before the first attempt after a loss. It doubles with each.
        most: seconds, the most before any attempt.
        stable: seconds after which a connection counts as good, and the next loss as the first.

    Raises:
        ValueError: a number is below 0.
    """

    first: float = 1.0
    most: float = 30.0
    stable: float = 60.0

    def __post_init__(self) -> None:
        if not min(self.first, self.most, self.stable) >= 0:
            raise ValueError(f"{self}: seconds are not below 0")

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures, from 1: any number up to the bound is as likely.

        The bound is first, doubled with each further failure, and never above most.
        """
        return random.uniform(0, min(self.most, self.first * 2.0 ** min(failures - 1, 60)))


@final
class Connections:
    """Connections, one after the other: see `connections`.

    For any number of tasks, while one iterates. What they wait for comes by that iteration.
    """

    def __init__(self, opening: Opening[Connection], backoff: Backoff, setup: Setup | None) -> None:
        self._opening = opening
        self._backoff = backoff
        self._setup = setup
        self._connection: Connection | None = None
        self._opened_at = 0.0
        self._failures = 0
        self._is_connecting = False
        self._failure: ConnectFailed | None = None
        self._states: States[StateOfAll] = States("down")
        self._consumers: set[Consumer] = set()

    @property
    def state(self) -> StateOfAll:
        """Whether there is a connection, or will be.

        "connecting", "open", "down" (it is over, and no task iterates now), or "closed": another
        attempt is of no use.
        """
        return self._states.name

    def states(self) -> AsyncIterator[StateOfAll]:
        """Its state, and each later one when it comes."""
        return self._states.follow()

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> Connection:
        """The next connection; the one before it is closed, where it is not over."""
        if self._is_connecting:
            raise RuntimeError("another task waits for the next connection: one may")
        self._is_connecting = True
        try:
            return await self._next()
        finally:
            self._is_connecting = False
            if self._states.name == "connecting":
                self._states.change("down")

    async def publish(
        self,
        body: bytes,
        *,
        routing_key: str,
        timeout: float | None = 30.0,
        **options: Unpack[PublishOptions],
    ) -> None:
        """Publish a message on the connection that there is, or wait for the next one.

        What was sent when a connection was lost is not sent again. Arguments and errors are those
        of `Connection.publish`, but:

        Raises:
            ConnectionLost: there was no connection within timeout, or another attempt is of no use;
                the message was not sent.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (math.inf if timeout is None else timeout)
        while True:
            try:
                async with asyncio.timeout_at(None if timeout is None else deadline):
                    connection = await self._usable()
            except TimeoutError:
                text = f"no connection within {timeout:g} s: the message was not sent"
                raise ConnectionLost(text) from None
            remaining = max(deadline - loop.time(), 0.0)
            with contextlib.suppress(ConnectionLost):  # it was not sent
                await connection.publish(
                    body, routing_key=routing_key, timeout=remaining, **options
                )
                return

    def consume(self, queue: str, **options: Unpack[ConsumeOptions]) -> Consumer:
        """The messages of a queue, on the connection that there is and on each later one.

        The iteration goes on where a connection is lost: what was not acknowledged comes again,
        with ``redelivered``. A close by this client ends it, and so does what is wrong with the
        channel or the queue, which ``setup`` of `connections` declares: by a name
        of yours, since one that the broker chose (amq.gen-...) is another on each connection.
        """
        return Consumer(queue, open_channel=self._open_channel, lasting=self._consumers, **options)

    async def _open_channel(self) -> Channel:
        while True:
            connection = await self._usable()
            with contextlib.suppress(ConnectionLost):
                return await connection.channel(confirms=False)

    async def _usable(self) -> Connection:
        while True:
            connection = self._connection
            if connection is not None and connection.error is None:
                return connection
            if self._failure is not None:
                raise self._no_connection() from self._failure
            await self._states.changed()

    def _no_connection(self) -> ConnectionLost:
        return ConnectionLost(f"no connection, so nothing was sent: {self._failure}")

    async def _next(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._connection is not None:
            if loop.time() - self._opened_at >= self._backoff.stable:
                self._failures = 0
            self._failures += 1
            await self._connection.close(timeout=LEAVE)
            self._connection = None
            self._states.change("down")
        self._states.change("connecting")
        while True:
            if self._failures:
                await asyncio.sleep(self._backoff.delay(self._failures))
            try:
                connection = await self._opening
                await self._begin(connection)
            except (ConnectFailed, ConnectionLost) as error:
                if isinstance(error, ConnectFailed) and error.is_final:
                    self._failure = error
                    for consumer in list(self._consumers):
                        consumer._finish(self._no_connection)
                    self._states.change("closed")
                    raise
                self._failures += 1
                logger.info("%s; it is tried again", error)
            else:
                self._connection = connection
                self._opened_at = loop.time()
                self._states.change("open")
                connection._link.ended.add_done_callback(self._on_ended)
                return connection

    async def _begin(self, connection: Connection) -> None:
        """Do what each connection begins with; it is closed where that fails."""
        if self._failures:
            link = connection._link
            link.locked_until = link.loop.time() + 2 * connection.heartbeat
        try:
            if self._setup is not None:
                await self._setup(connection)
            for consumer in list(self._consumers):
                await consumer._renew(connection.channel(confirms=False))
            if connection.error is not None:
                raise connection.error
        except BaseException:
            await connection.close(timeout=LEAVE)
            raise

    def _on_ended(self, _: object) -> None:
        if not self._is_connecting:
            self._states.change("down")


def connections(
    url: str | Iterable[str] = "amqp://guest:guest@localhost:5672/",
    *,
    backoff: Backoff | None = None,
    setup: Setup | None = None,
    **options: Unpack[ConnectOptions],
) -> Connections:
    """Connect, and connect again each time that the loop comes round::

        async for connection in aio.connections(url):
            try:
                async with connection:
                    return await serve(connection)  # declares, consumes, publishes
            except aio.ConnectionLost:
                continue

    Nothing is declared or sent anew but by the body of the loop and by setup. What comes out of the
    body ends the loop, as with any other: so it is for you to say which errors lead to another
    connection. ``async with`` closes the connection where the loop is left.

    Args:
        url: as of `connect`, at each attempt.
        backoff: how long to wait before the next attempt; None is ``Backoff()``.
        setup: a coroutine function that declares what publishers and consumers of
            `Connections.publish` and `Connections.consume` need. It runs on each new connection
            before these and the loop get it, within the iteration. A ConnectionLost leads to
            another attempt; any other exception comes out of the iteration.
        options: as of `connect`; timeout is for each attempt.

    Raises:
        ValueError: the URL is wrong; says what.
        ConnectFailed: by the iteration, where another attempt is of no use: ``is_final``.
    """
    return Connections(connect(url, **options), backoff or Backoff(), setup)
