"""A recording that is read in pieces, with a state between them, has the rows of one pass."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import capture
from tests.events.test_damage_properties import TALKS
from tests.support import event_talk_v1 as v1
from tests.support.event_talk import write
from tests.support.recording import packets, pcap

NAMES = pytest.mark.parametrize("name", TALKS)


def offsets(talk: list[bytes]) -> list[int]:
    """Where each record of a file ends."""
    out = [24]
    for data in talk:
        out.append(out[-1] + 16 + len(data))
    return out


def by_id(row: dict[str, Any]) -> int:
    return row["event_id"]


def rows_of(reader: Any, stop: int | None = None) -> list[dict[str, Any]]:
    return [row for batch in reader.read(stop) for row in pa.record_batch(batch).to_pylist()]


def resumed(path: Path, stops: list[int], **options: Any) -> list[dict[str, Any]]:
    """The rows of several readers, each of which takes the state of the one before."""
    rows: list[dict[str, Any]] = []
    state = None
    for stop in [*stops, None]:
        reader = capture.Reader(path, "event", **options)
        if state is not None:
            reader.resume(state)
        rows += rows_of(reader, stop)
        if stop is not None:
            state = reader.state()
    return rows


def read_changed(path: Path, state: bytes, at: int, bits: int) -> None:
    """Read on from a state in which bits of one byte differ, unless it is refused."""
    changed = bytearray(state)
    changed[at] ^= bits
    core = capture.Reader(path, "event")._one().core
    try:
        core.resume(bytes(changed))
    except ValueError:
        return
    core.advance(True)
    core.take(True)


def same_flags(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what says that they came late."""
    return [{**row, "flags": [flag for flag in row["flags"] if flag != "late"]} for row in rows]


def same_rows(rows: list[dict[str, Any]], whole: list[dict[str, Any]]) -> bool:
    """A delivery of 1.0 in several packets stands where it began, and comes when it is complete:
    where a state is taken, the rows between do not wait for it."""
    return sorted(same_flags(rows), key=by_id) == sorted(whole, key=by_id)


@NAMES
def test_cut_at_each_packet(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", TALKS[name])
    whole = rows_of(capture.Reader(path, "event"))
    for stop in offsets(TALKS[name])[:-1]:
        rows = resumed(path, [stop])
        assert same_rows(rows, whole) if "v1" in name else rows == whole, stop


@NAMES
def test_cut_at_all_packets(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", TALKS[name])
    whole = rows_of(capture.Reader(path, "event"))
    rows = resumed(path, offsets(TALKS[name])[:-1])
    assert same_rows(rows, whole) if "v1" in name else rows == whole


@pytest.mark.parametrize("name", ["channels", "v1-sessions"])
def test_cut_at_each_packet_with_losses(name: str, tmp_path: Path) -> None:
    talk = TALKS[name]
    for i in (4, 13, 21, 30, 41, 50):
        damaged = [*talk[:i], *talk[i + 1 :]]
        path = write(tmp_path / "talk.pcap", damaged)
        whole = rows_of(capture.Reader(path, "event"))
        assert same_rows(resumed(path, offsets(damaged)[:-1]), whole), i


@pytest.mark.parametrize("name", ["channels", "v1-sessions"])
def test_a_rotation_is_one_recording(name: str, tmp_path: Path) -> None:
    talk = TALKS[name]
    whole = rows_of(capture.Reader(write(tmp_path / "whole.pcap", talk), "event"))
    paths = []
    for at in range(0, len(talk), 9):
        paths.append(tmp_path / f"part{at:02}.pcap")
        paths[-1].write_bytes(pcap(talk[at : at + 9]))
    rows = rows_of(capture.Reader(paths, "event", files="rotation"))
    assert [(row["event_id"], row["event"]) for row in rows] == [
        (row["event_id"], row["event"]) for row in whole
    ]


@pytest.mark.parametrize("seed", range(60))
def test_frames_of_1_0_that_follow_no_rule(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    talk = packets([*v1.login()[: 9 * (seed % 4 > 0)], *v1.at_random(chance, 80)])
    if seed % 3 == 0:
        del talk[chance.randrange(2, len(talk))]
    path = write(tmp_path / "talk.pcap", talk)
    limits = {"max_tracked": chance.choice((1, 3, 1000)), "message_bytes": 1024}
    whole = rows_of(capture.Reader(path, "event", **limits))
    assert len(whole) > 4
    stops = offsets(talk)[:-1]
    for stop in chance.sample(stops, 5):
        assert same_rows(resumed(path, [stop], **limits), same_flags(whole)), stop


@pytest.mark.parametrize("name", ["channels", "v1-sessions"])
@pytest.mark.parametrize("change", range(8))
def test_a_damaged_state_raises_or_reads(change: int, name: str, tmp_path: Path) -> None:
    """Whoever changes a state gets wrong rows at worst."""
    path = write(tmp_path / "talk.pcap", TALKS[name])
    stops = offsets(TALKS[name])
    for stop in stops[5:-1:7]:
        reader = capture.Reader(path, "event")
        rows_of(reader, stop)
        core = reader._one().core
        starts: list[int] = []
        raw = core.state(starts)
        for start in starts[change::16]:
            read_changed(path, raw, start, 1 << change)
