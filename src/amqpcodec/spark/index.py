"""The pass that cuts huge captures into ranges, as tasks: one a file, or chain.

Where Spark plans a read, a source of Python's has no session and can start no job: there the pass
is the driver's. Made before by this function, it is found there and not made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import IntegerType, StringType, StructType

from .columns import arrow_schema
from .options import Options
from .reading import TASK_BYTES
from .source import CaptureRows
from .versions import needs_sources

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
        NotImplementedError: before Spark 4.0.
    """
    needs_sources("index_captures")
    paths = [path] if isinstance(path, str) else list(path)
    reader = CaptureRows(Options({**options, "paths": json.dumps(paths)}), None)
    reader.check()
    if not reader.options.optional("stateLocation"):
        raise ValueError("option stateLocation is missing: where the ranges are kept")
    raw = reader.options.octets("maxPartitionBytes", TASK_BYTES)
    large = [chain for chain in reader.chains() if sum(file.size for file in chain) > raw]
    target = arrow_schema(_SCHEMA)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            chains = [large[number] for number in rows.column(0).to_pylist()]
            made = [max(1, len(reader.cut(chain, raw))) for chain in chains]
            columns = [[chain[0].path for chain in chains], list(map(len, chains)), made]
            yield pa.RecordBatch.from_pydict(
                dict(zip(target.names, columns, strict=True)), schema=target
            )

    tasks = spark.range(0, len(large), 1, max(1, len(large)))
    return spark.createDataFrame(tasks.mapInArrow(run, _SCHEMA).collect(), _SCHEMA)
