"""Numbers of the framing layer, as C constants of the core."""

from __future__ import annotations

from amqpcodec.spec.model import Protocol

WANTED = ("frame-method", "frame-header", "frame-body", "frame-heartbeat", "frame-end")


def emit_constants(protocol: Protocol) -> str:
    """Source of ``_gen/constants.pxd``. All 0-x versions agree on these numbers."""
    values = {constant.name: constant.value for constant in protocol.constants}
    lines = ["cdef enum:"]
    lines += [f"    {name.upper().replace('-', '_')} = {values[name]}" for name in WANTED]
    return "\n".join(lines) + "\n"
