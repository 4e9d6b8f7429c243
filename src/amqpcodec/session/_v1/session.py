"""AMQP 1.0's session endpoint: windows, links by their handles, deliveries by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ... import v1_0 as amqp
from ..._facade.scalars import as_int
from ..errors import LocalProtocolError
from . import events
from .conditions import error_of
from .delivery import IncomingDelivery, OutgoingDelivery
from .link import Link
from .options import BeginOptions, ReceiverOptions, SenderOptions
from .receiver import Receiver
from .sender import Sender
from .serial import FreeNumbers, advance, distance
from .transactions import Controller
from .unsettled import Unsettled
from .windows import Incoming, Outgoing

if TYPE_CHECKING:
    from .._types import ClosedBy
    from .connection import Connection

__all__ = ["Session"]


class Session:
    """A session. Made by ``connection.begin()``, or by SessionRequested.

    Attributes:
        connection: which it belongs to.
        channel: this end's channel number.
        remote_channel: the peer's; None before its begin.
        state: the specification's name of it ("BEGIN_SENT", "MAPPED", ...; §2.5.5).
        remote_begin: what the peer's begin said.

    Spec: 1.0 Part 2 §2.5.
    """

    state: str
    _handle_max: int

    def __init__(self, connection: Connection, channel: int, window: int) -> None:
        self.connection = connection
        self.channel = channel
        self.remote_channel: int | None = None
        self.state = "UNMAPPED"
        self.remote_begin: amqp.Begin | None = None
        self._handle_max = 0xFFFF_FFFF  # of this end's own handles: what the peer takes
        self._incoming = Incoming(window)
        self._outgoing = Outgoing(connection._queue_raw)
        self._by_handle: dict[int, Link] = {}
        self._handles = FreeNumbers()
        self._by_remote: dict[int, Link] = {}
        #: Attached by this end, the peer's attach not here yet: by name and whether it sends.
        self._unanswered: dict[tuple[str, bool], list[Link]] = {}
        self._next_delivery_id = 0
        self._last_delivery_id: int | None = None
        self._sent: Unsettled[OutgoingDelivery] = Unsettled()
        self._received: Unsettled[IncomingDelivery] = Unsettled()
        self._error: amqp.Error | None = None
        self._told_end = False
        self._overtaken = False  # the engine had to answer in the caller's place

    def __repr__(self) -> str:
        return f"<Session {self.channel}, {self.state}>"

    # --- requests ---------------------------------------------------------------------------------

    def accept(
        self,
        *,
        incoming_window: int | None = None,
        outgoing_window: int = 0x7FFF_FFFF,
        **fields: Unpack[BeginOptions],
    ) -> None:
        """Answer SessionRequested by this end's begin. fields: more of the begin.

        Raises:
            LocalProtocolError: no session waits, or the connection was not accepted. Where the
                session or the connection is over, nothing happens.
        """
        if self._overtaken or self._is_over():
            return
        self.connection._check_open_state()
        if self.state != "BEGIN_RCVD":
            raise LocalProtocolError("no session waits to be accepted")
        if incoming_window is not None:
            self._incoming.size = as_int(incoming_window)
        self._answer(outgoing_window, **fields)

    def _answer_to_end(self) -> None:
        """Begin only to end, or for a link that ends before the session was accepted."""
        self._overtaken = True
        self._answer()

    def _answer(self, outgoing_window: int = 0x7FFF_FFFF, **fields: Any) -> None:
        self.connection._queue_open()
        self._begin(self.remote_channel, outgoing_window, **fields)

    def end(self, error: amqp.Error | str | None = None, description: str | None = None) -> None:
        """End the session; SessionEnded follows when the peer has answered.

        What the peer sends on it until then is not looked at. A session that is over stays as it
        is.
        """
        if self._is_over():
            return
        self.connection._check_open_state()
        amqp_error = error_of(error, description)
        if self.state == "BEGIN_RCVD":
            self._answer()
        self._queue(amqp.End(amqp_error))
        self._error = amqp_error
        self.state = "END_SENT"
        self._outgoing.clear()

    def attach_sender(self, name: str, target: Any, **options: Unpack[SenderOptions]) -> Sender:
        """Attach a link to send by; LinkOpened or LinkClosed follows.

        Args:
            name: the link's; unique among those to the same peer.
            target: an address, a Target, or another type that provides target.
            options: see `Link`.
        """
        link = Sender(self, name)
        self._attach(link, options, target=_terminus(amqp.Target, target))
        return link

    def attach_receiver(
        self, name: str, source: Any, **options: Unpack[ReceiverOptions]
    ) -> Receiver:
        """Attach a link to receive by; then give it credit by ``receiver.flow(...)``.

        source: an address or a Source; the rest as for `attach_sender`.
        """
        link = Receiver(self, name)
        self._attach(link, options, source=_terminus(amqp.Source, source))
        return link

    def attach_controller(
        self, name: str, capabilities: Sequence[str] | None = None, **options: Unpack[SenderOptions]
    ) -> Controller:
        """Attach a link to a transaction coordinator (Part 4 §4.2)."""
        symbols = (
            None
            if capabilities is None
            else [amqp.Symbol(capability) for capability in capabilities]
        )
        link = Controller(self, name)
        self._attach(link, options, target=amqp.Coordinator(symbols))
        return link

    def settle(
        self,
        deliveries: Iterable[IncomingDelivery],
        state: Any = None,
        *,
        settled: bool = True,
    ) -> None:
        """Tell the state of several deliveries that came, in as few frames as possible.

        Args:
            deliveries: of this session, in any order. Those that are over are skipped.
            state: an outcome; Accepted() by default.
            settled: also be done with them.
        """
        if not self._is_over():
            self._check()
        outcome = amqp.Accepted() if state is None else state
        deliveries_by_id = {}
        for delivery in deliveries:
            if delivery.link.session is not self:
                raise LocalProtocolError("a delivery belongs to another session")
            if not delivery._is_over(outcome):
                delivery._check_open()
                deliveries_by_id[delivery.id] = delivery
        base = next(iter(deliveries_by_id), 0)
        ordered = sorted(deliveries_by_id, key=lambda number: distance(base, number))
        frames: list[amqp.Disposition] = []
        for number in ordered:
            if frames and advance(frames[-1].last or 0, 1) == number:
                frames[-1].last = number
            else:
                frames.append(
                    amqp.Disposition(amqp.Role.RECEIVER, number, number, settled, outcome)
                )
        for frame in frames:
            self._queue(frame)
        for delivery in deliveries_by_id.values():
            delivery._note(outcome, settled)

    def flow(self, incoming_window: int | None = None, *, echo: bool = False) -> None:
        """Tell this end's windows. incoming_window: transfers to let in, from now on.

        echo: ask for the peer's, which come as SessionFlow. A session that is over stays as it is.
        """
        if self._is_over():
            return
        self._check()
        if incoming_window is not None:
            self._incoming.size = as_int(incoming_window)
        self._send_flow(echo=echo)

    @property
    def links(self) -> list[Link]:
        """The links that are attached, or being so."""
        return list(self._by_handle.values())

    @property
    def window(self) -> int:
        """Transfers that the peer takes now."""
        return self._outgoing.remote_window

    @property
    def bytes_waiting(self) -> int:
        """Bytes of deliveries that wait for the peer's window: the measure for back-pressure."""
        return self._outgoing.bytes_waiting

    # --- frames out -------------------------------------------------------------------------------

    def _queue(self, performative: Any) -> None:
        self.connection._queue(self.channel, performative)

    def _begin(self, remote_channel: int | None, outgoing_window: int, **fields: Any) -> None:
        window = self._incoming.size
        self._outgoing.size = as_int(outgoing_window)
        self._queue(
            amqp.Begin(
                remote_channel,
                self._outgoing.next_id,
                window,
                outgoing_window,
                handle_max=self.connection._limits.links - 1,
                **fields,
            )
        )
        self._incoming.left = window
        self.state = "BEGIN_SENT" if remote_channel is None else "MAPPED"

    def _send_flow(self, **of_link: Any) -> None:
        """Tell the windows, the incoming one opened anew; and of_link, the state of a link."""
        incoming, outgoing = self._incoming, self._outgoing
        self._queue(
            amqp.Flow(
                None if self.remote_begin is None else incoming.next_id,
                incoming.size,
                outgoing.next_id,
                outgoing.size,
                **of_link,
            )
        )
        incoming.left = incoming.size

    def _attach(self, link: Link, options: Mapping[str, Any], **terminus: Any) -> None:
        self._check()
        link._attach(options, **terminus)

    def _free_handle(self) -> int:
        handle = self._handles.lowest(self._handle_max)
        if handle is None:
            raise LocalProtocolError(f"all {self._handle_max + 1} handles are in use")
        return handle

    # --- ends -------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        """Whether the session or its connection has ended: answers do nothing then."""
        if self._told_end or self.state in ("END_SENT", "DISCARDING"):
            return True
        connection = self.connection
        return connection._over or connection._close_sent

    def _check(self) -> None:
        self.connection._check_open_state()
        if self.state not in ("MAPPED", "BEGIN_SENT"):
            raise LocalProtocolError(f"the session is {self.state}, not MAPPED")

    def _fail(self, condition: str, text: str) -> None:
        """End the session for a mistake of the peer."""
        error = error_of(condition, text[:200])
        if self.state == "BEGIN_RCVD":
            self._answer_to_end()
        self._queue(amqp.End(error))
        self._error = error
        self._over(error, closed_by="local")
        self.state = "DISCARDING"

    def _over(self, error: amqp.Error | None, closed_by: ClosedBy) -> None:
        """Tell the end of all links and of the session, once."""
        for link in dict.fromkeys((*self._by_handle.values(), *self._by_remote.values())):
            link._over(error, closed_by, closed=False)
        self._by_handle.clear()
        self._by_remote.clear()
        self._unanswered.clear()
        self._sent.clear()
        self._received.clear()
        self._outgoing.clear()
        self.state = "UNMAPPED"
        if not self._told_end:
            self._told_end = True
            self.connection._emit(events.SessionEnded(self, error, closed_by))

    def _map(self, handle: int, link: Link) -> None:
        """Take the handle that `_free_handle` gave for a link."""
        self._handles.take()
        self._by_handle[handle] = link

    def _unmap_handle(self, handle: int) -> None:
        """Free a handle."""
        if self._by_handle.pop(handle, None) is not None:
            self._handles.give_back(handle)

    def _unmap(self) -> None:
        """Both ends are over: the channels are free again."""
        self.connection._unmap(self.channel)
        if self.remote_channel is not None:
            self.connection._by_remote.pop(self.remote_channel, None)


def _terminus(kind: Any, address: Any) -> Any:
    """A Source or Target of an address."""
    return kind(address) if isinstance(address, str) else address
