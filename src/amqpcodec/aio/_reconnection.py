"""One connection after the other: the user's own code sets each of them up."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, Unpack, final

from ._connection import Connection, ConnectOptions, Opening, connect
from ._errors import ConnectFailed, ConnectionLost
from ._link import LEAVE, logger
from ._message import PublishOptions

__all__ = ["Backoff", "Connections", "connections"]


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
    """Connections, one after the other: see `connections`."""

    def __init__(self, opening: Opening[Connection], backoff: Backoff) -> None:
        self._opening = opening
        self._backoff = backoff
        self._connection: Connection | None = None
        self._opened_at = 0.0
        self._failures = 0
        self._is_connecting = False
        self._changed = asyncio.Event()
        self._failure: ConnectFailed | None = None

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

    async def publish(
        self,
        body: bytes,
        *,
        routing_key: str,
        timeout: float | None = 30.0,
        **options: Unpack[PublishOptions],
    ) -> None:
        """Publish a message on the connection that there is, or wait for the next one.

        For any number of tasks, while one iterates. What was sent when a connection was lost is not
        sent again. Arguments and errors are those of `Connection.publish`, but:

        Raises:
            ConnectionLost: there was no connection within timeout, or another attempt is of no use;
                the message was not sent.
        """
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    connection = await self._usable()
            except TimeoutError:
                text = f"no connection within {timeout:g} s: the message was not sent"
                raise ConnectionLost(text) from None
            remaining = None if deadline is None else max(deadline - loop.time(), 0.0)
            with contextlib.suppress(ConnectionLost):  # it was not sent
                await connection.publish(
                    body, routing_key=routing_key, timeout=remaining, **options
                )
                return

    async def _usable(self) -> Connection:
        while True:
            connection = self._connection
            if connection is not None and connection.error is None:
                return connection
            if self._failure is not None:
                text = f"no connection: the message was not sent: {self._failure}"
                raise ConnectionLost(text) from self._failure
            await self._changed.wait()

    def _tell(self) -> None:
        """Have those who wait for a connection look again."""
        self._changed.set()
        self._changed.clear()

    async def _next(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._connection is not None:
            if loop.time() - self._opened_at >= self._backoff.stable:
                self._failures = 0
            self._failures += 1
            await self._connection.close(timeout=LEAVE)
            self._connection = None
        while True:
            if self._failures:
                await asyncio.sleep(self._backoff.delay(self._failures))
            try:
                self._connection = await self._opening
            except ConnectFailed as error:
                if error.is_final:
                    self._failure = error
                    self._tell()
                    raise
                self._failures += 1
                logger.info("%s; it is tried again", error)
            else:
                self._opened_at = loop.time()
                if self._failures:
                    link = self._connection._link
                    link.locked_until = self._opened_at + 2 * self._connection.heartbeat
                self._tell()
                return self._connection


def connections(
    url: str | Iterable[str] = "amqp://guest:guest@localhost:5672/",
    *,
    backoff: Backoff | None = None,
    **options: Unpack[ConnectOptions],
) -> Connections:
    """Connect, and connect again each time that the loop comes round::

        async for connection in aio.connections(url):
            try:
                async with connection:
                    return await serve(connection)  # declares, consumes, publishes
            except aio.ConnectionLost:
                continue

    Nothing is declared, consumed or sent anew but by the body of the loop. What comes out of the
    body ends the loop, as with any other: so it is for you to say which errors lead to another
    connection. ``async with`` closes the connection where the loop is left.

    Args:
        url: as of `connect`, at each attempt.
        backoff: how long to wait before the next attempt; None is ``Backoff()``.
        options: as of `connect`; timeout is for each attempt.

    Raises:
        ValueError: the URL is wrong; says what.
        ConnectFailed: by the iteration, where another attempt is of no use: ``is_final``.
    """
    return Connections(connect(url, **options), Backoff() if backoff is None else backoff)
