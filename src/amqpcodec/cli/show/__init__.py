"""``amqpcodec show N``: one frame as a tree, with offsets, beside its bytes in hex."""

from __future__ import annotations

from .command import show

__all__ = ["show"]
