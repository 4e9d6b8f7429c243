"""What dir() of a public module shows: the names that are for users, and no others."""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["MODULES", "listing"]

#: The modules that users import.
MODULES = (
    "amqpcodec",
    "amqpcodec.aio",
    "amqpcodec.analysis",
    "amqpcodec.batch",
    "amqpcodec.capture",
    "amqpcodec.compat",
    "amqpcodec.compat.amqp",
    "amqpcodec.compat.azure",
    "amqpcodec.compat.pamqp",
    "amqpcodec.compat.pika",
    "amqpcodec.errors",
    "amqpcodec.limits",
    "amqpcodec.negotiation",
    "amqpcodec.polars",
    "amqpcodec.session",
    "amqpcodec.session.events",
    "amqpcodec.session.v1",
    "amqpcodec.spark",
    "amqpcodec.spec",
    "amqpcodec.testing",
    "amqpcodec.traces",
    "amqpcodec.types",
    "amqpcodec.v0_8",
    "amqpcodec.v0_9",
    "amqpcodec.v0_9_1",
    "amqpcodec.v1_0",
    "amqpcodec.v1_types",
)


def listing(name: str) -> Callable[[], list[str]]:
    """A module's ``__dir__``: its ``__all__``, whatever modules below it are loaded."""
    return lambda: sorted(vars(sys.modules[name])["__all__"])
