"""Columns of messages to bytes: a DataFrame by mapInArrow, a struct column by a function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from ... import batch
from ..planning.columns import arrow_schema
from ..planning.options import Options, mode_of
from ..planning.refusals import refusing
from ..planning.versions import arrow_udf
from .by_pandas import PandasFunction, read_json, text_of_struct
from .structs import _udf, name_of, named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["encode", "to_amqp", "to_amqp_udf"]

#: Bytes of input a call: the messages of a call must stay below 2 GiB.
CHUNK_BYTES = 512 << 20

#: Bytes of a frame, where nothing else is asked for: the default of batch.encode.
FRAME_MAX = 131_072


@dataclass(frozen=True)
class _Job:
    """What encoding does to a batch; it travels to the workers."""

    protocol: str
    mode: str
    frame_max: int

    def run(self, columns: Any) -> tuple[pa.Array, pa.Array]:
        """Bytes and errors, one of each a row."""
        mode = "FAILFAST" if self.mode == "FAILFAST" else "PERMISSIVE"
        parts = [
            batch.encode(part, self.protocol, self.frame_max, mode) for part in _pieces(columns)
        ]
        values = [pa.array(part) for part in parts]
        errors = [pa.array(part.errors) for part in parts]
        return (
            values[0] if len(values) == 1 else pa.concat_arrays(values),
            errors[0] if len(errors) == 1 else pa.concat_arrays(errors),
        )


def _pieces(columns: Any, piece: int | None = None) -> Iterator[Any]:
    """Slices of about so many bytes, one row at least."""
    piece = CHUNK_BYTES if piece is None else piece
    if len(columns) < 2 or columns.nbytes <= piece:
        yield columns
        return
    half = len(columns) // 2
    yield from _pieces(columns.slice(0, half), piece)
    yield from _pieces(columns.slice(half), piece)


def _check(schema: StructType, protocol: str, frame_max: int = FRAME_MAX) -> None:
    """Refuse columns that are no part of a message here, not in a worker."""
    batch.encode(arrow_schema(schema).empty_table(), protocol, frame_max)


@refusing
def encode(
    df: DataFrame,
    keep: Iterable[str] = (),
    protocol: str = "0-9-1",
    mode: str = "PERMISSIVE",
    *,
    frame_max: int = FRAME_MAX,
    col: str = "frame",
    error: str | None = "error",
) -> DataFrame:
    """Messages in columns to bytes: kept columns, a binary column, a column of errors.

    It runs as mapInArrow. What decode gives with level="message" can be encoded as it is. A row
    is a message with all its frames.

    Args:
        df: its columns are those of batch.encode: ``method``, ``channel``, arguments by name,
            ``properties`` (a struct; ``headers`` in it as JSON text, map or struct), ``body``...
            (AMQP 1.0: ``performative``, ``header``, ``application_properties``, ``value``...).
        keep: columns of df that stand in front of what is encoded. A kept column that is part of
            a message is encoded, too; every other column of df must be part of one.
        protocol: a version, such as "0-9-1" or "1.0".
        mode: "PERMISSIVE" (a row that cannot be encoded is null, with its error),
            "DROPMALFORMED" (it is dropped) or "FAILFAST" (it ends the job); in any case.
        frame_max: bytes of a frame, the 8 of its envelope included; 0 for no limit.
        col: name of the binary column.
        error: name of the column of errors; None for none.

    Raises:
        ValueError: a column is no part of a message; a name or mode is not known; a column would
            be there twice.
    """
    mode = mode_of(mode)
    keep_names = [keep] if isinstance(keep, str) else list(keep)
    fields = {field.name: field for field in df.schema.fields}
    missing = [name for name in keep_names if name not in fields]
    if missing:
        raise ValueError(f"keep names what is no column: {', '.join(missing)}")
    names = [*keep_names, col, *([] if error is None else [error])]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"these columns would be there twice: {', '.join(twice)}")
    parts = [name for name in fields if name not in keep_names or _is_part(fields[name], protocol)]
    _check(StructType([fields[name] for name in parts]), protocol, frame_max)
    added = [StructField(col, BinaryType())]
    if error is not None:
        added.append(StructField(error, StringType()))
    schema = StructType([*(fields[name] for name in keep_names), *added])
    job = _Job(protocol, mode, frame_max)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for input_batch in batches:
            values, errors = job.run(input_batch.select(parts))
            columns = [*(input_batch.column(name) for name in keep_names), values]
            out_fields = [
                *(input_batch.schema.field(name) for name in keep_names),
                pa.field(col, pa.binary()),
            ]
            if error is not None:
                columns.append(errors)
                out_fields.append(pa.field(error, pa.string()))
            out = pa.RecordBatch.from_arrays(columns, schema=pa.schema(out_fields))
            yield out.filter(errors.is_null()) if mode == "DROPMALFORMED" else out

    return df.mapInArrow(run, schema)


def _is_part(field: StructField, protocol: str) -> bool:
    try:
        _check(StructType([field]), protocol)
    except (TypeError, ValueError):
        return False
    return True


@refusing
def to_amqp(
    col: str | Column, *more: str | Column, options: Mapping[str, Any] | None = None
) -> Column:
    """A message in a struct column, or in several columns, as its bytes: a binary column.

    It is evaluated once, however often the result is used (a function that is marked
    nondeterministic for that); in an aggregate, select it first.

    Args:
        col: a struct whose fields are the columns of batch.encode. A null struct gives a null.
        more: with these, all are columns of batch.encode, by their names.
        options: ``mode`` ("PERMISSIVE": null where a row cannot be encoded, or "FAILFAST"),
            ``protocol`` and ``frameMax``. Names in any case.

    Before Spark 4.1 rows pass as JSON text: ``encode`` is several times as fast there, and a text
    with U+FFFD, which stands for bytes that are no UTF-8, too, cannot be encoded.

    Raises:
        ValueError: an option is not known.
    """
    struct = sf.struct(col, *more) if more else col
    column = sf.col(struct) if isinstance(struct, str) else struct
    return named(to_amqp_udf(options)(column), f"to_amqp({name_of(column)})")


def to_amqp_udf(options: Mapping[str, Any] | None = None) -> Any:
    """The function that to_amqp stands for, to be called or registered."""
    settings = Options(options)
    settings.refuse_unknown(("mode", "protocol", "frameMax"))
    job = _Job(
        settings.text("protocol", "0-9-1"),
        mode_of(settings.text("mode", "PERMISSIVE"), ("PERMISSIVE", "FAILFAST")),
        settings.octets("frameMax", FRAME_MAX),
    )
    _check(StructType([]), job.protocol, job.frame_max)

    if arrow_udf is None:
        return _ByText(job)

    def to_amqp(messages: pa.Array) -> pa.Array:
        return job.run(messages)[0]

    return _udf(to_amqp, BinaryType())


class _ByText:
    """to_amqp where a function gets no struct that it could trust: before Spark 4.1."""

    def __init__(self, job: _Job) -> None:
        def to_amqp(texts: pa.Array, types: pa.Array) -> pa.Array:
            return job.run(read_json(texts, types, strict=job.mode == "FAILFAST"))[0]

        self._function = PandasFunction(to_amqp, BinaryType())

    def __call__(self, struct: str | Column) -> Column:
        """The bytes of a struct column."""
        column = sf.col(struct) if isinstance(struct, str) else struct
        return named(self._function(*text_of_struct(column)), f"to_amqp({name_of(column)})")
