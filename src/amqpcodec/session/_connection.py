"""A connection of 0-9-1, 0-9 or 0-8 in either role: bytes in, events out; calls in, bytes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from .._facade.scalars import as_int
from ..errors import DecodeError
from . import _codes
from ._channel import Endpoint, StateOfConnection
from ._client import ClientHandshake
from ._ending import end_connection
from ._engine import ConnectionEngine
from ._faults import ConnectionException
from ._model import model_of
from ._output import drop_output, queue
from ._receive import Receiver
from ._server import ServerHandshake
from ._state import ConnectionState
from ._types import ClosedBy, Event, Role
from .errors import LocalProtocolError, RemoteProtocolError
from .events import ConnectionOpened

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Connection"]


class Connection(Endpoint):
    """One end of a connection of AMQP 0-9-1, 0-9 or 0-8, without I/O, clock or threads.

    Feed it what the transport received, send what it has to send, and ask it when it wants to be
    woken::

        connection = Connection("client", username="guest", password="guest")
        transport.sendall(connection.data_to_send())
        events = connection.receive_data(transport.recv(65536))

    AMQP 1.0 has a class of its own: `amqpcodec.session.v1.Connection`.

    Args:
        role: "client" or "server". A client's protocol header waits to be sent from the start.
        protocol: "0-9-1" with RabbitMQ's extensions, "0-9", "0-8", or a protocol module, such as of
            `load_xml_spec`.
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

    Raises:
        ValueError: there is no such role or protocol.
        LocalProtocolError: an option that the protocol, or the mechanism, cannot have.
        EncodeError: a value that could not be encoded later.
    """

    __slots__ = ("_handshake", "_receiver", "_validate")

    _handshake: ClientHandshake | ServerHandshake
    _receiver: Receiver
    _validate: bool

    def __init__(
        self,
        role: Role,
        *,
        protocol: Literal["0-9-1", "0-9", "0-8"] | ModuleType = "0-9-1",
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
        model = model_of(protocol)
        frame_max = as_int(frame_max)
        state: StateOfConnection = ConnectionState(
            role,
            model,
            channel_max=as_int(channel_max),
            frame_max=frame_max,
            heartbeat=as_int(heartbeat),
            max_requests=as_int(max_requests),
        )
        module = model.module
        state.encode = module.encode
        state.encode_message = module.encode_message
        state.encode_parts = module.encode_parts
        if validate:
            state.encode = partial(module.encode, validate=True)
            state.encode_message = partial(module.encode_message, validate=True)
            state.encode_parts = partial(module.encode_parts, validate=True)
        if max_header_frame is None and role == "server":
            max_header_frame = 1  # never less than frame_max
        state.decoder = module.MessageDecoder(
            frame_max, max_body_size, max_header_frame=max_header_frame
        )
        engine = ConnectionEngine(state)
        super().__init__(state, engine)
        self._validate = validate
        if role == "client":
            self._handshake = ClientHandshake(
                state,
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
                state,
                mechanisms=mechanisms,
                locales=locales,
                server_properties=server_properties,
            )
        self._receiver = Receiver(state, self._handshake, self, engine)

    def __repr__(self) -> str:
        state = self._state
        stage = "closed" if state.closed else state.stage
        return f"Connection({state.role!r}, protocol={state.model.name!r}, {stage})"

    # ---- bytes in ----

    def receive_data(self, data: Buffer) -> list[Event]:
        """Take bytes from the peer, in any chunking; what they mean, in order.

        Empty data holds nothing, and has the peer count as alive: who does not read for a while
        says so by it. `receive_eof` says that the peer has closed.

        Raises:
            RemoteProtocolError: the peer broke the protocol. Its ``events`` holds what came
                before; a close is queued.
        """
        state = self._state
        if state.error is not None:
            raise state.error.again()
        if state.closed:
            return []
        state.beats.heard = True
        events: list[Event] = []
        feed = state.decoder.feed
        receiver = self._receiver
        handlers = receiver.handlers
        other = receiver.on_method
        validate = self._validate
        while not state.closed:
            try:
                for number, item in feed(data):
                    if validate:
                        receiver.check_asserts(number, item)
                    handlers.get(type(item), other)(number, item, events)
                    if state.closed:
                        break
                break
            except ConnectionException as fault:
                receiver.answer(fault, events)
            except DecodeError as error:
                receiver.answer(receiver.fault_of(error), events)
            except RemoteProtocolError as error:
                state.error = error
                raise
            # The rest of the data stayed in the decoder.
            data = b""
        return events

    def receive_eof(self) -> list[Event]:
        """Say that no more bytes come: the transport was closed or lost.

        Whatever was open ends: an event for each request, channel and the connection. A second
        call, or one after an orderly close, gives none.
        """
        events: list[Event] = []
        state = self._state
        if state.closed:
            return events
        code, text = 0, "the transport was closed"
        if state.close_reason is not None:
            code, text = state.close_reason
        elif state.role == "client" and state.stage == "login" and not state.tells_refused_login:
            # What servers do for clients that are not known to understand a close here.
            code = _codes.ACCESS_REFUSED
            text = state.model.reply_text(code, "the server closed it during the login")
        drop_output(state)
        closed_by: ClosedBy = "remote" if state.close_reason is None else "local"
        end_connection(state, events, code, text, None, closed_by)
        return events

    # ---- time ----

    def next_timeout(self, now: float) -> float | None:
        """When to call `handle_timeout` at the latest, on the clock of now; None for never.

        Args:
            now: seconds of any clock that does not go backward (``time.monotonic()``).
        """
        state = self._state
        return None if state.closed else state.beats.next(now)

    def handle_timeout(self, now: float) -> list[Event]:
        """Do what is due: queue a heartbeat, or end a connection whose peer is silent."""
        events: list[Event] = []
        state = self._state
        if state.closed:
            return events
        beats = state.beats
        beats.look(now)
        if beats.is_silent(now):
            # Spec: 0-9-1 §4.2.7: without a close, which nobody would read.
            drop_output(state)
            text = f"no byte came for two heartbeats of {state.heartbeat} s"
            end_connection(state, events, 0, text, None, "local")
        elif beats.is_due(now):
            queue(state, 0, state.model.module.Heartbeat())
        return events

    # ---- a server's answers to the handshake ----

    def _server(self) -> ServerHandshake:
        if not isinstance(self._handshake, ServerHandshake):
            raise LocalProtocolError("a client has nobody to let in")
        return self._handshake

    def accept_login(self) -> None:
        """Answer LoginRequested or LoginContinued: let the client in."""
        self._server().accept_login()

    def challenge(self, raw: bytes) -> None:
        """Answer LoginRequested or LoginContinued: ask for more (connection.secure)."""
        self._server().challenge(raw)

    def refuse_login(self, text: str = "login was refused") -> None:
        """Answer LoginRequested or LoginContinued: no, with code 403 and the reason.

        A client that does not announce authentication_failure_close is closed without a word.
        """
        self._server().refuse_login(text)

    def accept_open(self) -> ConnectionOpened | None:
        """Answer OpenRequested: the connection is open. None where it is over already."""
        return self._server().accept_open()

    def refuse_open(self, reply_code: int = 530, text: str = "") -> None:
        """Answer OpenRequested: no such virtual host, or not for this client."""
        self._server().refuse_open(as_int(reply_code), text)
