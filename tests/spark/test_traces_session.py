"""RabbitMQ's traces on Spark: the rows of amqpcodec.traces."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec import traces  # noqa: E402
from tests.spark.frames import rows_of  # noqa: E402
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


def test_refused_before_anything_runs(spark: Any, folder: Path) -> None:
    for options, problem in (
        ({"field": "body"}, "did you mean fields"),
        ({"fields": "bodi"}, "no column 'bodi'"),
        ({"format": "xml"}, "format is"),
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
