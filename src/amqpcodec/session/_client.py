"""The client's side of the handshake: start, secure, tune, open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _sasl
from ._faults import HardFault
from .errors import LocalProtocolError
from .events import ConnectionOpened, Event, Redirected

if TYPE_CHECKING:
    from ._legacy import LegacyConnection

__all__ = ["ClientHandshake", "lowest"]


def lowest(mine: int, theirs: int) -> int:
    """The lower of two limits, where 0 stands for none."""
    return min(mine, theirs) if mine and theirs else mine or theirs


class ClientHandshake:
    """Answers the server's methods until the connection is open."""

    def __init__(
        self,
        connection: LegacyConnection,
        *,
        username: str,
        password: str,
        virtual_host: str,
        mechanism: str,
        locale: str,
        client_properties: dict[str, Any] | None,
        sasl: Callable[[bytes | None], bytes] | None,
    ) -> None:
        if sasl is None and mechanism not in _sasl.MECHANISMS:
            known = ", ".join(_sasl.MECHANISMS)
            raise LocalProtocolError(f"{mechanism!r} needs sasl=; known by itself: {known}")
        self._connection = connection
        self._username = username
        self._password = password
        self._virtual_host = virtual_host
        self._mechanism = mechanism
        self._locale = locale
        self._properties = connection.model.peer_properties(client_properties)
        self._sasl = sasl
        self.expected: tuple[str, ...] = ("connection.start",)
        connection.queue_octets(connection.model.module.PROTOCOL_HEADER)

    def on_protocol_header(self, header: Any, events: list[Event]) -> None:
        """The server does not speak this version, and says which it does."""
        speaks = f"{header.major}-{header.minor}-{header.revision}"
        self._connection.end(
            events,
            0,
            f"the server refuses AMQP {self._connection.model.name}; it names {speaks}",
            None,
            "peer",
        )

    def on_method(self, method: Any, events: list[Event]) -> None:
        """Take the next method of the handshake."""
        name = method.NAME
        if name not in self.expected:
            raise HardFault(503, f"{name} where {' or '.join(self.expected)} has to come", method)
        getattr(self, "_on_" + name.rpartition(".")[2].replace("-", "_"))(method, events)

    def _on_start(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        connection.peer_properties = method.server_properties
        offered = method.mechanisms.decode("utf-8", "replace").split()
        if self._mechanism not in offered:
            text = f"the server offers {' '.join(offered)!r} and not {self._mechanism}"
            connection.end(events, 0, text, None, "local")
            return
        connection.stage = "login"
        connection.queue(
            0,
            connection.model.make(
                "connection.start-ok",
                client_properties=self._properties,
                mechanism=self._mechanism,
                response=self._respond(None),
                locale=self._locale,
            ),
        )
        self.expected = ("connection.secure", "connection.tune")

    def _respond(self, challenge: bytes | None) -> bytes:
        if self._sasl is not None:
            return self._sasl(challenge)
        return _sasl.response(
            self._connection.model, self._mechanism, self._username, self._password
        )

    def _on_secure(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        if self._sasl is None:
            text = f"the server challenges {self._mechanism}, which has one response only"
            connection.end(events, 0, text, None, "local")
            return
        response = self._respond(method.challenge)
        connection.queue(0, connection.model.make("connection.secure-ok", response=response))

    def _on_tune(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        if 0 < method.frame_max < connection.model.module.FRAME_MIN_SIZE:
            raise HardFault(530, f"frame_max {method.frame_max} is below the minimum", method)
        channel_max = lowest(connection.channel_max, method.channel_max)
        frame_max = lowest(connection.frame_max, method.frame_max)
        asked = connection.wanted_heartbeat
        heartbeat = method.heartbeat if asked is None else asked and lowest(asked, method.heartbeat)
        connection.stage = "open"
        connection.queue(
            0,
            connection.model.make(
                "connection.tune-ok",
                channel_max=channel_max,
                frame_max=frame_max,
                heartbeat=heartbeat,
            ),
        )
        connection.tuned(channel_max, frame_max, heartbeat)
        connection.queue(
            0, connection.model.make("connection.open", virtual_host=self._virtual_host)
        )
        self.expected = ("connection.open-ok", "connection.redirect")

    def _on_open_ok(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        connection.opened(self._virtual_host)
        events.append(
            ConnectionOpened(
                virtual_host=self._virtual_host,
                peer_properties=connection.peer_properties,
                channel_max=connection.channel_max,
                frame_max=connection.frame_max,
                heartbeat=connection.heartbeat,
            )
        )
        self.expected = ()

    def _on_redirect(self, method: Any, events: list[Event]) -> None:
        events.append(Redirected(method.host, method.known_hosts))
        self._connection.queue_close(200, "redirected", None)
