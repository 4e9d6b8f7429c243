"""Where a replay goes: the broker that a URL names, and the connection to it."""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ...session import Connection, Event, RemoteProtocolError
from ..errors import UsageError

__all__ = ["ConnectionLost", "Target", "Wire"]

PORTS = {"amqp": 5672, "amqps": 5671}
#: Seconds that a connection may take to be made.
CONNECT_SECONDS = 15.0
READ_BYTES = 1 << 16
#: The variable that has the password where the URL has none: a command line is seen by others.
PASSWORD = "AMQPCODEC_PASSWORD"


class ConnectionLost(Exception):
    """The connection is over, and the replay not; the text says why."""


@dataclass(frozen=True)
class Target:
    """A broker: what ``amqp://user:password@host:port/vhost`` names."""

    host: str
    port: int
    virtual_host: str
    username: str
    password: str = field(repr=False)
    tls: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}, virtual host {self.virtual_host}"

    @classmethod
    def of(cls, url: str) -> Target:
        """The target of a URL. Without name and password: guest, as RabbitMQ's own tools.

        Raises:
            UsageError: it is no such URL; its password is not shown.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise UsageError("--to: the URL cannot be read") from None
        if parts.scheme not in PORTS or not parts.hostname:
            raise UsageError("--to wants amqp://user:password@host:port/vhost, or amqps://...")
        if parts.query or parts.fragment or "/" in parts.path[1:]:
            raise UsageError("--to: nothing follows the virtual host; a / in its name is %2F")
        try:
            # In a URL it is percent-encoded; in the environment it stands as it is.
            if parts.password is not None:
                password = unquote(parts.password, errors="strict")
            else:
                password = os.environ.get(PASSWORD, "guest")
            username = unquote(parts.username or "guest", errors="strict")
            virtual_host = unquote(parts.path[1:], errors="strict") or "/"
            for text in (password, username, virtual_host):
                text.encode()
        except UnicodeError:
            raise UsageError(
                f"--to: user, password ({PASSWORD}, too) and virtual host are UTF-8"
            ) from None
        return cls(
            parts.hostname,
            port or PORTS[parts.scheme],
            virtual_host,
            username,
            password,
            parts.scheme == "amqps",
        )

    def addresses(self) -> set[str]:
        """Every "addr:port" that it may be, as captures write them; none where nobody knows."""
        try:
            address_infos = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError:
            return set()
        hosts = {
            (str(where[0]), family == socket.AF_INET6) for family, _, _, _, where in address_infos
        }
        return {f"[{host}]:{self.port}" if six else f"{host}:{self.port}" for host, six in hosts}


class Wire:
    """A session of 0-9-1 on a socket. Nothing here waits longer than it is told to."""

    def __init__(self, target: Target, cafile: Path | None = None) -> None:
        """Connects, with TLS where the target says so.

        Raises:
            ConnectionLost: there is nobody, or its certificate is not trusted.
        """
        self.target = target
        self.session: Any = Connection(
            "client",
            username=target.username,
            password=target.password,
            virtual_host=target.virtual_host,
        )
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        address = (target.host, target.port)
        try:
            self.socket = socket.create_connection(address, CONNECT_SECONDS)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if target.tls:
                context = ssl.create_default_context(cafile=cafile)
                self.socket = context.wrap_socket(self.socket, server_hostname=target.host)
        except ssl.SSLCertVerificationError as error:
            why = error.verify_message
            raise ConnectionLost(f"{target}: its certificate is not trusted: {why}") from None
        except OSError as error:
            raise ConnectionLost(f"{target}: {error.strerror or error}") from None
        self.socket.setblocking(False)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait to be sent."""
        return self._unsent_bytes + int(self.session.bytes_to_send)

    def pump(self, seconds: float) -> Iterator[Event]:
        """Send what waits and read what is there; wait so long, where there is nothing to do.

        Raises:
            ConnectionLost: the connection broke, or the broker's frames cannot be right.
        """
        now = time.monotonic()
        due = self.session.next_timeout(now)
        if due is not None:
            seconds = min(seconds, max(due - now, 0.0))
        self._take_over()
        try:
            self._wait(seconds)
            self._send()
            yield from self._read()
        except RemoteProtocolError as error:
            yield from error.events
            raise ConnectionLost(f"{self.target}: the broker broke the protocol: {error}") from None
        except OSError as error:
            yield from self.session.receive_eof()
            raise ConnectionLost(f"{self.target}: {error.strerror or error}") from None
        yield from self.session.handle_timeout(time.monotonic())

    def _take_over(self) -> None:
        for part in self.session.buffers_to_send():
            self._unsent.append(memoryview(part))
            self._unsent_bytes += len(part)

    def _wait(self, seconds: float) -> None:
        pending = isinstance(self.socket, ssl.SSLSocket) and self.socket.pending()
        if not pending:
            select.select([self.socket], [self.socket] if self._unsent else [], [], seconds)

    def _send(self) -> None:
        while self._unsent:
            part = self._unsent[0]
            try:
                count = self.socket.send(part)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            self._unsent_bytes -= count
            if count < len(part):
                self._unsent[0] = part[count:]
            else:
                self._unsent.popleft()

    def _read(self) -> Iterator[Event]:
        while True:
            try:
                data = self.socket.recv(READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not data:
                yield from self.session.receive_eof()
                return
            yield from self.session.receive_data(data)
            if len(data) < READ_BYTES:
                return

    def drop(self) -> None:
        """Close the socket, whatever is left to say."""
        self.socket.close()
