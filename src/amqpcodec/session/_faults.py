"""Errors of the peer that close a connection or a channel, raised inside the engine.

The specification calls them connection exceptions and channel exceptions (0-9-1 §4.10)."""

from __future__ import annotations

from typing import Any

__all__ = ["ChannelException", "ConnectionException"]


class ConnectionException(Exception):
    """Closes the connection. method: the method at fault, an instance or class, or None."""

    def __init__(self, reply_code: int, text: str, method: Any = None, number: int = 0) -> None:
        super().__init__(text)
        self.reply_code = reply_code
        self.text = text
        self.method = method
        self.number = number


class ChannelException(ConnectionException):
    """Closes one channel."""
