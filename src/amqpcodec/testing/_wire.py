"""A connection's frames in both directions: transcript, faults, and what holds them up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from ..session import Connection
from ._faults import Verdict
from ._frames import Frame, FrameCutter, Sender
from ._node import Node

__all__ = ["FrameUser", "Transport", "Wire"]


class FrameUser(Protocol):
    """Who acts on the frames of a connection."""

    session: Connection

    def take(self, frame: Frame) -> None:
        """Act on a frame."""
        ...

    def all_taken(self) -> None:
        """All that came was handled."""
        ...

    def lost(self) -> None:
        """The transport is gone."""
        ...

    def close_channel(self, number: int, reply_code: int, text: str) -> None:
        """Close a channel, if it is open."""
        ...

    def close(self, reply_code: int, text: str) -> None:
        """Close the connection."""
        ...

    def cancel_consumers(self, number: int, consumer_tag: str | None) -> None:
        """Cancel a consumer of a channel, or all."""
        ...


class Transport(Protocol):
    """What a wire needs of a socket."""

    def send(self, data: bytes) -> None:
        """Send bytes, sooner or later."""

    def end(self) -> None:
        """Send what waits, then EOF."""

    def abort(self) -> None:
        """Send what waits, then reset the connection."""

    def set_reading(self, reading: bool) -> None:
        """Whether to read at all."""


class Wire:
    """One connection. Attributes: number, from 1; is_over: whether nothing comes or goes."""

    def __init__(self, node: Node, peer: FrameUser, transport: Transport, number: int) -> None:
        self._node = node
        self._peer = peer
        self._transport = transport
        self.number = number
        self.is_over = False
        self._in_cutter = FrameCutter()
        self._out_cutter = FrameCutter()
        self._inbox: deque[Frame] = deque()
        self._outbox: deque[Frame] = deque()
        self._is_frozen = False
        self._is_blocked = False
        self._delays: dict[Sender, int] = {"client": 0, "server": 0}
        self._is_pumping = False

    # ---- in ----

    def received(self, data: bytes) -> None:
        """Bytes of the client."""
        self._inbox += self._in_cutter.feed(data)
        self.pump_in()

    def received_eof(self) -> None:
        """The client is gone."""
        if not self.is_over:
            self._node.note(self.number, "client", "eof")
            self.is_over = True
            self._peer.lost()
            self._transport.end()

    def pump_in(self) -> None:
        """Handle the frames that came, as far as nothing holds them up."""
        while self._inbox and not self._holds("client"):
            frame = self._inbox.popleft()
            verdict = Verdict.PASS
            if not frame.passed:
                frame.passed = True
                self._node.log(self.number, "client", frame)
                verdict = self._node.faults.check(self, frame, "client")
            if verdict is Verdict.HOLD:
                self._inbox.appendleft(frame)
            elif verdict is Verdict.PASS:
                self._peer.take(frame)
            self._node.flush()
        if not self._inbox and not self.is_over:
            self._peer.all_taken()
            self._node.flush()

    @property
    def is_deaf(self) -> bool:
        """Whether nothing is read, so that the client's silence tells nothing."""
        return self._is_frozen or self._is_blocked

    def _holds(self, sender: Sender) -> bool:
        return (
            self.is_over
            or self._is_frozen
            or self._delays[sender] > 0
            or (sender == "client" and self._is_blocked)
        )

    # ---- out ----

    def pump_out(self) -> bool:
        """Send what the session has to say; whether there was anything."""
        if self.is_over or self._is_pumping:
            return False
        self._is_pumping = True
        try:
            data = self._peer.session.data_to_send()
            self._outbox += self._out_cutter.feed(data)
            sent = False
            while self._outbox and not self._holds("server"):
                frame = self._outbox.popleft()
                sent = True  # even where it is lost: a fault changes what others are told
                if not frame.passed:
                    frame.passed = True
                    verdict = self._node.faults.check(self, frame, "server")
                    if verdict is Verdict.HOLD:
                        self._outbox.appendleft(frame)
                        break
                    if verdict is not Verdict.PASS:
                        continue
                self._node.log(self.number, "server", frame)
                self._transport.send(frame.raw)
            if self._peer.session.closed and not self._outbox and not self._holds("server"):
                self.end()
            return bool(data) or sent
        finally:
            self._is_pumping = False

    # ---- faults ----

    def reset(self) -> Verdict:
        """TCP RST."""
        return self._finish("reset", self._transport.abort)

    def end(self) -> Verdict:
        """EOF."""
        return self._finish("eof", self._transport.end)

    def _finish(self, note: str, close: Callable[[], None]) -> Verdict:
        if not self.is_over:
            self._node.note(self.number, "server", note)
            self.is_over = True
            close()
            self._peer.lost()
        return Verdict.GONE

    def freeze(self) -> Verdict:
        """Nothing comes or goes."""
        self._node.note(self.number, "server", "frozen")
        self._is_frozen = True
        self._transport.set_reading(False)
        return Verdict.HOLD

    def thaw(self) -> None:
        """The end of `freeze`."""
        if self._is_frozen:
            self._node.note(self.number, "server", "thawed")
            self._is_frozen = False
            self._transport.set_reading(not self._is_blocked)
            self._go_on()

    def delay(self, sender: Sender, seconds: float) -> Verdict:
        """One direction is held up."""

        def release() -> None:
            self._delays[sender] -= 1
            self._go_on()

        self._delays[sender] += 1
        self._node.clock.call_at(self._node.clock.now() + seconds, release)
        return Verdict.HOLD

    def set_blocked(self, blocked: bool) -> None:
        """RabbitMQ reads nothing of a connection that publishes while a resource is short."""
        self._is_blocked = blocked
        self._transport.set_reading(not (blocked or self._is_frozen))
        if not blocked:
            self._go_on()

    def _go_on(self) -> None:
        if not self.is_over:
            self.pump_out()
            self.pump_in()

    def close_channel(self, channel: int, reply_code: int, text: str) -> Verdict:
        """The broker's channel.close."""
        self._peer.close_channel(channel, reply_code, text)
        return Verdict.PASS

    def close(self, reply_code: int, text: str) -> Verdict:
        """The broker's connection.close."""
        self._peer.close(reply_code, text)
        return Verdict.PASS

    def cancel_consumers(self, channel: int, consumer_tag: str | None) -> Verdict:
        """The broker's basic.cancel."""
        self._peer.cancel_consumers(channel, consumer_tag)
        return Verdict.PASS

    def plan_confirm(self, outcome: str) -> Verdict:
        """What becomes of the next confirm."""
        self._node.confirm_plan.append(outcome)
        return Verdict.PASS

    def block(self, reason: str) -> Verdict:
        """A resource is short."""
        self._node.alarm = reason
        return Verdict.PASS
