"""Damage to a recording may make answers unknown, and never others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture, v1_0
from amqpcodec import v0_9_1 as amqp
from tests.support import event_talk_v1 as v1
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
    client,
    close,
    consume,
    deliver,
    login,
    lost,
    open_channel,
    publish,
    reset,
    select,
    server,
    short,
    write,
)
from tests.support.recording import CLIENT, Record, is_from, packets, records, renumbered

pa = pytest.importorskip("pyarrow")

Read = Callable[..., list[dict[str, Any]]]

#: Columns that say where a row is, and what numbers the rows: damage moves them.
PLACE = {
    "file", "connection", "connection_index", "direction", "timestamp", "timestamp_last", "src",
    "dst", "packet_offset", "position", "flags", "time_us", "client", "event_id", "answers",
    "elapsed_us",
}  # fmt: skip


def got(number: int) -> tuple[int, bytes]:
    method = amqp.Basic.GetOk(delivery_tag=number, routing_key="jobs", message_count=2)
    properties = amqp.Basic.Properties(message_id=f"d{number}")
    return TO_CLIENT, amqp.encode_message(1, method, properties, b"body %d" % number)


def working() -> list[tuple[int, bytes]]:
    """Every kind of answer, with several questions open at once."""
    return [
        *login(),
        *open_channel(1),
        client(amqp.Queue.Declare(queue="jobs", durable=True)),
        client(amqp.Queue.Bind(queue="jobs", exchange="orders", routing_key="eu")),
        server(amqp.Queue.DeclareOk(queue="jobs", message_count=3)),
        server(amqp.Queue.BindOk()),
        *select(1),
        *consume("jobs", "c1"),
        publish(1),
        publish(2, exchange="orders"),
        server(amqp.Basic.Ack(delivery_tag=1)),
        deliver(1),
        deliver(2),
        publish(3),
        server(amqp.Basic.Nack(delivery_tag=3, multiple=True)),
        client(amqp.Basic.Ack(delivery_tag=1)),
        deliver(3),
        client(amqp.Basic.Nack(delivery_tag=3, multiple=True, requeue=True)),
        client(amqp.Basic.Get(queue="jobs")),
        got(4),
        client(amqp.Basic.Reject(delivery_tag=4, requeue=False)),
        client(amqp.Basic.Cancel(consumer_tag="c1")),
        server(amqp.Basic.CancelOk(consumer_tag="c1")),
        *consume("other", "c1"),
        deliver(5),
        publish(4),
        deliver(6),
        server(amqp.Basic.Ack(delivery_tag=4)),
        client(amqp.Basic.Ack(delivery_tag=5)),
        publish(5),
    ]


def closing_channels() -> list[tuple[int, bytes]]:
    error = amqp.Channel.Close(reply_code=404, reply_text="NOT_FOUND", class_id=60, method_id=40)
    return [
        *working(),
        server(error),
        client(amqp.Channel.CloseOk()),
        *open_channel(1),
        *select(1),
        *consume("third", "c1"),
        publish(6),
        deliver(1, "third"),
        server(amqp.Basic.Ack(delivery_tag=1)),
        client(amqp.Basic.Ack(delivery_tag=1)),
        publish(7),
        deliver(2, "third"),
        client(amqp.Channel.Close(reply_code=200)),
        server(amqp.Channel.CloseOk()),
        *open_channel(1),
        *consume("fourth", "c1"),
        deliver(1, "fourth"),
        client(amqp.Basic.Ack(delivery_tag=1)),
    ]


#: The server ends a consumer, while another one goes on.
CANCELLED = [
    *consume("more", "c2"),
    server(amqp.Basic.Cancel(consumer_tag="c1")),
    *(deliver(number, "more", "c2") for number in range(7, 11)),
    client(amqp.Basic.Ack(delivery_tag=8)),
]
V1_FORCED = v1.server(v1_0.Close(error=v1.error("amqp:connection:forced")), 0)
FORCED = server(amqp.Connection.Close(reply_code=320, reply_text="CONNECTION_FORCED"), 0)
TALKS = {
    "open": packets(working()),
    "closed": packets([*working(), *close()]),
    "forced": packets([*working(), FORCED, client(amqp.Connection.CloseOk(), 0)]),
    "forced-fin": lost([*working(), FORCED], TO_SERVER),
    "client-fin": lost(working(), TO_SERVER),
    "server-fin": lost(working(), TO_CLIENT),
    "client-reset": reset(working(), TO_SERVER),
    "server-reset": reset(working(), TO_CLIENT),
    "channels": lost(closing_channels(), TO_SERVER),
    "refused": packets([*login()[:6], FORCED]),
    "cancelled": lost([*working(), *CANCELLED], TO_SERVER),
    "v1-open": packets(v1.working()),
    "v1-closed": packets([*v1.working(), *v1.close()]),
    "v1-forced": packets([*v1.working(), V1_FORCED, v1.client(v1_0.Close())]),
    "v1-client-fin": lost(v1.working(), TO_SERVER),
    "v1-server-reset": reset(v1.working(), TO_CLIENT),
    "v1-sessions": lost(v1.sessions(), TO_SERVER),
    "v1-refused": packets([*v1.login()[:4], v1.server(v1_0.SaslOutcome(1), 0)]),
}
NAMES = pytest.mark.parametrize("name", TALKS)


def facts(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What exact rows say, wherever they stand; of an answer, also what it answers."""
    by_id = {(row["connection"], row["event_id"]): row for row in rows}
    out = []
    for row in rows:
        if row["certainty"] == "exact" and row["event"] not in ("gap", "protocol-error"):
            said = {name: value for name, value in row.items() if name not in PLACE}
            if "answers" in row:
                question = by_id[row["connection"], row["answers"]]
                said["answered"] = short([question], "event", "message_id")
            out.append(said)
    return out


def other_answers(
    whole: Sequence[dict[str, Any]], damaged: Sequence[dict[str, Any]], ends: bool = True
) -> list[dict[str, Any]]:
    """Exact facts of a damaged recording that the whole one does not have, or not so often.

    ends: whether the damaged one ends where the whole one does."""
    known = facts(whole)
    wrong = []
    for fact in facts(damaged):
        if not ends and fact["event"] in ("waiting", "recording-ended"):
            continue
        matches = [one for one in known if fact.items() <= one.items()]
        if not matches:
            wrong.append(fact)
        else:
            known.remove(matches[0])
    return wrong


def outcomes(rows: Sequence[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What became of each message, for all that is known, also where that is inferred."""
    ends = {"confirmed", "settled", "requeued", "unconfirmed", "returned"}
    return {
        (row["message_id"], row["event"], row.get("outcome"))
        for row in rows
        if row["event"] in ends and "answers" in row and "message_id" in row
    }


def other_outcomes(
    damaged: Sequence[dict[str, Any]], known: set[tuple[Any, ...]]
) -> set[tuple[Any, ...]]:
    """Outcomes that messages did not have. One that is null says less, and no other thing."""
    without = {(*one[:2], None) for one in known if one[1] == "settled" or one[1] == "confirmed"}
    return outcomes(damaged) - known - without


def answers(rows: Sequence[dict[str, Any]]) -> int:
    return sum(row["event"] in ("confirmed", "settled", "returned") for row in rows)


def numbered(talk: Sequence[Any]) -> list[Record]:
    return records(talk)


@NAMES
def test_whole(name: str, read: Read) -> None:
    rows = read(numbered(TALKS[name]))
    assert len(facts(rows)) > (10 if "refused" not in name else 0)
    # A row that answers repeats what it answers.
    by_id = {row["event_id"]: row for row in rows}
    for row in rows:
        if "answers" in row:
            question = by_id[row["answers"]]
            for column in ("queue", "exchange", "message_id", "channel"):
                assert row.get(column) == question.get(column)


@NAMES
def test_a_packet_lost(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    for i in range(len(talk)):
        damaged = read([*talk[:i], *talk[i + 1 :]])
        # Where the last packet of a direction is lost, nothing shows it: the recording ends before.
        assert other_answers(whole, damaged, ends=False) == [], i


@NAMES
def test_two_packets_lost(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    for i in range(len(talk)):
        for j in range(i + 1, min(i + 8, len(talk))):
            damaged = read([*talk[:i], *talk[i + 1 : j], *talk[j + 1 :]])
            assert other_answers(whole, damaged, ends=False) == [], (i, j)


@NAMES
@pytest.mark.parametrize("opening", [(0,), (1,), (0, 1), (1, 2, 3), (0, 1, 2, 3, 4)])
def test_the_opening_and_a_packet_lost(name: str, opening: Sequence[int], read: Read) -> None:
    """What a direction without its beginning has not, acknowledgements tell."""
    talk = numbered(TALKS[name])
    complete = read(talk)
    for i in range(len(opening), len(talk)):
        damaged = read([one for k, one in enumerate(talk) if k != i and k not in opening])
        assert other_answers(complete, damaged, ends=False) == [], i


@NAMES
@pytest.mark.parametrize("first", [2**30, 2**31 - 1000, 3 * 2**30, 2**32 - 1000])
@pytest.mark.parametrize("is_client_first", [False, True])
def test_sequence_numbers_begin_anywhere(
    name: str, first: int, is_client_first: bool, read: Read
) -> None:
    """One direction is heard late."""
    talk = TALKS[name]
    late = [packet for packet in talk if is_from(packet, CLIENT) != is_client_first]
    for i in range(0, len(late), 3):
        damaged = [packet for packet in talk if packet not in late[:i]]
        assert read([renumbered(packet, first - 1000) for packet in damaged]) == read(damaged), i


@NAMES
def test_neighbours_swapped(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    for i in range(len(talk) - 1):
        damaged = read([*talk[:i], talk[i + 1], talk[i], *talk[i + 2 :]])
        assert other_answers(whole, damaged) == [], i


@NAMES
def test_the_beginning_cut_off(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    for i in range(len(talk)):
        try:
            damaged = read(talk[i:])
        except Warning:
            damaged = []
        assert other_answers(whole, damaged) == [], i


@NAMES
def test_the_end_cut_off(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    for i in range(3, len(talk)):
        assert other_answers(whole, read(talk[:i]), ends=False) == [], i


@NAMES
@pytest.mark.parametrize("length", [70, 100, 150])
def test_snaplen(name: str, length: int, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    cut = [Record(one.data[:length], one.time_ns, len(one.data)) for one in talk]
    assert other_answers(whole, read(cut), ends=False) == []


@NAMES
def test_one_packet_cut(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    whole = read(talk)
    for i, one in enumerate(talk):
        cut = Record(one.data[:60], one.time_ns, len(one.data))
        assert other_answers(whole, read([*talk[:i], cut, *talk[i + 1 :]]), ends=False) == [], i


@NAMES
def test_messages_keep_their_outcomes(name: str, read: Read) -> None:
    """What is inferred after damage is what happened."""
    talk = numbered(TALKS[name])
    known = outcomes(read(talk))
    for i in range(len(talk)):
        assert other_outcomes(read([*talk[:i], *talk[i + 1 :]]), known) == set(), i
        for j in range(i + 1, min(i + 4, len(talk))):
            damaged = read([*talk[:i], *talk[i + 1 : j], *talk[j + 1 :]])
            assert other_outcomes(damaged, known) == set(), (i, j)


@NAMES
def test_the_middle_keeps_its_outcomes(name: str, read: Read) -> None:
    talk = numbered(TALKS[name])
    known = outcomes(read(talk))
    for i in range(len(talk)):
        try:
            assert other_outcomes(read(talk[i:]), known) == set(), i
        except Warning:
            pass


@pytest.mark.parametrize("name", ["open", "closed", "client-fin", "server-reset", "channels"])
def test_every_answer_that_was_recorded_is_a_row(name: str, read: Read, tmp_path: Path) -> None:
    """Also where the recording begins in the middle, and its directions are found late."""
    talk = numbered(TALKS[name])
    for i in range(5, len(talk)):
        path = write(tmp_path / "middle.pcap", talk[i:])
        try:
            rows = read(talk[i:])
        except Warning:
            continue
        frames = pa.table(capture.read(path, level="frame", fields=["method"]))
        sent = [str(method) for method in frames["method"].to_pylist()]
        names = ("basic.ack", "basic.nack", "basic.reject", "basic.return")
        assert answers(rows) >= sum(one in names for one in sent), i


def test_the_property_sees_other_answers(read: Read) -> None:
    rows = read(numbered(TALKS["closed"]))
    wrong = [dict(row) for row in rows]
    settled = next(row for row in wrong if row["event"] == "settled")
    settled["outcome"] = "rejected"
    assert len(other_answers(rows, wrong)) == 1
    assert other_answers(rows, [*rows, rows[-1]]) != []
    assert len(other_outcomes(wrong, outcomes(rows))) == 1
    del settled["outcome"]
    assert other_outcomes(wrong, outcomes(rows)) == set()


def test_times_step_back_without_an_effect(read: Read) -> None:
    """Order is that of packets, and a negative duration is none."""
    talk = numbered(TALKS["closed"])
    back = [Record(one.data, one.time_ns - 10**9 * (i % 2)) for i, one in enumerate(talk)]
    rows = read(back)
    assert short(rows) == short(read(talk))
    assert all(row.get("elapsed_us", 0) >= 0 for row in rows)


def test_rows_have_one_place_each(read: Read) -> None:
    for name, talk in TALKS.items():
        rows = read(numbered(talk))
        places = [(row["packet_offset"], row["position"]) for row in rows]
        assert len(set(places)) == len(places)
        assert places == sorted(places)
        ids = [row["event_id"] for row in rows]
        # A delivery of 1.0 in several packets stands where it began, and is known where it ends.
        assert sorted(ids) == list(range(1, len(ids) + 1))
        assert "v1" in name or all(a < b for a, b in pairwise(ids))
