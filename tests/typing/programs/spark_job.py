"""A job on Spark, as docs/spark.md shows its parts: a table, messages of frames, a stream."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from amqpcodec import spark as amqp_spark


def busiest(spark: SparkSession, folder: str) -> DataFrame:
    """How often each method was sent, of the captures in a folder."""
    amqp_spark.register(spark, functions={"amqp_heads": "channel int, method string"})
    frames = spark.read.format("amqp_capture").option("fields", "method,error").load(folder)
    return frames.where("error IS NULL").groupBy("method").count()


def losses(spark: SparkSession, folder: str) -> DataFrame:
    """What was not captured, file by file."""
    amqp_spark.index_captures(spark, folder, {"stateLocation": "/shared/states"})
    return amqp_spark.capture_stats(spark, folder).selectExpr("file", "gaps", "lost_bytes")


def messages(captured: DataFrame) -> DataFrame:
    """A row a message, of frames in a column."""
    return amqp_spark.decode(
        captured,
        "frame",
        fields=["exchange", "routing_key", "body", "error"],
        keep=["connection"],
        level="message",
        by=["connection"],
        order=["number"],
    )


def forwarded(decoded: DataFrame) -> DataFrame:
    """The same messages as bytes, and in a column beside the others."""
    sent = amqp_spark.encode(decoded.select("exchange", "routing_key", "body"))
    assert sent.where("error IS NOT NULL").count() == 0
    frame = amqp_spark.to_amqp("exchange", "routing_key", "body")
    schema = amqp_spark.schema_of_amqp(b"\x08\0\0\0\0\0\0\xce")
    return decoded.select(frame.alias("frame")).select(
        amqp_spark.from_amqp("frame", schema).alias("f")
    )


def arriving(spark: SparkSession, folder: str) -> StreamingQuery:
    """A stream over a folder that a rotating capture fills."""
    rows = spark.readStream.format("amqp_capture").option("stateLocation", "/shared/a").load(folder)
    return rows.writeStream.format("memory").queryName("arrived").start()
