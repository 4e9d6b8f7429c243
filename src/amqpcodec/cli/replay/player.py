"""Publishes messages with confirms, in their time, and keeps count of what became of them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
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
from ..cells import clean
from ..errors import UsageError, print_error
from .declarations import Declaration
from .journal import Journal
from .outgoing import Outgoing
from .target import CONNECT_SECONDS, ConnectionLost, Wire

__all__ = ["Pace", "Player"]

#: Bytes that wait to be sent, and bodies that wait for their confirms, above which no more is
#: published.
HIGH_WATER, MAX_UNCONFIRMED = 4 << 20, 64 << 20
#: Seconds between looks at Ctrl-C.
POLL_SECONDS = 0.1
#: Reply codes of a closed channel that are about the target and no message: a permission, an
#: exchange that is gone, a resource that is locked. What is sent again then fails again.
TARGET_FAULTS = (403, 404, 405)
#: Reply codes of a closed connection that a message may cause, such as by a field table that the
#: broker cannot read.
MESSAGE_FAULTS = (501, 502, 505, 541)
#: Refusals that are reported one by one.
MAX_REPORTED = 20


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
    """A channel with confirms, and another one for declarations and for checks of exchanges.

    A broker that closes a channel because of a message does not say of which. What it had not
    confirmed then is sent again, each alone, so that the message at fault is found: it is refused,
    and the others go on.

    Attributes:
        sent, confirmed, nacked, refused, unroutable, unencodable, lost_users: numbers of messages.
        lost_routes: unroutable messages by exchange and routing key.
    """

    def __init__(
        self,
        connect: Callable[[], Wire],
        journal: Journal,
        pace: Pace,
        window: int,
        stopped: Callable[[], bool],
        show: Callable[[Player], None],
    ) -> None:
        """connect: makes a connection, once or again; raises ConnectionLost where it cannot."""
        self.connect, self.journal, self.pace = connect, journal, pace
        self.window, self.stopped, self.show = window, stopped, show
        self.sent = self.confirmed = self.nacked = self.refused = self.unroutable = 0
        self.unencodable = self.lost_users = 0
        self.lost_routes: Counter[tuple[str, str]] = Counter()
        #: Tag -> message that was published and is not settled, in the order of their tags.
        self._unsettled: dict[int, Outgoing] = {}
        self._unsettled_bytes = 0
        #: Messages to publish again, each alone; and whether the one that is unsettled is one.
        self._again: deque[Outgoing] = deque()
        self._is_alone = False
        self._checked: set[str] = {""}  # the default exchange is always there
        self._channel: Any = None
        self._control_channel: Any = None  # of declarations and of checks whether exchanges exist
        self._control_request: Any = None
        self._control_close: tuple[int, str] | None = None
        self._is_ready = self._is_blocked = self._is_connected = self._must_reconnect = False
        self._flow = True
        self.wire = connect()

    # --- the connection

    def open(self) -> None:
        """Log in and have a channel with confirms.

        Raises:
            ConnectionLost: refused, or no answer.
        """
        self._wait(lambda: self._is_ready)

    def _wait(self, is_over: Callable[[], bool]) -> None:
        deadline = time.monotonic() + CONNECT_SECONDS
        while not is_over():
            if time.monotonic() > deadline:
                raise ConnectionLost(f"{self.wire.target}: no answer")
            self._pump(POLL_SECONDS)

    def _open_channel(self) -> None:
        self._is_ready, self._flow = False, True
        if not self.wire.session.is_open:
            return  # it ended with the same read: its event follows
        self._channel = self.wire.session.open_channel()
        self._channel.confirm()

    def _reconnect(self) -> None:
        self._must_reconnect = self._is_ready = self._is_connected = self._is_blocked = False
        self._control_channel = None
        self.wire.drop()
        self.wire = self.connect()
        self.open()

    # --- the target

    def _ask(self, request: Callable[[Any], Any]) -> tuple[int, str] | None:
        """Have a request answered; (reply code, reply text) where the broker refuses it.

        Raises:
            ConnectionLost: no answer.
        """
        if self._control_channel is None:
            self._control_channel = self.wire.session.open_channel()
        self._control_close = None
        self._control_request = request(self._control_channel)
        self._wait(lambda: self._control_request is None)
        return self._control_close

    def check_exchanges(self, names: Iterable[str]) -> None:
        """Find out whether all these exchanges are there, before anything is published to them.

        Raises:
            UsageError: some are not; names them.
            ConnectionLost: no answer.
        """
        missing = []
        for name in names:
            if name in self._checked or self.stopped():
                continue
            self._checked.add(name)
            answer = self._ask(partial(_exists, name))
            if answer is not None and answer[0] == 404:
                missing.append(f"{name!r} ({answer[0]} {answer[1]})")
        if missing:
            raise UsageError(
                clean(
                    f"{self.wire.target}: no such exchange: {', '.join(missing)}. No message was"
                    f" sent to {'them' if len(missing) > 1 else 'it'}: declare what is missing"
                    " (--declare does, where the recording says how), choose another exchange with"
                    " --map, or leave the messages out with --where"
                )
            )

    def declare(self, items: Iterable[Declaration]) -> int:
        """Create what can be created; how many these were.

        Raises:
            UsageError: the broker refuses one, such as one that is there with other properties.
            ConnectionLost: no answer.
        """
        count = 0
        for item in items:
            if item.problem or self.stopped():
                continue
            answer = self._ask(partial(_declared, item))
            if answer is not None:
                code, text = answer
                raise UsageError(
                    clean(f"{self.wire.target}: {item} cannot be declared: {code} {text}")
                    + "; no message was sent"
                )
            count += 1
        return count

    # --- messages

    def publish(self, outgoing: Outgoing, timestamp: int | None) -> bool:
        """Send a message when it is due; False where Ctrl-C came before.

        timestamp: µs since 1970 at which it was recorded, or None.

        Raises:
            UsageError: its exchange is not there.
            ConnectionLost: the broker ended the connection, or the channel for a reason of the
                target's.
        """
        self.check_exchanges([outgoing.exchange])
        due = self.pace.due(timestamp, time.monotonic())
        while True:
            wait = due - time.monotonic()
            must_wait = bool(self._again) or not self._may_send()
            if self.stopped():
                return False
            if wait <= 0 and not must_wait:
                break
            self._send_again()
            self._pump(POLL_SECONDS if must_wait else min(wait, POLL_SECONDS))
        if outgoing.is_suspect and not self._settle_all():
            return False
        self.sent += self._send(outgoing, outgoing.is_suspect)
        if outgoing.is_suspect:
            return self._settle_all()
        if self.sent % 64 == 0 or not self.pace.fast:
            self._pump(0.0)
        return True

    def _may_send(self) -> bool:
        is_open = self._is_ready and self._flow and not self._is_blocked
        room = (
            len(self._unsettled) < self.window
            and self._unsettled_bytes < MAX_UNCONFIRMED
            and self.wire.unsent_bytes <= HIGH_WATER
        )
        return is_open and room and not (self._is_alone and self._unsettled)

    def _send_again(self) -> None:
        """Send the next message that has to be alone, when nothing else is under way."""
        if self._again and not self._unsettled and self._may_send():
            self._send(self._again.popleft(), True)

    def _settle_all(self) -> bool:
        """Wait until nothing is under way; False where Ctrl-C came before."""
        while self._unsettled or self._again or not self._is_ready:
            if self.stopped():
                return False
            self._send_again()
            self._pump(POLL_SECONDS)
        return True

    def _send(self, outgoing: Outgoing, is_alone: bool) -> bool:
        """Publish; False where the message cannot be encoded."""
        try:
            tag = self._channel.publish(
                outgoing.exchange,
                outgoing.routing_key,
                outgoing.body,
                outgoing.properties,
                mandatory=True,
            )
        except EncodeError as error:
            self.unencodable += 1
            print_error(f"message {outgoing.number} cannot be sent: {clean(str(error))}")
            return False
        except LocalProtocolError as error:
            raise ConnectionLost(clean(str(error))) from None
        self._is_alone = is_alone
        self._unsettled[tag] = outgoing
        self._unsettled_bytes += len(outgoing.body)
        return True

    def finish(self) -> None:
        """Wait for all confirms, then close.

        Raises:
            ConnectionLost: as publish.
        """
        self._settle_all()
        if not self.wire.session.closed:
            self.wire.session.close()
        deadline = time.monotonic() + 5
        while not self.wire.session.closed and time.monotonic() < deadline:
            for event in self.wire.pump(POLL_SECONDS):
                self._settled(event)

    # --- events

    def _pump(self, seconds: float) -> None:
        for event in self.wire.pump(seconds):
            if not self._settled(event):
                self._take(event)
        if self._must_reconnect:
            self._reconnect()
        self.show(self)

    def _pop(self, tag: int) -> int:
        """A message is settled: its number."""
        outgoing = self._unsettled.pop(tag)
        self._unsettled_bytes -= len(outgoing.body)
        return outgoing.number

    def _settled(self, event: Event) -> bool:
        """What became of messages; False where the event says something else."""
        match event:
            case Acked(tags=tags):
                numbers = [self._pop(tag) for tag in tags]
                self.journal.confirm(sorted(numbers))
                self.confirmed += len(numbers)
            case Nacked(tags=tags):
                self.nacked += len(tags)
                for tag in tags:
                    self._pop(tag)
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
                self._is_connected = True
                self._open_channel()
            case Replied(request=request) if request is self._control_request:
                self._control_request = None
            case Replied(request=request) if request.method.NAME == "confirm.select":
                self._is_ready = True
            case Blocked(reason=reason):
                self._is_blocked = True
                print_error(f"the broker takes nothing for now: {clean(reason)}")
            case Unblocked():
                self._is_blocked = False
            case FlowChanged(active=active):
                self._flow = active
            case ChannelClosed(channel=channel, reply_code=code, reply_text=text) if code:
                if channel is self._control_channel:
                    self._control_channel, self._control_request = None, None
                    self._control_close = code, text
                else:
                    self._channel_closed(code, text)
            case ConnectionClosed(reply_code=code, reply_text=text, closed_by=closed_by):
                if closed_by == "local" or code not in MESSAGE_FAULTS or not self._unsettled:
                    raise ConnectionLost(f"{self.wire.target}: {self._why(code, clean(text))}")
                self._find_fault(code, text)
                self._must_reconnect = True

    def _channel_closed(self, code: int, text: str) -> None:
        if not self.wire.session.is_open:
            return  # the connection is over: its own event follows
        if code in TARGET_FAULTS or not self._unsettled:
            raise ConnectionLost(f"the broker closed the channel: {code} {clean(text)}")
        self._find_fault(code, text)
        self._open_channel()

    def _find_fault(self, code: int, text: str) -> None:
        """The only message that is unsettled was refused; of several, each is sent alone."""
        unsettled = list(self._unsettled.values())
        self._unsettled.clear()
        self._unsettled_bytes = 0
        if len(unsettled) > 1:
            self._again.extendleft(reversed(unsettled))
            return
        [outgoing] = unsettled
        self.refused += 1
        self.journal.refuse(outgoing.number, code, text)
        if self.refused <= MAX_REPORTED:
            route = f"exchange {outgoing.exchange!r}, key {outgoing.routing_key!r}"
            print_error(clean(f"message {outgoing.number} was refused: {code} {text} ({route})"))

    def _why(self, code: int, text: str) -> str:
        reason = f"{code} {text}" if code else text
        if code == 403 and not self._is_connected:
            return f"the login of {self.wire.target.username!r} was refused: {reason}"
        if not self._is_connected:
            return f"the broker refused the connection: {reason}"
        return f"the connection is over: {reason}"


def _exists(name: str, channel: Any) -> Any:
    """The question whether an exchange is there."""
    return channel.declare_exchange(name, passive=True)


def _declared(item: Declaration, channel: Any) -> Any:
    """The request that creates something."""
    flags = dict.fromkeys(item.flags, True)
    match item.kind:
        case "exchange":
            return channel.declare_exchange(item.name, item.type, arguments=item.arguments, **flags)
        case "queue":
            return channel.declare_queue(item.name, arguments=item.arguments, **flags)
        case "binding to queue":
            return channel.bind_queue(
                item.name, item.source, item.routing_key, arguments=item.arguments
            )
        case _:
            return channel.bind_exchange(
                item.name, item.source, item.routing_key, arguments=item.arguments
            )
