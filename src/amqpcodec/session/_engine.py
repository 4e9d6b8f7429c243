"""The engine of 0-x: what the calls of users do to the state, and what they queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _rules
from ._channel import Channel, Endpoint, PeerRequest, Request, State, StateOfConnection
from ._checks import (
    check_channel_open,
    check_flow,
    check_method,
    check_open,
    check_request_limit,
    is_usable,
)
from ._ending import end_connection, queue_channel_close, queue_close
from ._output import frames_of, queue, queue_frames
from ._settling import send_settling
from ._state import OPENING, ChannelState
from .errors import LocalProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["ConnectionEngine"]

#: Methods that have a call of their own.
_NOT_BY_SEND = ("channel.open", "channel.open-ok", "channel.close", "channel.close-ok")

#: What settles deliveries (of a client) or publications (of a server).
_SETTLING = frozenset({"basic.ack", "basic.nack", "basic.reject"})

#: What answers the peer, beside replies. On a channel that is over it does nothing.
_ANSWERS = frozenset({*_SETTLING, "basic.cancel", "basic.return"})


class ConnectionEngine:
    """The calls on one connection and its channels."""

    __slots__ = ("_connection",)

    def __init__(self, connection: StateOfConnection) -> None:
        self._connection = connection

    # ---- a channel sends ----

    def send_by_name(self, channel: State, name: str, arguments: dict[str, Any]) -> Request | None:
        """Send a method by its name, with the ticket of the channel where it takes one."""
        model = self._connection.model
        if channel.ticket and "ticket" in model.method(name).FIELDS:
            arguments["ticket"] = channel.ticket
        return self.send(channel, model.make(name, **arguments), None, b"")

    def send(self, channel: State, method: Any, properties: Any, body: Buffer) -> Request | None:
        """See `Channel.send`."""
        connection = self._connection
        kind = type(method)
        name = check_method(connection, kind)
        if connection.model.connection_class == kind.CLASS_ID or name in _NOT_BY_SEND:
            raise LocalProtocolError(f"{name} is sent by a call of its own")
        answers = kind in connection.model.replies
        if not is_usable(channel):
            if answers or name in _ANSWERS:
                return None
            check_channel_open(channel)
        if answers:
            return self._answer_next(channel, method, properties, body)
        if name in _SETTLING:
            multiple = name != "basic.reject" and method.multiple
            send_settling(channel, method, method.delivery_tag, multiple)
            return None
        if name == "basic.publish":
            check_flow(channel)
        request = self._new_request(channel, method)
        frames = frames_of(connection, channel.number, method, properties, body)
        check = _rules.CHECKS.get(name)
        fault = check(channel, method) if check is not None else None
        if fault is not None:
            raise LocalProtocolError(f"channel {channel.number}: {name}: {fault[1]}")
        queue_frames(connection, frames)
        if request is not None:
            channel.sent.append(request)
            channel.requests_made += 1
        if name == "basic.publish" and channel.confirming:
            channel.publications.last += 1
        effect = _rules.EFFECTS.get(name)
        if effect is not None:
            effect(channel, method, request)
        if name == "basic.cancel" and connection.role == "server":
            channel.consumers.pop(method.consumer_tag, None)  # nothing more is delivered
        return request

    def _new_request(self, channel: State, method: Any) -> Request | None:
        """The request that a method is once it is queued; None where nothing answers it."""
        if not self._connection.model.expects_reply(method):
            return None
        check_request_limit(self._connection, channel.sent)
        return Request(method, channel.channel)

    def close_channel(self, channel: State, reply_code: int, reply_text: str, method: Any) -> None:
        """See `Channel.close`."""
        queue_channel_close(channel, reply_code, reply_text, method)

    # ---- answers to the peer ----

    def respond(
        self, request: PeerRequest, method: Any, properties: Any, body: Buffer
    ) -> Request | None:
        """See `PeerRequest.respond`."""
        connection = self._connection
        if request.channel is None:
            if not connection.is_open:
                return None
            if not connection.received or connection.received[0] is not request:
                raise LocalProtocolError(f"{request.method.NAME} is not the next to be answered")
            if type(method) not in request.method.RESPONSES:
                raise LocalProtocolError(f"{method.NAME} is no reply to {request.method.NAME}")
            queue(connection, 0, method)
            connection.received.popleft()
            request.response = method
            return None
        channel = request.channel._state
        if not is_usable(channel):
            return None
        if not channel.received or channel.received[0] is not request:
            raise LocalProtocolError(
                f"channel {channel.number}: {request.method.NAME} is not the next to be answered"
            )
        if type(method) not in request.method.RESPONSES:
            raise LocalProtocolError(f"{method.NAME} is no reply to {request.method.NAME}")
        return self._answer_next(channel, method, properties, body)

    def _answer_next(
        self, channel: State, method: Any, properties: Any, body: Buffer
    ) -> Request | None:
        """Send the reply to the request of the peer that is next.

        Returns:
            the Request that the reply itself makes: file.open-ok asks for file.stage. Else None.
        """
        connection = self._connection
        check_method(connection, type(method))
        if not channel.received or type(method) not in channel.received[0].method.RESPONSES:
            raise LocalProtocolError(
                f"channel {channel.number}: {method.NAME} answers nothing that was asked"
            )
        request = channel.received[0]
        next_request = self._new_request(channel, method)
        frames = frames_of(connection, channel.number, method, properties, body)
        check = _rules.REPLY_CHECKS.get(method.NAME)
        fault = check(channel, request, method) if check is not None else None
        if fault is not None:
            raise LocalProtocolError(f"channel {channel.number}: {method.NAME}: {fault[1]}")
        queue_frames(connection, frames)
        channel.received.popleft()
        request.response = method
        if next_request is not None:
            channel.sent.append(next_request)
            channel.requests_made += 1
        effect = _rules.REPLY_EFFECTS.get(method.NAME)
        if effect is not None:
            effect(channel, request, method)
        return next_request

    # ---- the connection ----

    def open_channel(self, endpoint: Endpoint, number: int | None) -> Channel:
        """See `Connection.open_channel`. endpoint: the Connection, for the channel to name."""
        connection = self._connection
        check_open(connection)
        if connection.role != "client":
            raise LocalProtocolError("a server does not open channels")
        limit = connection.channel_max or 65535
        if number is None:
            number = _free_number(connection, limit)
        elif not 1 <= number <= limit or number in connection.channels:
            raise LocalProtocolError(f"channel {number} is in use or not within 1 to {limit}")
        state: State = ChannelState(connection, number, OPENING)
        channel = Channel(endpoint, self, state)
        method = connection.model.make("channel.open")
        queue(connection, number, method)
        state.sent.append(Request(method, channel))
        state.requests_made = 1
        connection.channels[number] = channel
        connection.states[number] = state
        return channel

    def update_secret(self, secret: bytes, reason: str) -> Request:
        """See `Connection.update_secret`."""
        connection = self._connection
        check_open(connection)
        method = connection.model.make("connection.update-secret", new_secret=secret, reason=reason)
        check_method(connection, type(method))
        check_request_limit(connection, connection.sent)
        queue(connection, 0, method)
        request = Request(method, None)
        connection.sent.append(request)
        return request

    def send_of_connection(self, method: Any) -> None:
        """See `Connection.send`."""
        check_open(self._connection)
        name = check_method(self._connection, type(method))
        if name not in ("connection.blocked", "connection.unblocked"):
            raise LocalProtocolError(f"{name} is sent by a call of its own")
        queue(self._connection, 0, method)

    def close(self, reply_code: int, reply_text: str, method: Any) -> None:
        """See `Connection.close`."""
        connection = self._connection
        if connection.close_reason is not None:
            return
        text = reply_text or connection.model.reply_text(reply_code)
        if connection.stage == "start":
            end_connection(connection, [], reply_code, text, None, "local")  # no peer to send to
        else:
            queue_close(connection, reply_code, text, method)


def _free_number(connection: StateOfConnection, limit: int) -> int:
    """The number of the next channel: one after the other, so that none comes again soon."""
    if len(connection.channels) >= limit:
        raise LocalProtocolError(f"all {limit} channels are in use")
    number = connection.next_number
    while number in connection.channels:
        number = number % limit + 1
    connection.next_number = number % limit + 1
    return number
