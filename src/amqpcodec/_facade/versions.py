"""The versions of AMQP that the package has, and their modules."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["PROTOCOLS", "protocol_of"]

#: Version -> name of its module in the package.
PROTOCOLS = {"0-9-1": "v0_9_1", "0-9": "v0_9", "0-8": "v0_8", "1.0": "v1_0"}


def protocol_of(version: str) -> ModuleType:
    """The module of one of PROTOCOLS; it is imported when it is first asked for."""
    return import_module(f"amqpcodec.{PROTOCOLS[version]}")
