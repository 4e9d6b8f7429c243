"""A connection of 0-9-1, 0-9 or 0-8 in either role: what is sent, the limits, and its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._scalars import as_int
from ..errors import DecodeError, EncodeError
from . import _codes
from ._channel import CLOSING, Channel
from ._client import ClientCalls, ClientHandshake
from ._ending import end_channel, end_connection
from ._face import Role
from ._faults import ChannelException, ConnectionException
from ._model import model_of
from ._output import Output
from ._receive import Receiver
from ._requests import PeerRequest, Request
from ._server import ServerCalls, ServerHandshake
from .errors import LocalProtocolError, RemoteProtocolError
from .events import ClosedBy, Event

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["LegacyConnection"]


class LegacyConnection(Output, ClientCalls, ServerCalls):
    """The engine of 0-9-1, 0-9 and 0-8. Made by ``Connection(role, protocol=...)``.

    Args:
        role: "client" or "server". A client's protocol header waits to be sent from the start.
        protocol: a version, or a protocol module.
        channel_max: highest channel number (0: 65535); the lower one of both ends counts.
        frame_max: bytes a frame may take, its envelope of 8 included (0: no limit); likewise.
        heartbeat: seconds, 0 for none; None takes the server's (a server offers 60).
        max_header_frame: bytes that a method or content header of the peer may take; 0 for no
            limit. None is 16 times frame_max for a client, since RabbitMQ splits bodies only, and
            frame_max for a server.
        max_body_size: bytes of a body that is taken; a larger one closes its channel (311).
        max_requests: how many requests may wait for their replies on a channel, each way.
        validate: hold all that is sent against the specification's asserts (patterns, lengths),
            which raises ValidationError, and all that comes, which ends the connection (502).
        username, password, virtual_host: a client's.
        locale: a client's; where the server does not offer it, the first one that it does.
        capabilities, insist: a client's, of connection.open in 0-8 and 0-9.
        mechanism: a client's SASL mechanism: "PLAIN", "AMQPLAIN", "EXTERNAL"; others with sasl.
        sasl: a function from the challenge (None at first) to the response, both bytes.
        client_properties, server_properties: put over those that this package sends.
        mechanisms, locales: what a server offers, and all that it accepts.

    Attributes:
        role, stage, channel_max, frame_max, heartbeat, peer_properties, virtual_host: as agreed.
        channels: those that are open or closing, by number.
        blocked: why the server reads no publications now, else None.
        is_open: between open-ok and close.
        close_reason: (reply code, reply text) once it is closed.
        context: the caller's own.
        sent, received: requests of the connection itself that wait, as of a channel.
        model, encode, wanted_heartbeat, next_number, publish_class, ack_class, may_ack: the
            engine's own.
    """

    __slots__ = (
        "_decoder",
        "_error",
        "_handshake",
        "_is_closed",
        "_max_requests",
        "_receiver",
        "_validate",
        "ack_class",
        "blocked",
        "channel_max",
        "channels",
        "close_reason",
        "context",
        "heartbeat",
        "is_open",
        "may_ack",
        "next_number",
        "peer_properties",
        "publish_class",
        "received",
        "role",
        "sent",
        "stage",
        "virtual_host",
        "wanted_heartbeat",
    )

    role: Role
    stage: str
    channel_max: int
    heartbeat: int
    wanted_heartbeat: int | None
    virtual_host: str
    is_open: bool
    next_number: int
    publish_class: Any
    ack_class: Any
    may_ack: bool

    def __init__(
        self,
        role: Role,
        *,
        protocol: str | ModuleType = "0-9-1",
        username: str = "guest",
        password: str = "guest",
        virtual_host: str = "/",
        mechanism: str = "PLAIN",
        sasl: Callable[[bytes | None], bytes] | None = None,
        locale: str = "en_US",
        capabilities: str = "",
        insist: bool = False,
        client_properties: dict[str, Any] | None = None,
        server_properties: dict[str, Any] | None = None,
        mechanisms: Iterable[str] = ("PLAIN", "AMQPLAIN"),
        locales: Iterable[str] = ("en_US", "en_GB"),
        channel_max: int = 2047,
        frame_max: int = 131072,
        heartbeat: int | None = None,
        max_header_frame: int | None = None,
        max_body_size: int | None = 128 * 1024 * 1024,
        max_requests: int = 4096,
        validate: bool = False,
    ) -> None:
        if role not in ("client", "server"):
            raise ValueError(f"role is {role!r}, not 'client' or 'server'")
        self.role = role
        channel_max, frame_max = as_int(channel_max), as_int(frame_max)
        heartbeat = as_int(heartbeat)
        self._start_output(model_of(protocol), frame_max, validate)
        self._validate = validate
        if max_header_frame is None and role == "server":
            max_header_frame = 1  # never less than frame_max
        self._decoder = self.model.module.MessageDecoder(
            frame_max, max_body_size, max_header_frame=max_header_frame
        )
        self.publish_class = self.model.method("basic.publish")
        self.ack_class = self.model.method("basic.ack")
        self.may_ack = role in self.ack_class.SENT_BY
        self._error: RemoteProtocolError | None = None
        self._is_closed = False
        self._max_requests = max_requests
        self.next_number = 1
        self.wanted_heartbeat = heartbeat
        self.heartbeat = 0
        self.channel_max = channel_max
        self.peer_properties: dict[str, Any] = {}
        self.virtual_host = ""
        self.channels: dict[int, Channel] = {}
        self.sent: deque[Request] = deque()
        self.received: deque[PeerRequest] = deque()
        self.blocked: str | None = None
        self.is_open = False
        self.stage = "start"
        self.close_reason: tuple[int, str] | None = None
        self.context: Any = None
        self._handshake: ClientHandshake | ServerHandshake
        if role == "client":
            self._handshake = ClientHandshake(
                self,
                username=username,
                password=password,
                virtual_host=virtual_host,
                mechanism=mechanism,
                locale=locale,
                capabilities=capabilities,
                insist=insist,
                client_properties=client_properties,
                sasl=sasl,
            )
        else:
            self._handshake = ServerHandshake(
                self,
                mechanisms=mechanisms,
                locales=locales,
                server_properties=server_properties,
            )
        self._receiver = Receiver(self, self._handshake)

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else self.stage
        return f"Connection({self.role!r}, protocol={self.model.name!r}, {state})"

    # ---- bytes in ----

    def receive_data(self, data: Buffer) -> list[Event]:
        """Take bytes from the peer; see `Connection.receive_data`."""
        if self._error is not None:
            raise self._error.again()
        if self._is_closed:
            return []
        self._beats.heard = True
        events: list[Event] = []
        feed = self._decoder.feed
        handlers = self._receiver.handlers
        other = self._receiver.on_method
        validate = self._validate
        while not self._is_closed:
            try:
                for number, item in feed(data):
                    if validate:
                        self._check_asserts(number, item)
                    handlers.get(type(item), other)(number, item, events)
                    if self._is_closed:
                        break
                break
            except ConnectionException as fault:
                self._answer(fault, events)
            except DecodeError as error:
                self._answer(self._fault_of(error), events)
            except RemoteProtocolError as error:
                self._error = error
                raise
            # The rest of the data stayed in the decoder.
            data = b""
        return events

    def _fault_of(self, error: DecodeError) -> ConnectionException:
        code, number = error.reply_code, error.channel or 0
        method = self.model.methods.get(error.method or "")
        if self.model.is_hard(code):
            return ConnectionException(code, str(error), method, number)
        if number not in self.channels:
            return ConnectionException(
                _codes.CHANNEL_NOT_OPEN, f"content on channel {number}, not open", method, number
            )
        return ChannelException(code, str(error), method, number)

    def _check_asserts(self, number: int, item: Any) -> None:
        """Refuse a method or content whose values the specification excludes."""
        method = getattr(item, "method", item)
        try:
            if hasattr(method, "validate"):
                method.validate()
            if hasattr(item, "properties"):
                item.properties.validate()
        except EncodeError as error:
            code = self.model.illegal_value(error.method, error.field)
            if self.model.is_hard(code):
                raise ConnectionException(code, str(error), method, number) from None
            if number in self.channels:  # else it is refused for its channel
                raise ChannelException(code, str(error), method, number) from None

    def _answer(self, fault: ConnectionException, events: list[Event]) -> None:
        """Close what a fault of the peer ends.

        Raises:
            RemoteProtocolError: the connection.
        """
        code = self.model.reply_code(fault.reply_code)
        text = self.model.reply_text(code, fault.text)
        kind = fault.method
        if kind is not None and not isinstance(kind, type):
            kind = type(kind)
        if isinstance(fault, ChannelException):
            channel = self.channels[fault.number]
            if channel.state != CLOSING and self.is_open:
                channel.queue_close(code, text, kind)
                channel.discarding = True
                end_channel(channel, events, code, text, kind, "local", keep=True)
            return
        if isinstance(self._handshake, ServerHandshake) and self.stage == "start":
            try:
                self._handshake.refuse_header(b"", fault.text, events)
            except RemoteProtocolError as error:
                self._error = error
                raise
        if self.stage != "start" and self.close_reason is None:
            self.queue_close(code, text, kind)
        name = None if kind is None else kind.NAME
        self.end(events, code, text, name, "local")
        self._error = RemoteProtocolError(
            text, reply_code=code, channel=fault.number, method=name, events=events
        )
        raise self._error

    def receive_eof(self) -> list[Event]:
        """The transport is gone; see `Connection.receive_eof`."""
        events: list[Event] = []
        if self._is_closed:
            return events
        code, text = 0, "the transport was closed"
        if self.close_reason is not None:
            code, text = self.close_reason
        elif self.role == "client" and self.stage == "login":
            # What servers do for clients that are not known to understand a close here.
            code = _codes.ACCESS_REFUSED
            text = self.model.reply_text(code, "the server closed it during the login")
        self.drop_output()
        self.end(events, code, text, None, "remote" if self.close_reason is None else "local")
        return events

    # ---- time ----

    def next_timeout(self, now: float) -> float | None:
        """When to call handle_timeout; see `Connection.next_timeout`."""
        return None if self._is_closed else self._beats.next(now)

    def handle_timeout(self, now: float) -> list[Event]:
        """Queue a heartbeat that is due, or end a connection whose peer is silent."""
        events: list[Event] = []
        if self._is_closed:
            return events
        beats = self._beats
        beats.look(now)
        if beats.is_silent(now):
            # Spec: 0-9-1 §4.2.7: without a close, which nobody would read.
            self.drop_output()
            text = f"no byte came for two heartbeats of {self.heartbeat} s"
            self.end(events, 0, text, None, "local")
        elif beats.is_due(now):
            self.queue(0, self.model.module.Heartbeat())
        return events

    # ---- requests ----

    @property
    def closed(self) -> bool:
        """Whether it is over: once sent what waits, close the transport."""
        return self._is_closed

    def check_alive(self) -> None:
        """Refuse what needs a connection that is not over.

        Raises:
            LocalProtocolError: it is closed or closing; says why.
        """
        if self.close_reason is not None:
            code, text = self.close_reason
            raise LocalProtocolError(f"the connection is closed: {code} {text}")

    def check_open(self) -> None:
        """Refuse what needs an open connection; as check_alive."""
        self.check_alive()
        if not self.is_open:
            raise LocalProtocolError("the connection is not open yet")

    def check_method(self, kind: Any) -> str:
        """Name of a method that this end may send.

        Raises:
            LocalProtocolError: it is none of this protocol, or the other end's.
        """
        name: str = getattr(kind, "NAME", "")
        if not name or self.model.methods.get(name) != kind:
            raise LocalProtocolError(f"{kind!r} is no method of AMQP {self.model.name}")
        if self.role not in kind.SENT_BY:
            raise LocalProtocolError(f"a {self.role} does not send {name}")
        return name

    def check_room(self, requests: deque[Request]) -> None:
        """Refuse a request above the limit."""
        if len(requests) >= self._max_requests:
            raise LocalProtocolError(f"{len(requests)} requests wait for their replies already")

    @property
    def max_requests(self) -> int:
        """How many requests may wait for their replies on a channel, each way."""
        return self._max_requests

    def send(self, method: Any) -> Request | None:
        """A server's connection.blocked and unblocked; channels send all else."""
        self.check_open()
        name = self.check_method(type(method))
        if name not in ("connection.blocked", "connection.unblocked"):
            raise LocalProtocolError(f"{name} is sent by a call of its own")
        self.queue(0, method)
        return None

    def respond(self, request: PeerRequest, method: Any) -> None:
        """Answer a request of the connection; `PeerRequest.respond` comes here."""
        if not self.is_open:
            return
        if not self.received or self.received[0] is not request:
            raise LocalProtocolError(f"{request.method.NAME} is not the next to be answered")
        if type(method) not in request.method.RESPONSES:
            raise LocalProtocolError(f"{method.NAME} is no reply to {request.method.NAME}")
        self.queue(0, method)
        self.received.popleft()
        request.response = method

    def _check_tune(self, name: str) -> None:
        """Refuse limits that do not fit into connection.tune or tune-ok.

        Raises:
            EncodeError: names the method and the field.
        """
        limits = {"channel_max": self.channel_max, "frame_max": self.frame_max}
        self.encode(0, self.model.make(name, heartbeat=self.wanted_heartbeat or 0, **limits))

    def tuned(self, channel_max: int, frame_max: int, heartbeat: int) -> None:
        """Take over what was agreed."""
        self.channel_max = channel_max
        self.frame_max = frame_max
        self.heartbeat = heartbeat
        self._decoder.frame_max = frame_max
        self._beats.interval = heartbeat

    def opened(self, virtual_host: str) -> None:
        """The handshake is over."""
        self.virtual_host = virtual_host
        self.stage = "opened"
        self.is_open = True

    # ---- the end ----

    def close(self, reply_code: int = 200, reply_text: str = "", method: Any = None) -> None:
        """Ask the peer to close the connection; ConnectionClosed tells when it is done.

        Does nothing where it is closed or closing already.
        """
        if self.close_reason is not None:
            return
        text = reply_text or self.model.reply_text(reply_code)
        if self.stage == "start":
            self.end([], reply_code, text, None, "local")  # nobody to tell yet
        else:
            self.queue_close(reply_code, text, method)

    def queue_close(self, reply_code: int, reply_text: str, method: Any) -> None:
        """Queue connection.close."""
        class_id, method_id = (method.CLASS_ID, method.METHOD_ID) if method is not None else (0, 0)
        self.queue(
            0,
            self.model.make(
                "connection.close",
                reply_code=reply_code,
                reply_text=reply_text,
                class_id=class_id,
                method_id=method_id,
            ),
        )
        self.is_open = False
        self.close_reason = (reply_code, reply_text)

    def end(
        self,
        events: list[Event],
        code: int,
        text: str,
        method: str | None,
        closed_by: ClosedBy,
        peer_version: str | None = None,
    ) -> None:
        """Everything is over; method: name of the one at fault, or None.

        peer_version: as in the event.
        """
        kind = self.model.methods.get(method or "")
        end_connection(self, events, code, text, kind, closed_by, peer_version)
        self.is_open = False
        self._is_closed = True
        self.close_reason = (code, text)
