"""The tracker counts what is beyond a limit, and says nothing wrong of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import (
    Say,
    client,
    consume,
    deliver,
    open_channel,
    publish,
    select,
    server,
    short,
    write,
)
from tests.support.event_talk_v1 import joined
from tests.support.recording import packets
from tests.support.route_talk import START, bind, declare, give_back, send

Read = Callable[..., list[dict[str, Any]]]


def bounded(
    path: Path, script: Iterable[Say], **limits: Any
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows, and what was forgotten."""
    reader = capture.Reader(write(path / "talk.pcap", packets(list(script))), "event", **limits)
    rows = [row for batch in reader for row in batch.to_pylist()]
    return rows, reader.stats()["forgotten"]


def columns_of(rows: Iterable[dict[str, Any]], event: str, *columns: str) -> list[Any]:
    """These columns of the rows of an event."""
    return short([row for row in rows if row["event"] == event], *columns)


def test_channels(tmp_path: Path) -> None:
    script = [*START, *open_channel(2), publish(1, channel=2), publish(2)]
    rows, forgotten = bounded(tmp_path, script, max_tracked=1)
    assert columns_of(rows, "channel-opened", "channel") == [(1,), (2,)]
    assert columns_of(rows, "published", "message_id") == [("p2",)]
    # channel.open, its reply, the publish's method and its content
    assert forgotten == {"channels": 4}


def test_requests(tmp_path: Path) -> None:
    """Of a channel with too many that wait none is known."""
    requests = [client(amqp.Queue.Declare(queue=name)) for name in ("a", "b", "c")]
    script = [*START, *requests, server(amqp.Queue.DeclareOk(queue="a")), *consume("jobs")]
    rows, forgotten = bounded(tmp_path, script, max_tracked=2)
    assert columns_of(rows, "declared", "queue", "certainty", "elapsed_us") == [
        ("a", "unknown", None)
    ]
    assert columns_of(rows, "consumer-started", "queue", "certainty") == [("jobs", "exact")]
    assert forgotten == {"requests": 1}


def test_consumers(tmp_path: Path) -> None:
    script = [*START, *consume("a", "one"), *consume("b", "two")]
    script += [deliver(1, key="k", tag="one"), deliver(2, key="k", tag="two")]
    rows, forgotten = bounded(tmp_path, script, max_tracked=1)
    assert columns_of(rows, "delivered", "queue", "certainty") == [
        ("a", "exact"),
        ("k", "inferred"),
    ]
    assert forgotten["consumers"] == 1


def test_deliveries_of_another_channel(tmp_path: Path) -> None:
    """A channel forgets its own oldest one: where it has none, the new one."""
    script = [*START, *open_channel(2), *consume("a"), *consume("b", "c2", channel=2)]
    script += [deliver(1), deliver(2), deliver(1, tag="c2", channel=2, message="other")]
    script += [client(amqp.Basic.Ack(delivery_tag=1), 2), client(amqp.Basic.Ack(delivery_tag=1))]
    rows, forgotten = bounded(tmp_path, script, max_tracked=2)
    assert columns_of(rows, "settled", "message_id", "certainty") == [
        (None, "unknown"),
        ("d1", "exact"),
    ]
    assert forgotten == {"deliveries": 1}


def test_publishes_of_another_channel(tmp_path: Path) -> None:
    script = [*START, *select(), *open_channel(2), *select(2)]
    script += [publish(1), publish(2), publish(3, channel=2)]
    script += [server(amqp.Basic.Ack(delivery_tag=1), 2), server(amqp.Basic.Ack(delivery_tag=1))]
    rows, forgotten = bounded(tmp_path, script, max_tracked=2)
    assert columns_of(rows, "confirmed", "message_id", "certainty") == [
        (None, "unknown"),
        ("p1", "exact"),
    ]
    assert forgotten == {"publishes": 1}


def test_messages_that_came_back(tmp_path: Path) -> None:
    script: list[Say] = list(START)
    for key in ("k", "l"):
        script += [send("a", key, name=key, mandatory=True), give_back("a", key, key)]
    script += [send("a", "k", name="known"), send("a", "l", name="forgotten")]
    rows, forgotten = bounded(tmp_path, script, max_tracked=1)
    assert columns_of(rows, "unroutable", "message_id") == [("known",)]
    assert forgotten["unroutable"] == 1


def test_bindings_that_are_tried(tmp_path: Path) -> None:
    """Of a message that 4,097 bindings are to be tried for, no route is known."""
    bound = [
        client(amqp.Queue.Bind(queue="q", exchange="e", routing_key=str(number), no_wait=True))
        for number in range(4097)
    ]
    script = [*START, *declare("e", "fanout"), *joined(bound[:4096]), send("e")]
    rows, forgotten = bounded(tmp_path, [*script, *bound[4096:], send("e")])
    assert columns_of(rows, "published", "route") == [(["q"],), (None,)]
    assert forgotten == {"routes": 1}


def test_headers_that_are_compared(tmp_path: Path) -> None:
    """65,536 for one message: 256 bindings with one, and a message with 256, are as many."""
    script = [*START, *declare("e", "headers"), *bind("q", "e", "", {"h": 1})]
    headers = {f"n{number}": number for number in range(256)}
    for number in range(255):
        script += bind("r", "e", "", {"other": number})
    script += [
        send("e", headers=headers),
        *bind("r", "e", "", {"h": 3}),
        send("e", headers=headers),
    ]
    rows, forgotten = bounded(tmp_path, [*script, send("e", headers={"h": 1})])
    assert columns_of(rows, "published", "route") == [([],), (None,), (["q"],)]
    assert forgotten == {"routes": 1}


def test_routes_that_are_kept(read: Read) -> None:
    """Of 4,097 routing keys the first one is looked for again, and goes where it went."""
    keys = [*map(str, range(4097)), "0"]
    script = [*START, *declare("e", "topic"), *bind("q", "e", "0"), *bind("r", "e", "4096")]
    rows = read(packets([*script, *joined([send("e", key) for key in keys])]))
    routed = [(row["routing_key"], *row["route"]) for row in rows if row.get("route")]
    assert routed == [("0", "q"), ("4096", "r"), ("0", "q")]


def test_a_route_of_many_queues(read: Read) -> None:
    """Longer than any other text of an event."""
    names = [f"{number:02}" + "q" * 200 for number in range(40)]
    script = [*START, *declare("e", "fanout"), *select()]
    for name in names:
        script += bind(name, "e")
    rows = read(packets([*script, send("e", name="m"), server(amqp.Basic.Ack(delivery_tag=1))]))
    assert columns_of(rows, "published", "message_id", "route") == [("m", names)]
    assert columns_of(rows, "confirmed", "message_id", "route") == [("m", None)]
