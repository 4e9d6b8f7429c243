"""An archive brings workers all that they need: they have nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.streaming.datasource")

from tests.spark.programs import printed


@pytest.mark.heavy
@pytest.mark.parametrize("how", ["archives", "artifacts"])
def test_workers_with_an_archive(tmp_path: Path, how: str) -> None:
    if how == "artifacts":
        pytest.importorskip("grpc_status")
        pytest.importorskip("zstandard")
    lines = printed("tests.spark.shipped", tmp_path, how)
    assert lines[-1] == f"decoded with what came by {how}"
