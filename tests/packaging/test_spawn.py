"""The build works where worker processes are not forked: Linux since 3.14, macOS, Windows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.paths import REPO

SPAWN = REPO / "scripts" / "spawn"

#: What a worker does first under `spawn` and `forkserver`: it imports the program of its parent.
IMPORT_AS_WORKER = """
import runpy, Cython.Build, setuptools
def refuse(*args, **options):
    raise SystemExit("the build starts again in a worker")
Cython.Build.cythonize = setuptools.setup = refuse
assert "setup" in runpy.run_path("setup.py", run_name=NAME)
"""


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPO,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_a_worker_that_imports_setup_builds_nothing() -> None:
    process = run_python(f"NAME = '__mp_main__'{IMPORT_AS_WORKER}")
    assert (process.returncode, process.stderr) == (0, "")


def test_setup_builds_as_a_program() -> None:
    """The code above notices a build."""
    process = run_python(f"NAME = '__main__'{IMPORT_AS_WORKER}")
    assert "the build starts again" in process.stderr


def test_the_setting_of_ci_starts_workers_by_spawn() -> None:
    code = "import multiprocessing; print(multiprocessing.get_start_method())"
    assert run_python(code, PYTHONPATH=str(SPAWN)).stdout == "spawn\n"


def test_ci_builds_under_that_setting() -> None:
    steps = (REPO / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r'^step build env PYTHONPATH="\$PWD/scripts/spawn" make build$', steps, re.M)
