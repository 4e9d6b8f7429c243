"""What a client and a server of 0-9-1 say, as (side, bytes), and recordings of it: for events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.support.recording import (
    ACK,
    CLIENT,
    FIN,
    RST,
    SERVER,
    START_NS,
    Record,
    packets,
    pcap,
    segment,
)

Say = tuple[int, bytes]
TO_SERVER, TO_CLIENT = 0, 1


def client(method: Any, channel: int = 1) -> Say:
    return TO_SERVER, amqp.encode(channel, method)


def server(method: Any, channel: int = 1) -> Say:
    return TO_CLIENT, amqp.encode(channel, method)


def login(heartbeat: int = 60, name: str | None = "worker") -> list[Say]:
    """From the protocol header to open-ok."""
    properties = {} if name is None else {"connection_name": name}
    return [
        (TO_SERVER, amqp.PROTOCOL_HEADER),
        server(amqp.Connection.Start(mechanisms=b"PLAIN", locales=b"en_US"), 0),
        client(
            amqp.Connection.StartOk(
                client_properties=properties, mechanism="PLAIN", response=b"\0guest\0secret"
            ),
            0,
        ),
        server(amqp.Connection.Tune(frame_max=131072, heartbeat=heartbeat), 0),
        client(amqp.Connection.TuneOk(frame_max=131072, heartbeat=heartbeat), 0),
        client(amqp.Connection.Open(virtual_host="/"), 0),
        server(amqp.Connection.OpenOk(), 0),
    ]


def open_channel(channel: int = 1) -> list[Say]:
    return [client(amqp.Channel.Open(), channel), server(amqp.Channel.OpenOk(), channel)]


def consume(queue: str, tag: str = "c1", no_ack: bool = False, channel: int = 1) -> list[Say]:
    method = amqp.Basic.Consume(queue=queue, consumer_tag=tag, no_ack=no_ack)
    return [client(method, channel), server(amqp.Basic.ConsumeOk(consumer_tag=tag), channel)]


def select(channel: int = 1) -> list[Say]:
    return [client(amqp.Confirm.Select(), channel), server(amqp.Confirm.SelectOk(), channel)]


def publish(number: int, key: str = "jobs", exchange: str = "", channel: int = 1) -> Say:
    method = amqp.Basic.Publish(exchange=exchange, routing_key=key)
    properties = amqp.Basic.Properties(message_id=f"p{number}")
    return TO_SERVER, amqp.encode_message(channel, method, properties, b"body %d" % number)


def deliver(
    number: int,
    key: str = "jobs",
    tag: str = "c1",
    channel: int = 1,
    message: str | None = None,
    redelivered: bool = False,
) -> Say:
    method = amqp.Basic.Deliver(
        consumer_tag=tag, delivery_tag=number, redelivered=redelivered, routing_key=key
    )
    properties = amqp.Basic.Properties(message_id=message or f"d{number}")
    return TO_CLIENT, amqp.encode_message(channel, method, properties, b"body %d" % number)


def close() -> list[Say]:
    return [
        client(amqp.Connection.Close(reply_code=200, reply_text="bye"), 0),
        server(amqp.Connection.CloseOk(), 0),
    ]


def finish(talk: Sequence[bytes], side: int, flags: int = FIN | ACK, port: int = 40000) -> bytes:
    """The segment that ends what a side said in packets()."""
    place = [1001, 5001]
    for packet in talk[2:]:
        source = int.from_bytes(packet[34:36], "big")
        place[source == SERVER[1]] += len(packet) - 54
    ends = (CLIENT[0], port), SERVER
    ack = place[1 - side] if flags & ACK else 0
    return segment(ends[side], ends[1 - side], place[side], b"", flags, ack)


def lost(says: Iterable[Say], side: int, flags: int = FIN | ACK) -> list[bytes]:
    """A connection that ends so after what was said."""
    talk = packets(list(says))
    return [*talk, finish(talk, side, flags)]


def reset(says: Iterable[Say], side: int) -> list[bytes]:
    return lost(says, side, RST | ACK)


def timed(talk: Sequence[bytes], seconds: Sequence[float]) -> list[Record]:
    """With the time of each packet."""
    return [Record(data, START_NS + int(at * 1e9)) for data, at in zip(talk, seconds, strict=True)]


def write(path: Path, talk: Iterable[Any]) -> Path:
    path.write_bytes(pcap(talk))
    return path


def events(source: Any, **options: Any) -> list[dict[str, Any]]:
    """Rows of events, without columns that are null."""
    table = pa.table(capture.read(source, "event", **options))
    return [
        {name: value for name, value in row.items() if value is not None}
        for row in table.to_pylist()
    ]


def short(rows: Iterable[dict[str, Any]], *columns: str) -> list[Any]:
    """These columns of rows, or the event alone."""
    if not columns:
        return [row["event"] for row in rows]
    return [tuple(row.get(name) for name in columns) for row in rows]
