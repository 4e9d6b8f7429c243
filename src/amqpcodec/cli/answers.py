"""Answers of SQL over events: read, computed, and written in the form that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from ..analysis._consumers import NEEDED as FOR_CONSUMERS
from ..capture._notices import counted_noun
from .errors import USAGE, UsageError, print_error
from .groups import Group
from .live import Cancelled, is_live
from .naming import mark_json
from .options import QueryOptions, WindowOptions
from .output import Output, Writer, check_output, output_format
from .progress import Progress
from .queries import Chosen, Query
from .recent import Recent
from .screen import Screen
from .sources import Reading
from .times import Clock, Window

__all__ = ["write_answer"]


def write_answer(
    options: QueryOptions,
    text: str,
    columns: Sequence[str] | None,
    table: Callable[[IO[str], Clock], Writer],
    names: Sequence[str] = (),
    nothing: str = "",
    apart: bool = True,
) -> int:
    """Write the rows of a query over the events of every file; the exit status.

    Args:
        options: of the command.
        text: the query.
        columns: of events that it uses; None: all.
        table: what writes rows that people read.
        names: the columns that it is given, where the options ask for none.
        nothing: the message on standard error for an answer without rows.
        apart: files that are read separately have an answer each, and a column with their names.
    """
    shown = options.rows
    check_output(shown.output, options.source)
    format_name = output_format(shown)
    in_part = options.time.is_part
    live = (
        options.interface is not None
        or options.growing
        or any(is_live(str(file)) for file in options.source.files)
    )
    if live and in_part:
        raise UsageError("--since and --until are for recordings that have ended: use --window")
    if options.window is not None and not live:
        raise UsageError("--window is for what is being recorded: use --since and --until")
    query = Query(
        text,
        columns,
        in_part=in_part or live or options.clock == "relative",
        more=FOR_CONSUMERS if options.consumers else (),
    )
    clock = Clock(options.clock)

    def writer(out: IO[str]) -> Writer:
        return table(out, clock)

    with (
        Cancelled() as stop,
        Output(shown.output, format_name, clock, writer, shown.csv_raw) as output,
        Progress(shown.output) as bar,
    ):
        reading = Reading(
            options.source, bar, stop, interface=options.interface, follow=options.growing
        )
        if in_part or options.clock == "relative":
            reading.clock = clock
        several = apart and len(reading.all_groups) > 1
        # A wrong query, or a wrong name of a column, is an error before any file is read.
        empty = query.run(iter(()))
        if several:
            empty = _of_file(empty, "")
            names = ["file", *names] if names else names
        schema = mark_json(empty.schema) if apart else empty.schema
        chosen = Chosen(schema, shown, names if format_name == "table" else ())
        answers = []
        span = Span(clock, options.time)
        for groups in _gathered(reading, apart):
            window = Window(options.time.since, options.time.until, clock)
            events = _events(query, reading, groups, window, span)
            if options.consumers:
                events = options.consumers.fill_all(events)
            if live:
                answer = _follow(options, query, chosen, reading, events, writer)
            else:
                answer = query.run(events, window if in_part else None)
            answers.append(_of_file(answer, ", ".join(map(str, groups))) if several else answer)
            if stop.pressed:
                break
        answer = pa.concat_tables(answers or [empty], promote_options="permissive").cast(schema)
        batches = chosen.rows(answer)
        reading.counts.shown = sum(batch.num_rows for batch in batches)
        if reading.rows or reading.status != USAGE:
            for batch in batches:
                output.write(batch)
            if nothing and format_name == "table" and not reading.counts.shown and reading.rows:
                print_error(_why_nothing(answer, span, nothing))
        return reading.interrupted()


def _gathered(reading: Reading, apart: bool) -> Iterator[Iterable[Group]]:
    """The groups that have an answer together."""
    if not apart:
        yield reading.groups()
        return
    for group in reading.groups():
        yield [group]


class Span:
    """From when to when a part of a recording is, and whether something of it is missing."""

    def __init__(self, clock: Clock, asked: WindowOptions) -> None:
        """Nothing was read yet."""
        self.clock = clock
        self.is_part = asked.is_part
        self.first: datetime | None = None
        self.last: datetime | None = None
        #: Whether something before or in the recording is missing.
        self.is_incomplete = False

    def look(self, batch: pa.RecordBatch) -> None:
        """Look for events that say that the recording is not all that happened."""
        if {"event", "certainty"} <= set(batch.schema.names):
            event, certainty = batch.column("event"), batch.column("certainty")
            began = pc.and_(pc.equal(event, "connection-opened"), pc.not_equal(certainty, "exact"))
            damage = pc.is_in(event, pa.array(["gap", "protocol-error"]))
            unknown = pc.equal(certainty, "unknown")
            missing = pc.or_kleene(pc.or_kleene(began, damage), unknown)
            self.is_incomplete = self.is_incomplete or bool(pc.any(missing).as_py())

    def add(self, times: pa.Array) -> None:
        """Look at the times of a batch; only its first and last one matter."""
        known = times.drop_null()
        if self.is_part and len(known):
            first, last = pc.min(known), pc.max(known)
            self.first = first.as_py() if self.first is None else min(self.first, first.as_py())
            self.last = last.as_py() if self.last is None else max(self.last, last.as_py())

    def __str__(self) -> str:
        """Such as "from 13:34:06 to 13:34:10"."""
        if self.first is None:
            return "without a time"
        first, last = self.clock.texts(pa.array([self.first, self.last], pa.timestamp("us", "UTC")))
        return f"from {first} to {last}"


def _why_nothing(answer: pa.Table, span: Span, nothing: str) -> str:
    """Why no row is shown. nothing: what it means that the answer has none."""
    if answer.num_rows:
        return f"--where and --limit leave none of {counted_noun(answer.num_rows, 'row')}"
    if span.is_part:
        return f"nothing is in this part of the recording, which is {span}"
    return f"in what could be read: {nothing}" if span.is_incomplete else nothing


def _events(
    query: Query, reading: Reading, groups: Iterable[Group], window: Window, span: Span
) -> Iterator[pa.RecordBatch]:
    """The events of groups; the first of them begin the window and the clock."""
    for group in groups:
        for batch in reading.batches(group, "event", query.columns):
            span.look(batch)
            if "timestamp" in batch.schema.names:
                window.begin(batch.column("timestamp"))
                span.add(batch.column("timestamp"))
            yield batch
            if reading.stop.pressed and not reading.live:  # a live one has an end of its own
                return


def _follow(
    options: QueryOptions,
    query: Query,
    chosen: Chosen,
    reading: Reading,
    events: Iterator[pa.RecordBatch],
    writer: Callable[[IO[str]], Writer],
) -> pa.Table:
    """The answer about a recording that is being made, when it ends; on a terminal, until then."""
    recent = Recent(query, options.window)
    if sys.stdout.isatty() and options.rows.output is None:
        Screen(chosen, reading, writer, recent).take(events)
    else:
        for batch in events:
            recent.add(batch)
    if recent.since is not None:
        print_error(f"the answer is about {recent.extent}, and what was open before them")
    return recent.answer(None)


def _of_file(answer: pa.Table, file: str) -> pa.Table:
    """The answer with a column that names its file."""
    # Arrow has no text that is not UTF-8, as names of files may be.
    name = pa.scalar(file.encode("utf-8", "backslashreplace").decode())
    if "file" in answer.schema.names:
        return answer
    return answer.append_column("file", pa.repeat(name, answer.num_rows))
