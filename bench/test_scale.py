"""The generated capture is what its rows say of it, and the simulated cluster adds up."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from amqpcodec import capture
from bench import cluster, scale


def test_one_connection_carries_half(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "hot.pcap"
    scale.write_capture(path, 1_000_000)
    byte_counts: Counter[str] = Counter()
    reader = capture.read(path, fields=["connection", "frame"])
    for batch in reader:
        rows = pa.record_batch(batch)
        pairs = zip(rows["connection"].to_pylist(), rows["frame"].to_pylist(), strict=True)
        for connection, frame in pairs:
            byte_counts[connection] += len(frame or b"")
    assert 0.4 < max(byte_counts.values()) / byte_counts.total() < 0.6
    assert reader.stats()["gaps"] == 0
    ranges, _ = scale.index(path)
    assert len(ranges) == scale.RANGES


def test_a_quiet_cluster_takes_the_sum_of_its_tasks() -> None:
    quiet = {"spread": 0.0, "stragglers": 0.0, "failures": 0.0}
    tasks = [1.0] * 12

    def seconds(cores: int) -> float:
        return cluster.makespan(tasks, cluster.Cluster(cores, **quiet), random.Random(1))

    assert seconds(1) == pytest.approx(12 * (1 + cluster.OVERHEAD))
    assert seconds(4) == pytest.approx(3 * (1 + cluster.OVERHEAD))
    disturbed = cluster.Cluster(4, stragglers=0.5, failures=0.2)
    assert cluster.makespan(tasks, disturbed, random.Random(1)) > seconds(4)
    assert sum(cluster.split(1000, 100, 30)) == pytest.approx(1000)
