"""A session on a blocking socket: one thread, and a step at a time."""

from __future__ import annotations

import select
import socket
import time
from typing import Any

from amqpcodec.session import (
    ChannelClosed,
    ChannelOpened,
    Connection,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    RemoteProtocolError,
)


class SocketClient:
    """Attributes: session, and all events in the order in which they came."""

    def __init__(self, address: tuple[str, int], **options: Any) -> None:
        self.session: Any = Connection("client", **options)
        self.events: list[Event] = []
        self.line = socket.create_connection(address, timeout=20)

    def flush(self) -> None:
        self.line.sendall(self.session.data_to_send())

    def step(self, seconds: float = 20) -> list[Event]:
        """Send what waits, and take what comes within the time."""
        self.flush()
        if not select.select([self.line], [], [], seconds)[0]:
            return []
        try:
            data = self.line.recv(65536)
        except ConnectionResetError:
            data = b""
        try:
            events = self.session.receive_data(data) if data else self.session.receive_eof()
        except RemoteProtocolError as error:
            events = error.events
        self.events += events
        self.flush_quietly()
        return events

    def flush_quietly(self) -> None:
        """The peer may have closed already."""
        try:
            self.flush()
        except OSError:
            pass

    def until(self, kind: type, seconds: float = 20) -> Any:
        """The next event of a class."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for event in self.step(max(deadline - time.monotonic(), 0)):
                if isinstance(event, kind):
                    return event
            if self.session.closed:
                break
        raise AssertionError(f"no {kind.__name__} came; {self.events[-3:]}")

    def open(self) -> SocketClient:
        self.until(ConnectionOpened)
        return self

    def channel(self) -> Any:
        self.session.open_channel()
        return self.until(ChannelOpened).channel

    def closed_channel(self) -> tuple[int, str | None]:
        event = self.until(ChannelClosed)
        return event.reply_code, event.method

    def closed(self) -> ConnectionClosed:
        event: ConnectionClosed = self.until(ConnectionClosed)
        return event

    def close(self) -> None:
        if self.session.is_open:
            self.session.close()
            self.closed()
        self.line.close()
