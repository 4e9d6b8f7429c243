"""RabbitMQ's traces at level "event": what they say, and nothing more."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.paths import shared_dir
from tests.support import recording as make
from tests.support import trace_logs as logs

pa = pytest.importorskip("pyarrow")

from amqpcodec import capture, traces  # noqa: E402

TEXT = logs.text(b"published", b"one\n\xff") + logs.text(b"received", b"one\n\xff")
JSON = b"".join(logs.json_line(kind, b"one\n\xff") for kind in ("published", "received"))
#: What the two formats of the plugin say alike.
PLUGIN = {"text": TEXT, "json": JSON}


def events(data: bytes, **options: Any) -> list[dict[str, Any]]:
    """The events of a trace."""
    table: list[dict[str, Any]] = pa.table(
        traces.read(io.BytesIO(data), level="event", **options)
    ).to_pylist()
    return table


def said(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_columns_are_those_of_captures() -> None:
    assert traces.schema("event").equals(pa.schema(capture.schema("event")))
    assert traces.read(io.BytesIO(TEXT), level="event").schema.equals(traces.schema("event"))
    assert "error" in traces.schema().names
    with pytest.raises(ValueError, match='"message" or "event" for a trace'):
        traces.schema("frame")
    with pytest.raises(ValueError, match='"message" or "event" for a trace'):
        traces.read(io.BytesIO(TEXT), level="frame")
    [row] = events(logs.text(b"published", b""), fields=["event", "route"])
    assert row == {"event": "published", "route": ["q.1", "q.2"]}
    with pytest.raises(ValueError, match="no column 'record'"):
        traces.read(io.BytesIO(TEXT), ["record"], level="event")


@pytest.mark.parametrize("name", PLUGIN)
def test_logs_of_the_plugin(name: str) -> None:
    published, delivered = map(said, events(PLUGIN[name]))
    moment = datetime(2026, 5, 1, 10, 0, 0, 250_000, UTC)
    shared = {
        "file": "",
        "connection_index": 0,
        "timestamp": moment,
        "timestamp_last": moment,
        "time_us": int(moment.timestamp() * 1_000_000),
        "position": 0,
        "flags": [],
        "client": "[::1]:5001",
        "certainty": "exact",
        "connection_name": "guest@[::1]",
        "user": "guest",
        "virtual_host": "/",
        "channel": 3,
        "exchange": "orders",
        "routing_key": "eu.de",
        "details": '{"node":"rabbit@host"}',
    }
    connection, content = published["connection"], published["content"]
    assert published == {
        **shared,
        "connection": connection,
        "direction": "client",
        "src": "[::1]:5001",
        "dst": "[::1]:5672",
        "packet_offset": published["packet_offset"],
        "event_id": 1,
        "event": "published",
        "initiator": "client",
        "route": ["q.1", "q.2"],
        "content": content,
    }
    assert delivered == {
        **shared,
        "connection": connection,
        "direction": "server",
        "src": "[::1]:5672",
        "dst": "[::1]:5001",
        "packet_offset": delivered["packet_offset"],
        "event_id": 2,
        "event": "delivered",
        "initiator": "server",
        "queue": "q.1",
        "content": content,
    }


def test_the_firehose() -> None:
    data = b"".join(
        [
            logs.firehose_line("publish.orders", b"one", routed_queues=["jobs"]),
            logs.firehose_line("deliver.jobs", b"one", redelivered=1),
            logs.firehose_line("publish.orders", b""),
        ]
    )
    published, delivered, unrouted = events(data)
    assert (published["queue"], published["route"]) == ("jobs", ["jobs"])
    assert (published["body_size"], delivered["body_size"]) == (3, 3)
    assert delivered["redelivered"] is True
    assert delivered["queue"] == "jobs"
    assert published["content"] == delivered["content"]
    assert (unrouted["route"], unrouted["queue"], unrouted["certainty"]) == (None, None, "unknown")
    assert (unrouted["body_size"], unrouted["content"]) == (0, None)
    for row in (published, delivered, unrouted):
        assert row["time_us"] is None
        for name in ("answers", "settles", "delivery_tag", "outcome", "elapsed_us"):
            assert row[name] is None


def test_the_number_of_a_body_is_that_of_captures(tmp_path: Path) -> None:
    for body in (b"x", b"12345678", bytes(range(256)) * 5):
        frames = amqp.encode_message(1, amqp.Basic.Publish(), amqp.Basic.Properties(), body)
        path = tmp_path / "talk.pcap"
        path.write_bytes(make.pcap(make.packets([(0, amqp.PROTOCOL_HEADER + frames)])))
        rows = pa.table(capture.read(path, "event", ["event", "content"])).to_pylist()
        [of_capture] = [row["content"] for row in rows if row["event"] == "published"]
        [of_trace] = events(logs.firehose_line("publish.", body), fields=["content"])
        assert of_trace["content"] == of_capture


def test_a_bad_record_is_an_event() -> None:
    good, bad, last = events(JSON.replace(b"\n", b"\n{broken\n", 1))
    assert [good["event"], last["event"]] == ["published", "delivered"]
    assert (bad["event"], bad["reason"], bad["certainty"]) == ("protocol-error", "no JSON", "exact")
    assert bad["packet_offset"] == JSON.index(b"\n") + 1
    assert bad["connection"] != good["connection"]


def test_connections_are_numbered() -> None:
    lines = [
        logs.json_line("published", b"x", connection=f"10.0.0.{n % 3}:1 -> 10.0.0.9:5672")
        for n in range(9)
    ]
    rows = events(b"".join(lines), batch_rows=2)
    assert [row["connection_index"] for row in rows] == [0, 1, 2] * 3
    assert [row["event_id"] for row in rows] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert len({row["connection"] for row in rows}) == 3
    assert [row["client"] for row in rows[:3]] == ["10.0.0.0:1", "10.0.0.1:1", "10.0.0.2:1"]


def test_several_keys_and_odd_names() -> None:
    [row] = events(logs.json_line("published", b"x", routing_keys=["a", "b"]))
    assert json.loads(row["details"]) == {"node": "rabbit@host", "routing_keys": ["a", "b"]}
    [row] = events(logs.json_line("published", b"x", connection="<rabbit@host.1.2.3>", user=None))
    assert (row["client"], row["connection_name"], row["user"]) == ("", None, None)
    [row] = events(logs.json_line("published", b"x", user="u" * 255))
    assert row["connection_name"] is None
    [row] = events(logs.json_line("received", b"x", queue="none"))
    assert (row["queue"], row["certainty"]) == (None, "unknown")


def test_unwrapped() -> None:
    headers = {"exchange_name": "e", "routing_keys": ["k"], "routed_queues": ["q"], "user": "u"}
    row = {
        "exchange": "amq.rabbitmq.trace",
        "routing_key": "publish.e",
        "method": "basic.deliver",
        "properties": {"headers": json.dumps(headers)},
        "body": b"x",
        "file": "f.pcap",
        "packet_offset": 7,
    }
    batch = pa.RecordBatch.from_pylist([row])
    [out] = list(traces.unwrap([batch], level="event"))
    [event] = out.to_pylist()
    assert (event["event"], event["queue"], event["user"]) == ("published", "q", "u")
    assert (event["file"], event["packet_offset"], event["body_size"]) == ("f.pcap", 7, 1)


@pytest.mark.skipif(shared_dir() is None, reason="no recordings here")
def test_recorded_traces() -> None:
    folder = shared_dir() / "captures" / "trace"  # type: ignore[operator]
    firehose, text, plugin = (
        pa.table(traces.read(folder / name, level="event")).to_pylist()
        for name in ("firehose.jsonl", "texttrace.log", "jsontrace.log")
    )
    names = ("event", "queue", "route", "routing_key", "exchange", "message_id", "user", "content")
    assert [[row[name] for name in names] for row in text] == [
        [row[name] for name in names] for row in plugin
    ]
    assert sorted(str([row[name] for name in names]) for row in firehose) == sorted(
        str([row[name] for name in names]) for row in plugin
    )


def test_what_are_traces(tmp_path: Path) -> None:
    trace, other = tmp_path / "trace.log", tmp_path / "x.pcap"
    trace.write_bytes(TEXT)
    other.write_bytes(make.pcap([]))
    assert traces.are_traces([trace])
    assert traces.are_traces([io.BytesIO(JSON), trace])
    assert not traces.are_traces([other, trace])
    assert not traces.are_traces([tmp_path / "none"])
    assert not traces.are_traces([tmp_path])
    assert traces.are_traces([tmp_path / "none", trace])
    assert not traces.are_traces([])
    with pytest.raises(ValueError, match="name one kind of them"):
        traces.are_traces([trace, other])
