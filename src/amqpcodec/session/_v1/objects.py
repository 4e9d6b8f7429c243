"""What users hold of AMQP 1.0: an endpoint's sessions, links, deliveries and transactions.

Each has what is known of it, and the methods of users. They stand in one module since each names
others in what users call (`Session.attach_sender` returns a Sender, `Sender.session` is a Session,
`Sender.send` returns an OutgoingDelivery, whose `link` is a Sender): in several modules they would
import each other, if only for type checkers. What takes more than their own data is done by the
modules above, of which they know the functions in `Rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Unpack

from ... import v1_0 as amqp
from ..._facade.scalars import as_int
from ...errors import DecodeError
from .._types import Role
from ..errors import LocalProtocolError
from .conditions import error_of
from .endpoint import Endpoint, symbols_of
from .heartbeats import Heartbeats
from .limits import Limits
from .options import (
    AcceptOptions,
    BeginOptions,
    FlowOptions,
    ReceiverOptions,
    SenderOptions,
    TransferOptions,
)
from .resumption import (
    Resumption,
    compare_unsettled,
    is_outcome,
    map_state,
    position_after,
    unsettled_of,
)
from .serial import FreeNumbers, advance, distance
from .unsettled import Unsettled
from .windows import Incoming, Outgoing, Piece

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "Controller",
    "Coordinator",
    "Delivery",
    "IncomingDelivery",
    "Link",
    "OutgoingDelivery",
    "Receiver",
    "Rules",
    "Sender",
    "Session",
    "SessionEndpoint",
    "Transaction",
    "transactional",
]


class Rules(Protocol):
    """What the objects of users ask of the modules above; the module `rules` has it."""

    def accept_link(self, link: Link, options: AcceptOptions, /) -> None: ...

    def attach(self, link: Link, options: Mapping[str, Any], /, **terminus: Any) -> None: ...

    def send(
        self,
        link: Sender,
        message: amqp.Message | Buffer,
        tag: bytes | None,
        settled: bool | None,
        state: Any,
        transaction: Transaction | bytes | None,
        fields: TransferOptions,
        /,
    ) -> OutgoingDelivery: ...

    def begin_delivery(
        self,
        link: Sender,
        tag: bytes | None,
        settled: bool | None,
        state: Any,
        fields: TransferOptions,
        /,
    ) -> OutgoingDelivery: ...

    def resume(
        self, link: Sender, tag: bytes, message: amqp.Message | Buffer | None, /
    ) -> OutgoingDelivery | None: ...

    def check_resumed(self, link: Sender, tag: bytes, state: Any, data: bool, /) -> None: ...

    def may_send(self, link: Sender, delivery: OutgoingDelivery, /) -> bool: ...

    def next_frame(
        self, piece: Piece[Sender, OutgoingDelivery], /
    ) -> tuple[bytes, memoryview | None]: ...

    def settle(
        self, session: Session, deliveries: Iterable[IncomingDelivery], state: Any, settled: bool, /
    ) -> None: ...

    def report_lost(self, link: Controller, transactions: list[Transaction], /) -> None: ...


# --- the connection -------------------------------------------------------------------------------


class SessionEndpoint(Endpoint):
    """One end of a connection with its sessions: what a Connection is to them."""

    _rules: ClassVar[Rules]

    def __init__(
        self,
        role: Role,
        open_frame: amqp.Open,
        max_frame_size: int,
        limits: Limits,
        heartbeats: Heartbeats,
    ) -> None:
        super().__init__(role, open_frame, max_frame_size, limits, heartbeats)
        self._by_channel: dict[int, Session] = {}
        self._channels = FreeNumbers()
        self._by_remote: dict[int, Session] = {}
        self._links: dict[tuple[str, bool], Link] = {}
        self._declared_on: dict[bytes, Coordinator] = {}

    @property
    def sessions(self) -> list[Session]:
        """The sessions that have a channel."""
        return list(self._by_channel.values())

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
            offered_capabilities=symbols_of(offered_capabilities),
            desired_capabilities=symbols_of(desired_capabilities),
            properties=properties,
        )
        self._map(channel, session)
        return session

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


# --- sessions -------------------------------------------------------------------------------------


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

    connection: SessionEndpoint
    state: str
    _handle_max: int

    def __init__(self, connection: SessionEndpoint, channel: int, window: int) -> None:
        self.connection = connection
        self.channel = channel
        self.remote_channel: int | None = None
        self.state = "UNMAPPED"
        self.remote_begin: amqp.Begin | None = None
        self._handle_max = 0xFFFF_FFFF  # of this end's own handles: what the peer takes
        self._incoming = Incoming(window)
        self._rules = connection._rules
        self._outgoing: Outgoing[Sender, OutgoingDelivery] = Outgoing(
            connection._queue_raw, self._rules.may_send, self._rules.next_frame
        )
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
        self._reports_end = False
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
        self._rules.settle(self, deliveries, state, settled)

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
        self._rules.attach(link, options, **terminus)

    # --- handles, channels and ends ---------------------------------------------------------------

    def _free_handle(self) -> int:
        handle = self._handles.lowest(self._handle_max)
        if handle is None:
            raise LocalProtocolError(f"all {self._handle_max + 1} handles are in use")
        return handle

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

    def _is_over(self) -> bool:
        """Whether the session or its connection has ended: answers do nothing then."""
        if self._reports_end or self.state in ("END_SENT", "DISCARDING"):
            return True
        connection = self.connection
        return connection._over or connection._close_sent

    def _check(self) -> None:
        self.connection._check_open_state()
        if self.state not in ("MAPPED", "BEGIN_SENT"):
            raise LocalProtocolError(f"the session is {self.state}, not MAPPED")


def _terminus(kind: Any, address: Any) -> Any:
    """A Source or Target of an address."""
    return kind(address) if isinstance(address, str) else address


# --- links ----------------------------------------------------------------------------------------


class Link:
    """One end of a link: a `Sender`, a `Receiver`, a `Controller` or a `Coordinator`.

    Options of ``session.attach_...`` and ``link.accept``: source, target, snd_settle_mode,
    rcv_settle_mode, max_message_size (bytes; what this end takes), offered_capabilities,
    desired_capabilities, properties, initial_delivery_count (senders), and, to resume deliveries
    of a link that was detached, unsettled: the old link, whose data is kept, or tag -> state; with
    incomplete_unsettled where that is only a part of them.

    Attributes:
        session: which it belongs to.
        name: the same at both ends.
        handle: this end's number, from attach to detach.
        state: "ATTACH_SENT", "ATTACH_RCVD", "ATTACHED", "DETACH_SENT" or "DETACHED".
        remote_attach: what the peer's attach said; None before it came.
        attach: what this end's attach said; None before it was sent.
        snd_settle_mode, rcv_settle_mode: as both attaches have it.
        delivery_count: the sender's count of deliveries, as this end knows it.
        link_credit, drain: the credit after that count, and whether it is to be used up at once.
        unsettled: tag -> delivery, of those that are not settled here. Those of a link before this
            one are added as they are resumed.
    """

    sends: ClassVar[bool]
    session: Session
    state: str
    snd_settle_mode: amqp.SenderSettleMode
    rcv_settle_mode: amqp.ReceiverSettleMode
    delivery_count: int
    link_credit: int
    drain: bool

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self._rules = session._rules
        self.name = name
        self.handle: int | None = None
        self._remote_handle: int | None = None
        self.state = "DETACHED"
        self.remote_attach: amqp.Attach | None = None
        self.attach: amqp.Attach | None = None
        self.delivery_count = 0
        self.link_credit = 0
        self.drain = False
        self.unsettled: dict[bytes, Delivery] = {}
        #: Of the link before this one, not resumed yet: tag -> delivery, or state of one.
        self._in_doubt: dict[bytes, Any] = {}
        self._is_incomplete = False  # whether this end's unsettled map is
        self.snd_settle_mode = amqp.SenderSettleMode.MIXED
        self.rcv_settle_mode = amqp.ReceiverSettleMode.FIRST
        self._closed = False
        self._errant = False
        self._reports_end = False
        self._error: amqp.Error | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.state}>"

    # --- requests ---------------------------------------------------------------------------------

    def accept(self, **options: Unpack[AcceptOptions]) -> None:
        """Answer LinkRequested by this end's attach. The peer's source and target by default.

        A peer that asks for a dynamic node wants its address: pass source= (a sender) or target= (a
        receiver) with address and dynamic, or refuse.

        Raises:
            LocalProtocolError: no link waits, its session was not accepted, or the attach would
                break a rule of Part 2 §2.7.3 or Part 3 §3.5; the text names it. Where the link,
                its session or its connection is over, nothing happens.
        """
        if self._is_over():
            return
        self._check_requested()
        self._rules.accept_link(self, options)

    def refuse(self, error: amqp.Error | str, description: str | None = None) -> None:
        """Answer LinkRequested by an attach without terminus and a detach that says why."""
        if self._is_over():
            return
        self._check_requested()
        if self.sends:
            self.accept(source=None)
        else:
            self.accept(target=None)
        self.detach(error, description)

    def detach(
        self,
        error: amqp.Error | str | None = None,
        description: str | None = None,
        *,
        closed: bool = True,
    ) -> None:
        """Detach the link; LinkClosed follows when the peer has answered.

        closed: for good. Otherwise it can be attached again, with `unsettled_map`. A link that is
        over stays as it is. What waits to be sent on it is dropped.
        """
        if self._is_over():
            return
        if self.state == "ATTACH_RCVD":
            raise LocalProtocolError("accept or refuse the link")
        self.session._check()
        self._detach(error_of(error, description), closed)

    @property
    def unsettled_map(self) -> dict[bytes, Any]:
        """Tag -> this end's state of what is not settled: for attaching again.

        A receiver's are outcomes, and of what has none Received: how far the data came. Of a sender
        None says that all can be sent again.

        Spec: 1.0 Part 3 §3.4.6.
        """
        return {tag: map_state(delivery) for tag, delivery in self._unsettled.items()}

    @property
    def resumptions(self) -> MappingProxyType[bytes, Resumption]:
        """Tag -> what the unsettled maps of both attaches call for; see `compare_unsettled`.

        Raises:
            LocalProtocolError: this end or the peer has not attached yet.
        """
        if self.attach is None or self.remote_attach is None:
            raise LocalProtocolError("the unsettled maps are there after both ends attached")
        own, peer = self.attach, self.remote_attach
        sender, receiver = (own, peer) if self.sends else (peer, own)
        return MappingProxyType(
            compare_unsettled(
                unsettled_of(sender),
                unsettled_of(receiver),
                sender_incomplete=bool(sender.incomplete_unsettled),
                receiver_incomplete=bool(receiver.incomplete_unsettled),
            )
        )

    @property
    def _unsettled(self) -> dict[bytes, Any]:
        """All that is unsettled or in doubt: tag -> delivery, or state of one."""
        return {**self._in_doubt, **self.unsettled}

    @property
    def source(self) -> Any:
        """The source: the sending end's word counts."""
        frame = self.attach if self.sends else self.remote_attach
        return None if frame is None else frame.source

    @property
    def target(self) -> Any:
        """The target: the receiving end's word counts."""
        frame = self.remote_attach if self.sends else self.attach
        return None if frame is None else frame.target

    def _is_over(self) -> bool:
        """Whether the link, its session or its connection has ended: answers do nothing then."""
        return self.state in ("DETACH_SENT", "DETACHED") or self.session._is_over()

    def _check_requested(self) -> None:
        self.session._check()
        if self.state != "ATTACH_RCVD":
            raise LocalProtocolError("no link waits to be accepted")

    def _check(self) -> None:
        self.session._check()
        if self.state != "ATTACHED":
            raise LocalProtocolError(f"the link is {self.state}, not ATTACHED")

    # --- frames out -------------------------------------------------------------------------------

    def _state_fields(self) -> dict[str, Any]:
        """What a flow tells of this end."""
        raise NotImplementedError

    def _send_state(self, **more: Any) -> None:
        self.session._send_flow(**{"handle": self.handle, **self._state_fields(), **more})

    def _detach(self, error: amqp.Error | None, closed: bool) -> None:
        self.session._queue(amqp.Detach(self.handle, closed, error))
        self.state = "DETACH_SENT"
        self._error = error
        self._closed = closed
        self._errant = error is not None
        links = self.session.connection._links
        if links.get((self.name, self.sends)) is self:
            del links[self.name, self.sends]
        self._release()

    def _release(self) -> None:
        """Nothing comes or goes on this link any more; what is unsettled stays known here."""


class Sender(Link):
    """A link's end that sends. Made by ``session.attach_sender`` or LinkRequested.

    Attributes:
        drain: whether the receiver wants all credit used up now.
        available: deliveries that wait at the application; each flow says it. Set it freely.
    """

    sends: ClassVar[bool] = True
    delivery_count: int
    link_credit: int
    drain: bool

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._available: int | None = None
        self._tags = 0
        #: Begun by the caller, no frame of them sent yet: in order.
        self._queued: dict[OutgoingDelivery, None] = {}
        self._open_delivery: OutgoingDelivery | None = None

    @property
    def available(self) -> int | None:
        """Deliveries that wait at the application; None where it does not say. 0 to 2**32 - 1."""
        return self._available

    @available.setter
    def available(self, count: int | None) -> None:
        count = as_int(count)
        if count is not None and not 0 <= count < 1 << 32:
            raise ValueError(f"available is 0 to 2**32 - 1, not {count}")
        self._available = count

    # --- requests ---------------------------------------------------------------------------------

    @property
    def credit(self) -> int:
        """Deliveries that can be sent now; 0 where the link, its session or connection is over."""
        if self._is_over():
            return 0
        return max(self.link_credit - len(self._queued), 0)

    @property
    def remote_max_message_size(self) -> int:
        """Bytes of a message that the receiver takes; 0 for any."""
        return (self.remote_attach and self.remote_attach.max_message_size) or 0

    def send(
        self,
        message: amqp.Message | Buffer,
        *,
        tag: bytes | None = None,
        settled: bool | None = None,
        state: Any = None,
        transaction: Transaction | bytes | None = None,
        **fields: Unpack[TransferOptions],
    ) -> OutgoingDelivery:
        """Send a message, in as many transfers as it takes.

        Args:
            message: a Message, or the bytes of one.
            tag: 1 to 32 bytes, unique among the link's unsettled deliveries; chosen if not given.
            settled: fire and forget; by default as the link's snd_settle_mode says, unsettled
                where that is mixed.
            state: the sender's state of it. For one that is resumed Received: where in the message
                the bytes begin; without it they begin at its start.
            transaction: which it is part of.
            fields: of the transfer: message_format, rcv_settle_mode, batchable, and resume for a
                delivery that both unsettled maps have; see `resume`.

        Raises:
            LocalProtocolError: no credit, the tag is in use, the message is too large, or the
                unsettled maps do not allow it.
            EncodeError: the message has no encoding.
        """
        return self._rules.send(self, message, tag, settled, state, transaction, fields)

    def begin_delivery(
        self,
        *,
        tag: bytes | None = None,
        settled: bool | None = None,
        state: Any = None,
        **fields: Unpack[TransferOptions],
    ) -> OutgoingDelivery:
        """Begin a delivery that is written part by part; see `send` for what can be said of it.

        Another one of this link can begin when it is complete or aborted.
        """
        return self._rules.begin_delivery(self, tag, settled, state, fields)

    def resume(
        self, tag: bytes, message: amqp.Message | Buffer | None = None
    ) -> OutgoingDelivery | None:
        """Do for a delivery what both unsettled maps call for; see `resumptions`.

        It sends the data that the receiver lacks, tells the outcome, aborts, or does nothing.

        Args:
            tag: of the delivery.
            message: all of it, as it was sent the first time: needed to resend and to resume.

        Returns:
            What was sent; None where it was aborted or nothing had to be sent. An aborted one whose
            ``resend`` is true did not arrive: send the message again.

        Raises:
            LocalProtocolError: no map has the tag, it was resumed before, the maps are incomplete,
                or the message is needed and not given or too short.
        """
        return self._rules.resume(self, tag, message)

    def drained(self) -> None:
        """Say that nothing is left to send: gives all credit back, as drain asks for.

        Nothing happens where the receiver does not ask for it any more, or the link is over.
        """
        if self._is_over():
            return
        self._check()
        if not self.drain:
            return
        if self._queued:
            raise LocalProtocolError("deliveries wait to be sent")
        self.delivery_count = advance(self.delivery_count, self.link_credit)
        self.link_credit = 0
        self._send_state()
        self.drain = False

    def flow(
        self, *, available: int | None = None, echo: bool = False, **fields: Unpack[FlowOptions]
    ) -> None:
        """Tell this end's state. available: deliveries that wait. echo: ask for the peer's.

        Nothing happens where the link is over.
        """
        if self._is_over():
            return
        self._check()
        self.available = available
        self._send_state(echo=echo, **fields)

    # --- frames out -------------------------------------------------------------------------------

    def _state_fields(self) -> dict[str, Any]:
        return {
            "delivery_count": self.delivery_count,
            "link_credit": self.link_credit,
            "available": self.available,
            "drain": self.drain,
        }

    def _release(self) -> None:
        session = self.session
        session._outgoing.remove_link(self)
        for delivery in self.unsettled.values():
            if delivery.id is not None:
                session._sent.pop(delivery.id)
        self._queued.clear()
        self.link_credit = 0


class Receiver(Link):
    """A link's end that receives. Made by ``session.attach_receiver`` or LinkRequested.

    Attributes:
        available: deliveries that wait at the sender, as it last said; None if it never did.
        max_message_size: bytes of a message that this end takes.
        partial: the delivery that is coming in parts: its last transfer is not here yet. Else None.
    """

    sends: ClassVar[bool] = False
    max_message_size: int
    delivery_count: int
    link_credit: int
    drain: bool

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.available: int | None = None
        self.max_message_size = session.connection._limits.message_size
        self._limit = 0  # delivery-count up to which credit was ever given
        self.partial: IncomingDelivery | None = None

    # --- requests ---------------------------------------------------------------------------------

    @property
    def credit(self) -> int:
        """Deliveries that may still come; 0 where the link, its session or connection is over."""
        return 0 if self._is_over() else max(self.link_credit, 0)

    def flow(
        self,
        credit: int | None = None,
        *,
        drain: bool = False,
        echo: bool = False,
        properties: dict[Any, Any] | None = None,
    ) -> None:
        """Tell the sender how many deliveries may come from now on; also before it has answered.

        Args:
            credit: in place of what is left of the credit before; None leaves that as it is.
            drain: the sender shall use all of it up now, with deliveries or without.
            echo: ask for the sender's state, which comes as SenderFlow.

        Nothing happens where the link is over.

        Spec: 1.0 Part 2 §2.6.7.
        """
        if self._is_over():
            return
        self.session._check()
        if self.state not in ("ATTACHED", "ATTACH_SENT"):
            self._check()
        if credit is not None:
            credit = index(credit)  # NumPy's scalars would be added up in their few bits
            if not 0 <= credit < 1 << 31:
                raise ValueError(f"credit is 0 to 2**31 - 1, not {credit}")
            self.link_credit = credit
        self.drain = drain
        self._send_state(echo=echo, properties=properties)
        limit = advance(self.delivery_count, self.link_credit)
        if distance(self._limit, limit) > 0:
            self._limit = limit

    def add_credit(self, credit: int) -> None:
        """Let so many deliveries more come."""
        self.flow(self.link_credit + credit, drain=self.drain)

    # --- frames out -------------------------------------------------------------------------------

    def _state_fields(self) -> dict[str, Any]:
        is_attached = self.remote_attach is not None
        return {
            "delivery_count": self.delivery_count if is_attached else None,
            "link_credit": max(self.link_credit, 0),
            "drain": self.drain,
        }

    def _drop(self, partial: IncomingDelivery) -> None:
        """Its bytes are no part of incomplete deliveries any more."""
        self.session.connection._partial_bytes -= partial._counted

    def _release(self) -> None:
        if self.partial is not None:  # what came of it stays in `unsettled`, to be resumed
            self._drop(self.partial)
            self.partial = None
        for delivery in self.unsettled.values():
            self.session._received.pop(delivery.id)
        self.link_credit = 0


# --- deliveries -----------------------------------------------------------------------------------


def transactional(state: Any, transaction: Transaction | bytes | None) -> Any:
    """A state as part of a transaction (Part 4 §4.4.2)."""
    if transaction is None:
        return state
    return amqp.TransactionalState(getattr(transaction, "id", transaction), state)


class Delivery:
    """What both directions share.

    Attributes:
        link: which it belongs to.
        tag: the sender's name for it.
        id: its number in the session; None while it waits to be sent.
        state: this end's state of it; None where it has none.
        settled: whether it is over here.
        remote_settled: whether the peer has done with it.
    """

    __slots__ = (
        *("_all_unsettled", "_remote_clock", "_remote_state", "id", "link", "remote_settled"),
        *("settled", "state", "tag"),
    )

    link: Any
    id: Any
    tag: bytes
    settled: bool
    remote_settled: bool
    state: Any

    def __init__(self, link: Any, tag: bytes, unsettled: Unsettled[Any]) -> None:
        """unsettled: the deliveries of the session in this direction."""
        self.link = link
        self.tag = tag
        self._all_unsettled = unsettled
        self.id = None
        self.state: Any = None
        self._remote_state: Any = None
        self._remote_clock = 0
        self.settled = False
        self.remote_settled = False

    def __repr__(self) -> str:
        state = self.remote_state if self.state is None else self.state
        settled = ", settled" if self.settled else ""
        return f"<{type(self).__name__} {self.id}, tag {self.tag.hex()}, {state!r}{settled}>"

    @property
    def remote_state(self) -> Any:
        """The peer's state of it; None where it has sent none."""
        own = self._remote_state
        unsettled = self._all_unsettled
        if not unsettled.has_ranges or is_outcome(own):
            return own
        return unsettled.state_of(self, own, self._remote_clock)

    @remote_state.setter
    def remote_state(self, state: Any) -> None:
        self._remote_state = state
        self._remote_clock = self._all_unsettled.clock

    def _keep_remote_state(self) -> None:
        """Note the state that the peer sent for a range, before the range is forgotten."""
        self._remote_state = self.remote_state

    def _is_over(self, state: Any = None) -> bool:
        """Whether no answer can reach the peer: it has settled, or the link is over.

        state: that of the answer. It is kept for a link that is attached again.
        """
        if self.remote_settled:
            return True
        if not self.link._is_over():
            return False
        if state is not None and not self.settled and not is_outcome(self.state):
            self.state = state
        return True

    @property
    def _map_state(self) -> Any:
        """What an unsettled map says of it."""
        return self.state

    def _check_open(self) -> None:
        """After `_is_over` said no."""
        if self.link.state != "ATTACHED":
            self.link._check()
        if self.settled:
            raise LocalProtocolError("the delivery is settled")

    def _forget(self) -> None:
        """It is settled: nothing has to be kept."""
        raise NotImplementedError


class OutgoingDelivery(Delivery):
    """A delivery that this end sends. Made by ``sender.send`` or ``sender.begin_delivery``.

    Attributes:
        transfer: what its first transfer says.
    """

    __slots__ = ("_aborted", "_finished", "_gone", "_size", "_started", "transfer")

    link: Sender
    id: int | None
    transfer: amqp.Transfer
    settled: bool
    state: Any

    def __init__(self, link: Sender, transfer: amqp.Transfer) -> None:
        super().__init__(link, transfer.delivery_tag or b"", link.session._sent)
        self.transfer = transfer
        self.settled = bool(transfer.settled)
        self.state = transfer.state
        self._started = self._aborted = False
        self._finished = False  # all of it was written
        self._gone = False  # all of it was sent
        self._size = 0

    def write(self, data: Buffer, *, more: bool = True) -> None:
        """Send a part of the message's bytes. more: another part follows.

        Raises:
            LocalProtocolError: it is complete or was aborted, or becomes larger than the
                receiver takes; the part is not sent.
        """
        self.link._check()
        if self._finished:
            raise LocalProtocolError("the delivery is complete")
        part = memoryview(bytes(data) if not isinstance(data, bytes) else data)
        if self.transfer.resume:
            self.link._rules.check_resumed(self.link, self.tag, self.state, bool(part))
        limit = self.link.remote_max_message_size
        if limit and self._size + len(part) > limit:
            raise LocalProtocolError(f"the receiver takes messages of {limit} bytes at most")
        self._put(part, more)

    def _put(self, part: memoryview, more: bool) -> None:
        """Send a part, or let it wait, after all checks."""
        self._size += len(part)
        self._finished = not more
        self.link.session._outgoing.send(Piece(self.link, self, part, more))

    def abort(self) -> None:
        """Give up a delivery of which not all was sent: the receiver forgets what came of it.

        Nothing happens where the link is over.
        """
        if self.link._is_over():
            return
        if self._gone or self._aborted:
            raise LocalProtocolError("the delivery is complete")
        self._finished = self._aborted = self.settled = True
        session = self.link.session
        self._forget()
        if self._started:
            session._outgoing.abort(self.link, self)
            session._outgoing.flush()
            return
        session._outgoing.remove(self.link, self)
        if self.transfer.resume:  # the receiver has a part of it from before
            session._outgoing.send(Piece(self.link, self, memoryview(b""), False))
        else:  # nothing of it was or will be sent
            self.link._queued.pop(self, None)

    def settle(self, state: Any = None) -> None:
        """Be done with it, and tell the receiver. state: the sender's last word, if any.

        Nothing is sent where the receiver has settled, or the link is over.
        """
        if self._is_over(state):
            return
        self._check_open()
        if type(state) is amqp.Received:
            raise LocalProtocolError(
                "a sender tells Received only in the first transfer of a resumed delivery"
                " (Part 3 §3.4.1)"
            )
        if self.id is None:
            raise LocalProtocolError("the delivery waits to be sent")
        session = self.link.session
        session._queue(amqp.Disposition(amqp.Role.SENDER, self.id, None, True, state))
        self.settled = True
        if state is not None:
            self.state = state
        self._forget()

    def _forget(self) -> None:
        self.link.unsettled.pop(self.tag, None)
        if self.id is not None:
            self._all_unsettled.pop(self.id)


class IncomingDelivery(Delivery):
    """A delivery that came, or a part of one. Made by the engine.

    `accept`, `reject`, `release`, `modify`, `update` and `settle` do nothing where the sender has
    settled it, or its link, session or connection is over.

    Attributes:
        transfer: the first of its transfers: message_format, batchable and so on.
        complete: whether its last transfer came.
        resumed: whether it is one of those that were unsettled when the link was attached.
        position: where in the message `payload` begins, where that is not its start: the Received
            of a resumed delivery whose first part this end did not keep. Else None.
        size: bytes that came, those that were kept from before included.
    """

    __slots__ = (
        *("_counted", "_has_data", "_data", "_ignored", "_message", "_skip"),
        *("complete", "position", "resumed", "size", "transfer"),
    )

    link: Receiver
    id: int
    transfer: amqp.Transfer
    resumed: bool
    complete: bool
    settled: bool
    size: int

    def __init__(self, link: Receiver, transfer: amqp.Transfer) -> None:
        super().__init__(link, transfer.delivery_tag or b"", link.session._received)
        self.id = transfer.delivery_id or 0
        self.transfer = transfer
        self.resumed = transfer.resume
        self.complete = False
        self.position: amqp.Received | None = None
        self.size = 0
        self._data: bytes | bytearray = b""  # one piece, in however many transfers it comes
        self._message: amqp.Message | None = None
        self._ignored = False  # true: nobody needs its data, and no event names it
        self._has_data = False  # its transfers on this link carried some
        self._skip = 0  # bytes to come that this end has already
        self._counted = 0  # bytes of it among the connection's partial_bytes

    @property
    def payload(self) -> bytes:
        """The bytes of its message, as far as they came; see `complete` and `position`."""
        if self.complete:  # it grows no more: from now on there is one copy
            self._data = bytes(self._data)
        return bytes(self._data)

    @property
    def message(self) -> amqp.Message:
        """The payload as a Message; its sections are read when they are asked for.

        Raises:
            DecodeError: the payload is no message, or only a part of one (`complete`, `position`).
        """
        if self._message is None:
            if self.position is not None or not self.complete:
                raise DecodeError("the payload is a part of a message: use payload and position")
            self._message = amqp.Message.decode(self.payload)
        return self._message

    @property
    def received(self) -> amqp.Received:
        """Where in the message the first byte stands that has not come.

        Of a message format other than 0 all is one section.

        Spec: 1.0 Part 3 §3.4.1.
        """
        if self.transfer.message_format:
            return amqp.Received(0, self.size)
        return position_after(self.payload, self.position)

    @property
    def _map_state(self) -> Any:
        state = self.state
        return self.received if state is None or type(state) is amqp.Received else state

    def accept(self, transaction: Transaction | bytes | None = None) -> None:
        """It was dealt with."""
        self._decide(amqp.Accepted(), transaction)

    def reject(
        self,
        error: amqp.Error | str | None = None,
        description: str | None = None,
        transaction: Transaction | bytes | None = None,
    ) -> None:
        """It is invalid and cannot be dealt with."""
        self._decide(amqp.Rejected(error_of(error, description)), transaction)

    def release(self, transaction: Transaction | bytes | None = None) -> None:
        """It was not and will not be dealt with here; somebody else may."""
        self._decide(amqp.Released(), transaction)

    def modify(
        self,
        *,
        delivery_failed: bool = False,
        undeliverable_here: bool = False,
        message_annotations: dict[Any, Any] | None = None,
        transaction: Transaction | bytes | None = None,
    ) -> None:
        """It was not dealt with, and the message is changed as said."""
        state = amqp.Modified(
            delivery_failed or None, undeliverable_here or None, message_annotations
        )
        self._decide(state, transaction)

    def _decide(self, outcome: Any, transaction: Transaction | bytes | None) -> None:
        """Tell an outcome; with rcv-settle-mode first, or in no transaction, also settle."""
        first = self._settle_mode == amqp.ReceiverSettleMode.FIRST
        self.update(transactional(outcome, transaction), settled=first and transaction is None)

    @property
    def _settle_mode(self) -> amqp.ReceiverSettleMode:
        mode = self.transfer.rcv_settle_mode
        return self.link.rcv_settle_mode if mode is None else mode

    def update(self, state: Any, *, settled: bool = False) -> None:
        """Tell a state; settled: also be done with it.

        state: an outcome, or Received(section, offset): how far the data need not be sent again.
        Nothing is sent where the sender has settled, or the link is over; then the state only
        changes `state`, and so `link.unsettled_map`.
        """
        if self._is_over(state):
            return
        if self.settled or self.link.state != "ATTACHED":
            self._check_open()
        self.link.session._queue(
            amqp.Disposition(amqp.Role.RECEIVER, self.id, None, settled, state)
        )
        self._note(state, settled)

    def settle(self) -> None:
        """Settle it with the state that was sent last, or none."""
        self.update(self.state, settled=True)

    def _note(self, state: Any, settled: bool) -> None:
        self.state = state
        if settled:
            self.settled = True
            self._ignored = not self.complete
            self._forget()

    def _forget(self) -> None:
        self.link.unsettled.pop(self.tag, None)
        self._all_unsettled.pop(self.id)


# --- transactions ---------------------------------------------------------------------------------


class Transaction:
    """A transaction of a controller. Made by ``controller.declare``.

    Attributes:
        link: the controller.
        id: the coordinator's name for it; None before TransactionDeclared.
        state: "declaring", "open", "discharging", "committed", "rolled back" or "failed".
    """

    __slots__ = ("_fail", "id", "link", "state")

    link: Controller
    state: str

    def __init__(self, link: Controller) -> None:
        self.link = link
        self.id: bytes | None = None
        self.state = "declaring"
        self._fail = False

    def commit(self) -> None:
        """End it; what was sent and settled in it takes effect. TransactionDischarged follows."""
        self.link._discharge(self, fail=False)

    def rollback(self) -> None:
        """End it as if nothing had been sent or settled in it.

        Nothing happens where it has failed or the controller is over: it was rolled back then.
        """
        self.link._discharge(self, fail=True)

    def __repr__(self) -> str:
        return f"<Transaction {self.id.hex() if self.id else None}, {self.state}>"


class Controller(Sender):
    """The link to a coordinator. Made by ``session.attach_controller``."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._asked: dict[OutgoingDelivery, Transaction] = {}

    def declare(self, global_id: Any = None) -> Transaction:
        """Begin a transaction; TransactionDeclared or TransactionFailed follows."""
        transaction = Transaction(self)
        self._ask(transaction, amqp.Declare(global_id))
        return transaction

    def _discharge(self, transaction: Transaction, fail: bool) -> None:
        if fail and (transaction.state == "failed" or self._is_over()):
            return  # the coordinator has rolled it back
        if transaction.state != "open":
            raise LocalProtocolError(f"the transaction is {transaction.state}, not open")
        self._ask(transaction, amqp.Discharge(transaction.id, fail))
        transaction.state = "discharging"
        transaction._fail = fail

    def _ask(self, transaction: Transaction, value: Any) -> None:
        delivery = self.send(amqp.Message(value=value), settled=False)
        self._asked[delivery] = transaction

    def _release(self) -> None:
        super()._release()
        lost = list(self._asked.values())
        self._asked.clear()
        if lost:
            self._rules.report_lost(self, lost)


class Coordinator(Receiver):
    """A server's end of a controller's link. Made by LinkRequested.

    What comes are DeclareRequested and DischargeRequested. What is neither, or names a
    transaction that is not open, is rejected by the engine with the condition of the
    specification. With the link its transactions end, to be rolled back (Part 4 §4.2).

    Attributes:
        transactions: ids that were declared on this link and not discharged; also after its end.
    """

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.transactions: set[bytes] = set()

    def declare(self, delivery: IncomingDelivery, transaction_id: bytes) -> None:
        """Answer DeclareRequested. transaction_id: 1 to 32 bytes, not in use.

        Raises:
            LocalProtocolError: the id is in use, or has another size. Where the link is over,
                nothing happens.
        """
        if delivery._is_over():
            return
        connection = self.session.connection
        open_transactions = connection.transactions
        if transaction_id in open_transactions or not 1 <= len(transaction_id) <= 32:
            raise LocalProtocolError("a transaction's id has 1 to 32 bytes and is not in use")
        delivery.update(amqp.Declared(transaction_id), settled=True)
        open_transactions.add(transaction_id)
        connection._declared_on[transaction_id] = self
        self.transactions.add(transaction_id)
        if (
            len(connection._declared_on) > 2 * len(open_transactions) + 64
        ):  # the caller rolled them back
            for number in connection._declared_on.keys() - open_transactions:
                connection._declared_on.pop(number).transactions.discard(number)

    def discharge(self, delivery: IncomingDelivery) -> None:
        """Answer DischargeRequested: it was done as asked."""
        delivery.accept()

    def _release(self) -> None:
        super()._release()
        connection = self.session.connection
        for number in self.transactions:
            if connection._declared_on.get(number) is self:
                del connection._declared_on[number]
                connection.transactions.discard(number)
