"""A shop that publishes jobs, and a worker that does them, as recordings: for questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
    Say,
    client,
    close,
    consume,
    deliver,
    finish,
    login,
    open_channel,
    publish,
    select,
    server,
)
from tests.support.recording import ACK, FIN, packets

SHOP, WORKER, RESCUER = 40001, 40002, 40003
BEATS: list[Say] = [
    (TO_SERVER, amqp.encode(0, amqp.Heartbeat())),
    (TO_CLIENT, amqp.encode(0, amqp.Heartbeat())),
    (TO_SERVER, amqp.encode(0, amqp.Heartbeat())),
]


def shop(messages: int = 4) -> list[Say]:
    """Declares the empty queue jobs, and publishes to it."""
    return [
        *login(name="shop"),
        *open_channel(),
        client(amqp.Queue.Declare(queue="jobs")),
        server(amqp.Queue.DeclareOk(queue="jobs", message_count=0)),
        *select(),
        *(publish(number) for number in range(1, messages + 1)),
        server(amqp.Basic.Ack(delivery_tag=messages, multiple=True)),
    ]


def worker() -> list[Say]:
    """Takes three messages, and acknowledges the first."""
    return [
        *login(name="worker"),
        *open_channel(),
        *consume("jobs"),
        *(deliver(number, message=f"p{number}") for number in (1, 2, 3)),
        client(amqp.Basic.Ack(delivery_tag=1)),
    ]


def rescuer() -> list[Say]:
    """Takes what the worker left, and acknowledges it."""
    return [
        *login(name="rescuer"),
        *open_channel(),
        *consume("jobs"),
        deliver(1, message="p2", redelivered=True),
        deliver(2, message="p3", redelivered=True),
        deliver(3, message="p4"),
        client(amqp.Basic.Ack(delivery_tag=3, multiple=True)),
        *close(),
    ]


def working() -> list[bytes]:
    """Both connections are open where the recording ends: 2 of 4 messages are unacknowledged."""
    shop_packets = packets([*shop(), *BEATS], client=SHOP)
    return [*shop_packets, *packets([*worker(), *BEATS], client=WORKER)]


def killed(side: int = TO_SERVER, flags: int = FIN | ACK) -> list[bytes]:
    """TCP of the worker ends; another one does its work."""
    died = packets(worker(), client=WORKER)
    return [
        *packets([*shop(), *close()], client=SHOP),
        *died,
        finish(died, side, flags, WORKER),
        *packets(rescuer(), client=RESCUER),
    ]


def without(talk: Sequence[bytes], *numbers: int) -> list[bytes]:
    """All packets but those."""
    return [packet for number, packet in enumerate(talk) if number not in numbers]


def of_client(talk: Iterable[bytes], port: int) -> list[int]:
    """Numbers of the packets of a client's connection."""
    return [
        number
        for number, packet in enumerate(talk)
        if port in (int.from_bytes(packet[34:36], "big"), int.from_bytes(packet[36:38], "big"))
    ]


def troubled() -> list[bytes]:
    """A consumer that rejects, releases and cancels, a publisher whose messages come back or are
    refused, a channel that is closed for an error, and a connection that is forced to close."""
    publisher = [
        *login(name="publisher"),
        *open_channel(),
        client(amqp.Exchange.Declare(exchange="tasks", type="topic")),
        server(amqp.Exchange.DeclareOk()),
        client(amqp.Queue.Declare(queue="jobs", arguments={"x-max-length": 2})),
        server(amqp.Queue.DeclareOk(queue="jobs", message_count=0)),
        client(amqp.Queue.Bind(queue="jobs", exchange="tasks", routing_key="a.*")),
        server(amqp.Queue.BindOk()),
        *select(),
        publish(1, "a.b", "tasks"),
        publish(2, "none", "tasks"),
        server(amqp.Basic.Ack(delivery_tag=1)),
        (
            TO_CLIENT,
            amqp.encode_message(
                1,
                amqp.Basic.Return(312, "NO_ROUTE", "tasks", "none"),
                amqp.Basic.Properties(message_id="p2"),
                b"body 2",
            ),
        ),
        server(amqp.Basic.Ack(delivery_tag=2)),
        publish(3, "a.c", "tasks"),
        server(amqp.Basic.Nack(delivery_tag=3)),
        *open_channel(2),
        client(amqp.Queue.Declare(queue="missing", passive=True), 2),
        server(amqp.Channel.Close(404, "NOT_FOUND - no queue 'missing'", 50, 10), 2),
        client(amqp.Channel.CloseOk(), 2),
        client(amqp.Queue.Unbind(queue="jobs", exchange="tasks", routing_key="a.*")),
        server(amqp.Queue.UnbindOk()),
        publish(4, "a.d", "tasks"),
        server(amqp.Connection.Close(320, "CONNECTION_FORCED - by the operator"), 0),
        client(amqp.Connection.CloseOk(), 0),
    ]
    consumer = [
        *login(name="consumer"),
        *open_channel(),
        *consume("jobs"),
        deliver(1, "a.b", message="p1"),
        client(amqp.Basic.Reject(delivery_tag=1, requeue=True)),
        deliver(2, "a.b", message="p1", redelivered=True),
        client(amqp.Basic.Nack(delivery_tag=2, requeue=False)),
        deliver(3, "a.c", message="p3"),
        client(amqp.Basic.Cancel(consumer_tag="c1")),
        server(amqp.Basic.CancelOk(consumer_tag="c1")),
        client(amqp.Basic.Get(queue="jobs")),
        server(amqp.Basic.GetEmpty()),
        client(amqp.Channel.Close(200, "done", 0, 0)),
        server(amqp.Channel.CloseOk()),
        *BEATS,
    ]
    return [*packets(publisher, client=SHOP), *packets(consumer, client=WORKER)]
