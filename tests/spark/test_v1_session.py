"""Spark reads AMQP 1.0: frames, captures, and what a value holds."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import batch, capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec import v1_0 as v1  # noqa: E402
from tests.spark.frames import framed, rows_of  # noqa: E402
from tests.support.v1_talk import attach, init, message, opening, path_of, transfer  # noqa: E402

FRAMES = [opening(), attach(), init(), transfer(message("text")), v1.encode(0, v1.Heartbeat())]


def test_decode(spark):
    array = pa.array(FRAMES, pa.binary())
    expected = pa.record_batch(batch.decode(array, "1.0")).to_pylist()
    assert [row["error"] for row in expected] == [None] * len(FRAMES)
    rows = rows_of(amqp.decode(framed(spark, FRAMES), keep=["id"], protocol="1.0"), "id")
    assert [{"row": row.pop("id"), **row} for row in rows] == expected


def test_from_amqp_and_schema_of_amqp(spark):
    options = {"protocol": "1.0"}
    frames = framed(spark, FRAMES)
    schema = "performative string, handle long, payload binary"
    structs = frames.select(amqp.from_amqp("frame", schema, options).alias("a")).select("a.*")
    rows = {
        (row.performative, row.handle, None if row.payload is None else bytes(row.payload))
        for row in structs.collect()
    }
    assert rows == {("open", None, None), ("attach", 0, None), ("sasl-init", None, None),
                    ("transfer", 0, message("text")), (None, None, None)}  # fmt: skip
    schemas = frames.select(amqp.schema_of_amqp("frame", options).alias("a")).collect()
    assert all("performative: string" in row.a for row in schemas if row.a and "amqp" in row.a)
    assert "performative" in schemas[0].a


@pytest.mark.parametrize("protocol", [None, "1.0"])
def test_captures(spark, protocol):
    """Without the option, the connection's header says the version."""
    pytest.importorskip("pyspark.sql.datasource")
    amqp.register(spark)
    reader = spark.read.format("amqp_capture").options(ports="5680", fields="*")
    if protocol:
        reader = reader.option("protocol", protocol)
    rows = rows_of(reader.load(str(path_of("rabbit"))), "packet_offset", "position")
    expected = [
        row
        for exported_batch in capture.read(path_of("rabbit"), ports=(5680,), protocol=protocol)
        for row in pa.record_batch(exported_batch).to_pylist()
    ]
    expected.sort(key=lambda row: (row["packet_offset"], row["position"]))
    assert rows == expected
    name = "performative" if protocol else "method"
    assert [row[name] for row in rows].count("transfer") == 17
    counts = amqp.capture_stats(spark, str(path_of("rabbit")), {"ports": "5680"}).collect()
    assert counts[0].versions == {"1.0": 1}
    assert counts[0].methods["transfer"] == 17


def test_application_properties_as_variants(spark):
    """Their numbers, moments and text as Spark's own, by the option and by the schema."""
    pytest.importorskip("pyspark.sql.variant_utils")  # before Spark 4.0 there are no variants
    pairs = {"n": 5, "text": "x", "at": v1.Timestamp(1_700_000_000_123), "big": v1.ULong(2**64 - 1)}
    frame = transfer(v1.Message(b"x", application_properties=pairs).encode())
    ddl = "application_properties variant, body binary"
    for options in ({"field_tables": "variant"}, {"fields": ddl}):
        messages = amqp.decode(framed(spark, [frame]), protocol="1.0", level="message", **options)
        [row] = messages.selectExpr(
            "variant_get(application_properties, '$.n', 'int') AS n",
            "variant_get(application_properties, '$.text', 'string') AS text",
            "unix_millis(variant_get(application_properties, '$.at', 'timestamp')) AS at",
            "variant_get(application_properties, '$.big', 'decimal(20, 0)') AS big",
            "schema_of_variant(application_properties) AS type",
        ).collect()
        assert (row.n, row.text, row.at, row.big) == (5, "x", 1_700_000_000_123, 2**64 - 1)
        assert row.type.startswith("OBJECT<at: TIMESTAMP, big: DECIMAL(20,0), n: BIGINT")
