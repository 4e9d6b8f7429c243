"""The sending end of a link: credit, deliveries, drain (Part 2 §2.6.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from ... import v1_0 as amqp
from ..._facade.scalars import as_int
from ..errors import LocalProtocolError
from . import events
from .delivery import OutgoingDelivery, transactional
from .faults import LinkFault
from .link import Link
from .options import FlowOptions, TransferOptions
from .resumption import ResumptionAction, is_gap, is_outcome, offset_of, unsettled_of
from .serial import advance, distance

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .session import Session
    from .transactions import Transaction

__all__ = ["Sender"]


class Sender(Link):
    """A link's end that sends. Made by ``session.attach_sender`` or LinkRequested.

    Attributes:
        drain: whether the receiver wants all credit used up now.
        available: deliveries that wait at the application, told with each flow; set it freely.
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
        payload = message.encode() if isinstance(message, amqp.Message) else bytes(message)
        limit = self.remote_max_message_size
        if limit and len(payload) > limit:
            raise LocalProtocolError(f"the receiver takes messages of {limit} bytes at most")
        if fields.get("resume") and tag is not None:
            self._check()
            self._check_first(tag, state, resume=True)
            self._check_resumed(bytes(tag), state, bool(payload))
        delivery = self.begin_delivery(
            tag=tag, settled=settled, state=transactional(state, transaction), **fields
        )
        delivery._put(memoryview(payload), more=False)
        return delivery

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
        self._check()
        if self.link_credit <= len(self._queued):
            raise LocalProtocolError("the receiver gives no credit")
        if self._open_delivery is not None and not self._open_delivery._finished:
            raise LocalProtocolError("a delivery of this link is not complete")
        transfer = self._transfer(tag, settled, state, fields)
        delivery = OutgoingDelivery(self, transfer)
        self._in_doubt.pop(delivery.tag, None)
        if not delivery.settled:
            self.unsettled[delivery.tag] = delivery
        self._queued[delivery] = None
        self._open_delivery = delivery
        return delivery

    _open_delivery: OutgoingDelivery | None = None

    def _transfer(
        self, tag: bytes | None, settled: bool | None, state: Any, fields: TransferOptions
    ) -> amqp.Transfer:
        mode = self.snd_settle_mode
        resume = bool(fields.get("resume"))
        if settled is None:
            settled = mode == amqp.SenderSettleMode.SETTLED
        elif mode != amqp.SenderSettleMode.MIXED and settled != bool(mode) and not resume:
            raise LocalProtocolError(f"the link's snd-settle-mode is {mode.name.lower()}")
        self._check_first(tag, state, resume)
        tag = self._next_tag() if tag is None else bytes(tag)
        if not 1 <= len(tag) <= 32:
            raise LocalProtocolError(f"a tag has 1 to 32 bytes, not {len(tag)}")
        if tag in self.unsettled:
            raise LocalProtocolError("an unsettled delivery has the same tag")
        fields.setdefault("message_format", amqp.MESSAGE_FORMAT)
        transfer = amqp.Transfer(
            self.handle, 0xFFFF_FFFF, tag, settled=settled or None, more=True, state=state, **fields
        )
        if state is not None or len(fields) > 1:  # else it is far smaller than any frame
            head = amqp.encode(self.session.channel, transfer)
            if len(head) >= self.session.connection._frame_size:
                raise LocalProtocolError(
                    "the delivery's state does not fit into a frame of the peer"
                )
        return transfer

    def _next_tag(self) -> bytes:
        while True:
            self._tags = advance(self._tags, 1)
            tag = self._tags.to_bytes(4, "big")
            if tag not in self.unsettled and tag not in self._in_doubt:
                return tag

    def _is_shared(self, tag: bytes) -> bool:
        """Whether both unsettled maps have a tag, and it was not resumed yet."""
        return tag in self._in_doubt and tag in unsettled_of(self.remote_attach)

    def _check_first(self, tag: bytes | None, state: Any, resume: bool) -> None:
        """Raise where the unsettled maps do not allow a delivery to begin so."""
        if resume:
            if tag is None or not self._is_shared(bytes(tag)):
                raise LocalProtocolError(
                    "only a delivery that both unsettled maps have can be resumed, once; the"
                    " receiver ignores others: send it without resume (Part 2 §2.7.5)"
                )
            return
        if type(state) is amqp.Received:
            raise LocalProtocolError(
                "a sender tells Received only in the first transfer of a resumed delivery:"
                " pass resume=True, or no state (Part 3 §3.4.1)"
            )
        peer = self.remote_attach
        if peer is not None and peer.incomplete_unsettled:
            raise LocalProtocolError(
                "the receiver's unsettled map is incomplete: only resumed deliveries can be sent;"
                " detach and attach again after them (Part 2 §2.7.3)"
            )
        if tag is not None and self._is_shared(bytes(tag)):
            raise LocalProtocolError(
                "both unsettled maps have the tag: pass resume=True, or send by another tag"
                " (Part 2 §2.6.13)"
            )

    def _check_resumed(self, tag: bytes, state: Any, data: bool) -> None:
        """Raise where a resumed delivery cannot be sent so. data: it has bytes."""
        own = unsettled_of(self.attach).get(tag)
        peer = unsettled_of(self.remote_attach).get(tag)
        if is_outcome(own) and state not in (None, own):
            raise LocalProtocolError(
                f"this end's outcome is {own!r} and does not change: pass it as the state, or none"
                " (Part 3 §3.4.6)"
            )
        if is_outcome(own) or is_outcome(peer):
            if data:
                raise LocalProtocolError(
                    "the delivery has an outcome: send b'' with the outcome as its state"
                    " (Part 3 §3.4.6)"
                )
        elif not is_outcome(state) or data:
            if is_gap(peer, state):
                raise LocalProtocolError(
                    f"the receiver has the data up to {peer!r}, and {state!r} is after it: begin"
                    " there or before, or abort the delivery (Part 3 §3.4.6)"
                )
            if is_gap(state, own):
                raise LocalProtocolError(
                    f"this end's unsettled map says that data before {own!r} cannot be sent: begin"
                    " there or after it, or abort the delivery (Part 3 §3.4.1)"
                )

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
        action = ResumptionAction
        plan = self.resumptions.get(tag)
        if plan is None or (tag not in self._in_doubt and plan.action is not action.FORGET):
            raise LocalProtocolError("no delivery with this tag waits to be resumed")
        if plan.action is action.UNKNOWN:
            raise LocalProtocolError(
                "an unsettled map is incomplete: detach and attach again after what is known was"
                " resumed (Part 2 §2.7.3)"
            )
        if plan.action is action.FORGET:
            return None
        if plan.action is action.ABORT:
            self.begin_delivery(tag=tag, settled=False, resume=True).abort()
            return None
        if plan.action in (action.SETTLE, action.RESTATE):
            settled = plan.action is action.SETTLE
            return self.send(b"", tag=tag, resume=True, settled=settled, state=plan.state)
        if message is None:
            raise LocalProtocolError(f"the message is needed to {plan.action.value} the delivery")
        payload = message.encode() if isinstance(message, amqp.Message) else bytes(message)
        if plan.action is action.RESEND:
            return self.send(payload, tag=tag)
        start = offset_of(payload, plan.position)
        if start is None:
            raise LocalProtocolError(f"the message has no byte at {plan.position!r}")
        return self.send(payload[start:], tag=tag, resume=True, state=plan.position)

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

    def _complete(self, options: dict[str, Any]) -> None:
        if options.setdefault("initial_delivery_count", 0) is None:
            raise TypeError("a sender has an initial_delivery_count")
        self.delivery_count = options["initial_delivery_count"]
        if self.attach is None and "source" not in options:
            options["source"] = amqp.Source()

    def _state_fields(self) -> dict[str, Any]:
        return {
            "delivery_count": self.delivery_count,
            "link_credit": self.link_credit,
            "available": self.available,
            "drain": self.drain,
        }

    def _count(self, delivery: OutgoingDelivery) -> None:
        """The first frame of a delivery goes out: it gets its number, and takes a credit."""
        session = self.session
        number = session._next_delivery_id
        while number in session._sent.by_id:  # all ids were used, and that one is unsettled yet
            number = advance(number, 1)
        delivery.id = delivery.transfer.delivery_id = number
        session._next_delivery_id = advance(number, 1)
        if not delivery.settled:
            session._sent.add(number, delivery)
        self._queued.pop(delivery, None)
        self.delivery_count = advance(self.delivery_count, 1)
        self.link_credit = max(self.link_credit - 1, 0)
        if not self.link_credit:  # a drain is over when the credit is used up (§2.6.7)
            self.drain = False

    def _release(self) -> None:
        session = self.session
        session._outgoing.remove_link(self)
        for delivery in self.unsettled.values():
            if delivery.id is not None:
                session._sent.pop(delivery.id)
        self._queued.clear()
        self.link_credit = 0

    def _may_send(self, delivery: OutgoingDelivery) -> bool:
        """Whether the next frame of a delivery may go: the first one takes a credit."""
        return delivery._started or self.link_credit > 0

    # --- frames in --------------------------------------------------------------------------------

    def _take_flow(self, frame: amqp.Flow) -> None:
        if frame.link_credit is not None:
            delivery_count = frame.delivery_count
            if delivery_count is None:  # the receiver has not seen this end's attach
                delivery_count = (self.attach and self.attach.initial_delivery_count) or 0
            under_way = distance(delivery_count, self.delivery_count)
            # A receiver that claims deliveries never sent gets no more of them by it.
            self.link_credit = max(frame.link_credit - max(under_way, 0), 0)
            self.session._outgoing.offer(self)
        self.drain = frame.drain
        credit = max(self.link_credit - len(self._queued), 0)
        self.session.connection._emit(
            events.CreditChanged(self, credit, self.drain, frame.properties, len(self.unsettled))
        )

    def _take_transfer(self, frame: amqp.Transfer) -> None:
        raise LinkFault(self, amqp.AmqpError.NOT_ALLOWED, "a receiver sent a transfer")
