"""The protocol's state machine, without I/O: bytes in, events out; calls in, bytes out.

``Connection("client")`` speaks 0-9-1 with RabbitMQ's extensions; ``protocol="0-9"`` and "0-8" are
the older versions by the same code. `amqpcodec.session.v1` has the Connection of AMQP 1.0.
"""

from __future__ import annotations

from .._facade.public import listing
from ._channel import Channel, Consumer, PeerRequest, Request
from ._connection import Connection
from ._state import OutstandingTags
from ._tag_ranges import TagRanges
from ._types import ClosedBy, Event, Message, Method, Role
from .errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from .events import (
    Acked,
    Acknowledged,
    Blocked,
    ChannelClosed,
    ChannelOpened,
    ConnectionClosed,
    ConnectionOpened,
    ConsumerCancelled,
    Delivered,
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
    "LocalProtocolError",
    "LoginContinued",
    "LoginRequested",
    "Message",
    "Method",
    "MethodReceived",
    "Nacked",
    "OpenRequested",
    "OutstandingTags",
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
