"""Where rows go: a table, JSON Lines, CSV or Parquet; the screen, a pipe or a file.

A file appears under its name when it is whole: until then it has another one beside it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from .delimited import Csv
from .errors import UsageError
from .jsonl import lines
from .options import RowOptions, SourceOptions
from .times import Clock
from .uris import readable

__all__ = ["FORMATS", "Output", "Writer", "check_output", "output_format", "refuse_input"]

FORMATS = ("table", "json", "csv", "parquet")
BY_SUFFIX = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".txt": "table",
}

Write = Callable[[pa.RecordBatch], None]


class Writer(Protocol):
    """What shows rows to a person. live: they come one by one, and are seen at once."""

    live: bool

    def write(self, batch: pa.RecordBatch) -> None:
        """Show the rows of a batch."""

    def close(self) -> None:
        """Show what was held back."""


def output_format(options: RowOptions) -> str:
    """What was asked for, or what the name of the output says.

    Raises:
        UsageError: the name has an ending that says nothing.
    """
    if options.format is not None:
        if options.format == "parquet" and options.output in (None, "-") and sys.stdout.isatty():
            raise UsageError("Parquet is not for a terminal: name a file with -o")
        return options.format
    if options.output in (None, "-"):
        return "table"
    suffix = Path(options.output).suffix.lower()
    if not suffix:
        return "table"
    if suffix not in BY_SUFFIX:
        raise UsageError(
            f"{options.output}: the ending says no format ({', '.join(BY_SUFFIX)}):"
            " choose one with --format"
        )
    return BY_SUFFIX[suffix]


def check_output(path: str | None, source: SourceOptions) -> None:
    """Refuse an output that is an input, under whatever name, before anything is read.

    Raises:
        UsageError: it is one.
    """
    if path is not None and path != "-":
        refuse_input("-o", path, source)


def refuse_input(
    option: str,
    path: str | os.PathLike[str],
    source: SourceOptions,
    certificates: Path | None = None,
) -> None:
    """Refuse a file to be written that a command reads. option: the one that names it.

    Raises:
        UsageError: it is one.
    """
    try:
        output = os.stat(path)
    except OSError:
        return  # nothing is there that could be spoiled
    if any(os.path.samestat(output, stat) for stat in _inputs(source, certificates)):
        raise UsageError(f"{option} {path} is a file that this command reads: name another one")


def _inputs(source: SourceOptions, certificates: Path | None) -> Iterator[os.stat_result]:
    """The files of this machine that a command reads: recordings, standard input, secrets."""
    for file in [*map(readable, source.files), source.keylog_path, certificates]:
        with contextlib.suppress(OSError, ValueError):
            if file == "-":
                yield os.fstat(sys.stdin.fileno())
            elif isinstance(file, str | Path):
                yield os.stat(file)


class Output:
    """Where rows go. A file is made when the first of them comes, not for a wrong command."""

    def __init__(
        self,
        path: str | None,
        format_name: str,
        clock: Clock,
        table: Callable[[IO[str]], Writer],
        csv_raw: bool = False,
    ) -> None:
        """path: None or "-" for standard output. format_name: one of FORMATS. table: makes one.

        csv_raw: CSV has text as it is, also what a terminal or a spreadsheet obeys.
        """
        self.csv_raw = csv_raw
        self.path = None if path == "-" else path
        self.format_name = format_name
        self.clock = clock
        self.table = table
        self.stack = contextlib.ExitStack()
        self.target: Write | None = None
        self._flush: Callable[[], None] = sys.stdout.flush

    def __enter__(self) -> Output:
        """Nothing is opened yet."""
        return self

    def __exit__(self, *error: Any) -> None:
        """The file takes its name, unless an exception says that it is not whole."""
        self.stack.__exit__(*error)

    def write(self, batch: pa.RecordBatch, live: bool = False) -> None:
        """Write the rows of a batch, of which there may be none. live: they are seen at once."""
        if self.target is None:
            self.target = self._open(live)
        self.target(batch)
        if live:
            self._flush()

    def _open(self, live: bool) -> Write:
        if self.format_name == "parquet":
            parquet = ParquetFile(self._file("wb") if self.path else sys.stdout.buffer, self.clock)
            self.stack.push(parquet.close)
            return parquet
        text = self._file("w") if self.path else sys.stdout
        self._flush = text.flush
        if self.format_name == "json":
            return lambda batch: text.writelines(f"{line}\n" for line in lines(batch, self.clock))
        if self.format_name == "csv":
            return Csv(text, self.clock, self.csv_raw)
        table = self.table(text)
        table.live = live
        self.stack.callback(table.close)
        return table.write

    def _file(self, mode: str) -> Any:
        assert self.path is not None
        encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
        try:
            # A device or a pipe has no other name: it is written to as it is.
            into = AtomicFile(self.path) if _may_replace(self.path) else None
            name = into.name if into else self.path
            file = open(name, mode, encoding=encoding, newline=newline)  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"{self.path}: {error.strerror}") from None
        if into is not None:
            self.stack.push(into)
        return self.stack.enter_context(file)


def _may_replace(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


class AtomicFile:
    """A file that gets its name when all of it is there."""

    def __init__(self, path: str) -> None:
        """Where it will stand; a link is followed."""
        self.path = os.path.realpath(path)
        folder, base = os.path.split(self.path)
        self.name = os.path.join(folder, f".{base}.{os.getpid()}.part")
        try:
            mode = stat.S_IMODE(os.stat(self.path).st_mode)
        except OSError:
            mode = 0o666
        # What is there already keeps its permissions.
        os.close(os.open(self.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))

    def __enter__(self) -> AtomicFile:
        """It is made already."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Name it, or remove it. What was read before an interrupt is whole."""
        if kind is None or issubclass(kind, KeyboardInterrupt):
            os.replace(self.name, self.path)
        else:
            with contextlib.suppress(OSError):
                os.unlink(self.name)


class ParquetFile:
    """A Parquet file with the schema of its first batch."""

    def __init__(self, out: IO[bytes], clock: Clock) -> None:
        """Nothing is written before the first batch."""
        self.out = out
        self.clock = clock
        self.file: pq.ParquetWriter | None = None

    def __call__(self, batch: pa.RecordBatch) -> None:
        """Write a batch as a row group."""
        if self.clock.mode == "relative":
            batch = self.clock.durations(batch)
        if self.file is None:
            self.file = pq.ParquetWriter(self.out, batch.schema, compression="zstd")
        if batch.num_rows:
            self.file.write_batch(batch)

    def close(self, *_: object) -> None:
        """Write the footer: without it nothing can be read."""
        if self.file is not None:
            self.file.close()
