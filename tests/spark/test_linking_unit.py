"""Which files one task reads as a chain, without a session."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import capture  # noqa: E402
from amqpcodec.capture._limits import LIMITS  # noqa: E402
from amqpcodec.capture._ports import server_ports  # noqa: E402
from amqpcodec.capture._storage import Storage  # noqa: E402
from amqpcodec.spark.planning.columns import plan  # noqa: E402
from amqpcodec.spark.planning.files import Selection, StoredFile, list_files  # noqa: E402
from amqpcodec.spark.planning.rotation import chains  # noqa: E402
from amqpcodec.spark.planning.rows import capture_columns  # noqa: E402
from amqpcodec.spark.source import binary_column, stats  # noqa: E402
from amqpcodec.spark.source.data_source import CaptureRows  # noqa: E402
from tests.spark.frames import RECORDING, rotated  # noqa: E402
from tests.support import capture_variants as variants  # noqa: E402
from tests.support import mangle  # noqa: E402
from tests.support import recording as make  # noqa: E402

#: As capture.read has them by itself.
PORTS = server_ports(None)


def files_of(folder: Path) -> list[StoredFile]:
    return list_files([str(folder)], Selection())


def names(groups: list[list[StoredFile]]) -> list[list[str]]:
    return [[Path(file.path).name for file in group] for group in groups]


def test_a_rotation_beside_others(tmp_path: Path, caplog: Any) -> None:
    rotated(RECORDING, tmp_path, 3)
    complete_capture = gzip.decompress(RECORDING.read_bytes())
    (tmp_path / "again.pcap").write_bytes(complete_capture)
    (tmp_path / "broken.pcap").write_bytes(b"no capture at all")
    (tmp_path / "none.pcap").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        groups = chains(files_of(tmp_path), "auto", PORTS, Storage())
    reader = capture.read([file.path for file in files_of(tmp_path) if "broken" not in file.path])
    assert max(map(len, groups)) >= 3
    assert ["broken.pcap"] in names(groups)
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "is read alone" in warnings[0]
    assert "of the same connections" in warnings[0]
    assert "in the middle" not in warnings[0]  # each connection begins in both
    assert {Path(path).name for path in reader.not_in_rotation} == {
        warnings[0].split()[0].rpartition("/")[2]
    }


def test_what_begins_in_the_middle_of_a_file_alone_is_told(tmp_path: Path, caplog: Any) -> None:
    rotated(RECORDING, tmp_path, 3)
    options = {"fields": "error", "files": "separate"}
    midstream = [
        file_stats["midstream"]
        for file_stats in capture.stats(list(tmp_path.iterdir()), files="separate")["files"]
    ]
    with caplog.at_level(logging.WARNING):
        reader = CaptureRows.of(str(tmp_path), options)
        for part in reader.partitions():
            list(reader.read(part))
    warnings = [record.getMessage() for record in caplog.records]
    counts = [int(warning.split("read alone: ")[1].split()[0]) for warning in warnings]
    assert sorted(counts) == sorted(filter(None, midstream)) != []


def test_what_begins_in_the_middle_of_a_value_is_told(tmp_path: Path, caplog: Any) -> None:
    last = rotated(RECORDING, tmp_path, 3)[-1]
    decode_plan = plan(capture_columns("frame", None), ["error"], None, "json")
    job = binary_column._Job(decode_plan, 0, "frame", PORTS, None, True, "PERMISSIVE", LIMITS)
    with caplog.at_level(logging.WARNING):
        list(job.captures("last", last.read_bytes()))
        list(job.captures("whole", RECORDING.read_bytes()))
    midstream = capture.stats(last)["midstream"]
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning == f"last is read alone: {midstream} directions begin in the middle"


def test_what_is_not_looked_at(tmp_path: Path) -> None:
    files = [StoredFile("/nowhere/b", 1, 0.0), StoredFile("/nowhere/a", 1, 0.0)]
    assert chains(files, "rotation", PORTS, Storage()) == [files]
    assert chains(files, "separate", PORTS, Storage()) == [[files[0]], [files[1]]]
    assert chains(files[:1], "auto", PORTS, Storage()) == [files[:1]]
    assert chains([], "rotation", PORTS, Storage()) == []


def test_taps_are_joined(tmp_path: Path) -> None:
    """Those of one direction each, by one task, in spite of stateLocation; and counted so."""
    for number, client in enumerate((True, False)):
        tap = [part for part in variants.parts() if part.from_client == client]
        (tmp_path / f"{number}.pcap").write_bytes(make.pcap(mangle.records(tap)))
    fields = ["direction", "frame", "error"]
    tap_options = {"files": "taps", "maxPartitionBytes": "1k", "stateLocation": str(tmp_path / "s")}
    reader = CaptureRows.of(str(tmp_path / "*.pcap"), {**tap_options, "fields": ",".join(fields)})
    [task] = reader.partitions()
    joined = [row for rows in reader.read(task) for row in rows.to_pylist()]
    batches = capture.read(str(RECORDING), fields=fields, order="none")
    assert joined == [row for rows in batches for row in pa.record_batch(rows).to_pylist()]
    source = stats.AmqpCaptureStats({"path": str(tmp_path / "*.pcap"), "files": "taps"})
    counting = source.reader(source.schema())
    [counted] = [rows for part in counting.partitions() for rows in counting.read(part)]
    frame_counts = dict(counted.to_pylist()[0]["frames"])
    assert sum(frame_counts.values()) == len(joined) == 1000


def test_what_does_not_go_with_joined_taps(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="option files taps needs each file"):
        CaptureRows.of(str(tmp_path), {"files": "taps", "ignoreCorruptFiles": "true"})
