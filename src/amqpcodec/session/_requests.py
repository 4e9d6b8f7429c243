"""What a channel keeps of its dialogue: requests in both directions, and consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import LocalProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._channel import Channel
    from ._legacy import LegacyConnection

__all__ = ["Consumer", "PeerRequest", "Request"]


class Request:
    """A method that was sent and waits for its reply.

    Attributes:
        method: what was sent.
        channel: where; None for one of the connection (update-secret).
        response: the method, or the Message of basic.get-ok, that answered it; None before.
        error: (reply code, reply text) once its channel or connection ended, else None.
        consumer: of basic.consume: the Consumer, known by name once the reply is there.
        context: the caller's own, such as a future.
    """

    __slots__ = ("channel", "consumer", "context", "error", "method", "response")
    __match_args__ = ("method", "channel")

    method: Any
    channel: Channel | None

    def __init__(self, method: Any, channel: Channel | None) -> None:
        self.method = method
        self.channel = channel
        self.response: Any = None
        self.error: tuple[int, str] | None = None
        self.consumer: Consumer | None = None
        self.context: Any = None

    @property
    def done(self) -> bool:
        """Whether it was answered or has failed."""
        return self.response is not None or self.error is not None

    def __repr__(self) -> str:
        where = 0 if self.channel is None else self.channel.number
        return f"{type(self).__name__}({self.method!r}, channel={where})"


class PeerRequest(Request):
    """A method that the peer sent, and which can be answered.

    Attributes:
        expects_response: False where the peer asked for no reply (no-wait).
    """

    __slots__ = ("_connection", "expects_response")

    expects_response: bool

    def __init__(
        self,
        method: Any,
        channel: Channel | None,
        connection: LegacyConnection,
        expects_response: bool,
    ) -> None:
        super().__init__(method, channel)
        self._connection = connection
        self.expects_response = expects_response

    def respond(self, method: Any, properties: Any = None, body: Buffer = b"") -> Request | None:
        """Answer it, in the order in which the requests of a channel came.

        Does nothing where its channel or connection is over, which may have come with the same
        bytes.

        Returns:
            the Request that the reply makes where it asks for an answer itself, as file.open-ok
            asks for file.stage; else None.

        Raises:
            LocalProtocolError: no reply to this one, not its turn, or answered before.
        """
        if not self.expects_response or self.response is not None:
            raise LocalProtocolError(f"{self.method.NAME} waits for no reply")
        if self.channel is not None:
            return self.channel.respond(self, method, properties, body)
        self._connection.respond(self, method)
        return None


class Consumer:
    """A subscription on a channel.

    Attributes:
        channel: where its deliveries come.
        tag: its name on the channel; "" until the server gave it one.
        queue: name of its queue, as asked for.
        no_ack: whether its deliveries need no acknowledgement.
        active: False once it was cancelled, by either side, or its channel closed.
        context: the caller's own, such as a callback.
    """

    __slots__ = ("active", "channel", "context", "no_ack", "queue", "tag")
    __match_args__ = ("tag", "queue")

    channel: Channel
    tag: str
    queue: str
    no_ack: bool
    active: bool

    def __init__(self, channel: Channel, tag: str, queue: str, no_ack: bool) -> None:
        self.channel = channel
        self.tag = tag
        self.queue = queue
        self.no_ack = no_ack
        self.active = True
        self.context: Any = None

    def __repr__(self) -> str:
        return f"Consumer({self.tag!r}, queue={self.queue!r}, channel={self.channel.number})"
