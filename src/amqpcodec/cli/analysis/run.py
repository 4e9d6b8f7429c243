"""Runs an analyzer: reads the captures, shows the rows, reports what was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

import pyarrow as pa

from ..errors import USAGE, print_error
from ..groups import Group
from ..live import Cancelled
from ..naming import ALIASES, no_column, pick_columns, split
from ..options import AnalysisOptions
from ..ordering import Ordering, sort_keys
from ..output import Output, check_output, output_format
from ..progress import Progress
from ..selection import filter_rows, parse_where
from ..sources import Reading
from ..table import Table
from ..times import Clock, Window
from ..where import Expression
from .base import Analyzer, Row

__all__ = ["Answer", "run_analyzer", "schema_of"]

#: Rows of an answer that are made into a batch at once.
ROWS = 4096


def schema_of(analyzer_class: type[Analyzer]) -> pa.Schema:
    """The columns of an answer, the file's name last."""
    return analyzer_class.SCHEMA.append(pa.field("file", pa.string()))


class Answer:
    """Which rows and columns of an answer are shown."""

    def __init__(
        self, analyzer_class: type[Analyzer], options: AnalysisOptions, table: bool
    ) -> None:
        """table: the columns of the table, where none are asked for.

        Raises:
            UsageError: a name is no column of this answer.
        """
        self.schema = schema_of(analyzer_class)
        self.keys = sort_keys(options.rows.sort or list(analyzer_class.sort(options)))
        self.where: Expression | None = parse_where(options.rows.where, {})
        for option, names in (
            ("--fields", options.rows.fields or ()),
            ("--where", self.where.names() if self.where else ()),
            ("--sort", [name for name, _ in self.keys]),
        ):
            for name in names:
                self._check_column(name, option)
        if self.where is not None:
            self.where = self.where.renamed({n: self._column(n) for n in self.where.names()})
        self.keys = [(self._column(name), order) for name, order in self.keys]
        self.names = options.rows.fields or (
            list(analyzer_class.table(options)) if table else self.schema.names
        )

    def _column(self, name: str) -> str:
        """A column's name, for itself or for another word for it."""
        if name in self.schema.names:
            return name
        others = [short for short, long in ALIASES.items() if long == name]
        return next((short for short in others if short in self.schema.names), name)

    def _check_column(self, name: str, option: str) -> None:
        if self._column(name) not in self.schema.names and not split(name, self.schema.names):
            raise no_column(name, self.schema.names, option)

    def batch(self, rows: Iterable[Row], file: str) -> pa.RecordBatch:
        """The rows that fit, of a file or group."""
        columns = list(zip(*rows, strict=True)) or [()] * (len(self.schema) - 1)
        # Arrow has no text that is not UTF-8, as names of files may be.
        columns.append((file.encode("utf-8", "backslashreplace").decode(),) * len(columns[0]))
        arrays = [
            pa.array(values, field.type) for values, field in zip(columns, self.schema, strict=True)
        ]
        return filter_rows(pa.RecordBatch.from_arrays(arrays, schema=self.schema), self.where)

    def shown_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns that are shown."""
        return pick_columns(batch, [(name, self._column(name)) for name in self.names])


def run_analyzer(analyzer_class: type[Analyzer], options: AnalysisOptions) -> int:
    """Read every file, and write the answer."""
    shown = options.rows
    check_output(shown.output, options.source)
    format_name = output_format(shown)
    answer = Answer(analyzer_class, options, format_name == "table")
    clock = Clock(options.clock)
    ordering = Ordering(answer.keys, shown.limit)

    def table(out: IO[str]) -> Table:
        optional = analyzer_class.OPTIONAL if shown.fields is None else ()
        return Table(out, clock, wrap=True, styles=analyzer_class.STYLES, optional=optional)

    with (
        Cancelled() as stop,
        Output(shown.output, format_name, clock, table, shown.csv_raw) as output,
        Progress(shown.output) as bar,
    ):
        reading = Reading(options.source, bar, stop, interface=options.interface)
        if format_name == "table" and shown.fields is None and len(reading.all_groups) > 1:
            answer.names = ["file", *answer.names]

        def rows(group: Group) -> Iterator[pa.RecordBatch]:
            return _answer_batches(analyzer_class, options, reading, group, answer, clock)

        def write(batch: pa.RecordBatch, at_once: bool) -> None:
            output.write(answer.shown_columns(batch), at_once)

        reading.show(rows, ordering, write)
        if output.target is None and reading.status != USAGE:
            output.write(answer.shown_columns(answer.batch([], "")))
            if format_name == "table" and reading.rows:
                print_error(analyzer_class.NOTHING)
        return reading.interrupted()


def _answer_batches(
    analyzer_class: type[Analyzer],
    options: AnalysisOptions,
    reading: Reading,
    group: Group,
    answer: Answer,
    clock: Clock,
) -> Iterator[pa.RecordBatch]:
    """The answer about a group, batch by batch."""
    window = Window(options.time.since, options.time.until, clock)
    analyzer = analyzer_class.from_options(options, window)

    def batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        answer_rows = list(rows)
        for at in range(0, len(answer_rows), ROWS):
            batch = answer.batch(answer_rows[at : at + ROWS], str(group))
            if analyzer.SINCE is not None:
                batch = window.after_start(batch, analyzer.SINCE)
            yield batch

    fields = [*dict.fromkeys([*analyzer.FIELDS, "timestamp", "error", "file"])]
    for batch in reading.batches(group, analyzer.LEVEL, fields, analyzer.REDACT):
        window.begin(batch.column("timestamp"))
        yield from batches(analyzer.update(window.before_end(batch)))
    analyzer.resets = reading.resets
    yield from batches(analyzer.finish())
    for warning in analyzer.warnings():
        print_error(f"{group}: {warning}")
