"""What a call of the user needs: an open channel or connection, and a method of this end."""

from __future__ import annotations

from collections import deque
from typing import Any

from ._state import OPEN, PHASES, AnyChannelState, AnyConnectionState
from .errors import LocalProtocolError

__all__ = [
    "check_channel_open",
    "check_flow",
    "check_method",
    "check_not_closed",
    "check_open",
    "check_request_limit",
    "is_usable",
]


def check_not_closed(connection: AnyConnectionState) -> None:
    """Refuse what needs a connection that is not over.

    Raises:
        LocalProtocolError: it is closed or closing; says why.
    """
    if connection.close_reason is not None:
        code, text = connection.close_reason
        raise LocalProtocolError(f"the connection is closed: {code} {text}")


def check_open(connection: AnyConnectionState) -> None:
    """Refuse what needs an open connection; as check_not_closed."""
    check_not_closed(connection)
    if not connection.is_open:
        raise LocalProtocolError("the connection is not open yet")


def is_usable(channel: AnyChannelState) -> bool:
    """Whether a channel is open, or asked for."""
    return channel.phase <= OPEN and channel.connection.is_open


def check_channel_open(channel: AnyChannelState) -> None:
    """Refuse what needs an open channel.

    Raises:
        LocalProtocolError: it is closed or closing; says why.
    """
    if is_usable(channel):
        return
    if channel.close_reason is None:
        check_open(channel.connection)
        raise LocalProtocolError(f"channel {channel.number} is {PHASES[channel.phase]}")
    code, text = channel.close_reason
    raise LocalProtocolError(f"channel {channel.number} is closed: {code} {text}")


def check_flow(channel: AnyChannelState) -> None:
    """Refuse publications that the server does not want.

    Raises:
        LocalProtocolError: the flow is stopped.
    """
    if not channel.flow_active:
        raise LocalProtocolError(
            f"channel {channel.number}: the server has stopped the flow of publications"
        )


def check_method(connection: AnyConnectionState, kind: Any) -> str:
    """Name of a method that this end may send.

    Raises:
        LocalProtocolError: it is none of this protocol, or the other end's.
    """
    name: str = getattr(kind, "NAME", "")
    if not name or connection.model.methods.get(name) != kind:
        raise LocalProtocolError(f"{kind!r} is no method of AMQP {connection.model.name}")
    if connection.role not in kind.SENT_BY:
        raise LocalProtocolError(f"a {connection.role} does not send {name}")
    return name


def check_request_limit(connection: AnyConnectionState, requests: deque[Any]) -> None:
    """Refuse a request above the limit.

    Raises:
        LocalProtocolError: as many requests as are allowed wait for their replies.
    """
    if len(requests) >= connection.max_requests:
        raise LocalProtocolError(f"{len(requests)} requests wait for their replies already")
