"""The protocol's state machine, without I/O: bytes in, events out; calls in, bytes out.

``Connection("client")`` speaks 0-9-1 with RabbitMQ's extensions, ``protocol="0-9"`` and "0-8" the
older ones by the same code, ``protocol="1.0"`` AMQP 1.0 by an engine of its own with the same face.
"""

from __future__ import annotations

from .._public import listing
from ._channel import Channel
from ._face import Connection, Role
from ._legacy import LegacyConnection
from ._requests import Consumer, PeerRequest, Request
from ._tag_ranges import TagRanges
from .errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from .events import (
    Acked,
    Acknowledged,
    Blocked,
    ChannelClosed,
    ChannelOpened,
    ClosedBy,
    ConnectionClosed,
    ConnectionOpened,
    ConsumerCancelled,
    Delivered,
    Event,
    FlowChanged,
    LoginContinued,
    LoginRequested,
    MethodReceived,
    Nacked,
    OpenRequested,
    Published,
    Redirected,
    Rejected,
    Replied,
    Requested,
    RequestFailed,
    Returned,
    Unblocked,
)

__all__ = [
    "Acked",
    "Acknowledged",
    "Blocked",
    "Channel",
    "ChannelClosed",
    "ChannelOpened",
    "ClosedBy",
    "Connection",
    "ConnectionClosed",
    "ConnectionOpened",
    "Consumer",
    "ConsumerCancelled",
    "Delivered",
    "Event",
    "FlowChanged",
    "LegacyConnection",
    "LocalProtocolError",
    "LoginContinued",
    "LoginRequested",
    "MethodReceived",
    "Nacked",
    "OpenRequested",
    "PeerRequest",
    "ProtocolError",
    "Published",
    "Redirected",
    "Rejected",
    "RemoteProtocolError",
    "Replied",
    "Request",
    "RequestFailed",
    "Requested",
    "Returned",
    "Role",
    "TagRanges",
    "Unblocked",
]

__dir__ = listing(__name__)
