"""Rows of a recording as analyzers see them, and the messages that they carry."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["FIELDS", "METHODS", "Message", "Record"]

METHODS = pa.array([
    *("basic.publish", "basic.return", "basic.deliver", "basic.get", "basic.get-ok"),
    *("basic.get-empty", "basic.ack", "basic.nack", "basic.reject", "basic.recover"),
    *("basic.recover-async", "basic.consume", "basic.consume-ok", "basic.cancel"),
    *("queue.declare-ok", "queue.bind", "queue.unbind", "exchange.declare", "exchange.bind"),
    *("exchange.unbind", "confirm.select", "connection.open"),
    *("channel.open", "channel.close", "connection.close", "connection.start"),
    *("open", "begin", "attach", "transfer", "disposition", "detach", "end", "close"),
])  # fmt: skip

FIELDS = (
    *("connection_index", "direction", "channel", "timestamp", "timestamp_last", "method"),
    *("exchange", "routing_key", "queue", "consumer_tag", "delivery_tag", "redelivered"),
    *("multiple", "requeue", "no_ack", "no_wait", "reply_code", "reply_text"),
    *("properties.message_id", "properties.correlation_id", "properties.reply_to"),
    *("arguments", "src", "dst"),
)
#: The same as attributes of a record.
_NAMES = (
    *("conn", "by", "ch", "time", "last", "method", "exchange", "key", "queue", "consumer", "tag"),
    *("redelivered", "multiple", "requeue", "no_ack", "no_wait", "code", "text", "message_id"),
    *("correlation_id", "reply_to", "arguments", "src", "dst"),
)


class Record:
    """A row of the recording, with what analyzers need of it."""

    __slots__ = (*_NAMES, "size", "to")

    conn: int
    by: str
    ch: int
    time: int | None
    last: int | None
    method: str
    exchange: str | None
    key: str | None
    queue: str | None
    consumer: str | None
    tag: int | None
    redelivered: bool | None
    multiple: bool | None
    requeue: bool | None
    no_ack: bool | None
    no_wait: bool | None
    code: int | None
    text: str | None
    message_id: str | None
    correlation_id: str | None
    reply_to: str | None
    arguments: str | None
    src: str
    dst: str

    def __init__(self, values: tuple[Any, ...], size: int | None) -> None:
        """values: of FIELDS."""
        for name, value in zip(_NAMES, values, strict=True):
            setattr(self, name, value)
        self.size = size
        self.to: str | None = None


class Message:
    """A message that was sent, and where."""

    __slots__ = (
        *("kind", "conn", "ch", "by", "time", "last", "exchange", "key", "queue", "consumer"),
        *("tag", "redelivered", "message_id", "correlation_id", "reply_to", "size", "peer"),
        *("certain", "link", "followed"),
    )

    def __init__(self, kind: str, record: Record, queue: str | None, tag: Any) -> None:
        """kind: "publish", "deliver", "get" or "return". tag: number of delivery."""
        self.kind, self.conn, self.ch, self.by = kind, record.conn, record.ch, record.by
        self.time, self.last = record.time, record.last
        self.exchange, self.key, self.queue = record.exchange, record.key, queue
        self.consumer, self.tag, self.redelivered = record.consumer, tag, record.redelivered
        self.message_id, self.correlation_id = record.message_id, record.correlation_id
        self.reply_to, self.size = record.reply_to, record.size
        self.peer = record.src if record.by == "client" else record.dst
        self.certain = True  # it is known that an answer is due
        self.link: Any = None
        self.followed = False
