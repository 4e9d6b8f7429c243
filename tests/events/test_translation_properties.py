"""Address translation in a recording says nothing else of its connections, whatever it lacks."""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.events.test_damage_properties import TALKS, other_answers
from tests.events.test_pieces_properties import resumed, rows_of, same_flags
from tests.events.test_v1_outcomes_properties import contradictions, statements
from tests.support import event_talk as talk
from tests.support import event_talk_v1 as v1
from tests.support import mangle
from tests.support.event_work_v1 import work_of
from tests.support.translation import (
    BOTH,
    MASQUERADED,
    OTHER_PORT,
    PUBLISHED,
    SECOND,
    Sighting,
    Translation,
    at_first_point,
    at_point,
    capture_of,
    conversation_parts,
    merged,
    sightings,
    spaced,
    translated,
    unplaced,
    without,
)

PORTS = (5672, 5673)
PATHS = ((MASQUERADED,), (PUBLISHED,), (BOTH,), (OTHER_PORT,), (BOTH, SECOND))
Rows = list[dict[str, Any]]
PARTS = {name: mangle.parts_of_talk(packets) for name, packets in TALKS.items()}


def read(
    recorded: Sequence[Sighting | mangle.Part], level: str = "event", **options: Any
) -> tuple[Rows, dict[str, Any]]:
    """Rows, and what was counted. A recording may begin where none of it is understood."""
    reader = capture.read(io.BytesIO(capture_of(recorded)), level, ports=PORTS, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        table = rows_of(reader)
    return [
        {name: cell for name, cell in row.items() if cell is not None} for row in table
    ], reader.stats()


def of_one_host(rows: Rows) -> Rows:
    """Rows whose names of connections do not say where the client was seen."""
    return [
        {**row, "connection_name": row["connection_name"].partition("@")[0]}
        if "connection_name" in row
        else row
        for row in rows
    ]


def untrue(name: str, rows: Rows, ends: bool = False) -> Rows:
    """Exact facts that the talk does not have, or not so often; ends: the last packet is there.

    Where much was lost, reading what was captured first alone may give some: then no others."""
    return other_answers(of_one_host(events_of(name)), of_one_host(rows), ends)


@cache
def events_of(name: str) -> Rows:
    """The events of a talk that was captured once, and completely."""
    return read(PARTS[name])[0]


paths = st.sampled_from(PATHS)
names = st.sampled_from(sorted(TALKS))
#: Without those that are refused: of their few packets, losses leave none to compare.
long_names = st.sampled_from(sorted(name for name in TALKS if "refused" not in name))
orders = st.sampled_from(["path", "first", "last"])
#: From a packet to the next one, and from a point to the next one.
times = st.sampled_from([(20_000, 1000), (20_000, 30_000), (100_000, 90_000), (1_000_000, 250_000)])


@st.composite
def recordings(
    draw: st.DrawFn, names: st.SearchStrategy[str] = names, max_copies: int = 2
) -> tuple[str, list[Sighting]]:
    """Name of a talk, and its packets at each point, complete."""
    name, path = draw(names), draw(paths)[:max_copies]
    spacing_ns, delay_ns = draw(times)
    parts = spaced(PARTS[name], spacing_ns)
    return name, sightings(parts, *path, delay_ns=delay_ns, order=draw(orders))


def of_first(recorded: Sequence[Sighting], rows: Rows) -> Rows:
    """The rows between the ends of what was recorded first."""
    part = recorded[0].part
    ends = {f"{host}:{port}" for host, port in (part.source, part.target)}
    return unplaced(row for row in rows if {row["src"], row["dst"]} == ends)


def copies(recorded: Sequence[Sighting]) -> int:
    return len({sighting.point for sighting in recorded}) - 1


def some(
    draw: st.DrawFn, recorded: Sequence[Sighting], points: Sequence[int]
) -> set[tuple[int, int]]:
    """A few packets at these points."""
    numbers = st.integers(0, max(sighting.number for sighting in recorded))
    return draw(st.sets(st.tuples(st.sampled_from(points), numbers), min_size=1, max_size=6))


@given(recordings(), st.sampled_from(["frame", "message", "event"]))
def test_complete(recording: tuple[str, list[Sighting]], level: str) -> None:
    _, recorded = recording
    rows, stats = read(recorded, level)
    assert unplaced(rows) == unplaced(read(at_first_point(recorded), level)[0])
    assert stats["translated_connections"] == copies(recorded)
    assert stats["connections"] == 1


@given(recordings(), st.data())
def test_begins_anywhere(recording: tuple[str, list[Sighting]], data: st.DataObject) -> None:
    name, recorded = recording
    # Where a copy has no segments but those that the first had before, nothing says that it is one.
    last = max(0, len(recorded) - 8 * (copies(recorded) + 1))
    remaining = recorded[data.draw(st.integers(0, last)) :]
    rows, _ = read(remaining)
    assert untrue(name, rows, ends=True) == []
    begins = {one.point: one.number for one in reversed(remaining)}
    # Where a copy begins earlier, it has what the first has not.
    if begins[remaining[0].point] == min(begins.values()):
        assert unplaced(rows) == unplaced(read(at_first_point(remaining))[0])


@given(recordings(long_names), st.data())
def test_the_copies_lost_packets(
    recording: tuple[str, list[Sighting]], data: st.DataObject
) -> None:
    _, recorded = recording
    first = recorded[0].point
    others = sorted({sighting.point for sighting in recorded} - {first})
    remaining = without(recorded, some(data.draw, recorded, others))
    rows, _ = read(remaining)
    assert unplaced(rows) == unplaced(read(at_point(recorded, first))[0])


@given(recordings(long_names), st.data())
def test_packets_lost_anywhere(recording: tuple[str, list[Sighting]], data: st.DataObject) -> None:
    name, recorded = recording
    points = sorted({sighting.point for sighting in recorded})
    remaining = without(recorded, some(data.draw, recorded, points))
    rows, _ = read(remaining)
    first = at_first_point(remaining)
    alone, _ = read(first)
    assert untrue(name, rows) == untrue(name, alone)
    assert of_first(first, rows) == of_first(first, alone)


@given(recordings(long_names, max_copies=1), st.data())
def test_many_packets_lost(recording: tuple[str, list[Sighting]], data: st.DataObject) -> None:
    """A seventh of them, or all of the point that came first from somewhere on."""
    name, recorded = recording
    chance = random.Random(data.draw(st.integers(0, 999)))
    if data.draw(st.booleans()):
        remaining = [one for one in recorded if chance.random() < 0.86]
    else:
        point, number = recorded[0].point, chance.randrange(len(PARTS[name]))
        remaining = [one for one in recorded if one.point != point or one.number < number]
    rows, _ = read(remaining)
    assert untrue(name, rows) == untrue(name, read(at_first_point(remaining))[0])


@pytest.mark.parametrize("channels", ["alike", "other", "swapped"])
@given(seed=st.integers(0, 5), path=paths, lost=st.data())
@settings(max_examples=20)
def test_work_of_1_0(channels: str, seed: int, path: Sequence[Translation], lost: Any) -> None:
    """What is stated of a message happened to it, and is stated once."""
    work = work_of(seed, channels)
    recorded = sightings(conversation_parts(work.says), *path)
    rows, _ = read(recorded)
    assert dict(statements(rows)) == work.outcomes
    assert len(statements(rows)) == len(work.outcomes)
    remaining = without(recorded, some(lost.draw, recorded, range(len(path) + 1)))
    rows, _ = read(remaining)
    assert contradictions(rows, work) == []
    assert len(statements(rows)) == len({message for message, _ in statements(rows)})


# ---- two connections ----


def says_until(number: int, name: str) -> list[talk.Say]:
    """What two clients say alike, and what one of them says after so many messages."""
    return [
        *talk.login(),
        *talk.open_channel(),
        *talk.select(),
        *talk.consume("jobs"),
        *(talk.publish(n) for n in range(1, number + 1)),
        talk.publish(number + 1, key=name),
        *(talk.deliver(n, message=f"{name}{n}") for n in range(1, 6)),
        talk.server(amqp.Basic.Ack(delivery_tag=number + 1, multiple=True)),
        talk.client(amqp.Basic.Ack(delivery_tag=3, multiple=True)),
        *(talk.publish(n, key=name) for n in range(number + 2, number + 9)),
        talk.client(amqp.Basic.Nack(delivery_tag=5, requeue=True)),
        talk.server(amqp.Basic.Nack(delivery_tag=number + 4, multiple=True)),
        *talk.close(),
    ]


def says_until_v1(number: int, name: str) -> list[talk.Say]:
    return [
        *v1.login(),
        *v1.begin(),
        *v1.sends("s1", "/queues/jobs", 0),
        *v1.receives("r1", "jobs", 1),
        *(v1.publish(n) for n in range(number)),
        *(v1.deliver(n, name=f"{name}{n}") for n in range(4)),
        v1.outcome(talk.TO_SERVER, 0, 2),
        *(v1.publish(n) for n in range(number, number + 4)),
        v1.outcome(talk.TO_CLIENT, 0, number + 2),
        *v1.close(),
    ]


SAYS = {"0-9-1": says_until, "1.0": says_until_v1}


def both_read(first: list[mangle.Part], second: list[mangle.Part]) -> None:
    """The first as if alone; of the second nothing that it does not say when it is alone."""
    rows, _ = read(merged(first, second))
    alone = read(first)[0]
    end = first[0].client
    mine = [row for row in rows if row["client"] == end]
    assert unplaced(mine) == unplaced(alone)
    others = [row for row in rows if row["client"] != end]
    assert other_answers(read(second)[0], others) == []


@given(
    protocol=st.sampled_from(sorted(SAYS)),
    number=st.integers(0, 12),
    name=st.sampled_from(["JOBS", "other jobs"]),
    delay_ns=st.sampled_from([0, 1000, 300_000]),
)
def test_connections_that_differ(protocol: str, number: int, name: str, delay_ns: int) -> None:
    """They have the same client's port and the same numbers, by chance."""
    says_until = SAYS[protocol]
    first = conversation_parts(says_until(number, "jobs"))
    second = translated(conversation_parts(says_until(number, name)), MASQUERADED)
    both_read(first, [replace(part, time_ns=part.time_ns + delay_ns) for part in second])


@given(name=names, place=st.integers(0, 10**6), bits=st.integers(1, 255))
def test_a_byte_that_differs(name: str, place: int, bits: int) -> None:
    """Anywhere: what the first connection says is not changed."""
    first = list(PARTS[name])
    second = translated(first, BOTH)
    place %= sum(len(part.data) for part in second)
    for i, part in enumerate(second):
        if place < len(part.data):
            changed = bytearray(part.data)
            changed[place] ^= bits
            second[i] = replace(part, data=bytes(changed))
            break
        place -= len(part.data)
    recorded = merged(first, second)
    for level in ("frame", "event"):
        rows, _ = read(recorded, level)
        end = first[0].client
        mine = [row for row in rows if end in (row["src"], row["dst"])]
        assert unplaced(mine) == unplaced(read(first, level)[0])


# ---- ways of reading ----


def in_order(rows: Rows) -> Rows:
    """Of each connection by number: where a state is taken, no row waits for others."""
    return sorted(same_flags(rows), key=lambda row: (row["connection"], row["event_id"]))


@given(recording=recordings(), lost=st.data())
@settings(max_examples=25)
def test_in_pieces(
    recording: tuple[str, list[Sighting]], lost: st.DataObject, tmp_path_factory: Any
) -> None:
    _, recorded = recording
    if lost.draw(st.booleans()):
        recorded = without(recorded, some(lost.draw, recorded, range(copies(recorded) + 1)))
    path: Path = tmp_path_factory.mktemp("pieces") / "x.pcap"
    path.write_bytes(capture_of(recorded))
    whole = rows_of(capture.Reader(path, "event", ports=PORTS))
    size = path.stat().st_size
    stops = sorted(lost.draw(st.sets(st.integers(24, size - 1), min_size=1, max_size=12)))
    assert in_order(resumed(path, stops, ports=PORTS)) == in_order(whole)


@given(recording=recordings(), workers=st.integers(2, 4), batch_rows=st.sampled_from([3, 1000]))
@settings(max_examples=20)
def test_on_several_threads(
    recording: tuple[str, list[Sighting]], workers: int, batch_rows: int
) -> None:
    _, recorded = recording
    assert read(recorded, workers=workers, batch_rows=batch_rows) == read(recorded)
