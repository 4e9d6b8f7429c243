"""A conversation of 0-9-1 that is sent as it is, over TLS, or over WebSocket."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp
from tests.support.tls_talk import CLIENT, SERVER

PLAIN = b"\0guest\0sesame"


def message(size: int, key: str = "k") -> bytes:
    publish = amqp.Basic.Publish(exchange="e", routing_key=key)
    return amqp.encode_message(1, publish, amqp.Basic.Properties(), b"b" * size)


TALK = [
    (CLIENT, b"AMQP\0\0\x09\1"),
    (SERVER, amqp.encode(0, amqp.Connection.Start())),
    (CLIENT, amqp.encode(0, amqp.Connection.StartOk(mechanism="PLAIN", response=PLAIN))),
    (CLIENT, message(40_000)),
    (SERVER, amqp.encode(0, amqp.Heartbeat()) * 3),
    (CLIENT, message(10)),
    (SERVER, amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))),
]
