"""Every frame of the recordings that an independent splitter was run over."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from amqpcodec import capture
from tests.paths import shared_dir

pa = pytest.importorskip("pyarrow")

SHARED = shared_dir()
ORACLES = sorted(SHARED.glob("captures/oracle/*.jsonl.gz")) if SHARED else []
SIDES = {"c2s": "client", "s2c": "server"}

pytestmark = pytest.mark.skipif(not ORACLES, reason="the recordings are not beside the repository")


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda path: path.name.split(".")[0])
def test_frames_of_each_stream(oracle: Path):
    name = oracle.name.removesuffix(".jsonl.gz")
    expected = defaultdict(list)
    with gzip.open(oracle, "rt") as lines:
        for line in map(json.loads, lines):
            expected[line["stream"], SIDES[line["dir"]]].append(bytes.fromhex(line["hex"]))
    frames_by_stream = defaultdict(list)
    flagged = []
    reader = capture.read(SHARED / "captures" / f"{name}.gz", redact=False, batch_rows=500)
    for batch in reader:
        assert 0 < len(batch) <= 500
        for row in pa.record_batch(batch).to_pylist():
            if row["flags"]:
                flagged.append(row["frame"])
            else:
                frames_by_stream[row["connection_index"], row["direction"]].append(row["frame"])
    assert frames_by_stream == expected
    stats = reader.stats()
    assert not stats["skipped"]
    assert stats["damaged"] is None
    assert stats["gaps"] == stats["midstream"] == stats["resyncs"] == 0
    # The header of a frame that is too large, and nothing else.
    assert [len(octets) for octets in flagged] == ([8] if name == "raw_errors.pcap" else [])
