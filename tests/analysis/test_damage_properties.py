"""Damage to a recording may make answers unknown, and never others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from tests.analysis.test_v1_questions_unit import WORK
from tests.support.event_talk import TO_CLIENT, lost
from tests.support.recording import Record, packets, records
from tests.support.shop_talk import killed, without, working

Ask = Callable[..., list[dict[str, Any]]]
TALKS = {
    "working": working(),
    "killed": killed(),
    "1.0, open": packets(WORK),
    "1.0, lost": lost(WORK, TO_CLIENT),
}
#: Packets whose loss leaves no trace: the FIN of a connection on which nothing follows, and a last
#: packet before the recording ends.
TRACELESS = {("killed", 39), ("1.0, open", 30), ("1.0, lost", 31)}
BALANCES = ("unacknowledged", "backlog")


def answers(ask: Ask, talk: list[bytes]) -> dict[str, Any]:
    """What is said of the queue jobs in all."""
    rows = [row for row in ask("queues", talk) if row.get("queue") == "jobs"]
    return {name: {row[name] for row in rows if name in row} for name in BALANCES}


def waiting(ask: Ask, talk: list[bytes]) -> set[tuple[Any, ...]]:
    """Deliveries that certainly wait."""
    return {
        (row.get("message_id"), row["delivery_tag"])
        for row in ask("unacked", talk)
        if row["certainty"] == "exact"
    }


def ends(ask: Ask, talk: list[bytes]) -> dict[str, set[Any]]:
    """How connections certainly ended, by their names."""
    return {
        row["connection_name"]: {row.get("ended")}
        for row in ask("connections", talk)
        if "connection_name" in row and row["certainty"] == "exact"
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_every_packet_lost(ask: Ask, name: str) -> None:
    talk = TALKS[name]
    truth, waits, closes = answers(ask, talk), waiting(ask, talk), ends(ask, talk)
    for number in range(len(talk)):
        if (name, number) in TRACELESS:
            continue
        damaged = without(talk, number)
        for column, values in answers(ask, damaged).items():
            assert values <= truth[column], (number, column)
        assert waiting(ask, damaged) <= waits, number
        for connection, ended in ends(ask, damaged).items():
            assert ended <= closes[connection], (number, connection)


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_every_beginning_cut_off(ask: Ask, name: str) -> None:
    talk = TALKS[name]
    truth, waits = answers(ask, talk), waiting(ask, talk)
    for number in range(1, len(talk)):
        for column, values in answers(ask, talk[number:]).items():
            assert values <= truth[column], (number, column)
        assert waiting(ask, talk[number:]) <= waits, number
    assert answers(ask, talk[10:])["backlog"] == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_every_pair_of_neighbours_swapped(ask: Ask, name: str) -> None:
    talk = TALKS[name]
    truth, waits = answers(ask, talk), waiting(ask, talk)
    for number in range(len(talk) - 1):
        swapped = [*talk[:number], talk[number + 1], talk[number], *talk[number + 2 :]]
        for column, values in answers(ask, swapped).items():
            assert values <= truth[column], (number, column)
        assert waiting(ask, swapped) <= waits, number


@pytest.mark.parametrize("size", [64, 80, 100, 128])
@pytest.mark.parametrize("name", TALKS)
def test_packets_that_were_cut(ask: Ask, name: str, size: int) -> None:
    talk = TALKS[name]
    truth = answers(ask, talk)
    cut = [Record(record.data[:size], record.time_ns, len(record.data)) for record in records(talk)]
    for column, values in answers(ask, cut).items():
        assert values <= truth[column]
    tags = {row[1] for row in waiting(ask, talk)}  # the ids may be cut off
    assert {row[1] for row in waiting(ask, cut)} <= tags
