"""The events of a recording without end: those of the newest time, and what is open."""

from __future__ import annotations

import time

import pyarrow as pa

from ..analysis._interval import ASKS, ENDS, FORGOTTEN, interval
from ..capture._notices import counted_noun
from .queries import Query, engine

__all__ = ["MAX_ROWS", "Recent"]

#: Events that are held, some 50 MB: the older half of them goes where more come.
MAX_ROWS = 100_000
#: What DuckDB has freed goes back to the system at once.
GIVE_BACK = "SET allocator_bulk_deallocation_flush_threshold = '1MB'"
#: Small batches that are held before they become one.
MAX_BATCHES = 256
#: Of the events that are open, as many as that stay.
MAX_OPEN = MAX_ROWS // 2

#: The time that half of the events are older than.
MIDDLE = "SELECT CAST(median(time_us) AS BIGINT) FROM recorded"
#: What stays: the newest events, and of those before them what is open. A connection of which some
#: were forgotten is no longer certain to be known from its beginning.
KEEP = f"""
WITH over AS (SELECT connection FROM recorded WHERE {ENDS}),
answered AS (SELECT connection, answers FROM recorded WHERE answers IS NOT NULL),
open AS (
  SELECT * REPLACE (
    CASE event WHEN 'connection-opened' THEN 'inferred' ELSE certainty END AS certainty,
    CASE event WHEN 'connection-opened' THEN '{FORGOTTEN}' ELSE reason END AS reason)
  FROM recorded
  WHERE time_us < {{border}} AND connection NOT IN (FROM over) AND (
    event IN ('connection-opened', 'declared', 'bound', 'consumer-started', 'channel-opened', 'gap')
    OR ({ASKS}) AND NOT EXISTS (
      SELECT 1 FROM answered WHERE answered.connection = recorded.connection
      AND answered.answers = recorded.event_id))
  ORDER BY time_us DESC LIMIT {{most}}
)
FROM recorded WHERE time_us >= {{border}} OR time_us IS NULL
UNION ALL
FROM open
"""


class Recent:
    """Events in memory; those that are older than a window are forgotten, unless they are open.

    Open is a delivery or publish without its answer, a connection, and what was declared, bound and
    consumed on connections that have not ended.
    """

    def __init__(self, query: Query, window: int | None) -> None:
        """query: that is asked. window: µs; None: as many events as there is room for."""
        self.query = query
        self.window = window
        self.database = engine.connect()
        self.database.execute("SET threads = 1")  # each has memory of its own
        self.database.execute(GIVE_BACK)
        self.batches: list[pa.RecordBatch] = []
        self._small: list[pa.RecordBatch] = []  # after them: each takes more than its rows do
        self.rows = 0
        #: µs since 1970: of the newest event, and of the oldest that is held for itself.
        self.newest: int | None = None
        self.since: int | None = None
        self._taken = time.monotonic()
        self._checked: int | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next events."""
        self._small.append(batch)
        self.rows += batch.num_rows
        if len(self._small) > MAX_BATCHES:
            self.batches += _joined(pa.Table.from_batches(self._small))
            self._small = []
        times = batch.column("time_us").drop_null()
        if len(times):
            self.newest = max(self.newest or 0, max(times[0].as_py(), times[-1].as_py()))
            self._taken = time.monotonic()
        self._forget()

    @property
    def now(self) -> int | None:
        """The time of the recording now: µs since 1970; None before the first event."""
        if self.newest is None:
            return None
        return self.newest + 1 + int((time.monotonic() - self._taken) * 1e6)

    @property
    def extent(self) -> str:
        """How many events are held, and of which time if not of all."""
        events = counted_noun(self.rows, "event")
        if self.since is None or self.newest is None:
            return events
        return f"{events} of the last {(self.newest - self.since) // 1_000_000:,} s"

    def answer(self, until: int | None) -> pa.Table:
        """The rows of the query, as if the recording ended at a time.

        until: µs since 1970; None: it has ended.
        """
        self._register()
        names = self.query.schema.names
        view = "FROM recorded" if until is None else interval(names, None, until)
        return self.query.answer(self.database, view)

    def _register(self) -> None:
        """Let queries see what is held."""
        held = pa.Table.from_batches([*self.batches, *self._small], self.query.schema)
        self.database.register("recorded", held)

    def _forget(self) -> None:
        """Drop what is older than the window, or the older half where there are too many."""
        if self.newest is None:
            return
        border = None
        if self.window is not None and (
            self._checked is None or self.newest - self._checked > self.window // 8
        ):
            self._checked = self.newest
            border = self.newest - self.window
        is_full = self.rows > MAX_ROWS
        if border is None and not is_full:
            return
        self._register()
        if is_full:
            [(half,)] = self.database.execute(MIDDLE).fetchall()
            if half is not None:
                border = max(border or 0, half)
        if border is None:
            return
        before = self.rows
        kept = self.database.sql(KEEP.format(border=border, most=MAX_OPEN)).to_arrow_table()
        self.batches, self._small = _joined(kept.cast(self.query.schema)), []
        self.rows = kept.num_rows
        if self.rows < before:
            self.since = max(self.since or 0, border)


def _joined(table: pa.Table) -> list[pa.RecordBatch]:
    """Its rows in one piece."""
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    return batches
