"""Messages on their way: published, confirmed, returned, delivered, settled; of any version.

An analyzer of messages is a Traffic and overrides the methods ``on_...`` that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ..times import Window
from .amqp0 import Amqp0Connection
from .base import Row, plain
from .handler import MessageHandler
from .links import Links, sections
from .records import FIELDS, METHODS, Record

__all__ = ["Traffic"]


class Traffic(MessageHandler):
    """Folds rows at message level into what happens to messages."""

    FIELDS = (*FIELDS, "body")

    def __init__(self, window: Window) -> None:
        """Nothing was seen yet."""
        super().__init__(window)
        self.amqp0: dict[int, Amqp0Connection] = {}
        self.links: dict[int, Links] = {}
        self.rows: list[Row] = []

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
