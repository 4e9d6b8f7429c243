"""``amqpcodec messages``: what happened to messages, or (--follow) to those with one id."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import ClassVar, Self

import pyarrow as pa

from ..options import AnalysisOptions, MessagesOptions
from ..times import Window
from .base import TIME
from .records import Message, Record
from .routes import Routes
from .traffic import Traffic

__all__ = ["Messages"]

#: Connection, channel and number of a delivery or publication: what a message without an id has.
PLACE = re.compile("[0-9]+:[0-9]+:[0-9]+")

#: Messages whose time of publishing is remembered by their id.
MAX_IDS = 200_000


class Messages(Traffic):
    """A row each event: publish, confirm, return, deliver, get, settle, and being lost."""

    NAME = "messages"
    SCHEMA = pa.schema([
        ("time", TIME),
        ("after_ms", pa.float64()),
        ("conn", pa.int64()),
        ("ch", pa.int64()),
        ("from", pa.string()),
        ("event", pa.string()),
        ("outcome", pa.string()),
        ("exchange", pa.string()),
        ("routing_key", pa.string()),
        ("queue", pa.string()),
        ("route", pa.list_(pa.string())),
        ("consumer", pa.string()),
        ("tag", pa.int64()),
        ("redelivered", pa.bool_()),
        ("size", pa.int64()),
        ("message_id", pa.string()),
        ("correlation_id", pa.string()),
        ("reply_to", pa.string()),
        ("client", pa.string()),
    ])  # fmt: skip
    TABLE = (
        *("time", "after_ms", "conn", "ch", "from", "event", "outcome", "exchange"),
        *("routing_key", "queue", "route", "tag", "redelivered", "size", "message_id"),
    )
    OPTIONAL = ("redelivered", "tag", "size", "route", "ch", "exchange", "after_ms")
    STYLES: ClassVar[dict[str, str]] = {
        "publish": "bold green", "deliver": "bold blue", "get": "bold blue",
        "return": "bold red", "lost": "bold red", "nack": "red", "reject": "red",
        "rejected": "red", "released": "yellow",
    }  # fmt: skip
    NOTHING = "no message"

    def __init__(self, window: Window, followed_id: str | None = None) -> None:
        """Nothing was seen yet. followed_id: of the messages that have rows; None: all have."""
        super().__init__(window)
        self.followed_id = followed_id
        self.place: tuple[int, ...] | None = None
        if self.followed_id and PLACE.fullmatch(self.followed_id):
            self.place = tuple(map(int, self.followed_id.split(":")))
        self.published: OrderedDict[str, int] = OrderedDict()
        self.routes = Routes()
        self.followed_count = 0
        self.ids = 0

    @classmethod
    def from_options(cls, options: AnalysisOptions, window: Window) -> Self:
        """See --follow."""
        assert isinstance(options, MessagesOptions)
        return cls(window, options.follow)

    @classmethod
    def sort(cls, options: AnalysisOptions) -> tuple[str, ...]:
        """What is followed is in order of time; all messages come as they are read."""
        assert isinstance(options, MessagesOptions)
        return ("time",) if options.follow else ()

    def on_record(self, record: Record) -> None:
        """Bindings say where a message goes."""
        self.routes.observe(record)

    def _row(self, message: Message, event: str, time: int | None, **more: object) -> None:
        if event in ("publish", "deliver", "get", "return"):
            message.followed = self.followed_id is None or self._is_followed(message)
            self.ids += message.message_id is not None
        if not message.followed:
            return
        self.followed_count += 1
        identity = message.message_id or message.correlation_id
        began = self.published.get(identity) if identity else None
        if began is None and event not in ("publish", "deliver", "get"):
            began = message.time
        after = None if began is None or time is None else (time - began) / 1000
        self.rows.append((
            *(time, after, message.conn, message.ch, more.get("by", message.by), event),
            *(more.get("outcome"), message.exchange, message.key, message.queue),
            *(more.get("route"), message.consumer, message.tag, message.redelivered),
            *(message.size, message.message_id, message.correlation_id, message.reply_to),
            message.peer,
        ))  # fmt: skip

    def _is_followed(self, message: Message) -> bool:
        """Whether one of its ids is the one; those of 1.0 may say their type: AMQP_ULONG:12345. Or
        whether it is the one with this number on its channel."""
        if self.place is not None and self.place == (message.conn, message.ch, message.tag):
            return True
        for identifier in (message.message_id, message.correlation_id):
            if identifier is not None and (
                identifier == self.followed_id or identifier == f"AMQP_ULONG:{self.followed_id}"
            ):
                return True
        return False

    def on_publish(self, message: Message) -> None:
        """The beginning."""
        identity = message.message_id or message.correlation_id
        if identity and message.time is not None and identity not in self.published:
            self.published[identity] = message.time
            if len(self.published) > MAX_IDS:
                self.published.popitem(last=False)
        self._row(message, "publish", message.time, route=self.routes.of(message))

    def on_confirm(self, message: Message, record: Record, outcome: str) -> None:
        """The broker has it, or not."""
        self._row(message, "confirm", record.time, by=record.by, outcome=outcome)

    def on_return(self, message: Message | None, returned: Message, record: Record) -> None:
        """It had nowhere to go."""
        reply = f"{record.code} {record.text}" if record.code is not None else None
        self._row(returned, "return", record.time, outcome=reply)

    def on_deliver(self, message: Message) -> None:
        """A consumer has it."""
        self._row(message, message.kind, message.time)

    def on_settle(self, message: Message, record: Record, outcome: str) -> None:
        """The consumer has said what it did."""
        self._row(message, "settle", record.time, by=record.by, outcome=outcome)

    def on_lost(self, message: Message, record: Record, why: str) -> None:
        """No one has said anything, and will not."""
        self._row(message, "lost", record.time, by=record.by, outcome=why)

    def warnings(self) -> Iterator[str]:
        """Why nothing may have been found."""
        yield from super().warnings()
        if self.followed_id is not None and not self.followed_count:
            yield (
                f"no message has the {'place' if self.place else 'id'} {self.followed_id!r};"
                f" {self.ids:,} have a message id"
                " (amqpcodec messages shows them all)"
            )
