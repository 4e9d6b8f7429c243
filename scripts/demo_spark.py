"""A local Spark session, and the decoding of a column of frames on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import jre

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = Path(__file__).resolve().parent.parent / "demo" / "spark"


def local_session(name: str = "amqpcodec", threads: int = 2) -> SparkSession:
    """A quiet session on this machine alone."""
    os.environ["JAVA_HOME"] = str(jre.java_home())
    # Workers would run the PATH's python3 otherwise, which need not have this package.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_CONF_DIR"] = str(SETTINGS)
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(threads),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(f"local[{threads}]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def decode_frames(frames: DataFrame, column: str = "frame", fields: list[str] | None = None):
    """The frame columns of amqpcodec.batch beside all other columns of ``frames``.

    column: binary, each value one or more whole frames, and a row of the result each frame.
    fields: the columns wanted, as batch.decode takes them; None: all.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    from amqpcodec import batch

    other_columns = [name for name in frames.columns if name != column]
    arrow_schema = pa.schema(batch.schema("0-9-1", "frame", fields, "plain"))
    frame_columns = [name for name in arrow_schema.names if name != "row"]
    decoded = from_arrow_schema(pa.schema([arrow_schema.field(name) for name in frame_columns]))
    schema = StructType([*frames.select(*other_columns).schema.fields, *decoded.fields])

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported by the worker: the function travels by value, what it calls is installed there.
        import pyarrow as pa

        from amqpcodec import batch

        for incoming_batch in batches:
            values = incoming_batch.column(column)
            rows = pa.record_batch(
                batch.decode(
                    values, protocol="0-9-1", level="frame", fields=["row", *frame_columns]
                )
            )
            origin = rows.column("row")
            columns = [incoming_batch.column(name).take(origin) for name in other_columns]
            columns += [rows.column(name) for name in frame_columns]
            yield pa.RecordBatch.from_arrays(columns, names=[*other_columns, *frame_columns])

    return frames.mapInArrow(run, schema)
