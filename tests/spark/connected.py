"""What Spark Connect gives, as a program: a client with a server of its own on this machine."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import pytest

from scripts import demo_spark, jre
from tests.paths import REPO

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


def session():
    """A client of a server that it starts."""
    os.environ["JAVA_HOME"] = str(jre.java_home())
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_CONF_DIR"] = str(demo_spark.SETTINGS)
    os.environ["SPARK_TESTING"] = "1"  # a free port, and not the one that all others use
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote("local[2]").getOrCreate()


def main(place: Path) -> None:
    import pyarrow as pa
    from pyspark.errors import AnalysisException

    from amqpcodec import capture
    from amqpcodec import spark as amqp
    from amqpcodec import v0_9_1 as wire

    spark = session()
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    amqp.register(spark, functions={"amqp_heads": "channel int, method string"})
    expected = sum(len(rows) for rows in capture.read(str(RECORDING)))
    frames = spark.read.format("amqp_capture").option("fields", "*").load(str(RECORDING))
    assert frames.count() == expected
    assert amqp.read_captures(spark, str(RECORDING)).count() == expected
    stored = spark.read.format("binaryFile").load(str(RECORDING))
    assert amqp.decode_captures(stored, name="path").count() == expected
    [counts] = amqp.capture_stats(spark, str(RECORDING)).collect()
    assert sum(counts.frames.values()) == expected

    plain = place / "x.pcap"
    plain.write_bytes(gzip.decompress(RECORDING.read_bytes()))
    range_options = {"stateLocation": str(place / "states"), "maxPartitionBytes": "20k"}
    assert amqp.index_captures(spark, str(plain), range_options).collect()[0].ranges > 3
    ranges = spark.read.format("amqp_capture").options(**range_options).load(str(plain))
    assert ranges.count() == expected

    publish = wire.encode(3, wire.Basic.Publish(exchange="e", routing_key="k"))
    table = spark.createDataFrame([(1, publish), (2, b"\1\0")], "id int, frame binary")
    table.createOrReplaceTempView("captured")
    assert [r.method for r in amqp.decode(table, fields=["method"]).collect()] == [
        "basic.publish", None,
    ]  # fmt: skip
    for schema in ("method string", amqp.schema_of_amqp(publish)):
        heads = table.select(amqp.from_amqp("frame", schema).alias("f")).select("f.method")
        assert [row.method for row in heads.collect()] == ["basic.publish", None]
    texts = table.selectExpr("hex(frame) AS frame")
    with pytest.raises(TypeError, match="'frame' is string"):
        amqp.decode(texts)
    for function in (amqp.from_amqp, amqp.schema_of_amqp):
        with pytest.raises(AnalysisException, match='requires the "BINARY" type'):
            _ = texts.select(function("frame")).schema
    sent = amqp.encode(spark.createDataFrame([("e", b"x")], "exchange string, body binary"))
    assert sent.toArrow().column("error").null_count == 1

    query = "SELECT from_amqp(frame).method, amqp_heads(frame).channel FROM captured"
    first, second = map(tuple, spark.sql(query).collect())
    assert (first, second) == (("basic.publish", 3), (None, None))
    with pytest.raises(Exception, match=r"register\(spark, functions=\{name: schema\}\)"):
        spark.sql("SELECT from_amqp(frame, 'method STRING') FROM captured").collect()

    stream = spark.readStream.format("amqp_capture").options(
        stateLocation=str(place / "stream"), closeAfter="0s", pathGlobFilter="*.pcap"
    )
    writer = stream.load(str(place)).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination()
    streamed = spark.read.parquet(str(place / "out")).count()
    assert streamed == sum(len(rows) for rows in capture.Reader(str(plain)).read(end=False))
    column_names = pa.schema(capture.schema("frame")).names
    assert frames.columns == column_names
    spark.stop()
    print(expected, "rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
