"""encode and to_amqp: what batch.encode says of the same columns, on workers and in SQL."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql import functions as sf  # noqa: E402

from amqpcodec import batch, v1_0  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec.spark.functions import encoding  # noqa: E402
from tests.spark.frames import recorded, rows_of  # noqa: E402

HEADERS = pa.map_(pa.string(), pa.decimal128(9, 2))
MESSAGES = pa.table(
    {
        "id": pa.array(range(4), pa.int64()),
        "routing_key": pa.array(["eu", None, "k" * 300, "é"]),
        "mandatory": pa.array([True, False, None, True]),
        "properties": pa.array(
            [
                {"message_id": "a", "timestamp": datetime(2024, 1, 1, tzinfo=UTC), "priority": 3},
                None,
                {"message_id": "b"},
                {"headers": [("n", Decimal("1.50"))]},
            ],
            pa.struct(
                [
                    ("message_id", pa.string()),
                    ("timestamp", pa.timestamp("us", "UTC")),
                    ("priority", pa.int32()),
                    ("headers", HEADERS),
                ]
            ),
        ),
        "body": pa.array([b"x" * 5000, None, b"", b"\xff"], pa.binary()),
    }
)


def direct(table, **options):
    frames = batch.encode(table, **options)
    return pa.array(frames).to_pylist(), pa.array(frames.errors).to_pylist()


def expected(**options):
    values, errors = direct(MESSAGES.drop_columns("id"), **options)
    assert [error is None for error in errors] == [True, True, False, True]
    return [
        {"id": i, "frame": value, "error": error}
        for i, (value, error) in enumerate(zip(values, errors, strict=True))
    ]


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("frame_max", [131072, 4096, 0])
def test_encode(spark, partitions, frame_max):
    frames = spark.createDataFrame(MESSAGES).repartition(partitions, "id")
    result = amqp.encode(frames, keep=["id"], frame_max=frame_max)
    assert result.schema.simpleString() == "struct<id:bigint,frame:binary,error:string>"
    assert rows_of(result, "id") == expected(frame_max=frame_max)


@pytest.mark.parametrize("large", ["false", "true"])
def test_batches_and_types(spark, large):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", large)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    try:
        rows = rows_of(amqp.encode(spark.createDataFrame(MESSAGES), "id"), "id")
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert rows == expected()


def test_names_and_modes(spark):
    frames = spark.createDataFrame(MESSAGES)
    encoded = amqp.encode(frames, "id", mode="dropMalformed", col="octets", error=None)
    good = [row for row in expected() if row["error"] is None]
    assert rows_of(encoded, "id") == [{"id": row["id"], "octets": row["frame"]} for row in good]
    with pytest.raises(Exception, match=r"row 2, column routing_key: basic\.publish\.routing_key"):
        amqp.encode(frames.coalesce(1), "id", mode="FAILFAST").collect()
    assert amqp.encode(frames.limit(2), "id", mode="FAILFAST").count() == 2


def test_a_kept_column_is_encoded_as_well(spark):
    frames = spark.createDataFrame(MESSAGES).where("id = 0")
    rows = rows_of(amqp.encode(frames, ["routing_key", "id"]))
    assert rows == [{"routing_key": "eu", **expected()[0]}]


def test_what_cannot_be_meant_is_refused_at_once(spark):
    frames = spark.createDataFrame(MESSAGES)
    with pytest.raises(ValueError, match="no part of a message: column 'id'"):
        amqp.encode(frames)
    with pytest.raises(ValueError, match="keep names what is no column: x, y"):
        amqp.encode(frames, ["x", "id", "y"])
    with pytest.raises(ValueError, match="twice: body"):
        amqp.encode(frames, ["id", "body"], col="body")
    with pytest.raises(ValueError, match="mode is"):
        amqp.encode(frames, "id", mode="x")
    with pytest.raises(ValueError, match="frame_max"):
        amqp.encode(frames, "id", frame_max=-1)
    with pytest.raises(ValueError, match="mode is"):
        amqp.to_amqp("body", options={"mode": "DROPMALFORMED"})
    with pytest.raises(ValueError, match="frameMax is a size"):
        amqp.to_amqp("body", options={"frameMax": "x"})


def test_to_amqp(way, spark):
    frames = spark.createDataFrame(MESSAGES)
    message = sf.struct("routing_key", "mandatory", "properties", "body")
    maybe = sf.when(sf.col("id") != 1, message)
    encoded = frames.select(
        "id",
        amqp.to_amqp(message).alias("one"),
        amqp.to_amqp("routing_key", "mandatory", "properties", "body").alias("many"),
        amqp.to_amqp(maybe, options={"FRAMEMAX": 4096}).alias("cut"),
    )
    small_frames = expected(frame_max=4096)
    for row, want in zip(rows_of(encoded, "id"), expected(), strict=True):
        assert row["one"] == row["many"] == want["frame"]
        assert row["cut"] == (None if row["id"] == 1 else small_frames[row["id"]]["frame"])
    strict = frames.coalesce(1).select(amqp.to_amqp(message, options={"mode": "failfast"}))
    with pytest.raises(Exception, match="EncodeError: row 2, column routing_key"):
        strict.collect()


def test_to_amqp_is_evaluated_once(way, spark):
    octets = spark.createDataFrame(MESSAGES).select(
        "id", amqp.to_amqp("routing_key", "body").alias("f")
    )
    used = octets.where(sf.length("f") > 30).select(sf.length("f"), "f")
    plan = used._jdf.queryExecution().executedPlan().toString()
    assert plan.count("to_amqp(") == 1


def test_sql(spark):
    amqp.register(spark)
    spark.createDataFrame(MESSAGES).createOrReplaceTempView("messages")
    encoded = spark.sql(
        "SELECT id, to_amqp(struct(routing_key, mandatory, properties, body)) AS frame "
        "FROM messages"
    )
    assert [row["frame"] for row in rows_of(encoded, "id")] == [row["frame"] for row in expected()]


def test_what_decode_gives_can_be_encoded(spark):
    """Frames, put together to messages with batch.decode, and encoded on Spark."""
    rows = pa.record_batch(
        batch.decode(
            b"".join(recorded()),
            level="message",
            fields=["method", "channel", "arguments", "properties", "body", "error"],
        )
    )
    table = pa.Table.from_batches([rows]).append_column(
        "id", pa.array(range(len(rows)), pa.int64())
    )
    values, errors = direct(rows)
    assert values.count(None) < len(values) / 2
    encoded_rows = rows_of(amqp.encode(spark.createDataFrame(table), keep="id"), "id")
    assert [row["frame"] for row in encoded_rows] == values
    assert [row["error"] for row in encoded_rows] == errors


def test_pieces(monkeypatch):
    """A batch whose messages one array may not hold is encoded piece by piece."""
    job = encoding._Job("0-9-1", "PERMISSIVE", 131072)
    rows = MESSAGES.drop_columns("id").combine_chunks().to_batches()[0]
    expected = job.run(rows)
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 100)
    assert len(list(encoding._pieces(rows))) == 4
    assert job.run(rows) == expected


def test_messages_of_1_0(way, spark):
    """Sections as structs, JSON text and maps; nulls of every kind; a bad row."""
    rows = pa.table(
        {
            "id": pa.array(range(3), pa.int64()),
            "delivery_id": pa.array([1, 2, -1], pa.int64()),
            "header": pa.array(
                [{"durable": True}, None, None], pa.struct([("durable", pa.bool_())])
            ),
            "properties": pa.array(
                [{"message_id": "AMQP_ULONG:5", "creation_time": datetime(2024, 1, 1, tzinfo=UTC)}]
                * 3,
                pa.struct(
                    [("message_id", pa.string()), ("creation_time", pa.timestamp("us", "UTC"))]
                ),
            ),
            "message_annotations": pa.array(['{"x-opt-a": 1}', None, None]),
            "application_properties": pa.array(
                [[("n", 1)], None, []], pa.map_(pa.string(), pa.int64())
            ),
            "body": pa.array([b"x" * 2000, b"", None], pa.binary()),
        }
    )
    values, errors = direct(rows.drop_columns("id"), protocol="1.0", frame_max=512)
    assert errors == [None, None, "transfer.delivery_id: uint takes 0 to 4294967295"]
    message = v1_0.Message(
        b"x" * 2000,
        durable=True,
        message_id=v1_0.ULong(5),
        creation_time=datetime(2024, 1, 1, tzinfo=UTC),
        message_annotations={v1_0.Symbol("x-opt-a"): 1},
        application_properties={"n": 1},
    )
    transfer = v1_0.Transfer(handle=0, delivery_id=1, message_format=0)
    assert values[0] == v1_0.encode_message(0, transfer, message, 512)
    frame = spark.createDataFrame(rows)
    result_rows = rows_of(amqp.encode(frame, ["id"], "1.0", frame_max=512), "id")
    assert result_rows == [
        {"id": i, "frame": value, "error": error}
        for i, (value, error) in enumerate(zip(values, errors, strict=True))
    ]
    function = amqp.to_amqp(
        *(name for name in rows.column_names if name != "id"),
        options={"protocol": "1.0", "frameMax": 512},
    )
    result_rows = rows_of(frame.select("id", function.alias("frame")), "id")
    assert [row["frame"] for row in result_rows] == values
    with pytest.raises(ValueError, match="no part of a message: column 'exchange'"):
        amqp.encode(frame.withColumn("exchange", sf.lit("")), ["id"], "1.0")
