"""``--sort`` and ``--limit``: the order of rows, and how many of them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from .cells import cells
from .naming import extract_part, split

__all__ = ["Ordering", "sort_keys"]

#: Rows that are held beyond --limit before they are sorted and cut.
SORT_BUFFER_ROWS = 65536


def sort_keys(names: list[str]) -> list[tuple[str, str]]:
    """(name, "ascending" or "descending") of each word of --sort: NAME, -NAME or NAME:desc."""
    keys = []
    for name in names:
        order = "ascending"
        if name.startswith("-"):
            name, order = name[1:], "descending"
        for ending, direction in ((":desc", "descending"), (":asc", "ascending")):
            if name.lower().endswith(ending):
                name, order = name[: -len(ending)], direction
        keys.append((name, order))
    return keys


class Ordering:
    """Passes rows on as they come, or sorted when all have come. With a limit, no more are held."""

    def __init__(self, keys: list[tuple[str, str]], limit: int | None) -> None:
        """keys: none for the order in which rows come. limit: None for all rows."""
        self.keys, self.limit = keys, limit
        self.batches: list[pa.RecordBatch] = []
        self.row_count = 0
        self.shown_rows = 0

    @property
    def is_complete(self) -> bool:
        """Whether no further row can change what is shown."""
        return not self.keys and self.limit is not None and self.shown_rows >= self.limit

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of a batch that can be shown already."""
        if not self.keys:
            if self.limit is not None:
                batch = batch.slice(0, max(0, self.limit - self.shown_rows))
            self.shown_rows += batch.num_rows
            yield batch
            return
        self.batches.append(batch)
        self.row_count += batch.num_rows
        if self.limit is not None and self.row_count > self.limit + SORT_BUFFER_ROWS:
            self._sort()

    def remaining_rows(self) -> Iterator[pa.RecordBatch]:
        """The rows that were held, in order."""
        if self.batches:
            self._sort()
            yield from self.batches
            self.batches = []

    def _sort(self) -> None:
        table = pa.Table.from_batches(self.batches).combine_chunks()
        columns, keys = [], []
        for at, (name, order) in enumerate(self.keys):
            columns.append(_sortable(table, name))
            keys.append((str(at), order))
        by = pa.table(columns, names=[str(at) for at in range(len(columns))])
        at = pc.sort_indices(by, sort_keys=keys)
        table = table.take(at[: self.limit] if self.limit is not None else at)
        self.batches = table.to_batches()
        self.row_count = table.num_rows


def _sortable(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column as it can be sorted: a header or a part of JSON by number where all are numbers."""
    if name in table.column_names:
        column = table.column(name)
        kind = column.type
        if pa.types.is_struct(kind) or pa.types.is_list(kind):
            texts = [text for chunk in column.chunks for text in cells(chunk)]
            return pa.chunked_array([pa.array(texts, pa.string())])
        typed = not name.startswith("headers.") or ":" in name
        return column if typed else _numbers(column)
    parts = split(name, table.column_names)
    assert parts is not None
    batches = table.to_batches()
    return _numbers(pa.chunked_array([extract_part(batch, *parts)[1] for batch in batches]))


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as numbers where all are; another column as it is."""
    if not pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return column
