"""Captures as rows of mapInArrow, whose tasks are planned where the function is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructType

from ..planning.columns import parse_schema
from ..planning.refusals import refusing
from .data_source import CaptureRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_captures", "task_for_each"]


@refusing
def read_captures(
    spark: SparkSession,
    path: str | Iterable[str],
    options: Mapping[str, Any] | None = None,
    schema: StructType | str | None = None,
    *,
    filesystem: Any = None,
) -> DataFrame:
    """The rows of ``spark.read.format("amqp_capture").options(...).schema(...).load(path)``.

    It needs no register(), works with Spark 3.5 too, and takes a third less CPU time for all
    columns, since Spark copies each row of a format once more. Files are listed, looked at and
    cut into ranges now, by this process, and not anew for each query: what comes later is not read.

    Args:
        spark: a session.
        path: a file, folder or glob, or some of them.
        options: those of ``amqp_capture``. Those of its streams alone (``closeAfter``,
            ``maxFilesPerTrigger``, ``maxBytesPerTrigger``) change nothing, here and in ``load``.
        schema: the columns, named as ``fields`` names them; StructType or DDL text. None: those of
            the option ``fields``, or those of bounded size, as the format has it.
        filesystem: what all paths are of: a file system of pyarrow.fs, or of fsspec, that can be
            pickled, since tasks open the files. None: see the options ``fs.*``.

    Raises:
        ValueError: an option is wrong, or a column is not known.
        FileNotFoundError: a path stands for nothing.
    """
    requested_schema = None if schema is None else parse_schema(schema)
    if not isinstance(requested_schema, StructType | None):
        raise ValueError(f"schema is a struct, not {requested_schema}")
    reader = CaptureRows.of(path, options, requested_schema, filesystem)
    return task_for_each(spark, reader.partitions(), reader.read, reader.read_options.plan.schema)


def task_for_each(
    spark: SparkSession,
    items: Iterable[Any],
    rows: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    """The rows of each item, which a task of its own makes."""
    parts = list(items)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                yield from rows(parts[number])

    return spark.range(0, len(parts), 1, max(1, len(parts))).mapInArrow(run, schema)
