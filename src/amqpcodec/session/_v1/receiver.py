"""The receiving end of a link: credit, transfers joined to deliveries (Part 2 §2.6.7, §2.6.14)."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

from ... import v1_0 as amqp
from ..errors import LocalProtocolError
from . import events
from .delivery import IncomingDelivery
from .faults import LinkFault, SessionFault
from .link import Link
from .resumption import is_gap, is_outcome, numbers, offset_of, unsettled_of
from .serial import advance, distance

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Receiver"]


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

    def _complete(self, options: dict[str, Any]) -> None:
        if options.pop("initial_delivery_count", None) is not None:
            raise LocalProtocolError("only a sender has an initial_delivery_count (Part 2 §2.7.3)")
        if options.get("max_message_size") is None:
            options["max_message_size"] = self.session.connection._limits.message_size
        self.max_message_size = options["max_message_size"]
        if self.attach is None and "target" not in options:
            options["target"] = amqp.Target()

    def _state_fields(self) -> dict[str, Any]:
        is_attached = self.remote_attach is not None
        return {
            "delivery_count": self.delivery_count if is_attached else None,
            "link_credit": max(self.link_credit, 0),
            "drain": self.drain,
        }

    def _release(self) -> None:
        if self.partial is not None:  # what came of it stays in `unsettled`, to be resumed
            self._drop(self.partial)
            self.partial = None
        for delivery in self.unsettled.values():
            self.session._received.pop(delivery.id)
        self.link_credit = 0

    # --- frames in --------------------------------------------------------------------------------

    def _note_attach(self, handle: int, frame: amqp.Attach) -> None:
        super()._note_attach(handle, frame)
        self.delivery_count = frame.initial_delivery_count or 0
        self._limit = advance(self.delivery_count, self._limit)  # credit given before this

    def _take_flow(self, frame: amqp.Flow) -> None:
        drained = 0
        if frame.delivery_count is not None:
            drained = max(distance(self.delivery_count, frame.delivery_count), 0)
            if drained:
                self.delivery_count = frame.delivery_count
                self.link_credit = max(self.link_credit - drained, 0)
                if distance(self._limit, self.delivery_count) > 0:
                    self._limit = self.delivery_count
        if frame.available is not None:
            self.available = frame.available
        if not self.link_credit:
            self.drain = False
        self.session.connection._emit(
            events.SenderFlow(self, frame.available, drained, frame.properties, self.link_credit)
        )

    def _take_transfer(self, frame: amqp.Transfer) -> None:
        delivery = self.partial
        first = delivery is None
        if delivery is None:
            delivery = self._begin(frame)
            size = delivery._add(frame)
        else:
            self._continue(delivery, frame)
            was_settled = delivery.settled
            size = delivery._add(frame)
            if delivery.settled and not was_settled:
                delivery._forget()
        if frame.aborted:
            self._abort(delivery)
            return
        self._bound(delivery, size, frame.more)
        if not frame.more:
            self._finish(delivery)
        elif first and not delivery._ignored and not delivery.complete:
            self.session.connection._emit(events.DeliveryStarted(self, delivery, delivery.size))

    def _abort(self, delivery: IncomingDelivery) -> None:
        self.partial = None
        self._drop(delivery)
        ignored = delivery._ignored
        delivery._forget()
        if not ignored:
            self.session.connection._emit(events.DeliveryAborted(self, delivery.id, delivery.tag))

    def _finish(self, delivery: IncomingDelivery) -> None:
        """The last transfer came."""
        self.partial = None
        if delivery._counted:
            self._drop(delivery)
        if delivery._ignored:
            return
        connection = self.session.connection
        was_complete = delivery.complete
        delivery.complete = True
        state = delivery.remote_state
        if was_complete or (delivery.resumed and is_outcome(state) and not delivery._has_data):
            connection._emit(events.DeliveryUpdated(self, delivery, state, delivery.settled))
            return
        if isinstance(state, amqp.TransactionalState) and not self._knows(state):
            text = "no such transaction is open"
            if delivery.settled:
                raise LinkFault(self, amqp.TransactionError.UNKNOWN_ID, text)
            delivery.reject(amqp.TransactionError.UNKNOWN_ID, text)
            return
        self._deliver(delivery, state)

    def _begin(self, frame: amqp.Transfer) -> IncomingDelivery:
        """The first transfer of a delivery."""
        if self.state != "ATTACHED":
            raise LinkFault(self, amqp.AmqpError.ILLEGAL_STATE, "a transfer came before attach")
        number, tag = frame.delivery_id, frame.delivery_tag
        if number is None or not tag:
            what = "delivery-id" if number is None else "delivery-tag"
            raise LinkFault(self, amqp.AmqpError.INVALID_FIELD, f"a first transfer lacks {what}")
        if len(tag) > 32:
            raise LinkFault(self, amqp.AmqpError.INVALID_FIELD, "a delivery-tag has over 32 bytes")
        session = self.session
        last = session._last_delivery_id
        if last is not None and distance(last, number) <= 0:
            raise SessionFault(
                amqp.AmqpError.INVALID_FIELD, f"delivery-id {number} comes after {last}"
            )
        unsettled = session._received.by_id
        if number in unsettled:
            raise SessionFault(
                amqp.AmqpError.INVALID_FIELD, f"an unsettled delivery has the delivery-id {number}"
            )
        session._last_delivery_id = number
        limits = session.connection._limits
        if distance(self.delivery_count, self._limit) + limits.excess <= 0:
            raise LinkFault(
                self,
                amqp.LinkError.TRANSFER_LIMIT_EXCEEDED,
                "a delivery came without credit for it",
            )
        if frame.state is not None or self._in_doubt or self._is_incomplete:
            self._check_first(frame, tag)
        if tag in self.unsettled:
            raise LinkFault(
                self, amqp.AmqpError.NOT_ALLOWED, "an unsettled delivery has the same delivery-tag"
            )
        if len(unsettled) >= limits.unsettled:
            raise SessionFault(
                amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                f"more than {len(unsettled)} deliveries are unsettled",
            )
        self.delivery_count = advance(self.delivery_count, 1)
        if self.link_credit > 1:
            self.link_credit -= 1
        else:  # a drain is over when the credit is used up (§2.6.7)
            self.link_credit = 0
            self.drain = False
        delivery = IncomingDelivery(self, frame)
        if frame.resume:
            self._take_up(delivery)
        if not frame.settled and not delivery._ignored:
            self.unsettled[tag] = delivery
            session._received.add(number, delivery)
        self.partial = delivery
        return delivery

    def _check_first(self, frame: amqp.Transfer, tag: bytes) -> None:
        """What a first transfer must not say, by whether it resumes a delivery."""
        text = None
        if not frame.resume:
            if type(frame.state) is amqp.Received:
                text = "received on a delivery that is not resumed (Part 3 §3.4.1)"
            elif self._is_incomplete:
                text = "a new delivery, and this end's unsettled map is incomplete (Part 2 §2.7.3)"
            elif tag in self._in_doubt:
                text = "an unsettled delivery has the same delivery-tag"
        if text is not None:
            raise LinkFault(self, amqp.AmqpError.NOT_ALLOWED, text)

    def _take_up(self, delivery: IncomingDelivery) -> None:
        """A resumed delivery goes on where this end's part of it ends (Part 3 §3.4.6)."""
        if delivery.tag not in self._in_doubt:
            delivery._ignored = True  # as the specification says of what nobody here knows
            return
        previous = self._in_doubt.pop(delivery.tag)
        remote = unsettled_of(self.remote_attach).get(delivery.tag)
        if is_outcome(remote):
            delivery.remote_state = remote
        state = previous.state if isinstance(previous, IncomingDelivery) else previous
        if is_outcome(state):  # all had come: only the sender's state is of use
            delivery.state = state
            delivery.complete = True
            if isinstance(previous, IncomingDelivery):
                delivery._data, delivery.size = previous.payload, previous.size
                delivery.position = previous.position
            return
        if delivery.transfer.aborted or is_outcome(delivery.transfer.state):
            return
        start = amqp.Received(*numbers(delivery.transfer.state))
        if isinstance(previous, IncomingDelivery):
            state = previous.received
            if self._append_to(delivery, previous, start):
                return
        if is_gap(state, start):
            raise LinkFault(
                self,
                amqp.AmqpError.INVALID_FIELD,
                "a resumed delivery leaves out data that did not come (Part 3 §3.4.6)",
            )
        if start != amqp.Received(0, 0):
            delivery.position = start

    @staticmethod
    def _append_to(delivery: IncomingDelivery, previous: IncomingDelivery, start: Any) -> bool:
        """Let a delivery go on after what was kept of it; False where the two do not meet."""
        (base, inside), (section, offset) = numbers(previous.position), numbers(start)
        section -= base
        if inside or section < 0:
            return False
        if delivery.transfer.message_format:
            at = None if section else offset
        else:
            at = offset_of(previous.payload, amqp.Received(section, offset))
        if at is None or at > previous.size:
            return False
        delivery._data, delivery.size = previous.payload, previous.size
        delivery._skip = previous.size - at
        delivery.position = previous.position
        return True

    def _continue(self, partial: IncomingDelivery, frame: amqp.Transfer) -> None:
        """Another transfer of the delivery that is open."""
        different = (
            (frame.delivery_id is not None and frame.delivery_id != partial.id)
            or (frame.delivery_tag is not None and frame.delivery_tag != partial.tag)
            or (
                frame.message_format is not None
                and frame.message_format != partial.transfer.message_format
            )
        )
        if different:
            raise LinkFault(
                self,
                amqp.AmqpError.INVALID_FIELD,
                "a transfer begins a delivery before the one before is complete",
            )
        if partial.remote_settled and frame.settled is False:
            raise LinkFault(
                self, amqp.AmqpError.INVALID_FIELD, "a settled delivery became unsettled"
            )
        if type(frame.state) is amqp.Received:
            raise LinkFault(
                self,
                amqp.AmqpError.NOT_ALLOWED,
                "received after the first transfer (Part 3 §3.4.1)",
            )

    def _bound(self, partial: IncomingDelivery, size: int, more: bool) -> None:
        """Check the limits of memory. size: bytes that a transfer added; more: another follows."""
        connection = self.session.connection
        limit = self.max_message_size
        if limit and partial.size > limit:
            raise LinkFault(
                self,
                amqp.LinkError.MESSAGE_SIZE_EXCEEDED,
                f"a message has over {limit} bytes",
            )
        partial_bytes = connection._partial_bytes + size
        if more:
            connection._partial_bytes = partial_bytes
            partial._counted += size
        if partial_bytes > connection._limits.partial_bytes:
            raise LinkFault(
                self,
                amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                f"incomplete deliveries have over {connection._limits.partial_bytes} bytes",
            )

    def _drop(self, partial: IncomingDelivery) -> None:
        self.session.connection._partial_bytes -= partial._counted

    def _knows(self, state: amqp.TransactionalState) -> bool:
        """Whether a transaction is open; those that a server declared are all that there are."""
        connection = self.session.connection
        return connection.role == "client" or state.txn_id in connection.transactions

    def _deliver(self, delivery: IncomingDelivery, state: Any) -> None:
        """Report a complete delivery. state: the sender's of it."""
        self.session.connection._emit(
            events.DeliveryReceived(self, delivery, state, delivery.remote_settled)
        )
