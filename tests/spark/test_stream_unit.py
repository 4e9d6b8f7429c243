"""A stream's steps without a session: restarts, rings, files that grow; rows of one pass."""

from __future__ import annotations

import json
import logging
import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import capture  # noqa: E402
from amqpcodec.spark.planning.versions import ReadMaxFiles  # noqa: E402
from amqpcodec.spark.source import data_source as source  # noqa: E402
from amqpcodec.spark.stream import journal, microbatches  # noqa: E402
from tests.spark.frames import RECORDING, rotated  # noqa: E402

#: Columns that are the same however files are shared among readers.
FIELDS = [
    *("file", "connection", "direction", "packet_offset", "position", "timestamp", "method"),
    *("channel", "error", "flags"),
]


class Query:
    """What Spark does: asks for offsets, journals them, runs tasks, commits; and forgets."""

    def __init__(self, folder: Path | str, states: Path, **options: Any) -> None:
        self.options = {
            "path": str(folder), "stateLocation": str(states), "closeAfter": "0s",
            "fields": ",".join(FIELDS), **options,
        }  # fmt: skip
        self.committed: Any = None
        self.rows: list[dict[str, Any]] = []
        self.start()

    def start(self) -> None:
        """A new process of the driver."""
        data_source = source.AmqpCapture(dict(self.options))
        self.reader = data_source.streamReader(data_source.schema())

    def batch(self, limit: Any = None) -> Any:
        """Plan one; None where there is nothing."""
        start = self.committed or self.reader.initialOffset()
        end = self.reader.latestOffset(start, limit)
        return None if end == start else (start, end)

    def run(self, batch: Any) -> list[dict[str, Any]]:
        rows = []
        for task in pickle.loads(pickle.dumps(list(self.reader.partitions(*batch)))):
            for record_batch in self.reader.read(task):
                rows += record_batch.to_pylist()
        return rows

    def commit(self, batch: Any, rows: list[dict[str, Any]]) -> None:
        self.rows += rows
        self.committed = batch[1]
        self.reader.commit(batch[1])

    def go(self) -> int:
        """All that is there; how many batches that were."""
        count = 0
        while batch := self.batch():
            self.commit(batch, self.run(batch))
            count += 1
        return count


def one_pass(paths: list[Path] | list[str], **options: Any) -> list[dict[str, Any]]:
    reader = capture.read(
        [str(path) for path in paths], fields=FIELDS, order="none", files="rotation", **options
    )
    return [row for rows in reader.read(end=False) for row in pa.record_batch(rows).to_pylist()]


def same(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))


def nameless(row: dict[str, Any]) -> dict[str, Any]:
    """Without what depends on the names of files."""
    return row | {"file": "", "connection": ""}


def folders(parent: Path, *names: str) -> list[Path]:
    for name in names:
        (parent / name).mkdir()
    return [parent / name for name in names]


@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_restart_between_all_steps(tmp_path: Path, level: str) -> None:
    """Each batch is planned twice and run twice: as if the driver died at each step."""
    spool, folder = folders(tmp_path, "spool", "folder")
    files = rotated(RECORDING, spool, 7)
    expected = one_pass(files, level=level)
    query = Query(folder, tmp_path / "states", level=level)
    for path in files:
        path.rename(folder / path.name)
        query.start()
        lost = query.batch()  # of which Spark heard nothing
        assert lost is not None
        query.start()
        batch = query.batch()
        query.start()
        first = query.run(batch)
        query.start()
        assert query.run(batch) == first
        query.commit(batch, first)
        query.start()
        query.reader.partitions(batch[1], batch[1])
        assert query.batch() is None
    for row in expected:
        row["file"] = row["file"].replace("spool", "folder")
    same(query.rows, expected)
    assert len(expected) > 500
    log = tmp_path / "states" / query.committed["log"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o700
    assert len(list(log.glob("*.state"))) == 2  # inside of the newest file, and after it
    assert all(
        state_path.stat().st_mode & 0o77 == 0
        for state_path in (tmp_path / "states").rglob("*.state")
    )


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, {"max_files": 1000}),
        ({"maxFilesPerTrigger": "7"}, {"max_files": 7}),
        ({"maxBytesPerTrigger": "2k"}, {"max_bytes": 2048}),
    ],
)
@pytest.mark.skipif(ReadMaxFiles is None, reason="before 4.2 Spark asks for all that is there")
def test_what_a_batch_takes_where_spark_asks(tmp_path: Path, options: Any, limit: Any) -> None:
    query = Query(tmp_path, tmp_path / "states", **options)
    assert vars(query.reader.getDefaultReadLimit()) == limit


@pytest.mark.parametrize("octets", ["1g", "9k", "1k"])
@pytest.mark.parametrize("limit", ["1", "3", "100"])
def test_tasks_and_batches_of_all_sizes(tmp_path: Path, octets: str, limit: str) -> None:
    files = rotated(RECORDING, tmp_path, 7)
    query = Query(tmp_path, tmp_path / "states", maxPartitionBytes=octets, maxFilesPerTrigger=limit)
    assert query.go() == -(-7 // int(limit))
    same(query.rows, one_pass(files))


def test_a_limit_of_bytes(tmp_path: Path) -> None:
    files = rotated(RECORDING, tmp_path, 7)
    size = max(path.stat().st_size for path in files)
    query = Query(tmp_path, tmp_path / "states", maxBytesPerTrigger=str(2 * size))
    assert query.go() == 4
    same(query.rows, one_pass(files))
    few = Query(tmp_path, tmp_path / "few", maxBytesPerTrigger="1")
    assert few.go() == 7  # one file at least
    same(few.rows, one_pass(files))


def test_without_chains(tmp_path: Path) -> None:
    files = rotated(RECORDING, tmp_path, 5)
    query = Query(tmp_path, tmp_path / "states", files="separate", maxPartitionBytes="9k")
    query.go()
    alone = [row for path in files for row in _rows(capture.read(str(path), fields=FIELDS))]
    same(query.rows, alone)


def _rows(reader: Any) -> list[dict[str, Any]]:
    return [row for rows in reader for row in pa.record_batch(rows).to_pylist()]


def test_a_ring_reuses_its_names(tmp_path: Path) -> None:
    spool, ring = folders(tmp_path, "spool", "ring")
    files = rotated(RECORDING, spool, 6)
    expected = one_pass(files)
    query = Query(ring, tmp_path / "states")
    for number, path in enumerate(files):
        path.rename(ring / f"cap{number % 2}")
        query.start()
        assert query.go() == 1
    same([nameless(row) for row in query.rows], [nameless(row) for row in expected])
    assert {row["file"] for row in query.rows} == {str(ring / "cap0"), str(ring / "cap1")}


def test_a_ring_that_is_too_small(tmp_path: Path, caplog: Any) -> None:
    files = rotated(RECORDING, tmp_path, 6)
    query = Query(tmp_path, tmp_path / "states")
    batch = query.batch()
    files[2].write_bytes(files[3].read_bytes())
    with pytest.raises(ValueError, match="was written anew before it was read"):
        query.run(batch)
    query.options["ignoreMissingFiles"] = "true"
    query.start()
    with caplog.at_level(logging.WARNING):
        assert query.run(batch) == []
    assert "written anew" in caplog.text


def test_a_file_that_grows(tmp_path: Path) -> None:
    """The newest one was taken as finished, in the middle of a record, and goes on."""
    first, second, third = rotated(RECORDING, tmp_path, 3)
    octets = second.read_bytes()
    expected = one_pass([first, second, third])
    later = third.read_bytes()
    third.unlink()
    query = Query(tmp_path, tmp_path / "states")
    for size in (len(octets) // 3, len(octets) // 2, len(octets)):
        second.write_bytes(octets[:size])
        query.start()
        assert query.go() == 1
    third.write_bytes(later)
    query.go()
    same(query.rows, expected)
    second.write_bytes(octets + later[24:])  # which is not the newest of its chain now
    with pytest.raises(ValueError, match="grew after it was read"):
        query.batch()


def test_which_files_are_finished(tmp_path: Path) -> None:
    files = rotated(RECORDING, tmp_path, 4)
    other = tmp_path / "other.pcap"
    other.write_bytes(files[0].read_bytes())
    for age, path in enumerate([*files[::-1], other]):
        os.utime(path, (path.stat().st_mtime - 10 * age,) * 2)
    (tmp_path / "ring.pcap9").touch()  # nothing was written yet
    query = Query(tmp_path, tmp_path / "states", closeAfter="25s")
    query.go()
    assert {Path(row["file"]) for row in query.rows} == {*files, other}
    patient = Query(tmp_path, tmp_path / "more", closeAfter="1h")
    patient.go()
    assert {Path(row["file"]) for row in patient.rows} == set(files)
    (tmp_path / "ring.pcap9").unlink()
    newest = Query(tmp_path, tmp_path / "most", closeAfter="1h")
    newest.go()
    assert {Path(row["file"]) for row in newest.rows} == set(files[:3])


def test_available_now_takes_what_is_there(tmp_path: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadMaxFiles

    spool = tmp_path / "spool"
    spool.mkdir()
    files = rotated(RECORDING, spool, 4)
    late = tmp_path / files[3].name
    for path in files[:3]:
        path.rename(tmp_path / path.name)
    query = Query(tmp_path, tmp_path / "states")
    query.reader.prepareForTriggerAvailableNow()
    files[3].rename(late)
    limit = ReadMaxFiles(2)
    for count in (2, 1):
        batch = query.batch(limit)
        rows = query.run(batch)
        assert len({row["file"] for row in rows}) == count
        query.commit(batch, rows)
    assert query.batch(limit) is None
    query.start()
    assert query.go() == 1
    same(query.rows, one_pass([tmp_path / path.name for path in files]))


def test_files_whose_packets_have_one_time(tmp_path: Path) -> None:
    """As those of a clock that counts seconds: they still go on in one another."""
    files = rotated(RECORDING, tmp_path, 3)
    for path in files:
        data, at = bytearray(path.read_bytes()), 24
        while at < len(data):
            size = int.from_bytes(data[at + 8 : at + 12], "little")
            data[at : at + 8] = bytes((0, 0, 0, 0x60)) + bytes(4)
            at += 16 + size
        path.write_bytes(data)
    query = Query(tmp_path, tmp_path / "states")
    query.go()
    same(query.rows, one_pass(files))


def test_a_late_file_is_read_alone(tmp_path: Path, caplog: Any) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    files = rotated(RECORDING, spool, 4)
    for arrangement in ("auto", "rotation"):
        folder = tmp_path / arrangement
        folder.mkdir()
        query = Query(folder, tmp_path / f"states-{arrangement}", files=arrangement)
        for path in (files[0], files[2], files[3], files[1]):
            (folder / path.name).write_bytes(path.read_bytes())
            with caplog.at_level(logging.WARNING):
                query.go()
        assert f"{folder / files[1].name} is read alone" in caplog.text
        late = folder / files[1].name
        late_rows = [row for row in query.rows if row["file"] == str(late)]
        assert late_rows[: len(one_pass([late]))] == one_pass([late])


def test_two_rotations_at_once(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    files = rotated(RECORDING, spool, 4)
    query = Query(tmp_path, tmp_path / "states", pathGlobFilter="*pcap*")
    expected = []
    for _name in ("eth0", "eth1"):
        expected += one_pass(files)
    for path in files:
        for name in ("eth0", "eth1"):
            (tmp_path / path.name.replace("ring", name)).write_bytes(path.read_bytes())
        query.go()
    assert len(query.rows) == len(expected)
    kinds = [{(row["method"], row["error"]) for row in rows} for rows in (query.rows, expected)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("most", [2, 3, 4, 5])
def test_chains_that_are_silent_are_given_up(
    tmp_path: Path, monkeypatch: Any, caplog: Any, most: int
) -> None:
    monkeypatch.setattr(microbatches, "MAX_CHAINS", most)
    files = rotated(RECORDING, tmp_path, 2)
    for name in "abc":  # of the same time, so that none goes on with another one
        (tmp_path / f"{name}.pcap").write_bytes(files[0].read_bytes())
    query = Query(tmp_path, tmp_path / "states")
    with caplog.at_level(logging.WARNING):
        query.go()
    assert caplog.text.count("is closed: it is silent") == max(4 - most, 0)
    assert len(query.reader.journal.at(query.committed).chains) == min(4, most)


def test_few_directions_of_a_chain_are_kept(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(journal, "DIRECTIONS", 3)
    rotated(RECORDING, tmp_path, 3)
    query = Query(tmp_path, tmp_path / "states", maxFilesPerTrigger="1")
    while batch := query.batch():
        query.commit(batch, query.run(batch))
        [chain] = query.reader.journal.at(query.committed).chains
        assert len(chain.tail) <= 3


def test_how_much_of_chains_is_kept() -> None:
    """The bounds that docs/limits.md names: a stream's steps stay small."""
    assert (microbatches.MAX_CHAINS, journal.DIRECTIONS) == (64, 8192)


def test_files_that_all_went_away_are_no_step(
    tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    rotated(RECORDING, tmp_path, 2)
    query = Query(tmp_path, tmp_path / "states")

    def take(self: Any, file: Any) -> None:
        raise FileNotFoundError(file.file.path)

    monkeypatch.setattr(microbatches.Planner, "_take", take)
    with caplog.at_level(logging.WARNING):
        assert query.batch() is None
    assert caplog.text.count("went away before it was read") == 2
    monkeypatch.undo()
    assert query.go() == 1
    same(query.rows, one_pass(sorted(tmp_path.glob("*.pcap*"))))


def test_no_capture(tmp_path: Path, caplog: Any) -> None:
    files = rotated(RECORDING, tmp_path, 3)
    (tmp_path / "text").write_bytes(b"this is a text and no capture at all")
    query = Query(tmp_path, tmp_path / "states")
    with pytest.raises(capture.CaptureError, match="neither pcap nor pcapng"):
        query.batch()
    query = Query(tmp_path, tmp_path / "more", ignoreCorruptFiles="true")
    with caplog.at_level(logging.WARNING):
        assert query.go() == 1
    assert f"skipped {tmp_path / 'text'}: " in caplog.text
    same(query.rows, one_pass(files))


def test_damage_inside(tmp_path: Path) -> None:
    files = rotated(RECORDING, tmp_path, 3)
    data = bytearray(files[1].read_bytes())
    at = capture.Reader(str(files[1]), fields=["error"]).first_record(len(data) // 2)
    assert at is not None
    data[at : at + 16] = b"\xff" * 16
    files[1].write_bytes(data)
    query = Query(tmp_path, tmp_path / "states")
    query.go()
    same(query.rows, one_pass(files))
    strict = Query(tmp_path, tmp_path / "more", mode="FAILFAST", maxPartitionBytes="1k")
    with pytest.raises(capture.CaptureError, match="no record"):
        strict.go()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"stateLocation": ""}, "a stream needs the option stateLocation"),
        ({"stateLocation": "s3://bucket/x"}, "a folder that the driver and all tasks have mounted"),
        ({"files": "taps"}, "option files: a stream cannot join taps"),
        ({"closeAfter": "soon"}, "option closeAfter is a time such as 90s or 5m, not 'soon'"),
        ({"maxFilesPerTrigger": "0"}, "option maxFilesPerTrigger is a number from 1, not '0'"),
        ({"maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1m"}, "not both"),
    ],
)
def test_refused_in_words(tmp_path: Path, options: dict[str, str], problem: str) -> None:
    query = Query(tmp_path, tmp_path / "states", **options)
    for call in (query.reader.initialOffset, query.reader.latestOffset):
        with pytest.raises(ValueError, match=problem):
            call()


@pytest.mark.parametrize("version", [None, 0, journal.VERSION + 1])
def test_steps_of_another_version_are_refused(tmp_path: Path, version: int | None) -> None:
    rotated(RECORDING, tmp_path, 3)
    query = Query(tmp_path, tmp_path / "states")
    query.go()
    (step,) = (tmp_path / "states").glob("*/1.json")
    entry = json.loads(step.read_text())
    del entry["version"]
    step.write_text(json.dumps(entry if version is None else {**entry, "version": version}))
    query.start()
    with pytest.raises(ValueError, match=rf"step 1 of stream-\w+ has version {version}, .* reads"):
        query.batch()


def test_folders_that_do_not_belong_together(tmp_path: Path) -> None:
    rotated(RECORDING, tmp_path, 3)
    query = Query(tmp_path, tmp_path / "states", maxFilesPerTrigger="1")
    batch = query.batch()
    query.commit(batch, query.run(batch))
    query.options["level"] = "message"
    query.start()
    with pytest.raises(ValueError, match="a query with other options"):
        query.batch()
    query.options.update(level="frame", stateLocation=str(tmp_path / "other"))
    query.start()
    with pytest.raises(ValueError, match="stateLocation is not that of this checkpointLocation"):
        query.batch()


def test_a_long_stream_forgets(tmp_path: Path) -> None:
    """More steps than one of those that tell of all files."""
    spool, folder = folders(tmp_path, "spool", "folder")
    files = rotated(RECORDING, spool, 150)
    expected = one_pass(files)
    query = Query(folder, tmp_path / "states")
    for number, path in enumerate(files):
        path.rename(folder / path.name)
        if number > 5:
            (folder / files[number - 5].name).unlink()
        if number % 40 == 0:
            query.start()
        query.go()
    same([nameless(row) for row in query.rows], [nameless(row) for row in expected])
    [log] = (tmp_path / "states").iterdir()
    assert len(list(log.glob("*.json"))) <= 64
    assert len(list(log.glob("*.state"))) <= 3
    assert len(query.reader.journal.at(query.committed).known_files) <= 6


def test_a_large_packed_file_is_one_task(tmp_path: Path) -> None:
    (tmp_path / "one.pcap.gz").write_bytes(RECORDING.read_bytes())
    query = Query(tmp_path, tmp_path / "states", maxPartitionBytes="2k")
    batch = query.batch()
    assert len(list(query.reader.partitions(*batch))) == 1
    query.commit(batch, query.run(batch))
    same(query.rows, one_pass([tmp_path / "one.pcap.gz"]))
