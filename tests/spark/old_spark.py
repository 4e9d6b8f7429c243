"""What works on older Sparks, as a program: it runs in the Python that has one of them."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile

import pyspark

from amqpcodec import batch, capture
from amqpcodec import spark as amqp
from amqpcodec import v0_9_1 as wire
from scripts.demo_spark import local_session
from tests.paths import REPO


def streamed(spark, path) -> int:
    """Rows of a stream over a folder with this file, in two queries."""
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/in")
        shutil.copy(path, f"{place}/in")
        for _ in range(2):
            stream = spark.readStream.format("amqp_capture").options(
                stateLocation=f"{place}/states", closeAfter="0s", fields="method"
            )
            writer = stream.load(f"{place}/in").writeStream.format("parquet")
            writer = writer.option("checkpointLocation", f"{place}/checkpoint")
            writer.trigger(availableNow=True).start(f"{place}/out").awaitTermination()
        return spark.read.parquet(f"{place}/out").count()


def main() -> None:
    import pyarrow as pa
    from pyspark.sql import functions as sf

    version = tuple(map(int, pyspark.__version__.split(".")[:2]))
    spark = local_session("old")
    properties = wire.Basic.Properties(message_id="m", headers={"n": 1})
    publish = wire.encode_message(1, wire.Basic.Publish(exchange="e"), properties, b"body")
    frames = spark.createDataFrame([(1, publish), (2, b"bad"), (3, None)], "id long, frame binary")

    rows = amqp.decode(frames, keep=["id"]).collect()
    expected = pa.record_batch(batch.decode(pa.array([publish, b"bad"]))).to_pylist()
    assert [(r.id, r.method, r.arguments, bytes(r.frame), r.error) for r in rows] == [
        (e["row"] + 1, e["method"], e["arguments"], e["frame"], e["error"]) for e in expected
    ]
    assert rows[1].properties.message_id == "m"
    message = ""
    try:
        amqp.decode(frames.selectExpr("hex(frame) AS frame"))
    except TypeError as problem:
        message = str(problem)
    assert "'frame' is string" in message, message
    narrow = amqp.decode(frames, fields="method string, properties struct<message_id: string>")
    assert narrow.columns == ["method", "properties"]
    messages = amqp.decode(
        frames, level="message", keep=["id"], by=["id"], order=["id"], fields=["method", "body"]
    )
    assert (1, "basic.publish", b"body") in [tuple(row) for row in messages.collect()]
    sent = amqp.encode(spark.createDataFrame([("e", b"x")], "exchange string, body binary"))
    assert bytes(sent.collect()[0].frame).startswith(b"\1\0\1")

    path = REPO / "demo" / "kombu_celery.pcap.gz"
    data = gzip.decompress(path.read_bytes())
    stored = spark.createDataFrame([("a", data)], "path string, content binary")
    from_values = amqp.decode_captures(stored, name="path", fields="*")
    assert from_values.count() == sum(len(rows) for rows in capture.read(str(path)))
    assert from_values.select("timestamp").collect()[0].timestamp.year > 2000

    names = ["packet_offset", "position", "direction", "timestamp", "method", "frame", "error"]
    read = amqp.read_captures(spark, str(path), {"fields": ",".join(names)})
    assert sorted(map(repr, read.collect())) == sorted(
        map(repr, from_values.select(names).collect())
    )
    plain = f"{tempfile.mkdtemp()}/x.pcap"
    with open(plain, "wb") as out:
        out.write(data)
    range_options = {"stateLocation": os.path.dirname(plain), "maxPartitionBytes": "20k"}
    assert amqp.index_captures(spark, plain, range_options).collect()[0].ranges > 3
    assert amqp.read_captures(spark, plain, range_options).count() == from_values.count()

    refused = []
    for name, call in (
        ("register", lambda: amqp.register(spark)),
        ("capture_stats", lambda: amqp.capture_stats(spark, str(path)).collect()),
        ("from_amqp", lambda: frames.select(amqp.from_amqp("frame")).collect()),
        ("to_amqp", lambda: frames.select(amqp.to_amqp(sf.struct("frame"))).collect()),
    ):
        try:
            call()
        except NotImplementedError as problem:
            refused.append(name if "or later is needed" in str(problem) else f"{name}: {problem}")
        except Exception:
            assert name == "to_amqp", name  # frame is no column of a message
    assert refused == {
        (3, 5): ["register", "capture_stats", "from_amqp", "to_amqp"],
        (4, 0): ["from_amqp", "to_amqp"],
    }.get(version, []), refused
    if version >= (4, 0):
        read = spark.read.format("amqp_capture").load(str(path))
        assert read.count() == from_values.count()
        assert streamed(spark, path) == from_values.count()
    spark.stop()
    print("Spark", pyspark.__version__, "refuses", refused)


if __name__ == "__main__":
    sys.exit(main())
