"""The pass that cuts huge captures into ranges, as tasks: one a file, or rotation.

Where Spark plans a read, a source of Python's has no session and can start no job: there the pass
is the driver's. Made before by this function, it is found there and not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from ..planning.columns import arrow_schema
from ..planning.files import StoredFile
from ..planning.prescan import Outlined
from ..planning.reading import TASK_BYTES
from ..planning.refusals import refusing
from .captures import task_for_each
from .data_source import CaptureRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["index_captures"]

_SCHEMA = (
    StructType().add("file", StringType()).add("files", IntegerType()).add("ranges", IntegerType())
)
_OUTLINED = StructType().add("bytes", LongType())


@refusing
def index_captures(
    spark: SparkSession,
    path: str | Iterable[str],
    options: Mapping[str, Any],
    *,
    filesystem: Any = None,
) -> DataFrame:
    """Make the ranges of captures larger than ``maxPartitionBytes``, for later reads to find.

    ::

        options = {"stateLocation": "/mnt/states", "maxPartitionBytes": "256m"}
        index_captures(spark, "/mnt/captures/", options)
        spark.read.format("amqp_capture").options(**options).load("/mnt/captures/")

    It runs jobs at once. With a task for each such file or rotation, which reads it without
    making rows; before that, with a task for each range of those of many ranges, which outlines it:
    what has to be read of all ranges one after the other, a small part as a rule. So it takes
    longer with more bytes in all, not with more of them in one file.

    Args:
        spark: a session.
        path: a file, folder or glob, or some of them.
        options: those of ``amqp_capture`` with which the files are read later; ``stateLocation``,
            ``maxPartitionBytes``, ``level``, ``ports``, ``protocol``, ``redact``, ``keylog``,
            the limits and those that choose files matter.
        filesystem: as read_captures has it.

    Returns:
        A row for each file or rotation: file (the first), files (how many) and ranges (one: it
        cannot be cut, since a file of it is compressed).

    Raises:
        ValueError: an option is wrong, or stateLocation is missing.
        FileNotFoundError: a path stands for nothing.
    """
    reader = CaptureRows.of(path, options, None, filesystem)
    if not reader.options.optional("stateLocation"):
        raise ValueError("option stateLocation is missing: where the ranges are kept")
    raw = reader.options.octets("maxPartitionBytes", TASK_BYTES)
    large = [chain for chain in reader.chains() if sum(file.size for file in chain) > raw]
    target = arrow_schema(_SCHEMA)

    def outline(item: Outlined) -> Iterator[pa.RecordBatch]:
        size = reader.outline(item, raw)
        yield pa.RecordBatch.from_arrays([pa.array([size])], names=_OUTLINED.names)

    outlined = [item for chain in large for item in reader.to_outline(chain, raw)]
    task_for_each(spark, outlined, outline, _OUTLINED).collect()

    def count_ranges(chain: list[StoredFile]) -> Iterator[pa.RecordBatch]:
        columns = [chain[0].path], [len(chain)], [max(1, len(reader.split_chain(chain, raw)))]
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=target.names).cast(
            target
        )

    return spark.createDataFrame(
        task_for_each(spark, large, count_ranges, _SCHEMA).collect(), _SCHEMA
    )
