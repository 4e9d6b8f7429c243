"""Numbers of the framing layer and of a connection's methods, as C constants of the core."""

from __future__ import annotations

from amqpcodec.spec.model import Protocol

WANTED = ("frame-method", "frame-header", "frame-body", "frame-heartbeat", "frame-end")

#: Methods of the class connection that the core knows by their number.
METHODS = ("start-ok", "secure", "secure-ok", "tune-ok", "update-secret")


def emit_constants(protocols: list[Protocol]) -> str:
    """Source of ``_gen/constants.pxd``: numbers that all 0-x versions agree on."""
    numbers: dict[str, int] = {}
    for protocol in protocols:
        own_numbers = {name: protocol.constant(name).value for name in WANTED}
        connection = protocol.class_("connection")
        for method in connection.methods:
            if method.name in METHODS:
                own_numbers[f"connection-{method.name}"] = connection.index << 16 | method.index
        for name, value in own_numbers.items():
            if numbers.setdefault(name, value) != value:
                raise ValueError(f"{protocol.name} has another number for {name}")
    lines = ["cdef enum:"]
    lines += [f"    {_macro(name)} = {numbers[name]}" for name in WANTED]
    lines += ["    # Class and method, as the four bytes that begin the payload."]
    lines += [
        f"    CONNECTION_{_macro(name)} = {numbers[f'connection-{name}']:#x}" for name in METHODS
    ]
    return "\n".join(lines) + "\n"


def _macro(name: str) -> str:
    return name.upper().replace("-", "_")
