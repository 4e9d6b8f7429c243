"""What the page is made of: folded out of a recording, twice read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..analysis.base import Row, plain
from ..analysis.connections import Connections
from ..analysis.errors import Errors
from ..analysis.latency import Latency
from ..analysis.records import Message, Record
from ..analysis.top import Top
from ..analysis.traffic import Traffic
from ..times import Window
from .series import Series

__all__ = ["Flow", "Frames"]

#: Rows of errors that are drawn and listed one by one; the others are counted.
MAX_ERRORS = 2000


class Frames:
    """All frames, by method; errors; connections."""

    FIELDS = tuple(
        dict.fromkeys([*Errors.FIELDS, *Connections.FIELDS, "timestamp", "error", "file"])
    )

    def __init__(self, window: Window) -> None:
        """Nothing was read."""
        self.window = window
        self.errors_analyzer = Errors(window)
        self.connections_analyzer = Connections(window)
        self.rates = Series()
        self.count = 0
        self.errors: list[dict[str, Any]] = []
        self.reasons: Counter[tuple[str, str | None, str | None]] = Counter()
        self.connections: list[dict[str, Any]] = []

    def update(self, batch: pa.RecordBatch) -> None:
        """Look at a batch at frame level."""
        self._wrong(self.errors_analyzer.update(batch))
        self.connections_analyzer.update(batch)
        batch = self.window.after_start(batch)
        self.count += batch.num_rows
        names = pc.coalesce(batch.column("method"), batch.column("frame_type"))
        ticks = batch.column("timestamp").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        pieces = pc.divide(ticks, self.rates.width)
        table = pa.table({"name": names, "piece": pieces}).group_by(["name", "piece"])
        width = self.rates.width
        for counts in table.aggregate([([], "count_all")]).to_batches():
            for name, piece, count in plain(counts.select(["name", "piece", "count_all"])):
                if piece is not None:
                    self.rates.add(name or "damaged", piece * width, count)

    def _wrong(self, rows: list[Row]) -> None:
        names = Errors.SCHEMA.names
        for row in rows:
            error = dict(zip(names, row, strict=True))
            if not self.errors_analyzer.in_window(error["time"]):
                continue
            text = error["text"] if error["code"] or "heartbeat" in error["what"] else None
            if len(self.reasons) < MAX_ERRORS:
                self.reasons[error["what"], error["code"], text] += 1
            else:
                self.reasons[error["what"], None, "(others)"] += 1
            if len(self.errors) < MAX_ERRORS:
                self.errors.append(error)

    def finish(self) -> None:
        """The recording has ended."""
        self._wrong(list(self.errors_analyzer.finish()))
        names = Connections.SCHEMA.names
        for row in self.connections_analyzer.finish():
            self.connections.append(dict(zip(names, row, strict=True)))


class Flow(Traffic):
    """Messages: how many, how large, how fast, to which queues."""

    def __init__(self, window: Window, max_queues: int) -> None:
        """Nothing was read. max_queues: how many of the busiest queues are listed."""
        super().__init__(window)
        self.latency = Latency(window)
        self.top = Top(window, ["queue"], max_queues)
        self.events = Series()
        self.latency_rows: list[Row] = []
        self.sizes = {"published": Counter[int](), "delivered": Counter[int]()}

    def _event(self, name: str, time: int | None) -> None:
        if self.in_window(time):
            self.events.add(name, time)

    def _size(self, name: str, message: Message) -> None:
        if message.size is not None and self.in_window(message.time):
            self.sizes[name][message.size.bit_length()] += 1

    def on_publish(self, message: Message) -> None:
        """Counts, and may be a request or a reply."""
        self._event("published", message.time)
        self._size("published", message)
        self.latency.on_publish(message)
        self.top.on_publish(message)

    def on_deliver(self, message: Message) -> None:
        """The same."""
        self._event("delivered", message.time)
        if message.redelivered:
            self._event("redelivered", message.time)
        self._size("delivered", message)
        self.latency.on_deliver(message)
        self.top.on_deliver(message)

    def on_confirm(self, message: Message, record: Record, outcome: str) -> None:
        """How long it took."""
        self._event("confirmed" if outcome in ("ack", "accepted") else "refused", record.time)
        self.latency.on_confirm(message, record, outcome)

    def on_settle(self, message: Message, record: Record, outcome: str) -> None:
        """The same."""
        self._event("settled", record.time)
        self.latency.on_settle(message, record, outcome)

    def on_get(self, request: Record, answer: Record, queue: str | None) -> None:
        """The same."""
        self.latency.on_get(request, answer, queue)

    def on_return(self, message: Message | None, returned: Message, record: Record) -> None:
        """It could not be routed."""
        self._event("returned", record.time)
