"""A client on a blocking socket, which waits for events by their class."""

from __future__ import annotations

import time
from typing import Any

from amqpcodec.session import (
    ChannelClosed,
    ChannelOpened,
    ConnectionClosed,
    ConnectionOpened,
)
from tests.support.socket_session import SocketSession


class SocketClient(SocketSession):
    """A client that waits 20 seconds at most for each event."""

    def __init__(self, address: tuple[str, int], **options: Any) -> None:
        super().__init__(address, 20, **options)

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
