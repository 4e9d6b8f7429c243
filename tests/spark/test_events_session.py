"""Events on a real Spark are those of capture.read, by the format, both functions and a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.events.test_damage_properties import TALKS  # noqa: E402
from tests.paths import shared_dir  # noqa: E402
from tests.spark.frames import RECORDING, rotated  # noqa: E402
from tests.support.event_talk import write  # noqa: E402

KEY = ("file", "connection", "event_id")


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


def one_pass(path: Any, **options: Any) -> list[dict[str, Any]]:
    return in_order(pa.table(capture.read(path, "event", order="none", **options)).to_pylist())


def rows_of(frame: Any) -> list[dict[str, Any]]:
    return in_order(frame.toArrow().to_pylist())


def recordings(folder: Path) -> list[Path]:
    """The demo's, the talks of the tests, and the shared ones where they are there."""
    paths = [write(folder / f"{name}.pcap", talk) for name, talk in TALKS.items()]
    shared = shared_dir()
    return [RECORDING, *paths, *(sorted(shared.glob("captures/*.pcap*")) if shared else [])]


def test_all_ways_have_the_rows_of_one_pass(spark: Any, tmp_path: Path) -> None:
    amqp.register(spark)
    paths = list(map(str, recordings(tmp_path)))
    expected = in_order([row for path in paths for row in one_pass(path)])
    options = {"level": "event", "files": "separate"}
    loaded = spark.read.format("amqp_capture").options(**options).load(paths)
    assert loaded.columns == pa.schema(capture.schema(level="event")).names
    assert rows_of(loaded) == expected
    assert rows_of(amqp.read_captures(spark, paths, options)) == expected
    contents = [(path, Path(path).read_bytes()) for path in paths]
    values = spark.createDataFrame(contents, "path string, content binary")
    decoded = amqp.decode_captures(values, "content", name="path", level="event")
    # The name of a connection is made of its file's, which lies in memory here.
    assert [{**row, "connection": ""} for row in in_order_of_places(rows_of(decoded))] == [
        {**row, "connection": ""} for row in in_order_of_places(expected)
    ]


def in_order_of_places(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["file"], row["packet_offset"], row["position"]))


def test_values_that_are_no_capture(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    whole = RECORDING.read_bytes()
    contents = [("a", b"no capture"), ("b", whole), ("c", b""), ("d", None)]
    values = spark.createDataFrame(contents, "path string, content binary")
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        decoded = amqp.decode_captures(values, name="path", level="event", mode=mode)
        assert {row.file for row in decoded.select("file").distinct().collect()} == {"b"}
    with pytest.raises(Exception, match="neither pcap nor pcapng"):
        amqp.decode_captures(values, level="event", mode="FAILFAST").collect()


def test_a_stream(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource")  # else availableNow reads one batch
    amqp.register(spark)
    (tmp_path / "in").mkdir()
    files = rotated(RECORDING, tmp_path / "in", 3)
    options = {"level": "event", "stateLocation": str(tmp_path / "states"), "closeAfter": "0s"}
    reader = spark.readStream.format("amqp_capture").options(**options, maxFilesPerTrigger="1")
    writer = reader.load(str(tmp_path / "in")).writeStream.format("parquet")
    writer = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "c"))
    query = writer.start(str(tmp_path / "out"))
    assert query.awaitTermination(120)
    assert query.exception() is None
    expected = one_pass([str(path) for path in files], files="rotation")
    assert rows_of(spark.read.parquet(str(tmp_path / "out"))) == [
        row for row in expected if row["event"] not in ("waiting", "recording-ended")
    ]


def test_a_question_over_events_that_spark_has_read(spark: Any) -> None:
    pytest.importorskip("duckdb")
    from amqpcodec import analysis

    events = amqp.read_captures(spark, str(RECORDING), {"level": "event"}).persist()
    expected = pa.table(analysis.queues(str(RECORDING))).to_pylist()
    assert amqp.analysis("queues", events).toArrow().to_pylist() == expected
    assert len(expected) > 0
    events.unpersist()
