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


def column_functions(spark, publish: bytes, ack: bytes) -> None:
    """from_amqp, to_amqp and schema_of_amqp, in Python and in SQL."""
    from pyspark.sql import functions as sf

    values = [(1, ack), (2, b"bad"), (3, None), (4, b""), (5, publish)]
    frames = spark.createDataFrame(values, "id long, frame binary").repartition(1)
    schema = "method string, `basic.ack.delivery_tag` long, error string"
    rows = {
        r.id: r.v for r in frames.select("id", amqp.from_amqp("frame", schema).alias("v")).collect()
    }
    assert tuple(rows[1]) == ("basic.ack", 2**63 - 1, None)
    assert rows[2].error.startswith("the stream ended inside a frame")
    assert rows[3] is None
    assert rows[4] is None
    assert rows[5].error == "3 frames in one value: only the first is here"

    several = "array<struct<method string, exchange string, body binary>>"
    messages = amqp.from_amqp("frame", several, {"level": "message"}).alias("v")
    lists = {r.id: r.v for r in frames.select("id", messages).collect()}
    assert lists[3] is None
    assert lists[4] == []
    assert [tuple(message) for message in lists[5]] == [("basic.publish", "e", b"body")]

    whole = "array<struct<method string, exchange string, properties struct<message_id string, "
    whole += "headers string>, body binary>>"
    again = frames.where("id = 5").select(
        sf.explode(amqp.from_amqp("frame", whole, {"level": "message"})).alias("v")
    )
    assert bytes(again.select(amqp.to_amqp("v")).collect()[0][0]) == publish
    assert again.select(amqp.to_amqp("v")).columns == ["to_amqp(v)"]
    unknown = spark.createDataFrame([("\ufffd",), ("e",)], "exchange string")
    sent = [r[0] for r in unknown.select(amqp.to_amqp(sf.struct("exchange"))).collect()]
    assert sent[0] is None or bytes(sent[0]).count("\ufffd".encode()) == 1
    assert sent[1] is not None

    frames.createOrReplaceTempView("frames")
    amqp.register(spark, functions={"heads": "channel int, method string"})
    [row] = spark.sql(
        "SELECT from_amqp(frame, 'method string', map('mode', 'FAILFAST')).method AS method, "
        "heads(frame) AS heads, schema_of_amqp(frame) AS schema, "
        "to_amqp(named_struct('exchange', 'e', 'body', frame)) AS sent FROM frames WHERE id = 1"
    ).collect()
    assert (row.method, tuple(row.heads)) == ("basic.ack", (1, "basic.ack"))
    assert row.schema.startswith("struct<offset: bigint, frame_type: string"), row.schema
    assert ack in bytes(row.sent)
    for column in (amqp.from_amqp(sf.hex("frame")), amqp.to_amqp("id")):
        assert refusal(lambda column=column: frames.select(column)) == "AnalysisException"


def refusal(call) -> str:
    """The name of the exception that a call ends with."""
    try:
        call()
    except Exception as problem:
        return type(problem).__name__
    return "none"


def main() -> None:
    import pyarrow as pa

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

    column_functions(spark, publish, wire.encode(1, wire.Basic.Ack(2**63 - 1)))

    [counts] = amqp.capture_stats(spark, str(path)).collect()
    assert (counts.file, counts.gaps) == (str(path), 0)
    assert sum(counts.methods.values()) > 100
    nothing = refusal(lambda: amqp.capture_stats(spark, str(path) + "x").collect())
    assert nothing == ("FileNotFoundError" if version < (4, 0) else "AnalysisException")
    if version >= (4, 0):
        read = spark.read.format("amqp_capture").load(str(path))
        assert read.count() == from_values.count()
        assert streamed(spark, path) == from_values.count()
    spark.stop()
    print("Spark", pyspark.__version__, "ends")


if __name__ == "__main__":
    sys.exit(main())
