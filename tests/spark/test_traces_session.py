"""RabbitMQ's traces on Spark: the rows of amqpcodec.traces."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import capture, traces  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.paths import shared_dir  # noqa: E402
from tests.spark.frames import rows_of  # noqa: E402
from tests.support import recording as make  # noqa: E402
from tests.support import trace_logs as logs  # noqa: E402


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["file"], row["offset"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, kind in enumerate((b"published", b"received")):
        text = b"".join(logs.text(kind, b"payload %d" % index) for index in range(3))
        (tmp_path / f"{number}.log").write_bytes(text)
    return tmp_path


def test_logs(spark: Any, folder: Path) -> None:
    expected = [
        row for path in sorted(folder.iterdir()) for row in pa.table(traces.read(path)).to_pylist()
    ]
    trace_rows = amqp.read_traces(spark, str(folder))
    assert trace_rows.columns == pa.table(traces.read(folder / "0.log")).column_names
    assert in_order(rows_of(trace_rows)) == in_order(expected)
    assert len(expected) == 6
    reader_options = {"fields": "method,body", "pathGlobFilter": "1*", "format": "TEXT"}
    narrow = amqp.read_traces(spark, [str(folder)], reader_options)
    assert rows_of(narrow, "body") == [
        {"method": "basic.deliver", "body": b"payload %d" % index} for index in range(3)
    ]


def test_what_packed_logs_become_is_bounded(spark: Any, folder: Path) -> None:
    packed = folder / "0.log.gz"
    packed.write_bytes(gzip.compress((folder / "0.log").read_bytes()))
    most = (folder / "0.log").stat().st_size * 2 // 3 + 200  # within the third record
    rows = rows_of(amqp.read_traces(spark, str(packed), {"maxDecompressedBytes": most}), "offset")
    assert [row["body"] for row in rows] == [b"payload 0", b"payload 1", None]
    assert (
        rows[2]["error"]
        == f"the compressed file becomes larger than maxDecompressedBytes={most} allows"
    )


def test_what_is_no_trace(spark: Any, folder: Path) -> None:
    (folder / "2.log").write_bytes(b"something else")
    with pytest.raises(Exception, match=r"no trace of RabbitMQ: .*2\.log"):
        amqp.read_traces(spark, str(folder)).collect()
    assert amqp.read_traces(spark, str(folder), {"ignoreCorruptFiles": True}).count() == 6


def test_messages_of_the_firehose(spark: Any) -> None:
    headers = '{"exchange_name":"orders","routing_keys":["eu"],"node":"x","properties":{}}'
    messages = spark.createDataFrame(
        [
            ("amq.rabbitmq.trace", "publish.orders", (headers,), bytearray(b"one"), "x", 7),
            ("another", "publish.orders", (headers,), bytearray(b"two"), "x", 8),
        ],
        "exchange string, routing_key string, properties struct<headers: string>, body binary, "
        "file string, packet_offset bigint",
    )
    fields = ["method", "exchange", "routing_key", "body", "file", "offset", "error"]
    trace_rows = amqp.decode_traces(messages, fields)
    assert [tuple(row) for row in trace_rows.collect()] == [
        ("basic.publish", "orders", "eu", b"one", "x", 7, None)
    ]
    assert len(amqp.decode_traces(messages).columns) == len(traces.schema())


PLACE = ("file", "packet_offset", "connection", "event_id")


def by_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [row[name] for name in PLACE])


def recordings(folder: Path) -> list[Path]:
    """Logs of each format, with a record that is damaged, and those that are shared."""
    lines = [logs.json_line(kind, b"one\n\xff") for kind in ("published", "received")]
    moved = [
        logs.json_line("received", b"x", connection=f"10.0.0.{n % 3}:1 -> 10.0.0.9:5672")
        for n in range(9)
    ]
    contents = {
        "text.log": logs.text(b"published", b"one") + logs.text(b"received", b"one"),
        "json.log": b"".join([lines[0], b"{broken\n", lines[1], *moved]),
        "firehose.jsonl": logs.firehose_line("publish.orders", b"one", routed_queues=["jobs"])
        + logs.firehose_line("deliver.jobs", b"one", redelivered=1),
    }
    for name, octets in contents.items():
        (folder / name).write_bytes(octets)
    (folder / "packed.log.gz").write_bytes(gzip.compress(contents["json.log"]))
    shared = shared_dir()
    more = sorted((shared / "captures" / "trace").iterdir()) if shared else []
    return [*sorted(folder.iterdir()), *more]


def test_events_of_logs(spark: Any, tmp_path: Path) -> None:
    paths = recordings(tmp_path)
    expected = [
        row for path in paths for row in pa.table(traces.read(path, level="event")).to_pylist()
    ]
    names = list(map(str, paths))
    events = amqp.read_traces(spark, names, {"level": "EVENT"})
    assert events.columns == capture_columns()
    assert by_place(rows_of(events)) == by_place(expected)
    assert {row["event"] for row in expected} == {"published", "delivered", "protocol-error"}
    narrow = amqp.read_traces(spark, names[:1], {"level": "event", "fields": "event,route"})
    assert narrow.columns == ["event", "route"]
    most = {"level": "event", "maxDecompressedBytes": 400}
    reasons = amqp.read_traces(spark, str(tmp_path / "packed.log.gz"), most).select("reason")
    assert "maxDecompressedBytes=400" in [row.reason for row in reasons.collect()][-1]


def capture_columns() -> list[str]:
    names: list[str] = pa.schema(capture.schema(level="event")).names
    return names


def test_questions_over_traces(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from amqpcodec import analysis
    from amqpcodec.analysis import _duckdb

    paths = recordings(tmp_path)
    batches = [batch for path in paths for batch in traces.read(path, level="event")]
    events = amqp.read_traces(spark, list(map(str, paths)), {"level": "event"}).persist()
    for name in analysis.__all__:
        if name not in ("sql", "query"):
            expected = _duckdb.run(analysis.query(name), batches, traces.schema("event"))
            assert amqp.analysis(name, events).toArrow().to_pylist() == expected.to_pylist(), name
    events.unpersist()


def test_events_of_the_firehose(spark: Any, tmp_path: Path) -> None:
    """They are numbered in the order of the packets, however Spark cuts and mixes the messages."""
    for name, count in (("a.pcap", 12), ("b.pcap", 7)):
        pairs = zip(*(logs.consumed_firehose(port, count) for port in (40000, 40001)), strict=True)
        packets = [packet for pair in pairs for packet in pair]
        (tmp_path / name).write_bytes(make.pcap(packets))
    expected = []
    for path in sorted(tmp_path.iterdir()):
        batches = capture.read(str(path), "message")
        unwrapped = traces.unwrap(batches, level="event")
        expected += [row for batch in unwrapped for row in batch.to_pylist()]
    assert len(expected) == 2 * (12 + 7)
    options = {"level": "message", "fields": "*", "files": "separate"}
    messages = amqp.read_captures(spark, str(tmp_path), options).repartition(5)
    events = amqp.decode_traces(messages, level="event")
    assert events.columns == capture_columns()
    assert by_place(rows_of(events)) == by_place(expected)
    numbers = amqp.decode_traces(messages, ["event_id"], level="event").collect()
    assert sorted(row.event_id for row in numbers) == sorted(row["event_id"] for row in expected)
    with pytest.raises(ValueError, match=r"numbers events by .*: there is no position"):
        amqp.decode_traces(messages.drop("position"), level="event")


def test_events_of_a_stream_are_refused(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    messages = stream.selectExpr(
        "'amq.rabbitmq.trace' AS exchange", "'publish.e' AS routing_key",
        "named_struct('headers', '{}') AS properties", "X'00' AS body",
        "'f' AS file", "value AS packet_offset", "0 AS position",
    )  # fmt: skip
    assert amqp.decode_traces(messages).isStreaming
    with pytest.raises(ValueError, match="which a stream does not have"):
        amqp.decode_traces(messages, level="event")


def test_refused_before_anything_runs(spark: Any, folder: Path) -> None:
    for options, problem in (
        ({"field": "body"}, "did you mean fields"),
        ({"fields": "bodi"}, "no column 'bodi'"),
        ({"format": "xml"}, "format is"),
        ({"level": "frame"}, "level is"),
        ({"level": "event", "fields": "record"}, "no column 'record'"),
    ):
        with pytest.raises(ValueError, match=problem):
            amqp.read_traces(spark, str(folder), options)
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        amqp.read_traces(spark, str(folder / "nothing"))
    messages = spark.sql("SELECT 'x' AS exchange, 'y' AS routing_key, X'00' AS body")
    with pytest.raises(ValueError, match="there is no properties"):
        amqp.decode_traces(messages)
    typed = messages.selectExpr("*", "named_struct('headers', map('a', 'b')) AS properties")
    with pytest.raises(TypeError, match="headers of messages are JSON text"):
        amqp.decode_traces(typed)
