"""Older Sparks, each in a Python of its own: AMQPCODEC_OLD_SPARKS names these, as PATH does.

`make spark-test SPARK=3.5` makes such a Python and runs this file with it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import amqpcodec
from scripts import jre
from tests.paths import REPO

PYTHONS = [path for path in os.environ.get("AMQPCODEC_OLD_SPARKS", "").split(":") if path]

#: What runs there too. A test skips itself where a version lacks what it is about.
SESSIONS = [
    *("analysis", "captures", "contents", "conversations", "decode", "encode", "event_rows"),
    *("events", "frames", "functions", "guide", "index", "refusals", "traces", "v1", "versions"),
]

pytestmark = [
    pytest.mark.skipif(not PYTHONS, reason="AMQPCODEC_OLD_SPARKS names no Python"),
    pytest.mark.parametrize("python", PYTHONS or [""]),
]


def run(python: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A module in that Python, which imports the package and the tests from here."""
    source = str(Path(amqpcodec.__file__).parent.parent)
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("PYTEST")},
        "PYTHONPATH": os.pathsep.join([source, str(REPO)]),
        "JAVA_HOME": str(jre.java_home()),
    }
    return subprocess.run(
        [python, "-m", *words],
        cwd=REPO, env=environment, capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip


def test_old_spark(python: str) -> None:
    process = run(python, "tests.spark.old_spark")
    assert process.returncode == 0, process.stderr[-4000:]
    assert "ends" in process.stdout


def test_sessions(python: str) -> None:
    files = [f"tests/spark/test_{name}_session.py" for name in SESSIONS]
    process = run(python, "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *files)
    assert process.returncode == 0, process.stdout[-8000:]
    assert " passed" in process.stdout
