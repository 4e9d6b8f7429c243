"""The server's side of the handshake: what a client asks for, and the caller's answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..negotiation import negotiate
from . import _codes, _sasl
from ._channel import StateOfConnection
from ._ending import end_connection, queue_close
from ._faults import ConnectionException
from ._model import tells_refused_login
from ._output import queue, queue_bytes
from ._tuning import check_tune, lowest, opened, tuned
from ._types import Event
from .errors import LocalProtocolError, RemoteProtocolError
from .events import ConnectionOpened, LoginContinued, LoginRequested, OpenRequested

__all__ = ["ServerHandshake"]


class ServerHandshake:
    """Greets a client and passes its wishes on, one at a time."""

    def __init__(
        self,
        connection: StateOfConnection,
        *,
        mechanisms: Iterable[str],
        locales: Iterable[str],
        server_properties: dict[str, Any] | None,
    ) -> None:
        self._connection = connection
        self._mechanisms = tuple(mechanisms)
        self._locales = tuple(locales)
        self._properties = connection.model.peer_properties(server_properties)
        connection.encode(0, self._start(connection.model.version))
        check_tune(connection, "connection.tune")
        self._peer_closes_well = False
        self._virtual_host = ""
        #: What the client has to send, or what the caller has to answer.
        self.expected: tuple[str, ...] = ()
        self.asked: str | None = None

    def on_protocol_header(self, header: Any, events: list[Event]) -> None:
        """Greet, or refuse a version that is not spoken here.

        Raises:
            RemoteProtocolError: another version; the header that names ours is queued.
        """
        connection = self._connection
        model = connection.model
        if model.name in ("0-9-1", "0-9", "0-8"):
            letter = model.name == "0-9"
            answer = negotiate(header, [model.name], letter=letter)
            reply, reason = answer.reply, answer.reason
            spoken = answer.start or model.version
        else:  # loaded from XML
            same = b"AMQP" + bytes(getattr(header, name) for name in header.FIELDS)
            reason = None if same == model.module.PROTOCOL_HEADER else f"not AMQP {model.name}"
            reply, spoken = model.module.PROTOCOL_HEADER, model.version
        if reason is not None:
            self.refuse_header(reply, reason, events)
        connection.stage = "login"
        queue(connection, 0, self._start(spoken))
        self.expected = ("connection.start-ok",)

    def _start(self, version: tuple[int, int]) -> Any:
        return self._connection.model.make(
            "connection.start",
            version_major=version[0],
            version_minor=version[1],
            server_properties=self._properties,
            mechanisms=" ".join(self._mechanisms).encode(),
            locales=" ".join(self._locales).encode(),
        )

    def refuse_header(self, reply: bytes, reason: str | None, events: list[Event]) -> None:
        """End what did not begin as AMQP: by our own header, as the specification wants it."""
        connection = self._connection
        queue_bytes(connection, reply or connection.model.module.PROTOCOL_HEADER)
        end_connection(connection, events, 0, reason or "no protocol header", None, "local")
        raise RemoteProtocolError(reason or "no protocol header", events=events)

    def on_method(self, method: Any, events: list[Event]) -> None:
        """Take the next method of the handshake."""
        name = method.NAME
        if name not in self.expected:
            due = " or ".join(self.expected) or f"our answer to connection.{self.asked}"
            raise ConnectionException(_codes.OUT_OF_TURN, f"{name} where {due} has to come", method)
        self.expected = ()
        getattr(self, "_on_" + name.rpartition(".")[2].replace("-", "_"))(method, events)

    def _on_start_ok(self, method: Any, events: list[Event]) -> None:
        if method.mechanism not in self._mechanisms:
            text = f"mechanism {method.mechanism!r} was not offered"
            raise ConnectionException(_codes.OUT_OF_TURN, text, method)
        if method.locale not in self._locales:
            text = f"locale {method.locale!r} was not offered"
            raise ConnectionException(_codes.OUT_OF_TURN, text, method)
        table = method.client_properties
        self._peer_closes_well = tells_refused_login(table)
        connection = self._connection
        connection.peer_properties = table
        name, password = _sasl.credentials(connection.model, method.mechanism, method.response)
        self.asked = "login"
        events.append(
            LoginRequested(
                mechanism=method.mechanism,
                username=name,
                password=password,
                response=method.response,
                locale=method.locale,
                peer_properties=table,
            )
        )

    def _on_secure_ok(self, method: Any, events: list[Event]) -> None:
        self.asked = "login"
        events.append(LoginContinued(method.response))

    def _on_tune_ok(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        for name in ("channel_max", "frame_max"):
            mine, theirs = getattr(connection, name), getattr(method, name)
            if mine and (theirs > mine or not theirs):
                raise ConnectionException(
                    _codes.LIMIT_REFUSED, f"{name} {theirs} is above the {mine} offered", method
                )
        if 0 < method.frame_max < connection.model.module.FRAME_MIN_SIZE:
            raise ConnectionException(
                _codes.LIMIT_REFUSED, f"frame_max {method.frame_max} is below the minimum", method
            )
        tuned(
            connection,
            lowest(connection.channel_max, method.channel_max),
            method.frame_max,
            method.heartbeat,
        )
        connection.stage = "open"
        self.expected = ("connection.open",)

    def _on_open(self, method: Any, events: list[Event]) -> None:
        self.asked = "open"
        self._virtual_host = method.virtual_host
        events.append(OpenRequested(method.virtual_host))

    # ---- the caller's answers ----

    def _is_asked(self, question: str) -> bool:
        """Whether the client waits for this answer; False where the connection is over.

        Raises:
            LocalProtocolError: it did not ask for it.
        """
        if self._connection.close_reason is not None:
            return False
        if self.asked != question:
            raise LocalProtocolError(f"the client has not asked for {question}")
        self.asked = None
        return True

    def accept_login(self) -> None:
        """Propose the limits of the connection."""
        if not self._is_asked("login"):
            return
        connection = self._connection
        own_heartbeat = connection.wanted_heartbeat
        connection.stage = "tune"
        queue(
            connection,
            0,
            connection.model.make(
                "connection.tune",
                channel_max=connection.channel_max,
                frame_max=connection.frame_max,
                heartbeat=60 if own_heartbeat is None else own_heartbeat,
            ),
        )
        self.expected = ("connection.tune-ok",)

    def challenge(self, raw: bytes) -> None:
        """Ask for more."""
        if not self._is_asked("login"):
            return
        queue(self._connection, 0, self._connection.model.make("connection.secure", challenge=raw))
        self.expected = ("connection.secure-ok",)

    def refuse_login(self, text: str) -> None:
        """Say no: by a close where the client understands it, else by closing the transport."""
        if not self._is_asked("login"):
            return
        connection = self._connection
        code = _codes.ACCESS_REFUSED
        reason = connection.model.reply_text(code, text)
        if self._peer_closes_well:
            queue_close(connection, code, reason, None)
        else:
            end_connection(connection, [], code, reason, None, "local")

    def accept_open(self) -> ConnectionOpened | None:
        """Open the virtual host that was asked for."""
        if not self._is_asked("open"):
            return None
        connection = self._connection
        queue(connection, 0, connection.model.make("connection.open-ok"))
        return opened(connection, self._virtual_host)

    def refuse_open(self, reply_code: int, text: str) -> None:
        """Say no, with the reason."""
        if not self._is_asked("open"):
            return
        connection = self._connection
        queue_close(
            connection,
            reply_code,
            connection.model.reply_text(reply_code, text),
            connection.model.method("connection.open"),
        )
