"""What a client and a server say where publishes are confirmed: (side, bytes)."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp


def publish(channel: int = 1) -> tuple[str, bytes]:
    method = amqp.Basic.Publish(routing_key="k")
    return "client", amqp.encode_message(channel, method, amqp.Basic.Properties(), b"x")


def ack(tag: int, multiple: bool = False, channel: int = 1) -> tuple[str, bytes]:
    return "server", amqp.encode(channel, amqp.Basic.Ack(delivery_tag=tag, multiple=multiple))


def nack(tag: int, multiple: bool = False, channel: int = 1) -> tuple[str, bytes]:
    return "server", amqp.encode(channel, amqp.Basic.Nack(delivery_tag=tag, multiple=multiple))


def client(method: object, channel: int = 1) -> tuple[str, bytes]:
    return "client", amqp.encode(channel, method)
