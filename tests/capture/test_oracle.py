"""Every frame of the recordings that an independent splitter was run over."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from amqpcodec import capture
from tests.paths import shared_dir

pytest.importorskip("pyarrow")

SHARED = shared_dir()
ORACLES = sorted(SHARED.glob("captures/oracle/*.jsonl.gz")) if SHARED else []
SIDES = {"c2s": "client", "s2c": "server"}

pytestmark = pytest.mark.skipif(not ORACLES, reason="the recordings are not beside the repository")

# Octets that the oracle holds no frame for: (connection, direction) → how many, at the end.
NO_FRAME = {"raw_errors.pcap": {(7, "client"): 8}}  # the header of a frame that is too large


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda path: path.name.split(".")[0])
def test_frames_of_each_stream(oracle: Path):
    name = oracle.name.removesuffix(".jsonl.gz")
    expected = defaultdict(list)
    with gzip.open(oracle, "rt") as lines:
        for line in map(json.loads, lines):
            expected[line["stream"], SIDES[line["dir"]]].append(bytes.fromhex(line["hex"]))
    found = defaultdict(list)
    loaded = capture.load(SHARED / "captures" / f"{name}.gz")
    for frame in loaded.frames():
        found[frame.connection_index, frame.direction].append(frame.octets)
    for key, count in NO_FRAME.get(name, {}).items():
        assert len(found[key].pop()) == count
    assert found == expected
    assert not loaded.skipped
    assert loaded.cut is None
    assert not [stream for stream in loaded.streams if stream.gaps or stream.midstream]
