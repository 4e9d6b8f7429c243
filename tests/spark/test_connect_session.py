"""A client of Spark Connect has what a session has, but for schemas in SQL."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.streaming.datasource")
pytest.importorskip("grpc_status")
pytest.importorskip("zstandard")

from tests.spark.programs import printed


def test_a_client(tmp_path: Path) -> None:
    assert printed("tests.spark.connected", tmp_path, str(tmp_path))[-1] == "1000 rows"
