"""A transport and a session: bytes, timers, and which channel or consumer gets an event."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias, cast

from ..session import Connection, Event, RemoteProtocolError, Request
from ..session import events as session_events
from ..session.events import Delivered
from ._errors import (
    AMQPError,
    AuthenticationFailed,
    ChannelClosed,
    ConnectFailed,
    ConnectionClosed,
    ConnectionLost,
    HeartbeatTimeout,
    VirtualHostRefused,
    error_class,
)
from ._states import States

__all__ = ["CLOSED_HERE", "LEAVE", "Closeable", "Link", "State", "logger", "resolve", "take_error"]

logger = logging.getLogger("amqpcodec.aio")

#: Bytes that wait to be sent, above which callers wait, too.
_HIGH_WATER = 1 << 20
#: Seconds that a timer may be late before an error says that the event loop was blocked.
_LATE = 1.0
#: Seconds that the end of an ``async with`` may take, and the last bytes of a transport.
LEAVE = 5.0
CLOSED_HERE = "closed by this client"

State: TypeAlias = Literal["open", "closing", "closed"]
Undo: TypeAlias = Callable[[Any], None]

#: What takes an event of the session: a method of the Channel or Consumer that it is for, or of the
#: Link.
_HANDLERS: dict[type, tuple[str, str]] = {
    session_events.ConsumerCancelled: ("consumer", "_on_cancelled"),
    session_events.Acked: ("channel", "_on_confirmed"),
    session_events.Nacked: ("channel", "_on_confirmed"),
    session_events.Returned: ("channel", "_on_returned"),
    session_events.FlowChanged: ("channel", "_look_again"),
    session_events.ChannelOpened: ("channel", "_on_opened"),
    session_events.ChannelClosed: ("channel", "_on_ended"),
    session_events.Replied: ("", "_on_replied"),
    session_events.RequestFailed: ("", "_on_failed"),
    session_events.ConnectionOpened: ("", "_on_opened"),
    session_events.ConnectionClosed: ("", "_on_closed"),
    session_events.Blocked: ("", "_on_blocked"),
    session_events.Unblocked: ("", "_on_unblocked"),
}


class Closeable:
    """What ``async with`` closes at its end."""

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close(timeout=LEAVE)

    async def close(self, timeout: float = 10.0) -> None:
        """Close it within so many seconds."""
        raise NotImplementedError


class Link(asyncio.Protocol):
    """What asyncio calls, and what channels use. No code of users runs in it.

    Attributes:
        session: the protocol's state.
        loop: the event loop that it belongs to.
        states: whether it is open: see `Connection.states`.
        opened: done when the handshake is.
        ended: done when the connection is over, for whatever reason.
        lost: done when the transport is gone.
        last_received: when the last byte came, by the loop's clock.
        locked_until: until when, by the loop's clock, the broker may not have noticed that the
            connection before this one is over, so that its exclusive queues are locked.
        full: who has enough, so that nothing is read while no call waits for its answer.
        is_flushing: whether `flush` comes by itself when the loop comes round.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, session: Connection) -> None:
        self.loop = loop
        self.session = session
        self.states: States[State] = States("open")
        self.opened: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self.unblocked: asyncio.Event = asyncio.Event()
        self.unblocked.set()
        self.last_received: float = loop.time()
        self.locked_until: float = 0.0
        self.full: set[object] = set()
        self._is_holding = False
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self.is_flushing: bool = False
        self.is_paused: bool = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._closing_here = False
        self._was_silent = False
        self._blocked_until = 0.0
        self._blocked_for = 0.0
        self._transport_error: Exception | None = None
        self._end: session_events.ConnectionClosed | None = None

    # ---- what is true ----

    def check_loop(self) -> None:
        """Refuse a call from another event loop, or from none."""
        if asyncio.get_running_loop() is not self.loop:
            raise RuntimeError(
                "this connection belongs to another event loop: connect anew in this one"
            )

    def check_open(self) -> None:
        """Refuse a call from another event loop, or on a connection that is over or closing."""
        self.check_loop()
        if (error := self.error()) is not None:
            raise error

    def error(self) -> AMQPError | None:
        """A new error for a call on a connection that is over or closing; None while it is open."""
        end = self._end
        if end is None:
            return ConnectionClosed(CLOSED_HERE, 200) if self._closing_here else None
        if self._closing_here and end.reply_code == 200:
            return ConnectionClosed(CLOSED_HERE, 200)
        code, text = end.reply_code, end.reply_text
        if self._was_silent:
            return HeartbeatTimeout(text + self._late_text())
        if code and end.closed_by == "remote":
            return ConnectionClosed(text, code)
        if self._transport_error is not None:
            text = f"{text}: {self._transport_error}"
        return ConnectionLost(f"the connection was lost: {text}{self._late_text()}", code)

    def is_end_of_connection(
        self, event: session_events.ChannelClosed | session_events.RequestFailed
    ) -> bool:
        """Whether an event tells the end of the connection and not of a channel alone."""
        end = self._end
        return end is not None and (end.reply_code, end.reply_text) == (
            event.reply_code,
            event.reply_text,
        )

    def connect_error(self) -> ConnectFailed:
        """Why the handshake failed."""
        end = self._end
        if end is None:
            return ConnectFailed("the handshake did not end")
        code, text = end.reply_code, end.reply_text
        if code == 530 or (code == 403 and end.stage == "open"):
            return VirtualHostRefused(text, code)
        if code == 403:
            return AuthenticationFailed(text, code)
        if self._transport_error is not None:
            text = f"{text}: {self._transport_error}"
        error = ConnectFailed(text, code if end.closed_by == "remote" else 0)
        error.is_final = end.peer_version is not None
        return error

    def _late_text(self) -> str:
        if self.loop.time() > self._blocked_until:
            return ""
        return (
            f"; the event loop was blocked for {self._blocked_for:.1f} s"
            f" (heartbeat {self.session.heartbeat} s)"
        )

    # ---- calls ----

    def expect(self, request: Request | None, undo: Undo | None = None) -> asyncio.Future[Any]:
        """A future of the reply; an AMQPError when its channel or connection ends before.

        undo: called with a reply that nobody waits for any more.
        """
        assert request is not None
        future: asyncio.Future[Any] = self.loop.create_future()
        request.context = (future, undo)
        self.soon()
        return future

    async def call(self, request: Request | None, undo: Undo | None = None) -> Any:
        """The reply to a request: see `expect`."""
        future = self.expect(request, undo)
        try:
            return await future
        except asyncio.CancelledError:
            if take_error(future) is None and undo is not None and not future.cancelled():
                undo(future.result())  # it came, and the caller is gone
            raise

    async def drain(self) -> None:
        """Wait until the transport takes more."""
        if self.is_paused and not self.session.closed:
            await self._drained.wait()

    async def wait(self, future: asyncio.Future[None], deadline: float) -> None:
        """Wait for a future, by the loop's clock until deadline."""
        await asyncio.wait((future,), timeout=max(deadline - self.loop.time(), 0))

    def refuse_calls(self) -> None:
        """From now on calls fail as closed by this client."""
        self._closing_here = True
        self.states.change("closing")

    def abort(self) -> None:
        """End it now: every call that waits gets its error."""
        if self._transport is not None:
            self._transport.abort()
        self._act(self.session.receive_eof())
        if self._transport is None:
            resolve(self.lost)

    def soon(self) -> None:
        """Send what waits when the loop comes round: many frames in one write."""
        if not self.is_flushing:
            self.is_flushing = True
            self.loop.call_soon(self.flush)
        elif self.session.bytes_to_send > _HIGH_WATER:
            self.flush()

    def flush(self) -> None:
        """Send what waits now."""
        self.is_flushing = False
        transport = self._transport
        if transport is None:
            return
        if self.session.bytes_to_send:
            transport.write(self.session.data_to_send())
        if self.full:
            self._adjust_reading()
        if self.session.closed and not transport.is_closing():
            transport.close()
            self._linger = self.loop.call_later(LEAVE, transport.abort)

    # ---- what asyncio calls ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the protocol header."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Have the session read, and act on what it reports."""
        self.last_received = self.loop.time()
        self._note_lateness(self.last_received)
        try:
            events = self.session.receive_data(data)
        except RemoteProtocolError as error:
            events = error.events
        self._act(events)
        self.soon()  # after the tasks that these events have woken: what they send goes with it
        if self.full:
            self._adjust_reading()

    def read_on(self, consumer: object) -> None:
        """A consumer has not enough any more."""
        if consumer in self.full:
            self.full.remove(consumer)
            self._adjust_reading()

    def _adjust_reading(self) -> None:
        """Read, or leave to the broker what a consumer without acknowledgements has no room for."""
        holds = bool(self.full) and not self._is_awaiting()
        transport = self._transport
        if holds != self._is_holding and transport is not None:
            self._is_holding = holds
            (transport.pause_reading if holds else transport.resume_reading)()

    def _is_awaiting(self) -> bool:
        """Whether an answer has to come: it comes after what the broker sent before."""
        session = self.session
        return bool(session.sent) or any(
            channel.sent or not channel.is_open or len(channel.publications)
            for channel in session.channels.values()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """End what waits."""
        self._note_lateness(self.loop.time())
        self._transport_error = exc
        for timer in (self._timer, self._linger):
            if timer is not None:
                timer.cancel()
        self._act(self.session.receive_eof())
        resolve(self.lost)

    def pause_writing(self) -> None:
        """The transport has enough."""
        self.is_paused = True
        self._drained.clear()
        self._wake_publishers()

    def resume_writing(self) -> None:
        """The transport takes more."""
        self.is_paused = False
        self._drained.set()
        self._wake_publishers()

    # ---- time ----

    def _note_lateness(self, now: float) -> float:
        """Remember that a timer came late: the loop was blocked, which errors then say.

        Returns:
            for how many seconds; 0 where it came in time.
        """
        late = 0.0 if self._timer is None else now - self._timer.when()
        if late <= _LATE:
            return 0.0
        self._blocked_for = late
        self._blocked_until = now + 2 * self.session.heartbeat
        return late

    def _tick(self) -> None:
        now = self.loop.time()
        late = self._note_lateness(now)
        if late > self.session.heartbeat / 2:
            logger.warning(
                "the event loop was blocked for %.1f s (heartbeat %d s); the broker closes a "
                "connection that is silent for two: run what takes long by asyncio.to_thread",
                late,
                self.session.heartbeat,
            )
        if self._is_holding:
            self.session.receive_data(b"")  # it is not the broker that is silent
        events = self.session.handle_timeout(now)
        if self.session.closed:
            self._was_silent = True
            if self._transport is not None:
                self._transport.abort()  # nobody reads what would be sent
            self._act(events)
            return
        self._act(events)
        self.flush()
        when = self.session.next_timeout(now)
        self._timer = None if when is None else self.loop.call_at(when, self._tick)

    # ---- events ----

    def _act(self, events: list[Event]) -> None:
        if events and isinstance(events[-1], session_events.ConnectionClosed):
            self._end = events[-1]  # channels, which end first, give it as their reason
        for event in events:
            if type(event) is Delivered:  # the most of them, without a look-up
                consumer = event.consumer.context
                if consumer is not None:
                    consumer._on_delivered(event)
                continue
            owner, method = _HANDLERS.get(type(event), ("", ""))
            context = getattr(event, owner).context if owner else self
            if method and context is not None:  # else the user had the session open it
                getattr(context, method)(event)

    def _on_replied(self, event: session_events.Replied) -> None:
        if event.request.context is None:
            return
        future, undo = event.request.context
        if not future.done():
            future.set_result(event.reply)
        elif undo is not None:
            undo(event.reply)

    def _on_failed(self, event: session_events.RequestFailed) -> None:
        if event.request.context is None or event.request.context[0].done():
            return
        error = self.error() if self.is_end_of_connection(event) else None
        if error is None:
            kind = error_class(event.reply_code) if event.cause else ChannelClosed
            error = kind(event.reply_text, event.reply_code)
        event.request.context[0].set_exception(error)

    def _on_opened(self, event: session_events.ConnectionOpened) -> None:
        resolve(self.opened)
        self._tick()

    def _on_closed(self, event: session_events.ConnectionClosed) -> None:
        if not self.opened.done():
            self.opened.set_exception(self.connect_error())
            self.opened.exception()  # a caller that was cancelled does not read it
        resolve(self.ended)
        self.states.change("closed")
        self.unblocked.set()
        self._drained.set()
        self.soon()

    def _on_blocked(self, event: session_events.Blocked) -> None:
        self.unblocked.clear()
        self._wake_publishers()

    def _on_unblocked(self, event: session_events.Unblocked) -> None:
        self.unblocked.set()
        self._wake_publishers()

    def _wake_publishers(self) -> None:
        for channel in list(self.session.channels.values()):
            if channel.context is not None:
                channel.context._look_again()


def take_error(future: asyncio.Future[Any]) -> BaseException | None:
    """The exception of a future that is over, which then counts as read; None for none."""
    return None if not future.done() or future.cancelled() else future.exception()


def resolve(future: asyncio.Future[None]) -> None:
    """Have a future be done."""
    if not future.done():
        future.set_result(None)
