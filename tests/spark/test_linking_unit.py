"""Which files one task reads as a chain, without a session."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import capture
from amqpcodec.capture._storage import Storage
from amqpcodec.spark.files import CaptureFile, Selection, list_files
from amqpcodec.spark.linking import chains
from tests.spark.frames import RECORDING, rotated


def found(folder: Path) -> list[CaptureFile]:
    return list_files([str(folder)], Selection())


def names(groups: list[list[CaptureFile]]) -> list[list[str]]:
    return [[Path(file.path).name for file in group] for group in groups]


def test_a_rotation_beside_others(tmp_path: Path, caplog: Any) -> None:
    rotated(RECORDING, tmp_path, 3)
    whole = gzip.decompress(RECORDING.read_bytes())
    (tmp_path / "again.pcap").write_bytes(whole)
    (tmp_path / "broken.pcap").write_bytes(b"no capture at all")
    (tmp_path / "none.pcap").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        groups = chains(found(tmp_path), "auto", (5672,), Storage())
    reader = capture.read([file.path for file in found(tmp_path) if "broken" not in file.path])
    assert max(map(len, groups)) >= 3
    assert ["broken.pcap"] in names(groups)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "is read alone" in told[0]
    assert "directions begin in the middle" in told[0]
    assert {Path(each).name for each in reader.unlinked} == {told[0].split()[0].rpartition("/")[2]}


def test_what_is_not_looked_at(tmp_path: Path) -> None:
    files = [CaptureFile("/nowhere/b", 1, 0.0), CaptureFile("/nowhere/a", 1, 0.0)]
    assert chains(files, True, (5672,), Storage()) == [files]
    assert chains(files, False, (5672,), Storage()) == [[files[0]], [files[1]]]
    assert chains(files[:1], "auto", (5672,), Storage()) == [files[:1]]
    assert chains([], True, (5672,), Storage()) == []
