"""The client's side of the handshake: start, secure, tune, open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..negotiation import version_name
from . import _codes, _sasl
from ._channel import StateOfConnection
from ._ending import end_connection, queue_close
from ._faults import ConnectionException
from ._model import tells_refused_login
from ._output import queue, queue_bytes
from ._tuning import check_tune, lowest, opened, tuned
from ._types import Event
from .errors import LocalProtocolError
from .events import Redirected

__all__ = ["ClientHandshake"]


class ClientHandshake:
    """Answers the server's methods until the connection is open."""

    def __init__(
        self,
        connection: StateOfConnection,
        *,
        username: str,
        password: str,
        virtual_host: str,
        mechanism: str,
        locale: str,
        client_properties: dict[str, Any] | None,
        capabilities: str,
        insist: bool,
        sasl: Callable[[bytes | None], bytes] | None,
    ) -> None:
        if sasl is None and mechanism not in _sasl.MECHANISMS:
            mechanisms = ", ".join(_sasl.MECHANISMS)
            raise LocalProtocolError(f"{mechanism!r} needs sasl=; known by itself: {mechanisms}")
        if sasl is None:  # refuse here, and not while the server's frames are read
            _sasl.response(connection.model, mechanism, username, password)
        self._connection = connection
        self._username = username
        self._password = password
        self._virtual_host = virtual_host
        self._mechanism = mechanism
        self._locale = locale
        self._properties = connection.model.peer_properties(client_properties)
        self._sasl = sasl
        self._open = connection.model.make(
            "connection.open", virtual_host=virtual_host, capabilities=capabilities, insist=insist
        )
        self._check_options()
        self.expected: tuple[str, ...] = ("connection.start",)
        queue_bytes(connection, connection.model.module.PROTOCOL_HEADER)

    def _check_options(self) -> None:
        """Refuse, at once, what could not be encoded when its turn comes.

        Raises:
            EncodeError: names the method and the field.
        """
        connection = self._connection
        connection.encode(0, self._open)
        response = b"-" if self._sasl is not None else self._respond(None)
        connection.encode(0, self._start_ok(response, self._locale))
        check_tune(connection, "connection.tune-ok")

    def _start_ok(self, response: bytes, locale: str) -> Any:
        return self._connection.model.make(
            "connection.start-ok",
            client_properties=self._properties,
            mechanism=self._mechanism,
            response=response,
            locale=locale,
        )

    def on_protocol_header(self, header: Any, events: list[Event]) -> None:
        """The server does not speak this version, and says which it does."""
        connection = self._connection
        spoken = version_name(header, letter=connection.model.name == "0-9")
        text = f"the server refuses AMQP {connection.model.name}; it names {spoken}"
        end_connection(connection, events, 0, text, None, "remote", spoken)

    def on_method(self, method: Any, events: list[Event]) -> None:
        """Take the next method of the handshake."""
        name = method.NAME
        if name not in self.expected:
            raise ConnectionException(
                _codes.OUT_OF_TURN, f"{name} where {' or '.join(self.expected)} has to come", method
            )
        getattr(self, "_on_" + name.rpartition(".")[2].replace("-", "_"))(method, events)

    def _on_start(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        connection.peer_properties = method.server_properties
        connection.tells_refused_login = all(
            map(tells_refused_login, (self._properties, method.server_properties))
        )
        # Spec: 0-9-1 connection.start: a client that cannot use the version MUST close without
        # sending any further data.
        version = (method.version_major, method.version_minor)
        if version != connection.model.version:
            spoken = version_name(version)
            text = f"the server begins AMQP {spoken} and not {connection.model.name}"
            end_connection(connection, events, 0, text, None, "local", spoken)
            return
        offered = method.mechanisms.decode("utf-8", "replace").split()
        if self._mechanism not in offered:
            text = f"the server offers {' '.join(offered)!r} and not {self._mechanism}"
            end_connection(connection, events, 0, text, None, "local")
            return
        connection.stage = "login"
        locales = method.locales.decode("utf-8", "replace").split()
        locale = self._locale if self._locale in locales or not locales else locales[0]
        queue(connection, 0, self._start_ok(self._respond(None), locale))
        self.expected = ("connection.secure", "connection.tune")

    def _respond(self, challenge: bytes | None) -> bytes:
        if self._sasl is not None:
            answer = self._sasl(challenge)
            if not isinstance(answer, bytes):
                kind = type(answer).__name__
                raise LocalProtocolError(f"sasl: the response has to be bytes, not {kind}")
            return answer
        return _sasl.response(
            self._connection.model, self._mechanism, self._username, self._password
        )

    def _on_secure(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        if self._sasl is None:
            text = f"the server challenges {self._mechanism}, which has one response only"
            end_connection(connection, events, 0, text, None, "local")
            return
        response = self._respond(method.challenge)
        queue(connection, 0, connection.model.make("connection.secure-ok", response=response))

    def _on_tune(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        if 0 < method.frame_max < connection.model.module.FRAME_MIN_SIZE:
            raise ConnectionException(
                _codes.LIMIT_REFUSED, f"frame_max {method.frame_max} is below the minimum", method
            )
        channel_max = lowest(connection.channel_max, method.channel_max)
        frame_max = lowest(connection.frame_max, method.frame_max)
        own_heartbeat = connection.wanted_heartbeat
        heartbeat = (
            method.heartbeat
            if own_heartbeat is None
            else own_heartbeat and lowest(own_heartbeat, method.heartbeat)
        )
        connection.stage = "open"
        queue(
            connection,
            0,
            connection.model.make(
                "connection.tune-ok",
                channel_max=channel_max,
                frame_max=frame_max,
                heartbeat=heartbeat,
            ),
        )
        tuned(connection, channel_max, frame_max, heartbeat)
        queue(connection, 0, self._open)
        self.expected = ("connection.open-ok", "connection.redirect")

    def _on_open_ok(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        events.append(opened(connection, self._virtual_host))
        self.expected = ()

    def _on_redirect(self, method: Any, events: list[Event]) -> None:
        events.append(Redirected(method.host, method.known_hosts))
        queue_close(self._connection, 200, "redirected", None)
