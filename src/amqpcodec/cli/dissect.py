"""``amqpcodec dissect``: rows of captures to a table, JSON Lines, CSV or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO

import pyarrow as pa

from .. import capture
from ..capture._notices import counted_noun
from .errors import USAGE, print_error
from .groups import Group
from .live import Cancelled
from .options import DissectOptions
from .ordering import Ordering, sort_keys
from .output import Output, check_output, output_format
from .progress import Progress
from .selection import Selection
from .sources import Reading
from .summary import DEFAULT, OPTIONAL
from .table import Table, narrow_terminal
from .times import Clock, Window
from .traces import are_traces, dissect_traces

__all__ = ["dissect"]

#: That details take on a narrow terminal, at most.
LINES = 3


def dissect(options: DissectOptions) -> int:
    """Read every file, write what was asked for, and say on stderr what was wrong."""
    source, shown = options.source, options.rows
    check_output(shown.output, source)
    grows = options.follow or options.interface is not None
    if options.level != "event" and not grows and are_traces(source):
        return dissect_traces(options)
    format_name = output_format(shown)
    clock = Clock(options.clock)
    keys = sort_keys(shown.sort)
    summary = format_name == "table" and shown.fields is None
    names, routing = shown.fields, False
    if summary:
        routing = shown.output in (None, "-") and narrow_terminal(sys.stdout)
        names = usual(options.level, source.protocol, routing)
    window = Window(options.time.since, options.time.until, clock)
    sort = [name for name, _ in keys]
    selection = Selection(options.level, source.protocol, names, shown.where, sort, window)
    selection.routing = routing
    if format_name == "table" and names and len(source.files) > 1 and "file" not in names:
        selection.shown = names = ["file", *names]
    ordering = Ordering(keys, shown.limit)

    def table(out: IO[str]) -> Table:
        lines = LINES if narrow_terminal(out) else 1
        optional = OPTIONAL.get(options.level, ()) if summary else ()
        return Table(out, clock, lines=lines, optional=optional)

    with (
        Cancelled() as stop,
        Output(shown.output, format_name, clock, table, shown.csv_raw) as output,
        Progress(shown.output) as bar,
    ):
        reading = Reading(
            source,
            bar,
            stop,
            interface=options.interface,
            follow=options.follow,
            workers=options.workers,
        )
        if options.time.is_part or options.clock == "relative":
            reading.clock = clock

        def rows(group: Group) -> Iterator[pa.RecordBatch]:
            if selection.needs_names:
                selection.connection_names = reading.connection_names(group)
            for batch in reading.batches(group, options.level, selection.fields):
                yield selection.matching_rows(selection.complete(batch))

        written = 0

        def write(batch: pa.RecordBatch, at_once: bool) -> None:
            nonlocal written
            written += batch.num_rows
            output.write(selection.shown_columns(batch, names), at_once)

        reading.show(rows, ordering, write)
        if (
            format_name == "table"
            and reading.rows
            and not written
            and shown.limit != 0
            and not stop.pressed
        ):
            rows_read = counted_noun(reading.rows, "row")
            print_error(f"none of {rows_read} is shown: --where or the time leaves none")
        if output.target is None and reading.status != USAGE:
            # No rows at all: what is written has its columns, for those who read it.
            schema = pa.schema(capture.schema(options.level, selection.fields, source.protocol))
            empty = selection.complete(pa.RecordBatch.from_pylist([], schema))
            output.write(selection.shown_columns(selection.matching_rows(empty), names))
        return reading.interrupted()


def usual(level: str, protocol: str | None, narrow: bool) -> list[str]:
    """The columns of the table where none are asked for. narrow: the terminal has few columns."""
    names = DEFAULT[level]
    if level == "message" and (narrow or protocol == "1.0"):
        names = [name for name in names if name not in ("exchange", "routing_key")]
    if protocol == "1.0":
        names = ["performative" if name == "method" else name for name in names]
    return names
