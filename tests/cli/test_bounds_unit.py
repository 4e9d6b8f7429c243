"""What a question keeps of a recording without end is bounded."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec import v0_9_1 as amqp
from amqpcodec.cli.analysis import handler, latency, messages, routes
from tests.support import recording as builder

B, Q = amqp.Basic, amqp.Queue
NAMES = ("m-1", "m-2")


def message(method: object, name: str) -> bytes:
    return amqp.encode_message(1, method, B.Properties(message_id=name), b"body")


@pytest.fixture
def two(tmp_path):
    """Two messages to a queue of its exchange, both delivered and neither of them confirmed."""
    talk = [
        ("client", amqp.PROTOCOL_HEADER),
        ("client", amqp.encode(1, amqp.Channel.Open())),
        ("client", amqp.encode(1, amqp.Confirm.Select())),
        ("client", amqp.encode(1, Q.Bind(queue="eu", exchange="orders", routing_key="eu"))),
        *(("client", message(B.Publish("orders", "eu"), name)) for name in NAMES),
        *(
            ("server", message(B.Deliver("c1", tag, False, exchange, "eu"), name))
            for tag, name, exchange in ((1, "m-1", "orders"), (2, "m-2", "others"))
        ),
        *(("client", amqp.encode(1, B.Ack(delivery_tag=tag))) for tag in (1, 2)),
    ]
    path = tmp_path / "two.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    return path


def test_times_of_publications_are_forgotten_oldest_first(query, two, monkeypatch):
    def have_times() -> list[bool]:
        rows = query("messages", two)
        return [row["after_ms"] is not None for row in rows if row["event"] == "deliver"]

    assert have_times() == [True, True]
    monkeypatch.setattr(messages, "MAX_IDS", 1)
    assert have_times() == [False, True]


def test_bindings_beyond_the_most_are_not_followed(query, two, monkeypatch):
    def route() -> object:
        return next(row["route"] for row in query("messages", two) if row["event"] == "publish")

    assert route() == ["eu"]
    monkeypatch.setattr(routes, "MAX_BINDINGS", 0)
    assert not route()


def test_messages_that_wait_beyond_the_most_are_left_out_and_counted(run, two, monkeypatch):
    monkeypatch.setattr(handler, "MAX_PENDING", 1)
    result = run("messages", two)
    assert result.status == 0
    assert "more than 1 messages waited for an answer: the answer lacks 3 of them" in result.err


def test_names_beyond_the_most_share_a_row(query, two, monkeypatch):
    monkeypatch.setattr(latency, "MAX_KEYS", 1)
    rows = query("latency", two)
    assert "(others)" in {row["queue"] for row in rows}
