"""Decoding on Spark gives what the same call gives without it."""

from __future__ import annotations

import pytest

from scripts.demo_spark import decode_frames

pa = pytest.importorskip("pyarrow")

GOOD = [
    b"AMQP\x00\x00\x09\x01",
    bytes.fromhex("0100010000000500 14000a00 ce"),  # channel.open
    bytes.fromhex("0800000000 0000 ce"),  # heartbeat
    bytes.fromhex("030001000000056869c3a8 21 ce"),  # a body
]
# An empty value, a null, several frames in one value, a bad one alone and between good ones.
ODD = [
    b"",
    None,
    b"".join(GOOD),
    b"\x01\x00",
    GOOD[1][:-1] + b"\xcd",
    bytes.fromhex("010001000000040063 0063 ce"),
    GOOD[1] + bytes.fromhex("010001000000040063 0063 ce") + GOOD[2],
    b"\xff" * 40,
]


@pytest.fixture(scope="module")
def recorded() -> list[bytes]:
    from tests.spark import frames

    return list(frames.recorded())


def direct(values: list[bytes | None], fields: list[str] | None = None):
    """What batch.decode says of the same values, row by row."""
    from amqpcodec import batch

    array = pa.array(values, pa.binary())
    rows = batch.decode(array, protocol="0-9-1", level="frame", fields=fields)
    return pa.record_batch(rows)


def on_spark(spark, values: list[bytes | None], partitions: int, fields=None):
    table = pa.table({"id": pa.array(range(len(values)), pa.int64()), "frame": values})
    frames = spark.createDataFrame(table).repartition(partitions, "id")
    return decode_frames(frames, fields=fields).toArrow()


def canonical(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: (row["id"], row["offset"]))


@pytest.mark.parametrize("partitions", [1, 3])
def test_all_columns(spark, recorded, partitions):
    values = recorded + ODD + GOOD
    expected = [{"id": row.pop("row"), **row} for row in map(dict, direct(values).to_pylist())]
    assert len(expected) >= len(recorded)
    assert canonical(on_spark(spark, values, partitions).to_pylist()) == expected


def test_chosen_columns(spark):
    fields = ["offset", "channel", "method", "error"]
    decoded_table = on_spark(spark, GOOD, 1, fields)
    assert decoded_table.schema.names == ["id", *fields]
    assert [row["method"] for row in canonical(decoded_table.to_pylist())] == [
        None,
        "channel.open",
        None,
        None,
    ]


def test_types(spark):
    """Spark's types are those that batch.schema tells."""
    from amqpcodec import batch

    batch_schema = pa.schema(batch.schema("0-9-1", "frame", None, "plain"))
    spark_schema = decode_frames(
        spark.createDataFrame(pa.table({"id": [1], "frame": [b""]}))
    ).schema
    assert spark_schema.names == ["id", *[name for name in batch_schema.names if name != "row"]]
    types = {field.name: field.dataType.simpleString() for field in spark_schema}
    assert types["channel"] == "int"
    assert types["body_size"] == types["offset"] == "bigint"
    assert types["payload"] == types["frame"] == "binary"
    assert types["properties"].startswith("struct<content_type:string,content_encoding:string")
    assert "timestamp:timestamp" in types["properties"]


def test_no_rows(spark):
    table = pa.table({"id": pa.array([], pa.int64()), "frame": pa.array([], pa.binary())})
    assert decode_frames(spark.createDataFrame(table)).count() == 0


def test_small_arrow_batches(spark, recorded):
    """Batches of Spark are slices: row numbers begin anew in each."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        decoded_table = on_spark(spark, recorded[:100], 2)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert [row["frame"] for row in canonical(decoded_table.to_pylist())] == recorded[:100]
