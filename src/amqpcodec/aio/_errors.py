"""One tree of exceptions: what a user of the client catches."""

from __future__ import annotations

from typing import Any

from ..errors import AMQPCodecError


class AMQPError(AMQPCodecError):
    """Base of all errors of the client.

    Attributes:
        reply_code: the number that the broker gave, such as 404; 0 where it gave none.
        reply_text: the broker's words, or the client's own.
    """

    def __init__(self, reply_text: str, reply_code: int = 0) -> None:
        super().__init__(f"{reply_code} {reply_text}" if reply_code else reply_text)
        self.reply_code = reply_code
        self.reply_text = reply_text


class ConnectFailed(AMQPError):
    """No connection could be opened.

    Attributes:
        is_final: whether another attempt is of no use: the broker refuses the login or the virtual
            host, speaks another version, or has no valid certificate.
    """

    is_final: bool = False


class AuthenticationFailed(ConnectFailed):
    """The broker refuses the login. Another attempt with the same credentials is of no use."""

    is_final: bool = True


class VirtualHostRefused(ConnectFailed):
    """The virtual host does not exist, or this user may not use it."""

    is_final: bool = True


class ConnectionLost(AMQPError):
    """The connection is over: what was waiting, and every later call on it, raises this."""


class ConnectionClosed(ConnectionLost):
    """One side closed the connection in good order; reply_code is 200 where it was this client."""


class HeartbeatTimeout(ConnectionLost):
    """No byte came from the broker for two heartbeats."""


class ChannelClosed(AMQPError):
    """The channel is over: what was waiting, and every later call on it, raises this.

    The call that the broker found at fault raises one of the subclasses, where there is one for
    its reply code.
    """


class AccessRefused(ChannelClosed):
    """403: this user may not do that, or the queue is in exclusive use."""


class NotFound(ChannelClosed):
    """404: no such queue or exchange."""


class ResourceLocked(ChannelClosed):
    """405: the queue belongs to another connection."""


class PreconditionFailed(ChannelClosed):
    """406: such as a declaration with other arguments than those of the queue that is there."""


class PublishError(AMQPError):
    """A publication did not come to its end as it should.

    Attributes:
        body, exchange, routing_key: of the message; body is not part of the text.
        properties: Basic.Properties of the message.
    """

    body: bytes = b""
    exchange: str = ""
    routing_key: str = ""
    properties: Any = None


class Nacked(PublishError):
    """The broker could not take over the message, such as for a full queue."""


class Returned(PublishError):
    """No queue takes the message: it was mandatory and came back."""


class PublishUnconfirmed(PublishError):
    """The message was sent, and its confirm did not come: it may be in the queue, or not.

    ``__cause__`` is the end of the connection or channel, where that is why.
    """


class ConnectionBlocked(PublishError):
    """The broker is short of a resource and takes no publications. Nothing was sent."""


class WindowFull(PublishError):
    """As many publications wait for their confirms as the window allows. Nothing was sent."""


class ConsumerCancelled(AMQPError):
    """The broker ended the consumer, such as by the deletion of its queue."""


class AlreadySettled(AMQPError):
    """The message was acknowledged or refused before, or needs no acknowledgement."""


_BY_CODE: dict[int, type[ChannelClosed]] = {
    403: AccessRefused,
    404: NotFound,
    405: ResourceLocked,
    406: PreconditionFailed,
}


def error_class(reply_code: int) -> type[ChannelClosed]:
    """Of the call that the broker found at fault."""
    return _BY_CODE.get(reply_code, ChannelClosed)
