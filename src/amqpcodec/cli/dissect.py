"""``amqpcodec dissect``: rows of captures to a table, JSON Lines or Parquet."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from .. import capture
from . import BAD_DATA, OK, USAGE, Problem, complain, where
from .groups import Group, grouped
from .jsonl import lines
from .progress import Progress
from .table import DEFAULT_FIELDS, V1_FIELDS, Table

__all__ = ["dissect"]

BY_SUFFIX = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
#: Columns that have parts: what follows the first dot is looked for here.
COMPOUND = (
    *("arguments", "properties", "properties_json", "header", "application_properties"),
    *("message_annotations", "delivery_annotations", "footer", "value"),
)


class Selection:
    """The columns to read, the rows to keep, and the columns to show."""

    def __init__(self, shown: list[str] | None, expression: str | None, is_v1: bool) -> None:
        """shown: None for all. is_v1: the columns are those of 1.0."""
        try:
            self.where = where.parse(expression) if expression is not None else None
        except where.WhereError as error:
            raise Problem(str(error)) from None
        if self.where is not None:
            # Two words for one column: each protocol has its own.
            names = {"method": "performative"} if is_v1 else {"performative": "method"}
            self.where = self.where.renamed(names)
        self.shown = shown
        self.read: list[str] | None = None
        if shown is not None:
            looked_at = {_column(name) for name in self.where.names()} if self.where else set()
            # The error is always looked for: it decides the exit status.
            needed = {*looked_at, "error", "file"} - set(shown)
            self.read = [*shown, *sorted(needed)]

    def fitting(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that fit."""
        if self.where is not None:
            try:
                batch = batch.filter(self.where.fits(batch))
            except where.WhereError as error:
                raise Problem(str(error)) from None
        return batch

    def chosen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns asked for."""
        return batch if self.shown is None else batch.select(self.shown)


def _column(name: str) -> str:
    """The column that has to be read for a name of an expression."""
    first, dot, _ = name.partition(".")
    if first == "headers" and dot:
        return "properties"
    return first if dot and first in COMPOUND else name


def dissect(options: argparse.Namespace) -> int:
    """Read every file, write what was asked for, and say on stderr what was wrong."""
    chosen = output_format(options)
    summary = chosen == "table" and options.fields is None
    is_v1 = options.protocol == "1.0"
    default = V1_FIELDS if is_v1 else DEFAULT_FIELDS
    shown = default[options.level] if summary else options.fields
    selection = Selection(shown, options.where, is_v1)
    check_output(options, chosen)
    status = OK
    with (
        contextlib.closing(Output(options, chosen, summary)) as output,
        Progress(options.output) as bar,
    ):
        for group in grouped(options.files, options.chain):
            counts = Counts()
            try:
                for batch in read(options, group, bar, selection, counts):
                    rows = selection.fitting(batch)
                    counts.shown += rows.num_rows
                    output.write(selection.chosen(rows), rows.column("file"))
            except Unreadable as fault:
                place = "" if str(group) in str(fault) else f"{group}: "
                complain(f"{place}{fault}")
                status = max(status, fault.status)
            else:
                if counts.errors and group.status != BAD_DATA:
                    complain(f"{group}: {counts}")
            status = max(status, group.status, BAD_DATA if counts.errors else OK)
        if output.target is None and status != USAGE:
            # No rows at all: what is written has its columns, for those who read it.
            told = pa.schema(capture.schema(options.level, selection.read, options.protocol))
            rows = selection.fitting(pa.RecordBatch.from_pylist([], told))
            output.write(selection.chosen(rows), rows.column("file"))
    return status


class Unreadable(Exception):
    """A file cannot be read at all, or not to its end."""

    def __init__(self, text: str, status: int) -> None:
        """status: of the exit."""
        super().__init__(text)
        self.status = status


class Counts:
    """Rows of a file: read, with an error, shown."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.read = self.errors = self.shown = 0

    def __str__(self) -> str:
        wrong = f"{self.errors} with an error" if self.errors else "none with an error"
        return f"{self.read} rows, {wrong}, {self.shown} shown"


def read(
    options: argparse.Namespace, group: Group, bar: Progress, selection: Selection, counts: Counts
) -> Iterator[pa.RecordBatch]:
    """The batches of a file, or of those that are one recording.

    Raises:
        Unreadable: with what is wrong; what came before it was yielded.
        Problem: a name is no column: the user's mistake.
    """

    def make(sources: Any) -> capture.Reader:
        return capture.read(
            sources,
            level=options.level,
            fields=selection.read,
            ports=options.ports,
            protocol=options.protocol,
            redact=not options.show_secrets,
        )

    try:
        reader = group.opened(make, bar.watch)
        if reader is None:
            return
        for each in reader:
            batch = pa.record_batch(each)
            counts.read += batch.num_rows
            counts.errors += batch.num_rows - batch.column("error").null_count
            yield batch
    except capture.CaptureError as error:
        raise Unreadable(str(error), BAD_DATA if counts.read else USAGE) from None
    except OSError as error:
        raise Unreadable(error.strerror or str(error), USAGE) from None
    except ValueError as error:
        raise Problem(str(error)) from None
    group.warn(reader, str(counts) if counts.read else "")


# --- where it goes --------------------------------------------------------------------------------


def output_format(options: argparse.Namespace) -> str:
    """What was asked for, or what the name of the output says."""
    if options.format is None:
        suffix = Path(options.output).suffix.lower() if options.output else ""
        return BY_SUFFIX.get(suffix, "table")
    return str(options.format)


def check_output(options: argparse.Namespace, chosen: str) -> None:
    """Refuse what would spoil a recording or a terminal, before anything is read."""
    if options.output in (None, "-"):
        if chosen == "parquet" and sys.stdout.isatty():
            raise Problem("Parquet is not for a terminal: name a file with -o")
        return
    with contextlib.suppress(OSError):
        for file in options.files:
            if os.path.samefile(file, options.output):
                raise Problem(f"{options.output} is read, and cannot be written too")


class Output:
    """Where rows go. A file is made when the first of them comes, not for a wrong command."""

    def __init__(self, options: argparse.Namespace, chosen: str, summary: bool) -> None:
        """summary: the table's default columns."""
        self.options = options
        self.chosen = chosen
        self.summary = summary
        self.stack = contextlib.ExitStack()
        self.target: Callable[[pa.RecordBatch, pa.Array], None] | None = None

    def write(self, batch: pa.RecordBatch, files: pa.Array) -> None:
        """Write the rows of a batch, of which there may be none. files: where each is from."""
        if self.target is None:
            self.target = self._open()
        self.target(batch, files)

    def _open(self) -> Callable[[pa.RecordBatch, pa.Array], None]:
        path = None if self.options.output == "-" else self.options.output
        if self.chosen == "parquet":
            binary = self._file(path, "wb") if path else sys.stdout.buffer
            return self.stack.enter_context(contextlib.closing(ParquetFile(binary)))
        text = self._file(path, "w") if path else sys.stdout
        if self.chosen == "json":
            return lambda batch, _: text.writelines(f"{line}\n" for line in lines(batch))
        return Table(text, self.options.level, self.summary, len(self.options.files) > 1).write

    def _file(self, path: str, mode: str) -> Any:
        encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
        try:
            file = open(path, mode, encoding=encoding, newline=newline)  # noqa: SIM115
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}") from None
        return self.stack.enter_context(file)

    def close(self) -> None:
        """All of it is in the file now, also after an error."""
        self.stack.close()


class ParquetFile:
    """A Parquet file with the schema of its first batch."""

    def __init__(self, out: BinaryIO) -> None:
        """Nothing is written before the first batch."""
        self.out = out
        self.file: pq.ParquetWriter | None = None

    def __call__(self, batch: pa.RecordBatch, _: pa.Array) -> None:
        """Write a batch as a row group."""
        if self.file is None:
            self.file = pq.ParquetWriter(self.out, batch.schema, compression="zstd")
        if batch.num_rows:
            self.file.write_batch(batch)

    def close(self) -> None:
        """Write the footer: without it nothing can be read."""
        if self.file is not None:
            self.file.close()
