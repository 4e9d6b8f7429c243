"""Programs of these tests, each with a Spark of its own that it may kill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import jre
from tests.paths import REPO


def printed(module: str, folder: Path, *arguments: str) -> list[str]:
    """The lines of a module that is run in a folder; a skip where there is no Java."""
    try:
        jre.java_home()
    except jre.NoJava as problem:
        pytest.skip(str(problem))
    paths = os.pathsep.join([str(REPO / "src"), str(REPO)])
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-4000:]
    return process.stdout.splitlines()
