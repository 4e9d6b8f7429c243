"""Messages of several conversations in a task: what one Arrow batch leaves open, the next ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..._facade.keys import groups_of
from ...batch import decode_held
from ...errors import DecodeError
from ..planning.columns import Plan, arrow_schema, conform
from .pieces import MAX_OPEN, MAX_OPEN_BYTES, row_of_task, run_in_pieces, tell_place

__all__ = ["Conversations"]


@dataclass(frozen=True)
class Conversations:
    """What runs in a worker; it travels there. Rows come with equal keys after one another.

    keep_count: how many columns stand first and go out as they are; keys: how many come after
    them, by which rows are of one conversation. The column after them has the bytes. max_open,
    max_open_bytes: messages, and bytes of them, that may be open at the border of two batches.
    """

    plan: Plan
    keep_count: int
    keys: int
    protocol: str
    mode: str
    max_open: int = MAX_OPEN
    max_open_bytes: int = MAX_OPEN_BYTES

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of kept and decoded columns."""
        yield from run_in_pieces(_Task(self), batches, self.keep_count + self.keys)


class _Task:
    """One task: what is open, and what waits to be read with it."""

    def __init__(self, job: Conversations) -> None:
        self._job = job
        self._fields = [*job.plan.fields, "row"]
        self._target = arrow_schema(job.plan.schema)
        self._open: list[bytes] = []
        self._open_rows: pa.RecordBatch | None = None  # of the first rows of what is open
        self._keys: list[pa.Array] = []  # of what is open, a value each
        self._links: list[int] = []
        self._pending_batches: list[pa.RecordBatch] = []

    def take(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Rows of the task, in order.

        What is open is read again with them. So that this costs no more than reading does, rows
        wait until there are as many bytes of them.
        """
        if rows.num_rows:
            self._pending_batches.append(rows)
        if sum(batch.nbytes for batch in self._pending_batches) >= sum(map(len, self._open)):
            yield from self._step()

    def end(self) -> Iterator[pa.RecordBatch]:
        """The task has no more rows: what is open will not be complete."""
        yield from self._step()
        if self._open:
            assert self._open_rows is not None
            yield from self._give_up(
                self._open, self._open_rows, "the rows of its key end inside of it"
            )

    def _step(self) -> Iterator[pa.RecordBatch]:
        if not self._pending_batches:
            return
        rows = pa.Table.from_batches(self._pending_batches).combine_chunks().to_batches()
        self._pending_batches = []
        for batch in rows:
            yield from self._read(batch)

    def _read(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        job, ahead = self._job, len(self._open)
        keep_columns = rows.select(range(job.keep_count))
        values = rows.column(job.keep_count + job.keys)
        keys = [rows.column(job.keep_count + i) for i in range(job.keys)]
        if ahead or self._links:
            # Where only links are remembered, an empty value says whose they are.
            before: list[bytes | None] = [*self._open] or [None]
            values = pa.concat_arrays([pa.array(before, values.type), values])
            keys = [
                _repeated(one, len(before), key) for one, key in zip(self._keys, keys, strict=True)
            ]
            keep_columns = _joined(
                self._open_rows if ahead else keep_columns.slice(0, 1), keep_columns
            )
        try:
            columns, open_, links = decode_held(
                values,
                job.protocol,
                self._fields,
                job.mode,
                field_tables=job.plan.field_tables,
                groups=groups_of(keys, len(values)),
                links=self._links,
            )
        except DecodeError as problem:
            tell_place(problem, row_of_task(None, keep_columns.slice(problem.row or 0, 1)))
            raise
        out = pa.record_batch(columns)
        yield self._out(out, keep_columns, out.column(len(self._fields) - 1))
        yield from self._keep(open_, links, keep_columns)
        self._keys = [key.slice(len(key) - 1) for key in keys]

    def _keep(
        self, open_: list[tuple[int, bytes, int]], links: list[int], keep_columns: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        """Remember what is open, but not more than the limit: the oldest are given up."""
        total, number = sum(len(raw) for _, raw, _ in open_), 0
        most, most_bytes = self._job.max_open, self._job.max_open_bytes
        passed = f"{most_bytes} bytes of messages" if total > most_bytes else f"{most} messages"
        while total > most_bytes or len(open_) - number > most:
            total -= len(open_[number][1])
            number += 1
        if number:
            lost = open_[:number]
            yield from self._give_up(
                [raw for _, raw, _ in lost],
                keep_columns.take(pa.array([row for row, _, _ in lost], pa.int64())),
                f"more than {passed} are open",
            )
            links = [*links, *(link for _, _, link in lost if link >= 0)]
        remainder = open_[number:]
        self._open = [raw for _, raw, _ in remainder]
        self._open_rows = keep_columns.take(pa.array([row for row, _, _ in remainder], pa.int64()))
        self._links = links

    def _give_up(
        self, values: list[bytes], keep_columns: pa.RecordBatch, why: str
    ) -> Iterator[pa.RecordBatch]:
        """A row with an error for each of these messages, which are not whole."""
        from ... import batch

        job = self._job
        options: Any = {"mode": job.mode, "field_tables": job.plan.field_tables}
        array = pa.array(values, pa.large_binary())
        try:
            rows = batch.decode(array, job.protocol, "message", self._fields, **options)
        except DecodeError as problem:
            tell_place(problem, row_of_task(None, keep_columns.slice(problem.row or 0, 1)))
            raise
        error_rows = pa.record_batch(rows)
        if "error" in self._fields:
            at = self._fields.index("error")
            texts = [
                f"{text}; {why}" if text else text for text in error_rows.column(at).to_pylist()
            ]
            error_rows = error_rows.set_column(at, "error", pa.array(texts, pa.string()))
        yield self._out(error_rows, keep_columns, error_rows.column(len(self._fields) - 1))

    def _out(
        self, rows: pa.RecordBatch, keep_columns: pa.RecordBatch, at: pa.Array
    ) -> pa.RecordBatch:
        out = conform(rows, self._job.plan, self._target)
        if not self._job.keep_count:
            return out
        beside = [column.take(at) for column in keep_columns.columns]
        return pa.RecordBatch.from_arrays(
            [*beside, *out.columns], schema=pa.schema([*keep_columns.schema, *self._target])
        )


def _repeated(one: pa.Array, times: int, tail: pa.Array) -> pa.Array:
    return pa.concat_arrays([one.take(pa.array(np.zeros(times, np.int64))), tail])


def _joined(first: Any, second: pa.RecordBatch) -> pa.RecordBatch:
    if not second.num_columns:
        return second
    columns = [
        pa.concat_arrays([before, after])
        for before, after in zip(first.columns, second.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=second.schema)
