"""Programs of users under mypy --strict and pyright: right ones pass, mistakes are found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.typing import checkers

#: Programs without a mistake, and one of mistakes.
GOOD, BAD = ("good.py", "older_versions.py"), "bad.py"


def marked(tool: str) -> set[int]:
    """Lines of the bad program in which the tool has to find an error."""
    lines = (checkers.PROGRAMS / BAD).read_text().splitlines()
    marks = {n: re.search(r"  # error(?:: (\w+))?$", line) for n, line in enumerate(lines, 1)}
    return {n for n, mark in marks.items() if mark and mark[1] in (None, tool)}


@pytest.mark.parametrize("program", GOOD)
def test_good_program_passes_mypy(program: str, tmp_path: Path, mypy_cache: Path) -> None:
    checkers.needs("mypy")
    assert checkers.mypy(program, tmp_path, mypy_cache) == {}


@pytest.mark.parametrize("program", GOOD)
def test_good_program_passes_pyright(program: str, tmp_path: Path) -> None:
    checkers.needs("pyright")
    assert checkers.pyright(program, tmp_path, "strict") == {}


@pytest.mark.parametrize("program", GOOD)
def test_good_program_runs(program: str) -> None:
    path = os.pathsep.join([str(checkers.PACKAGE), os.environ.get("PYTHONPATH", "")])
    process = subprocess.run(
        [sys.executable, checkers.PROGRAMS / program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=checkers.SECONDS,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "")


def test_mypy_finds_every_mistake(tmp_path: Path, mypy_cache: Path) -> None:
    checkers.needs("mypy")
    errors = checkers.mypy(BAD, tmp_path, mypy_cache)
    assert marked("mypy") == set(errors), errors


def test_pyright_finds_every_mistake(tmp_path: Path) -> None:
    checkers.needs("pyright")
    errors = checkers.pyright(BAD, tmp_path, "standard")
    assert marked("pyright") == set(errors), errors


def test_the_bad_program_has_marks_for_each_tool() -> None:
    assert len(marked("mypy") | marked("pyright")) > 60
    assert marked("mypy") != marked("pyright")


def test_no_public_type_is_left_to_guess(tmp_path: Path) -> None:
    """What users work with; insides of loader, reader, command and Spark are not judged."""
    checkers.needs("pyright")
    inside = (
        "spec.",
        "capture.",
        "cli.",
        "spark.planning.",
        "spark.source.",
        "spark.stream.",
        "compat._",
    )
    inside = tuple(f"amqpcodec.{name}" for name in inside)
    incomplete_names = [
        name for name in checkers.incomplete(tmp_path) if not name.startswith(inside)
    ]
    assert [
        name for name in incomplete_names if not name.endswith(".__dir__")
    ] == []  # dir() calls these
