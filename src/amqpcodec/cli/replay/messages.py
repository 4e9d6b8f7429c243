"""The messages of a replay: publications of captures, or rows of a Parquet table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ... import DecodeError, batch, v0_9_1
from ..errors import UsageError, print_error
from ..live import Cancelled
from ..options import ReplayOptions
from ..progress import Progress
from ..selection import Selection, filter_rows, parse_where
from ..sources import Reading
from ..times import Clock, Window
from ..uris import Uri
from .declarations import DECLARING_COLUMNS

__all__ = ["Message", "Messages", "is_table"]

CAPTURE_FIELDS = [
    *("direction", "method", "exchange", "routing_key", "frame", "error", "timestamp", "dst"),
]

#: Columns of a table that say what a message is; the rest is of where it came from.
TABLE_FIELDS = ("exchange", "routing_key", "properties", "properties_json", "body", "arguments")
ROWS = 1024


@dataclass(frozen=True, slots=True)
class Message:
    """A publication. number: its place among all that were selected, from 0 on.

    timestamp: µs since 1970 at which it was recorded, or None. broker: "addr:port" of the broker
    that it was recorded on its way to, or None.
    """

    number: int
    exchange: str
    routing_key: str
    properties: Any
    body: Any
    timestamp: int | None
    broker: str | None


def is_table(path: Path | Uri) -> bool:
    """Whether it is a Parquet file, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


class Messages:
    """All of them, in order. ``damaged`` counts rows that cannot be replayed."""

    def __init__(
        self,
        options: ReplayOptions,
        bar: Progress,
        stop: Cancelled,
        observe: Callable[[pa.RecordBatch], None] | None = None,
    ) -> None:
        """observe: is called with all that is read, which says what was declared."""
        self.options, self.stop, self.observe = options, stop, observe
        self.damaged = 0
        self.count = 0
        self.reading = Reading(options.source, bar, stop)
        self.tables = [path for path in options.source.files if is_table(path)]
        if self.tables and len(self.tables) < len(options.source.files):
            raise UsageError("captures and Parquet tables are not replayed together")

    @property
    def total(self) -> int | None:
        """How many there are at most; None where nobody knows before the end."""
        if not self.tables:
            return None
        try:
            return sum(int(pq.read_metadata(path).num_rows) for path in self.tables)
        except (OSError, pa.ArrowException):
            return None  # said when it is read

    def __iter__(self) -> Iterator[Message]:
        batches = self._of_tables() if self.tables else self._of_captures()
        for rows, frames in batches:
            yield from self._messages(rows, frames)
            if self.stop.pressed:
                return

    # --- captures

    def _of_captures(self) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        options = self.options
        window = Window(options.time.since, options.time.until, Clock("utc"))
        if options.time.is_part:
            self.reading.clock = window.clock
        fields = CAPTURE_FIELDS
        if self.observe is not None:
            fields = [*dict.fromkeys([*fields, *DECLARING_COLUMNS])]
        selection = Selection("message", options.source.protocol, fields, options.where, (), window)
        has_publication = False
        for group in self.reading.groups():
            for capture_batch in self.reading.batches(group, "message", selection.fields):
                if self.observe is not None:
                    self.observe(capture_batch)
                rows = selection.complete(capture_batch)
                sent = pc.and_kleene(
                    pc.equal(rows.column("direction"), "client"),
                    pc.equal(rows.column("method"), "basic.publish"),
                )
                rows = rows.filter(pc.fill_null(sent, False))
                has_publication = has_publication or rows.num_rows > 0
                rows = self._good(selection.matching_rows(rows))
                yield rows, rows.column("frame")
        if not has_publication and not self.stop.pressed:
            print_error("there is no publication of AMQP 0-x in what was read")

    # --- tables

    def _of_tables(self) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        predicate = parse_where(self.options.where, {})
        for path in self.tables:
            try:
                file = pq.ParquetFile(path)
            except (OSError, pa.ArrowException) as error:
                raise UsageError(f"{path}: {error}") from None
            with file:
                if not {"exchange", "routing_key", "frame"} & set(file.schema_arrow.names):
                    raise UsageError(f"{path}: no column is exchange, routing_key or frame")
                try:
                    for table_batch in file.iter_batches(ROWS):
                        if self.observe is not None:
                            self.observe(table_batch)
                        rows = self._good(filter_rows(self._published(table_batch), predicate))
                        yield rows, self._encoded(rows)
                except (OSError, pa.ArrowException) as error:
                    raise UsageError(f"{path}: {error}") from None

    def _published(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are publications; all, where nothing says what they are."""
        for name, value in (("method", "basic.publish"), ("direction", "client")):
            if name in rows.schema.names:
                fits = pc.equal(rows.column(name).cast(pa.string()), value)
                rows = rows.filter(pc.fill_null(fits, False))
        return rows

    def _encoded(self, rows: pa.RecordBatch) -> pa.Array:
        """The frames of every row: as they were recorded, or made of the columns."""
        names = rows.schema.names
        if "frame" in names and not rows.column("frame").null_count:
            return rows.column("frame")
        used = [
            name
            for name in names
            if name in TABLE_FIELDS or name.startswith(("properties.", "headers."))
        ]
        try:
            encoded = batch.encode(rows.select(used), frame_max=0)
        except ValueError as error:
            raise UsageError(f"the table's columns are no messages: {error}") from None
        if encoded.error_count:
            first_error = next(text for text in pa.array(encoded.errors).to_pylist() if text)
            print_error(f"{encoded.error_count} rows are no messages; the first: {first_error}")
        return pa.array(encoded)

    # --- both

    def _good(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if "error" not in rows.schema.names:
            return rows
        bad = rows.column("error").is_valid()
        self.damaged += pc.sum(bad).as_py() or 0
        return rows.filter(pc.invert(bad))

    def _messages(self, rows: pa.RecordBatch, frames: pa.Array) -> Iterator[Message]:
        times = _microseconds(rows)
        brokers = _texts(rows, "dst")
        for at, frame in enumerate(frames):
            content = _decoded(frame.as_py())
            if content is None:
                self.damaged += 1
                continue
            number, self.count = self.count, self.count + 1
            yield Message(
                number,
                content.method.exchange,
                content.method.routing_key,
                content.properties,
                content.body,
                times[at],
                brokers[at],
            )


def _decoded(frame: bytes | None) -> Any:
    """The publication in its frames; None where there is none, whole."""
    if frame is None:
        return None
    try:
        events: list[Any] = [event for _, event in v0_9_1.MessageDecoder(0).feed(frame)]
    except DecodeError:
        return None
    if len(events) != 1 or getattr(events[0], "method", None) is None:
        return None
    return events[0] if events[0].method.NAME == "basic.publish" else None


def _microseconds(rows: pa.RecordBatch) -> list[int | None]:
    if "timestamp" not in rows.schema.names:
        return [None] * rows.num_rows
    column = rows.column("timestamp")
    if not pa.types.is_timestamp(column.type):
        return [None] * rows.num_rows
    times: list[int | None] = column.cast(pa.timestamp("us"), safe=False).cast("int64").to_pylist()
    return times


def _texts(rows: pa.RecordBatch, name: str) -> list[str | None]:
    if name not in rows.schema.names:
        return [None] * rows.num_rows
    texts: list[str | None] = rows.column(name).cast(pa.string()).to_pylist()
    return texts
