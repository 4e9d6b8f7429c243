"""Type stubs."""

from __future__ import annotations

from amqpcodec.spec.model import Protocol


def emit_stubs(protocol: Protocol, module: str) -> str:
    """Source of ``_gen/<version>.pyi``."""
    return ""
