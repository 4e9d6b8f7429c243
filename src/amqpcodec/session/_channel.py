"""A channel: its state, its requests in both directions, and what it sends."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from . import _rules
from ._operations import Operations
from ._requests import Consumer, PeerRequest, Request
from ._tags import Deliveries, Publications, Tags, TransactionalDeliveries
from .errors import LocalProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._legacy import LegacyConnection

__all__ = ["CLOSED", "CLOSING", "OPEN", "OPENING", "Channel"]

#: States. OPENING: asked for; requests may follow already. CLOSING: channel.close was sent.
OPENING, OPEN, CLOSING, CLOSED = range(4)
_STATES = ("opening", "open", "closing", "closed")

#: Methods that have a call of their own.
_NOT_BY_SEND = ("channel.open", "channel.open-ok", "channel.close", "channel.close-ok")

#: What settles deliveries (of a client) or publications (of a server).
_SETTLING = frozenset({"basic.ack", "basic.nack", "basic.reject"})

#: What answers the peer, beside replies. On a channel that is over it does nothing.
_ANSWERS = frozenset({*_SETTLING, "basic.cancel", "basic.return"})

#: How many names of consumers that the server cancelled a channel remembers.
_CANCELLED = 256


class Channel(Operations):
    """A channel of a connection of 0-x. Made by open_channel, or since a client asked for it.

    Attributes:
        connection: the one it belongs to.
        number: from 1 to channel_max.
        consumers: by consumer tag.
        sent: requests that wait for the peer, in order.
        received: requests of the peer that wait to be answered, in order.
        confirming: whether publications are numbered and confirmed.
        transactional: whether it has transactions.
        flow_active: False while the server wants no publications.
        publications: those that wait for a confirm; ``len()`` counts them.
        deliveries: those that wait to be acknowledged; ``len()`` counts them.
        ticket: access ticket that operations of 0-8 and 0-9 name: what access.request was answered
            with last, or what you set. Versions without tickets ignore it.
        context: the caller's own.
        close_reason: (reply code, reply text) once it is closed by either side.
        state, requests_made, leaving, discarding: the engine's own.
    """

    __slots__ = (
        "_cancelled",
        "_recovering",
        "close_reason",
        "confirming",
        "connection",
        "consumers",
        "context",
        "deliveries",
        "discarding",
        "flow_active",
        "leaving",
        "number",
        "publications",
        "received",
        "requests_made",
        "sent",
        "state",
        "ticket",
        "transactional",
    )

    connection: LegacyConnection
    number: int
    state: int
    publications: Publications
    deliveries: Deliveries | TransactionalDeliveries
    confirming: bool
    transactional: bool
    flow_active: bool
    discarding: bool
    ticket: int
    requests_made: int

    def __init__(self, connection: LegacyConnection, number: int, state: int) -> None:
        self.connection = connection
        self.number = number
        self.state = state
        self.sent: deque[Request] = deque()
        self.received: deque[PeerRequest] = deque()
        self.consumers: dict[str, Consumer] = {}
        self.publications = Publications()
        self.deliveries = Deliveries()
        #: For each basic.recover that waits for its reply, the last delivery before it.
        self._recovering: deque[int] = deque()
        self._cancelled: dict[str, None] = {}
        self.confirming = False
        self.transactional = False
        self.flow_active = True
        self.discarding = False
        self.ticket = 0
        self.close_reason: tuple[int, str] | None = None
        #: How many requests were sent so far; and consumers that were cancelled without asking for
        #: a reply, each with that number: once a later request is answered, nothing more comes.
        self.requests_made = 0
        self.leaving: deque[tuple[int, Consumer]] = deque()
        self.context: Any = None

    def __repr__(self) -> str:
        return f"Channel({self.number})"  # without its state, which may change later

    @property
    def is_open(self) -> bool:
        """Whether it can be used: open, or asked for."""
        return self.state <= OPEN and self.connection.is_open

    def check_open(self) -> None:
        """Refuse what needs an open channel.

        Raises:
            LocalProtocolError: it is closed or closing; says why.
        """
        if self.state <= OPEN and self.connection.is_open:
            return
        if self.close_reason is None:
            self.connection.check_open()
            raise LocalProtocolError(f"channel {self.number} is {_STATES[self.state]}")
        code, text = self.close_reason
        raise LocalProtocolError(f"channel {self.number} is closed: {code} {text}")

    def send(self, method: Any, properties: Any = None, body: Buffer = b"") -> Request | None:
        """Send any method of the protocol, with its content if it carries one.

        What answers the peer (a reply, ack, nack, reject, return, a cancel) does nothing on a
        channel that is over: the peer may have closed it with the bytes that are being answered.

        Returns:
            the Request that its reply completes; None where the method has no reply, or nothing
            was sent.

        Raises:
            LocalProtocolError: the rules forbid it now. Nothing was sent.
            EncodeError: a value cannot be encoded. Nothing was sent.
        """
        connection = self.connection
        kind = type(method)
        name = connection.check_method(kind)
        if connection.model.connection_class == kind.CLASS_ID or name in _NOT_BY_SEND:
            raise LocalProtocolError(f"{name} is sent by a call of its own")
        answers = kind in connection.model.replies
        if not self.is_open:
            if answers or name in _ANSWERS:
                return None
            self.check_open()
        if answers:
            return self._answer_next(method, properties, body)
        if name in _SETTLING:
            multiple = name != "basic.reject" and method.multiple
            self.send_settling(method, method.delivery_tag, multiple)
            return None
        if name == "basic.publish":
            self.check_flow()
        request = self._new_request(method)
        frames = connection._frames_of(self.number, method, properties, body)
        check = _rules.CHECKS.get(name)
        fault = check(self, method) if check is not None else None
        if fault is not None:
            raise LocalProtocolError(f"channel {self.number}: {name}: {fault[1]}")
        connection._queue_frames(frames)
        self._note_request(request)
        if name == "basic.publish" and self.confirming:
            self.publications.last += 1
        effect = _rules.EFFECTS.get(name)
        if effect is not None:
            effect(self, method, request)
        self._forget_consumer(name, method)
        return request

    def _forget_consumer(self, name: str, method: Any) -> None:
        """After basic.cancel of a server, nothing more is delivered."""
        if name == "basic.cancel" and self.connection.role == "server":
            self.consumers.pop(method.consumer_tag, None)

    def forget_left(self) -> None:
        """Drop the consumers whose last delivery has come, now that a request was answered."""
        answered = self.requests_made - len(self.sent)
        while self.leaving and self.leaving[0][0] < answered:
            _, consumer = self.leaving.popleft()
            if self.consumers.get(consumer.tag) is consumer:
                del self.consumers[consumer.tag]

    def _note_cancelled(self, consumer_tag: str) -> None:
        """The server cancelled a consumer: to cancel it again does nothing."""
        names = self._cancelled
        names[consumer_tag] = None
        if len(names) > _CANCELLED:
            del names[next(iter(names))]

    def _was_cancelled(self, consumer_tag: str) -> bool:
        """Whether the server cancelled the last consumer of this name."""
        return consumer_tag in self._cancelled

    def check_flow(self) -> None:
        """Refuse publications that the server does not want.

        Raises:
            LocalProtocolError: the flow is stopped.
        """
        if not self.flow_active:
            raise LocalProtocolError(
                f"channel {self.number}: the server has stopped the flow of publications"
            )

    def send_settling(self, method: Any, tag: int, multiple: bool) -> None:
        """Send an ack, nack or reject."""
        connection = self.connection
        raw = connection.encode(self.number, method)
        tag = int(tag)  # NumPy's scalars would be added up in their few bits
        client = connection.role == "client"
        if client and self._recovering and tag > self._recovering[0]:
            return  # it came after basic.recover was sent, which gives it back
        if self.settle(tag, multiple, client) is None:
            if client and 0 < tag <= self.deliveries.void:
                return  # basic.recover gave it back
            raise LocalProtocolError(
                f"channel {self.number}: {method.NAME}: unknown delivery tag {tag}"
            )
        connection.queue_bytes(raw)

    def settle(self, tag: int, multiple: bool, deliveries: bool) -> Tags | None:
        """The numbers that an ack, nack or reject settles; None where it cannot.

        deliveries: of those, which a client settles; else of the publications.
        """
        if not deliveries:
            return self.publications.settle(tag, multiple)
        return self.deliveries.settle(tag, multiple)

    # ---- answers to the peer ----

    def respond(
        self, request: PeerRequest, method: Any, properties: Any, body: Buffer
    ) -> Request | None:
        """Answer a request of the peer; `PeerRequest.respond` comes here."""
        if not self.is_open:
            return None
        if not self.received or self.received[0] is not request:
            raise LocalProtocolError(
                f"channel {self.number}: {request.method.NAME} is not the next to be answered"
            )
        if type(method) not in request.method.RESPONSES:
            raise LocalProtocolError(f"{method.NAME} is no reply to {request.method.NAME}")
        return self._answer_next(method, properties, body)

    def _answer_next(self, method: Any, properties: Any, body: Buffer) -> Request | None:
        """Send the reply to the request of the peer that is next.

        Returns:
            the Request that the reply itself makes: file.open-ok asks for file.stage. Else None.
        """
        connection = self.connection
        connection.check_method(type(method))
        if not self.received or type(method) not in self.received[0].method.RESPONSES:
            raise LocalProtocolError(
                f"channel {self.number}: {method.NAME} answers nothing that was asked"
            )
        request = self.received[0]
        next_request = self._new_request(method)
        frames = connection._frames_of(self.number, method, properties, body)
        check = _rules.REPLY_CHECKS.get(method.NAME)
        fault = check(self, request, method) if check is not None else None
        if fault is not None:
            raise LocalProtocolError(f"channel {self.number}: {method.NAME}: {fault[1]}")
        connection._queue_frames(frames)
        self.received.popleft()
        request.response = method
        self._note_request(next_request)
        effect = _rules.REPLY_EFFECTS.get(method.NAME)
        if effect is not None:
            effect(self, request, method)
        return next_request

    def _new_request(self, method: Any) -> Request | None:
        """The request that a method is once it is queued; None where nothing answers it."""
        if not self.connection.model.expects_reply(method):
            return None
        self.connection.check_room(self.sent)
        return Request(method, self)

    def _note_request(self, request: Request | None) -> None:
        if request is not None:
            self.sent.append(request)
            self.requests_made += 1

    # ---- its end ----

    def close(self, reply_code: int = 200, reply_text: str = "", method: Any = None) -> None:
        """Ask the peer to close the channel; ChannelClosed tells when it is done.

        Does nothing where it is closed or closing already. What the peer confirms or answers until
        then is still reported; deliveries are not.

        Args:
            reply_code: 200, or that of an error.
            reply_text: at most 255 bytes.
            method: the method at fault, for an error.
        """
        if self.is_open:
            self.queue_close(reply_code, reply_text, method)

    def queue_close(self, reply_code: int, reply_text: str, method: Any) -> None:
        """Queue channel.close."""
        close = self.connection.model.method("channel.close")
        class_id, method_id = (method.CLASS_ID, method.METHOD_ID) if method is not None else (0, 0)
        text = reply_text or self.connection.model.reply_text(reply_code)
        frame = close(
            reply_code=reply_code, reply_text=text, class_id=class_id, method_id=method_id
        )
        self.connection.queue(self.number, frame)
        self.state = CLOSING
        self.close_reason = (reply_code, text)
