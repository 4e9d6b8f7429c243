"""What a stream of a release left behind: `python -m tests.spark.golden_stream 0.1.0` writes it.

The folder below tests/vectors/states has what was in ``stateLocation`` after two files of a
rotation of three, and ``offset.json``, which Spark keeps in ``checkpointLocation``. The files lie
in memory, by a URI: states have the names of files.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import fsspec

from tests.capture.golden_states import STATES
from tests.spark.frames import RECORDING, rotated
from tests.spark.test_stream_unit import Query

SPOOL = "memory://golden-stream"
PARTS = 3


def put(folder: Path) -> list[str]:
    """The URIs of the files of the rotation, which are put into memory one after the other."""
    files = fsspec.filesystem("memory")
    names = []
    for path in rotated(RECORDING, folder, PARTS):
        names.append(f"{SPOOL}/{path.name}")
        files.pipe(names[-1], path.read_bytes())
    return names


def take_away(name: str) -> bytes:
    """Remove a file from memory; what was in it."""
    files = fsspec.filesystem("memory")
    raw: bytes = files.cat(name)
    files.rm(name)
    return raw


def query(states: Path) -> Query:
    """A query over the files in memory."""
    return Query(SPOOL, states)


def write(release: str) -> None:
    """Make the folder of this release."""
    states = STATES / release / "stream"
    states.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        take_away(put(Path(name))[-1])
    stream = query(states)
    stream.go()
    (states / "offset.json").write_text(json.dumps(stream.committed) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write what a stream of a release leaves behind.")
    parser.add_argument("release")
    write(parser.parse_args().release)
