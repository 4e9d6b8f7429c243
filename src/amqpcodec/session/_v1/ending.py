"""How a connection, a session or a link ends: by the peer's mistake, or with what it belongs to."""

from __future__ import annotations

from typing import Any, NoReturn

from ... import v1_0 as amqp
from .._types import ClosedBy, Event
from ..errors import RemoteProtocolError
from . import events
from .attaching import answer_attach
from .conditions import error_of, symbol_of
from .objects import Link, Session, SessionEndpoint

__all__ = [
    "end_connection",
    "end_link",
    "end_session",
    "end_without_close",
    "fail_connection",
    "fail_link",
    "fail_session",
    "refuse_frame",
]

# --- the connection -------------------------------------------------------------------------------


def refuse_frame(connection: SessionEndpoint, channel: int, frame: Any, where: str) -> NoReturn:
    """End the connection for a frame that the state does not permit. where: text."""
    fail_connection(
        connection,
        amqp.AmqpError.ILLEGAL_STATE,
        f"{frame.NAME} {where}",
        channel=channel,
        method=frame.NAME,
    )


def fail_connection(
    connection: SessionEndpoint,
    condition: str | None,
    text: str,
    *,
    channel: int | None = None,
    method: str | None = None,
    silent: bool = False,
) -> NoReturn:
    """End the connection for a mistake of the peer. silent: no frame can say why."""
    symbol = symbol_of(condition or amqp.ConnectionError.FRAMING_ERROR)
    error = amqp.Error(symbol, text)
    if connection._stage == "amqp" and not silent and not connection._close_sent:
        connection._queue_open()
        if len(amqp.encode(0, amqp.Close(error))) > connection._frame_size:
            error = amqp.Error(symbol, text[:100])
        connection._queue(0, amqp.Close(error))
    connection._close_sent = True
    end_connection(connection, error, closed_by="local", clean=False)
    connection._error = RemoteProtocolError(
        text,
        condition=str(symbol),
        channel=channel,
        method=method,
        events=connection._take_events(),
    )
    raise connection._error


def end_without_close(connection: SessionEndpoint, event: Event | None) -> None:
    """The SASL layer failed."""
    if event is not None:
        connection._emit(event)
    closed_by: ClosedBy = "remote" if connection.role == "client" else "local"
    end_connection(connection, None, closed_by=closed_by, clean=False)


def end_connection(
    connection: SessionEndpoint, error: amqp.Error | None, *, closed_by: ClosedBy, clean: bool
) -> None:
    """Every session and the connection are over: an event for each."""
    connection._over = True
    for session in dict.fromkeys(
        (*connection._by_channel.values(), *connection._by_remote.values())
    ):
        end_session(session, error, closed_by)
    connection._by_channel.clear()
    connection._by_remote.clear()
    connection._links.clear()
    connection._emit(events.ConnectionClosed(error, closed_by, clean))


# --- sessions -------------------------------------------------------------------------------------


def fail_session(session: Session, condition: str, text: str) -> None:
    """End the session for a mistake of the peer."""
    error = error_of(condition, text[:200])
    if session.state == "BEGIN_RCVD":
        session._answer_to_end()
    session._queue(amqp.End(error))
    session._error = error
    end_session(session, error, closed_by="local")
    session.state = "DISCARDING"


def end_session(session: Session, error: amqp.Error | None, closed_by: ClosedBy) -> None:
    """Tell the end of all links and of the session, once."""
    for link in dict.fromkeys((*session._by_handle.values(), *session._by_remote.values())):
        end_link(link, error, closed_by, closed=False)
    session._by_handle.clear()
    session._by_remote.clear()
    session._unanswered.clear()
    session._sent.clear()
    session._received.clear()
    session._outgoing.clear()
    session.state = "UNMAPPED"
    if not session._reports_end:
        session._reports_end = True
        session.connection._emit(events.SessionEnded(session, error, closed_by))


# --- links ----------------------------------------------------------------------------------------


def fail_link(link: Link, condition: str, text: str) -> None:
    """Detach for a mistake of the peer."""
    if link.state in ("DETACH_SENT", "DETACHED"):
        return
    error = error_of(condition, text[:200])
    if link.session.state in ("END_SENT", "DISCARDING", "UNMAPPED"):
        end_link(link, error, closed_by="local", closed=True)
        return
    if link.state == "ATTACH_RCVD":
        answer_attach(link)
    link._detach(error, closed=True)
    _report_end(link, error, closed_by="local", closed=True)


def end_link(link: Link, error: amqp.Error | None, closed_by: ClosedBy, closed: bool) -> None:
    """The link is gone: detached on both sides, or its session is over."""
    if link.state not in ("DETACH_SENT", "DETACHED"):
        links = link.session.connection._links
        if links.get((link.name, link.sends)) is link:
            del links[link.name, link.sends]
        link._release()
    link.state = "DETACHED"
    _report_end(link, error, closed_by, closed)


def _report_end(link: Link, error: amqp.Error | None, closed_by: ClosedBy, closed: bool) -> None:
    """Report the end of a link, once."""
    if not link._reports_end:
        link._reports_end = True
        link.session.connection._emit(events.LinkClosed(link, closed, error, closed_by))
