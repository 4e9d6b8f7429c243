"""Questions about messages that go through exchanges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import TO_CLIENT, Say, client, close, consume, deliver, select, server
from tests.support.recording import packets
from tests.support.route_talk import (
    START,
    bind,
    declare,
    delete_queue,
    give_back,
    queue,
    send,
)

Ask = Callable[..., list[dict[str, Any]]]

#: A publish reaches two queues, or one; what one of them has is delivered.
ORDERS = [
    *START,
    *declare("orders", "topic"),
    *queue("all"),
    *queue("eu"),
    *bind("all", "orders", "#"),
    *bind("eu", "orders", "eu.*"),
    *(send("orders", "eu.x", name=f"m{n}") for n in range(3)),
    *(send("orders", "us.x", name=f"n{n}") for n in range(2)),
    *consume("eu"),
]


def got(number: int, key: str, name: str) -> Say:
    method = amqp.Basic.Deliver(
        consumer_tag="c1", delivery_tag=number, exchange="orders", routing_key=key
    )
    return TO_CLIENT, amqp.encode_message(1, method, amqp.Basic.Properties(message_id=name), b"x")


DELIVERED = [got(1, "eu.x", "m0"), got(2, "eu.x", "m1"), client(amqp.Basic.Ack(delivery_tag=1))]


def columns(rows: list[dict[str, Any]], *names: str) -> list[Any]:
    return [tuple(row.get(name) for name in names) for row in rows]


def test_queues_behind_an_exchange(ask: Ask) -> None:
    rows = ask("queues", packets([*ORDERS, *DELIVERED]))
    names = ("queue", "published", "delivered", "acknowledged", "unacknowledged", "backlog")
    assert columns(rows, *names) == [("eu", 3, 2, 1, 1, 2), ("all", 5, 0, 0, 0, 5)]


def test_without_the_beginning_there_is_no_number(ask: Ask) -> None:
    talk = packets([*ORDERS, *DELIVERED, *close()])
    for first in range(3, len(talk) - 8, 5):
        for row in ask("queues", talk[first:]):
            assert "backlog" not in row
            assert "published" not in row


def test_a_binding_that_is_older_makes_no_backlog(ask: Ask) -> None:
    """More was delivered than was published to the queue."""
    script = [*START, *declare("orders", "topic"), *queue("all"), *queue("eu")]
    script += [*bind("all", "orders", "#"), send("orders", "eu.x", name="m0"), *consume("eu")]
    rows = ask("queues", packets([*script, got(1, "eu.x", "m0")]))
    assert columns(rows, "queue", "backlog") == [("eu", None), ("all", 1)]


def test_the_busiest_queues(ask: Ask) -> None:
    rows = [row for row in ask("top", packets([*ORDERS, *DELIVERED])) if row["kind"] == "queue"]
    assert columns(rows, "name", "published", "delivered", "published_bytes", "certainty") == [
        ("all", 5, 0, 5, "inferred"),
        ("eu", 3, 2, 3, "inferred"),
    ]
    unknown = [*START, send("elsewhere"), *ORDERS[len(START) :], *DELIVERED]
    rows = [row for row in ask("top", packets(unknown)) if row["kind"] == "queue"]
    assert columns(rows, "name", "published", "delivered") == [
        ("all", None, 0),
        ("eu", None, 2),
        (None, 1, 0),
    ]


def test_messages_have_their_route(ask: Ask) -> None:
    rows = ask("messages", packets([*ORDERS, *DELIVERED]))
    assert columns(rows, "event", "message_id", "route", "queue")[2:7] == [
        ("published", "m2", ["all", "eu"], None),
        ("published", "n0", ["all"], "all"),
        ("published", "n1", ["all"], "all"),
        ("delivered", "m0", None, "eu"),
        ("delivered", "m1", None, "eu"),
    ]


LOST = [*START, *declare("a", "direct"), *queue("q"), *bind("q", "a", "k"), *select()]
LOST += [send("a", "k", name="one"), send("a", "other", name="two")]
LOST += [send("a", "k", name="three", mandatory=True), *delete_queue("q")]
LOST += [send("a", "k", name="four", mandatory=True), give_back("a", "k", "four")]
LOST += [server(amqp.Basic.Ack(delivery_tag=4, multiple=True)), send("b", "k", name="five")]


def test_messages_that_no_queue_gets(ask: Ask) -> None:
    rows = ask("messages", packets(LOST))
    names = ("event", "message_id", "ended", "outcome", "certainty", "reply_code")
    assert columns(rows, *names) == [
        ("published", "one", "confirmed", "accepted", "exact", None),
        ("published", "two", "unroutable", "accepted", "inferred", None),
        ("published", "three", "confirmed", "accepted", "exact", None),
        ("published", "four", "returned", "accepted", "exact", 312),
        ("published", "five", "waiting", None, "exact", None),
    ]
    rows = ask("errors", packets(LOST))
    assert columns(rows, "event", "exchange", "certainty", "count") == [
        ("unroutable", "a", "inferred", 1),
        ("returned", "a", "exact", 1),
    ]


def findings(ask: Ask, script: list[Say]) -> list[Any]:
    return columns(
        ask("diagnose", packets([*script, *close()])),
        *("severity", "finding", "exchange", "queue", "count", "text", "certainty"),
    )


def test_messages_lost_in_silence(ask: Ask) -> None:
    assert findings(ask, LOST[:-6]) == [
        (
            1,
            "messages lost in silence",
            "a",
            None,
            1,
            "no queue gets them - such as other",
            "inferred",
        )
    ]
    found = findings(ask, [*LOST[: len(START) + 6], *select(), send("a", "k"), send("b", "k")])
    assert [row for row in found if row[1] == "messages lost in silence"] == []


@pytest.mark.parametrize(("n", "acks"), [(30, 3), (30, 28), (8, 0)])
def test_a_backlog(n: int, acks: int, ask: Ask) -> None:
    script = [*START, *queue("jobs"), *(send("", "jobs", name=f"m{i}") for i in range(n))]
    script += [*consume("jobs"), *(deliver(i + 1, message=f"m{i}") for i in range(acks))]
    script += [client(amqp.Basic.Ack(delivery_tag=i + 1)) for i in range(acks)]
    rows = [row for row in findings(ask, script) if row[1] == "backlog"]
    assert [(row[0], row[3], row[4]) for row in rows] == ([(2, "jobs", 27)] if acks == 3 else [])
