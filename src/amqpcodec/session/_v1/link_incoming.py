"""What a link does with the frames that come, but for transfers: attach, flow, detach, states."""

from __future__ import annotations

from typing import Any

from ... import v1_0 as amqp
from ..errors import LocalProtocolError
from . import events
from .attaching import answer_attach, check_rules, forget_settled
from .ending import end_link
from .faults import LinkFault, SessionFault
from .objects import Controller, IncomingDelivery, Link, OutgoingDelivery, Receiver, Sender
from .resumption import is_outcome
from .serial import advance, distance
from .transactions import take_answer

__all__ = ["is_errant", "note_answer", "note_request", "take_detach", "take_flow", "take_state"]


def note_request(link: Link, handle: int, frame: amqp.Attach) -> None:
    """The peer attaches the link."""
    _note_attach(link, handle, frame)
    link.state = "ATTACH_RCVD"
    link.session.connection._emit(events.LinkRequested(link, frame))
    _check_peer(link, frame)


def note_answer(link: Link, handle: int, frame: amqp.Attach) -> None:
    """The peer answers this end's attach."""
    _note_attach(link, handle, frame)
    if link.state != "ATTACH_SENT":  # detached before it was answered
        return
    link.state = "ATTACHED"
    _check_peer(link, frame)
    if link.sends:
        link.rcv_settle_mode = frame.rcv_settle_mode
    else:
        link.snd_settle_mode = frame.snd_settle_mode
    forget_settled(link)
    refused = frame.target is None if link.sends else frame.source is None
    if not refused:  # else its detach follows, which says why
        link.session.connection._emit(events.LinkOpened(link, frame))


def _check_peer(link: Link, frame: amqp.Attach) -> None:
    """Raise LinkFault where the peer's attach breaks a rule about a link's ends."""
    if not isinstance(frame.unsettled, dict | None):
        raise LinkFault(link, amqp.AmqpError.INVALID_FIELD, "an unsettled map has a tag twice")
    try:
        check_rules(frame)
    except LocalProtocolError as error:
        raise LinkFault(link, amqp.AmqpError.INVALID_FIELD, str(error)) from None


def _note_attach(link: Link, handle: int, frame: amqp.Attach) -> None:
    link._remote_handle = handle
    link.remote_attach = frame
    if isinstance(link, Receiver):
        link.delivery_count = frame.initial_delivery_count or 0
        link._limit = advance(link.delivery_count, link._limit)  # credit given before this


def is_errant(link: Link) -> bool:
    """Whether input has to be ignored, since this end has detached.

    Raises:
        SessionFault: it detached with an error, and the peer goes on.
    """
    if link.state != "DETACH_SENT":
        return False
    if link._errant and link.session.connection._limits.after_detach == "end":
        raise SessionFault(
            amqp.SessionError.ERRANT_LINK, "input came for a link detached with an error"
        )
    return True


def take_flow(link: Link, frame: amqp.Flow) -> None:
    """The other end's state."""
    if isinstance(link, Sender):
        _take_credit(link, frame)
    else:
        assert isinstance(link, Receiver)
        _take_sender_flow(link, frame)


def _take_credit(link: Sender, frame: amqp.Flow) -> None:
    """The receiver's state: how much it takes."""
    if frame.link_credit is not None:
        delivery_count = frame.delivery_count
        if delivery_count is None:  # the receiver has not seen this end's attach
            delivery_count = (link.attach and link.attach.initial_delivery_count) or 0
        under_way = distance(delivery_count, link.delivery_count)
        # A receiver that claims deliveries never sent gets no more of them by it.
        link.link_credit = max(frame.link_credit - max(under_way, 0), 0)
        link.session._outgoing.offer(link)
    link.drain = frame.drain
    credit = max(link.link_credit - len(link._queued), 0)
    link.session.connection._emit(
        events.CreditChanged(link, credit, link.drain, frame.properties, len(link.unsettled))
    )


def _take_sender_flow(link: Receiver, frame: amqp.Flow) -> None:
    """The sender's state: what waits there, and what it gave back."""
    drained = 0
    if frame.delivery_count is not None:
        drained = max(distance(link.delivery_count, frame.delivery_count), 0)
        if drained:
            link.delivery_count = frame.delivery_count
            link.link_credit = max(link.link_credit - drained, 0)
            if distance(link._limit, link.delivery_count) > 0:
                link._limit = link.delivery_count
    if frame.available is not None:
        link.available = frame.available
    if not link.link_credit:
        link.drain = False
    link.session.connection._emit(
        events.SenderFlow(link, frame.available, drained, frame.properties, link.link_credit)
    )


def take_detach(link: Link, frame: amqp.Detach) -> None:
    """The peer detaches, or answers that this end has."""
    by_peer = link.state != "DETACH_SENT"
    if by_peer:
        if link.state == "ATTACH_RCVD":
            answer_attach(link)
        link._detach(None, frame.closed)
    error = frame.error if by_peer or link._error is None else link._error
    _unmap(link)
    end_link(link, error, "remote" if by_peer else "local", frame.closed or link._closed)


def _unmap(link: Link) -> None:
    """Both ends are detached: the handles are free again."""
    if link.handle is not None:
        link.session._unmap_handle(link.handle)
    if link._remote_handle is not None:
        link.session._by_remote.pop(link._remote_handle, None)


def take_state(delivery: OutgoingDelivery | IncomingDelivery, state: Any, settled: bool) -> None:
    """The peer's disposition. Told where it changes something, and before an outcome."""
    if not settled:
        previous_state = delivery.remote_state
        if state is None or is_outcome(previous_state) or state == previous_state:
            return
    if state is not None:
        delivery.remote_state = state
    delivery.remote_settled = settled
    if settled:
        delivery.settled = True
        delivery._forget()
    link = delivery.link
    if (
        isinstance(link, Controller)
        and isinstance(delivery, OutgoingDelivery)
        and take_answer(link, delivery, settled)
    ):
        return
    event = events.DeliveryUpdated(link, delivery, delivery.remote_state, settled)
    link.session.connection._emit(event)
