"""What clients and servers of 0-8, 0-9 and 0-9-1 say."""

from __future__ import annotations

from typing import Any

from amqpcodec import v0_8, v0_9, v0_9_1
from tests.support import recording as make
from tests.support.recording import SYN

HEADERS = {
    "0-9-1": b"AMQP\x00\x00\x09\x01",
    "1 1 0 9": b"AMQP\x01\x01\x00\x09",
    "1 1 8 0": b"AMQP\x01\x01\x08\x00",
    "1 1 9 1": b"AMQP\x01\x01\x09\x01",
}


def message(amqp: Any, body: bytes = b"body", **properties: Any) -> bytes:
    publish = amqp.Basic.Publish(exchange="e", routing_key="k")
    return bytes(amqp.encode_message(1, publish, amqp.Basic.Properties(**properties), body))


def session(amqp: Any, header: bytes) -> tuple[bytes, bytes]:
    """What a client and a server of a version say."""
    client = header
    client += amqp.encode(0, amqp.Connection.StartOk({"product": "p"}, "PLAIN", b"\0u\0p", "en"))
    client += amqp.encode(0, amqp.Connection.TuneOk(1, 131072, 0))
    client += amqp.encode(1, amqp.Queue.Declare(queue="q", arguments={"n": 1}))
    client += amqp.encode(1, amqp.Basic.Consume(queue="q", consumer_tag="t"))
    client += message(amqp, content_type="text/plain", headers={"h": "v"})
    client += amqp.encode(0, amqp.Connection.Close(200, "bye"))
    server = amqp.encode(0, amqp.Connection.Start(*amqp.VERSION[:2]))
    server += amqp.encode(1, amqp.Channel.OpenOk())
    server += amqp.encode(0, amqp.Connection.CloseOk())
    return client, server


def consume(amqp: Any) -> bytes:
    return bytes(amqp.encode(1, amqp.Basic.Consume(queue="q", consumer_tag="tag")))


def mixed() -> bytes:
    """Three connections, their packets in turns."""
    packets = []
    ends = [(("10.0.0.1", 40000 + k), make.SERVER) for k in range(3)]
    payloads = [
        HEADERS["0-9-1"] + 9 * (message(v0_9_1) + consume(v0_9_1)),
        HEADERS["1 1 8 0"] + 9 * (message(v0_8) + consume(v0_8)),
        HEADERS["1 1 0 9"] + 9 * (message(v0_9) + v0_9.encode(1, v0_9.Channel.Ping())),
    ]
    for source, target in ends:
        packets.append(make.segment(source, target, 999, b"", SYN))
        packets.append(make.segment(target, source, 4999, b"", SYN | make.ACK))
    for place in range(0, 2000, 50):
        for (source, target), data in zip(ends, payloads, strict=True):
            piece = data[place : place + 50]
            if piece:
                packets.append(make.segment(source, target, 1000 + place, piece))
    return make.pcap(packets)
