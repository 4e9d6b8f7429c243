"""What any question says for certain of a damaged recording, it says of the whole one, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

import pyarrow as pa

from amqpcodec import capture
from amqpcodec.analysis import _duckdb, query
from tests.support.event_talk import write
from tests.support.recording import Record, records
from tests.support.shop_talk import killed, troubled, without, working

TALKS = {"working": working(), "killed": killed(), "troubled": troubled()}
#: The columns by which rows of a question are compared: without times, which damage moves, and
#: without numbers of events, which it changes.
COMPARED = {
    "connections": ("connection_name", "ended", "ended_by", "reply_code", "reason"),
    "unacked": ("connection_name", "queue", "consumer_tag", "delivery_tag", "message_id"),
    "messages": (
        *("connection_name", "event", "exchange", "routing_key", "delivery_tag", "message_id"),
        *("queue", "redelivered", "ended", "outcome"),
    ),
    "incidents": (
        *("event", "outcome", "initiator", "connection_name", "queue", "exchange", "routing_key"),
        *("delivery_tag", "message_id", "request", "reply_code", "text"),
    ),
    "topology": (
        *("kind", "exchange", "routing_key", "queue", "consumer_tag", "connection_name"),
        *("settles", "reason"),
    ),
}
#: What the damage itself is.
DAMAGE = ("gap", "protocol-error")
#: Packets whose loss leaves no trace: the FIN of a connection on which nothing follows.
TRACELESS = {("killed", 39)}

Rows = dict[str, list[dict[str, Any]]]


def certain(source: Any, **options: Any) -> Rows:
    """Of each question, what is known of the rows that are certain."""
    reader = capture.read(source, "event", **options)
    found: Rows = {}
    with _duckdb.recorded(map(pa.record_batch, reader), pa.schema(reader.schema)) as database:
        for name, columns in COMPARED.items():
            rows = _duckdb.answer(database, "FROM recorded", query(name)).to_pylist()
            found[name] = [
                {column: row[column] for column in columns if row[column] is not None}
                for row in rows
                if row["certainty"] == "exact" and row.get("event") not in DAMAGE
            ]
    return found


def certain_of(folder: Path, talk: Iterable[Any]) -> Rows:
    """certain(), of packets."""
    return certain(write(folder / "talk.pcap", talk))


def false_rows(damaged: Rows, whole: Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows that fit none of the whole recording."""
    for name, rows in damaged.items():
        for row in rows:
            if not any(row.items() <= true.items() for true in whole[name]):
                yield name, row


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_every_packet_lost(tmp_path: Path, name: str) -> None:
    talk = TALKS[name]
    whole = certain_of(tmp_path, talk)
    assert all(whole[question] for question in ("connections", "messages", "topology"))
    for number in range(len(talk)):
        if (name, number) not in TRACELESS:
            damaged = certain_of(tmp_path, without(talk, number))
            assert not list(false_rows(damaged, whole)), number


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_every_beginning_cut_off(tmp_path: Path, name: str) -> None:
    talk = TALKS[name]
    whole = certain_of(tmp_path, talk)
    for number in range(1, len(talk)):
        damaged = certain_of(tmp_path, talk[number:])
        assert not list(false_rows(damaged, whole)), number


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_every_pair_of_neighbours_swapped(tmp_path: Path, name: str) -> None:
    talk = TALKS[name]
    whole = certain_of(tmp_path, talk)
    for number in range(len(talk) - 1):
        swapped = [*talk[:number], talk[number + 1], talk[number], *talk[number + 2 :]]
        damaged = certain_of(tmp_path, swapped)
        assert not list(false_rows(damaged, whole)), number


@pytest.mark.parametrize("size", [64, 80, 96, 128, 256, 512])
@pytest.mark.parametrize("name", TALKS)
def test_packets_that_were_cut(tmp_path: Path, name: str, size: int) -> None:
    talk = TALKS[name]
    whole = certain_of(tmp_path, talk)
    cut = [Record(record.data[:size], record.time_ns, len(record.data)) for record in records(talk)]
    assert not list(false_rows(certain_of(tmp_path, cut), whole))


@pytest.mark.parametrize("apart", [-2.0, -0.1, -0.001, 0.001, 0.1, 2.0])
@pytest.mark.parametrize("name", TALKS)
def test_two_taps_with_clocks_apart(tmp_path: Path, name: str, apart: float) -> None:
    """One has the packets of the clients, the other those of the servers."""
    talk = records(TALKS[name])
    whole = certain_of(tmp_path, TALKS[name])
    taps = []
    for tap, from_server in (("clients", False), ("servers", True)):
        shift = int(apart * 1e9) if from_server else 0
        path = tmp_path / f"{tap}.pcap"
        taps.append(
            write(
                path,
                [
                    Record(record.data, record.time_ns + shift)
                    for record in talk
                    if (int.from_bytes(record.data[34:36], "big") == 5672) is from_server
                ],
            )
        )
    assert not list(false_rows(certain(taps, files="taps"), whole))
