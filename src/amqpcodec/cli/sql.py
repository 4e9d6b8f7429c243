"""``amqpcodec sql``: a query of the user's own over the events of captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

import pyarrow as pa

from .. import capture
from .errors import USAGE, UsageError
from .live import Cancelled
from .options import QueryOptions, SqlOptions
from .output import Output, Writer, check_output, output_format
from .progress import Progress
from .sources import Reading
from .table import Table
from .times import Clock

try:
    import duckdb

    from ..analysis import _duckdb as engine
except ImportError:
    raise UsageError('duckdb is needed: pip install "amqpcodec[cli]"') from None

__all__ = ["sql", "write_answer"]


def sql(options: SqlOptions) -> int:
    """Read the events of every file once, run the query, and write its rows."""

    def table(out: IO[str]) -> Table:
        return Table(out, Clock(options.clock), wrap=True)

    return write_answer(options, options.query, engine.columns_of(options.query), table)


def write_answer(
    options: QueryOptions,
    query: str,
    columns: list[str] | None,
    table: Callable[[IO[str]], Writer],
) -> int:
    """Write the rows of a query over the events of every file; the exit status.

    columns: of events that it uses; None: all. table: what writes rows that people read.
    """
    shown = options.rows
    check_output(shown.output, options.source)
    format_name = output_format(shown)
    if columns is not None and "event" not in columns:
        columns.append("event")  # which tells damage
    schema = pa.schema(capture.schema("event", columns))
    answer(query, iter(()), schema)  # what is wrong with the query is said at once
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

        rows = printable(answer(query, batches(), schema))
        reading.counts.shown = rows.num_rows
        if reading.rows or reading.status != USAGE:
            empty = pa.RecordBatch.from_pylist([], rows.schema)
            for batch in rows.to_batches() or [empty]:
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
