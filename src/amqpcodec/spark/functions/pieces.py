"""Columns of bytes in pieces of bounded size, and how an error names the row of a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from ...errors import DecodeError

__all__ = [
    *("CHUNK_BYTES", "MAX_OPEN", "MAX_OPEN_BYTES"),
    *("pieces", "row_of_task", "run_in_pieces", "tell_place"),
]

#: Messages, and bytes of them, that a task may have open, by default. More than RabbitMQ takes.
MAX_OPEN = 1 << 16
MAX_OPEN_BYTES = 192 << 20

#: Bytes of input a call: columns end at 2 GiB, and JSON text is longer than its bytes.
CHUNK_BYTES = 128 << 20

#: Characters of a kept column's value in the text of an error.
SHOWN = 100


def row_of_task(row: int | None, keep_columns: pa.RecordBatch | None = None) -> str:
    """How a bad row is found again: its number in its task, and the columns that were kept."""
    context = TaskContext.get()
    place = [] if context is None else [f"partition {context.partitionId()}"]
    place += [] if row is None else [f"row {row}"]
    if keep_columns is not None:
        for name, column in zip(keep_columns.schema.names, keep_columns.columns, strict=True):
            place += [f"{name} {repr(value)[:SHOWN]}" for value in column.to_pylist()]
    return ", ".join(place) or "a row"


def tell_place(problem: DecodeError, place: str) -> None:
    """Let an error of batch.decode say where on Spark it was, instead of the row of an array."""
    text = str(problem.args[0]).removeprefix(f"row {problem.row}: ")
    problem.args = (f"{place}: {text}",)


def pieces(values: pa.Array, piece: int) -> Iterator[int]:
    """Lengths of slices of about so many bytes, one value at least; one for no value at all."""
    if len(values) < 2 or values.nbytes <= piece:
        yield len(values)
        return
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(values.buffers()[1], width)[values.offset :][: len(values) + 1]
    start = 0
    while start < len(values):
        end = int(np.searchsorted(ends, int(ends[start]) + piece, "right")) - 1
        end = min(max(end, start + 1), len(values))
        yield end - start
        start = end


class Task(Protocol):
    """What takes the rows of a task in order, and is told their end; both give what goes out."""

    def take(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]: ...

    def end(self) -> Iterator[pa.RecordBatch]: ...


def run_in_pieces(
    task: Task, batches: Iterable[pa.RecordBatch], column: int
) -> Iterator[pa.RecordBatch]:
    """What a task gives for batches whose column of bytes, at this place, comes in pieces."""
    for rows in batches:
        start = 0
        for length in pieces(rows.column(column), CHUNK_BYTES):
            yield from task.take(rows.slice(start, length))
            start += length
    yield from task.end()
