"""What a session does for a message, without transport, loop and futures; and the codec alone."""

from __future__ import annotations

import time
from typing import Any

from amqpcodec.session import Connection

BATCH = 100


def opened() -> tuple[Any, Any]:
    """A client and a server session, open, with channel 1."""
    client: Any = Connection("client")
    server: Any = Connection("server")
    server.receive_data(client.data_to_send())
    client.receive_data(server.data_to_send())
    server.receive_data(client.data_to_send())
    server.accept_login()
    client.receive_data(server.data_to_send())
    server.receive_data(client.data_to_send())
    server.accept_open()
    client.receive_data(server.data_to_send())
    client.open_channel()
    server.receive_data(client.data_to_send())
    client.receive_data(server.data_to_send())
    return client, server


def publish(amqp: Any, body: bytes, properties: dict[str, Any], count: int) -> float:
    """Publish in bursts and read the confirms."""
    client, _server = opened()
    channel = client.channels[1]
    channel.confirm(no_wait=True)
    client.data_to_send()
    acks = [
        b"".join(amqp.encode(1, amqp.Basic.Ack(tag)) for tag in range(first + 1, first + BATCH + 1))
        for first in range(0, count, BATCH)
    ]
    begin = time.process_time()
    for ack in acks:
        for _ in range(BATCH):
            channel.publish("", "q", body, amqp.Basic.Properties(**properties))
        client.data_to_send()
        client.receive_data(ack)
    assert not channel.publications
    return (time.process_time() - begin) / count


def codec_publish(amqp: Any, body: bytes, properties: dict[str, Any], count: int) -> float:
    """The same bytes by the codec."""
    decoder = amqp.MessageDecoder()
    acks = [
        b"".join(amqp.encode(1, amqp.Basic.Ack(tag)) for tag in range(first + 1, first + BATCH + 1))
        for first in range(0, count, BATCH)
    ]
    encode_message, publish_class = amqp.encode_message, amqp.Basic.Publish
    begin = time.process_time()
    for ack in acks:
        sent = []
        for _ in range(BATCH):
            method = publish_class(exchange="", routing_key="q")
            sent.append(encode_message(1, method, amqp.Basic.Properties(**properties), body))
        b"".join(sent)
        for _ in decoder.feed(ack):
            pass
    return (time.process_time() - begin) / count


def deliveries(amqp: Any, body: bytes, properties: dict[str, Any], count: int) -> list[bytes]:
    """Messages for the consumer t, in batches."""
    content = amqp.Basic.Properties(**properties)
    return [
        b"".join(
            amqp.encode_message(1, amqp.Basic.Deliver("t", tag, False, "", "q"), content, body)
            for tag in range(first + 1, first + BATCH + 1)
        )
        for first in range(0, count, BATCH)
    ]


def consume(amqp: Any, body: bytes, properties: dict[str, Any], count: int) -> float:
    """Read deliveries in batches and acknowledge each."""
    client, _server = opened()
    channel = client.channels[1]
    channel.consume("q", "t", no_wait=True)
    client.data_to_send()
    batches = deliveries(amqp, body, properties, count)
    begin = time.process_time()
    for data in batches:
        for event in client.receive_data(data):
            channel.ack(event.message.method.delivery_tag)
        client.data_to_send()
    return (time.process_time() - begin) / count


def codec_consume(amqp: Any, body: bytes, properties: dict[str, Any], count: int) -> float:
    """The same bytes by the codec."""
    decoder = amqp.MessageDecoder()
    batches = deliveries(amqp, body, properties, count)
    encode, ack = amqp.encode, amqp.Basic.Ack
    begin = time.process_time()
    for data in batches:
        sent = []
        for _, message in decoder.feed(data):
            sent.append(encode(1, ack(delivery_tag=message.method.delivery_tag)))
        b"".join(sent)
    return (time.process_time() - begin) / count
