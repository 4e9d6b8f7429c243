"""Memory is bounded by the open connections, not by the length of a capture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import looped
from tests.paths import REPO

LIMIT = 150 << 20

# The peak of this process alone: getrusage's is that of what started it, if that was larger.
PROGRAM = r"""
import json, sys
from amqpcodec import capture

def peak():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

before = peak()
rows = 0
reader = capture.read(sys.argv[1], level=sys.argv[2], workers=int(sys.argv[3]))
for batch in reader:
    array = batch.__arrow_c_array__()
    rows += len(batch)
    del array
print(json.dumps([peak() - before, rows, reader.stats()["connections"], reader.stats()["gaps"]]))
"""


def read(path: Path, level: str, workers: int) -> list[int]:
    """(bytes of memory above the import, rows, connections, gaps)."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), level, str(workers)],
        capture_output=True,
        text=True,
        check=True,
    )
    measurements: list[int] = json.loads(process.stdout)
    return measurements


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("level", "drop", "workers"),
    [("frame", 0, 1), ("frame", 0.02, 1), ("message", 0.02, 1), ("frame", 0, 2), ("message", 0, 2)],
)
def test_peak(tmp_path: Path, level: str, drop: float, workers: int):
    path = tmp_path / "long.pcap"
    count = looped.write(REPO / "demo" / "kombu_celery.pcap.gz", path, 60 << 20, 50, drop)
    memory, rows, connections, gaps = read(path, level, workers)
    assert connections == 7 * 50 * count
    assert count > 5
    assert (gaps > 0) == bool(drop)
    assert rows > 25_000 * count
    assert memory < workers * LIMIT


# What decoding leaves in the pool, before and after a capture was read.
POOL_PROGRAM = r"""
import sys
from amqpcodec import batch, capture
if sys.argv[2] != "0":
    batch.limit_memory(int(sys.argv[2]))
frame = b"\x08\0\0\0\0\0\0\xce"
kept = [batch.decode(frame * 200_000) for _ in range(6)]
del kept
print(batch.kept_memory())
for each in capture.read(sys.argv[1]):
    pass
print(batch.kept_memory())
"""


@pytest.mark.parametrize("limit", [0, 80 << 20])
def test_reading_keeps_what_the_limit_of_the_pool_allows(limit: int):
    path = REPO / "demo" / "kombu_celery.pcap.gz"
    process = subprocess.run(
        [sys.executable, "-c", POOL_PROGRAM, path, str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = map(int, process.stdout.split())
    if not before:
        pytest.skip("built with a sanitizer, without a pool")
    most = 48 << 20
    assert before > most
    assert after > most if limit else after <= most
