"""docs/trust.md, CONTRIBUTING.md: their commands are there, and run where the pages say.

tests/RUNS.md: every target of fuzzing has its row.
"""

from __future__ import annotations

import re

import pytest

from tests.fuzz.targets import NAMES
from tests.paths import REPO

PAGE = (REPO / "docs" / "trust.md").read_text(encoding="utf-8")
CONTRIBUTING = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
RUNS = (REPO / "tests" / "RUNS.md").read_text(encoding="utf-8")


def test_every_command_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"\bmake ([a-z-]+)", PAGE))
    assert {"fuzz", "sanitize", "mutants", "python-mutants", "coverage"} <= commands <= targets
    assert "debug-test" in commands
    for path in re.findall(r"ARGS=(tests/[\w/.]+)", PAGE):
        assert (REPO / path).is_file()


def test_every_target_has_its_row() -> None:
    rows = re.findall(r"^\| `([\w-]+)` (?:\| [\d,]+ )+\|$", RUNS, re.MULTILINE)
    assert sorted(rows) == sorted(NAMES)


def run_by(place: str) -> set[str]:
    """The targets that a workflow or `.ci/run` makes."""
    path = REPO / ".ci" / "run" if place == ".ci/run" else REPO / ".github" / "workflows" / place
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)", text))
    for name, values in re.findall(r"^ +(\w+): \[(.*)\]$", text, re.MULTILINE):
        if f"make ${{{{ matrix.{name} }}}}" in text:
            targets |= set(re.split(r",\s*", values))
    if {"test", "python-coverage-report"} <= targets:
        targets.add("python-coverage")  # which is both
    return targets


def rows(page: str) -> list[tuple[set[str], str]]:
    """The targets in the first cell of each row of a table, and its last cell."""
    cells = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return [(set(re.findall(r"\bmake ([a-z-]+)", first)), last) for first, *_, last in cells]


@pytest.mark.parametrize("page", [PAGE, CONTRIBUTING], ids=["trust.md", "CONTRIBUTING.md"])
def test_commands_run_where_the_page_says(page: str) -> None:
    checked = 0
    for targets, where in rows(page):
        # `newest-test` runs in tests.yml as `make test` on each Python.
        for place in re.findall(r"`(\.ci/run|\w+\.yml)`(?! runs)", where):
            assert targets <= run_by(place), place
            checked += len(targets)
    assert checked >= 10


def test_what_runs_nowhere_by_itself() -> None:
    for targets, where in rows(PAGE):
        if where == "nowhere by itself":
            assert targets <= {"test"}, "with arguments that no workflow gives"


def test_only_ci_run_leaves_heavy_tests_out() -> None:
    assert "-m 'not heavy'" in (REPO / ".ci" / "run").read_text(encoding="utf-8")
    for workflow in (REPO / ".github" / "workflows").glob("*.yml"):
        assert "heavy" not in workflow.read_text(encoding="utf-8")
