"""What a connection does with each frame that comes, but for those of a session."""

from __future__ import annotations

from typing import Any

from ... import v1_0 as amqp
from . import events, session_incoming
from .ending import end_connection, fail_connection, refuse_frame
from .layers import Layers
from .objects import Session, SessionEndpoint

__all__ = ["take_frame"]

_HEADER = amqp.ProtocolHeader
_SASL = frozenset(
    (
        *(amqp.SaslMechanisms, amqp.SaslInit, amqp.SaslChallenge, amqp.SaslResponse),
        amqp.SaslOutcome,
    )
)


def take_frame(connection: SessionEndpoint, layers: Layers, channel: int, frame: Any) -> None:
    """A frame of any kind; raises RemoteProtocolError where it ends the connection."""
    kind = type(frame)
    if kind is amqp.Heartbeat:
        return
    if kind is _HEADER:
        layers.header_frame(frame)
        return
    for name in frame.MANDATORY:
        if getattr(frame, name) is None:
            fail_connection(
                connection,
                amqp.AmqpError.INVALID_FIELD,
                f"{frame.NAME} lacks {name}",
                channel=channel,
                method=frame.NAME,
            )
    if kind in _SASL:
        layers.sasl_frame(frame)
    elif connection._close_sent:
        if kind is amqp.Close:
            _take_close(connection, frame)
    elif connection._stage != "amqp":
        refuse_frame(connection, channel, frame, "before the protocol header")
    elif kind is amqp.Open:
        _take_open(connection, frame)
    elif connection.remote_open is None:
        refuse_frame(connection, channel, frame, "before open")
    elif kind is amqp.Close:
        _take_close(connection, frame)
    elif kind is amqp.Begin:
        _take_begin(connection, channel, frame)
    else:
        _session_frame(connection, channel, frame, kind)


def _session_frame(connection: SessionEndpoint, channel: int, frame: Any, kind: type) -> None:
    session = connection._by_remote.get(channel)
    if session is None:
        refuse_frame(connection, channel, frame, f"on channel {channel}, where no session is")
    else:
        session_incoming.take_frame(session, frame, kind)


def _take_open(connection: SessionEndpoint, frame: amqp.Open) -> None:
    if connection.remote_open is not None:
        refuse_frame(connection, 0, frame, "twice")
    if frame.max_frame_size < amqp.MIN_MAX_FRAME_SIZE:
        fail_connection(
            connection,
            amqp.AmqpError.INVALID_FIELD,
            f"max-frame-size is 512 at least, not {frame.max_frame_size}",
            method="open",
        )
    connection.remote_open = frame
    connection._heartbeats.remote = frame.idle_time_out or 0
    connection._frame_size = min(frame.max_frame_size, connection._limits.frame_size)
    connection.channel_max = frame.channel_max
    client = connection.role == "client"
    connection._emit(
        events.ConnectionOpened(frame) if client else events.ConnectionRequested(frame)
    )


def _take_close(connection: SessionEndpoint, frame: amqp.Close) -> None:
    connection._close_received = True
    by_peer = not connection._close_sent
    if by_peer:
        connection._queue_open()
        connection._queue(0, amqp.Close())
        connection._close_sent = True
    error = frame.error if by_peer or frame.error is not None else connection._close_error
    end_connection(connection, error, closed_by="remote" if by_peer else "local", clean=True)


def _take_begin(connection: SessionEndpoint, channel: int, frame: amqp.Begin) -> None:
    if channel >= connection._limits.sessions:
        fail_connection(
            connection,
            amqp.ConnectionError.FRAMING_ERROR,
            f"channel {channel} is above channel-max {connection._limits.sessions - 1}",
            channel=channel,
            method="begin",
        )
    if channel in connection._by_remote:
        refuse_frame(connection, channel, frame, f"on channel {channel}, which is in use")
    if frame.remote_channel is None:
        own = connection._free_channel()
        if own is None:
            fail_connection(
                connection,
                amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                f"all {connection.channel_max + 1} channels are in use",
                channel=channel,
                method="begin",
            )
        session = Session(connection, own, connection._limits.incoming_window)
        connection._map(own, session)
        connection._by_remote[channel] = session
        session_incoming.note_request(session, channel, frame)
        return
    own_session = connection._by_channel.get(frame.remote_channel)
    if own_session is None or own_session.remote_channel is not None:
        fail_connection(
            connection,
            amqp.AmqpError.INVALID_FIELD,
            f"begin answers channel {frame.remote_channel}, where no session waits",
            channel=channel,
            method="begin",
        )
    else:
        connection._by_remote[channel] = own_session
        session_incoming.note_answer(own_session, channel, frame)
