"""Events of several connections in a task, whose rows come one connection after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..._facade.event_rows import (
    ConnectionReader,
    key_numbers,
    plain_key,
    senders_of,
    times_of,
    values_of,
)
from ...batch import _protocols
from ..planning.columns import Plan, arrow_schema, conform
from .pieces import row_of_task, run_in_pieces

__all__ = ["Connections"]

#: Rows of a batch that goes out, more or less.
BATCH_ROWS = 8192


@dataclass(frozen=True)
class Connections:
    """What runs in a worker; it travels there. Rows come with equal keys after one another.

    keep_count: how many columns stand first, of whose values those of a connection's first row go
    out; keys: how many come after them, by which rows are of one connection. After them come the
    bytes, the direction, the time, and, if addressed, from and to where. protocol: a version, or
    None for what each connection's header says.
    """

    plan: Plan
    keep_count: int
    keys: int
    protocol: str | None
    addressed: bool

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of kept columns and those of events."""
        yield from run_in_pieces(_Task(self), batches, self.keep_count + self.keys)


class _Task:
    """One task: the connection that is open, and the events that wait to go out."""

    def __init__(self, job: Connections) -> None:
        self._job = job
        self._target = arrow_schema(job.plan.schema)
        self._reader = ConnectionReader(
            _protocols(job.protocol),
            job.protocol is not None,
            job.plan.fields,
            BATCH_ROWS,
            apart=True,
        )
        self._key: list[Any] | None = None
        self._number = 0
        self._fed = 0  # values of the connection
        self._first: pa.RecordBatch | None = None  # its first row
        self._waiting: list[pa.RecordBatch] = []

    def take(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Rows of the task, in order."""
        if rows.num_rows == 0:
            return
        job = self._job
        keys = [rows.column(job.keep_count + i) for i in range(job.keys)]
        at = job.keep_count + job.keys
        values, direction, times, *ends = rows.columns[at:]
        values = values_of(values)
        try:
            senders = senders_of(values, {"direction": direction})
            times = times_of(times, len(values))
        except ValueError as problem:
            raise ValueError(f"{row_of_task(None)}: {problem}") from None
        firsts = key_numbers(keys, len(values))[1]
        for start, stop in zip(firsts, [*firsts[1:], len(values)], strict=True):
            key = [plain_key(column[start]) for column in keys]
            if key != self._key:
                yield from self._end_connection()
                src, dst = (end[start].as_py() for end in ends) if ends else (None, None)
                self._key, self._fed, self._first = key, 0, rows.slice(start, 1)
                self._number = self._reader.open(key, src, dst, bool(senders[start].as_py() & 1))
            length = stop - start
            self._reader.feed(
                values.slice(start, length),
                pa.array([self._number] * length, pa.int32()),
                senders.slice(start, length),
                times.slice(start, length),
                self._fed,
            )
            self._fed += length
            yield from self._ready()

    def end(self) -> Iterator[pa.RecordBatch]:
        """The task has no more rows."""
        yield from self._end_connection()
        yield from self._out()

    def _end_connection(self) -> Iterator[pa.RecordBatch]:
        if self._key is not None:
            self._reader.end()
            yield from self._ready(True)

    def _ready(self, ended: bool = False) -> Iterator[pa.RecordBatch]:
        """Batches of the events of the connection whose place is known. ended: of all of them."""
        assert self._first is not None
        while (batch := self._reader.take(ended)) is not None:
            out = conform(pa.record_batch(batch), self._job.plan, self._target)
            if self._job.keep_count:
                first = pa.array([0] * out.num_rows, pa.int64())
                constants = self._first.select(range(self._job.keep_count))
                schema = pa.schema([*constants.schema, *self._target])
                columns = [*(column.take(first) for column in constants.columns), *out.columns]
                out = pa.RecordBatch.from_arrays(columns, schema=schema)
            self._waiting.append(out)
            if sum(batch.num_rows for batch in self._waiting) >= BATCH_ROWS:
                yield from self._out()

    def _out(self) -> Iterator[pa.RecordBatch]:
        if self._waiting:
            yield from pa.Table.from_batches(self._waiting).combine_chunks().to_batches()
            self._waiting = []
