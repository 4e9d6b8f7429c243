"""How things end: requests, then channels, then the connection, each told once."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ._channel import CLOSED, Channel
from ._requests import PeerRequest, Request
from .events import ChannelClosed, ClosedBy, ConnectionClosed, Event, RequestFailed

if TYPE_CHECKING:
    from ._legacy import LegacyConnection

__all__ = ["end_channel", "end_connection"]


def end_connection(
    connection: LegacyConnection,
    events: list[Event],
    code: int,
    text: str,
    kind: Any,
    closed_by: ClosedBy,
    peer_version: str | None = None,
) -> None:
    """All is over. kind: class of the method at fault, or None; peer_version: as in the event."""
    _fail(connection.sent, None, events, code, text, kind)
    for channel in list(connection.channels.values()):
        if not channel.discarding:  # else it was told
            end_channel(channel, events, code, text, kind, closed_by)
    connection.channels.clear()
    _drop(connection.received, code, text)
    name = None if kind is None else kind.NAME
    events.append(ConnectionClosed(code, text, name, closed_by, connection.stage, peer_version))


def end_channel(
    channel: Channel,
    events: list[Event],
    code: int,
    text: str,
    kind: Any,
    closed_by: ClosedBy,
    *,
    keep: bool = False,
) -> None:
    """A channel is over; keep: its number stays in use until the peer knows."""
    _fail(channel.sent, channel, events, code, text, kind)
    _drop(channel.received, code, text)
    channel._recovering.clear()
    for consumer in channel.consumers.values():
        consumer.active = False
    channel.close_reason = (code, text)
    if not keep:
        channel.state = CLOSED
        channel.connection.channels.pop(channel.number, None)
    name = None if kind is None else kind.NAME
    unconfirmed = channel.publications.open() if channel.connection.role == "client" else ()
    events.append(ChannelClosed(channel, code, text, name, closed_by, unconfirmed))


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
