"""What a question keeps of a recording in the making is bounded, and says no more than is known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
pytest.importorskip("rich")

import pyarrow as pa

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec.analysis._questions import load
from amqpcodec.cli import recent
from amqpcodec.cli.queries import Query
from amqpcodec.cli.recent import Recent
from tests.cli.test_questions_unit import DE, SHOP, B
from tests.support import recording as builder
from tests.support.amqp091_messages import sent

#: 100 messages that are confirmed, delivered and settled, then one that nobody settles, and more.
MANY = 100


def talk() -> Iterator[tuple[str, bytes]]:
    yield from SHOP[:20]
    yield "server", sent(1, B.Deliver("c1", 1, False, *DE), B.Properties(message_id="old"), b"x")
    for n in range(2, MANY + 2):
        name = B.Properties(message_id=f"m-{n}")
        yield "client", sent(1, B.Publish(*DE), name, b"x")
        yield "server", sent(1, B.Ack(delivery_tag=n - 1))
        yield "server", sent(1, B.Deliver("c1", n, False, *DE), name, b"x")
        yield "client", sent(1, B.Ack(delivery_tag=n))


@pytest.fixture
def events(tmp_path) -> list[pa.RecordBatch]:
    """The events, but for those of the end of the recording, in batches of ten."""
    path = tmp_path / "long.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(list(talk()))))
    [batch] = map(pa.record_batch, capture.read(path, "event"))
    going = batch.filter(
        pa.compute.invert(
            pa.compute.is_in(batch["event"], pa.array(["waiting", "recording-ended"]))
        )
    )
    return [going.slice(at, 10) for at in range(0, going.num_rows, 10)]


def asked(name: str, window: int | None, events: list[pa.RecordBatch]) -> Recent:
    question = load(name)
    held = Recent(Query(question.query, question.columns, in_part=True), window)
    for batch in events:
        held.add(batch.select(held.query.schema.names))
    return held


def rows(held: Recent) -> list[dict]:
    return held.answer(held.newest + 1).to_pylist()


def test_all_is_known_while_there_is_room(events):
    held = asked("queues", None, events)
    (row,) = rows(held)
    assert (row["delivered"], row["acknowledged"], row["waiting"]) == (MANY + 1, MANY, 1)
    assert held.since is None
    assert held.extent == f"{sum(batch.num_rows for batch in events)} events"


@pytest.mark.parametrize("name", ["unacked", "messages"])
def test_what_is_open_stays(events, monkeypatch, name):
    monkeypatch.setattr(recent, "MAX_ROWS", 60)
    held = asked(name, None, events)
    assert held.rows <= 60
    (row,) = [row for row in rows(held) if row["message_id"] == "old"]
    assert (row["queue"], row["certainty"]) == ("eu", "inferred")
    assert "of the last" in held.extent


def test_a_window_of_time(events):
    held = asked("messages", 20_000, events)
    times = [row["began_at"] for row in rows(held)]
    assert 5 < len(times) < MANY
    spans = [(times[-1] - time).total_seconds() for time in times[1:]]
    assert max(spans) < 0.03


def test_what_was_forgotten_makes_balances_unknown(events, monkeypatch):
    """A queue that was declared empty long ago has no backlog of the newest messages alone."""
    (whole,) = rows(asked("queues", None, events))
    assert whole["unacknowledged"] == 1
    monkeypatch.setattr(recent, "MAX_ROWS", 60)
    (row,) = rows(asked("queues", None, events))
    assert (row["backlog"], row["unacknowledged"]) == (None, None)
    (row,) = rows(asked("connections", None, events))
    assert (row["opened"], row["ended"], row["user"]) == ("in the recording", "open", "eve")


def test_connections_that_ended_are_forgotten(events, tmp_path, monkeypatch):
    close = [("client", sent(0, amqp.Connection.Close(200, "bye", 0, 0)))]
    path = tmp_path / "ended.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*talk(), *close])))
    [batch] = map(pa.record_batch, capture.read(path, "event"))
    monkeypatch.setattr(recent, "MAX_ROWS", 60)
    held = asked("unacked", None, [batch])
    assert held.rows <= batch.num_rows // 2 + 1
    assert rows(held) == []
