"""What users hold of a session of 0-x: channels, requests in both directions, and consumers.

They are thin: what they know is in a ChannelState, what they ask for is done by the engine.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from .._facade.scalars import as_int
from ._checks import is_usable
from ._operations import Operations
from ._state import OPEN, ChannelState, ConnectionState, OutstandingTags
from ._types import Message, Method, Role
from .errors import LocalProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "Channel",
    "Consumer",
    "Endpoint",
    "Engine",
    "PeerRequest",
    "Request",
    "State",
    "StateOfConnection",
]

State: TypeAlias = "ChannelState[Channel, Request, PeerRequest, Consumer]"
StateOfConnection: TypeAlias = "ConnectionState[Channel, Request, PeerRequest, Consumer]"


class Engine(Protocol):
    """What the objects of users ask of the engine."""

    def send_by_name(
        self, channel: State, name: str, arguments: dict[str, Any]
    ) -> Request | None: ...

    def send(
        self, channel: State, method: Any, properties: Any, body: Buffer
    ) -> Request | None: ...

    def respond(
        self, request: PeerRequest, method: Any, properties: Any, body: Buffer
    ) -> Request | None: ...

    def close_channel(
        self, channel: State, reply_code: int, reply_text: str, method: Any
    ) -> None: ...

    def open_channel(self, endpoint: Endpoint, number: int | None) -> Channel: ...

    def update_secret(self, secret: bytes, reason: str) -> Request: ...

    def send_of_connection(self, method: Any) -> None: ...

    def close(self, reply_code: int, reply_text: str, method: Any) -> None: ...


class Request:
    """A method that was sent and waits for its reply.

    Attributes:
        method: what was sent.
        channel: where; None for one of the connection (update-secret).
        response: the method, or the Message of basic.get-ok, that answered it; None before.
        error: (reply code, reply text) once its channel or connection ended, else None.
        consumer: of basic.consume: the Consumer, known by name once the reply is there.
        context: the caller's own, such as a future.
    """

    __slots__ = ("channel", "consumer", "context", "error", "method", "response")
    __match_args__ = ("method", "channel")

    method: Method
    channel: Channel | None
    response: Method | Message[Method] | None
    error: tuple[int, str] | None
    consumer: Consumer | None
    context: Any

    def __init__(self, method: Any, channel: Channel | None) -> None:
        self.method = method
        self.channel = channel
        self.response = None
        self.error = None
        self.consumer = None
        self.context = None

    @property
    def done(self) -> bool:
        """Whether it was answered or has failed."""
        return self.response is not None or self.error is not None

    def __repr__(self) -> str:
        where = 0 if self.channel is None else self.channel.number
        return f"{type(self).__name__}({self.method!r}, channel={where})"


class PeerRequest(Request):
    """A method that the peer sent, and which can be answered.

    Attributes:
        expects_response: False where the peer asked for no reply (no-wait).
    """

    __slots__ = ("_engine", "expects_response")

    expects_response: bool
    _engine: Engine

    def __init__(
        self, method: Any, channel: Channel | None, engine: Engine, expects_response: bool
    ) -> None:
        super().__init__(method, channel)
        self._engine = engine
        self.expects_response = expects_response

    def respond(self, method: Method, properties: Any = None, body: Buffer = b"") -> Request | None:
        """Answer it, in the order in which the requests of a channel came.

        Does nothing where its channel or connection is over, which may have come with the same
        bytes.

        Returns:
            the Request that the reply makes where it asks for an answer itself, as file.open-ok
            asks for file.stage; else None.

        Raises:
            LocalProtocolError: no reply to this one, not its turn, or answered before.
        """
        if not self.expects_response or self.response is not None:
            raise LocalProtocolError(f"{self.method.NAME} waits for no reply")
        return self._engine.respond(self, method, properties, body)


class Consumer:
    """A subscription on a channel.

    Attributes:
        channel: where its deliveries come.
        tag: its name on the channel; "" until the server gave it one.
        queue: name of its queue, as asked for.
        no_ack: whether its deliveries need no acknowledgement.
        active: False once it was cancelled, by either side, or its channel closed.
        context: the caller's own, such as a callback.
    """

    __slots__ = ("active", "channel", "context", "no_ack", "queue", "tag")
    __match_args__ = ("tag", "queue")

    channel: Channel
    tag: str
    queue: str
    no_ack: bool
    active: bool
    context: Any

    def __init__(self, channel: Channel, tag: str, queue: str, no_ack: bool) -> None:
        self.channel = channel
        self.tag = tag
        self.queue = queue
        self.no_ack = no_ack
        self.active = True
        self.context = None

    def __repr__(self) -> str:
        return f"Consumer({self.tag!r}, queue={self.queue!r}, channel={self.channel.number})"


class Channel(Operations[Request]):
    """A channel of a connection of 0-x. Made by open_channel, or since a client asked for it.

    Attributes:
        context: the caller's own.
    """

    __slots__ = ("_connection", "_engine", "context")

    context: Any
    _connection: Endpoint
    _engine: Engine

    def __init__(self, connection: Endpoint, engine: Engine, state: State) -> None:
        self._connection = connection
        self._engine = engine
        self._state = state
        self.context = None
        state.channel = self

    def __repr__(self) -> str:
        return f"Channel({self._state.number})"  # without its state, which may change later

    # ---- what is true now ----

    @property
    def connection(self) -> Endpoint:
        """The Connection that it belongs to."""
        return self._connection

    @property
    def number(self) -> int:
        """From 1 to channel_max."""
        return self._state.number

    @property
    def is_open(self) -> bool:
        """Whether it can be used: open, or asked for."""
        state = self._state
        return state.phase <= OPEN and state.connection.is_open

    @property
    def close_reason(self) -> tuple[int, str] | None:
        """(reply code, reply text) once it is closed by either side."""
        return self._state.close_reason

    @property
    def sent(self) -> deque[Request]:
        """Requests that wait for the peer, in order."""
        return self._state.sent

    @property
    def received(self) -> deque[PeerRequest]:
        """Requests of the peer that wait to be answered, in order."""
        return self._state.received

    @property
    def consumers(self) -> dict[str, Consumer]:
        """The consumers by consumer tag."""
        return self._state.consumers

    @property
    def confirming(self) -> bool:
        """Whether publications are numbered and confirmed."""
        return self._state.confirming

    @property
    def transactional(self) -> bool:
        """Whether it has transactions."""
        return self._state.transactional

    @property
    def flow_active(self) -> bool:
        """False while the server wants no publications."""
        return self._state.flow_active

    @property
    def publications(self) -> OutstandingTags:
        """The numbers of publications that wait for a confirm; ``len()`` counts them."""
        return OutstandingTags(self._state, deliveries=False)

    @property
    def deliveries(self) -> OutstandingTags:
        """The tags of deliveries that wait to be acknowledged; ``len()`` counts them.

        A server numbers its next one ``channel.deliveries.last + 1``.
        """
        return OutstandingTags(self._state, deliveries=True)

    @property
    def ticket(self) -> int:
        """Access ticket that operations of 0-8 and 0-9 name.

        What access.request was answered with last, or what you set. Versions without tickets
        ignore it.
        """
        return self._state.ticket

    @ticket.setter
    def ticket(self, ticket: int) -> None:
        self._state.ticket = ticket

    # ---- calls ----

    def send(self, method: Method, properties: Any = None, body: Buffer = b"") -> Request | None:
        """Send any method of the protocol, with its content if it carries one.

        What answers the peer (a reply, ack, nack, reject, return, a cancel) does nothing on a
        channel that is over: the peer may have closed it with the bytes that are being answered.

        Returns:
            the Request that its reply completes; None where the method has no reply, or nothing
            was sent.

        Raises:
            LocalProtocolError: the rules forbid it now. Nothing was sent.
            EncodeError: a value cannot be encoded. Nothing was sent.
        """
        return self._engine.send(self._state, method, properties, body)

    def _send(self, name: str, **arguments: Any) -> Request | None:
        return self._engine.send_by_name(self._state, name, arguments)

    def _request(self, name: str, **arguments: Any) -> Request:
        return cast("Request", self._engine.send_by_name(self._state, name, arguments))

    def close(
        self,
        reply_code: int = 200,
        reply_text: str = "",
        method: Method | type[Method] | None = None,
    ) -> None:
        """Ask the peer to close the channel; ChannelClosed tells when it is done.

        Does nothing where it is closed or closing already. What the peer confirms or answers until
        then is still reported; deliveries are not.

        Args:
            reply_code: 200, or that of an error.
            reply_text: at most 255 bytes.
            method: the method at fault, for an error.
        """
        if is_usable(self._state):
            self._engine.close_channel(self._state, as_int(reply_code), reply_text, method)


class Endpoint:
    """What a Connection of 0-x sends, and what is true of it: the half that channels know.

    Attributes:
        context: the caller's own.
    """

    __slots__ = ("_engine", "_state", "context")

    _engine: Engine
    _state: StateOfConnection
    context: Any

    def __init__(self, state: StateOfConnection, engine: Engine) -> None:
        self._state = state
        self._engine = engine
        self.context = None

    # ---- bytes out ----

    def data_to_send(self) -> bytes:
        """All bytes that wait to be sent, which are then forgotten here."""
        return b"".join(self.buffers_to_send())

    def buffers_to_send(self) -> list[bytes | memoryview]:
        """The same as buffers for ``sendmsg`` or ``writelines``: bodies are not copied."""
        state = self._state
        out = state.out
        if out:
            state.out = []
            state.out_bytes = 0
            state.beats.sent = True
        return out

    @property
    def bytes_to_send(self) -> int:
        """How many bytes wait to be sent: the caller's measure for back-pressure."""
        return self._state.out_bytes

    # ---- what is true now ----

    @property
    def role(self) -> Role:
        """Which end it is: "client" or "server"."""
        return self._state.role

    @property
    def protocol(self) -> Any:
        """The protocol module that it speaks, such as `amqpcodec.v0_9_1`."""
        return self._state.model.module

    @property
    def stage(self) -> str:
        """How far it has come: "start", "login", "tune", "open" or "opened"."""
        return self._state.stage

    @property
    def is_open(self) -> bool:
        """Between open-ok and close."""
        return self._state.is_open

    @property
    def closed(self) -> bool:
        """Whether the connection is over: once sent what waits, close the transport."""
        return self._state.closed

    @property
    def close_reason(self) -> tuple[int, str] | None:
        """(reply code, reply text) once it is closed."""
        return self._state.close_reason

    @property
    def channel_max(self) -> int:
        """Highest channel number, as agreed; 0: no limit, so up to 65535."""
        return self._state.channel_max

    @property
    def frame_max(self) -> int:
        """Bytes a frame may take, the 8 of its envelope included; 0 for no limit. As agreed."""
        return self._state.frame_max

    @property
    def heartbeat(self) -> int:
        """Seconds between heartbeats, as agreed; 0 for none."""
        return self._state.heartbeat

    @property
    def peer_properties(self) -> dict[str, Any]:
        """The table in which the peer describes itself."""
        return self._state.peer_properties

    @property
    def virtual_host(self) -> str:
        """Name of the virtual host, once it is open."""
        return self._state.virtual_host

    @property
    def blocked(self) -> str | None:
        """Why the server reads no publications now, else None."""
        return self._state.blocked

    @property
    def channels(self) -> dict[int, Channel]:
        """The channels that are open or closing, by number."""
        return self._state.channels

    @property
    def sent(self) -> deque[Request]:
        """Requests of the connection itself that wait for the peer, in order."""
        return self._state.sent

    @property
    def received(self) -> deque[PeerRequest]:
        """Requests of the peer to the connection itself that wait to be answered, in order."""
        return self._state.received

    # ---- calls ----

    def open_channel(self, number: int | None = None) -> Channel:
        """Ask for a channel; ChannelOpened follows. It takes requests from now on.

        Raises:
            LocalProtocolError: not open, no number is free, or number is taken or too high.
        """
        return self._engine.open_channel(self, as_int(number))

    def update_secret(self, secret: bytes, reason: str = "") -> Request:
        """Renew the credentials, such as a token; RabbitMQ's."""
        return self._engine.update_secret(secret, reason)

    def send(self, method: Method) -> None:
        """A server's connection.blocked and unblocked; channels send all else."""
        self._engine.send_of_connection(method)

    def reply_text(self, reply_code: int, detail: str = "") -> str:
        """The text of a close as brokers write it: ``NOT_FOUND - no queue 'q'``.

        Cut to the 255 bytes of a short string.
        """
        return self._state.model.reply_text(reply_code, detail)

    def close(
        self,
        reply_code: int = 200,
        reply_text: str = "",
        method: Method | type[Method] | None = None,
    ) -> None:
        """Ask the peer to close the connection; ConnectionClosed tells when it is done.

        Does nothing where it is closed or closing already.
        """
        self._engine.close(as_int(reply_code), reply_text, method)
