"""docs/trust.md: its commands are there; tests/RUNS.md: every target of fuzzing has its row."""

from __future__ import annotations

import re

from tests.fuzz.targets import NAMES
from tests.paths import REPO

PAGE = (REPO / "docs" / "trust.md").read_text(encoding="utf-8")
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
