"""Messages of several connections in a table of frames: put together by key, in order, on Spark."""

from __future__ import annotations

import random

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql import functions as sf  # noqa: E402

from amqpcodec import batch  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.spark.frames import rows_of  # noqa: E402
from tests.support.conversations import publication_frames  # noqa: E402

FIELDS = ["channel", "body", "error"]


@pytest.fixture(scope="module")
def shuffled():
    """Frames of five connections in turn, on the same channels, and out of order."""
    lists = [
        [
            frame
            for i in range(40)
            for frame in publication_frames(b"%d-%d" % (c, i) * 5, 1 + i % 2, size=4)
        ]
        for c in range(5)
    ]
    rows = [(c, i, f) for c, frames in enumerate(lists) for i, f in enumerate(frames)]
    random.Random(1).shuffle(rows)
    return pa.table(
        dict(zip(("connection", "number", "frame"), zip(*rows, strict=True), strict=True))
    )


def test_each_connection_by_itself(spark, shuffled):
    ordered = shuffled.sort_by([("connection", "ascending"), ("number", "ascending")])
    expected = pa.record_batch(
        batch.decode(ordered, level="message", fields=FIELDS, by=["connection"])
    )
    assert expected.num_rows == 200
    assert expected.column("error").null_count == 200
    frames = spark.createDataFrame(shuffled).repartition(4)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        messages = amqp.decode(
            frames, "frame", FIELDS, ["connection", "number"],
            level="message", by=["connection"], order=["number"],
        )  # fmt: skip
        rows = rows_of(messages, "connection", "number")
        by_column = amqp.decode(
            frames, fields=FIELDS, level="message",
            by=[sf.col("connection") % 5, sf.lit("x")], order="number",
        ).count()  # fmt: skip
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert [{name: row[name] for name in FIELDS} for row in rows] == expected.to_pylist()
    assert by_column == 200


def test_without_keys_each_value_is_whole_or_an_error(spark, shuffled):
    rows = rows_of(amqp.decode(spark.createDataFrame(shuffled), fields=FIELDS, level="message"))
    assert len(rows) == shuffled.num_rows
    assert all(row["error"] for row in rows)


def test_what_is_refused_before_a_job_starts(spark, shuffled):
    frames = spark.createDataFrame(shuffled.slice(0, 3))
    with pytest.raises(ValueError, match="by needs order"):
        amqp.decode(frames, level="message", by=["connection"])
    with pytest.raises(ValueError, match="order goes with by"):
        amqp.decode(frames, level="message", order=["number"])
    with pytest.raises(ValueError, match="level='message'"):
        amqp.decode(frames, by=["connection"], order=["number"])
    for name in ("max_open", "max_open_bytes"):
        with pytest.raises(ValueError, match=f"{name} is from 0 on, not -1"):
            amqp.decode(frames, level="message", by=["connection"], order=["number"], **{name: -1})
    keyed = frames.withColumn("key", sf.struct("connection"))
    with pytest.raises(TypeError, match="key is struct"):
        amqp.decode(keyed, level="message", by=["key"], order=["number"])
    texts = frames.withColumn("frame", sf.hex("frame"))
    with pytest.raises(TypeError, match=r"'frame' is string, and frames are binary: unhex\(\)"):
        amqp.decode(texts)
