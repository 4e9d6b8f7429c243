"""``amqpcodec sql``: a query over the events of captures; what all commands that run SQL share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO

import pyarrow as pa

from .. import capture
from .errors import USAGE, UsageError
from .live import Cancelled
from .naming import no_column, pick_columns, split
from .options import QueryOptions, RowOptions, SqlOptions
from .ordering import Ordering, sort_keys
from .output import Output, Writer, check_output, output_format
from .progress import Progress
from .selection import filter_rows, parse_where
from .sources import Reading
from .table import Table
from .times import Clock

try:
    import duckdb

    from ..analysis import _duckdb as engine
    from ..analysis._questions import Question
except ImportError:
    raise UsageError('duckdb is needed: pip install "amqpcodec[cli]"') from None

__all__ = ["schema_of_answer", "sql", "write_answer"]


def sql(options: SqlOptions) -> int:
    """Read the events of every file once, run the query, and write its rows."""

    def table(out: IO[str]) -> Table:
        return Table(out, Clock(options.clock), wrap=True)

    return write_answer(options, options.query, engine.columns_of(options.query), table)


def schema_of_answer(question: Question) -> pa.Schema:
    """The columns of a question's rows."""
    columns = pa.schema(capture.schema("event", list(question.columns)))
    return printable(answer(question.query, iter(()), columns)).schema


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


def write_answer(
    options: QueryOptions,
    query: str,
    columns: list[str] | None,
    table: Callable[[IO[str]], Writer],
    names: Sequence[str] = (),
) -> int:
    """Write the rows of a query over the events of every file; the exit status.

    columns: of events that it uses; None: all. table: what writes rows that people read.
    names: the columns that it is given, where the options ask for none.
    """
    shown = options.rows
    check_output(shown.output, options.source)
    format_name = output_format(shown)
    if columns is not None and "event" not in columns:
        columns.append("event")  # which tells damage
    schema = pa.schema(capture.schema("event", columns))
    # What is wrong with the query, or with names, is said at once.
    nothing = printable(answer(query, iter(()), schema))
    chosen = Chosen(nothing.schema, shown, names if format_name == "table" else ())
    with (
        Cancelled() as stop,
        Output(shown.output, format_name, Clock(options.clock), table, shown.csv_raw) as output,
        Progress(shown.output) as bar,
    ):
        reading = Reading(options.source, bar, stop)

        def batches() -> Iterator[pa.RecordBatch]:
            for group in reading.groups():
                yield from reading.batches(group, "event", columns)
                if stop.pressed:
                    return

        shown_batches = chosen.rows(printable(answer(query, batches(), schema)))
        reading.counts.shown = sum(batch.num_rows for batch in shown_batches)
        if reading.rows or reading.status != USAGE:
            for batch in shown_batches:
                output.write(batch)
        return reading.interrupted()


def answer(query: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of a query over events.

    Raises:
        UsageError: DuckDB refuses the query.
    """
    try:
        return engine.run(query, batches, schema)
    except (duckdb.Error, ValueError) as error:
        raise UsageError(f"sql: {error}") from None


def printable(rows: pa.Table) -> pa.Table:
    """The rows with text in the place of values that not every format has, such as intervals."""
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
