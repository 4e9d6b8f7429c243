"""Events on Spark without a session: whatever the tasks, the rows are those of capture.read."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import capture  # noqa: E402
from amqpcodec.spark.planning.options import Options  # noqa: E402
from amqpcodec.spark.planning.ranges import Range  # noqa: E402
from amqpcodec.spark.planning.reading import ReadOptions  # noqa: E402
from amqpcodec.spark.source.index import CaptureRows  # noqa: E402
from tests.events.test_damage_properties import TALKS  # noqa: E402
from tests.spark.frames import RECORDING, rotated  # noqa: E402
from tests.spark.test_ranges_unit import rows, tasks, unpacked  # noqa: E402
from tests.spark.test_stream_unit import Query  # noqa: E402
from tests.support.event_talk import write  # noqa: E402

ENDS = {"waiting", "recording-ended"}


def events(path: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows of one pass; "late" is a flag of rows that wait for their order alone."""
    return pa.table(capture.read(path, "event", order="none", **options)).to_pylist()


def by_id(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In the order of events, without the flag of rows that came after later ones."""
    for row in found:
        row["flags"] = [flag for flag in row["flags"] if flag != "late"]
    return sorted(found, key=lambda row: (row["connection"], row["event_id"]))


@pytest.mark.parametrize("name", TALKS)
def test_one_task_a_file(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", TALKS[name])
    found = rows(path, level="event")
    assert found == events(path)
    assert rows(path, level="event", fields="event,queue,answers") == [
        {column: row[column] for column in ("event", "queue", "answers")} for row in found
    ]


@pytest.mark.parametrize("step", ["600", "5000", "64k"])
def test_ranges_go_on_from_what_was_said_before(tmp_path: Path, step: str) -> None:
    path = unpacked(RECORDING, tmp_path)
    options = {"level": "event", "stateLocation": str(tmp_path / "states")}
    _, parts = tasks(path, **options, maxPartitionBytes=step)
    assert len(parts) > 2
    assert all(isinstance(part, Range) for part in parts)
    assert by_id(rows(path, **options, maxPartitionBytes=step)) == by_id(events(path))


@pytest.mark.parametrize("name", TALKS)
def test_ranges_of_every_talk(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", TALKS[name])
    options = {"level": "event", "stateLocation": str(tmp_path / "s"), "maxPartitionBytes": "700"}
    assert by_id(rows(path, **options)) == by_id(events(path))


def test_the_files_of_a_rotation(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = rotated(RECORDING, tmp_path / "in", 4)
    expected = by_id(events([str(path) for path in files], files="rotation"))
    options = {"level": "event", "stateLocation": str(tmp_path / "states")}
    assert by_id(rows(tmp_path / "in", level="event")) == expected
    assert by_id(rows(tmp_path / "in", **options, maxPartitionBytes="9k")) == expected


def test_no_range_is_outlined(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "1k"}
    for level, is_outlined in (("frame", True), ("event", False)):
        reader = CaptureRows.of(str(path), {**options, "level": level})
        (chain,) = reader.chains()
        assert bool(reader.to_outline(chain, 1024)) == is_outlined


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_modes(tmp_path: Path, mode: str) -> None:
    path = unpacked(RECORDING, tmp_path)
    assert rows(path, level="event", mode=mode) == events(path)
    path.write_bytes(path.read_bytes()[:-9])
    if mode == "FAILFAST":
        with pytest.raises(capture.CaptureError):
            rows(path, level="event", mode=mode)
    else:
        assert rows(path, level="event", mode=mode) == events(path)


def test_rows_that_are_chosen(tmp_path: Path) -> None:
    every = events(RECORDING)
    selected = rows(RECORDING, level="event", directions="server", mode="FAILFAST")
    assert selected == [row for row in every if row["direction"] == "server"]
    assert 0 < len(selected) < len(every)
    with pytest.raises(ValueError, match="option methods chooses frames and messages"):
        ReadOptions.of(Options({"level": "event", "methods": "basic.ack"}), None)
    with pytest.raises(ValueError, match="no column 'method' at level 'event'"):
        rows(RECORDING, level="event", fields="method")


def test_a_stream_of_a_rotation_has_no_end_of_the_recording(tmp_path: Path) -> None:
    """Steps, ranges within them, and a restart of the driver before each."""
    spool, folder = tmp_path / "spool", tmp_path / "folder"
    spool.mkdir()
    folder.mkdir()
    files = rotated(RECORDING, spool, 5)
    expected = events([str(path) for path in files], files="rotation")
    assert {row["event"] for row in expected} >= {"delivered", "settled", "published"}
    query = Query(folder, tmp_path / "states", level="event", fields="*", maxPartitionBytes="9k")
    for path in files:
        path.rename(folder / path.name)
        query.start()
        assert query.go() == 1
    found = by_id([{**row, "file": ""} for row in query.rows])
    assert found == by_id([{**row, "file": ""} for row in expected if row["event"] not in ENDS])


def test_a_stream_of_separate_files_says_how_each_ends(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    paths = [write(tmp_path / "in" / f"{name}.pcap", talk) for name, talk in TALKS.items()]
    query = Query(tmp_path / "in", tmp_path / "s", level="event", fields="*", files="separate")
    query.go()
    expected = [row for path in paths for row in events(path)]
    assert by_id(query.rows) == by_id(expected)


def test_no_frames_are_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert rows(RECORDING, level="event", ports="1") == []
    assert "no frame of AMQP on port 1" in caplog.text
