"""How things end: requests, then channels, then the connection, each told once."""

from __future__ import annotations

from collections import deque
from typing import Any

from ._channel import Channel, PeerRequest, Request, State, StateOfConnection
from ._output import queue
from ._state import CLOSED, CLOSING
from ._types import ClosedBy, Event
from .events import ChannelClosed, ConnectionClosed, RequestFailed

__all__ = ["end_channel", "end_connection", "queue_channel_close", "queue_close"]


def queue_close(
    connection: StateOfConnection, reply_code: int, reply_text: str, method: Any
) -> None:
    """Queue connection.close. method: the one at fault, an instance or class, or None."""
    class_id, method_id = (method.CLASS_ID, method.METHOD_ID) if method is not None else (0, 0)
    queue(
        connection,
        0,
        connection.model.make(
            "connection.close",
            reply_code=reply_code,
            reply_text=reply_text,
            class_id=class_id,
            method_id=method_id,
        ),
    )
    connection.is_open = False
    connection.close_reason = (reply_code, reply_text)


def queue_channel_close(channel: State, reply_code: int, reply_text: str, method: Any) -> None:
    """Queue channel.close. method: as of queue_close."""
    model = channel.connection.model
    close = model.method("channel.close")
    class_id, method_id = (method.CLASS_ID, method.METHOD_ID) if method is not None else (0, 0)
    text = reply_text or model.reply_text(reply_code)
    frame = close(reply_code=reply_code, reply_text=text, class_id=class_id, method_id=method_id)
    queue(channel.connection, channel.number, frame)
    channel.phase = CLOSING
    channel.close_reason = (reply_code, text)


def end_connection(
    connection: StateOfConnection,
    events: list[Event],
    code: int,
    text: str,
    method: str | None,
    closed_by: ClosedBy,
    peer_version: str | None = None,
) -> None:
    """All is over. method: name of the one at fault, or None; peer_version: as in the event."""
    kind = connection.model.methods.get(method or "")
    _fail(connection.sent, None, events, code, text, kind)
    for channel in list(connection.states.values()):
        if not channel.discarding:  # else it was told
            end_channel(channel, events, code, text, kind, closed_by)
    connection.channels.clear()
    connection.states.clear()
    _drop(connection.received, code, text)
    name = None if kind is None else kind.NAME
    events.append(ConnectionClosed(code, text, name, closed_by, connection.stage, peer_version))
    connection.is_open = False
    connection.closed = True
    connection.close_reason = (code, text)


def end_channel(
    channel: State,
    events: list[Event],
    code: int,
    text: str,
    kind: Any,
    closed_by: ClosedBy,
    *,
    keep: bool = False,
) -> None:
    """A channel is over; keep: its number stays in use until the peer knows."""
    _fail(channel.sent, channel.channel, events, code, text, kind)
    _drop(channel.received, code, text)
    channel.recovering.clear()
    for consumer in channel.consumers.values():
        consumer.active = False
    channel.close_reason = (code, text)
    if not keep:
        channel.phase = CLOSED
        channel.connection.channels.pop(channel.number, None)
        channel.connection.states.pop(channel.number, None)
    name = None if kind is None else kind.NAME
    unconfirmed = channel.publications.open() if channel.connection.role == "client" else ()
    events.append(ChannelClosed(channel.channel, code, text, name, closed_by, unconfirmed))


def _drop(requests: deque[PeerRequest], code: int, text: str) -> None:
    """Nobody waits for the answers to these any more."""
    for request in requests:
        request.error = (code, text)
    requests.clear()


def _fail(
    requests: deque[Request],
    channel: Channel | None,
    events: list[Event],
    code: int,
    text: str,
    kind: Any,
) -> None:
    """Tell the end of each; the first one of the method at fault is the cause."""
    has_cause = False
    for request in requests:
        cause = not has_cause and type(request.method) is kind
        has_cause = has_cause or cause
        request.error = (code, text)
        events.append(RequestFailed(channel, request, code, text, cause))
    requests.clear()
