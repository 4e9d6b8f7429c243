"""AMQP 1.0's connection endpoint: frames in, events out, and what it has to send."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from ... import v1_0 as amqp
from ..._facade.scalars import as_int
from ...errors import DecodeError
from .._types import ClosedBy, Event, Role
from ..errors import LocalProtocolError, RemoteProtocolError
from . import events
from .conditions import error_of, symbol_of
from .heartbeats import Heartbeats
from .incoming import take_frame
from .layers import Layers
from .limits import Limits
from .options import OpenOptions
from .sasl import Mechanism, SaslServer
from .serial import FreeNumbers
from .session import Session

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .link import Link
    from .transactions import Coordinator

__all__ = ["Connection"]


class Connection:
    """One end of a connection of AMQP 1.0, without I/O, clock or threads.

    Feed it what the transport received, send what it has to send, and ask it when it wants to be
    woken::

        events = connection.receive_data(data)
        transport.sendall(connection.data_to_send())

    A client sends its open as soon as the layers below are up. Sessions can begin from then on,
    also before the server has answered: while its limits are not known, frames have 512 bytes at
    most. A server answers ConnectionRequested by `accept` or `refuse`.

    Args:
        role: "client" or "server".
        container_id: this end's name; a random one by default.
        hostname: client: the host that is meant.
        sasl: client: a mechanism, or several, the best first; server: a SaslServer. None: without
            the SASL layer.
        tls: negotiate TLS inside of AMQP (§5.2): client: begin with it; server: take it where a
            client asks. Not for port 5671, where TLS is there before AMQP.
        max_frame_size: largest frame that this end takes, in bytes, 512 at least.
        idle_timeout: seconds of silence after which the peer is taken for dead; half of it is
            what the peer is told. None for no limit.
        limits: see Limits.
        offered_capabilities, desired_capabilities, properties: of this end's open.

    Spec: 1.0 Part 2 §2.4.
    """

    channel_max: int
    _limits: Limits
    _open_sent: bool
    _close_sent: bool
    _close_received: bool
    _frame_size: int
    _heartbeats: Heartbeats

    def __init__(
        self,
        role: Role,
        *,
        container_id: str | None = None,
        hostname: str | None = None,
        sasl: Mechanism | Sequence[Mechanism] | SaslServer | None = None,
        tls: bool = False,
        max_frame_size: int = 65_536,
        idle_timeout: float | None = None,
        limits: Limits | None = None,
        offered_capabilities: Sequence[str] | None = None,
        desired_capabilities: Sequence[str] | None = None,
        properties: dict[Any, Any] | None = None,
    ) -> None:
        if role not in ("client", "server"):
            raise ValueError(f'role is "client" or "server", not {role!r}')
        max_frame_size = as_int(max_frame_size)
        if not amqp.MIN_MAX_FRAME_SIZE <= max_frame_size < 1 << 32:
            raise ValueError(f"max_frame_size is 512 to 2**32 - 1, not {max_frame_size}")
        self.role: Role = role
        self._limits = limits or Limits()
        self.hostname = hostname
        self.max_frame_size: int = max_frame_size
        self.remote_open: amqp.Open | None = None
        self._open_sent = self._close_sent = self._close_received = False
        self._frame_size = amqp.MIN_MAX_FRAME_SIZE  # of outgoing frames
        self.channel_max = 0xFFFF  # of this end's own channels: what the peer takes
        self._heartbeats = Heartbeats(as_int(idle_timeout))
        self._partial_bytes = 0
        self._open = amqp.Open(
            container_id or uuid.uuid4().hex,
            hostname,
            max_frame_size=max_frame_size,
            channel_max=self._limits.sessions - 1,
            idle_time_out=self._heartbeats.advertised,
            offered_capabilities=_symbols(offered_capabilities),
            desired_capabilities=_symbols(desired_capabilities),
            properties=properties,
        )
        self._check_open(self._open)
        self._decoder = amqp.Decoder(max_frame_size)
        self._out: list[bytes] = []
        self._out_size = 0
        self._events: list[Event] = []
        self._over = False
        self._error: RemoteProtocolError | None = None
        self._by_channel: dict[int, Session] = {}
        self._channels = FreeNumbers()
        self._by_remote: dict[int, Session] = {}
        self._links: dict[tuple[str, bool], Link] = {}
        #: Server: ids of the open transactions that its coordinators declared. Take those out that
        #: this end rolls back by itself.
        self.transactions: set[bytes] = set()
        self._declared_on: dict[bytes, Coordinator] = {}
        self._layers = Layers(self, _checked_sasl(role, sasl), tls)

    def __repr__(self) -> str:
        return f"<Connection {self.role}, {self.state}>"

    # --- what every session has -------------------------------------------------------------------

    def receive_data(self, data: Buffer) -> list[Event]:
        """Take bytes from the peer, in any chunking; what they mean, in order.

        Empty data means nothing; `receive_eof` says that the peer has closed.

        Raises:
            RemoteProtocolError: the peer broke the protocol. Its ``events`` holds what came
                before; a close is queued.
        """
        if self._error is not None:
            raise self._error.again()
        remainder = memoryview(data).cast("B")
        if self._over or not remainder:
            return self._take_events()
        self._heartbeats.received = True
        while remainder and self._layers.stage == "header":
            remainder = self._layers.take_header(remainder)
        if remainder:
            if self._layers.stage == "tls":
                raise LocalProtocolError("TLS was agreed on: call tls_established() first")
            try:
                for channel, frame in self._decoder.feed(remainder):
                    take_frame(self, channel, frame)
                    if self._over:
                        break
            except DecodeError as error:
                self._fail(error.condition, str(error), channel=error.channel, method=error.method)
        return self._take_events()

    def receive_eof(self) -> list[Event]:
        """Say that no more bytes come: the transport was closed or lost.

        Whatever was open ends: an event for each link, session and the connection. A second call,
        or one after an orderly close, gives none.
        """
        if not self._over:
            self._end_all(None, closed_by="remote", clean=False)
        return self._take_events()

    def data_to_send(self) -> bytes:
        """All bytes that wait to be sent, which are then forgotten here."""
        return b"".join(self.buffers_to_send())

    def buffers_to_send(self) -> list[bytes | memoryview]:
        """The same as buffers for ``sendmsg`` or ``writelines``."""
        out: list[bytes | memoryview] = list(self._out)
        self._out.clear()
        self._out_size = 0
        return out

    @property
    def bytes_to_send(self) -> int:
        """How many bytes wait to be sent; those that a window holds back are not among them."""
        return self._out_size

    def next_timeout(self, now: float) -> float | None:
        """When to call `handle_timeout` at the latest, on the clock of now; None for never.

        Args:
            now: seconds of any clock that does not go backward (``time.monotonic()``).
        """
        return None if self._over else self._heartbeats.next_timeout(now)

    def handle_timeout(self, now: float) -> list[Event]:
        """Do what is due: queue a heartbeat, or end a connection whose peer is silent."""
        if not self._over:
            heartbeat, silent = self._heartbeats.due(now)
            if silent:
                text = "nothing came for the whole idle-time-out"
                error = error_of(amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED, text)
                if self._open_sent and not self._close_sent:
                    self._queue(0, amqp.Close(error))
                self._end_all(error, closed_by="local", clean=False)
            elif heartbeat and self._open_sent and not self._close_sent:
                self._queue_raw(amqp.encode(0, amqp.Heartbeat()))
        return self._take_events()

    @property
    def closed(self) -> bool:
        """Whether the connection is over: once sent what waits, close the transport."""
        return self._over

    # --- requests ---------------------------------------------------------------------------------

    def tls_established(self) -> None:
        """Say that TLS is there, after StartTls. The bytes are the decrypted ones from now on."""
        self._layers.tls_established()

    def authenticate(
        self, accepted: bool = True, code: amqp.SaslCode | int = amqp.SaslCode.AUTH
    ) -> None:
        """Server: decide an AuthenticationRequested. code: what a refusal says.

        A connection that is over stays as it is.
        """
        if self._over:
            return
        self._layers.authenticate(accepted, code)

    def accept(self, **fields: Unpack[OpenOptions]) -> None:
        """Server: answer ConnectionRequested by this end's open.

        fields: of the open, in place of those that the constructor was given. Where the client
        has closed in the meantime nothing happens.
        """
        if self.remote_open is not None and self._over and not self._accepted:
            return
        self._check_alive()
        if self.remote_open is None or self._accepted or self.role == "client":
            raise LocalProtocolError("no connection waits to be accepted")
        if fields:
            bad = {"max_frame_size", "channel_max", "idle_time_out"} & set(fields)
            if bad:
                raise TypeError(f"{', '.join(sorted(bad))} cannot be changed here")
            for name, value in fields.items():
                setattr(self._open, name, value)
            self._check_open(self._open)
        self._accepted = True
        self._queue_open()

    def refuse(self, error: amqp.Error | str, description: str | None = None) -> None:
        """Server: answer ConnectionRequested by an open and a close that says why."""
        self.accept()
        if not self._over:
            self.close(error, description)

    def begin(
        self,
        *,
        incoming_window: int | None = None,
        outgoing_window: int = 0x7FFF_FFFF,
        offered_capabilities: Sequence[str] | None = None,
        desired_capabilities: Sequence[str] | None = None,
        properties: dict[Any, Any] | None = None,
    ) -> Session:
        """Begin a session; SessionOpened follows. incoming_window: transfers, as Limits says.

        Raises:
            LocalProtocolError: this end's open was not sent, or no channel is left.
        """
        self._check_open_state()
        channel = self._free_channel()
        if channel is None:
            raise LocalProtocolError(f"all {self.channel_max + 1} channels are in use")
        session = Session(self, channel, incoming_window or self._limits.incoming_window)
        session._begin(
            None,
            outgoing_window,
            offered_capabilities=_symbols(offered_capabilities),
            desired_capabilities=_symbols(desired_capabilities),
            properties=properties,
        )
        self._map(channel, session)
        return session

    def close(self, error: amqp.Error | str | None = None, description: str | None = None) -> None:
        """Close the connection; ConnectionClosed follows when the peer has answered.

        What the peer sends until then is not looked at. A connection that is over stays as it is.
        """
        if self._is_over():
            return
        if not self._open_sent:
            raise LocalProtocolError("the connection is not open")
        amqp_error = error_of(error, description)
        self._queue(0, amqp.Close(amqp_error))
        self._close_sent = True
        self._close_error = amqp_error

    @property
    def sessions(self) -> list[Session]:
        """The sessions that have a channel."""
        return list(self._by_channel.values())

    @property
    def state(self) -> str:
        """The state by the specification's names: "START", "HDR_EXCH", "OPENED", ... §2.4.6."""
        if self._over:
            return "END"
        if self._close_sent:
            return "CLOSE_SENT"
        if self._layers.stage != "amqp":
            return "START" if self._layers.stage == "header" else "HDR_RCVD"
        received = self.remote_open is not None
        names = {(0, 0): "HDR_EXCH", (1, 0): "OPEN_SENT", (0, 1): "OPEN_RCVD", (1, 1): "OPENED"}
        return names[self._open_sent, received]

    def _free_channel(self) -> int | None:
        return self._channels.lowest(self.channel_max)

    def _map(self, channel: int, session: Session) -> None:
        """Take the channel that `_free_channel` gave for a session."""
        self._channels.take()
        self._by_channel[channel] = session

    def _unmap(self, channel: int) -> None:
        """Free a channel."""
        if self._by_channel.pop(channel, None) is not None:
            self._channels.give_back(channel)

    # --- frames out -------------------------------------------------------------------------------

    def _queue_raw(self, data: bytes) -> None:
        self._out.append(data)
        self._out_size += len(data)
        self._heartbeats.sent = True

    def _encoded(self, channel: int, performative: Any, payload: Buffer = b"") -> bytes:
        """A frame.

        Raises:
            LocalProtocolError: the peer does not take a frame of that size.
            EncodeError: a value has no encoding.
        """
        data = amqp.encode(channel, performative, payload)
        if len(data) > self._frame_size:
            raise LocalProtocolError(
                f"{performative.NAME} takes {len(data)} bytes,"
                f" and the peer's frames {self._frame_size}"
            )
        return data

    def _queue(self, channel: int, performative: Any) -> None:
        self._queue_raw(self._encoded(channel, performative))

    def _queue_open(self) -> None:
        """Send the open, if that was not done."""
        if not self._open_sent:
            self._queue_raw(amqp.encode(0, self._open))
            self._open_sent = True

    def _check_open(self, frame: amqp.Open) -> None:
        size = len(amqp.encode(0, frame))
        if size > amqp.MIN_MAX_FRAME_SIZE:
            raise ValueError(f"the open takes {size} bytes, and must not take more than 512")

    def _amqp_up(self) -> None:
        if self.role == "client":
            self._queue_open()

    # --- ends -------------------------------------------------------------------------------------

    def _emit(self, event: Event) -> None:
        self._events.append(event)

    def _take_events(self) -> list[Event]:
        events = self._events
        self._events = []
        return events

    def _is_over(self) -> bool:
        """Whether the connection has ended or this end has closed it: answers do nothing then."""
        return self._over or self._close_sent

    def _check_alive(self) -> None:
        if self._error is not None:
            raise LocalProtocolError(f"the connection failed: {self._error}")
        if self._over:
            raise LocalProtocolError("the connection is over")

    def _check_open_state(self) -> None:
        if self._over:
            self._check_alive()
        if self._close_sent:
            raise LocalProtocolError("the connection is closing")
        if not self._open_sent:
            raise LocalProtocolError("the connection is not open yet")

    def _illegal(self, channel: int, frame: Any, where: str) -> NoReturn:
        self._fail(
            amqp.AmqpError.ILLEGAL_STATE,
            f"{frame.NAME} {where}",
            channel=channel,
            method=frame.NAME,
        )

    def _fail(
        self,
        condition: str | None,
        text: str,
        *,
        channel: int | None = None,
        method: str | None = None,
        silent: bool = False,
    ) -> NoReturn:
        """End the connection for a mistake of the peer. silent: no frame can say why."""
        symbol = symbol_of(condition or amqp.ConnectionError.FRAMING_ERROR)
        error = amqp.Error(symbol, text)
        if self._layers.stage == "amqp" and not silent and not self._close_sent:
            self._queue_open()
            if len(amqp.encode(0, amqp.Close(error))) > self._frame_size:
                error = amqp.Error(symbol, text[:100])
            self._queue(0, amqp.Close(error))
        self._close_sent = True
        self._end_all(error, closed_by="local", clean=False)
        self._error = RemoteProtocolError(
            text,
            condition=str(symbol),
            channel=channel,
            method=method,
            events=self._take_events(),
        )
        raise self._error

    def _end_without_close(self, event: Event | None) -> None:
        """The SASL layer failed."""
        if event is not None:
            self._emit(event)
        self._end_all(None, closed_by="remote" if self.role == "client" else "local", clean=False)

    def _end_all(self, error: amqp.Error | None, *, closed_by: ClosedBy, clean: bool) -> None:
        """Every session and the connection are over: an event for each."""
        self._over = True
        for session in dict.fromkeys((*self._by_channel.values(), *self._by_remote.values())):
            session._over(error, closed_by)
        self._by_channel.clear()
        self._by_remote.clear()
        self._links.clear()
        self._emit(events.ConnectionClosed(error, closed_by, clean))

    _close_error: amqp.Error | None = None
    _accepted = False


def _symbols(names: Sequence[str] | None) -> list[amqp.Symbol] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"capabilities come in a list, not as {names!r}")
    return [amqp.Symbol(name) for name in names]


def _checked_sasl(
    role: Role, sasl: Mechanism | Sequence[Mechanism] | SaslServer | None
) -> tuple[Mechanism, ...] | SaslServer | None:
    if sasl is None:
        return None
    if isinstance(sasl, SaslServer):
        if role == "client":
            raise TypeError("a client takes mechanisms: Plain(...), Anonymous(), ...")
        return sasl
    if role == "server":
        raise TypeError("a server takes a SaslServer")
    return tuple(sasl) if isinstance(sasl, Sequence) else (sasl,)
