"""Publishes messages with confirms, in their time, and keeps count of what became of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from ...errors import EncodeError
from ...session import (
    Acked,
    Blocked,
    ChannelClosed,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    FlowChanged,
    LocalProtocolError,
    Nacked,
    Replied,
    Returned,
    Unblocked,
)
from .. import complain
from ..cells import clean
from .journal import Journal
from .mapping import Mapping
from .messages import Message
from .target import CONNECT_SECONDS, Lost, Wire

__all__ = ["Pace", "Player"]

#: Bytes that wait to be sent, above which no more is published.
HIGH_WATER = 4 << 20
#: Seconds between looks at Ctrl-C.
STEP = 0.1


class Pace:
    """When each message is due: as recorded, so many a second, or at once."""

    def __init__(self, rate: float | None, fast: bool) -> None:
        self.rate, self.fast = rate, fast
        self._start: float | None = None
        self._first: int | None = None
        self._count = 0

    def due(self, timestamp: int | None, now: float) -> float:
        """The time of the next message, on the clock of now. A time that runs back is now."""
        if self._start is None:
            self._start = now
        if self.fast:
            return now
        if self.rate is not None:
            self._count += 1
            return self._start + (self._count - 1) / self.rate
        if timestamp is None:
            return now
        if self._first is None:
            self._first = timestamp
        return self._start + (timestamp - self._first) / 1e6


class Player:
    """A channel with confirms.

    Attributes:
        sent, confirmed, refused, unroutable: messages, so far.
    """

    def __init__(
        self,
        wire: Wire,
        journal: Journal,
        mapping: Mapping,
        pace: Pace,
        window: int,
        stopped: Callable[[], bool],
        show: Callable[[Player], None],
    ) -> None:
        self.wire, self.journal, self.mapping, self.pace = wire, journal, mapping, pace
        self.window, self.stopped, self.show = window, stopped, show
        self.sent = self.confirmed = self.refused = self.unroutable = 0
        self.unencodable = self.other_users = 0
        self.lost_routes: Counter[tuple[str, str]] = Counter()
        self._numbers: dict[int, int] = {}
        self._ready = self._blocked = False
        self._flow = True
        self._connected = False
        self.channel: Any = None

    def open(self) -> None:
        """Log in and have a channel with confirms.

        Raises:
            Lost: refused, or no answer.
        """
        deadline = time.monotonic() + CONNECT_SECONDS
        while not self._ready:
            if time.monotonic() > deadline:
                raise Lost(f"{self.wire.target}: no answer")
            self._pump(STEP)

    def publish(self, message: Message) -> bool:
        """Send a message when it is due; False where Ctrl-C came before.

        Raises:
            Lost: the broker ended the channel or the connection.
        """
        due = self.pace.due(message.timestamp, time.monotonic())
        while True:
            wait = due - time.monotonic()
            full = len(self._numbers) >= self.window or self.wire.waiting > HIGH_WATER
            held = full or self._blocked or not self._flow
            if self.stopped():
                return False
            if wait <= 0 and not held:
                break
            self._pump(STEP if held else min(wait, STEP))
        self._send(message)
        if self.sent % 64 == 0 or not self.pace.fast:
            self._pump(0.0)
        return True

    def _send(self, message: Message) -> None:
        properties = message.properties
        user = self.wire.target.username
        if properties is not None and properties.user_id not in (None, user):
            # The broker closes the channel for the name of another user.
            properties.user_id = None
            self.other_users += 1
        try:
            tag = self.channel.publish(
                self.mapping.exchange(message.exchange),
                self.mapping.key(message.routing_key),
                message.body,
                properties,
                mandatory=True,
            )
        except EncodeError as error:
            self.unencodable += 1
            complain(f"message {message.number} cannot be sent: {error}")
            return
        except LocalProtocolError as error:
            raise Lost(str(error)) from None
        self._numbers[tag] = message.number
        self.sent += 1

    def finish(self) -> None:
        """Wait for all confirms, then close.

        Raises:
            Lost: as publish.
        """
        while self._numbers and not self.stopped():
            self._pump(STEP)
        if not self.wire.session.closed:
            self.wire.session.close()
        deadline = time.monotonic() + 5
        while not self.wire.session.closed and time.monotonic() < deadline:
            for event in self.wire.pump(STEP):
                self._settled(event)

    def _pump(self, seconds: float) -> None:
        for event in self.wire.pump(seconds):
            if not self._settled(event):
                self._take(event)
        self.show(self)

    def _settled(self, event: Event) -> bool:
        """What became of messages."""
        match event:
            case Acked(tags=tags):
                numbers = [self._numbers.pop(tag) for tag in tags]
                self.journal.confirm(sorted(numbers))
                self.confirmed += len(numbers)
            case Nacked(tags=tags):
                self.refused += len(tags)
                for tag in tags:
                    del self._numbers[tag]
            case Returned(message=message):
                self.unroutable += 1
                method = message.method
                if len(self.lost_routes) < 1000:
                    self.lost_routes[method.exchange, method.routing_key] += 1
            case _:
                return False
        return True

    def _take(self, event: Event) -> None:
        match event:
            case ConnectionOpened():
                self._connected = True
                self.channel = self.wire.session.open_channel()
                self.channel.confirm()
            case Replied(request=request) if request.method.NAME == "confirm.select":
                self._ready = True
            case Blocked(reason=reason):
                self._blocked = True
                complain(f"the broker takes nothing for now: {clean(reason)}")
            case Unblocked():
                self._blocked = False
            case FlowChanged(active=active):
                self._flow = active
            case ChannelClosed(reply_code=code, reply_text=text) if code:
                raise Lost(f"the broker closed the channel: {code} {clean(text)}")
            case ConnectionClosed(reply_code=code, reply_text=text):
                raise Lost(f"{self.wire.target}: {self._why(code, clean(text))}")

    def _why(self, code: int, text: str) -> str:
        said = f"{code} {text}" if code else text
        if code == 403 and not self._connected:
            return f"the login of {self.wire.target.username!r} was refused: {said}"
        if not self._connected:
            return f"the broker refused the connection: {said}"
        return f"the connection is over: {said}"
