"""Traces of one message that was published and one that was delivered, as RabbitMQ writes them."""

from __future__ import annotations

import base64
import json

from amqpcodec import v0_9_1 as amqp
from tests.support import recording

LINE = b"=" * 80

TABLE = b"""[{<<"headers">>,table,
                [{<<"n">>,signedint,-5},
                 {<<"text">>,longstr,<<"a \\"b\\" \xc3\xa9">>},
                 {<<"raw">>,binary,<<0,1,255>>},
                 {<<"when">>,timestamp,1704067200},
                 {<<"price">>,decimal,{2,150}},
                 {<<"none">>,void,undefined},
                 {<<"yes">>,bool,true},
                 {<<"list">>,array,[{signedint,1},{table,[{<<"x">>,double,1.5}]}]},
                 {<<"$k">>,long,1}]},
               {<<"delivery_mode">>,signedint,2},
               {<<"content_type">>,longstr,<<"text/plain">>}]"""

HEADERS = (
    '{"n":-5,"text":"a \\"b\\" é","raw":{"$binary":"AAH/"},"when":{"$timestamp":1704067200},'
    '"price":{"$decimal":"1.50"},"none":null,"yes":true,"list":[1,{"x":1.5}],"$$k":1}'
)


def text(kind: bytes, payload: bytes, properties: bytes = TABLE, time: bytes = b"") -> bytes:
    """A record of the text log. kind: published or received."""
    time = time or b"2026-05-01T12:00:00.250+02:00"
    queue = (
        b'Routed queues: [<<"q.1">>,<<"q.2">>]' if kind == b"published" else b"Queue:        q.1"
    )
    return (
        b"\n" + LINE + b"\n" + time + b": Message " + kind + b"\n\n"
        b"Node:         rabbit@host\n"
        b"Connection:   [::1]:5001 -> [::1]:5672\n"
        b"Virtual host: /\n"
        b"User:         guest\n"
        b"Channel:      3\n"
        b"Exchange:     orders\n"
        b'Routing keys: [<<"eu.de">>]\n' + queue + b"\n"
        b"Properties:   " + properties + b"\nPayload: \n" + payload + b"\n"
    )  # fmt: skip


#: A record whose payload begins like the next one, again and again.
LOOKALIKE = text(b"published", b"\n" + LINE + b"\n=" * 50)


def json_line(kind: str, payload: bytes, **more: object) -> bytes:
    """A line of the JSON log."""
    record = {
        "channel": 3, "connection": "[::1]:5001 -> [::1]:5672", "exchange": "orders",
        "node": "rabbit@host", "payload": base64.b64encode(payload).decode(),
        "properties": {"content_type": "text/plain", "headers": {"n": -5}, "delivery_mode": 2},
        "queue": "none" if kind == "published" else "q.1",
        "routed_queues": ["q.1", "q.2"] if kind == "published" else "none",
        "routing_keys": ["eu.de"], "timestamp": "2026-05-01T12:00:00.250+02:00", "type": kind,
        "user": "guest", "vhost": "/",
    }  # fmt: skip
    return json.dumps({**record, **more}).encode() + b"\n"


def firehose_line(key: str, body: bytes, **headers: object) -> bytes:
    """A message of the firehose as JSON, with a line end. key: such as publish.orders."""
    record = {
        "exchange": "amq.rabbitmq.trace",
        "routing_key": key,
        "properties": {
            "headers": {
                "exchange_name": "orders", "routing_keys": ["eu.de"], "properties": {},
                "node": "rabbit@host", "vhost": "/", "connection": "10.0.0.1:5001 -> 10.0.0.2:5672",
                "channel": 3, "user": "guest", **headers,
            }
        },
        "body_b64": base64.b64encode(body).decode(),
    }  # fmt: skip
    return json.dumps(record).encode() + b"\n"


def consumed_firehose(client: int, count: int) -> list[bytes]:
    """Packets of a client that consumes so many messages of the firehose, two packets each.

    client: its port.
    """
    said = [(0, amqp.PROTOCOL_HEADER)]
    for tag in range(1, count + 1):
        headers = {
            "exchange_name": "orders", "routing_keys": ["eu"], "node": "rabbit@host",
            "connection": f"10.0.0.{tag % 2}:1 -> 10.0.0.9:5672", "properties": {},
        }  # fmt: skip
        frames = amqp.encode_message(
            1,
            amqp.Basic.Deliver("c", tag, False, "amq.rabbitmq.trace", "publish.orders"),
            amqp.Basic.Properties(headers=headers),
            b"x" * (10 * tag),
        )
        said += [(1, frames[:100]), (1, frames[100:])]
    return recording.packets(said, client=client)
