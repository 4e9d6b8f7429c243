"""amqpcodec.spark.decode gives what batch.decode gives on the same values."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec.spark import decode  # noqa: E402
from tests.spark.frames import BODY, ODD, OPEN, UNKNOWN, direct, framed, recorded, rows_of  # noqa: E402


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("mode", ["PERMISSIVE", "dropMalformed"])
def test_equals_batch(spark, partitions, mode):
    values = [*recorded(), *ODD]
    frames = decode(framed(spark, values, partitions), keep=["id"], mode=mode)
    expected = direct(values, mode=mode.upper())
    assert len(expected) > 100
    assert rows_of(frames, "id", "offset") == expected


@pytest.mark.parametrize("large", [False, True])
def test_batches_are_slices_of_either_type(spark, large):
    values = [*recorded()[:90], *ODD]
    settings = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
        "spark.sql.execution.arrow.useLargeVarTypes": str(large).lower(),
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        rows = rows_of(decode(framed(spark, values, 2), keep=["id"]), "id", "offset")
    finally:
        for name in settings:
            spark.conf.unset(name)
    assert rows == direct(values)


def test_fields_keep_and_another_column(spark):
    frames = framed(spark, [OPEN, None, OPEN + UNKNOWN]).withColumnRenamed("frame", "octets")
    frames = frames.selectExpr("octets", "id * 10 AS ten", "struct(id, 'x' AS x) AS both")
    result = decode(frames, "octets", fields=["method", "error"], keep=["both", "ten"])
    assert result.schema.simpleString() == (
        "struct<both:struct<id:bigint,x:string>,ten:bigint,method:string,error:string>"
    )
    assert [(row.both.id, row.ten, row.method) for row in result.collect()] == [
        (0, 0, "channel.open"),
        (2, 20, "channel.open"),
        (2, 20, None),
    ]
    assert decode(frames, frames.octets, fields=["method"]).columns == ["method"]


@pytest.mark.parametrize(
    "fields", ["channel BIGINT, properties STRUCT<type: STRING, message_id: STRING>", None]
)
def test_schema_strings(spark, fields):
    from pyspark.sql.types import StructType

    schema_text = "struct<channel:bigint,properties:struct<type:string,message_id:string>>"
    if fields is None:
        fields = StructType().add("channel", "long")
        fields.add("properties", StructType().add("type", "string").add("message_id", "string"))
    result = decode(framed(spark, list(recorded()[:60])), fields=fields)
    assert result.schema.simpleString() == schema_text
    expected = [
        (
            row["channel"],
            row["properties"] and tuple(row["properties"][n] for n in ("type", "message_id")),
        )
        for row in direct(recorded()[:60])
    ]
    assert [(r.channel, r.properties and tuple(r.properties)) for r in result.collect()] == expected
    assert any(properties for _, properties in expected)


def test_failfast(spark):
    frames = framed(spark, [OPEN, UNKNOWN])
    with pytest.raises(Exception, match="UnknownMethodError"):
        decode(frames, mode="FAILFAST").collect()
    assert decode(frames.where("id = 0"), mode="FAILFAST").count() == 1


def test_failfast_says_which_row(spark):
    """Its number in its task, however Spark cuts batches, and the columns that were kept."""
    frames = framed(spark, [*[OPEN] * 13, UNKNOWN, *[OPEN] * 7]).coalesce(1)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "5")
    try:
        with pytest.raises(Exception, match=r"partition 0, row 13, id 13: .*99"):
            decode(frames, keep=["id"], mode="FAILFAST").collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_times_are_instants(spark):
    """A session's time zone shifts what is shown, never what is meant."""
    header = bytes.fromhex("02 0001 00000016 003c 0000 0000000000000000 0040 0000000065920080 ce")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        result = decode(framed(spark, [header]), fields=["properties"])
        [row] = result.selectExpr("unix_timestamp(properties.timestamp) AS t").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row.t == 0x65920080


def test_no_rows(spark):
    assert decode(framed(spark, [])).count() == 0
    assert decode(framed(spark, [None, b""]), keep=["id"]).collect() == []


def test_the_old_octets_are_not_sent_back(spark):
    """Only what is decoded and kept travels to and from the workers."""
    frames = framed(spark, [OPEN, BODY]).selectExpr("*", "repeat('x', 10) AS big")
    plan = decode(frames, fields=["method"])._jdf.queryExecution().analyzed().toString()
    assert "method" in plan
    assert "big" not in plan.split("MapInArrow")[1].split("\n")[0]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"fields": ["channel"], "keep": ["channel"]}, "twice: channel"),
        ({"fields": ["nothing"]}, "no column 'nothing'"),
        ({"fields": "array<struct<method string>>"}, "names or a struct"),
        ({"mode": "LENIENT"}, "mode is"),
        ({"protocol": "7-7"}, "no protocol '7-7'"),
    ],
)
def test_refused_before_anything_runs(spark, arguments, problem):
    frames = framed(spark, [OPEN]).selectExpr("frame", "id AS channel")
    with pytest.raises(ValueError, match=problem):
        decode(frames, **arguments)
