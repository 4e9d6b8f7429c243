"""A stream of a release goes on with the next one: docs/versions.md promises it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
pytest.importorskip("pyspark.sql.datasource")

from tests.capture.golden_states import STATES
from tests.spark.golden_stream import put, query, take_away
from tests.spark.test_stream_unit import one_pass

RELEASES = sorted(folder.parent.name for folder in STATES.glob("*/stream"))


@pytest.mark.parametrize("release", RELEASES)
def test_a_stream_of_a_release_goes_on(release: str, tmp_path: Path) -> None:
    import fsspec

    names = put(tmp_path)
    third = take_away(names[2])
    fresh = query(tmp_path / "fresh")
    fresh.go()
    states = tmp_path / "states"
    shutil.copytree(STATES / release / "stream", states)
    stream = query(states)
    stream.committed = json.loads((states / "offset.json").read_text(encoding="utf-8"))
    assert stream.batch() is None  # what was read is not read again
    fsspec.filesystem("memory").pipe(names[2], third)
    stream.start()
    assert stream.go() == 1

    def named(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(map(repr, rows))

    everything = one_pass(names)
    assert named(fresh.rows + stream.rows) == named(everything)
    assert len(stream.rows) > 100


def test_the_release_that_is_being_written_has_its_stream() -> None:
    assert "0.1.0" in RELEASES
