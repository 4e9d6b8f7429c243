"""Events of rows that are no captures, on a real Spark: those of batch.decode."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql import functions as sf  # noqa: E402

from amqpcodec import batch, capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.support.event_rows import RECORDINGS, conversation, frames, many  # noqa: E402
from tests.support.recording import packets, pcap  # noqa: E402

#: What counts in the table, in the task or in the connection.
PLACES = ("packet_offset", "connection_index")
#: What is open waits as of the last row of the table, or of its connection.
ENDS = ("waiting", "recording-ended")
AGES = ("timestamp", "timestamp_last", "time_us", "elapsed_us", "position")


#: What the bindings of other connections say.
ROUTED = ("route", "queue", "certainty")


def comparable(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    out = []
    for row in rows:
        unsaid = {*PLACES, *(AGES if row["event"] in ENDS else ())}
        if row["event"] == "published":
            unsaid.update(ROUTED)
        out.append({name: value for name, value in row.items() if name not in unsaid})
    return sorted(out, key=lambda row: (row["connection"], row["event_id"]))


def numbered(paths: Iterable[Path]) -> Any:
    tables = [frames(path) for path in paths]
    table = pa.concat_tables(tables)
    return table.append_column("number", pa.array(range(len(table)), pa.int64()))


def test_recordings_as_rows(spark: Any) -> None:
    """Shuffled among partitions, in Arrow batches of a few rows."""
    table = numbered(RECORDINGS)
    expected = pa.table(batch.decode(table, level="event", by=["connection"]))
    df = spark.createDataFrame(table).repartition(7)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "501")
    try:
        events = amqp.decode(df, level="event", by=["connection"], order=["number"])
        rows = events.toArrow().to_pylist()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert events.columns == pa.schema(capture.schema("event")).names
    at_once = expected.to_pylist()
    # A message without a route is a row where all connections are read together.
    numbered_otherwise = {row["connection"] for row in at_once if row["event"] == "unroutable"}
    comparables = [
        [row for row in each if row["connection"] not in numbered_otherwise]
        for each in (rows, at_once)
    ]
    found, from_table = map(comparable, comparables)
    assert len(numbered_otherwise) < 3
    assert len(found) == len(from_table)
    assert [pair for pair in zip(found, from_table, strict=True) if pair[0] != pair[1]][:2] == []
    assert not [row for row in rows if row["event"] == "unroutable"]
    bound = [row for row in rows if row["event"] == "published" and row["exchange"]]
    assert {(row["route"], row["certainty"]) for row in bound} == {(None, "unknown")}


def test_columns_of_other_names(spark: Any) -> None:
    table = many(conversation(), 6)
    table = table.set_column(0, "host", table.column("host").cast(pa.string()))
    names = ["event_id", "event", "certainty", "client", "time_us", "connection"]
    events = amqp.decode(
        spark.createDataFrame(table).repartition(4),
        sf.col("data"),
        fields=names,
        keep=["number"],
        level="event",
        by=["host", sf.col("number")],
        order="at",
        time="at",
    )
    assert events.columns == ["number", *names]
    expected = pa.table(
        batch.decode(
            table, level="event", by=["host", "number"], column="data", time="at", fields=names
        )
    )
    rows = [{name: row[name] for name in names} for row in events.collect()]
    assert {row["certainty"] for row in rows} == {"exact"}
    assert comparable(rows) == comparable(expected.to_pylist())
    numbers = {(row.connection, row.number) for row in events.collect()}
    assert sorted(number for _, number in numbers) == [0, 0, 1, 1, 2, 2]


def test_bytes_that_are_missing(spark: Any, tmp_path: Path) -> None:
    talk = packets(conversation())
    del talk[17]
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap(talk))
    table = numbered([path])
    options: dict[str, Any] = {"level": "event", "by": ["connection"]}
    events = amqp.decode(spark.createDataFrame(table), order="number", **options).toArrow()
    expected = pa.table(batch.decode(table, **options))
    assert comparable(events.to_pylist()) == comparable(expected.to_pylist())
    assert events.column("event").to_pylist().count("gap") == 1


def test_questions_run_over_them(spark: Any) -> None:
    table = numbered(RECORDINGS[:1])
    df = spark.createDataFrame(table)
    events = amqp.decode(df, level="event", by=["connection"], order="number").persist()
    try:
        assert amqp.analysis("queues", events).count() > 0
    finally:
        events.unpersist()


def test_what_is_wrong_is_said(spark: Any) -> None:
    table = many(conversation(), 1)
    df = spark.createDataFrame(table.drop_columns("host"))
    with pytest.raises(ValueError, match="level='event' needs by"):
        amqp.decode(df, "data", level="event")
    with pytest.raises(ValueError, match="by needs order"):
        amqp.decode(df, "data", level="event", by=["number"])
    with pytest.raises(TypeError, match="time is a timestamp"):
        amqp.decode(df, "data", level="event", by=["number"], order="at", time="direction")
    with pytest.raises(TypeError, match="direction is text, not bigint"):
        amqp.decode(df, "data", level="event", by=["number"], order="at", direction="at", time="at")
    with pytest.raises(ValueError, match="mode is 'PERMISSIVE'"):
        amqp.decode(
            df, "data", level="event", by=["number"], order="at", time="at", mode="FAILFAST"
        )
    wrong = df.withColumn("direction", sf.lit("out"))
    rows = amqp.decode(wrong, "data", level="event", by=["number"], order="at", time="at")
    with pytest.raises(Exception, match="direction is 'out'; it is 'client' or 'server'"):
        rows.collect()
