"""What was said on the wire, in order, to read."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .. import v0_9_1 as amqp
from ..errors import DecodeError
from ._frames import Frame, Sender

__all__ = ["Transcript", "TranscriptEntry"]

#: Methods that carry credentials, and the arguments that are not shown.
_SECRETS = {
    "connection.start-ok": "response",
    "connection.secure-ok": "response",
    "connection.update-secret": "new_secret",
}
_SHOWN_BODY = 60


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A frame, or a thing that happened to a connection ("opened", "reset", "eof", ...).

    Attributes:
        seconds: since the broker started, in real time.
        connection: number of the connection, from 1.
        sender: "client" or "server".
        channel: number of the channel.
        name: of the method, as "basic.publish", or "header", "body", "heartbeat",
            "protocol-header"; of what happened otherwise.
        raw: the frame's bytes; empty where it is none.
    """

    seconds: float
    connection: int
    sender: Sender
    channel: int
    name: str
    raw: bytes

    @property
    def frame(self) -> object:
        """The frame, decoded: a method, Header, Body, Heartbeat; None where it is none."""
        try:
            decoded = amqp.decode(self.raw) if self.raw else None
        except DecodeError:
            return None
        return decoded[2] if decoded is not None else None

    def __str__(self) -> str:
        arrow = "->" if self.sender == "client" else "<-"
        return (
            f"{self.seconds:9.4f}  #{self.connection} {arrow} {self.channel:2}  {self.name}"
            f"{self._details()}"
        )

    def _details(self) -> str:
        frame = self.frame
        if frame is None:
            return ""
        if isinstance(frame, amqp.Body):
            payload = bytes(frame.payload)
            dots = "..." if len(payload) > _SHOWN_BODY else ""
            return f" {payload[:_SHOWN_BODY]!r}{dots} ({len(payload)} bytes)"
        if isinstance(frame, amqp.Header):
            properties = repr(frame.properties).removeprefix("Basic.Properties")
            return f" {frame.body_size} bytes {properties}"
        secret = _SECRETS.get(self.name)
        arguments = [
            f"{name}={'<not shown>' if name == secret else repr(getattr(frame, name))}"
            for name in getattr(frame, "FIELDS", ())
            if getattr(frame, name) not in ("", 0, {}, b"") and not name.startswith("reserved")
        ]
        return " " + " ".join(arguments) if arguments else ""


class Transcript:
    """The last frames of all connections."""

    def __init__(self, most: int = 100_000) -> None:
        self.entries: deque[TranscriptEntry] = deque(maxlen=most)

    def add(self, seconds: float, connection: int, sender: Sender, frame: Frame) -> None:
        """A frame was received, or is sent."""
        self.entries.append(
            TranscriptEntry(seconds, connection, sender, frame.channel, frame.name, frame.raw)
        )

    def note(self, seconds: float, connection: int, sender: Sender, name: str) -> None:
        """Something else happened."""
        self.entries.append(TranscriptEntry(seconds, connection, sender, 0, name, b""))

    def text(self, last: int) -> str:
        """The last entries, a line each."""
        entries = list(self.entries)
        lines = [str(entry) for entry in entries[-last:]]
        if len(entries) > last:
            lines.insert(0, f"... {len(entries) - last} more before")
        return "\n".join(lines)
