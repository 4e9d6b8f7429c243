"""Column functions: a binary column to a struct, in the manner of from_json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, StringType, StructType

from ..planning.columns import Plan, arrow_schema, conform, parse_schema, spark_type
from ..planning.options import CORRUPT, Options, mode_of
from ..planning.refusals import refusing
from ..planning.versions import arrow_udf, literal_value
from .by_pandas import PandasFunction
from .frames import check_binary, decode_column, plan_of_batch
from .pieces import row_of_task

__all__ = ["from_amqp", "from_amqp_udf", "schema_of_amqp", "schema_of_amqp_udf"]

#: Column functions give a value for each row: they cannot drop one.
_MODES = ("PERMISSIVE", "FAILFAST")
ONE_TYPE = (
    "here from_amqp has one type in SQL, and takes a column alone: "
    "register(spark, functions={name: schema}) makes functions with other schemas"
)
_OPTIONS = ("mode", "columnNameOfCorruptRecord", "protocol", "level", "fieldTables")


@refusing
def from_amqp(
    col: str | Column,
    schema: str | DataType | Column | None = None,
    options: Mapping[str, Any] | None = None,
) -> Column:
    """The frame in a binary column as a struct; null for a null or empty value.

    It is evaluated once, however often the result is used (a function that is marked
    nondeterministic for that); in an aggregate, select it first.

    Args:
        col: a binary column, each value one frame; or several, where schema is an array.
        schema: a struct, or an array of one, as a type or DDL text such as ``"channel int,
            method string"`` or ``"array<struct<method string>>"``, whose names are those of
            batch.decode. Only what it names is decoded. None: a struct of all columns. Or a
            column that is a literal text, and ``schema_of_amqp(bytes)``.
        options: ``mode`` ("PERMISSIVE" or "FAILFAST"), ``columnNameOfCorruptRecord`` (a string or
            binary of the schema that gets the bytes of bad values; default ``_corrupt_record``),
            ``protocol``, ``level`` ("frame"; "message" takes whole messages) and
            ``fieldTables`` (the type of field tables: "json", "variant" or "map"; by default the
            one that the schema says). Names in any case.

    A struct holds one frame: where a value has more, ``error`` says so ("FAILFAST" ends the job).

    Raises:
        ValueError: a name, type or option is not known.
        AnalysisException: where the column is selected: it is not binary.
    """
    if isinstance(schema, Column):
        schema = _literal(schema)
    return _of_binary(from_amqp_udf(schema, options), col)


def _of_binary(function: Any, col: str | Column) -> Column:
    """A function of a column that the analyzer refuses where it is not binary.

    bitmap_count() takes nothing else, and is not evaluated: of its type alone is asked, which is
    known before anything runs, so that the optimizer leaves nothing of the condition.
    """
    column = sf.col(col) if isinstance(col, str) else col
    checked = sf.when(sf.typeof(sf.bitmap_count(column)).isNotNull(), column)
    return named(function(checked), f"{function.__name__}({name_of(column)})")


def named(column: Column, name: str) -> Column:
    """A column with this name, which name_of() gives too."""
    result: Column = column.alias(name)
    result._amqp_name = name  # type: ignore[attr-defined]
    return result


def name_of(column: Column) -> str:
    """What Spark calls a column, or "..." for an expression that Spark 3.5 cannot print."""
    name = vars(column).get("_amqp_name")  # of named()
    if isinstance(name, str):
        return name
    try:
        return str(column).removeprefix("Column<'").removesuffix("'>")
    except AnalysisException:
        return "..."


def _literal(schema: Column) -> str:
    """The text of a column that is a literal: a function's type is fixed before a job starts."""
    inside = vars(schema)  # getattr() gives a column for any name
    schema_text = inside.get("_amqp_schema")  # of schema_of_amqp
    if isinstance(schema_text, str):
        return schema_text
    value = getattr(inside.get("_expr"), "_value", None)  # of Spark Connect
    if "_jc" in inside:
        value = literal_value(inside["_jc"])
    if not isinstance(value, str):
        raise ValueError(
            f"schema is text, a type or schema_of_amqp(bytes), not {schema}: the type of a "
            "function is fixed before a job starts"
        )
    return value


def from_amqp_udf(
    schema: str | DataType | None = None, options: Mapping[str, Any] | None = None
) -> Any:
    """The function that from_amqp stands for, to be called or registered."""
    job = _Job.of(schema, Options(options))
    rows = _Rows()

    def from_amqp(raw: pa.Array, *more: pa.Array) -> pa.Array:
        if more:
            raise ValueError(ONE_TYPE)
        return job.run(raw, rows.before(len(raw)))

    return _udf(from_amqp, job.type)


def _udf(function: Callable[..., pa.Array], returns: DataType) -> Any:
    if arrow_udf is None:
        return PandasFunction(function, returns)
    # Marked so that Spark does not run it again for each use of its result.
    return arrow_udf(function, returns).asNondeterministic()


def _check_binary(raw: pa.Array) -> None:
    """TypeError where values are not binary; a null without a type is one."""
    if not pa.types.is_null(raw.type):
        check_binary(spark_type(raw.type), None)


class _Rows:
    """Counts the rows of a task, which come to its function in batches."""

    def __init__(self) -> None:
        self._task: int | None = None
        self._count = 0

    def before(self, count: int) -> int:
        """How many rows came before these."""
        context = TaskContext.get()
        task = None if context is None else context.taskAttemptId()
        if task != self._task:
            self._task, self._count = task, 0
        self._count += count
        return self._count - count


@dataclass(frozen=True)
class _Job:
    """What from_amqp does to a batch; it travels to the workers."""

    plan: Plan
    type: DataType
    mode: str
    protocol: str
    level: str

    @classmethod
    def of(cls, schema: str | DataType | None, options: Options) -> _Job:
        options.refuse_unknown(_OPTIONS)
        parsed = None if schema is None else parse_schema(schema)
        row = parsed.elementType if isinstance(parsed, ArrayType) else parsed
        if row is not None and not isinstance(row, StructType):
            raise ValueError(f"schema is a struct or an array of one, not {parsed}")
        protocol, level = options.text("protocol", "0-9-1"), options.text("level", "frame").lower()
        mode = mode_of(options.text("mode", "PERMISSIVE"), _MODES)
        corrupt = options.text("columnNameOfCorruptRecord", CORRUPT)
        plan = plan_of_batch(protocol, level, row, corrupt, options.optional("fieldTables"))
        type_ = ArrayType(plan.schema) if isinstance(parsed, ArrayType) else plan.schema
        return cls(plan, type_, mode, protocol, level)

    def run(self, raw: pa.Array, before: int = 0) -> pa.Array:
        """before: rows of the task before these."""
        fields = ["row", *self.plan.fields]
        _check_binary(raw)
        if pa.types.is_null(raw.type):  # pandas keeps no type where all values are null
            raw = raw.cast(pa.binary())
        target = arrow_schema(self.plan.schema)
        chunks = []
        for start, rows in decode_column(
            raw,
            fields,
            protocol=self.protocol,
            level=self.level,
            mode=self.mode,
            field_tables=self.plan.field_tables,
            whose=lambda row: row_of_task(before + row),
        ):
            origin = rows.column(0).to_numpy()
            length = int(origin[-1]) + 1 if len(origin) else 0
            # Where in the rows each value's begin; values at the end may have none.
            ends = np.searchsorted(origin, np.arange(length + 1)).astype(np.int32)
            chunks.append((start, length, ends, rows.select(range(1, rows.num_columns))))
        parts, at = [], 0
        for (start, length, ends, rows), end in zip(
            chunks, [*(chunk[0] for chunk in chunks[1:]), len(raw)], strict=True
        ):
            assert at == start
            ends = np.append(ends, np.full(end - start - length, ends[-1], np.int32))
            values = raw.slice(start, end - start)
            if isinstance(self.type, ArrayType):
                parts.append(self._lists(rows, ends, target, values))
            else:
                parts.append(self._structs(rows, ends, target, values, before + start))
            at = end
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def _lists(self, rows: pa.RecordBatch, ends: Any, target: pa.Schema, raw: pa.Array) -> pa.Array:
        structs = _struct_array(conform(rows, self.plan, target))
        return pa.ListArray.from_arrays(
            pa.array(ends), structs, mask=raw.is_null() if raw.null_count else None
        )

    def _structs(
        self, rows: pa.RecordBatch, ends: Any, target: pa.Schema, raw: pa.Array, before: int
    ) -> pa.Array:
        counts = np.diff(ends)
        if (counts > 1).any():
            if self.mode == "FAILFAST":
                raise ValueError(
                    f"{row_of_task(before + int(counts.argmax()))}: "
                    f"the value holds {int(counts.max())} {self.level}s; "
                    "a schema of array<struct<...>> takes more than one"
                )
            rows = _first_rows(rows, ends, raw, self.plan.fields, self.level)
        elif len(counts) == rows.num_rows:
            return _struct_array(conform(rows, self.plan, target))
        else:
            rows = rows.take(pa.array(ends[:-1][counts > 0]))
        structs = _struct_array(conform(rows, self.plan, target))
        present = counts > 0
        if present.all():
            return structs
        return structs.take(pa.array(np.cumsum(present) - 1, mask=~present))


def _first_rows(
    rows: pa.RecordBatch, ends: Any, raw: pa.Array, fields: tuple[str, ...], level: str
) -> pa.RecordBatch:
    """The first row of each value; that there are more becomes its error, its bytes the value."""
    counts = np.diff(ends)
    present = counts > 0
    rows = rows.take(pa.array(ends[:-1][present]))
    more = pa.array(counts[present] > 1)
    if "error" in fields:
        at = fields.index("error")
        texts = pa.array(
            [
                f"{n} {level}s in one value: only the first is here" if n > 1 else None
                for n in counts[present].tolist()
            ],
            pa.string(),
        )
        rows = rows.set_column(at, "error", pc.coalesce(rows.column(at), texts))
    if "frame" in fields:
        at = fields.index("frame")
        raw_values = raw.filter(pa.array(present)).cast(pa.binary())
        rows = rows.set_column(at, "frame", pc.if_else(more, raw_values, rows.column(at)))
    return rows


def _struct_array(rows: pa.RecordBatch) -> pa.StructArray:
    return pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema))


@refusing
def schema_of_amqp(col: str | bytes | Column, options: Mapping[str, Any] | None = None) -> Column:
    """The schema, as DDL text, with which from_amqp takes all that a value holds.

    Args:
        col: a binary column, or bytes. A value with several frames gives an array of structs. Of
            bytes the result is a literal, which from_amqp takes as its schema.
        options: ``protocol``, ``level`` and ``fieldTables``, as from_amqp takes them.

    Raises:
        ValueError: an option is not known.
        AnalysisException: where the column is selected: it is not binary.
    """
    if isinstance(col, bytes):
        settings = Options(options)
        ddl = _schema_of(col, _Job.of(None, settings))
        literal = sf.lit(ddl)
        literal._amqp_schema = ddl  # type: ignore[attr-defined]
        return literal
    return _of_binary(schema_of_amqp_udf(options), col)


def schema_of_amqp_udf(options: Mapping[str, Any] | None = None) -> Any:
    """The function that schema_of_amqp stands for, to be called or registered."""
    settings = Options(options)
    job = _Job.of(None, settings)

    def schema_of_amqp(raw: pa.Array) -> pa.Array:
        _check_binary(raw)
        return pa.array([_schema_of(value, job) for value in raw.to_pylist()], pa.string())

    return _udf(schema_of_amqp, StringType())


def _schema_of(value: bytes | None, job: _Job) -> str | None:
    if not value:
        return None
    [(_, rows)] = decode_column(
        pa.array([value], pa.binary()),
        list(job.plan.fields),
        protocol=job.protocol,
        level=job.level,
        mode=job.mode,
        field_tables=job.plan.field_tables,
    )
    columns = []
    for column, values in zip(job.plan.schema, rows.columns, strict=True):
        if values.null_count == len(values):
            continue
        type_ = column.dataType
        if isinstance(type_, StructType):
            type_ = StructType(
                [
                    field
                    for field, child in zip(type_, values.flatten(), strict=True)
                    if child.null_count < len(child)
                ]
            )
            if not len(type_):
                continue
        columns.append(f"{column.name}: {type_.simpleString()}")
    struct = f"struct<{', '.join(columns)}>"
    return f"array<{struct}>" if rows.num_rows > 1 else struct
