"""A recorded conversation played into a session: one side fed, the other said by its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amqpcodec import DecodeError, capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Connection,
    Event,
    LocalProtocolError,
    RemoteProtocolError,
)

#: What a session says by itself.
AUTOMATIC = {
    "client": {
        *("connection.start-ok", "connection.tune-ok", "connection.open", "connection.close-ok"),
        *("channel.close-ok", "channel.flow-ok", "basic.cancel-ok"),
    },
    "server": {
        *("connection.start", "connection.close-ok", "channel.open-ok", "channel.close-ok"),
    },
}


@dataclass
class Recorded:
    """One connection: frames in order, each (direction, bytes)."""

    name: str
    frames: list[tuple[str, bytes]]

    def methods(self, direction: str) -> list[Any]:
        """What one side said, as far as it can be read."""
        decoder = amqp.Decoder(0, errors="frame")
        data = b"".join(frame for side, frame in self.frames if side == direction)
        frames = []
        try:
            for _, frame in decoder.feed(data):
                frames.append(frame)
        except DecodeError:
            pass
        return frames


def recordings(path: Path) -> Iterator[Recorded]:
    """The connections of a capture."""
    frames: dict[int, list[tuple[str, bytes]]] = {}
    fields = ["connection_index", "direction", "frame"]
    import pyarrow as pa

    for batch in capture.read(str(path), fields=fields, redact=False):
        for row in pa.record_batch(batch).to_pylist():
            place = frames.setdefault(row["connection_index"], [])
            place.append((row["direction"], row["frame"]))
    for index, frames_of_connection in frames.items():
        yield Recorded(f"{path.name}:{index}", frames_of_connection)


@dataclass
class Played:
    """What came of it."""

    session: Any
    events: list[Event] = field(default_factory=list)
    error: RemoteProtocolError | None = None
    #: Methods that the recorded side sent and the session refuses to send.
    refused: list[tuple[Any, LocalProtocolError]] = field(default_factory=list)


def one_piece(data: bytes) -> list[bytes]:
    return [data]


def play(
    recorded: Recorded, role: str, split: Callable[[bytes], list[bytes]] = one_piece
) -> Played:
    """Play a conversation into a session that takes one side; cut says in which pieces."""
    session = Connection(role, **options(recorded, role))
    played = Played(session)
    own = amqp.MessageDecoder(0, errors="frame")
    heard: list[bytes] = []

    def feed() -> bool:
        data = b"".join(heard)
        heard.clear()
        for piece in split(data):
            try:
                played.events += session.receive_data(piece)
            except RemoteProtocolError as error:
                played.events += error.events
                played.error = error
                return False
        return True

    for side, frame in recorded.frames:
        if side != role:
            heard.append(frame)
            continue
        if not feed():
            return played
        try:
            items = list(own.feed(frame))
        except DecodeError:
            continue  # what no session would say
        for number, item in items:
            if isinstance(item, amqp.Method | amqp.Message):
                try:
                    say(session, number, item)
                except LocalProtocolError as error:
                    played.refused.append((item, error))
        session.data_to_send()
    if feed():
        played.events += session.receive_eof()
    return played


def options(recorded: Recorded, role: str) -> dict[str, Any]:
    """Settings that make a session agree to what was agreed."""
    values: dict[str, Any] = {"heartbeat": 0}
    for method in recorded.methods("server"):
        if isinstance(method, amqp.Connection.Tune) and role == "server":
            values.update(channel_max=method.channel_max, frame_max=method.frame_max)
    for method in recorded.methods("client"):
        if isinstance(method, amqp.Connection.TuneOk) and role == "client":
            values.update(channel_max=method.channel_max, frame_max=method.frame_max)
        if isinstance(method, amqp.Connection.StartOk) and role == "client":
            values.update(mechanism=method.mechanism)
            if method.mechanism not in ("PLAIN", "AMQPLAIN", "EXTERNAL"):
                values.update(sasl=lambda challenge: b"")
    return values


def say(session: Any, number: int, item: Any) -> None:
    """Have the session say what was recorded of its side."""
    method = item.method if isinstance(item, amqp.Message) else item
    name = type(method).NAME
    if name in AUTOMATIC[session.role]:
        return
    if name == "connection.tune":
        session.accept_login()
    elif name == "connection.open-ok":
        session.accept_open()
    elif name == "connection.close":
        if session.close_reason is None:
            blamed = amqp.METHODS.get((method.class_id, method.method_id))
            session.close(method.reply_code, method.reply_text, blamed)
    elif name in ("connection.blocked", "connection.unblocked"):
        session.send(method)
    elif name == "connection.update-secret":
        session.update_secret(method.new_secret, method.reason)
    elif name == "connection.update-secret-ok":
        session.received[0].respond(method)
    elif name == "channel.open":
        session.open_channel(number)
    elif number not in session.channels:
        raise LocalProtocolError(f"no channel {number}")
    elif name == "channel.close":
        blamed = amqp.METHODS.get((method.class_id, method.method_id))
        session.channels[number].close(method.reply_code, method.reply_text, blamed)
    elif isinstance(item, amqp.Message):
        session.channels[number].send(method, item.properties, item.body)
    else:
        session.channels[number].send(method)
