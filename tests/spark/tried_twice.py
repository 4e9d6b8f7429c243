"""What Spark does where tasks fail, as a program: each task dies once, on the master it is told.

python -m tests.spark.tried_twice MASTER FOLDER LEVEL...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

FIELDS = "file,connection,direction,packet_offset,position,timestamp,method,channel,error"


def dying(batches: Iterable[Any]) -> Iterator[Any]:
    """The rows; but a task that is tried for the first time ends its process in their middle."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for number, rows in enumerate(batches):
        if number == 0 and context.attemptNumber() == 0:
            yield rows.slice(0, rows.num_rows // 2)
            os._exit(1)
        yield rows


def ordered(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    key = ("file", "packet_offset", "position", "direction")
    return sorted(rows, key=lambda row: [row[name] for name in key])


def main(master: str, place: Path, levels: list[str]) -> None:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from amqpcodec import capture
    from amqpcodec import spark as amqp
    from scripts import jre

    os.environ["JAVA_HOME"] = str(jre.java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).appName("tried twice")
    settings = {
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    amqp.register(spark)
    files = sorted(map(str, (place / "folder").iterdir()))
    for level in levels:
        fields = FIELDS.split(",")
        reader = capture.read(files, level=level, fields=fields, files="rotation")
        expected = ordered(row for rows in reader for row in pa.record_batch(rows).to_pylist())
        for octets in ("1g", "20k"):
            frames = (
                spark.read.format("amqp_capture")
                .option("stateLocation", str(place / f"states-{level}"))
                .options(maxPartitionBytes=octets, fields=FIELDS, level=level, files="rotation")
                .load(str(place / "folder"))
            )
            result_rows = ordered(frames.mapInArrow(dying, frames.schema).toArrow().to_pylist())
            assert result_rows == expected, (level, octets, len(result_rows), len(expected))
        stream = (
            spark.readStream.format("amqp_capture")
            .option("stateLocation", str(place / f"stream-{level}"))
            .options(maxPartitionBytes="20k", maxFilesPerTrigger=3, closeAfter="0s")
            .options(fields=FIELDS, level=level)
            .load(str(place / "folder"))
        )
        query = (
            stream.mapInArrow(dying, stream.schema)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(place / f"checkpoint-{level}"))
            .trigger(availableNow=True)
            .start(str(place / f"out-{level}"))
        )
        query.awaitTermination()
        result_rows = ordered(spark.read.parquet(str(place / f"out-{level}")).toArrow().to_pylist())
        assert result_rows == expected, (level, len(result_rows), len(expected))
        print(level, len(expected), "rows")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
