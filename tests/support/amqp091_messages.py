"""Publications and deliveries of 0-9-1: as the package writes them, and as it would not."""

from __future__ import annotations

import struct
from typing import Any

from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as wire


def sent(channel: int, method: object, *content: object) -> bytes:
    """The frames of a method, and of its properties and body where it has them."""
    if not content:
        return amqp.encode(channel, method)
    properties, body = content
    return amqp.encode_message(channel, method, properties, body)


def published(exchange: str, key: str, body: bytes = b"x", **properties: Any) -> bytes:
    method = amqp.Basic.Publish(exchange=exchange, routing_key=key)
    return amqp.encode_message(1, method, amqp.Basic.Properties(**properties), body)


def with_raw_headers(entries: bytes) -> bytes:
    """A publication whose headers have these bytes as their entries."""
    return (
        wire.method_frame("basic.publish", routing_key="a")
        + wire.headers_frame(entries, 1)
        + wire.body_frame(1, b"x")
    )


def list_entry(name: bytes, *keys: bytes) -> bytes:
    """A list of keys as an entry of a field table."""
    return wire.entry(name, wire.array(*(b"S" + wire.longstr(key) for key in keys)))


def delivery_at(seconds: int) -> bytes:
    """A delivery whose property and header are this time."""
    when = wire.entry("when", b"T" + struct.pack(">Q", seconds))
    return (
        wire.method_frame("basic.deliver", consumer_tag="t", delivery_tag=1, routing_key="q")
        + wire.headers_frame(when, 1, timestamp=seconds)
        + wire.body_frame(1, b"x")
    )
