"""What a session does with each frame: links by their handles, deliveries by their ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import v1_0 as amqp
from . import events, link_incoming
from .attaching import can_answer, can_refuse
from .ending import end_session, fail_connection, fail_link, fail_session
from .faults import LinkFault, SessionFault
from .link_incoming import is_errant, take_state
from .objects import Coordinator, Link, Receiver, Sender, Session
from .receiving import take_transfer
from .resumption import OUTCOMES
from .serial import advance, size_of_range
from .unsettled import Unsettled

__all__ = ["note_answer", "note_request", "take_frame"]


def note_request(session: Session, channel: int, frame: amqp.Begin) -> None:
    """The peer begins the session."""
    _note_begin(session, channel, frame)
    session.state = "BEGIN_RCVD"
    session.connection._emit(events.SessionRequested(session, frame))


def note_answer(session: Session, channel: int, frame: amqp.Begin) -> None:
    """The peer answers this end's begin."""
    _note_begin(session, channel, frame)
    if session.state == "BEGIN_SENT":
        session.state = "MAPPED"
        session.connection._emit(events.SessionOpened(session, frame))


def _note_begin(session: Session, channel: int, frame: amqp.Begin) -> None:
    session.remote_channel = channel
    session.remote_begin = frame
    session._handle_max = frame.handle_max
    session._incoming.next_id = frame.next_outgoing_id or 0
    session._outgoing.update(frame)


def take_frame(session: Session, frame: Any, kind: type) -> None:
    """A frame of this session. After its end only the peer's end is looked at."""
    if kind is amqp.End:
        _take_end(session, frame)
        return
    if session.state in ("END_SENT", "DISCARDING"):
        return
    try:
        _HANDLERS[kind](session, frame)
    except LinkFault as fault:
        fail_link(fault.link, fault.condition, fault.text)
    except SessionFault as fault:
        fail_session(session, fault.condition, fault.text)


def _take_attach(session: Session, frame: amqp.Attach) -> None:
    handle = frame.handle or 0
    if handle >= session.connection._limits.links:
        fail_connection(
            session.connection,
            amqp.ConnectionError.FRAMING_ERROR,
            f"handle {handle} is above handle-max {session.connection._limits.links - 1}",
            channel=session.remote_channel,
            method="attach",
        )
    if handle in session._by_remote:
        raise SessionFault(amqp.SessionError.HANDLE_IN_USE, f"handle {handle} is in use")
    peer_sends = frame.role == amqp.Role.SENDER
    if peer_sends and frame.initial_delivery_count is None:
        raise SessionFault(
            amqp.AmqpError.INVALID_FIELD, "a sender's attach lacks initial-delivery-count"
        )
    key = (frame.name or "", not peer_sends)
    if key in session._unanswered:
        links = session._unanswered[key]
        link = links.pop(0)
        if not links:
            del session._unanswered[key]
        session._by_remote[handle] = link
        link_incoming.note_answer(link, handle, frame)
        return
    previous_link = session.connection._links.get(key)
    if previous_link is not None:
        fail_link(previous_link, amqp.LinkError.STOLEN, "the link was attached anew")
    kind: type[Link] = Receiver if peer_sends else Sender
    if isinstance(frame.target, amqp.Coordinator) and peer_sends:
        kind = Coordinator
    own = session._handles.lowest(session._handle_max)
    if own is None:
        raise SessionFault(
            amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
            f"all {session._handle_max + 1} handles are in use",
        )
    link = kind(session, key[0])
    link.handle = own
    if not can_refuse(link):
        size = session.connection._frame_size
        text = f"the answer to an attach with so long a name is over {size} bytes"
        raise SessionFault(amqp.AmqpError.INVALID_FIELD, text)
    session._map(own, link)
    session.connection._links[key] = link
    session._by_remote[handle] = link
    link_incoming.note_request(link, handle, frame)
    if not can_answer(link, frame.source, frame.target):
        size = session.connection._frame_size
        text = f"the answer with the same source and target is over {size} bytes"
        raise LinkFault(link, amqp.AmqpError.INVALID_FIELD, text)


def _attached(session: Session, handle: int) -> Link:
    """The link of a remote handle.

    Raises:
        SessionFault: there is none.
    """
    link = session._by_remote.get(handle)
    if link is None:
        raise SessionFault(
            amqp.SessionError.UNATTACHED_HANDLE, f"no link is attached as handle {handle}"
        )
    return link


def _take_flow(session: Session, frame: amqp.Flow) -> None:
    session._outgoing.update(frame)
    session._incoming.next_id = frame.next_outgoing_id or 0
    if frame.handle is None:
        session._outgoing.flush()
        session.connection._emit(events.SessionFlow(session, session._outgoing.remote_window))
        if frame.echo and session.state == "MAPPED":
            session._send_flow()
        return
    link = _attached(session, frame.handle)
    if is_errant(link):
        return
    link_incoming.take_flow(link, frame)
    session._outgoing.flush()
    if frame.echo and link.state == "ATTACHED":
        link._send_state()


def _take_transfer(session: Session, frame: amqp.Transfer) -> None:
    if not session._incoming.take():
        raise SessionFault(amqp.SessionError.WINDOW_VIOLATION, "a transfer came into a window of 0")
    link = _attached(session, frame.handle or 0)
    if not is_errant(link):
        if not isinstance(link, Receiver):
            raise LinkFault(link, amqp.AmqpError.NOT_ALLOWED, "a receiver sent a transfer")
        take_transfer(link, frame)
    if session._incoming.low and session.state == "MAPPED":
        session._send_flow()


def _take_disposition(session: Session, frame: amqp.Disposition) -> None:
    first = frame.first or 0
    last = first if frame.last is None else frame.last
    count = size_of_range(first, last)
    if count <= 0:
        raise SessionFault(
            amqp.AmqpError.INVALID_FIELD, f"the range {first} to {last} runs backward"
        )
    sent = frame.role == amqp.Role.RECEIVER
    unsettled: Unsettled[Any] = session._sent if sent else session._received
    state = frame.state
    if type(state) is amqp.Received and not sent:
        for delivery in unsettled.within(first, count, most=1):
            raise LinkFault(
                delivery.link,
                amqp.AmqpError.INVALID_FIELD,
                "a sender tells received only in the first transfer of a resumed delivery",
            )
    elif frame.settled:
        for delivery in unsettled.within(first, count):
            take_state(delivery, state, settled=True)
    elif type(state) in OUTCOMES:
        for delivery in unsettled.undecided.within(first, count):
            unsettled.undecided.pop(delivery.id)
            take_state(delivery, state, settled=False)
    elif state is not None:
        _take_passing_state(session, unsettled, first, count, state)


def _take_passing_state(
    session: Session, unsettled: Unsettled[Any], first: int, count: int, state: Any
) -> None:
    """A state that others can follow, and so no work that the peer could ask for without end."""
    some = unsettled.undecided.within(first, count, most=2)
    if len(some) == 1:
        take_state(some[0], state, settled=False)
    elif some:
        unsettled.set_state(first, count, state)
        sent = unsettled is session._sent
        event = events.DeliveriesUpdated(session, sent, first, advance(first, count - 1), state)
        session.connection._emit(event)


def _take_detach(session: Session, frame: amqp.Detach) -> None:
    link_incoming.take_detach(_attached(session, frame.handle or 0), frame)


def _take_end(session: Session, frame: amqp.End) -> None:
    by_peer = session.state not in ("END_SENT", "DISCARDING")
    if by_peer:
        if session.state == "BEGIN_RCVD":
            session._answer_to_end()
        session._queue(amqp.End())
    error = frame.error if by_peer or session._error is None else session._error
    end_session(session, error, "remote" if by_peer else "local")
    session._unmap()


_HANDLERS: dict[type, Callable[[Any, Any], None]] = {
    amqp.Attach: _take_attach,
    amqp.Flow: _take_flow,
    amqp.Transfer: _take_transfer,
    amqp.Disposition: _take_disposition,
    amqp.Detach: _take_detach,
}
