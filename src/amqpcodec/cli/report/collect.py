"""What the page is made of: answers about the events of a recording, and its frames by method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...analysis._interval import part
from ...analysis._questions import load
from ..queries import Query, engine
from ..times import Window
from .series import MAX_PIECES, Series

__all__ = ["MAX_ROWS", "QUESTIONS", "Contents", "Frames"]

#: Rows of an answer that the page has, at most.
MAX_ROWS = 500
#: Incidents that are drawn one by one.
MAX_DRAWN = 2000

#: The questions that the page answers.
QUESTIONS = ("diagnose", "queues", "unacked", "errors", "latency", "connections", "incidents")

#: How many messages were published, delivered and so on, in pieces of time.
OVER_TIME = """
SELECT CASE WHEN event = 'confirmed' AND outcome <> 'accepted' THEN 'nacked' ELSE event END AS name,
       CAST(floor(time_us / {width}) AS BIGINT) AS piece, count(*) AS count
FROM events
WHERE event IN ('published', 'delivered', 'settled', 'confirmed', 'returned')
GROUP BY ALL
UNION ALL
SELECT 'redelivered', CAST(floor(time_us / {width}) AS BIGINT), count(*)
FROM events WHERE event = 'delivered' AND redelivered
GROUP BY ALL
"""
#: From when to when there are events.
SPAN = "SELECT min(time_us) AS first, max(time_us) AS last FROM events"
#: Messages by how many bits the size of their body has.
SIZES = """
SELECT event, CASE body_size WHEN 0 THEN 0 ELSE CAST(floor(log2(body_size)) AS INT) + 1 END AS bits,
       count(*) AS count
FROM events
WHERE event IN ('published', 'delivered') AND body_size IS NOT NULL
GROUP BY ALL
"""


class Frames:
    """All frames, by method, over time."""

    FIELDS = ("timestamp", "method", "frame_type", "error")

    def __init__(self, window: Window) -> None:
        """Nothing was read."""
        self.window = window
        self.rates = Series()
        self.count = 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Count the frames of a batch."""
        batch = self.window.rows(batch)
        self.count += batch.num_rows
        names = pc.fill_null(pc.coalesce(batch.column("method"), batch.column("frame_type")), "")
        ticks = batch.column("timestamp").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        width = self.rates.width
        table = pa.table({"name": names, "piece": pc.divide(ticks, width)})
        counted = table.group_by(["name", "piece"]).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            if row["piece"] is not None:
                self.rates.add(row["name"] or "damaged", row["piece"] * width, row["count_all"])


class Contents:
    """The answers about the events of a recording.

    Attributes:
        rows: of each question, MAX_ROWS of them at most.
        counts: of each question, how many rows there are.
        unacknowledged: how many deliveries wait; None where some queue does not know.
        gaps: how many there are, of all connections.
        messages: how many of each kind over time.
        sizes: bits of a size -> messages, of those published and delivered.
    """

    def __init__(self) -> None:
        """Nothing was read."""
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in QUESTIONS}
        self.counts = dict.fromkeys(QUESTIONS, 0)
        self.unacknowledged: int | None = 0
        self.gaps = 0
        self.messages = Series()
        self.sizes: dict[str, dict[int, int]] = {"published": {}, "delivered": {}}

    @staticmethod
    def query() -> Query:
        """What is read: the columns of all questions together."""
        columns = [column for name in QUESTIONS for column in load(name).columns]
        return Query("", [*dict.fromkeys([*columns, "body_size", "redelivered"])], in_part=True)

    def fill(self, events: Iterator[pa.RecordBatch], window: Window) -> None:
        """Take all events, and find the answers of those in the window."""
        schema = self.query().schema
        with engine.recorded(events, schema) as connection:
            view = part(connection, schema.names, window.since, window.until)

            def rows(text: str) -> pa.Table:
                return engine.answer(connection, view, text)

            for name in QUESTIONS:
                answer = rows(load(name).query)
                if name == "queues":
                    numbers = answer["unacknowledged"].to_pylist()
                    self.unacknowledged = None if None in numbers else sum(numbers)
                if name == "connections":
                    self.gaps = sum(answer["gaps"].to_pylist())
                self.counts[name] = answer.num_rows
                most = MAX_DRAWN if name == "incidents" else MAX_ROWS
                self.rows[name] = answer.slice(0, most).to_pylist()
            [span] = rows(SPAN).to_pylist()
            if span["first"] is not None:
                width = max(1000, (span["last"] - span["first"]) // (MAX_PIECES - 1) + 1)
                self.messages.begin(width, span["first"], span["last"])
                for row in rows(OVER_TIME.format(width=width)).to_pylist():
                    if row["piece"] is not None:
                        self.messages.add(row["name"], row["piece"] * width, row["count"])
            for row in rows(SIZES).to_pylist():
                self.sizes[row["event"]][row["bits"]] = row["count"]
