"""A message that was delivered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, Final, Protocol, TypedDict, final

from .. import v0_9_1 as amqp
from ..session import Channel as SessionChannel
from ._errors import AlreadySettled

__all__ = ["Message", "MessageProperties", "Processing", "PublishOptions", "Settler"]


class Settler(Protocol):
    """What a message asks of its channel."""

    session: SessionChannel

    async def _settle(self, message: Message, call: Callable[[int], None]) -> bool:
        """Send an ack, nack or reject of its delivery tag; False where the channel is over."""
        ...


class MessageProperties(TypedDict, total=False):
    """The properties that publish() takes by name; others, and those that are None, are absent.

    delivery_mode is 2 (persistent) unless you set it. expiration is a text: milliseconds.
    """

    content_type: str | None
    content_encoding: str | None
    headers: dict[str, Any] | None
    delivery_mode: int | None
    priority: int | None
    correlation_id: str | None
    reply_to: str | None
    expiration: str | None
    message_id: str | None
    timestamp: datetime | int | None
    type: str | None
    user_id: str | None
    app_id: str | None


class PublishOptions(MessageProperties, total=False):
    """Options of publish() of connections: see `Channel.publish`."""

    exchange: str
    mandatory: bool | None


def _field(place: str, doc: str) -> Any:
    """An attribute by its place in what the session delivered. It cannot be set."""
    return property(attrgetter(f"_content.{place}"), doc=doc)


@final
class Message:
    """A message: what it holds, and the calls that settle it. Nothing of it can be set.

    The properties are None where its publisher set none.

    Attributes:
        no_ack: whether it needs no acknowledgement.
    """

    __slots__ = ("_channel", "_content", "no_ack")

    no_ack: bool

    def __init__(self, channel: Settler, content: Any, no_ack: bool) -> None:
        self._channel = channel
        self._content = content
        self.no_ack = no_ack

    def __repr__(self) -> str:
        return (
            f"<Message {self.delivery_tag} of exchange {self.exchange!r}, "
            f"routing key {self.routing_key!r}, {len(self.body)} bytes>"
        )

    body: Final[bytes] = _field("body", "The bytes.")
    delivery_tag: Final[int] = _field("method.delivery_tag", "Its number on the channel.")
    exchange: Final[str] = _field("method.exchange", '"" for the default exchange.')
    routing_key: Final[str] = _field("method.routing_key", "As it was published.")
    redelivered: Final[bool] = _field(
        "method.redelivered", "Whether it was delivered before, perhaps to another consumer."
    )
    properties: Final[amqp.Basic.Properties] = _field("properties", "As received.")
    content_type: Final[str | None] = _field("properties.content_type", "Such as application/json.")
    content_encoding: Final[str | None] = _field("properties.content_encoding", "Such as gzip.")
    delivery_mode: Final[int | None] = _field("properties.delivery_mode", "2: persistent; 1: not.")
    priority: Final[int | None] = _field("properties.priority", "From 0 to 255.")
    correlation_id: Final[str | None] = _field(
        "properties.correlation_id", "Of a reply: which request it answers."
    )
    reply_to: Final[str | None] = _field("properties.reply_to", "The queue that a reply goes to.")
    expiration: Final[str | None] = _field(
        "properties.expiration", "Milliseconds until it expires, as text."
    )
    message_id: Final[str | None] = _field("properties.message_id", "As its publisher named it.")
    type: Final[str | None] = _field("properties.type", "As its publisher named it.")
    user_id: Final[str | None] = _field(
        "properties.user_id", "The user that published it; the broker has checked it."
    )
    app_id: Final[str | None] = _field("properties.app_id", "The program that published it.")

    @property
    def headers(self) -> dict[str, Any]:
        """The headers, as received; empty where there are none."""
        return self.properties.headers or {}

    @property
    def messages_left(self) -> int | None:
        """Of `Channel.get`: how many were left in the queue; None for a delivery."""
        return getattr(self._content.method, "message_count", None)

    @property
    def delivery_count(self) -> int | None:
        """How often it was delivered before, where the queue counts: x-delivery-count or
        x-acquired-count."""
        counts = map(self.headers.get, ("x-acquired-count", "x-delivery-count"))
        return next((count for count in counts if isinstance(count, int)), None)

    @property
    def timestamp(self) -> datetime | None:
        """When it was published, in UTC; None where its publisher says nothing, or no date, such as
        milliseconds: ``properties.timestamp`` has the number."""
        return value if isinstance(value := self.properties.timestamp, datetime) else None

    # ---- settling ----

    def ack(self, *, multiple: bool = False) -> Coroutine[Any, Any, bool]:
        """Acknowledge it; with multiple all before it on the channel, too.

        Returns:
            False where its channel is over: nothing is sent, and the broker delivers it again.

        Raises:
            AlreadySettled: it was settled before, or needs no acknowledgement.
        """
        ack = self._channel.session.ack
        return self._channel._settle(self, partial(ack, multiple=True) if multiple else ack)

    def nack(self, *, multiple: bool = False, requeue: bool = True) -> Coroutine[Any, Any, bool]:
        """Give it back, or with requeue False drop or dead-letter it. See `ack`.

        Since RabbitMQ 4.3 a nack does not count as a failed delivery on quorum queues.
        """
        nack = self._channel.session.nack
        return self._channel._settle(self, partial(nack, multiple=multiple, requeue=requeue))

    def reject(self, *, requeue: bool = False) -> Coroutine[Any, Any, bool]:
        """Refuse it as one that cannot be handled: dead-letter or drop it. See `ack`."""
        reject = self._channel.session.reject
        return self._channel._settle(self, partial(reject, requeue=requeue))

    def process(self, *, requeue: bool = False) -> Processing:
        """Settle it at the end of an ``async with``.

        Success acknowledges it. An exception rejects it, with requeue back to its queue.
        Cancellation gives it back by nack. What the body settled itself stays so.
        """
        return Processing(self, requeue)


@final
class Processing:
    """The context of `Message.process`."""

    __slots__ = ("_message", "_requeue")

    def __init__(self, message: Message, requeue: bool) -> None:
        self._message = message
        self._requeue = requeue

    async def __aenter__(self) -> Message:
        """The message."""
        return self._message

    async def __aexit__(self, kind: object, error: BaseException | None, _: object) -> None:
        """Settle it."""
        message = self._message
        with contextlib.suppress(AlreadySettled):
            if error is None:
                await message.ack()
            elif isinstance(error, Exception):
                await message.reject(requeue=self._requeue)
            else:
                await message.nack(requeue=True)
