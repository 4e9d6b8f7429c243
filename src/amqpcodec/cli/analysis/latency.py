"""``amqpcodec latency``: how long confirms, acks, gets and replies took, by queue."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import pyarrow as pa

from ..times import Window
from .base import Row
from .percentiles import Durations
from .records import Message, Record
from .traffic import Traffic

__all__ = ["Latency"]

#: Requests that wait for their reply, and (what, queue, exchange) that have percentiles.
MAX_REQUESTS, MAX_KEYS = 200_000, 20_000
Key = tuple[str, str | None, str | None]


class Latency(Traffic):
    """A row for each kind of answer and each queue (or exchange, where messages went to one)."""

    NAME = "latency"
    SINCE = None
    SORT = ("what", "-count")
    SCHEMA = pa.schema([
        ("what", pa.string()),
        ("queue", pa.string()),
        ("exchange", pa.string()),
        ("count", pa.int64()),
        ("min_ms", pa.float64()),
        ("p50_ms", pa.float64()),
        ("p90_ms", pa.float64()),
        ("p95_ms", pa.float64()),
        ("p99_ms", pa.float64()),
        ("max_ms", pa.float64()),
        ("mean_ms", pa.float64()),
    ])  # fmt: skip
    TABLE = tuple(SCHEMA.names)
    OPTIONAL = ("p95_ms", "min_ms", "mean_ms", "exchange")
    NOTHING = "nothing was answered: no confirm, ack, get or reply"

    def __init__(self, window: Window) -> None:
        """No sample yet."""
        super().__init__(window)
        self.samples: dict[Key, Durations] = {}
        self.requests: OrderedDict[str, tuple[Message, int | None]] = OrderedDict()

    def add(self, what: str, message: Message, since: int | None, until: int | None) -> None:
        """A sample, where both times are known and the first is in the window."""
        if since is None or until is None or not self.in_window(since):
            return
        key = (what, message.queue, None if message.queue is not None else message.exchange)
        if key not in self.samples and len(self.samples) >= MAX_KEYS:
            key = (what, "(others)", None)
        durations = self.samples.get(key)
        if durations is None:
            durations = self.samples[key] = Durations()
        durations.add(until - since)

    def on_confirm(self, message: Message, record: Record, outcome: str) -> None:
        """From the last byte of publish to the first of its confirm."""
        self.add("publish-confirm", message, message.last, record.time)

    def on_settle(self, message: Message, record: Record, outcome: str) -> None:
        """From the last byte of a delivery to the first of what settles it."""
        what = "get-settle" if message.kind == "get" else "deliver-settle"
        self.add(what, message, message.last, record.time)

    def on_get(self, request: Record, answer: Record, queue: str | None) -> None:
        """From basic.get to its answer."""
        message = Message("get", answer, queue, None)
        self.add(answer.method.replace("basic.", "get-to-"), message, request.time, answer.last)

    def on_publish(self, message: Message) -> None:
        """A request that names where its reply goes, or the reply."""
        number = message.correlation_id
        if number is None:
            return
        if message.reply_to is not None:
            self.requests[number] = (message, None)
            if len(self.requests) > MAX_REQUESTS:
                self.requests.popitem(last=False)
        elif number in self.requests:
            request, _ = self.requests[number]
            self.requests[number] = (request, message.last)

    def on_deliver(self, message: Message) -> None:
        """A reply, to who made the request."""
        number = message.correlation_id
        if number is None or message.reply_to is not None or number not in self.requests:
            return
        request, _ = self.requests[number]
        if request.conn == message.conn:
            del self.requests[number]
            self.add("rpc", request, request.last, message.last)

    def finish(self) -> Iterator[Row]:
        """Percentiles; of requests whose reply was seen as it was published only, up to there."""
        for request, replied in self.requests.values():
            if replied is not None:
                self.add("rpc-to-publish", request, request.last, replied)
        for (what, queue, exchange), durations in self.samples.items():
            numbers = [
                durations.smallest or 0,
                *durations.at(0.5, 0.9, 0.95, 0.99),
                durations.largest,
            ]
            numbers.append(durations.total // durations.n)
            yield (what, queue, exchange, durations.n, *(number / 1000 for number in numbers))
