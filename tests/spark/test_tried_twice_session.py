"""Every task is killed once, in one process and on a cluster; the rows are the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")
pytest.importorskip("pyarrow")

from scripts import jre
from tests.paths import REPO
from tests.spark.frames import RECORDING, rotated

#: Rows of the recording.
ROWS = {"frame": 1000, "message": 533}


@pytest.mark.parametrize(
    ("master", "levels"),
    [("local[2,4]", ["frame", "message"]), ("local-cluster[1,2,1024]", ["frame"])],
)
def test_tasks_that_die(tmp_path: Path, master: str, levels: list[str]) -> None:
    try:
        jre.java_home()
    except jre.NoJava as problem:
        pytest.skip(str(problem))
    (tmp_path / "folder").mkdir()
    rotated(RECORDING, tmp_path / "folder", 5)
    paths = os.pathsep.join([str(REPO / "src"), str(REPO)])
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.tried_twice", master, str(tmp_path), *levels],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == [f"{each} {ROWS[each]} rows" for each in levels]
