"""``amqpcodec report``: one page about a recording, which opens without a network."""

from __future__ import annotations

from .command import report

__all__ = ["report"]
