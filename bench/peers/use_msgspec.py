"""msgspec: equal information as MessagePack, the fastest that a general codec gives in Python.

One typed Struct a message (channel, method, properties, body) in one call, and that call is counted
as all its frames. Structs are arrays, not maps, and not tracked by the GC where fields are atomic:
the fastest forms it has. The method is a tagged union, for a receiver must learn which one came.
MessagePack has no decimal: in a table it travels, and stays, text. An extension type with a hook
would give it back as Decimal, at 0.7 to 0.8 microseconds a value; without it the row is the harder.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from bench.work import Peer, Work, check_events, compare, one_by_one
from bench.workloads import Event, Workload


class Ack(msgspec.Struct, tag=60 << 16 | 80, array_like=True, gc=False):
    """basic.ack, a whole frame."""

    channel: int
    delivery_tag: int
    multiple: bool


class Publish(msgspec.Struct, tag=60 << 16 | 40, array_like=True, gc=False):
    """basic.publish, a whole frame without its content."""

    channel: int
    exchange: str
    routing_key: str
    mandatory: bool
    immediate: bool


class Deliver(msgspec.Struct, tag=60 << 16 | 60, array_like=True, gc=False):
    """basic.deliver as the method of a message."""

    consumer_tag: str
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str


class GetOk(msgspec.Struct, tag=60 << 16 | 71, array_like=True, gc=False):
    """basic.get-ok: the other way a consumer gets a message."""

    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    message_count: int


class Properties(msgspec.Struct, array_like=True, omit_defaults=True):
    """The 14 properties of class basic."""

    content_type: str | None = None
    content_encoding: str | None = None
    headers: dict[str, Any] | None = None
    delivery_mode: int | None = None
    priority: int | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    expiration: str | None = None
    message_id: str | None = None
    timestamp: datetime | None = None
    type: str | None = None
    user_id: str | None = None
    app_id: str | None = None
    reserved: str | None = None


class Message(msgspec.Struct, array_like=True):
    """A whole message."""

    channel: int
    method: Deliver | GetOk
    properties: Properties
    body: bytes


class Header(msgspec.Struct, array_like=True):
    """A content header alone."""

    channel: int
    body_size: int
    properties: Properties


WANTED = {"method": Ack | Publish, "header": Header, "message": Message}
METHODS = {"basic.ack": Ack, "basic.publish": Publish}


class Msgspec(Peer):
    name = "msgspec"
    distribution = "msgspec"

    def decoded_value(self, value: Any, *, in_headers: bool) -> Any:
        """A decimal of a table comes as text."""
        return str(value) if isinstance(value, Decimal) else value

    def decode(self, workload: Workload) -> Work:
        """A call a message (W4: a method) on its own bytes, without looking for its end."""
        decode = msgspec.msgpack.Decoder(WANTED[workload.shape]).decode
        encode = msgspec.msgpack.Encoder().encode
        packed = [encode(_struct(event)) for event in workload.events]

        def check() -> None:
            check_events(self, (_neutral(decode(raw)) for raw in packed), workload)

        return Work(one_by_one(decode, packed), workload.frames, check)

    def encode(self, workload: Workload) -> Work:
        """A call a message on Structs made beforehand."""
        encode = msgspec.msgpack.Encoder().encode
        ready = [_struct(event) for event in workload.events]

        def check() -> None:
            struct = WANTED[workload.shape]
            decode = msgspec.msgpack.Decoder(struct).decode
            events = (_neutral(decode(encode(item))) for item in ready)
            check_events(self, events, workload)

        return Work(one_by_one(encode, ready), workload.frames, check)

    def construct(self, workload: Workload) -> Work:
        """Structs of ack and publish made and encoded in turn."""
        encode = msgspec.msgpack.Encoder().encode
        acks, publishes = workload.events[::2], workload.events[1::2]
        pairs = [
            (*ack.arguments.values(), *publish.arguments.values())
            for ack, publish in zip(acks, publishes, strict=True)
        ]

        def run() -> None:
            for tag, multiple, exchange, routing_key, mandatory, immediate in pairs:
                encode(Ack(1, delivery_tag=tag, multiple=multiple))
                encode(
                    Publish(
                        1,
                        exchange=exchange,
                        routing_key=routing_key,
                        mandatory=mandatory,
                        immediate=immediate,
                    )
                )

        def check() -> None:
            methods = [METHODS[event.method](1, **event.arguments) for event in workload.events]
            compare(
                self.name, map(repr, methods), (repr(_struct(item)) for item in workload.events)
            )

        return Work(run, workload.frames, check)


def _struct(event: Event) -> Message | Header | Ack | Publish:
    if event.properties is None:
        method: Ack | Publish = METHODS[event.method](event.channel, **event.arguments)
        return method
    properties = Properties(**event.properties)
    if event.body is None:
        return Header(event.channel, event.body_size, properties)
    return Message(event.channel, Deliver(**event.arguments), properties, event.body)


def _neutral(item: Message | Header | Ack | Publish) -> Event:
    if isinstance(item, Message | Header):
        properties = msgspec.structs.asdict(item.properties)
        present = {name: value for name, value in properties.items() if value is not None}
        if isinstance(item, Header):
            return Event(item.channel, "", {}, present)
        arguments = msgspec.structs.asdict(item.method)
        return Event(item.channel, "basic.deliver", arguments, present, item.body)
    name = "basic.ack" if isinstance(item, Ack) else "basic.publish"
    arguments = msgspec.structs.asdict(item)
    return Event(arguments.pop("channel"), name, arguments)


PEER = Msgspec
