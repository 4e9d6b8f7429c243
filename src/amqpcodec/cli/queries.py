"""Queries over events: the SQL, the columns that it needs, and which of its rows are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from .. import capture
from ..analysis._interval import NEEDED, part
from .errors import UsageError
from .naming import no_column, pick_columns, split
from .options import RowOptions
from .ordering import Ordering, sort_keys
from .selection import filter_rows, parse_where
from .times import Window

try:
    import duckdb

    from ..analysis import _duckdb as engine
    from ..analysis._questions import Question
except ImportError:
    raise UsageError('duckdb is needed: pip install "amqpcodec[cli]"') from None

__all__ = ["Chosen", "Query", "engine", "printable", "schema_of_answer"]


class Query:
    """SQL over events, with the columns of events that it needs.

    Attributes:
        columns: that are read: those of the query, and what an interval of time needs.
        schema: of the events with these columns.
    """

    def __init__(
        self,
        text: str,
        columns: Sequence[str] | None,
        *,
        in_part: bool = False,
        more: Sequence[str] = (),
    ) -> None:
        """columns: None: all. in_part: of the events of an interval of time. more: columns."""
        self.text = text
        more = (*more, *(NEEDED if in_part else ("event",)))  # which tells damage
        self.columns = None if columns is None else list(dict.fromkeys([*columns, *more]))
        self.schema = pa.schema(capture.schema("event", self.columns))

    def run(self, batches: Iterator[pa.RecordBatch], window: Window | None = None) -> pa.Table:
        """The rows of the answer. window: of time, which the first batch has begun.

        Raises:
            UsageError: DuckDB refuses the query.
        """

        def view(connection: duckdb.DuckDBPyConnection) -> str:
            if window is None:
                return "FROM recorded"
            return part(connection, self.schema.names, window.since, window.until)

        try:
            return printable(engine.run(self.text, batches, self.schema, view=view))
        except (duckdb.Error, ValueError) as error:
            raise _wrong(error) from None

    def answer(self, connection: duckdb.DuckDBPyConnection, view: str) -> pa.Table:
        """The rows of the answer. view: the SELECT over ``recorded`` that events is."""
        try:
            return printable(engine.answer(connection, view, self.text))
        except (duckdb.Error, ValueError) as error:
            raise _wrong(error) from None


def _wrong(error: Exception) -> UsageError:
    """What DuckDB says of a query, on one line and without the query."""
    return UsageError(f"sql: {' '.join(str(error).partition('LINE 1')[0].split())}")


def schema_of_answer(question: Question) -> pa.Schema:
    """The columns of a question's rows."""
    return Query(question.query, question.columns).run(iter(())).schema


class Chosen:
    """Which rows and columns of an answer are shown, and in which order."""

    def __init__(self, schema: pa.Schema, options: RowOptions, names: Sequence[str]) -> None:
        """schema: of the answer. names: the columns, where the options ask for none.

        Raises:
            UsageError: a name is no column of the answer.
        """
        self.names = options.fields or list(names) or schema.names
        self.keys = sort_keys(options.sort)
        self.limit = options.limit
        self.where = parse_where(options.where, {})
        for option, asked in (
            ("--fields", self.names),
            ("--where", self.where.names() if self.where else ()),
            ("--sort", [name for name, _ in self.keys]),
        ):
            for name in asked:
                if name not in schema.names and not split(name, schema.names):
                    raise no_column(name, schema.names, option)

    def rows(self, answer: pa.Table) -> list[pa.RecordBatch]:
        """Those of an answer, one batch at least."""
        ordering = Ordering(self.keys, self.limit)
        empty = pa.RecordBatch.from_pylist([], answer.schema)
        kept = [filter_rows(batch, self.where) for batch in answer.to_batches() or [empty]]
        batches = [part for batch in kept for part in ordering.add(batch)]
        batches += ordering.remaining_rows()
        pairs = [(name, name) for name in self.names]
        return [pick_columns(batch, pairs) for batch in batches or [empty]]


def printable(rows: pa.Table) -> pa.Table:
    """The rows with text in the place of values that not every format has, such as intervals.

    Columns of one name have numbers.
    """
    names = list(rows.schema.names)
    for at, name in enumerate(names):
        number = 1
        while names[at] in names[:at]:
            number += 1
            names[at] = f"{name}_{number}"
    rows = rows.rename_columns(names)
    for at, field in enumerate(rows.schema):
        if not _is_plain(field.type):
            values = rows.column(at).to_pylist()
            if pa.types.is_integer(field.type) or (
                pa.types.is_decimal(field.type) and field.type.scale == 0  # a sum of integers
            ):
                values = [None if value is None else int(value) for value in values]
                if all(value is None or -(2**63) <= value < 2**63 for value in values):
                    rows = rows.set_column(at, field.name, pa.array(values, pa.int64()))
                    continue
            texts = [None if value is None else str(value) for value in values]
            rows = rows.set_column(at, field.name, pa.array(texts, pa.string()))
    return rows


def _is_plain(kind: pa.DataType) -> bool:
    """Whether each format has such values."""
    if pa.types.is_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_plain(kind.field(at).type) for at in range(kind.num_fields))
    return any(
        test(kind)
        for test in (
            *(pa.types.is_boolean, pa.types.is_signed_integer, pa.types.is_floating),
            *(pa.types.is_string, pa.types.is_binary, pa.types.is_timestamp),
        )
    )
