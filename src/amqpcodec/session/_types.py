"""What both families share: roles, who ended something, the base of all events; types of methods.

The classes of methods are those of the protocol modules. The protocols here say what all versions
of 0-x have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

__all__ = [
    "ClosedBy",
    "Deliver",
    "Event",
    "Message",
    "Method",
    "Properties",
    "Publish",
    "Return",
    "Role",
]

#: Which end of a connection a session is.
Role: TypeAlias = Literal["client", "server"]

#: Who ended it: "local" (this end, by a call or for a mistake of the peer) or "remote" (the peer).
ClosedBy: TypeAlias = Literal["local", "remote"]


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events.

    Attributes:
        channel: of which channel it is, where it has one; None for the connection as a whole.
        link, session: of AMQP 1.0: which link or session it is of.
        begin, attach: the performative that came.
        error: what its sender said was wrong, or None.
    """


class Method(Protocol):
    """A method of any protocol module: ``match`` its class for the arguments.

    ``case Replied(reply=amqp.Queue.DeclareOk(queue=name))`` gives the name of a queue.
    """

    NAME: ClassVar[Any]
    CLASS_ID: ClassVar[Any]
    METHOD_ID: ClassVar[Any]
    RESPONSES: ClassVar[Any]
    HAS_CONTENT: ClassVar[Any]


class Deliver(Method, Protocol):
    """basic.deliver."""

    @property
    def consumer_tag(self) -> str: ...

    @property
    def delivery_tag(self) -> int: ...

    @property
    def redelivered(self) -> bool: ...

    @property
    def exchange(self) -> str: ...

    @property
    def routing_key(self) -> str: ...


class Publish(Method, Protocol):
    """basic.publish."""

    @property
    def exchange(self) -> str: ...

    @property
    def routing_key(self) -> str: ...

    @property
    def mandatory(self) -> bool: ...

    @property
    def immediate(self) -> bool: ...


class Return(Method, Protocol):
    """basic.return."""

    @property
    def reply_code(self) -> int: ...

    @property
    def reply_text(self) -> str: ...

    @property
    def exchange(self) -> str: ...

    @property
    def routing_key(self) -> str: ...


class Properties(Protocol):
    """Basic.Properties; None is absent."""

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


MethodT_co = TypeVar("MethodT_co", covariant=True)


class Message(Protocol[MethodT_co]):
    """A method with its content, as the message decoder of a protocol module makes it."""

    @property
    def method(self) -> MethodT_co:
        """The method that carries it, such as basic.deliver."""
        ...

    @property
    def properties(self) -> Properties:
        """The properties of the content."""
        ...

    @property
    def body(self) -> bytes:
        """The complete body."""
        ...
