"""Messages on their way: published, confirmed, returned, delivered, settled; of any version.

An analyzer of messages is a Traffic and overrides the methods ``on_...`` that it needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..times import Window
from .amqp0 import Amqp0Connection
from .base import Analyzer, Row, plain
from .links import Links, sections

__all__ = ["Message", "Traffic"]

#: Messages that wait for an answer, of all connections together: more are forgotten, and counted.
MAX_PENDING = 1_000_000

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


class Traffic(Analyzer):
    """Folds rows at message level into what happens to messages."""

    FIELDS = (*FIELDS, "body")

    def __init__(self, options: argparse.Namespace, window: Window) -> None:
        """Nothing was seen yet."""
        super().__init__(options, window)
        self.amqp0: dict[int, Amqp0Connection] = {}
        self.links: dict[int, Links] = {}
        self.rows: list[Row] = []
        self.pending_count = 0
        self.forgotten = 0

    def update(self, batch: pa.RecordBatch) -> list[Row]:
        """Look at each row that says something about a message."""
        for record in records(batch):
            self.observe(record)
        rows, self.rows = self.rows, []
        return rows

    def observe(self, record: Record) -> None:
        """Look at one of them."""
        conn, method = record.conn, record.method
        if "." in method:
            connection = self.amqp0.get(conn)
            if connection is None:
                connection = self.amqp0[conn] = Amqp0Connection(self)
            if connection.observe(record) is False:
                del self.amqp0[conn]
        else:
            links = self.links.get(conn)
            if links is None:
                links = self.links[conn] = Links(self)
            if links.observe(record) is False:
                del self.links[conn]

    def may_wait(self) -> bool:
        """Whether one more message can be held; the one that has waited longest goes otherwise."""
        self.pending_count += 1
        return self.pending_count <= MAX_PENDING

    def warnings(self) -> Iterator[str]:
        """What was forgotten."""
        if self.forgotten:
            yield (
                f"more than {MAX_PENDING:,} messages waited for an answer:"
                f" {self.forgotten:,} of them are left out"
            )

    def on_publish(self, message: Message) -> None:
        """A client sent a message."""

    def on_confirm(self, message: Message, record: Record, outcome: str) -> None:
        """The broker said what became of it."""

    def on_return(self, message: Message | None, returned: Message, record: Record) -> None:
        """The broker could not route it. message: as it was published, where that is known."""

    def on_deliver(self, message: Message) -> None:
        """The broker sent a message: to a consumer, or (kind "get") on request."""

    def on_get(self, request: Record, answer: Record, queue: str | None) -> None:
        """basic.get had an answer, get-ok or get-empty."""

    def on_settle(self, message: Message, record: Record, outcome: str) -> None:
        """A delivery was settled by its receiver."""

    def on_lost(self, message: Message, record: Record, why: str) -> None:
        """A channel ended while a delivery was not settled, or a publish not confirmed."""

    def on_record(self, record: Record) -> None:
        """Any record of METHODS, before what it means is known."""


def records(batch: pa.RecordBatch) -> Iterator[Record]:
    """The rows of METHODS that are whole. batch: of the columns of Traffic, and error."""
    is_complete = pc.is_null(batch.column("error"))
    batch = batch.filter(pc.and_(pc.is_in(batch.column("method"), METHODS), is_complete))
    bodies = batch.column("body")
    sizes = pc.binary_length(bodies).to_pylist()
    of_v1 = pc.equal(batch.column("method"), "transfer")
    sections_by_row = sections(pc.if_else(of_v1, bodies, None)) if pc.any(of_v1).as_py() else {}
    for at, (values, size) in enumerate(zip(plain(batch.select(FIELDS)), sizes, strict=True)):
        record = Record(values, size)
        if at in sections_by_row:
            of_message = sections_by_row[at]
            record.message_id, record.correlation_id, record.reply_to, record.to, _ = of_message
        yield record
