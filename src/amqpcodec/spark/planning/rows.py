"""What is common to all that reads captures on Spark: which rows a mode lets through."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ... import capture
from ...capture.planning import (
    ServerPorts,
    increase,
    no_frames_warning,
    separate_file_warning,
    unread_links_warning,
)
from .columns import Plan
from .files import moment
from .options import Options

__all__ = [
    "BATCH_ROWS",
    "ROWS",
    "RowFilter",
    "aliases_of",
    "by_mode",
    "capture_columns",
    "has_errors",
    "small_columns",
    "tell_midstream",
    "tell_no_frames",
    "unread_link_types",
    "warn_of_skipped",
    "with_error",
]

_log = logging.getLogger(__name__)

#: Options that choose rows.
ROWS = ("methods", "directions", "connections", "timestampFrom", "timestampBefore")

#: Rows of a batch. Spark is as fast with more, and they would cost its JVM memory.
BATCH_ROWS = 16384

#: Columns with the bytes of frames, or their tables as text: what no query should get unasked.
_LARGE = frozenset(
    (
        *("arguments", "properties", "payload", "body", "frame"),
        *("header", "delivery_annotations", "message_annotations"),
        *("application_properties", "value", "footer"),
    )
)

#: Properties by which messages are found and paired.
_IDS = {name: f"properties.{name}" for name in ("message_id", "correlation_id", "reply_to")}

#: Columns that say where a row is from.
_PLACE = ("file", "packet", "packet_offset", "position")


def capture_columns(level: str, protocol: str | None) -> Any:
    """What plan() asks for the schema of capture.read's columns."""

    def schema_of_names(names: list[str] | None, field_tables: str) -> pa.Schema:
        try:
            return pa.schema(capture.schema(level, names, protocol, field_tables))
        except ValueError as problem:
            if not str(problem).startswith("no column"):
                raise
            raise ValueError(f"{problem}; '*' in fields is all of the former") from None

    return schema_of_names


def small_columns(schema_of_names: Any, level: str) -> list[str]:
    """What is read where nothing is asked for: handing the others over costs most of all time."""
    names: list[str] = []
    for name in schema_of_names(None, "json").names:
        if name == "properties" and level == "message":
            names += _IDS
        elif name not in _LARGE:
            names.append(name)
    return names


def aliases_of(level: str) -> Mapping[str, str]:
    """Names of columns that are those of events, and what messages of captures call them."""
    return _IDS if level == "message" else {}


def has_errors(level: str) -> bool:
    """Whether rows may have an error: an event is what frames say that can be read."""
    return level != "event"


def with_error(column_plan: Plan, mode: str, level: str = "frame") -> Plan:
    """With the fields that by_mode needs: bad rows are those with an error."""
    if not has_errors(level):
        return column_plan
    needed = {"PERMISSIVE": (), "DROPMALFORMED": ("error",), "FAILFAST": ("error", *_PLACE)}[mode]
    missing = [name for name in needed if name not in column_plan.fields]
    return replace(column_plan, fields=(*column_plan.fields, *missing))


@dataclass(frozen=True)
class RowFilter:
    """Which rows are wanted; the others do not go to the JVM, which costs more than reading them.

    names: of columns of text, what they may be. start, end: µs since 1970 UTC of a row's first
    packet, the end not within; None: not bounded.
    """

    names: tuple[tuple[str, tuple[str, ...]], ...] = ()
    start: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, options: Options, level: str = "frame") -> RowFilter:
        """What the options ask for."""
        if level == "event" and options.names("methods") is not None:
            raise ValueError("option methods chooses frames and messages: events have no method")
        conditions = []
        for option, column in zip(ROWS, ("method", "direction", "connection"), strict=False):
            values = options.names(option)
            if values is not None:
                conditions.append((column, values))
        unknown = set(dict(conditions).get("direction", ())) - {"client", "server"}
        if unknown:
            raise ValueError(f"option directions is client or server, not {unknown.pop()!r}")
        zone = options.text("timeZone", "UTC")
        start, end = (moment(name, options.optional(name), zone) for name in ROWS[3:])
        return cls(tuple(conditions), _micros(start), _micros(end))

    def filter_reader(self, reader: capture.Reader, mode: str, level: str = "frame") -> None:
        """Let a reader yield these rows only; with FAILFAST also rows with an error."""
        if not self.fields:
            return
        with_errors = mode == "FAILFAST" and has_errors(level)
        fields = [*self.fields, *(("error",) if with_errors else ())]
        reader.filter(fields, lambda batch: self._judge(pa.record_batch(batch)))

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns that decide."""
        timed = () if self.start is None and self.end is None else ("timestamp",)
        return (*(column for column, _ in self.names), *timed)

    def _judge(self, rows: pa.RecordBatch) -> pa.Buffer:
        """A byte for each row, 1: it is wanted; one without a method, or a time, is not."""
        masks = []
        for column, values in self.names:
            array = rows.column(column)
            masks.append(pc.is_in(array, value_set=pa.array(values, array.type)))
        if "timestamp" in self.fields:
            times = rows.column("timestamp").cast(pa.int64())
            for bound, compare in ((self.start, pc.greater_equal), (self.end, pc.less)):
                if bound is not None:
                    masks.append(pc.fill_null(compare(times, bound), False))
        mask = reduce(pc.and_, masks)
        if "error" in rows.schema.names:
            mask = pc.or_(mask, rows.column("error").is_valid())
        return mask.cast(pa.uint8()).buffers()[1]


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)


def by_mode(rows: pa.RecordBatch, plan: Plan, mode: str) -> pa.RecordBatch:
    """The rows that go on: all, where none has an error.

    Raises:
        ValueError: mode is FAILFAST and a row has an error; it says where the row is from.
    """
    if mode == "PERMISSIVE" or "error" not in plan.fields:
        return rows
    error = rows.column(plan.fields.index("error"))
    if error.null_count == len(error):
        return rows
    if mode == "FAILFAST":
        at = pc.index(error.is_valid(), True).as_py()
        file, packet, offset, position = (
            rows.column(plan.fields.index(name))[at].as_py() for name in _PLACE
        )
        raise ValueError(
            f"{file}: packet {packet} (packet_offset {offset}), position {position}: {error[at]}"
        )
    return rows.filter(error.is_null())


def unread_link_types(reader: capture.Reader) -> dict[str, int]:
    """Packets of link types that are not read, by the type's name, so far."""
    links: dict[str, int] = reader.stats()["unread_link_types"]
    return links


def warn_of_skipped(
    reader: capture.Reader, name: str, mode: str, before: Mapping[str, int] | None = None
) -> None:
    """Warn of packets whose link type is not read.

    before: those of a state that the reader went on from.

    Raises:
        CaptureError: there are some, and the mode is FAILFAST.
    """
    unread = unread_links_warning(increase(unread_link_types(reader), dict(before or {})))
    if unread and mode == "FAILFAST":
        raise capture.CaptureError(f"{name or 'a capture'}: {unread}", name)
    if unread:
        _log.warning("%s: %s", name or "a capture", unread)


def tell_no_frames(reader: capture.Reader, name: str, ports: ServerPorts) -> None:
    """Warn of a capture that was read to its end, none of whose packets has AMQP."""
    if nothing := no_frames_warning(reader.stats(), ports):
        _log.warning("%s: %s", name or "a capture", nothing)


def tell_midstream(reader: capture.Reader, name: str) -> None:
    """Warn of a capture that was read alone and begins after some of its connections did."""
    midstream = reader.stats()["midstream"]
    if midstream:
        _log.warning("%s", separate_file_warning(name or "a capture", midstream))
