"""Reader.filter: accepted rows have the columns that they have among all rows."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec.capture import CaptureError
from tests.paths import REPO
from tests.support.batches import rows_of
from tests.support.v1_talk import both_families

pa = pytest.importorskip("pyarrow")

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"

Predicate = Callable[[list[Any]], list[bool]]

CHOICES: dict[str, tuple[str, Predicate]] = {
    "all": ("channel", lambda values: [True] * len(values)),
    "none": ("channel", lambda values: [False] * len(values)),
    "acks": ("method", lambda values: [value == "basic.ack" for value in values]),
    "no acks": ("method", lambda values: [value != "basic.ack" for value in values]),
    "every third": ("packet_offset", lambda values: [i % 3 == 0 for i in range(len(values))]),
    "client": ("direction", lambda values: [value == "client" for value in values]),
}


def chosen(field: str, predicate: Predicate, *paths: Path, **options: Any) -> list[dict[str, Any]]:
    reader = capture.Reader(paths, **options)
    reader.filter(
        [field], lambda batch: bytes(predicate(pa.record_batch(batch).column(0).to_pylist()))
    )
    return rows_of(reader)


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("choice", CHOICES)
def test_rows_that_are_wanted(choice: str, level: str) -> None:
    field, predicate = CHOICES[choice]
    names = [*pa.schema(capture.schema(level)).names, "packet", "headers.task"]
    options = {"level": level, "fields": names, "batch_rows": 100}
    expected = []
    for batch in capture.read(RECORDING, **options):
        rows = pa.record_batch(batch).to_pylist()
        matches = predicate([row[field] for row in rows])
        expected += [row for row, match in zip(rows, matches, strict=True) if match]
    assert chosen(field, predicate, RECORDING, **options) == expected
    assert chosen(field, predicate, RECORDING, workers=2, **options) == expected
    assert bool(expected) == (choice != "none")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "x.pcap"
    path.write_bytes(gzip.decompress(RECORDING.read_bytes()))
    return path


def test_files_of_a_chain_that_is_found(plain: Path) -> None:
    data = plain.read_bytes()
    at = capture.Reader(plain).first_record(len(data) // 2)
    paths = [plain.with_name("0.pcap"), plain.with_name("1.pcap")]
    paths[0].write_bytes(data[:at])
    paths[1].write_bytes(data[:24] + data[at:])
    field, predicate = CHOICES["acks"]
    expected = [row for row in rows_of(capture.read(paths)) if row["method"] == "basic.ack"]
    assert chosen(field, predicate, *paths) == expected
    assert len({row["file"] for row in expected}) == 2


def test_connections_of_several_versions(tmp_path: Path) -> None:
    path = tmp_path / "both.pcap"
    path.write_bytes(both_families())
    rows = rows_of(capture.read(path))
    for name in ("basic.publish", "transfer"):
        expected = [row for row in rows if row["method"] == name]
        assert chosen("method", lambda values, name=name: [v == name for v in values], path) == (
            expected
        )
        assert expected


def test_a_batch_may_be_chosen_of_other_columns(plain: Path) -> None:
    """Also where a chosen column is given, and where bytes of frames lie where they were read."""
    expected = [
        {"frame": row["frame"], "channel": row["channel"]}
        for row in rows_of(capture.read(plain))
        if row["frame"] and row["frame"][0] == 1
    ]
    reader = capture.Reader(plain, fields=["frame", "channel"])

    def select_method_frames(batch: capture.Batch) -> bytes:
        return bytes(raw[:1] == b"\1" for raw in pa.record_batch(batch).column(0).to_pylist())

    reader.filter(["frame"], select_method_frames)
    assert rows_of(reader) == expected


def test_counts_and_states_are_of_all_rows(plain: Path) -> None:
    results = []
    for choose in (False, True):
        reader = capture.Reader(plain)
        if choose:
            reader.filter(["channel"], lambda batch: bytes(len(batch)))
        rows = [len(batch) for batch in reader.read(plain.stat().st_size // 2)]
        results.append((reader.state(), reader.stats()))
        assert any(rows) != choose
    assert results[0] == results[1]


def test_what_is_wrong_is_told() -> None:
    for paths in ([RECORDING], [RECORDING, RECORDING]):
        with pytest.raises(ValueError, match="no column 'chanel'"):
            capture.Reader(paths).filter(["chanel"], lambda batch: b"")
    for judged in (b"", b"\1", bytes(2000)):
        reader = capture.Reader(RECORDING)
        reader.filter(["channel"], lambda batch, judged=judged: judged)
        with pytest.raises(ValueError, match=rf"of \d+ rows, {len(judged)} were judged"):
            rows_of(reader)

    def refuse(batch: capture.Batch) -> bytes:
        raise CaptureError("not this one")

    for workers in (1, 2):
        reader = capture.Reader(RECORDING, workers=workers)
        reader.filter(["channel"], refuse)
        with pytest.raises(CaptureError, match="not this one"):
            rows_of(reader)
