"""Every task is killed once, in one process and on a cluster; the rows are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")
pytest.importorskip("pyarrow")

from tests.spark.frames import RECORDING, rotated
from tests.spark.programs import printed

#: Rows of the recording.
ROWS = {"frame": 1000, "message": 533}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("master", "levels"),
    [("local[2,4]", ["frame", "message"]), ("local-cluster[1,2,1024]", ["frame"])],
)
def test_tasks_that_die(tmp_path: Path, master: str, levels: list[str]) -> None:
    (tmp_path / "folder").mkdir()
    rotated(RECORDING, tmp_path / "folder", 5)
    lines = printed("tests.spark.tried_twice", tmp_path, master, str(tmp_path), *levels)
    assert lines == [f"{level} {ROWS[level]} rows" for level in levels]
