"""Deliveries: what goes out by a sender, what came in by a receiver (Part 2 §2.6.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import v1_0 as amqp
from ...errors import DecodeError
from ..errors import LocalProtocolError
from .conditions import error_of
from .resumption import is_outcome, position_after
from .windows import Piece

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .receiver import Receiver
    from .sender import Sender
    from .transactions import Transaction
    from .unsettled import Unsettled

__all__ = ["Delivery", "IncomingDelivery", "OutgoingDelivery", "transactional"]

#: More than what the head of a transfer with a plain state takes.
_ROOM_FOR_HEAD = 160


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
        """The peer's state of it; None where it has told none."""
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
        """Note the state that the peer told of a range, before the range is forgotten."""
        self._remote_state = self.remote_state

    def _is_over(self, state: Any = None) -> bool:
        """Whether no answer can reach the peer: it has settled, or the link is over.

        state: what the answer would have told. It is kept for a link that is attached again.
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

    def _take_state(self, state: Any, settled: bool) -> None:
        """The peer's disposition. Told where it changes something, and before an outcome."""
        if not settled:
            previous_state = self.remote_state
            if state is None or is_outcome(previous_state) or state == previous_state:
                return
        if state is not None:
            self.remote_state = state
        self.remote_settled = settled
        if settled:
            self.settled = True
            self._forget()
        self.link._updated(self, settled)


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
            self.link._check_resumed(self.tag, self.state, bool(part))
        limit = self.link.remote_max_message_size
        if limit and self._size + len(part) > limit:
            raise LocalProtocolError(f"the receiver takes messages of {limit} bytes at most")
        self._put(part, more)

    def _put(self, part: memoryview, more: bool) -> None:
        """Send a part, or let it wait, after all checks."""
        self._size += len(part)
        self._finished = not more
        self.link.session._outgoing.send(Piece(self, part, more))

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
            session._outgoing.abort(self)
            session._outgoing.flush()
            return
        session._outgoing.remove(self)
        if self.transfer.resume:  # the receiver has a part of it from before
            session._outgoing.send(Piece(self, memoryview(b""), False))
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

    def _next_frame(self, piece: Piece) -> tuple[bytes, memoryview | None]:
        """The next transfer of a piece, and what is left of it then."""
        link = self.link
        session = link.session
        if self._started:
            transfer = amqp.Transfer(link.handle, more=piece.more or None)
        else:
            transfer = self.transfer
            transfer.more = piece.more
            link._count(self)
            self._started = True
        if self._aborted:
            transfer.aborted = True
        channel = session.channel
        size = session.connection._frame_size
        payload = piece.payload
        if len(payload) + _ROOM_FOR_HEAD <= size:
            frame = amqp.encode(channel, transfer, payload)
            if len(frame) <= size:
                self._gone = not piece.more
                return frame, None
        frame = amqp.encode(channel, transfer)
        if len(frame) + len(payload) <= size:
            self._gone = not piece.more
            return amqp.encode(channel, transfer, payload), None
        transfer.more = True
        room = size - len(amqp.encode(channel, transfer))
        return amqp.encode(channel, transfer, payload[:room]), payload[room:]


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
        self._ignored = False  # its data is of no use: nobody is told of it
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

    def _add(self, frame: amqp.Transfer) -> int:
        """Take one of its transfers. How many bytes more are kept of it."""
        if frame.settled:
            self.settled = self.remote_settled = True
        if frame.state is not None:
            self.remote_state = frame.state
        payload = frame.payload
        if not payload or self._ignored or self.complete:
            return 0
        self._has_data = True
        if self._skip:
            count = min(self._skip, len(payload))
            self._skip -= count
            payload = payload[count:]
        data = self._data
        if not data:
            self._data = bytearray(payload) if frame.more else bytes(payload)
        else:
            if isinstance(data, bytes):
                self._data = data = bytearray(data)
            data += payload
        count = len(payload)
        self.size += count
        return count

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
        """Be done with it, with the state that was told last, or none."""
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
