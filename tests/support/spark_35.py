"""What the tests use of Spark and 3.5 lacks, by way of Parquet: Arrow tables in and out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_arrow_tables"]


def add_arrow_tables() -> None:
    """Give Spark 3.5 the DataFrame.toArrow and the createDataFrame of Spark 4.0."""
    if hasattr(DataFrame, "toArrow"):
        return
    create: Callable[..., DataFrame] = SparkSession.createDataFrame

    def create_data_frame(self: SparkSession, rows: Any, *args: Any, **options: Any) -> DataFrame:
        if not isinstance(rows, pa.Table):
            return create(self, rows, *args, **options)
        path = Path(tempfile.mkdtemp(), "rows.parquet")
        pq.write_table(rows, path)
        return self.read.parquet(str(path))

    DataFrame.toArrow = _to_arrow  # type: ignore[method-assign]
    SparkSession.createDataFrame = create_data_frame  # type: ignore[method-assign, assignment]


def _to_arrow(frame: DataFrame) -> pa.Table:
    frame.sparkSession.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    folder = str(Path(tempfile.mkdtemp(), "rows"))
    frame.coalesce(1).write.parquet(folder)
    return pq.ParquetDataset(folder).read()
