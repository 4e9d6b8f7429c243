"""Real recordings, from the command line to the bytes of every frame."""

from __future__ import annotations

import base64
import collections
import gzip
import json

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.paths import REPO, shared_dir

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

SHIPPED = REPO / "demo" / "kombu_celery.pcap.gz"
ORACLES = ["aiopika.pcapng", "kombu_celery.pcap", "perl_anyevent.pcap", "pika_nano.pcap"]


def test_shipped_recording_decodes_as_objects(run):
    result = run("dissect", SHIPPED, "--format", "json")
    assert (result.status, result.err) == (0, "")
    rows = [json.loads(line) for line in result.lines]
    assert len(rows) == 1000
    for row in rows:
        octets = base64.b64decode(row["frame"])
        consumed, channel, frame = amqp.decode(octets)
        assert (consumed, channel) == (len(octets), row["channel"])
        assert getattr(frame, "NAME", None) == row["method"]


def test_shipped_recording_as_a_table(run):
    result = run("dissect", SHIPPED, "--where", "method == basic.publish")
    assert result.status == 0
    assert len(result.lines) == 1 + 115
    assert all(line.split()[6] == "basic.publish" for line in result.lines[1:])


def test_shipped_recording_counted(run):
    result = run("stats", SHIPPED, "--format", "json")
    assert result.status == 0
    assert json.loads(result.out)["methods"]["basic.publish"] == 115


@pytest.mark.parametrize("name", ORACLES)
def test_frames_of_the_oracle(run, name):
    shared = shared_dir()
    if shared is None:
        pytest.skip("needs ../shared")
    oracle = shared / "captures" / "oracle" / f"{name}.jsonl.gz"
    with gzip.open(oracle, "rt", encoding="utf-8") as lines:
        expected = collections.Counter(bytes.fromhex(json.loads(line)["hex"]) for line in lines)
    capture = shared / "captures" / f"{name}.gz"
    result = run("dissect", capture, "--format", "json", "--fields", "frame", "--show-secrets")
    assert result.status == 0
    frames = collections.Counter(
        base64.b64decode(json.loads(line)["frame"]) for line in result.lines
    )
    assert frames == expected
