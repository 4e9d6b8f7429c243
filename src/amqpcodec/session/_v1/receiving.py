"""What a receiver does with transfers: it joins them to deliveries (Part 2 §2.6.7, §2.6.14)."""

from __future__ import annotations

from typing import Any

from ... import v1_0 as amqp
from . import events
from .faults import LinkFault, SessionFault
from .objects import Coordinator, IncomingDelivery, Receiver
from .resumption import is_gap, is_outcome, numbers, offset_of, unsettled_of
from .serial import advance, distance
from .transactions import take_request

__all__ = ["take_transfer"]


def take_transfer(link: Receiver, frame: amqp.Transfer) -> None:
    """A transfer: the first one of a delivery, or another one of that which is partial."""
    delivery = link.partial
    first = delivery is None
    if delivery is None:
        delivery = _begin(link, frame)
        size = _add(delivery, frame)
    else:
        _continue(link, delivery, frame)
        was_settled = delivery.settled
        size = _add(delivery, frame)
        if delivery.settled and not was_settled:
            delivery._forget()
    if frame.aborted:
        _abort(link, delivery)
        return
    _bound(link, delivery, size, frame.more)
    if not frame.more:
        _finish(link, delivery)
    elif first and not delivery._ignored and not delivery.complete:
        link.session.connection._emit(events.DeliveryStarted(link, delivery, delivery.size))


def _add(delivery: IncomingDelivery, frame: amqp.Transfer) -> int:
    """Take one of its transfers. How many bytes more are kept of it."""
    if frame.settled:
        delivery.settled = delivery.remote_settled = True
    if frame.state is not None:
        delivery.remote_state = frame.state
    payload = frame.payload
    if not payload or delivery._ignored or delivery.complete:
        return 0
    delivery._has_data = True
    if delivery._skip:
        count = min(delivery._skip, len(payload))
        delivery._skip -= count
        payload = payload[count:]
    data = delivery._data
    if not data:
        delivery._data = bytearray(payload) if frame.more else bytes(payload)
    else:
        if isinstance(data, bytes):
            delivery._data = data = bytearray(data)
        data += payload
    count = len(payload)
    delivery.size += count
    return count


def _abort(link: Receiver, delivery: IncomingDelivery) -> None:
    """The sender gave it up."""
    link.partial = None
    link._drop(delivery)
    ignored = delivery._ignored
    delivery._forget()
    if not ignored:
        link.session.connection._emit(events.DeliveryAborted(link, delivery.id, delivery.tag))


def _finish(link: Receiver, delivery: IncomingDelivery) -> None:
    """The last transfer came."""
    link.partial = None
    if delivery._counted:
        link._drop(delivery)
    if delivery._ignored:
        return
    connection = link.session.connection
    was_complete = delivery.complete
    delivery.complete = True
    state = delivery.remote_state
    if was_complete or (delivery.resumed and is_outcome(state) and not delivery._has_data):
        connection._emit(events.DeliveryUpdated(link, delivery, state, delivery.settled))
        return
    if isinstance(state, amqp.TransactionalState) and not _knows(link, state):
        text = "no such transaction is open"
        if delivery.settled:
            raise LinkFault(link, amqp.TransactionError.UNKNOWN_ID, text)
        delivery.reject(amqp.TransactionError.UNKNOWN_ID, text)
        return
    if type(link) is Coordinator:
        take_request(link, delivery)
        return
    connection._emit(events.DeliveryReceived(link, delivery, state, delivery.remote_settled))


def _begin(link: Receiver, frame: amqp.Transfer) -> IncomingDelivery:
    """The first transfer of a delivery."""
    if link.state != "ATTACHED":
        raise LinkFault(link, amqp.AmqpError.ILLEGAL_STATE, "a transfer came before attach")
    number, tag = frame.delivery_id, frame.delivery_tag
    if number is None or not tag:
        what = "delivery-id" if number is None else "delivery-tag"
        raise LinkFault(link, amqp.AmqpError.INVALID_FIELD, f"a first transfer lacks {what}")
    if len(tag) > 32:
        raise LinkFault(link, amqp.AmqpError.INVALID_FIELD, "a delivery-tag has over 32 bytes")
    session = link.session
    last = session._last_delivery_id
    if last is not None and distance(last, number) <= 0:
        raise SessionFault(amqp.AmqpError.INVALID_FIELD, f"delivery-id {number} comes after {last}")
    unsettled = session._received.by_id
    if number in unsettled:
        raise SessionFault(
            amqp.AmqpError.INVALID_FIELD, f"an unsettled delivery has the delivery-id {number}"
        )
    session._last_delivery_id = number
    limits = session.connection._limits
    if distance(link.delivery_count, link._limit) + limits.excess <= 0:
        raise LinkFault(
            link,
            amqp.LinkError.TRANSFER_LIMIT_EXCEEDED,
            "a delivery came without credit for it",
        )
    if frame.state is not None or link._in_doubt or link._is_incomplete:
        _check_first(link, frame, tag)
    if tag in link.unsettled:
        raise LinkFault(
            link, amqp.AmqpError.NOT_ALLOWED, "an unsettled delivery has the same delivery-tag"
        )
    if len(unsettled) >= limits.unsettled:
        raise SessionFault(
            amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
            f"more than {len(unsettled)} deliveries are unsettled",
        )
    link.delivery_count = advance(link.delivery_count, 1)
    if link.link_credit > 1:
        link.link_credit -= 1
    else:  # a drain is over when the credit is used up (§2.6.7)
        link.link_credit = 0
        link.drain = False
    delivery = IncomingDelivery(link, frame)
    if frame.resume:
        _take_up(link, delivery)
    if not frame.settled and not delivery._ignored:
        link.unsettled[tag] = delivery
        session._received.add(number, delivery)
    link.partial = delivery
    return delivery


def _check_first(link: Receiver, frame: amqp.Transfer, tag: bytes) -> None:
    """What a first transfer must not say, by whether it resumes a delivery."""
    text = None
    if not frame.resume:
        if type(frame.state) is amqp.Received:
            text = "received on a delivery that is not resumed (Part 3 §3.4.1)"
        elif link._is_incomplete:
            text = "a new delivery, and this end's unsettled map is incomplete (Part 2 §2.7.3)"
        elif tag in link._in_doubt:
            text = "an unsettled delivery has the same delivery-tag"
    if text is not None:
        raise LinkFault(link, amqp.AmqpError.NOT_ALLOWED, text)


def _take_up(link: Receiver, delivery: IncomingDelivery) -> None:
    """A resumed delivery goes on where this end's part of it ends (Part 3 §3.4.6)."""
    if delivery.tag not in link._in_doubt:
        delivery._ignored = True  # as the specification says of what nobody here knows
        return
    previous = link._in_doubt.pop(delivery.tag)
    remote = unsettled_of(link.remote_attach).get(delivery.tag)
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
        if _append_to(delivery, previous, start):
            return
    if is_gap(state, start):
        raise LinkFault(
            link,
            amqp.AmqpError.INVALID_FIELD,
            "a resumed delivery skips data that did not come (Part 3 §3.4.6)",
        )
    if start != amqp.Received(0, 0):
        delivery.position = start


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


def _continue(link: Receiver, partial: IncomingDelivery, frame: amqp.Transfer) -> None:
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
            link,
            amqp.AmqpError.INVALID_FIELD,
            "a transfer begins a delivery before the one before is complete",
        )
    if partial.remote_settled and frame.settled is False:
        raise LinkFault(link, amqp.AmqpError.INVALID_FIELD, "a settled delivery became unsettled")
    if type(frame.state) is amqp.Received:
        raise LinkFault(
            link,
            amqp.AmqpError.NOT_ALLOWED,
            "received after the first transfer (Part 3 §3.4.1)",
        )


def _bound(link: Receiver, partial: IncomingDelivery, size: int, more: bool) -> None:
    """Check the limits of memory. size: bytes that a transfer added; more: another follows."""
    connection = link.session.connection
    limit = link.max_message_size
    if limit and partial.size > limit:
        raise LinkFault(
            link,
            amqp.LinkError.MESSAGE_SIZE_EXCEEDED,
            f"a message has over {limit} bytes",
        )
    partial_bytes = connection._partial_bytes + size
    if more:
        connection._partial_bytes = partial_bytes
        partial._counted += size
    if partial_bytes > connection._limits.partial_bytes:
        raise LinkFault(
            link,
            amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
            f"incomplete deliveries have over {connection._limits.partial_bytes} bytes",
        )


def _knows(link: Receiver, state: amqp.TransactionalState) -> bool:
    """Whether a transaction is open; those that a server declared are all that there are."""
    connection = link.session.connection
    return connection.role == "client" or state.txn_id in connection.transactions
