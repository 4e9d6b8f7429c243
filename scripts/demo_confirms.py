"""Publish-to-confirm times out of a capture, on Spark.

A broker confirms messages by number: the n-th basic.publish of a channel since confirm.select. A
basic.ack or basic.nack tells of one number, or with `multiple` of all up to it that were not told
of before. So each side is numbered in its own order, by packet_offset and position, never by time.
A channel that is opened again starts anew. After bytes that were not captured nobody knows the
numbers: publishes from there on are not counted, and no channels without a captured confirm.select.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIELDS = (
    *("file", "connection", "connection_index", "direction", "channel", "timestamp"),
    *("packet_offset", "position", "flags", "method", "delivery_tag"),
    *("basic.ack.multiple", "basic.nack.multiple"),
)
CHANNEL = ("file", "connection", "connection_index", "channel", "opened")


def read_frames(spark: SparkSession, path: Path | str) -> DataFrame:
    """What is needed of each frame of a capture."""
    from amqpcodec import spark as amqp_spark

    amqp_spark.register(spark)
    reader = spark.read.format("amqp_capture").option("fields", ",".join(FIELDS))
    return reader.load(str(path))


def confirm_times(frames: DataFrame) -> DataFrame:
    """A row each publish of a channel in confirm mode.

    Columns: those of CHANNEL, number (of the publish), published, confirmed (timestamps; null while
    it was not), nacked, ms (between the two).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    order = ("packet_offset", "position")
    side = Window.partitionBy("file", "connection", "direction").orderBy(*order)
    stream = Window.partitionBy("file", "connection", "channel", "direction").orderBy(*order)

    def count_so_far(condition: object, window: object) -> object:
        """How many rows so far meet it."""
        return F.sum(F.when(condition, 1).otherwise(0)).over(window)  # type: ignore[arg-type]

    # Opened again: each side's own word for it counts in that side.
    rows = frames.withColumn("lost", count_so_far(F.array_contains("flags", "gap"), side))
    rows = rows.where("channel > 0").withColumn(
        "opened", count_so_far(F.col("method").isin("channel.open", "channel.open-ok"), stream)
    )
    mine = Window.partitionBy(*CHANNEL, "direction").orderBy(*order)

    published = (
        rows.where("direction = 'client'")
        .withColumn("confirms", count_so_far(F.col("method") == "confirm.select", mine))
        .where("method = 'basic.publish' AND confirms > 0 AND lost = 0")
        .withColumn("number", F.row_number().over(mine).cast("long"))
        .select(*CHANNEL, "number", F.col("timestamp").alias("published"))
    )
    several = F.coalesce("`basic.ack.multiple`", "`basic.nack.multiple`")
    answers = (
        rows.where("direction = 'server' AND method IN ('basic.ack', 'basic.nack')")
        .withColumn("multiple", several)
        .withColumn("highest", F.expr("IF(multiple, delivery_tag, 0)"))
        # All that an earlier one of several has told of already is not told of again.
        .withColumn(
            "before", F.max("highest").over(mine.rowsBetween(Window.unboundedPreceding, -1))
        )
    )
    counts = published.groupBy(*CHANNEL).agg(F.max("number").alias("last"))
    numbers = F.expr(
        "IF(multiple, CASE WHEN coalesce(before, 0) < least(delivery_tag, last)"
        " THEN sequence(coalesce(before, 0) + 1, least(delivery_tag, last)) ELSE array() END,"
        " array(delivery_tag))"
    )
    first = F.struct(*order, F.col("timestamp").alias("confirmed"), "method")
    confirmed = (
        answers.join(counts, list(CHANNEL))
        .withColumn("number", F.explode(numbers))
        .groupBy(*CHANNEL, "number")
        .agg(F.min(first).alias("answer"))
    )
    return published.join(confirmed, [*CHANNEL, "number"], "left").select(
        *CHANNEL,
        "number",
        "published",
        F.col("answer.confirmed").alias("confirmed"),
        (F.col("answer.method") == "basic.nack").alias("nacked"),
        F.expr("(unix_micros(answer.confirmed) - unix_micros(published)) / 1000.0").alias("ms"),
    )


def summary(times: DataFrame) -> DataFrame:
    """Count, median, p95 and maximum, a row each connection and channel."""
    from pyspark.sql import functions as F  # noqa: N812

    def ms(expression: str, name: str) -> object:
        return F.round(F.expr(expression).cast("double"), 3).alias(name)

    return (
        times.groupBy("connection_index", "channel")
        .agg(
            F.count("*").alias("published"),
            F.count("confirmed").alias("confirmed"),
            F.count(F.expr("CASE WHEN nacked THEN 1 END")).alias("of them nacked"),
            ms("percentile(ms, 0.5)", "median ms"),
            ms("percentile(ms, 0.95)", "p95 ms"),
            ms("max(ms)", "max ms"),
        )
        .orderBy("connection_index", "channel")
    )
