"""The receiving end of a link: credit, transfers joined to deliveries (Part 2 §2.6.7, §2.6.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ... import v1_0 as amqp
from . import events
from .delivery import IncomingDelivery
from .faults import LinkFault, SessionFault
from .link import Link
from .serial import advance, distance

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Receiver"]


class Receiver(Link):
    """A link's end that receives. Made by ``session.attach_receiver`` or LinkRequested.

    Attributes:
        available: deliveries that wait at the sender, as it last said; None if it never did.
        max_message_size: bytes of a message that this end takes.
    """

    sends: ClassVar[bool] = False
    max_message_size: int
    delivery_count: int
    link_credit: int
    drain: bool

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.available: int | None = None
        self.max_message_size = session.connection.limits.message_size
        self._limit = 0  # delivery-count up to which credit was ever given
        self._partial: _Partial | None = None

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
        options.pop("initial_delivery_count", None)
        if options.get("max_message_size") is None:
            options["max_message_size"] = self.session.connection.limits.message_size
        self.max_message_size = options["max_message_size"]
        if self.attach is None and "target" not in options:
            options["target"] = amqp.Target()

    def _state_fields(self) -> dict[str, Any]:
        known = self.remote_attach is not None
        return {
            "delivery_count": self.delivery_count if known else None,
            "link_credit": max(self.link_credit, 0),
            "drain": self.drain,
        }

    def _release(self) -> None:
        self._drop_partial()
        for delivery in self.unsettled.values():
            self.session._received.pop(delivery.id or 0, None)
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
            events.SenderFlow(self, frame.available, drained, frame.properties, self.credit)
        )

    def _take_transfer(self, frame: amqp.Transfer) -> None:
        partial = self._partial
        if partial is None:
            partial = self._begin(frame)
        else:
            self._continue(partial, frame)
        partial.add(frame)
        if frame.aborted:
            self._partial = None
            self._drop(partial)
            if not partial.ignored:
                connection = self.session.connection
                connection._emit(events.DeliveryAborted(self, partial.id, partial.tag))
            return
        self._bound(partial)
        if not frame.more:
            self._partial = None
            self._drop(partial)
            if not partial.ignored:
                self._complete_delivery(partial)

    def _begin(self, frame: amqp.Transfer) -> _Partial:
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
        if number in session._received:
            raise SessionFault(
                amqp.AmqpError.INVALID_FIELD, f"an unsettled delivery has the delivery-id {number}"
            )
        session._last_delivery_id = number
        if distance(self.delivery_count, self._limit) + session.connection.limits.excess <= 0:
            raise LinkFault(
                self,
                amqp.LinkError.TRANSFER_LIMIT_EXCEEDED,
                "a delivery came without credit for it",
            )
        known = (self.attach and self.attach.unsettled) or {}
        ignored = frame.resume and tag not in known
        if tag in self.unsettled:
            raise LinkFault(
                self, amqp.AmqpError.NOT_ALLOWED, "an unsettled delivery has the same delivery-tag"
            )
        if len(session._received) >= session.connection.limits.unsettled:
            raise SessionFault(
                amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                f"more than {len(session._received)} deliveries are unsettled",
            )
        self.delivery_count = advance(self.delivery_count, 1)
        self.link_credit = max(self.link_credit - 1, 0)
        if not self.link_credit:  # a drain is over when the credit is used up (§2.6.7)
            self.drain = False
        self._partial = _Partial(frame, ignored)
        return self._partial

    def _continue(self, partial: _Partial, frame: amqp.Transfer) -> None:
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
        if partial.settled and frame.settled is False:
            raise LinkFault(
                self, amqp.AmqpError.INVALID_FIELD, "a settled delivery became unsettled"
            )

    def _bound(self, partial: _Partial) -> None:
        connection = self.session.connection
        if self.max_message_size and partial.size > self.max_message_size:
            raise LinkFault(
                self,
                amqp.LinkError.MESSAGE_SIZE_EXCEEDED,
                f"a message has over {self.max_message_size} bytes",
            )
        connection.partial_bytes += partial.uncounted
        partial.counted += partial.uncounted
        partial.uncounted = 0
        if connection.partial_bytes > connection.limits.partial_bytes:
            raise LinkFault(
                self,
                amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                f"incomplete deliveries have over {connection.limits.partial_bytes} bytes",
            )

    def _drop_partial(self) -> None:
        if self._partial is not None:
            self._drop(self._partial)
            self._partial = None

    def _drop(self, partial: _Partial) -> None:
        self.session.connection.partial_bytes -= partial.counted

    def _complete_delivery(self, partial: _Partial) -> None:
        delivery = IncomingDelivery(self, partial.transfer)
        delivery.payload = partial.payload()
        delivery.remote_state = partial.state
        delivery.settled = delivery.remote_settled = partial.settled
        if partial.transfer.resume and isinstance(partial.state, amqp.Received):
            delivery.position = partial.state
        if not partial.settled:
            self.unsettled[partial.tag] = delivery
            self.session._received[partial.id] = delivery
        state = partial.state
        if isinstance(state, amqp.TransactionalState) and not self._knows(state):
            text = "no such transaction is open"
            if partial.settled:
                raise LinkFault(self, amqp.TransactionError.UNKNOWN_ID, text)
            delivery.reject(amqp.TransactionError.UNKNOWN_ID, text)
            return
        self._deliver(delivery)

    def _knows(self, state: amqp.TransactionalState) -> bool:
        """Whether a transaction is open; those that a server declared are all that there are."""
        connection = self.session.connection
        return connection.role == "client" or state.txn_id in connection.transactions

    def _deliver(self, delivery: IncomingDelivery) -> None:
        self.session.connection._emit(
            events.DeliveryReceived(self, delivery, delivery.remote_state, delivery.settled)
        )


class _Partial:
    """A delivery whose end has not come. ignored: resumed, and nobody here knows of it."""

    __slots__ = (
        *("counted", "id", "ignored", "parts", "settled", "size", "state", "tag", "transfer"),
        "uncounted",
    )

    def __init__(self, transfer: amqp.Transfer, ignored: bool) -> None:
        self.transfer = transfer
        self.id = transfer.delivery_id or 0
        self.tag = transfer.delivery_tag or b""
        self.ignored = ignored
        self.settled = False
        self.state: Any = None
        self.parts: bytes | bytearray = b""  # one piece, in however many transfers it comes
        self.size = self.counted = self.uncounted = 0

    def add(self, frame: amqp.Transfer) -> None:
        """One of its transfers."""
        self.settled = self.settled or bool(frame.settled)
        if frame.state is not None:
            self.state = frame.state
        self.size += len(frame.payload)
        if not self.ignored:
            self.uncounted += len(frame.payload)
            if not self.parts:
                self.parts = bytes(frame.payload)
            elif frame.payload:
                if isinstance(self.parts, bytes):
                    self.parts = bytearray(self.parts)
                self.parts += frame.payload

    def payload(self) -> bytes:
        """All that came."""
        return bytes(self.parts)
