"""A column of frames to columns, and what every other way to decode on Spark shares with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from ... import batch
from ..._facade.scalars import as_int
from ...errors import DecodeError
from ..planning.columns import ALL, Plan, arrow_schema, conform, parse_schema, plan
from ..planning.options import mode_of
from ..planning.refusals import refusing
from ..planning.versions import VariantType
from .pieces import CHUNK_BYTES, MAX_OPEN, MAX_OPEN_BYTES, pieces, row_of_task, tell_place

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = [
    "check_binary",
    "decode",
    "decode_batches",
    "decode_column",
    "plan_of_batch",
    "requested_fields",
]

_COLUMN = "amqp bytes"
#: What frames and messages are of where nobody says.
_DEFAULT = "0-9-1"
#: Columns beside the bytes of rows that say no addresses: direction and time.
_UNADDRESSED = 2


def plan_of_batch(
    protocol: str | None,
    level: str,
    requested_columns: Iterable[str] | StructType | None,
    corrupt: str | None = None,
    field_tables: str | None = None,
) -> Plan:
    """A plan for batch.decode; without ``row``, which counts within an Arrow batch only."""

    def schema_of_names(names: list[str] | None, field_tables: str) -> pa.Schema:
        options: Any = {"level": level, "field_tables": field_tables}
        schema = pa.schema(batch.schema(protocol, fields=names, **options))
        if names is None:
            return pa.schema([column for column in schema if column.name != "row"])
        if "row" in names:
            raise ValueError(
                "row counts within an Arrow batch, which Spark cuts as it likes: "
                "keep a column of your own instead"
            )
        return schema

    return plan(schema_of_names, requested_columns, corrupt, field_tables)


@refusing
def decode(
    df: DataFrame,
    col: str | Column = "frame",
    fields: Iterable[str] | StructType | str | None = None,
    keep: Iterable[str] = (),
    protocol: str | None = None,
    mode: str = "PERMISSIVE",
    *,
    level: str = "frame",
    field_tables: str | None = None,
    by: Iterable[str | Column] | str | None = None,
    order: Iterable[str | Column] | str | None = None,
    direction: str | Column = "direction",
    time: str | Column = "timestamp",
    src: str | Column = "src",
    dst: str | Column = "dst",
    max_open: int = MAX_OPEN,
    max_open_bytes: int = MAX_OPEN_BYTES,
) -> DataFrame:
    """A row for each frame in a binary column: the columns of batch.decode, beside kept ones.

    It runs as mapInArrow; only col and keep travel to the workers, and only fields are decoded.
    A null or empty value gives no row.

    At event level the values are what connections said, as ``batch.decode(level="event")`` takes
    them, and the rows are its events: of a connection whose rows have these keys. packet_offset is
    the number of a row among those of its connection, and what is open waits as of the last one.

    Args:
        df: what has the column.
        col: a binary column, each value one or more whole frames.
        fields: names as batch.decode takes them, all but ``row``; or a schema, as StructType or
            DDL text, whose columns have these names. None: all.
        keep: columns of df that stand in front of what is decoded.
        protocol: a version, such as "0-9-1". None: 0-9-1; at event level what each connection's
            protocol header says.
        mode: "PERMISSIVE" (bad frames are rows with an error), "DROPMALFORMED" (they are
            dropped) or "FAILFAST" (the first one ends the job); in any case.
        level: "frame", "message" for a row each message, or "event". Without ``by`` each value
            holds whole messages, and one that does not is a row with an error.
        by: with level="event", which needs it, the columns that tell connections apart; all rows of
            a connection are in one task, and kept columns are those of its first row. With
            level="message", the columns that tell conversations apart, such as connection and
            direction: messages go on in later values with the same keys. df is then shuffled by
            them, and sorted by them and ``order`` within partitions. All rows of a key are in one
            task, which holds messages that are open, up to max_open; the oldest of more, and what
            the rows of a key leave open, are rows with an error. Kept columns are those of a
            message's first value.
        order: with ``by``, the columns that say which value came first, such as a sequence number,
            or the file, packet_offset and position of a capture: no two rows of a key may be equal
            in them, since nothing else says which comes first.
        direction, time, src, dst: with level="event", the columns of who sent a value ("client" or
            "server"), when, and from and to which "address:port", as batch.decode has them. df may
            lack "timestamp", "src" and "dst".
        max_open, max_open_bytes: at message level with ``by``, messages, and bytes of them, that a
            task may have open where an Arrow batch of its input ends.
        field_tables: the type of field tables: "json", "variant" or "map". None: those that a
            schema says (``properties struct<headers: variant>``), or else "json".

    Raises:
        ValueError: a name, type, mode or level is not known; a column would be there twice; by is
            given without order, or at frame level, or not at event level; max_open or
            max_open_bytes is below 0.
        TypeError: col is no binary column, or a key no plain value.
    """
    requested_columns = requested_fields(fields)
    level = level.lower()
    keys, orders = _keys_of(df, by, order, level)
    max_open, max_open_bytes = as_int(max_open), as_int(max_open_bytes)
    for name, limit in (("max_open", max_open), ("max_open_bytes", max_open_bytes)):
        if limit < 0:
            raise ValueError(f"{name} is from 0 on, not {limit}")
    decoded = plan_of_batch(protocol, level, requested_columns, None, field_tables)
    mode = mode_of(mode)
    keep_names = [keep] if isinstance(keep, str) else list(keep)
    values = sf.col(col) if isinstance(col, str) else col
    events = _event_columns(df, direction, time, src, dst) if level == "event" else []
    if level == "event" and "array<string>" in dict(df.dtypes).get("flags", ""):
        # A table of a capture's frames: an empty one with this flag stands for bytes that it lacks.
        lacking = (sf.length(values) == 0) & sf.array_contains("flags", "gap")
        values = sf.when(sf.coalesce(~lacking, sf.lit(True)), values)
    if keys:
        df = df.repartition(*keys).sortWithinPartitions(*keys, *orders)
    selection = df.select(
        *[sf.col(name).alias(name) for name in keep_names],
        *[key.alias(f"amqp key {i}") for i, key in enumerate(keys)],
        values.alias(_COLUMN),
        *[column.alias(f"amqp {i}") for i, column in enumerate(events)],
    )
    types = selection.schema.fields[len(keep_names) + len(keys) :]
    check_binary(types[0].dataType, col)
    if level == "event":
        _check_event_types(types[1:], mode)
    beside = selection.schema.fields[: len(keep_names)]
    names = [*keep_names, *decoded.schema.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"these columns would be there twice: {', '.join(twice)}")
    schema = StructType([*beside, *(StructField(f.name, f.dataType) for f in decoded.schema)])

    if level == "event":
        from .keyed_events import Connections

        addressed = len(events) > _UNADDRESSED
        connections = Connections(decoded, len(keep_names), len(keys), protocol, addressed)
        return selection.mapInArrow(connections.run, schema)

    protocol = protocol or _DEFAULT
    if keys:
        from .keyed_decode import Conversations

        limits = (max_open, max_open_bytes)
        job = Conversations(decoded, len(keep_names), len(keys), protocol, mode, *limits)
        return selection.mapInArrow(job.run, schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return decode_batches(batches, decoded, keep_names, protocol, level, mode)

    return selection.mapInArrow(run, schema)


def _keys_of(
    df: DataFrame,
    by: Iterable[str | Column] | str | None,
    order: Iterable[str | Column] | str | None,
    level: str,
) -> tuple[list[Column], list[Column]]:
    """Columns of keys and of the order, checked as far as can be done without a job."""
    keys, orders = _columns(by), _columns(order)
    if not keys:
        if level == "event":
            raise ValueError("level='event' needs by: the columns that tell connections apart")
        if orders:
            raise ValueError("order goes with by, which says whose order it is")
        return [], []
    if level not in ("message", "event"):
        raise ValueError("by is for level='message' and 'event': frames stand for themselves")
    if not orders:
        raise ValueError("by needs order: rows have no order of their own once they are shuffled")
    for field in df.select(*keys).schema:
        if isinstance(field.dataType, StructType | ArrayType | MapType | VariantType):
            raise TypeError(
                f"keys are plain values: {field.name} is {field.dataType.simpleString()}"
            )
    return keys, orders


def _event_columns(
    df: DataFrame,
    direction: str | Column,
    time: str | Column,
    src: str | Column,
    dst: str | Column,
) -> list[Column]:
    """Who sent a value and when, and from and to where if df says so."""

    def find(column: str | Column, default: str) -> Column | None:
        missing = isinstance(column, str) and column == default and default not in df.columns
        return None if missing else sf.col(column) if isinstance(column, str) else column

    when = find(time, "timestamp")
    source, target = find(src, "src"), find(dst, "dst")
    return [
        sf.col(direction) if isinstance(direction, str) else direction,
        sf.lit(None).cast("timestamp") if when is None else when,
        *([] if source is None or target is None else [source, target]),
    ]


def _check_event_types(columns: list[StructField], mode: str) -> None:
    """Raise TypeError or ValueError where columns beside the bytes have other types."""
    names = ("direction", "time", "src", "dst")
    for name, column in zip(names, columns, strict=False):
        times = isinstance(
            column.dataType, TimestampType | TimestampNTZType | IntegerType | LongType
        )
        if not (times if name == "time" else isinstance(column.dataType, StringType)):
            right = "a timestamp, or integers of µs since 1970" if name == "time" else "text"
            raise TypeError(f"{name} is {right}, not {column.dataType.simpleString()}")
    if mode != "PERMISSIVE":
        raise ValueError(f"mode is 'PERMISSIVE' at level='event', not {mode!r}")


def _columns(columns: Iterable[str | Column] | str | None) -> list[Column]:
    sources = [columns] if isinstance(columns, str) else list(columns or ())
    return [sf.col(source) if isinstance(source, str) else source for source in sources]


def check_binary(type_: DataType, col: str | Column | None) -> None:
    """TypeError where a column is not binary. col: by its name, if it has one."""
    if not isinstance(type_, BinaryType):
        what = repr(col) if isinstance(col, str) else "what is to be decoded"
        hint = ": unhex() or unbase64() makes binary of text" if type_ == StringType() else ""
        raise TypeError(f"{what} is {type_.simpleString()}, and frames are binary{hint}")


def requested_fields(
    fields: Iterable[str] | StructType | str | None,
) -> Iterable[str] | StructType | None:
    """Names as they are ("*" may stand alone), or the schema that DDL text means."""
    if fields == ALL:
        return [ALL]
    if isinstance(fields, str):
        parsed = parse_schema(fields)
        if not isinstance(parsed, StructType):
            raise ValueError(f"fields is names or a struct, not {parsed.simpleString()}")
        return parsed
    return fields


def decode_batches(
    batches: Iterable[pa.RecordBatch],
    decoded: Plan,
    keep_names: list[str],
    protocol: str,
    level: str,
    mode: str,
) -> Iterator[pa.RecordBatch]:
    """What runs in a worker: batches of kept columns and bytes to kept and decoded columns."""
    target = arrow_schema(decoded.schema)
    fields = [*decoded.fields, "row"] if keep_names else list(decoded.fields)
    before = 0
    for input_batch in batches:
        columns = [input_batch.column(i) for i in range(len(keep_names))]
        for start, rows in decode_column(
            input_batch.column(len(keep_names)),
            fields,
            protocol=protocol,
            level=level,
            mode=mode,
            field_tables=decoded.field_tables,
            whose=partial(_whose, before, input_batch.select(range(len(keep_names)))),
        ):
            out = conform(rows, decoded, target)
            if keep_names:
                at = pa.array(rows.column("row").to_numpy() + start)
                out = pa.RecordBatch.from_arrays(
                    [*(column.take(at) for column in columns), *out.columns],
                    schema=pa.schema([*[*input_batch.schema][: len(keep_names)], *target]),
                )
            yield out
        before += input_batch.num_rows


def _whose(before: int, keep_columns: pa.RecordBatch, row: int) -> str:
    return row_of_task(before + row, keep_columns.slice(row, 1))


def decode_column(
    values: pa.Array,
    fields: list[str],
    *,
    protocol: str,
    level: str,
    mode: str,
    field_tables: str = "json",
    piece: int | None = None,
    whose: Callable[[int], str] | None = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(index of the first value, its and the next ones' rows), in pieces of bounded size.

    whose: what an error says of the value with this index.
    """
    start = 0
    for length in pieces(values, CHUNK_BYTES if piece is None else piece):
        part = values.slice(start, length)
        options: Any = {"level": level, "mode": mode, "field_tables": field_tables}
        try:
            rows = batch.decode(part, protocol, fields=fields, **options)
        except DecodeError as problem:
            if whose is not None:
                tell_place(problem, whose(start + (problem.row or 0)))
            raise
        yield start, pa.record_batch(rows)
        start += length
