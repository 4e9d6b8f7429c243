"""A column of frames to columns, and what every other way to decode on Spark shares with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from .. import batch
from .columns import Plan, arrow_schema, conform, parse_schema, plan
from .options import mode_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["decode", "decode_batches", "decode_column", "plan_of_batch"]

#: Bytes of input a call: columns end at 2 GiB, and JSON text is longer than its bytes. Messages
#: are put together within a call only, so that it takes more of them.
PIECE = {"frame": 128 << 20, "message": 1 << 30}

_COLUMN = "amqp octets"


def plan_of_batch(
    protocol: str,
    level: str,
    wanted: Iterable[str] | StructType | None,
    corrupt: str | None = None,
    tables: str | None = None,
) -> Plan:
    """A plan for batch.decode; ``row`` is left out, since it counts within an Arrow batch only."""

    def told(names: list[str] | None, tables: str) -> pa.Schema:
        schema = pa.schema(batch.schema(protocol, level, names, "plain", tables=tables))
        if names is None:
            return pa.schema([each for each in schema if each.name != "row"])
        if "row" in names:
            raise ValueError(
                "row counts within an Arrow batch, which Spark cuts as it likes: "
                "keep a column of your own instead"
            )
        return schema

    return plan(told, wanted, corrupt, tables)


def decode(
    df: DataFrame,
    col: str | Column = "frame",
    fields: Iterable[str] | StructType | str | None = None,
    keep: Iterable[str] = (),
    protocol: str = "0-9-1",
    mode: str = "PERMISSIVE",
    *,
    level: str = "frame",
    tables: str | None = None,
) -> DataFrame:
    """A row for each frame in a binary column: the columns of batch.decode, beside kept ones.

    It runs as mapInArrow; only col and keep travel to the workers, and only fields are decoded.
    A null or empty value gives no row.

    Args:
        df: what has the column.
        col: a binary column, each value one or more whole frames.
        fields: names as batch.decode takes them, all but ``row``; or a schema, as StructType or
            DDL text, whose columns are named so. None: all.
        keep: columns of df that stand in front of what is decoded.
        protocol: a version, such as "0-9-1".
        mode: "PERMISSIVE" (bad frames are rows with an error), "DROPMALFORMED" (they are left
            out) or "FAILFAST" (the first one ends the job); in any case.
        level: "frame", or "message" for a row each message. A message is put together of the
            frames of one value, or of values that follow one another in one Arrow batch
            (``spark.sql.execution.arrow.maxRecordsPerBatch``): what is cut there is an error.
        tables: what field tables become: "json", "variant" or "map". None: what the types of a
            schema say (``properties struct<headers: variant>``), or else "json".

    Raises:
        ValueError: a name, type, mode or level is not known; a column would be there twice.
    """
    wanted = _wanted(fields)
    level = level.lower()
    decoded = plan_of_batch(protocol, level, wanted, None, tables)
    mode = mode_of(mode)
    kept = [keep] if isinstance(keep, str) else list(keep)
    values = sf.col(col) if isinstance(col, str) else col
    given = df.select(*[sf.col(name).alias(name) for name in kept], values.alias(_COLUMN))
    beside = given.schema.fields[: len(kept)]
    names = [*kept, *decoded.schema.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"these columns would be there twice: {', '.join(twice)}")
    schema = StructType([*beside, *(StructField(f.name, f.dataType) for f in decoded.schema)])

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return decode_batches(batches, decoded, kept, protocol, level, mode)

    return given.mapInArrow(run, schema)


def _wanted(fields: Iterable[str] | StructType | str | None) -> Iterable[str] | StructType | None:
    if isinstance(fields, str):
        parsed = parse_schema(fields)
        if not isinstance(parsed, StructType):
            raise ValueError(f"fields is names or a struct, not {parsed.simpleString()}")
        return parsed
    return fields


def decode_batches(
    batches: Iterable[pa.RecordBatch],
    decoded: Plan,
    kept: list[str],
    protocol: str,
    level: str,
    mode: str,
) -> Iterator[pa.RecordBatch]:
    """What runs in a worker: batches of kept columns and bytes to kept and decoded columns."""
    target = arrow_schema(decoded.schema)
    fields = [*decoded.fields, "row"] if kept else list(decoded.fields)
    for given in batches:
        columns = [given.column(i) for i in range(len(kept))]
        for start, rows in decode_column(
            given.column(len(kept)),
            fields,
            protocol=protocol,
            level=level,
            mode=mode,
            tables=decoded.tables,
        ):
            out = conform(rows, decoded, target)
            if kept:
                at = pa.array(rows.column("row").to_numpy() + start)
                out = pa.RecordBatch.from_arrays(
                    [*(column.take(at) for column in columns), *out.columns],
                    schema=pa.schema([*[*given.schema][: len(kept)], *target]),
                )
            yield out


def decode_column(
    values: pa.Array,
    fields: list[str],
    *,
    protocol: str,
    level: str,
    mode: str,
    tables: str = "json",
    piece: int | None = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(index of the first value, its and the next ones' rows), in pieces of bounded size."""
    start = 0
    for length in _pieces(values, PIECE[level] if piece is None else piece):
        part = values.slice(start, length)
        rows = batch.decode(part, protocol, level, fields, mode, tables=tables)
        yield start, pa.record_batch(rows)
        start += length


def _pieces(values: pa.Array, piece: int) -> Iterator[int]:
    """Lengths of slices of about so many bytes, one value at least; one for no value at all."""
    if len(values) < 2 or values.nbytes <= piece:
        yield len(values)
        return
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(values.buffers()[1], width)[values.offset :][: len(values) + 1]
    start = 0
    while start < len(values):
        end = int(np.searchsorted(ends, int(ends[start]) + piece, "right")) - 1
        end = min(max(end, start + 1), len(values))
        yield end - start
        start = end
