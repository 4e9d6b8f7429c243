"""``amqpcodec unacked``: what was delivered and not settled, at the end or before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from .base import TIME, Row
from .records import Message, Record
from .traffic import Traffic

__all__ = ["Unacked"]


class Unacked(Traffic):
    """A row each delivery. Those whose channel ended went back to their queue."""

    NAME = "unacked"
    SCHEMA = pa.schema([
        ("time", TIME),
        ("conn", pa.int64()),
        ("client", pa.string()),
        ("ch", pa.int64()),
        ("state", pa.string()),
        ("age_s", pa.float64()),
        ("queue", pa.string()),
        ("consumer", pa.string()),
        ("tag", pa.int64()),
        ("redelivered", pa.bool_()),
        ("size", pa.int64()),
        ("message_id", pa.string()),
        ("exchange", pa.string()),
        ("routing_key", pa.string()),
    ])  # fmt: skip
    TABLE = (
        *("time", "conn", "client", "ch", "state", "age_s", "queue", "tag", "redelivered"),
        *("size", "message_id", "exchange", "routing_key"),
    )
    OPTIONAL = ("exchange", "redelivered", "routing_key", "size", "client", "ch")
    STYLES: ClassVar[dict[str, str]] = {"waiting": "bold red", "state": "yellow"}
    NOTHING = "every delivery that had to be settled was"

    end: int | None = None
    unsure = 0

    def on_record(self, record: Record) -> None:
        """How late it is."""
        if record.last is not None and (self.end is None or record.last > self.end):
            self.end = record.last

    def row(self, message: Message, state: str, until: int | None) -> Row:
        """A delivery as it is shown."""
        has_age = until is not None and message.time is not None
        age = (until - message.time) / 1e6 if has_age else None  # type: ignore[operator]
        return (
            *(message.time, message.conn, message.peer, message.ch, state, age, message.queue),
            *(message.consumer, message.tag, message.redelivered, message.size),
            *(message.message_id, message.exchange, message.key),
        )

    def on_lost(self, message: Message, record: Record, why: str) -> None:
        """The broker has it again."""
        if message.kind == "publish":
            return
        if message.certain:
            self.rows.append(self.row(message, f"requeued: {why}", record.time))
        else:
            self.unsure += 1

    def finish(self) -> Iterator[Row]:
        """What waits still."""
        for connection in self.amqp0.values():
            for channel in connection.channels.values():
                for message in channel.unsettled.messages.values():
                    if message.certain or channel.acks:
                        yield self.row(message, "waiting", self.end)
                    else:
                        self.unsure += 1
        for links in self.links.values():
            for session in {id(entry): entry for entry in links.sessions.values()}.values():
                for message in session.unsettled["server"].messages.values():
                    yield self.row(message, "waiting", self.end)

    def warnings(self) -> Iterator[str]:
        """What may not have had to be settled at all."""
        yield from super().warnings()
        if self.unsure:
            deliveries = "delivery" if self.unsure == 1 else "deliveries"
            yield (
                f"the answer lacks {self.unsure:,} {deliveries}: the consumer began before the"
                " recording, and nothing on its channel was settled; perhaps it needs no"
                " acknowledgement (no-ack)"
            )
