"""A session on a blocking socket: one thread, and a step at a time."""

from __future__ import annotations

import select
import socket
from typing import Any, ClassVar

from amqpcodec.session import Connection, Event, RemoteProtocolError


class SocketSession:
    """Attributes: session, and all events in the order in which they came.

    seconds: how long one operation of the socket, and a step, may take.
    """

    #: What recv() raises where the peer is gone: that is read as an end.
    GONE: ClassVar[type[OSError]] = ConnectionResetError

    def __init__(self, address: tuple[str, int], seconds: float, **options: Any) -> None:
        self.session: Any = Connection("client", **options)
        self.events: list[Event] = []
        self.seconds = seconds
        self.line = socket.create_connection(address, timeout=seconds)

    def flush(self) -> None:
        self.line.sendall(self.session.data_to_send())

    def flush_quietly(self) -> None:
        """The peer may have closed already."""
        try:
            self.line.sendall(self.session.data_to_send())
        except OSError:
            pass

    def step(self, seconds: float | None = None) -> list[Event]:
        """Send what waits, and take what comes within the time."""
        self.flush()
        limit = self.seconds if seconds is None else seconds
        if not select.select([self.line], [], [], limit)[0]:
            return []
        try:
            data = self.line.recv(262144)
        except self.GONE:
            data = b""
        try:
            events = self.session.receive_data(data) if data else self.session.receive_eof()
        except RemoteProtocolError as error:
            events = error.events
        self.events += events
        self.flush_quietly()
        return events
