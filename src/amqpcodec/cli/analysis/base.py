"""The base of analyses of captures: batches of frames in, rows of a declared schema out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa

from ..options import AnalysisOptions
from ..times import Window

__all__ = ["TIME", "Analyzer", "Row", "plain"]

TIME = pa.timestamp("us", "UTC")

#: A row of an answer: a value for each column of SCHEMA, times in µs since 1970.
Row = Sequence[Any]


class Analyzer:
    """Takes batches of capture.read(), and gives rows as soon as they are certain.

    One of it reads one recording; its memory is bounded by what is open in the recording, not by
    how long that is. warnings() reports what it had to skip because of a bound.
    """

    NAME: ClassVar[str]
    HELP: ClassVar[str]
    #: What capture.read() is asked for. "error" and "file" are always there.
    LEVEL: ClassVar[str] = "message"
    FIELDS: ClassVar[tuple[str, ...]]
    #: False: credentials are needed to know the user's name. None of them is ever shown.
    REDACT: ClassVar[bool] = True
    SCHEMA: ClassVar[pa.Schema]
    #: The columns of the table, and styles of values in it.
    TABLE: ClassVar[tuple[str, ...]]
    STYLES: ClassVar[dict[str, str]] = {}
    #: Columns that a narrow terminal does without, in this order.
    OPTIONAL: ClassVar[tuple[str, ...]] = ()
    #: The column that --since looks at; None: the analyzer compares itself.
    SINCE: ClassVar[str | None] = "time"
    #: The order of rows where none is asked for; none: as they come.
    SORT: ClassVar[tuple[str, ...]] = ()
    #: Said in place of an empty table.
    NOTHING: ClassVar[str] = "nothing"

    def __init__(self, window: Window) -> None:
        """window: of time; batches end before its end."""
        self.window = window
        #: (connection, direction, time in ns) of connections that a TCP reset ended: at the end.
        self.resets: list[tuple[int, str, int | None]] = []

    @classmethod
    def from_options(cls, options: AnalysisOptions, window: Window) -> Self:
        """An analyzer as its command asks for it."""
        return cls(window)

    @classmethod
    def table(cls, options: AnalysisOptions) -> tuple[str, ...]:
        """The columns of the table, where none are asked for."""
        return cls.TABLE

    @classmethod
    def sort(cls, options: AnalysisOptions) -> tuple[str, ...]:
        """The order of rows, where none is asked for."""
        return cls.SORT

    def update(self, batch: pa.RecordBatch) -> Iterable[Row]:
        """Look at a batch; the rows that are certain now."""
        raise NotImplementedError

    def finish(self) -> Iterable[Row]:
        """The rows that are certain at the end of the recording."""
        return ()

    def warnings(self) -> Iterator[str]:
        """What has to be said about the answer, on standard error."""
        return iter(())

    def in_window(self, time: int | None) -> bool:
        """Whether a time is not before --since."""
        return self.window.since is None or (time is not None and time >= self.window.since)


def plain(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch; times are µs since 1970."""
    columns = []
    for column in batch.columns:
        kind = column.type
        if pa.types.is_timestamp(kind):
            column = column.cast(TIME).cast(pa.int64())
        columns.append(column.to_pylist())
    return zip(*columns, strict=True)
