"""A message that was delivered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from types import TracebackType
from typing import (
    Any,
    Generic,
    NoReturn,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    cast,
    final,
    overload,
)

from .. import v0_9_1 as amqp
from ._errors import AlreadySettled

__all__ = ["Message", "MessageProperties", "Processing", "PublishOptions", "Settler"]

ValueT = TypeVar("ValueT")


class Settler(Protocol):
    """What a message asks of its channel."""

    async def _settle(self, message: Message, name: str, **options: bool) -> bool:
        """Send an ack, nack or reject; False where the channel is over."""
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


class _Property(Generic[ValueT]):
    """A property of the content; None where it is absent."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, message: None, owner: type) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type) -> ValueT | None: ...
    def __get__(self, message: Message | None, owner: type) -> Self | ValueT | None:
        if message is None:
            return self
        return cast("ValueT | None", getattr(message.properties, self._name))

    def __set__(self, message: Message, value: object) -> NoReturn:
        raise AttributeError(f"{self._name} of a Message cannot be set")


@final
class Message:
    """A message: what it holds, and the calls that settle it. Nothing of it can be set.

    The properties are None where its publisher set none.

    Attributes:
        no_ack: whether it needs no acknowledgement.
    """

    __slots__ = ("_channel", "_content", "_method", "no_ack")

    no_ack: bool
    _content: amqp.Message
    _method: amqp.Basic.Deliver | amqp.Basic.GetOk

    def __init__(self, channel: Settler, content: Any, no_ack: bool) -> None:
        self._channel = channel
        self._content = content
        self._method = content.method
        self.no_ack = no_ack

    def __repr__(self) -> str:
        return (
            f"<Message {self.delivery_tag} of exchange {self.exchange!r}, "
            f"routing key {self.routing_key!r}, {len(self.body)} bytes>"
        )

    @property
    def body(self) -> bytes:
        """The bytes."""
        return self._content.body

    @property
    def delivery_tag(self) -> int:
        """Its number on the channel."""
        return self._method.delivery_tag

    @property
    def exchange(self) -> str:
        """The exchange that it was published to; "" for the default exchange."""
        return self._method.exchange

    @property
    def routing_key(self) -> str:
        """As it was published."""
        return self._method.routing_key

    @property
    def redelivered(self) -> bool:
        """Whether it was delivered before, perhaps to another consumer."""
        return self._method.redelivered

    @property
    def messages_left(self) -> int | None:
        """Of `Channel.get`: how many were left in the queue; None for a delivery."""
        return getattr(self._method, "message_count", None)

    @property
    def properties(self) -> amqp.Basic.Properties:
        """Basic.Properties, as received."""
        return self._content.properties

    @property
    def headers(self) -> dict[str, Any]:
        """The headers, as received; empty where there are none."""
        return self._content.properties.headers or {}

    @property
    def delivery_count(self) -> int | None:
        """How often it was delivered before, where the queue counts: x-delivery-count or
        x-acquired-count."""
        headers = self.headers
        for name in ("x-acquired-count", "x-delivery-count"):
            count = headers.get(name)
            if isinstance(count, int):
                return count
        return None

    @property
    def timestamp(self) -> datetime | None:
        """When it was published, in UTC, as its publisher has it; None where that is absent."""
        value: datetime | int | None = self._content.properties.timestamp
        return datetime.fromtimestamp(value, UTC) if isinstance(value, int) else value

    content_type: _Property[str] = _Property("Such as application/json.")
    content_encoding: _Property[str] = _Property("Such as gzip.")
    delivery_mode: _Property[int] = _Property("2: persistent; 1: not.")
    priority: _Property[int] = _Property("From 0 to 255.")
    correlation_id: _Property[str] = _Property("Of a reply: which request it answers.")
    reply_to: _Property[str] = _Property("The queue that a reply goes to.")
    expiration: _Property[str] = _Property("Milliseconds until it expires, as text.")
    message_id: _Property[str] = _Property("As its publisher named it.")
    type: _Property[str] = _Property("As its publisher named it.")
    user_id: _Property[str] = _Property("The user that published it; the broker has checked it.")
    app_id: _Property[str] = _Property("The program that published it.")

    # ---- settling ----

    def ack(self, *, multiple: bool = False) -> Coroutine[Any, Any, bool]:
        """Acknowledge it; with multiple all before it on the channel, too.

        Returns:
            False where its channel is over: nothing is sent, and the broker delivers it again.

        Raises:
            AlreadySettled: it was settled before, or needs no acknowledgement.
        """
        return self._channel._settle(self, "ack", multiple=multiple)

    def nack(self, *, multiple: bool = False, requeue: bool = True) -> Coroutine[Any, Any, bool]:
        """Give it back, or with requeue False drop or dead-letter it. See `ack`.

        Since RabbitMQ 4.3 a nack does not count as a failed delivery on quorum queues.
        """
        return self._channel._settle(self, "nack", multiple=multiple, requeue=requeue)

    def reject(self, *, requeue: bool = False) -> Coroutine[Any, Any, bool]:
        """Refuse it as one that cannot be handled: dead-letter or drop it. See `ack`."""
        return self._channel._settle(self, "reject", requeue=requeue)

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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Settle it."""
        message = self._message
        if message.no_ack:
            return
        try:
            if error is None:
                await message.ack()
            elif isinstance(error, Exception) and not isinstance(error, asyncio.CancelledError):
                await message.reject(requeue=self._requeue)
            else:
                await message.nack(requeue=True)
        except AlreadySettled:
            pass
