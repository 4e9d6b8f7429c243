"""Builds of the core beside the one in use: with mutants in it, or with counters."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.paths import REPO

PACKAGE = Path("src", "amqpcodec")
BUILT = {".c", ".so", ".pyd", ".pyc"}
#: A comment of Cython's, with a path below the package.
STATEMENT = re.compile(r' */\* "src/amqpcodec/((?:_core|_gen)/[\w/.]+)":(\d+)$')
LABEL = re.compile(r" *(__pyx_L\w*:|/\* function exit code \*/)")
#: Each has tests of its name.
ROOMS = sorted(path.name for path in (REPO / PACKAGE / "_core").iterdir() if path.is_dir())


class BuildError(Exception):
    """What the compilers, or the tests, complained of."""


def copy_tree(folder: Path, changed: dict[str, str]) -> None:
    """What a build needs, with other texts for some files of the package.

    What stays the same keeps its time, so that little is compiled.
    """
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        write(folder / name, (REPO / name).read_bytes())
    for path in (REPO / "spec").rglob("*.py"):  # which write the stubs
        write(folder / path.relative_to(REPO), path.read_bytes())
    for path in (REPO / PACKAGE).rglob("*"):
        if path.is_file() and path.suffix not in BUILT:
            name = path.relative_to(REPO / PACKAGE).as_posix()
            data = changed[name].encode() if name in changed else path.read_bytes()
            write(folder / PACKAGE / name, data)


def write(path: Path, data: bytes) -> bool:
    """Whether it had other bytes; the same are left alone."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def compile_tree(folder: Path, **environment: str) -> str:
    """Build in place; what the compilers complained of, or an empty text."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    command += ["--parallel", str(os.cpu_count() or 1)]
    variables = {**os.environ, "AMQPCODEC_WERROR": "", **environment}
    process = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    return process.stdout + process.stderr if process.returncode else ""


def statements(c_file: Path) -> Iterator[tuple[range, str, int]]:
    """Of C that Cython wrote: the lines of each statement, and the file and line it comes from.

    What comes after a label is reached from elsewhere, too, and belongs to none.
    """
    name, source, begin = "", 0, 0
    lines = c_file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([*lines, "__pyx_L:;"], 1):
        match = STATEMENT.match(line)
        if name and (match or LABEL.match(line)):
            yield range(begin, number), name, source
            name = ""
        if match:
            name, source, begin = match[1], int(match[2]), number


def room_tests() -> list[str]:
    """Arguments of pytest: the tests of all rooms that need no broker."""
    folders = [f"tests/{room}" for room in ROOMS]
    return [*(f"--ignore={folder}/live" for folder in folders), *folders]


def environment_of(folder: Path) -> dict[str, str]:
    """For tests of what is built in a folder."""
    path = os.pathsep.join((str(folder / PACKAGE.parent), str(REPO)))
    return {**os.environ, "PYTHONPATH": path}
