"""Captures to batches, group by group, with what is wrong with them said on standard error."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from .. import capture
from . import BAD_DATA, OK, USAGE, Problem, complain
from .groups import Group, grouped
from .progress import Progress

__all__ = ["Counts", "Reading", "Unreadable"]


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


class Reading:
    """All that is named on the command line, read group by group; ``status`` is that of the exit.

    ::

        for group in reading.groups():
            for batch in reading.batches(group, "frame", fields): ...
    """

    def __init__(self, options: argparse.Namespace, bar: Progress) -> None:
        """Nothing is opened yet."""
        self.options = options
        self.bar = bar
        self.status = OK
        self.counts = Counts()
        self.found = list(grouped(options.files, options.chain))

    def batches(
        self, group: Group, level: str, fields: list[str] | None, redact: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a group. What is wrong is said, and remembered in ``status``.

        fields: with "error" among them. redact: False shows credentials to the caller.
        """
        counts = self.counts = Counts()
        try:
            for each in self._read(group, level, fields, redact):
                batch = pa.record_batch(each)
                counts.read += batch.num_rows
                counts.errors += batch.num_rows - batch.column("error").null_count
                yield batch
        except Unreadable as fault:
            place = "" if str(group) in str(fault) else f"{group}: "
            complain(f"{place}{fault}")
            self.status = max(self.status, fault.status)
        else:
            if counts.errors and group.status != BAD_DATA:
                complain(f"{group}: {counts}")
        self.status = max(self.status, group.status, BAD_DATA if counts.errors else OK)

    def _read(
        self, group: Group, level: str, fields: list[str] | None, redact: bool
    ) -> Iterator[capture.Batch]:
        """Raises Unreadable with what is wrong, or Problem for what the user got wrong."""
        options = self.options

        def make(sources: Any) -> capture.Reader:
            return capture.read(
                sources,
                level=level,
                fields=fields,
                ports=options.ports,
                protocol=options.protocol,
                redact=redact and not options.show_secrets,
            )

        try:
            reader = group.opened(make, self.bar.watch)
            if reader is None:
                return
            yield from reader
        except capture.CaptureError as error:
            raise Unreadable(str(error), BAD_DATA if self.counts.read else USAGE) from None
        except OSError as error:
            raise Unreadable(error.strerror or str(error), USAGE) from None
        except ValueError as error:
            raise Problem(str(error)) from None
        group.warn(reader, str(self.counts) if self.counts.read else "")
