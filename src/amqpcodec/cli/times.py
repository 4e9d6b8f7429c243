"""Times: how they are shown (UTC, local, since the beginning), and the window that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from .errors import UsageError
from .moments import Moment

__all__ = ["Clock", "Window"]

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: How many units of the wire a second has, and columns that are so: those of AMQP 1.0.
WIRE_MILLISECONDS = 1000
V1_TIMES = ("creation_time", "absolute_expiry_time")
OF_V1 = ("application_properties.", "message_annotations.", "delivery_annotations.", "footer.")
START = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """How points in time are written. relative: in seconds since the first packet."""

    def __init__(self, mode: str = "utc") -> None:
        """mode: "utc", "local" or "relative"."""
        self.mode = mode
        self.start: int | None = None  # µs since 1970

    def start_at(self, nanoseconds: int | None) -> None:
        """Have relative times count from the first packet: ns since 1970, None if unknown."""
        if self.start is None and nanoseconds is not None:
            self.start = nanoseconds // 1000

    def begin(self, column: pa.Array) -> None:
        """Have them count from the first row with a time, where no packet is known."""
        if self.start is None and len(column) > column.null_count:
            self.start = int(column.drop_null()[0].cast(pa.timestamp("us", "UTC")).value)

    def texts(self, column: pa.Array, name: str = "") -> list[str | None]:
        """Every value as text, to the column's own unit.

        A time beyond the calendar (years 1 to 9999) is a number: that of the wire, where it is of a
        message. name: of the column or member; it says which unit the wire has.
        """
        unit = UNITS[column.type.unit]
        digits = len(str(unit)) - 1
        ticks = column.cast(pa.int64()).to_pylist()
        if self.mode == "relative":
            start = (self.start or 0) * unit // 10**6
            return [None if tick is None else _seconds(tick - start, unit) for tick in ticks]
        write = _local if self.mode == "local" else _utc
        wire = WIRE_MILLISECONDS if name.startswith(OF_V1) or name.endswith(V1_TIMES) else 1
        return [
            None if tick is None else _written(tick, unit, digits, write, wire) for tick in ticks
        ]

    def durations(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with relative times in place of points in time."""
        start = pa.scalar(self.start or 0, pa.int64())
        for at, field in enumerate(batch.schema):
            if pa.types.is_timestamp(field.type) and "." not in field.name:
                ticks = batch.column(at).cast(pa.timestamp("us", "UTC"), safe=False)
                since = pc.subtract(ticks.cast(pa.int64()), start).cast(pa.duration("us"))
                batch = batch.set_column(at, field.name, since)
        return batch

    @property
    def name(self) -> str:
        """What a line with a date says about it."""
        return "UTC" if self.mode == "utc" else "local time"


def _seconds(ticks: int, unit: int) -> str:
    sign = "-" if ticks < 0 else ""
    seconds, fraction = divmod(abs(ticks), unit)
    digits = len(str(unit)) - 1
    return f"{sign}{seconds}.{fraction:0{digits}d}" if digits else f"{sign}{seconds}"


def _written(
    ticks: int, unit: int, digits: int, write: Callable[[datetime], tuple[str, str]], wire: int
) -> str:
    seconds, fraction = divmod(ticks, unit)
    try:
        head, zone = write(START + timedelta(seconds=seconds))
    except (OverflowError, ValueError, OSError):
        number, remainder = divmod(ticks * wire, unit)
        return _seconds(ticks, unit) if remainder else str(number)
    return f"{head}.{fraction:0{digits}d}{zone}" if digits else f"{head}{zone}"


def _utc(at: datetime) -> tuple[str, str]:
    return at.strftime("%Y-%m-%dT%H:%M:%S"), "Z"


def _local(at: datetime) -> tuple[str, str]:
    here = at.astimezone()
    zone = here.strftime("%z")
    return here.strftime("%Y-%m-%dT%H:%M:%S"), f"{zone[:3]}:{zone[3:5]}"


class Window:
    """The rows between two points in time."""

    def __init__(self, since: Moment | None, until: Moment | None, clock: Clock) -> None:
        """None: no border there. until itself is not in the window."""
        self._since, self._until, self.clock = since, until, clock
        self.since: int | None = None  # µs since 1970, once a row was seen
        self.until: int | None = None
        self._is_resolved = since is None and until is None

    def begin(self, column: pa.Array) -> None:
        """Look at the first row: borders may count from it, or are of its day."""
        self.clock.begin(column)
        if self._is_resolved or self.clock.start is None:
            return
        local = self.clock.mode == "local"
        start = self.clock.start
        try:
            self.since = self._since.microseconds(start, local) if self._since else None
            self.until = self._until.microseconds(start, local) if self._until else None
        except OverflowError:
            raise UsageError("--since or --until is too far away") from None
        self._is_resolved = True

    def before_end(self, batch: pa.RecordBatch, name: str = "timestamp") -> pa.RecordBatch:
        """The rows before --until."""
        return _filter_rows(batch, name, "less", self.until)

    def after_start(self, batch: pa.RecordBatch, name: str = "timestamp") -> pa.RecordBatch:
        """The rows from --since on."""
        return _filter_rows(batch, name, "greater_equal", self.since)

    def rows(self, batch: pa.RecordBatch, name: str = "timestamp") -> pa.RecordBatch:
        """The rows in the window."""
        return self.after_start(self.before_end(batch, name), name)


def _filter_rows(
    batch: pa.RecordBatch, name: str, compare: str, border: int | None
) -> pa.RecordBatch:
    if border is None:
        return batch
    column = batch.column(name)
    limit = pa.scalar(border, pa.int64()).cast(pa.timestamp("us", "UTC"))
    return batch.filter(pc.fill_null(pc.call_function(compare, [column, limit]), False))
