"""Arrow batches to CSV: a line a row, below a line of names.

Nothing is written for null, and "" for an empty text. Times, bytes and what has parts are written
as JSON Lines has them.
"""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.csv as pc_csv

from .jsonl import shown_value, texts
from .times import Clock

__all__ = ["Csv"]


class Csv:
    """Writes batches of one schema."""

    def __init__(self, out: IO[str], clock: Clock) -> None:
        """Nothing is written before the first batch."""
        self.out = out
        self.clock = clock
        self.begun = False

    def __call__(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch, and first the names."""
        if not self.begun:
            self.begun = True
            self.out.write(",".join(_quoted(name) for name in batch.schema.names) + "\n")
        if not batch.num_rows:
            return
        columns = [
            _plain(field, column, self.clock)
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        made = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        sink = pa.BufferOutputStream()
        pc_csv.write_csv(made, sink, pc_csv.WriteOptions(include_header=False))
        self.out.write(sink.getvalue().to_pybytes().decode())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\r\n') else name


def _plain(field: pa.Field, column: pa.Array, clock: Clock) -> pa.Array:
    """A column that CSV has: a number, a truth, or text."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return column
    if pa.types.is_string(kind) and not field.metadata:
        return column
    # A text of JSON is not quoted twice.
    written = texts(field, column, clock)
    return pa.array([None if text is None else shown_value(text) for text in written], pa.string())
