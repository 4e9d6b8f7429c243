"""read_captures gives the rows of the format, in whatever tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import spark as amqp
from tests.spark.frames import RECORDING, rotated, rows_of

ORDER = ("file", "packet_offset", "position", "direction")


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("size", ["1g", "20k"])
def test_the_rows_of_the_format(spark: Any, tmp_path: Path, level: str, size: str) -> None:
    amqp.register(spark)
    (tmp_path / "in").mkdir()
    rotated(RECORDING, tmp_path / "in", 4)
    options = {"level": level, "maxPartitionBytes": size, "fields": "*"}
    options["stateLocation"] = str(tmp_path / "s")
    frames = amqp.read_captures(spark, str(tmp_path / "in"), options)
    expected = spark.read.format("amqp_capture").options(**options).load(str(tmp_path / "in"))
    assert frames.schema == expected.schema
    assert rows_of(frames, *ORDER) == rows_of(expected, *ORDER)
    assert frames.count() > 500
    assert (frames.rdd.getNumPartitions() > 4) == (size == "20k")


def test_columns_rows_and_paths(spark: Any, tmp_path: Path) -> None:
    names = amqp.read_captures(spark, str(RECORDING), {"fields": "method,channel"})
    by_schema = amqp.read_captures(spark, [str(RECORDING)], schema="method string, channel int")
    assert names.collect() == by_schema.collect()
    assert names.columns == by_schema.columns == ["method", "channel"]
    acks = amqp.read_captures(spark, str(RECORDING), {"methods": "basic.ack", "fields": "method"})
    assert acks.count() == names.where("method = 'basic.ack'").count() > 0
    nothing = amqp.read_captures(spark, str(tmp_path))
    assert nothing.collect() == []


@pytest.mark.parametrize(
    ("options", "schema", "problem"),
    [
        ({"filez": "taps"}, None, "did you mean files"),
        ({"mode": "STRICT"}, None, "mode is"),
        (None, "chanel int", "no column 'chanel'"),
        (None, "array<string>", "schema is a struct, not ArrayType"),
    ],
)
def test_refused_at_the_call(spark: Any, options: Any, schema: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        amqp.read_captures(spark, str(RECORDING), options, schema)
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        amqp.read_captures(spark, "nowhere/at/all")
