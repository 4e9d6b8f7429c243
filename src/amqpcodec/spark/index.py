"""The pass that cuts huge captures into ranges, as tasks: one a file, or chain.

Where Spark plans a read, a source of Python's has no session and can start no job: there the pass
is the driver's. Made before by this function, it is found there and not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import IntegerType, StringType, StructType

from .captures import each_by_a_task
from .columns import arrow_schema
from .files import CaptureFile
from .reading import TASK_BYTES
from .source import CaptureRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["index_captures"]

_SCHEMA = (
    StructType().add("file", StringType()).add("files", IntegerType()).add("ranges", IntegerType())
)


def index_captures(
    spark: SparkSession,
    path: str | Iterable[str],
    options: Mapping[str, Any],
) -> DataFrame:
    """Make the ranges of captures larger than ``maxPartitionBytes``, for later reads to find.

    ::

        options = {"stateLocation": "/mnt/states", "maxPartitionBytes": "256m"}
        index_captures(spark, "/mnt/captures/", options)
        spark.read.format("amqp_capture").options(**options).load("/mnt/captures/")

    It runs a job at once, with a task for each such file or chain of files, which reads it without
    making rows.

    Args:
        spark: a session.
        path: a file, folder or glob, or some of them.
        options: those of ``amqp_capture`` with which the files are read later; ``stateLocation``,
            ``maxPartitionBytes``, ``level``, ``ports``, ``protocol``, ``redact``, ``keylog`` and
            those that choose files matter.

    Returns:
        A row for each file or chain: file (the first), files (how many) and ranges (one: it cannot
        be cut, since a file of it is packed).

    Raises:
        ValueError: an option is wrong, or stateLocation is missing.
        FileNotFoundError: a path stands for nothing.
    """
    reader = CaptureRows.of(path, options)
    if not reader.options.optional("stateLocation"):
        raise ValueError("option stateLocation is missing: where the ranges are kept")
    raw = reader.options.octets("maxPartitionBytes", TASK_BYTES)
    large = [chain for chain in reader.chains() if sum(file.size for file in chain) > raw]
    target = arrow_schema(_SCHEMA)

    def cut(chain: list[CaptureFile]) -> Iterator[pa.RecordBatch]:
        made = [chain[0].path], [len(chain)], [max(1, len(reader.cut(chain, raw)))]
        yield pa.RecordBatch.from_arrays(list(map(pa.array, made)), names=target.names).cast(target)

    return spark.createDataFrame(each_by_a_task(spark, large, cut, _SCHEMA).collect(), _SCHEMA)
