"""Ranges that are made by tasks are those that a read finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import spark as amqp
from amqpcodec.spark.planning import ranges
from tests.capture.steady import steady
from tests.spark.frames import RECORDING, rotated
from tests.spark.test_ranges_unit import rows, tasks, unpacked


def test_a_read_makes_no_pass(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    alone, chain = tmp_path / "alone", tmp_path / "chain"
    alone.mkdir()
    chain.mkdir()
    complete_capture = unpacked(RECORDING, alone)
    files = rotated(complete_capture, chain, 3)
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "20k"}
    rotation_options = {**options, "files": "rotation"}
    for paths in ([str(complete_capture)], list(map(str, files))):
        expected = rows(paths, files="rotation")
        [index] = amqp.index_captures(spark, paths, rotation_options).collect()
        assert (index.file, index.files) == (paths[0], len(paths))
        monkeypatch.setattr(ranges, "_pass", None)
        _, parts = tasks(paths, **rotation_options)
        assert len(parts) == index.ranges > 3
        assert rows(paths, **rotation_options) == expected
        monkeypatch.undo()
    small = {**options, "maxPartitionBytes": "1g"}
    assert amqp.index_captures(spark, str(complete_capture), small).collect() == []


def test_ranges_are_outlined_by_tasks(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(7, 20_000, connections=1))
    step = str(path.stat().st_size // 8)
    read, indexed = tmp_path / "read", tmp_path / "indexed"
    options = {"maxPartitionBytes": step, "files": "rotation"}
    tasks(path, stateLocation=str(read), **options)
    index_options = {**options, "stateLocation": str(indexed)}
    [index] = amqp.index_captures(spark, str(path), index_options).collect()
    assert index.ranges == 9
    states = [
        {path_of_state.name: path_of_state.read_bytes() for path_of_state in folder.rglob("*.*")}
        for folder in (read, indexed)
    ]
    assert states[0] == states[1]
    assert len(states[0]) == 9


def test_what_cannot_be_cut(spark: Any, tmp_path: Path) -> None:
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "1k"}
    [index] = amqp.index_captures(spark, str(RECORDING), options).collect()
    assert tuple(index) == (str(RECORDING), 1, 1)
    with pytest.raises(ValueError, match="option stateLocation is missing"):
        amqp.index_captures(spark, str(RECORDING), {})
    with pytest.raises(ValueError, match="no option 'stateplace'"):
        amqp.index_captures(spark, str(RECORDING), {"statePlace": "x"})
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        amqp.index_captures(spark, str(tmp_path / "nothing"), options)
