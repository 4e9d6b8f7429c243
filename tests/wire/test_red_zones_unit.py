"""On a sanitized core, one byte after a reservation ends the process, in every growing memory."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.fuzz.instrumented import SANITIZE, checked_compiler
from tests.paths import REPO

PACKAGE = REPO / "src" / "amqpcodec"
SOURCE = Path(__file__).with_name("red_zones.pyx")
MEMORIES = (
    "stack",
    "stack_first",
    "heap",
    "committed",
    "block",
    "block_inside",
    "block_first",
    "column",
)
#: What lies after a block of the pool is the sanitizer's own red zone, not ours.
REPORTS = {"block": "heap-buffer-overflow"}

pytestmark = pytest.mark.skipif(
    "asan" not in os.environ.get("LD_PRELOAD", ""), reason="for a sanitized core: make sanitize"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the module is that does the stores, compiled like the core that is loaded."""
    folder = tmp_path_factory.mktemp("red_zones")
    # Compilers need no sanitizer, and find leaks of their own with it.
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    generated = folder / "red_zones.c"
    cython = [sys.executable, "-m", "cython", "-3", "-I", str(REPO / "src"), str(SOURCE)]
    library = folder / f"red_zones{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = [checked_compiler(), "-shared", "-fPIC", "-O1", "-w", *shlex.split(SANITIZE)]
    compiler += ["-DAMQPCODEC_CHECKED_WRITES", f"-I{sysconfig.get_path('include')}"]
    compiler += [f"-I{PACKAGE / part}" for part in ("_core", "_gen")]
    for command in (
        [*cython, "-o", str(generated)],
        [*compiler, str(generated), "-o", str(library)],
    ):
        process = subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
    return folder


def run(folder: Path, memory: str, past: int) -> subprocess.CompletedProcess[str]:
    """Store so many bytes past a reservation, in a process of its own."""
    code = f"import red_zones; red_zones.{memory}({past}); print('stored')"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("memory", MEMORIES)
def test_one_byte_after_a_reservation_ends_the_process(folder: Path, memory: str) -> None:
    process = run(folder, memory, 1)
    assert process.returncode != 0
    assert process.stdout == ""
    assert REPORTS.get(memory, "use-after-poison") in process.stderr


@pytest.mark.parametrize("memory", MEMORIES)
def test_what_was_reserved_can_be_stored(folder: Path, memory: str) -> None:
    process = run(folder, memory, 0)
    assert (process.returncode, process.stdout, process.stderr) == (0, "stored\n", "")
