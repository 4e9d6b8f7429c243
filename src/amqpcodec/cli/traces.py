"""``amqpcodec dissect`` of RabbitMQ's traces: the messages they tell of, in the same forms."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from .. import capture, traces
from ..capture._limits import Unpacking
from ..capture._notices import counted_noun
from ..traces._read import respell_limits_of_errors
from .errors import BAD_DATA, OK, USAGE, UsageError, print_error
from .groups import limits, typed_limit
from .live import is_live
from .options import DissectOptions, SourceOptions
from .ordering import Ordering, sort_keys
from .output import Output, output_format
from .selection import filter_rows, parse_where
from .table import Table
from .times import Clock, Window
from .uris import Uri, readable

__all__ = ["UNTOLD", "are_traces", "dissect_traces", "events_of_traces", "trace_hint"]

#: What a trace does not say.
UNTOLD = (
    "a trace has no settlements, confirms or ends of connections: what depends on them is not known"
)

#: The columns of the table.
SHOWN = ["timestamp", "direction", "exchange", "routing_key", "queue", "body", "error"]


def are_traces(source: SourceOptions) -> bool:
    """Whether the files are traces, by their first bytes.

    Raises:
        UsageError: some are, and others are not.
    """
    if any(is_live(str(file)) for file in source.files):
        return False
    try:
        return bool(source.files) and traces.are_traces(map(readable, source.files))
    except ValueError as error:
        raise UsageError(str(error)) from None


def trace_hint(files: Iterable[Path | Uri]) -> str:
    """What to add where a command refuses files that are no captures; "" where they are no traces.

    That is for commands that need packets or frames.
    """
    try:
        is_trace = traces.are_traces(map(readable, files))
    except (ValueError, OSError):
        return ""
    return "; dissect, diagnose, messages, queues and top read this trace of RabbitMQ" * is_trace


def dissect_traces(options: DissectOptions) -> int:
    """Write the rows of every trace; the exit status."""
    shown = options.rows
    clock = Clock(options.clock)
    format_name = output_format(shown)
    keys = sort_keys(shown.sort)
    names = shown.fields or (SHOWN if format_name == "table" else traces.schema().names)
    for name in [*names, *(key for key, _ in keys)]:
        if name not in traces.schema().names:
            raise UsageError(
                f"a trace has no column {name!r}, only {', '.join(traces.schema().names)}"
            )
    predicate = parse_where(shown.where, {})
    window = Window(options.time.since, options.time.until, clock)
    ordering = Ordering(keys, shown.limit)
    status = OK
    with Output(
        shown.output, format_name, clock, lambda out: Table(out, clock), shown.csv_raw
    ) as output:
        for file in options.source.files:
            errors = 0
            try:
                for batch in _batches(readable(file), options.source):
                    errors += batch.num_rows - batch.column("error").null_count
                    window.begin(batch.column("timestamp"))
                    for rows in ordering.add(filter_rows(window.rows(batch), predicate)):
                        output.write(rows.select(names))
                    if ordering.is_complete:
                        print_error(
                            f"{file}: not read to the end (--limit {shown.limit} was reached)"
                        )
                        break
            except OSError as error:
                print_error(f"{file}: {error.strerror or error}")
                status = USAGE
            if errors:
                print_error(f"{file}: {counted_noun(errors, 'record')} with an error")
                status = max(status, BAD_DATA)
        for rows in ordering.remaining_rows():
            output.write(rows.select(names))
        if output.target is None and status != USAGE:
            output.write(pa.RecordBatch.from_pylist([], traces.schema()).select(names))
    return status


def events_of_traces(
    files: Iterable[Path | Uri], source: SourceOptions, fields: list[str] | None
) -> Iterator[pa.RecordBatch]:
    """The events of traces, one after the other."""
    for file in files:
        yield from _batches(readable(file), source, "event", fields)


def _batches(
    file: str | os.PathLike[str],
    source: SourceOptions,
    level: str = "message",
    fields: list[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    # It is said by the row at the end.
    warnings.simplefilter("ignore", capture.CaptureWarning)
    column = "reason" if level == "event" else "error"
    try:
        for batch in traces.read(file, fields, level=level, **limits(source, Unpacking)):
            yield respell_limits_of_errors(batch, typed_limit, column)
    except ValueError as error:
        raise UsageError(str(error)) from None
