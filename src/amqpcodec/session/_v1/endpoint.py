"""One end of a connection of AMQP 1.0 without its sessions: what is known of it, what it sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ... import v1_0 as amqp
from .._types import Event, Role
from ..errors import LocalProtocolError, RemoteProtocolError
from .conditions import error_of
from .heartbeats import Heartbeats
from .limits import Limits
from .options import OpenOptions

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Endpoint", "symbols_of"]


class Endpoint:
    """One end of a connection, but for its sessions: handshake, frames out, events, its end.

    Attributes:
        role: "client" or "server".
        hostname: client: the host that is meant.
        max_frame_size: bytes of a frame that this end takes.
        channel_max: highest channel of this end's own: what the peer takes.
        remote_open: what the peer's open said; None before it came.
        transactions: server: ids of the open transactions that its coordinators declared. Take
            those out that this end rolls back by itself.
    """

    role: Role
    hostname: str | None
    max_frame_size: int
    channel_max: int
    remote_open: amqp.Open | None
    transactions: set[bytes]
    _limits: Limits
    _stage: str
    _open: amqp.Open
    _open_sent: bool
    _close_sent: bool
    _close_received: bool
    _frame_size: int
    _heartbeats: Heartbeats
    _close_error: amqp.Error | None = None
    _accepted = False

    def __init__(
        self,
        role: Role,
        open_frame: amqp.Open,
        max_frame_size: int,
        limits: Limits,
        heartbeats: Heartbeats,
    ) -> None:
        self.role = role
        self._limits = limits
        self.hostname = open_frame.hostname
        self.max_frame_size = max_frame_size
        self.remote_open = None
        #: "header" (the peer's eight bytes are awaited), "tls" (the caller starts it), "sasl",
        #: "amqp-header" (after SASL), "amqp".
        self._stage = "header"
        self._open_sent = self._close_sent = self._close_received = False
        self._frame_size = amqp.MIN_MAX_FRAME_SIZE  # of outgoing frames
        self.channel_max = 0xFFFF
        self._heartbeats = heartbeats
        self._partial_bytes = 0
        self._open = open_frame
        self._check_open(open_frame)
        self._out: list[bytes] = []
        self._out_size = 0
        self._events: list[Event] = []
        self._over = False
        self._error: RemoteProtocolError | None = None
        self.transactions = set()

    def __repr__(self) -> str:
        return f"<Connection {self.role}, {self.state}>"

    # --- bytes out, and what is true now ----------------------------------------------------------

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

    @property
    def closed(self) -> bool:
        """Whether the connection is over: once sent what waits, close the transport."""
        return self._over

    @property
    def state(self) -> str:
        """The state by the specification's names: "START", "HDR_EXCH", "OPENED", ... §2.4.6."""
        if self._over:
            return "END"
        if self._close_sent:
            return "CLOSE_SENT"
        if self._stage != "amqp":
            return "START" if self._stage == "header" else "HDR_RCVD"
        received = self.remote_open is not None
        names = {(0, 0): "HDR_EXCH", (1, 0): "OPEN_SENT", (0, 1): "OPEN_RCVD", (1, 1): "OPENED"}
        return names[self._open_sent, received]

    # --- requests ---------------------------------------------------------------------------------

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

    # --- events and ends --------------------------------------------------------------------------

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


def symbols_of(names: Sequence[str] | None) -> list[amqp.Symbol] | None:
    """Capabilities as symbols."""
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"capabilities come in a list, not as {names!r}")
    return [amqp.Symbol(name) for name in names]
