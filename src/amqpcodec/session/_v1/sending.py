"""How this end sends deliveries: what may begin, its frames, and what is resumed (Part 2 §2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import v1_0 as amqp
from ..errors import LocalProtocolError
from .objects import OutgoingDelivery, Sender, Transaction, transactional
from .options import TransferOptions
from .resumption import ResumptionAction, is_gap, is_outcome, offset_of, unsettled_of
from .serial import advance
from .windows import Piece

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["begin_delivery", "check_resumed", "may_send", "next_frame", "resume", "send"]

#: More than what the head of a transfer with a plain state takes.
_ROOM_FOR_HEAD = 160


def send(
    link: Sender,
    message: amqp.Message | Buffer,
    tag: bytes | None,
    settled: bool | None,
    state: Any,
    transaction: Transaction | bytes | None,
    fields: TransferOptions,
) -> OutgoingDelivery:
    """Send a message, in as many transfers as it takes; see `Sender.send`."""
    payload = message.encode() if isinstance(message, amqp.Message) else bytes(message)
    limit = link.remote_max_message_size
    if limit and len(payload) > limit:
        raise LocalProtocolError(f"the receiver takes messages of {limit} bytes at most")
    if fields.get("resume") and tag is not None:
        link._check()
        _check_first(link, tag, state, resume=True)
        check_resumed(link, bytes(tag), state, bool(payload))
    state = transactional(state, transaction)
    delivery = begin_delivery(link, tag, settled, state, fields)
    delivery._put(memoryview(payload), more=False)
    return delivery


def begin_delivery(
    link: Sender,
    tag: bytes | None,
    settled: bool | None,
    state: Any,
    fields: TransferOptions,
) -> OutgoingDelivery:
    """Begin a delivery that is written part by part; see `Sender.begin_delivery`."""
    link._check()
    if link.link_credit <= len(link._queued):
        raise LocalProtocolError("the receiver gives no credit")
    if link._open_delivery is not None and not link._open_delivery._finished:
        raise LocalProtocolError("a delivery of this link is not complete")
    transfer = _transfer(link, tag, settled, state, fields)
    delivery = OutgoingDelivery(link, transfer)
    link._in_doubt.pop(delivery.tag, None)
    if not delivery.settled:
        link.unsettled[delivery.tag] = delivery
    link._queued[delivery] = None
    link._open_delivery = delivery
    return delivery


def _transfer(
    link: Sender, tag: bytes | None, settled: bool | None, state: Any, fields: TransferOptions
) -> amqp.Transfer:
    """The first transfer of a delivery."""
    mode = link.snd_settle_mode
    resume = bool(fields.get("resume"))
    if settled is None:
        settled = mode == amqp.SenderSettleMode.SETTLED
    elif mode != amqp.SenderSettleMode.MIXED and settled != bool(mode) and not resume:
        raise LocalProtocolError(f"the link's snd-settle-mode is {mode.name.lower()}")
    _check_first(link, tag, state, resume)
    tag = _next_tag(link) if tag is None else bytes(tag)
    if not 1 <= len(tag) <= 32:
        raise LocalProtocolError(f"a tag has 1 to 32 bytes, not {len(tag)}")
    if tag in link.unsettled:
        raise LocalProtocolError("an unsettled delivery has the same tag")
    fields.setdefault("message_format", amqp.MESSAGE_FORMAT)
    transfer = amqp.Transfer(
        link.handle, 0xFFFF_FFFF, tag, settled=settled or None, more=True, state=state, **fields
    )
    if state is not None or len(fields) > 1:  # else it is far smaller than any frame
        head = amqp.encode(link.session.channel, transfer)
        if len(head) >= link.session.connection._frame_size:
            raise LocalProtocolError("the delivery's state does not fit into a frame of the peer")
    return transfer


def _next_tag(link: Sender) -> bytes:
    """A tag that is not in use."""
    while True:
        link._tags = advance(link._tags, 1)
        tag = link._tags.to_bytes(4, "big")
        if tag not in link.unsettled and tag not in link._in_doubt:
            return tag


def _is_shared(link: Sender, tag: bytes) -> bool:
    """Whether both unsettled maps have a tag, and it was not resumed yet."""
    return tag in link._in_doubt and tag in unsettled_of(link.remote_attach)


def _check_first(link: Sender, tag: bytes | None, state: Any, resume: bool) -> None:
    """Raise where the unsettled maps do not allow a delivery to begin so."""
    if resume:
        if tag is None or not _is_shared(link, bytes(tag)):
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
    peer = link.remote_attach
    if peer is not None and peer.incomplete_unsettled:
        raise LocalProtocolError(
            "the receiver's unsettled map is incomplete: only resumed deliveries can be sent;"
            " detach and attach again after them (Part 2 §2.7.3)"
        )
    if tag is not None and _is_shared(link, bytes(tag)):
        raise LocalProtocolError(
            "both unsettled maps have the tag: pass resume=True, or send by another tag"
            " (Part 2 §2.6.13)"
        )


def check_resumed(link: Sender, tag: bytes, state: Any, data: bool) -> None:
    """Raise where a resumed delivery cannot be sent so. data: it has bytes."""
    own = unsettled_of(link.attach).get(tag)
    peer = unsettled_of(link.remote_attach).get(tag)
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
    link: Sender, tag: bytes, message: amqp.Message | Buffer | None
) -> OutgoingDelivery | None:
    """Do for a delivery what both unsettled maps call for; see `Sender.resume`."""
    action = ResumptionAction
    plan = link.resumptions.get(tag)
    if plan is None or (tag not in link._in_doubt and plan.action is not action.FORGET):
        raise LocalProtocolError("no delivery with this tag waits to be resumed")
    if plan.action is action.UNKNOWN:
        raise LocalProtocolError(
            "an unsettled map is incomplete: detach and attach again after what is known was"
            " resumed (Part 2 §2.7.3)"
        )
    if plan.action is action.FORGET:
        return None
    if plan.action is action.ABORT:
        begin_delivery(link, tag, False, None, {"resume": True}).abort()
        return None
    if plan.action in (action.SETTLE, action.RESTATE):
        settled = plan.action is action.SETTLE
        return link.send(b"", tag=tag, resume=True, settled=settled, state=plan.state)
    if message is None:
        raise LocalProtocolError(f"the message is needed to {plan.action.value} the delivery")
    payload = message.encode() if isinstance(message, amqp.Message) else bytes(message)
    if plan.action is action.RESEND:
        return link.send(payload, tag=tag)
    start = offset_of(payload, plan.position)
    if start is None:
        raise LocalProtocolError(f"the message has no byte at {plan.position!r}")
    return link.send(payload[start:], tag=tag, resume=True, state=plan.position)


# --- frames out -----------------------------------------------------------------------------------


def may_send(link: Sender, delivery: OutgoingDelivery) -> bool:
    """Whether the next frame of a delivery may go: the first one takes a credit."""
    return delivery._started or link.link_credit > 0


def _count(link: Sender, delivery: OutgoingDelivery) -> None:
    """The first frame of a delivery goes out: it gets its number, and takes a credit."""
    session = link.session
    number = session._next_delivery_id
    while number in session._sent.by_id:  # all ids were used, and that one is unsettled yet
        number = advance(number, 1)
    delivery.id = delivery.transfer.delivery_id = number
    session._next_delivery_id = advance(number, 1)
    if not delivery.settled:
        session._sent.add(number, delivery)
    link._queued.pop(delivery, None)
    link.delivery_count = advance(link.delivery_count, 1)
    link.link_credit = max(link.link_credit - 1, 0)
    if not link.link_credit:  # a drain is over when the credit is used up (§2.6.7)
        link.drain = False


def next_frame(piece: Piece[Sender, OutgoingDelivery]) -> tuple[bytes, memoryview | None]:
    """The next transfer of a piece, and what is left of it then."""
    delivery = piece.delivery
    link = delivery.link
    session = link.session
    if delivery._started:
        transfer = amqp.Transfer(link.handle, more=piece.more or None)
    else:
        transfer = delivery.transfer
        transfer.more = piece.more
        _count(link, delivery)
        delivery._started = True
    if delivery._aborted:
        transfer.aborted = True
    channel = session.channel
    size = session.connection._frame_size
    payload = piece.payload
    if len(payload) + _ROOM_FOR_HEAD <= size:
        frame = amqp.encode(channel, transfer, payload)
        if len(frame) <= size:
            delivery._gone = not piece.more
            return frame, None
    frame = amqp.encode(channel, transfer)
    if len(frame) + len(payload) <= size:
        delivery._gone = not piece.more
        return amqp.encode(channel, transfer, payload), None
    transfer.more = True
    room = size - len(amqp.encode(channel, transfer))
    return amqp.encode(channel, transfer, payload[:room]), payload[room:]
