"""Several taps of the same traffic: each byte once, in the order of the packets' times."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from amqpcodec import capture
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of

NAMES = ["direction", "src", "dst", "frame", "error", "flags"]


def written(path: Path, items: list[mangle.Part], seed: int | None = None) -> str:
    path.write_bytes(
        make.pcap(mangle.records(items)) if seed is None else mangle.mixed_pcapng(items, seed)
    )
    return str(path)


@pytest.fixture
def expected_rows(parts, tmp_path) -> list[dict]:
    return rows_of(capture.read(written(tmp_path / "whole.pcap", parts), fields=NAMES))


def test_a_tap_of_each_direction(parts, expected_rows, tmp_path):
    taps = [
        written(tmp_path / f"{side}.pcap", [p for p in parts if p.from_client == side])
        for side in (False, True)
    ]
    assert rows_of(capture.read(taps, fields=NAMES, files="taps")) == expected_rows


def test_two_taps_of_both_directions(parts, expected_rows, tmp_path):
    taps = [written(tmp_path / f"tap{i}.pcap", parts) for i in range(2)]
    reader = capture.read(taps, fields=NAMES, files="taps")
    assert rows_of(reader) == expected_rows
    (counts,) = reader.file_stats()
    assert counts["retransmitted_bytes"] == sum(len(part.data) for part in parts)
    assert counts["file"] == ", ".join(taps)
    assert counts["packets"] == 2 * len(parts)


@pytest.mark.parametrize("seed", range(6))
def test_what_one_tap_lost_the_other_has(parts, expected_rows, tmp_path, seed):
    rng = random.Random(seed)
    lost = [rng.randrange(3) for _ in parts]
    taps = [
        written(
            tmp_path / f"tap{i}.pcap",
            [p for p, which in zip(parts, lost, strict=True) if which != i],
        )
        for i in range(2)
    ]
    assert rows_of(capture.read(taps, fields=NAMES, files="taps")) == expected_rows


@pytest.mark.parametrize("skew_us", [-20_000, -300, 70, 5_000, 300_000])
def test_clocks_that_differ(parts, expected_rows, tmp_path, skew_us):
    """Each direction is complete and in order, whatever the clocks say."""
    other = [replace(part, time_ns=part.time_ns + 1000 * skew_us) for part in parts]
    rng = random.Random(skew_us)
    lost = [rng.randrange(30) for _ in parts]
    tap_parts = [
        [part for part, which in zip(items, lost, strict=True) if which != i]
        for i, items in enumerate((parts, other))
    ]
    taps = [written(tmp_path / f"tap{i}.pcap", items) for i, items in enumerate(tap_parts)]

    def by_direction(frame_rows: list[dict]) -> dict:
        streams: dict = {}
        for row in frame_rows:
            key = row["src"], row["dst"]
            streams.setdefault(key, []).append((row["frame"], row["error"]))
        return streams

    joined_rows = rows_of(capture.read(taps, fields=NAMES, files="taps"))
    assert by_direction(joined_rows) == by_direction(expected_rows)


def test_rotations_of_two_taps(parts, expected_rows, tmp_path):
    """Each tap's files follow one another; few of them are open at once."""
    step = 60
    paths = []
    for tap, side in enumerate((True, False)):
        mine = [p for p in parts if p.from_client == side]
        for number, at in enumerate(range(0, len(mine), step)):
            items = mine[at : at + step]
            seed = None if tap else number
            paths.append(written(tmp_path / f"tap{tap}-{number}.cap", items, seed))
    opened: list[int] = []
    now = 0

    class Counted:
        def __init__(self, file) -> None:
            nonlocal now
            self.file = file
            now += 1
            opened.append(now)

        def read(self, n: int = -1) -> bytes:
            nonlocal now
            chunk = self.file.read(n)
            now -= not chunk
            return chunk

    random.Random(1).shuffle(paths)
    reader = capture.read(paths, fields=["file", *NAMES], files="taps")
    reader.watch(Counted)
    joined_rows = rows_of(reader)
    files = {row.pop("file") for row in joined_rows}
    key = [(row["src"], row["dst"], row["frame"]) for row in joined_rows]
    assert sorted(key) == sorted((row["src"], row["dst"], row["frame"]) for row in expected_rows)
    assert files <= set(paths)
    assert len(files) > len(paths) // 2
    assert len(opened) == len(paths)
    assert max(opened) <= 6


def test_batches_are_bounded_and_go_on(parts, expected_rows, tmp_path):
    taps = [written(tmp_path / f"tap{i}.pcap", parts) for i in range(2)]
    reader = capture.read(taps, fields=NAMES, files="taps", batch_rows=10)
    first = next(iter(reader))
    assert len(first) == 10
    assert pa.record_batch(first).to_pylist() + rows_of(reader) == expected_rows
    with pytest.raises(capture.ReaderExhausted):
        rows_of(reader)


def test_not_in_pieces(parts, tmp_path):
    taps = [written(tmp_path / f"tap{i}.pcap", parts[:50]) for i in range(2)]
    reader = capture.read(taps, files="taps")
    with pytest.raises(ValueError, match="read to their ends at once"):
        next(reader.read(stop=100))
    with pytest.raises(ValueError, match="read to their ends at once"):
        reader.resume(capture.Reader(taps[0]).state())
    rows_of(reader)
    with pytest.raises(ValueError, match="have no state"):
        reader.state()


def test_damage_is_told_by_file(parts, expected_rows, tmp_path):
    good = written(tmp_path / "good.pcap", parts)
    truncated_path = tmp_path / "cut.pcap"
    truncated_path.write_bytes(Path(good).read_bytes()[:-5])
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(b"")
    reader = capture.read([good, truncated_path, empty], fields=NAMES, files="taps")
    assert rows_of(reader) == expected_rows
    assert f"{truncated_path}: the last record is cut" in reader.damaged
    with pytest.raises(capture.CaptureError):
        rows_of(capture.read([good, __file__], files="taps"))


def test_stats(parts, tmp_path):
    taps = [written(tmp_path / f"tap{i}.pcap", parts) for i in range(2)]
    joined = capture.stats(taps, files="taps")
    alone = capture.stats(taps[0])
    for name in ("connections", "frames", "methods", "errors", "gaps"):
        assert joined[name] == alone[name]
