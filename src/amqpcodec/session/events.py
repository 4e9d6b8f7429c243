"""What a session of 0-x reports: frozen dataclasses, made for ``match``.

In both roles: Connection…, Channel…, Requested, MethodReceived. To clients: Replied to Unblocked.
To servers: LoginRequested to Rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._facade.public import listing
from ._channel import Channel, Consumer, PeerRequest, Request
from ._tags import Tags
from ._types import ClosedBy, Deliver, Event, Message, Method, Publish, Return

__all__ = [
    "Acked",
    "Acknowledged",
    "Blocked",
    "ChannelClosed",
    "ChannelOpened",
    "ClosedBy",
    "ConnectionClosed",
    "ConnectionOpened",
    "ConsumerCancelled",
    "Delivered",
    "Event",
    "FlowChanged",
    "LoginContinued",
    "LoginRequested",
    "MethodReceived",
    "Nacked",
    "OpenRequested",
    "Published",
    "Redirected",
    "Rejected",
    "Replied",
    "RequestFailed",
    "Requested",
    "Returned",
    "Unblocked",
]

__dir__ = listing(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionOpened(Event):
    """The handshake is done.

    Attributes:
        virtual_host: its name.
        peer_properties: the table in which the peer describes itself.
        channel_max: highest channel number; 0: both ends named no limit, so up to 65535.
        frame_max: bytes a frame may take, the 8 of its envelope included; 0 for no limit.
        heartbeat: seconds between heartbeats; 0 for none.
    """

    virtual_host: str
    peer_properties: dict[str, Any]
    channel_max: int
    frame_max: int
    heartbeat: int


@dataclass(frozen=True, slots=True)
class ConnectionClosed(Event):
    """The connection is over. Comes once, after the end of its requests and channels.

    Attributes:
        reply_code: as connection.close has it; 0 where nobody said one (a lost transport).
        reply_text: the same in words.
        method: name of the method at fault ("connection.open"), or None.
        closed_by: who ended it.
        stage: how far it had come: "start", "login", "tune", "open" or "opened".
        peer_version: to a client whose version the server refuses: the one that the server names,
            such as "0-8" or "1.0", or its numbers where this package does not know it. None else.
            No credentials were sent then.
    """

    reply_code: int
    reply_text: str
    method: str | None
    closed_by: ClosedBy
    stage: str
    peer_version: str | None = None


@dataclass(frozen=True, slots=True)
class ChannelOpened(Event):
    """A channel can be used. To a server: the peer opened it, and was answered."""

    channel: Channel


@dataclass(frozen=True, slots=True)
class ChannelClosed(Event):
    """A channel is over, and its number free. Comes once, after the end of its requests.

    Attributes:
        channel: the one.
        reply_code: as channel.close or connection.close has it; 0 for a lost transport.
        reply_text: the same in words.
        method: name of the method at fault ("queue.declare"), or None.
        closed_by: who ended it.
        unconfirmed: numbers of publications that were neither confirmed nor refused.
    """

    channel: Channel
    reply_code: int
    reply_text: str
    method: str | None
    closed_by: ClosedBy
    unconfirmed: Tags = ()


@dataclass(frozen=True, slots=True)
class Requested(Event):
    """The peer sent a method that can be answered: ``request.respond(method)``."""

    channel: Channel | None
    request: PeerRequest


@dataclass(frozen=True, slots=True)
class MethodReceived(Event):
    """A method that is not answered and has no event of its own (basic.recover-async)."""

    channel: Channel
    method: Method | Message[Method]


@dataclass(frozen=True, slots=True)
class Replied(Event):
    """A request is done: reply is a method, or the Message of basic.get-ok."""

    channel: Channel | None
    request: Request
    reply: Method | Message[Method]


@dataclass(frozen=True, slots=True)
class RequestFailed(Event):
    """A request will not be answered, since its channel or connection ended.

    Attributes:
        cause: whether this request is the one that the peer found at fault.
        reply_code: of the close.
        reply_text: its words.
    """

    channel: Channel | None
    request: Request
    reply_code: int
    reply_text: str
    cause: bool


@dataclass(frozen=True, slots=True)
class Delivered(Event):
    """A message for a consumer; message.method is basic.deliver."""

    consumer: Consumer
    message: Message[Deliver]


@dataclass(frozen=True, slots=True)
class Returned(Event):
    """A message that could not be routed or taken; message.method is basic.return."""

    channel: Channel
    message: Message[Return]


@dataclass(frozen=True, slots=True)
class Acked(Event):
    """The server took over these publications: the numbers that `publish` gave, ascending.

    Attributes:
        tags: numbers of publications, ascending: a tuple of one, or TagRanges of many.
    """

    channel: Channel
    tags: Tags


@dataclass(frozen=True, slots=True)
class Nacked(Event):
    """The server could not take over these publications.

    Attributes:
        tags: numbers of publications, ascending: a tuple of one, or TagRanges of many.
    """

    channel: Channel
    tags: Tags


@dataclass(frozen=True, slots=True)
class ConsumerCancelled(Event):
    """The server ended a consumer, such as by deletion of its queue."""

    consumer: Consumer


@dataclass(frozen=True, slots=True)
class FlowChanged(Event):
    """The server stops (active False) or starts publications on a channel; it was answered."""

    channel: Channel
    active: bool


@dataclass(frozen=True, slots=True)
class Blocked(Event):
    """The server reads no more publications for now, such as for lack of memory.

    Attributes:
        reason: which resource is short, in the server's words.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Unblocked(Event):
    """The server reads publications again."""


@dataclass(frozen=True, slots=True)
class Redirected(Event):
    """0-8, 0-9: the server asks to connect to another. This connection is being closed.

    Attributes:
        host: where to connect, as name or name:port.
        known_hosts: others that would do.
    """

    host: str
    known_hosts: str


@dataclass(frozen=True, slots=True)
class LoginRequested(Event):
    """A client wants in: answer by accept_login, refuse_login or challenge of the connection.

    Attributes:
        mechanism: "PLAIN", "AMQPLAIN", "EXTERNAL" or another that was offered.
        username: out of the response of PLAIN and AMQPLAIN; None where it has none.
        password: likewise; not shown.
        response: the mechanism's bytes; not shown.
        locale: the locale that was chosen.
        peer_properties: the table in which the client describes itself.
    """

    mechanism: str
    username: str | None
    password: str | None = field(repr=False)
    response: bytes = field(repr=False)
    locale: str
    peer_properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoginContinued(Event):
    """Answer to a challenge (connection.secure-ok); answer it as LoginRequested.

    Attributes:
        response: the bytes that the client answers with.
    """

    response: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenRequested(Event):
    """A client asks for a virtual host: answer by accept_open or refuse_open.

    Attributes:
        virtual_host: its name.
    """

    virtual_host: str


@dataclass(frozen=True, slots=True)
class Published(Event):
    """A client published; message.method is basic.publish.

    Attributes:
        tag: the number to confirm it by, or None on a channel without confirms.
    """

    channel: Channel
    message: Message[Publish]
    tag: int | None


@dataclass(frozen=True, slots=True)
class Acknowledged(Event):
    """A client took over these deliveries.

    Attributes:
        tags: of the deliveries, ascending: a tuple of one, or TagRanges of many.
    """

    channel: Channel
    tags: Tags


@dataclass(frozen=True, slots=True)
class Rejected(Event):
    """A client refused these deliveries, by basic.reject or basic.nack.

    Attributes:
        tags: of the deliveries, ascending: a tuple of one, or TagRanges of many.
        requeue: whether they are to be delivered again.
    """

    channel: Channel
    tags: Tags
    requeue: bool


# ---- what comes with every message is made by setting slots, in half of the time ----

_set_consumer = vars(Delivered)["consumer"].__set__
_set_message = vars(Delivered)["message"].__set__


def _init_delivered(self: Delivered, consumer: Consumer, message: Any) -> None:
    _set_consumer(self, consumer)
    _set_message(self, message)


_set_acked_channel = vars(Acked)["channel"].__set__
_set_acked_tags = vars(Acked)["tags"].__set__


def _init_acked(self: Acked, channel: Channel, tags: Tags) -> None:
    _set_acked_channel(self, channel)
    _set_acked_tags(self, tags)


_set_channel = vars(Published)["channel"].__set__
_set_publication = vars(Published)["message"].__set__
_set_tag = vars(Published)["tag"].__set__


def _init_published(self: Published, channel: Channel, message: Any, tag: int | None) -> None:
    _set_channel(self, channel)
    _set_publication(self, message)
    _set_tag(self, tag)


Delivered.__init__ = _init_delivered  # type: ignore[method-assign]
Acked.__init__ = _init_acked  # type: ignore[method-assign]
Published.__init__ = _init_published  # type: ignore[method-assign]
