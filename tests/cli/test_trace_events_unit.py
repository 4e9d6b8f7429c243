"""Questions and dissect --level event of RabbitMQ's traces, which say less than captures do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from amqpcodec import analysis, traces  # noqa: E402
from amqpcodec.analysis._questions import NAMES  # noqa: E402
from tests.support import trace_logs as logs  # noqa: E402

UNTOLD = "a trace has no settlements, confirms or ends of connections"
PUBLISHED = ["jobs"]


@pytest.fixture
def firehose(tmp_path: Path) -> Path:
    """Three messages to a queue, of which two were delivered, one of them twice."""
    path = tmp_path / "firehose.jsonl"
    lines = [
        *(logs.firehose_line("publish.", b"%d" % n, routed_queues=PUBLISHED) for n in range(3)),
        logs.firehose_line("deliver.jobs", b"0", redelivered=0),
        logs.firehose_line("deliver.jobs", b"1", redelivered=0),
        logs.firehose_line("deliver.jobs", b"1", redelivered=1),
    ]
    path.write_bytes(b"".join(lines))
    return path


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A log of the tracing plugin, compressed by nothing, in text."""
    path = tmp_path / "trace.log"
    path.write_bytes(logs.text(b"published", b"one") + logs.text(b"received", b"one"))
    return path


def test_every_question_has_an_answer(firehose: Path, plugin: Path, run: Any) -> None:
    for path in (firehose, plugin):
        for name in NAMES:
            answer = getattr(analysis, name)(path)
            assert answer.num_columns > 3
            arguments = ["errors", "--all"] if name == "incidents" else [name]
            result = run(*arguments, path)
            assert result.status == 0, result.err
            assert result.err.startswith(f"amqpcodec: {path}: {UNTOLD}")


def test_queues(firehose: Path, plugin: Path) -> None:
    [row] = analysis.queues(str(firehose)).to_pylist()
    assert (row["published"], row["delivered"], row["redelivered"]) == (3, 3, 1)
    for name in ("acknowledged", "rejected", "requeued", "unacknowledged", "backlog"):
        assert row[name] is None, name
    assert row["certainty"] == "exact"
    of_plugin = analysis.queues([plugin]).to_pylist()
    assert [(row["queue"], row["delivered"], row["redelivered"]) for row in of_plugin] == [
        ("q.1", 1, None)
    ]


def test_nothing_is_said_of_settlements(firehose: Path, run: Any) -> None:
    assert analysis.unacked(firehose).num_rows == 0
    assert analysis.latency(firehose).to_pylist()[0]["span"] == "published to delivered"
    assert analysis.diagnose(firehose).num_rows == 0
    [row] = analysis.connections(firehose).to_pylist()
    assert (row["published"], row["delivered"], row["opened"], row["ended"]) == (3, 3, None, None)
    assert row["certainty"] == "unknown"
    assert {row["ended"] for row in analysis.messages(firehose).to_pylist()} == {None}
    result = run("unacked", firehose)
    assert "no delivery is known to wait for its settlement" in result.err


def test_sql(firehose: Path, plugin: Path) -> None:
    query = "SELECT event, count(*) AS count FROM events GROUP BY event ORDER BY event"
    rows = analysis.sql(query, [firehose, plugin]).to_pylist()
    assert rows == [{"event": "delivered", "count": 4}, {"event": "published", "count": 4}]
    with pytest.raises(TypeError, match="ports"):
        analysis.sql(query, firehose, ports=5672)


def test_dissect(firehose: Path, run: Any) -> None:
    result = run("dissect", "--level", "event", "--format", "json", firehose)
    rows = [json.loads(line) for line in result.out.splitlines()]
    expected = pa.table(traces.read(firehose, level="event"))
    assert [row["event"] for row in rows] == expected.column("event").to_pylist()
    assert [row["route"] for row in rows[:3]] == [["jobs"]] * 3
    assert UNTOLD in result.err
    result = run("dissect", "--level", "event", "--where", "redelivered", firehose)
    assert len(result.out.splitlines()) == 2
    messages = run("dissect", firehose)
    assert len(messages.out.splitlines()) == 7


def test_bad_records(firehose: Path, run: Any) -> None:
    firehose.write_bytes(firehose.read_bytes() + b"{\n")
    result = run("errors", firehose)
    assert result.status == 1
    assert "protocol-error" in result.out
    assert "1 with an error" in result.err


def test_one_kind_of_file(firehose: Path, good: Path, run: Any) -> None:
    result = run("queues", firehose, good)
    assert result.status == 2
    assert "name one kind of them" in result.err
    with pytest.raises(ValueError, match="name one kind of them"):
        analysis.queues([firehose, good])


@pytest.mark.parametrize("command", [("stats",), ("report", "-o", "page.html")])
def test_commands_that_need_packets_name_those_that_read_traces(run, firehose, command) -> None:
    pytest.importorskip("bokeh")
    result = run(*command, firehose)
    assert result.status == 2
    hint = "; dissect, diagnose, messages, queues and top read this trace of RabbitMQ"
    assert result.err.endswith(f"{firehose}: neither pcap nor pcapng{hint}\n")
    text = firehose.with_name("notes.txt")
    text.write_text("no trace")
    assert run(*command, text).err.endswith(f"{text}: neither pcap nor pcapng\n")
