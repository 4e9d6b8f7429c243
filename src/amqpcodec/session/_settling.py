"""Acknowledgements and confirms: a client settles deliveries by them, a server publications."""

from __future__ import annotations

from typing import Any

from ._state import AnyChannelState
from .errors import LocalProtocolError

__all__ = ["send_settling"]


def send_settling(channel: AnyChannelState, method: Any, tag: int, multiple: bool) -> None:
    """Send an ack, nack or reject.

    Raises:
        LocalProtocolError: no such number waits.
    """
    connection = channel.connection
    raw = connection.encode(channel.number, method)
    tag = int(tag)  # NumPy's scalars would be added up in their few bits
    if connection.role == "client":
        recovering = channel.recovering
        if recovering and tag > recovering[0]:
            return  # it came after basic.recover was sent, which gives it back
        if channel.deliveries.settle(tag, multiple) is None:
            if 0 < tag <= channel.deliveries.void:
                return  # basic.recover gave it back
            raise _unknown(channel, method, tag)
    elif channel.publications.settle(tag, multiple) is None:
        raise _unknown(channel, method, tag)
    connection.out.append(raw)
    connection.out_bytes += len(raw)


def _unknown(channel: AnyChannelState, method: Any, tag: int) -> LocalProtocolError:
    return LocalProtocolError(
        f"channel {channel.number}: {method.NAME}: unknown delivery tag {tag}"
    )
