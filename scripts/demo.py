"""From a recording of RabbitMQ traffic to a Spark table.

    python -m scripts.demo [CAPTURE]       run in the repository; `make demo` sets all up before

The capture is read by amqpcodec.capture, decoded on local Spark by amqpcodec.batch inside
mapInArrow, and shown: the table of frames, frames by method, messages by exchange and routing key.
Then a recording with publisher confirms is read as a Spark data source, and shown: how long the
broker took to confirm what was published.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import demo_confirms, demo_spark, jre

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

DEMO = Path(__file__).resolve().parent.parent / "demo"
CAPTURE = DEMO / "kombu_celery.pcap.gz"
CONFIRMS = DEMO / "confirms" / "rabbitmq.pcap.gz"
SECRETS = ("connection.start-ok", "connection.update-secret")
SHOWN_ROWS = 24


def step(text: str, started: float = time.monotonic()) -> None:
    """A line of progress."""
    print(f"[{time.monotonic() - started:5.1f} s] {text}", flush=True)


def read_frames(path: Path) -> pa.Table:
    """Every frame of a capture, as an Arrow table; ``n`` keeps the file's order."""
    import pyarrow as pa

    from amqpcodec import capture

    reader = capture.read(path, fields=["timestamp", "connection_index", "direction", "frame"])
    table = pa.Table.from_batches([pa.record_batch(batch) for batch in reader])
    stats = reader.stats()
    step(
        f"{table.num_rows} frames of {stats['connections']} connections"
        f" in {stats['packets']} packets, {sum(stats['skipped'].values())} skipped"
        + (f"; {reader.damaged}" if reader.damaged else "")
    )
    names = ["timestamp", "conn", "from", "frame"]
    return table.rename_columns(names).add_column(
        0, "n", pa.array(range(table.num_rows), pa.int64())
    )


def show_table(decoded: DataFrame) -> None:
    """The beginning of the busiest connection, with columns that fit a wide terminal."""
    from pyspark.sql import functions as F  # noqa: N812

    by_connection = decoded.groupBy("conn").count().orderBy(F.desc("count"), "conn")
    (busiest, rows) = by_connection.first() or (0, 0)
    print(f"The table: the first {min(rows, SHOWN_ROWS)} rows of connection {busiest}")
    # Logins and tokens are nobody's business.
    arguments = F.when(F.col("method").isin(*SECRETS), "(not shown: credentials)")
    # A body that is text as text; a header and any other body as a size.
    raw = F.coalesce("body_size", F.octet_length("payload"))
    body = F.coalesce(
        F.try_validate_utf8(F.col("payload").cast("string")), F.concat(raw, F.lit(" bytes"))
    )
    shown = decoded.where(F.col("conn") == busiest).select(
        "n",
        F.date_format("timestamp", "HH:mm:ss.SSSSSS").alias("time"),
        "from",
        F.col("channel").alias("ch"),
        F.coalesce("method", "frame_type").alias("frame"),
        arguments.otherwise(F.col("arguments")).alias("arguments"),
        "properties.content_type",
        "properties.headers",
        body.alias("body"),
        "error",
    )
    shown.orderBy("n").limit(SHOWN_ROWS).na.fill("").show(SHOWN_ROWS, truncate=52)


def show_summary(decoded: DataFrame) -> None:
    """Frames by method, messages by exchange and routing key, and what was no frame."""
    from pyspark.sql import functions as F  # noqa: N812

    print("Frames by method")
    by_method = decoded.groupBy(F.coalesce("method", "frame_type").alias("frame")).agg(
        F.count("*").alias("frames"),
        F.count(F.when(F.col("from") == "client", 1)).alias("from client"),
        F.count(F.when(F.col("from") == "server", 1)).alias("from server"),
    )
    by_method.orderBy(F.desc("frames"), "frame").show(60, truncate=False)

    print("Messages by exchange and routing key")
    messages = decoded.where(F.col("method").isin("basic.publish", "basic.deliver"))
    messages.groupBy(
        F.get_json_object("arguments", "$.exchange").alias("exchange"),
        F.get_json_object("arguments", "$.routing_key").alias("routing key"),
    ).agg(
        F.count(F.when(F.col("method") == "basic.publish", 1)).alias("published"),
        F.count(F.when(F.col("method") == "basic.deliver", 1)).alias("delivered"),
    ).orderBy(F.desc("published"), "exchange", "routing key").show(40, truncate=60)

    errors = decoded.where("error is not null").count()
    step(f"{decoded.count()} rows, {errors} with an error")


def show_confirms(spark: SparkSession, path: Path) -> None:
    """Publish-to-confirm times, a row each channel in confirm mode."""
    step(f'reading {path.name} with spark.read.format("amqp_capture")')
    times = demo_confirms.confirm_times(demo_confirms.read_frames(spark, path)).cache()
    print(f"From basic.publish to the basic.ack or basic.nack that confirms it, {path.name}")
    demo_confirms.summary(times).show(40, truncate=False)
    step(f"{times.where('confirmed is not null').count()} of {times.count()} publishes confirmed")


def main(arguments: list[str]) -> int:
    """Runs the demo on the shipped capture or the one named."""
    path = Path(arguments[0]) if arguments else CAPTURE
    step(f"reading {path.name}")
    table = read_frames(path)
    step("starting Spark")
    try:
        spark: SparkSession = demo_spark.local_session()
    except jre.NoJava as problem:
        print(problem, file=sys.stderr)
        return 2
    step(f"Spark {spark.version}: decoding in mapInArrow")
    # Cached: each of the tables below would decode everything anew.
    decoded = demo_spark.decode_frames(spark.createDataFrame(table)).cache()
    show_table(decoded)
    show_summary(decoded)
    show_confirms(spark, Path(arguments[0]) if arguments else CONFIRMS)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
