"""What the questions answer about recordings of 1.0 whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from amqpcodec import v1_0 as amqp
from tests.support.event_talk import TO_CLIENT, TO_SERVER, lost
from tests.support.event_talk_v1 import (
    SERVER_CHANNELS,
    begin,
    client,
    close,
    deliver,
    error,
    login,
    outcome,
    publish,
    receives,
    sends,
    server,
)
from tests.support.recording import packets

Ask = Callable[..., list[dict[str, Any]]]
LINKS = [*login(), *begin(), *sends("s", "/queues/jobs"), *receives("r", "/queues/jobs")]
WORK = [
    *LINKS,
    *(publish(n) for n in range(5)),
    *(deliver(n, name=f"p{n}") for n in range(4)),
    outcome(TO_CLIENT, 0, 3),
    outcome(TO_CLIENT, 4, state=amqp.Released()),
    outcome(TO_SERVER, 0),
    outcome(TO_SERVER, 1, state=amqp.Rejected()),
    outcome(TO_SERVER, 2, state=amqp.Modified()),
]


def columns(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows]


def test_a_queue(ask: Ask) -> None:
    names = ("queue", "published", "delivered", "acknowledged", "rejected", "released", "requeued")
    (row,) = ask("queues", lost(WORK, TO_CLIENT))
    assert columns([row], *names) == [("jobs", 5, 4, 1, 1, 1, 1)]
    assert (row["unacknowledged"], row.get("backlog")) == (0, None)
    assert (row["wait_p50_ms"], row["work_p50_ms"]) == (5.0, 6.0)
    assert (row["consumers_started"], row["consumers_ended"]) == (1, 1)
    (row,) = ask("queues", packets(WORK))
    assert (row["waiting"], row["unacknowledged"]) == (1, 1)


def test_messages_and_how_long_they_took(ask: Ask) -> None:
    rows = ask("messages", packets([*WORK, *close()]))
    assert columns(rows, "event", "message_id", "ended", "outcome") == [
        *[("published", f"p{n}", "confirmed", "accepted") for n in range(4)],
        ("published", "p4", "confirmed", "released"),
        ("delivered", "p0", "settled", "accepted"),
        ("delivered", "p1", "settled", "rejected"),
        ("delivered", "p2", "settled", "modified"),
        ("delivered", "p3", "requeued", None),
    ]
    spans = ask("latency", packets(WORK))
    assert columns(spans, "span", "queue", "count", "unknown") == [
        ("delivered to settled", "jobs", 3, 0),
        ("published to confirmed", None, 5, 0),
        ("published to delivered", "jobs", 4, 0),
    ]


def test_what_the_server_settles_is_no_work_of_the_consumer(ask: Ask) -> None:
    """Nobody says whether the consumer took it: its disposition is missing, or never was."""
    talk = packets([*WORK, outcome(TO_CLIENT, 3, role=False), *close()])
    names = ("delivered", "acknowledged", "rejected", "released", "requeued", "waiting")
    (row,) = ask("queues", talk)
    assert columns([row], *names) == [(4, 1, 1, 1, 0, 0)]
    assert (row["unacknowledged"], row.get("backlog"), row["work_p99_ms"]) == (0, None, 6.0)
    assert ask("unacked", talk) == []
    assert columns(ask("messages", talk)[-1:], "message_id", "ended", "outcome") == [
        ("p3", "settled", None)
    ]
    spans = [row for row in ask("latency", talk) if row["span"] == "delivered to settled"]
    assert columns(spans, "count", "unknown") == [(3, 0)]


def test_what_waits(ask: Ask) -> None:
    rows = ask("unacked", packets(WORK))
    assert columns(rows, "queue", "message_id", "consumer_tag", "certainty") == [
        ("jobs", "p3", "r", "exact")
    ]


def test_troubles(ask: Ask) -> None:
    said = [
        *WORK,
        *begin(1),
        server(amqp.End(error=error("amqp:internal-error", "no")), 1 + SERVER_CHANNELS),
        client(amqp.End(), 1),
        server(amqp.Detach(handle=50, closed=True, error=error("amqp:not-allowed", "full"))),
        client(amqp.Detach(handle=0, closed=True)),
        server(amqp.Detach(handle=51, closed=True, error=error("amqp:resource-deleted", "gone"))),
        client(amqp.Detach(handle=1, closed=True)),
        server(amqp.Close(error=error("amqp:connection:forced", "shut down")), 0),
        client(amqp.Close()),
    ]
    rows = ask("diagnose", packets(said))
    assert columns(rows, "severity", "finding", "queue", "text", "count") == [
        (1, "channel closed with an error", None, "amqp:internal-error - no", 1),
        (1, "link closed with an error", "jobs", "amqp:not-allowed - full", 1),
        (1, "connection closed with an error", "jobs", "amqp:connection:forced - shut down", 1),
        (2, "messages returned", None, None, 1),
        (2, "messages rejected", "jobs", None, 1),
        (2, "consumer cancelled by the broker", "jobs", "amqp:resource-deleted - gone", 1),
    ]
    rows = ask("errors", packets(said))
    assert columns(rows, "event", "outcome", "reason", "example") == [
        ("confirmed", "released", None, None),
        ("settled", "rejected", None, None),
        ("settled", "modified", None, None),
        ("channel-closed", None, "amqp:internal-error", "no"),
        ("link-closed", None, "amqp:not-allowed", "full"),
        ("consumer-cancelled", None, "amqp:resource-deleted", "gone"),
        ("connection-closed", None, "amqp:connection:forced", "shut down"),
        ("requeued", None, "connection-closed", None),
    ]


def test_a_good_connection_has_no_findings(ask: Ask) -> None:
    said = [*LINKS, publish(0), deliver(0), outcome(TO_CLIENT, 0), outcome(TO_SERVER, 0), *close()]
    assert ask("diagnose", packets(said)) == []
    (row,) = ask("connections", packets(said))
    assert columns([row], "connection_name", "virtual_host", "channels", "ended", "certainty") == [
        ("worker", "shop", 1, "closed", "exact")
    ]
    assert [row["name"] for row in ask("top", packets(said)) if row["kind"] == "queue"] == ["jobs"]
    (row,) = ask("topology", packets(said))
    assert columns([row], "kind", "queue", "consumer_tag", "reason") == [
        ("consumer", "jobs", "r", "connection-closed")
    ]
