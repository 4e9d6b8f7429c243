"""Which TCP ports are a server's: those that are named, or 5672 and those of protocol headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .._facade.scalars import as_ints

__all__ = ["DEFAULT_PORTS", "TLS_PORT", "ServerPorts", "server_ports"]

DEFAULT_PORTS = (5672,)
#: The port of AMQP over TLS: read where there are keys.
TLS_PORT = 5671


class ServerPorts(NamedTuple):
    """numbers: ports that are read. detect: so is a port from its first protocol header on."""

    numbers: tuple[int, ...]
    detect: bool

    @property
    def argument(self) -> tuple[int, ...] | None:
        """The argument `ports` of capture.read that says the same."""
        return None if self.detect else self.numbers


def server_ports(ports: int | Iterable[int] | None, *, keylog: bool = False) -> ServerPorts:
    """What the argument `ports` of capture.read says; keylog: there are secrets of TLS."""
    numbers = DEFAULT_PORTS if ports is None else as_ints(ports)
    return ServerPorts((*numbers, TLS_PORT) if keylog else numbers, ports is None)
