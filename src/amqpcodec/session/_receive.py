"""What a method of the peer means in the state at hand: events, answers, or a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..errors import DecodeError, EncodeError
from . import _codes, _rules
from ._channel import (
    Channel,
    Endpoint,
    Engine,
    PeerRequest,
    Request,
    State,
    StateOfConnection,
)
from ._checks import is_usable
from ._client import ClientHandshake
from ._ending import end_channel, end_connection, queue_channel_close, queue_close
from ._faults import ChannelException, ConnectionException
from ._output import queue
from ._rules import take_delivery
from ._server import ServerHandshake
from ._state import CLOSING, OPEN, OPENING, ChannelState
from ._types import Event
from .errors import RemoteProtocolError
from .events import (
    Acked,
    Acknowledged,
    Blocked,
    ChannelOpened,
    ConsumerCancelled,
    Delivered,
    FlowChanged,
    MethodReceived,
    Nacked,
    Published,
    Rejected,
    Replied,
    Requested,
    Returned,
    Unblocked,
)

__all__ = ["Receiver"]

#: What RabbitMQ answers by way of the queue: replies to later requests may come before these.
_OVERTAKEN = frozenset({"basic.consume", "basic.cancel"})

#: How many names of consumers that the server cancelled a channel remembers.
_CANCELLED = 256

Handler: TypeAlias = Callable[[int, Any, list[Event]], None]


class Receiver:
    """Takes what the decoder yields.

    handlers: class of the item -> what takes it; `on_method` takes all others.
    """

    __slots__ = (
        "_channels",
        "_connection",
        "_deliver",
        "_endpoint",
        "_engine",
        "_handshake",
        "_model",
        "_peer",
        "_publish",
        "_return",
        "handlers",
    )

    def __init__(
        self,
        connection: StateOfConnection,
        handshake: ClientHandshake | ServerHandshake,
        endpoint: Endpoint,
        engine: Engine,
    ) -> None:
        """endpoint, engine: what channels that the peer opens are given."""
        self._connection = connection
        self._handshake = handshake
        self._endpoint = endpoint
        self._engine = engine
        self._channels = connection.states
        self._model = model = connection.model
        self._peer = "server" if connection.role == "client" else "client"
        self._deliver = model.method("basic.deliver")
        self._publish = model.method("basic.publish")
        self._return = model.method("basic.return")
        module = model.module
        self.handlers: dict[type, Handler] = {
            module.Message: self._on_message,
            module.Heartbeat: self._on_heartbeat,
            module.ProtocolHeader: self._on_protocol_header,
        }
        for name in ("basic.ack", "basic.nack", "basic.reject"):
            if name in model.methods and self._peer in model.methods[name].SENT_BY:
                self.handlers[model.methods[name]] = self._on_settled

    # ---- frames that are no methods ----

    def _on_heartbeat(self, number: int, item: Any, events: list[Event]) -> None:
        if self._connection.stage == "start":
            raise ConnectionException(_codes.OUT_OF_TURN, "a heartbeat before the handshake")

    def _on_protocol_header(self, number: int, item: Any, events: list[Event]) -> None:
        if self._connection.stage != "start":
            raise ConnectionException(
                _codes.NOT_AMQP, "a protocol header in the middle of a connection"
            )
        self._handshake.on_protocol_header(item, events)

    # ---- contents ----

    def _on_message(self, number: int, message: Any, events: list[Event]) -> None:
        method = message.method
        kind = type(method)
        channel = self._channels.get(number)
        if channel is None or channel.phase > OPEN or not self._connection.is_open:
            channel = self._usable(number, method)
            if channel is None or kind is self._deliver:  # no deliveries while it is closing
                return
        if self._peer not in kind.SENT_BY:
            raise ConnectionException(
                _codes.OUT_OF_TURN, f"a {self._peer} does not send {kind.NAME}", method, number
            )
        if kind is self._deliver:
            events.append(Delivered(take_delivery(channel, method), message))
        elif kind is self._publish:
            publications = channel.publications
            if channel.confirming:
                publications.last += 1
                events.append(Published(channel.channel, message, publications.last))
            else:
                events.append(Published(channel.channel, message, None))
        elif kind is self._return:
            events.append(Returned(channel.channel, message))
        elif kind in self._model.replies:
            self._on_reply(channel, message, method, events)
        else:
            events.append(MethodReceived(channel.channel, message))

    # ---- acknowledgements and confirms ----

    def _on_settled(self, number: int, method: Any, events: list[Event]) -> None:
        channel = self._channels.get(number)
        if channel is None or channel.phase > OPEN or not self._connection.is_open:
            channel = self._usable(number, method)
            if channel is None:
                return
        name = type(method).NAME
        tag = method.delivery_tag
        multiple = name != "basic.reject" and method.multiple
        if self._peer == "client":
            tags = channel.deliveries.settle(tag, multiple)
        else:
            tags = channel.publications.settle(tag, multiple)
        if tags is None:
            if channel.phase == CLOSING or not self._connection.is_open:
                return
            raise ChannelException(
                _codes.UNKNOWN_DELIVERY_TAG, f"unknown delivery tag {tag}", method, number
            )
        if self._peer == "server":
            events.append((Acked if name == "basic.ack" else Nacked)(channel.channel, tags))
        elif name == "basic.ack":
            events.append(Acknowledged(channel.channel, tags))
        else:
            events.append(Rejected(channel.channel, tags, bool(method.requeue)))

    # ---- methods ----

    def on_method(self, number: int, method: Any, events: list[Event]) -> None:
        """Take a method without content."""
        kind = type(method)
        connection = self._connection
        if self._peer not in kind.SENT_BY:
            raise ConnectionException(
                _codes.OUT_OF_TURN, f"a {self._peer} does not send {kind.NAME}", method, number
            )
        if self._model.connection_class == kind.CLASS_ID:
            if number:
                raise ConnectionException(
                    _codes.OUT_OF_TURN, f"{kind.NAME} on channel {number}", method, number
                )
            self._on_connection_method(method, events)
            return
        name = kind.NAME
        if name == "channel.open":
            self._on_channel_open(number, method, events)
            return
        if name == "channel.close" or name == "channel.close-ok":
            self._on_channel_end(number, method, events)
            return
        channel = self._usable(number, method)
        if channel is None:
            return
        if kind in self._model.replies and self._answered(channel, kind) is not None:
            self._on_reply(channel, method, method, events)
        elif channel.phase == CLOSING or not connection.is_open:
            return
        elif kind in self._model.replies:
            raise ConnectionException(
                _codes.OUT_OF_TURN, f"{name} answers nothing that was asked", method, number
            )
        else:
            self._on_request(channel, method, events)

    def _usable(self, number: int, method: Any) -> State | None:
        """The channel of a method; None where the method is to be ignored."""
        connection = self._connection
        if connection.stage != "opened":
            due = " or ".join(self._handshake.expected) or "the end of the handshake"
            raise ConnectionException(
                _codes.OUT_OF_TURN, f"{method.NAME} where {due} has to come", method, number
            )
        channel = self._channels.get(number)
        if channel is None:
            if not connection.is_open:
                return None
            raise self._not_open(method, number)
        # A client that closes is still told what was confirmed and answered. A server has no use
        # for more: this may rest on what it ignored before.
        closing = channel.phase == CLOSING or not connection.is_open
        if channel.discarding or (closing and self._peer == "client"):
            return None
        return channel

    def _not_open(self, method: Any, number: int) -> ConnectionException:
        # To clients in RabbitMQ's words.
        text = f"{method.NAME} on channel {number}, not open"
        if self._peer == "client":
            text = "expected 'channel.open'"
        return ConnectionException(_codes.CHANNEL_NOT_OPEN, text, method, number)

    def _answered(self, channel: State, kind: type) -> int | None:
        """Place in ``channel.sent`` of the request that a reply completes; None for no request.

        Replies come in the order of their requests, but for those of basic.consume and
        basic.cancel: RabbitMQ's queues give them to the channel, which may have answered later
        requests by then. Among each other they keep their order.
        """
        for place, request in enumerate(channel.sent):
            overtaken = self._peer == "server" and request.method.NAME in _OVERTAKEN
            if kind in request.method.RESPONSES:
                return None if place and overtaken else place
            if not overtaken:
                return None
        return None

    def _on_reply(self, channel: State, reply: Any, method: Any, events: list[Event]) -> None:
        """Complete the request that it answers; reply is the method, or the Message around it."""
        place = self._answered(channel, type(method))
        if place is None:
            text = f"{method.NAME} answers nothing that was asked"
            raise ConnectionException(_codes.OUT_OF_TURN, text, method, channel.number)
        request = channel.sent[place]
        name = method.NAME
        check = _rules.REPLY_CHECKS.get(name)
        fault = check(channel, request, method) if check is not None else None
        if fault is not None:
            raise ConnectionException(fault[0], fault[1], method, channel.number)
        del channel.sent[place]
        request.response = reply
        if channel.phase == OPENING:
            channel.phase = OPEN
            events.append(ChannelOpened(channel.channel))
            return
        effect = _rules.REPLY_EFFECTS.get(name)
        if effect is not None:
            effect(channel, request, method)
        if channel.leaving:
            _forget_left(channel)
        events.append(Replied(channel.channel, request, reply))
        if type(method).RESPONSES and is_usable(channel):  # file.open-ok asks for file.stage
            self._on_request(channel, method, events)

    def _on_request(self, channel: State, method: Any, events: list[Event]) -> None:
        """A method that begins something."""
        kind = type(method)
        name = kind.NAME
        if self._peer == "server":
            if name == "channel.flow":
                self._on_flow(channel, method, events)
                return
            if name == "basic.cancel":
                self._on_cancel(channel, method, events)
                return
        check = _rules.CHECKS.get(name)
        fault = check(channel, method) if check is not None else None
        if fault is not None:
            hard = self._model.is_hard(self._model.reply_code(fault[0]))
            raise (ConnectionException if hard else ChannelException)(
                fault[0], fault[1], method, channel.number
            )
        effect = _rules.EFFECTS.get(name)
        if not kind.RESPONSES:
            if effect is not None:
                effect(channel, method, None)
            events.append(MethodReceived(channel.channel, method))
            return
        connection = self._connection
        expects = self._model.expects_reply(method)
        request = PeerRequest(method, channel.channel, self._engine, expects)
        if effect is not None:
            effect(channel, method, request)
        if expects:
            if len(channel.received) >= connection.max_requests:
                raise ConnectionException(
                    _codes.TOO_MANY_REQUESTS,
                    "too many requests wait for replies",
                    method,
                    channel.number,
                )
            channel.received.append(request)
        events.append(Requested(channel.channel, request))

    def _on_flow(self, channel: State, method: Any, events: list[Event]) -> None:
        channel.flow_active = bool(method.active)
        reply = self._model.make("channel.flow-ok", active=channel.flow_active)
        queue(self._connection, channel.number, reply)
        events.append(FlowChanged(channel.channel, channel.flow_active))

    def _on_cancel(self, channel: State, method: Any, events: list[Event]) -> None:
        """The server ended a consumer."""
        consumer = channel.consumers.pop(method.consumer_tag, None)
        if self._model.expects_reply(method):
            reply = self._model.make("basic.cancel-ok", consumer_tag=method.consumer_tag)
            queue(self._connection, channel.number, reply)
        # One that the caller cancels at the same time is told by the reply to that.
        if consumer is not None and consumer.active:
            consumer.active = False
            _note_cancelled(channel, consumer.tag)
            events.append(ConsumerCancelled(consumer))

    # ---- channels ----

    def _on_channel_open(self, number: int, method: Any, events: list[Event]) -> None:
        connection = self._connection
        if connection.stage != "opened":
            self._usable(number, method)
        if not connection.is_open:
            return
        limit = connection.channel_max or 65535
        if number in self._channels or not 1 <= number <= limit:
            text = f"channel {number} is not within 1 to {limit}"
            if number in self._channels:
                text = "second 'channel.open' seen"
            raise ConnectionException(_codes.CHANNEL_NOT_OPEN, text, method, number)
        channel: State = ChannelState(connection, number, OPEN)
        connection.channels[number] = Channel(self._endpoint, self._engine, channel)
        self._channels[number] = channel
        queue(connection, number, self._model.make("channel.open-ok"))
        events.append(ChannelOpened(channel.channel))

    def _on_channel_end(self, number: int, method: Any, events: list[Event]) -> None:
        """channel.close or channel.close-ok."""
        connection = self._connection
        if connection.stage != "opened":
            self._usable(number, method)
        channel = self._channels.get(number)
        if channel is None:
            if not connection.is_open:
                return
            raise self._not_open(method, number)
        if method.NAME == "channel.close":
            if connection.is_open:
                queue(connection, number, self._model.make("channel.close-ok"))
            if channel.phase == CLOSING:
                # Both at once: the number is free when the peer has answered ours, too.
                if not channel.discarding:
                    channel.close_reason = (method.reply_code, method.reply_text)
                return
            blamed = self._blamed(method)
            end_channel(channel, events, method.reply_code, method.reply_text, blamed, "remote")
            return
        if channel.phase != CLOSING:
            raise ConnectionException(
                _codes.OUT_OF_TURN, "channel.close-ok answers nothing", method, number
            )
        if channel.discarding:
            self._channels.pop(number)
            connection.channels.pop(number)
            return
        code, text = channel.close_reason or (200, "")
        end_channel(channel, events, code, text, None, "local")

    def _blamed(self, close: Any) -> Any:
        """Class of the method that a close names; None for none."""
        return self._model.module.METHODS.get((close.class_id, close.method_id))

    # ---- the connection ----

    def _on_connection_method(self, method: Any, events: list[Event]) -> None:
        connection = self._connection
        name = type(method).NAME
        if name == "connection.close":
            if connection.stage == "start":
                raise ConnectionException(
                    _codes.OUT_OF_TURN, f"{name} before the handshake", method
                )
            queue(connection, 0, self._model.make("connection.close-ok"))
            kind = self._blamed(method)
            blamed = None if kind is None else kind.NAME
            end_connection(
                connection, events, method.reply_code, method.reply_text, blamed, "remote"
            )
        elif name == "connection.close-ok":
            if connection.close_reason is None:
                raise ConnectionException(
                    _codes.OUT_OF_TURN, "connection.close-ok answers nothing", method
                )
            code, text = connection.close_reason
            end_connection(connection, events, code, text, None, "local")
        elif connection.close_reason is not None:
            return
        elif connection.stage != "opened":
            self._handshake.on_method(method, events)
        elif name == "connection.blocked":
            connection.blocked = method.reason
            events.append(Blocked(method.reason))
        elif name == "connection.unblocked":
            connection.blocked = None
            events.append(Unblocked())
        else:
            self._on_open_connection(method, events)

    def _on_open_connection(self, method: Any, events: list[Event]) -> None:
        """Requests and replies once it is open, such as update-secret."""
        connection = self._connection
        kind = type(method)
        if connection.sent and kind in connection.sent[0].method.RESPONSES:
            request: Request = connection.sent.popleft()
            request.response = method
            events.append(Replied(None, request, method))
            return
        if not kind.RESPONSES or kind.NAME in (
            "connection.start",
            "connection.secure",
            "connection.tune",
            "connection.open",
        ):
            raise ConnectionException(
                _codes.OUT_OF_TURN, f"{kind.NAME} on an open connection", method
            )
        if len(connection.received) >= connection.max_requests:
            raise ConnectionException(
                _codes.TOO_MANY_REQUESTS, "too many requests wait for replies", method
            )
        peer_request = PeerRequest(method, None, self._engine, self._model.expects_reply(method))
        connection.received.append(peer_request)
        events.append(Requested(None, peer_request))

    # ---- faults ----

    def fault_of(self, error: DecodeError) -> ConnectionException:
        code, number = error.reply_code, error.channel or 0
        method = self._model.methods.get(error.method or "")
        if self._model.is_hard(code):
            return ConnectionException(code, str(error), method, number)
        if number not in self._channels:
            return ConnectionException(
                _codes.CHANNEL_NOT_OPEN, f"content on channel {number}, not open", method, number
            )
        return ChannelException(code, str(error), method, number)

    def check_asserts(self, number: int, item: Any) -> None:
        """Refuse a method or content whose values the specification excludes."""
        method = getattr(item, "method", item)
        try:
            if hasattr(method, "validate"):
                method.validate()
            if hasattr(item, "properties"):
                item.properties.validate()
        except EncodeError as error:
            code = self._model.illegal_value(error.method, error.field)
            if self._model.is_hard(code):
                raise ConnectionException(code, str(error), method, number) from None
            if number in self._channels:  # else it is refused for its channel
                raise ChannelException(code, str(error), method, number) from None

    def answer(self, fault: ConnectionException, events: list[Event]) -> None:
        """Close what a fault of the peer ends.

        Raises:
            RemoteProtocolError: the connection.
        """
        connection = self._connection
        code = self._model.reply_code(fault.reply_code)
        text = self._model.reply_text(code, fault.text)
        kind = fault.method
        if kind is not None and not isinstance(kind, type):
            kind = type(kind)
        if isinstance(fault, ChannelException):
            channel = self._channels[fault.number]
            if channel.phase != CLOSING and connection.is_open:
                queue_channel_close(channel, code, text, kind)
                channel.discarding = True
                end_channel(channel, events, code, text, kind, "local", keep=True)
            return
        if isinstance(self._handshake, ServerHandshake) and connection.stage == "start":
            try:
                self._handshake.refuse_header(b"", fault.text, events)
            except RemoteProtocolError as error:
                connection.error = error
                raise
        if connection.stage != "start" and connection.close_reason is None:
            queue_close(connection, code, text, kind)
        name = None if kind is None else kind.NAME
        end_connection(connection, events, code, text, name, "local")
        refusal = RemoteProtocolError(
            text, reply_code=code, channel=fault.number, method=name, events=events
        )
        connection.error = refusal
        raise refusal


def _forget_left(channel: State) -> None:
    """Drop the consumers whose last delivery has come, now that a request was answered.

    RabbitMQ may answer a request that came right after a cancel before it sends what the queue gave
    it earlier. One that was made after that answer finds all of it sent.
    """
    answered = channel.requests_made - len(channel.sent)
    leaving = channel.leaving
    while leaving and leaving[0][0] < answered:
        _, consumer, is_last = leaving.popleft()
        if not is_last:
            leaving.append((channel.requests_made, consumer, True))
        elif channel.consumers.get(consumer.tag) is consumer:
            del channel.consumers[consumer.tag]


def _note_cancelled(channel: State, consumer_tag: str) -> None:
    """The server cancelled a consumer: to cancel it again does nothing."""
    names = channel.cancelled
    names[consumer_tag] = None
    if len(names) > _CANCELLED:
        del names[next(iter(names))]
