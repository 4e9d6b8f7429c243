"""Older Sparks, each in a Python of its own: AMQPCODEC_OLD_SPARKS names these, as PATH does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import amqpcodec
from tests.paths import REPO

PYTHONS = [path for path in os.environ.get("AMQPCODEC_OLD_SPARKS", "").split(":") if path]


@pytest.mark.skipif(not PYTHONS, reason="AMQPCODEC_OLD_SPARKS names no Python")
@pytest.mark.parametrize("python", PYTHONS or [""])
def test_old_spark(python: str) -> None:
    source = str(Path(amqpcodec.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(REPO)])}
    process = subprocess.run(
        [python, "-m", "tests.spark.old_spark"],
        cwd=REPO, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-4000:]
    assert "capture_stats ends with" in process.stdout
