"""Arrow batches to CSV: a line a row, below a line of names.

Nothing is written for null, and "" for an empty text. Times, bytes and what has parts are written
as JSON Lines has them. Text of the wire is made harmless: characters that a terminal obeys are
escaped, but for tabs and ends of lines, and text that a spreadsheet takes for a formula begins with
an apostrophe.
"""

from __future__ import annotations

import re
from typing import IO

import pyarrow as pa
import pyarrow.csv as pc_csv

from .._facade.escaping import escaped
from .jsonl import shown_value, texts
from .times import Clock

__all__ = ["Csv", "harmless"]

#: What a spreadsheet takes for a formula begins so, also in the wide forms of East Asian text.
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: What CSV keeps of control characters: it stands in quotes.
PARTS = re.compile(r"([\t\r\n])")


class Csv:
    """Writes batches of one schema."""

    def __init__(self, out: IO[str], clock: Clock, raw: bool = False) -> None:
        """Nothing is written before the first batch. raw: text is written as it is."""
        self.out = out
        self.clock = clock
        self.raw = raw
        self.begun = False

    def __call__(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch, and first the names."""
        if not self.begun:
            self.begun = True
            names = batch.schema.names if self.raw else map(harmless, batch.schema.names)
            self.out.write(",".join(map(_quoted, names)) + "\n")
        if not batch.num_rows:
            return
        columns = [
            self._plain(field, column)
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        plain_batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        sink = pa.BufferOutputStream()
        pc_csv.write_csv(plain_batch, sink, pc_csv.WriteOptions(include_header=False))
        self.out.write(sink.getvalue().to_pybytes().decode())

    def _plain(self, field: pa.Field, column: pa.Array) -> pa.Array:
        """A column that CSV has: a number, a truth, or text."""
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return column
        if not pa.types.is_string(kind) or field.metadata:
            # A text of JSON is not quoted twice.
            written = texts(field, column, self.clock)
            values = [None if text is None else shown_value(text) for text in written]
            column = pa.array(values, pa.string())
        if self.raw:
            return column
        # Names repeat themselves: each different one is looked at once.
        coded = column.dictionary_encode()
        harmless_texts = pa.array(map(harmless, coded.dictionary.to_pylist()), pa.string())
        return harmless_texts.take(coded.indices)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\r\n') else name


def harmless(text: str) -> str:
    """Text that neither a terminal nor a spreadsheet obeys; a number stays one."""
    lines = PARTS.split(text)
    lines[::2] = map(escaped, lines[::2])
    shown = "".join(lines)
    return f"'{shown}" if shown.startswith(FORMULA) and not NUMBER.fullmatch(shown) else shown
