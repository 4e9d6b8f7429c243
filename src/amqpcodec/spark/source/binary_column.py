"""Captures that lie in a binary column: those of ``binaryFile``, of a topic, of a table."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from ... import capture
from ...capture.planning import LimitOptions, Limits, ServerPorts, server_ports
from ..functions.frames import check_binary, requested_fields
from ..functions.pieces import row_of_task
from ..planning.columns import Plan, arrow_schema, conform, plan
from ..planning.options import mode_of
from ..planning.refusals import refusing
from ..planning.rows import (
    BATCH_ROWS,
    aliases_of,
    by_mode,
    capture_columns,
    has_errors,
    small_columns,
    tell_midstream,
    tell_no_frames,
    warn_of_skipped,
    with_error,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["decode_captures"]

_log = logging.getLogger(__name__)


@refusing
def decode_captures(
    df: DataFrame,
    col: str | Column = "content",
    name: str | Column | None = None,
    fields: Iterable[str] | StructType | str | None = None,
    keep: Iterable[str] = (),
    protocol: str | None = None,
    mode: str = "PERMISSIVE",
    *,
    level: str = "frame",
    ports: int | Iterable[int] | None = None,
    redact: bool = True,
    field_tables: str | None = None,
    keylog: str | Sequence[str] | None = None,
    **limits: Unpack[LimitOptions],
) -> DataFrame:
    """A row for each frame, message or event of the captures in a binary column.

    ::

        files = spark.read.format("binaryFile").load("captures/")
        decode_captures(files, "content", name="path")

    Each value is a capture of its own: nothing goes on from one to the next. It runs as mapInArrow;
    Spark holds whole values in memory, so that files of more than some 100 MB are better read by
    the format ``amqp_capture``. A null or empty value gives no row.

    Args:
        df: what has the column.
        col: a binary column; values as capture.read takes files.
        name: a column of text that says what the column ``file`` of the rows says. None: nothing.
        fields: names as capture.read takes them; or a schema, as StructType or DDL text, whose
            columns have these names. "*", alone or in the list, is all others. None: those of
            bounded size, as the format ``amqp_capture`` has it.
        keep: columns of df that stand in front of what is decoded.
        protocol: a version that all connections are read as; None: what each speaks.
        mode: "PERMISSIVE" (bad frames are rows with an error; a value that is no capture is one
            such row, and one that is cut or damaged ends with one), "DROPMALFORMED" (these rows
            are dropped) or "FAILFAST" (the first one ends the job); in any case. Events have no
            errors: in place of a row there is a warning in the log.
        level: "frame", "message" or "event".
        ports: the servers' ports, or the only one. None: as capture.read has it.
        redact: overwrite credentials.
        field_tables: the type of field tables: "json", "variant" or "map". None: those that a
            schema says, or else "json".
        keylog: the secrets of connections over TLS: a path that tasks can open, or the lines of a
            key log.
        limits: as capture.read has them. A compressed value that would become more than they allow
            ends as one that is damaged.

    Raises:
        ValueError: a name, type, mode or level is not known; a column would be there twice.
        TypeError: col is no binary column, or name no text.
    """
    level, mode = level.lower(), mode_of(mode)

    schema_of_names = capture_columns(level, protocol)
    requested_columns = (
        small_columns(schema_of_names, level) if fields is None else requested_fields(fields)
    )
    decoded = plan(schema_of_names, requested_columns, None, field_tables, aliases_of(level))
    keep_names = [keep] if isinstance(keep, str) else list(keep)
    values = sf.col(col) if isinstance(col, str) else col
    names = sf.lit("") if name is None else sf.col(name) if isinstance(name, str) else name
    selection = df.select(
        *[sf.col(column).alias(column) for column in keep_names],
        names.alias("amqp name"),
        values.alias("amqp bytes"),
    )
    check_binary(selection.schema.fields[-1].dataType, col)
    if not isinstance(selection.schema.fields[-2].dataType, StringType):
        raise TypeError(f"name is text, not {selection.schema.fields[-2].dataType.simpleString()}")
    columns = [*keep_names, *decoded.schema.names]
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ValueError(f"these columns would be there twice: {', '.join(twice)}")
    beside = selection.schema.fields[: len(keep_names)]
    schema = StructType([*beside, *(StructField(f.name, f.dataType) for f in decoded.schema)])
    column_plan = with_error(decoded, mode, level)
    job = _Job(
        column_plan,
        len(keep_names),
        level,
        server_ports(ports),
        protocol,
        redact,
        mode,
        Limits(**limits),
        keylog,
    )
    list(job.captures("", b""))  # refuses wrong ports here
    return selection.mapInArrow(job.run, schema)


class _NamedBytes(io.BytesIO):
    """A file in memory with a name."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


@dataclass(frozen=True)
class _Job:
    """What runs in a worker; it travels there.

    keep_count: how many columns stand first and go out as they are.
    """

    plan: Plan
    keep_count: int
    level: str
    ports: ServerPorts
    protocol: str | None
    redact: bool
    mode: str
    limits: Limits
    keylog: str | Sequence[str] | None = field(default=None, repr=False)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        target = arrow_schema(self.plan.schema)
        before = 0
        for input_batch in batches:
            names, values = (
                input_batch.column(self.keep_count),
                input_batch.column(self.keep_count + 1),
            )
            for row, (name, value) in enumerate(zip(names, values, strict=True)):
                data = value.as_py()
                beside = input_batch.select(range(self.keep_count)).slice(row, 1)
                place = partial(row_of_task, before + row, beside)
                for rows in self.captures(name.as_py() or "", data or b"", place):
                    out = conform(rows, self.plan, target)
                    if self.keep_count:
                        at = pa.array(np.full(out.num_rows, row))
                        keep_columns = [
                            input_batch.column(i).take(at) for i in range(self.keep_count)
                        ]
                        fields = [*[*input_batch.schema][: self.keep_count], *target]
                        out = pa.RecordBatch.from_arrays(
                            [*keep_columns, *out.columns], schema=pa.schema(fields)
                        )
                    yield out
            before += input_batch.num_rows

    def captures(
        self, name: str, data: bytes, place: Callable[[], str] = str
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one value. place: what says where it is, where the job ends."""
        reader = capture.read(
            _NamedBytes(data, name),
            level=self.level,
            fields=list(self.plan.fields),
            ports=self.ports.argument,
            protocol=self.protocol,
            batch_rows=BATCH_ROWS,
            redact=self.redact,
            field_tables=self.plan.field_tables,
            keylog=self.keylog,
            **self.limits.options,
        )
        try:
            for rows in reader:
                yield by_mode(pa.record_batch(rows), self.plan, self.mode)
                del rows  # so that the next ones can have their memory
            warn_of_skipped(reader, name, self.mode)
            if data:
                tell_no_frames(reader, name, self.ports)
            tell_midstream(reader, name)
            if reader.damaged and self.mode == "FAILFAST":
                raise capture.CaptureError(f"{name}: {reader.damaged}")
            if reader.damaged and self.mode == "PERMISSIVE":
                yield from self._refused(name, reader.damaged)
        except (capture.CaptureError, ValueError) as problem:  # a ValueError: of by_mode()
            if self.mode == "FAILFAST" or not isinstance(problem, capture.CaptureError):
                problem.args = (f"{place()}: {str(problem).removeprefix(': ')}",)
                raise
            if self.mode == "PERMISSIVE":
                yield from self._refused(name, str(problem))

    def _refused(self, name: str, error: str) -> Iterator[pa.RecordBatch]:
        """One row of a value that is no capture, or not whole; of events a warning instead."""
        if not has_errors(self.level):
            _log.warning("%s: %s", name or "a capture", error.removeprefix(": "))
            return
        schema = pa.schema(
            capture.schema(
                self.level, list(self.plan.fields), self.protocol, self.plan.field_tables
            )
        )
        values = {"file": name, "error": error}
        columns = [pa.array([values.get(field.name)], field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
