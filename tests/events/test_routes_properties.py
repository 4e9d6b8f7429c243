"""Routes are those of a plain model, and damage turns no exact row into another one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.events.test_damage_properties import other_answers
from tests.events.test_pieces_properties import offsets, read_changed, resumed, rows_of
from tests.support.event_talk import Say, client, close, login, open_channel, select, server, write
from tests.support.recording import Record, packets, records
from tests.support.route_talk import (
    START,
    bind,
    cancel,
    consume,
    declare,
    delete_exchange,
    delete_queue,
    give_back,
    is_topic_match,
    on,
    queue,
    send,
    together,
    topology,
    unbind,
    words_of,
)

Read = Callable[..., list[dict[str, Any]]]


@pytest.mark.parametrize("seed", range(40))
def test_routes_are_those_of_the_model(seed: int, read: Read) -> None:
    script: list[Say] = list(START)
    routes = []
    for says, route, is_publish in topology(random.Random(seed), 400):
        script += says
        if is_publish:
            routes.append(route)
    rows = [row for row in read(packets(script)) if row["event"] == "published"]
    assert [row.get("route") for row in rows] == routes
    assert sum(route is not None and len(route) > 1 for route in routes) > 3
    for row in rows:
        assert row["certainty"] == ("inferred" if "route" in row else "unknown")
        assert row.get("queue") == (row["route"][0] if len(row.get("route", ())) == 1 else None)


def test_topics_are_those_of_the_model(read: Read) -> None:
    chance = random.Random(7)

    def text(parts: str) -> str:
        return ".".join(chance.choice(parts).replace("-", "") for _ in range(chance.randrange(8)))

    patterns = [text("ab*#-") for _ in range(60)]
    keys = [text("ab-") for _ in range(300)]
    script = [*START, *declare("t", "topic")]
    for number, pattern in enumerate(patterns):
        script += bind(f"{number:02}", "t", pattern)
    rows = [
        row
        for row in read(packets([*script, *(send("t", key) for key in keys)]))
        if row["event"] == "published"
    ]
    for key, row in zip(keys, rows, strict=True):
        assert row["route"] == [
            f"{number:02}"
            for number, pattern in enumerate(patterns)
            if is_topic_match(words_of(pattern), words_of(key))
        ], key


def working() -> Iterator[tuple[int, Say]]:
    """Two connections that change what a third one publishes to."""
    mine = [*login(), *open_channel()]
    yield from on(0, [*START, *select(), *declare("a", "topic"), *bind("q", "a", "k.*")])
    yield from on(1, [*mine, *queue("own", exclusive=True), *bind("own", "a", "#")])
    yield from on(0, [send("a", "k.x", name="m1"), send("", "q", name="m2")])
    yield from on(1, [*unbind("own", "a", "#"), *bind("own", "a", "other")])
    yield from on(0, [send("a", "l", name="m3"), send("a", "l", name="m4", mandatory=True)])
    yield from on(0, [give_back("a", "l", "m4"), server(amqp.Basic.Ack(delivery_tag=3))])
    yield from on(0, [send("a", "l", name="m5"), send("a", "k.y", name="m6")])
    yield from on(0, [server(amqp.Basic.Ack(delivery_tag=6, multiple=True))])
    yield from on(1, close())
    yield from on(0, [send("a", "other", name="m7"), *delete_exchange("a")])
    yield from on(0, [send("a", "k.z", name="m8")])


def alone() -> Iterator[tuple[int, Say]]:
    """One connection, whose messages come back."""
    says = [*START, send("", "k", name="m1", mandatory=True), give_back("", "k", "m1")]
    says += [send("", "k", name="m2"), send("", "k", name="m3", mandatory=True)]
    says += [give_back("", "k", "m3"), send("", "k", name="m4"), *queue("k", auto_delete=True)]
    says += [send("", "k", name="m5"), *consume("k"), *cancel()]
    says += [send("", "k", name="m6", mandatory=True), give_back("", "k", "m6")]
    says += [send("", "k", name="m7"), *declare("a", "direct"), *bind("q", "a", "x")]
    says += [send("a", "y", name="m8", mandatory=True), send("a", "y", name="m9", mandatory=True)]
    says += [give_back("a", "y", "m8"), give_back("a", "y", "m9"), send("a", "y", name="m10")]
    says += [*delete_queue("q"), send("a", "y", name="m11"), *select()]
    says += [send("a", "y", mandatory=True), send("a", "y", mandatory=True), give_back("a", "y")]
    says += [give_back("a", "y"), server(amqp.Basic.Ack(delivery_tag=2, multiple=True))]
    says += [send("gone", name="m12")]
    missing = amqp.Channel.Close(
        reply_code=404, reply_text="NOT_FOUND - no exchange 'gone'", class_id=60, method_id=40
    )
    says += [server(missing), client(amqp.Channel.CloseOk()), *open_channel()]
    says += [send("", "k", name="m13", mandatory=True), give_back("", "k", "m13")]
    return on(0, [*says, send("", "k", name="m14")])


def crossing() -> Iterator[tuple[int, Say]]:
    """A message comes back while another connection binds."""
    yield from on(1, [*login(), *open_channel()])
    yield from on(0, [*START, *declare("a", "direct"), send("a", "k", name="m1", mandatory=True)])
    asked, answered = bind("q", "a", "k")
    yield from on(1, [asked])
    yield from on(0, [give_back("a", "k", "m1"), send("a", "k", name="m2")])
    yield from on(1, [answered])
    yield from on(0, [send("a", "k", name="m3"), send("a", "k", name="m4", mandatory=True)])


TALKS = {"working": working, "alone": alone, "crossing": crossing}
NAMES = pytest.mark.parametrize("name", TALKS)


RECORDS = {name: records(together(talk())) for name, talk in TALKS.items()}


def told(rows: list[dict[str, Any]]) -> list[Any]:
    return [
        (row["event"], row.get("message_id"), row["certainty"], row.get("route"))
        for row in rows
        if row["event"] in ("published", "returned", "unroutable", "destroyed")
    ]


def test_what_is_said_of_the_whole(read: Read) -> None:
    script = told(read(RECORDS["alone"]))
    kinds = {(event, certainty) for event, _, certainty, _ in script}
    assert kinds == {
        ("published", "exact"),
        ("published", "inferred"),
        ("published", "unknown"),
        ("returned", "exact"),
        ("returned", "inferred"),
        ("unroutable", "exact"),
        ("unroutable", "inferred"),
        ("destroyed", "inferred"),
    }
    script = told(read(RECORDS["working"]))
    assert [(name, route) for event, name, _, route in script if event == "published"] == [
        ("m1", ["own", "q"]),
        ("m2", ["q"]),
        ("m3", []),
        ("m4", []),
        ("m5", []),
        ("m6", ["q"]),
        ("m7", []),
        ("m8", None),
    ]
    script = told(read(RECORDS["crossing"]))
    assert [
        (name, certainty) for event, name, certainty, _ in script if event == "unroutable"
    ] == []


@NAMES
def test_a_packet_lost(name: str, read: Read) -> None:
    talk = RECORDS[name]
    expected = read(talk)
    for i in range(len(talk)):
        damaged = read([*talk[:i], *talk[i + 1 :]])
        assert other_answers(expected, damaged, ends=False) == [], i


@NAMES
def test_neighbours_swapped(name: str, read: Read) -> None:
    talk = RECORDS[name]
    expected = read(talk)
    for i in range(len(talk) - 1):
        damaged = read([*talk[:i], talk[i + 1], talk[i], *talk[i + 2 :]])
        assert other_answers(expected, damaged) == [], i


@NAMES
def test_the_beginning_cut_off(name: str, read: Read) -> None:
    talk = RECORDS[name]
    expected = read(talk)
    for i in range(len(talk) - 8):
        damaged = read(talk[i:])
        assert other_answers(expected, damaged) == [], i


@NAMES
def test_snaplen(name: str, read: Read) -> None:
    talk = RECORDS[name]
    expected = read(talk)
    for length in (60, 80, 110):
        cut = [Record(one.data[:length], one.time_ns, len(one.data)) for one in talk]
        assert other_answers(expected, read(cut), ends=False) == [], length


@NAMES
def test_cut_at_all_packets(name: str, tmp_path: Path) -> None:
    talk = together(TALKS[name]())
    path = write(tmp_path / "talk.pcap", talk)
    expected = rows_of(capture.Reader(path, "event"))
    assert resumed(path, offsets(talk)[:-1]) == expected


@pytest.mark.parametrize("seed", range(8))
def test_random_talks_cut_at_packets(seed: int, tmp_path: Path) -> None:
    script = [*START, *select()] if seed % 2 else list(START)
    for says, _, _ in topology(random.Random(seed + 100), 60):
        script += says
    talk = packets(script)
    path = write(tmp_path / "talk.pcap", talk)
    limits = {"max_tracked": (1000, 3)[seed % 3 == 0]}
    expected = rows_of(capture.Reader(path, "event", **limits))
    assert resumed(path, offsets(talk)[:-1], **limits) == expected


@pytest.mark.parametrize("name", TALKS)
def test_a_damaged_state_raises_or_reads(name: str, tmp_path: Path) -> None:
    """Whoever changes a state gets wrong rows at worst."""
    talk = together(TALKS[name]())
    path = write(tmp_path / "talk.pcap", talk)
    stops = offsets(talk)
    for turn, stop in enumerate(stops[9:-1:9]):
        reader = capture.Reader(path, "event")
        rows_of(reader, stop)
        starts: list[int] = []
        raw = reader._one().core.state(starts)
        for at, start in enumerate(starts[turn % 4 :: 4]):
            read_changed(path, raw, start, 1 << (at + turn) % 8)
