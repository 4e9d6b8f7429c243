"""The modules of a session import in one direction, also where only type checkers see it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.paths import REPO

SESSION = REPO / "src" / "amqpcodec" / "session"

#: From the lowest one up: each imports of those before it at most.
ORDER = (
    # numbers, codes and facts
    *("_types", "_codes", "_faults", "_heartbeats", "_tag_ranges", "_tags", "errors", "_model"),
    *("_sasl",),
    # the state, and what is sent
    *("_state", "_output", "_checks", "_settling"),
    # what users hold
    *("_operations", "_channel", "events"),
    # rules and engine
    *("_rules", "_ending", "_tuning", "_client", "_server", "_engine", "_receive"),
    "_connection",
)
#: What the state may know: data, and what the protocol's classes say.
OF_THE_STATE = {"_heartbeats", "_model", "_tags"}


def imported(path: Path) -> set[str]:
    """The modules of the same package that a module imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            if node.module is None:
                names |= {alias.name for alias in node.names}
            else:
                names.add(node.module.partition(".")[0])
    return names


def test_every_module_has_its_place() -> None:
    assert {path.stem for path in SESSION.glob("*.py")} == {*ORDER, "__init__", "v1"}


@pytest.mark.parametrize("module", ORDER)
def test_a_module_imports_lower_ones_only(module: str) -> None:
    lower = set(ORDER[: ORDER.index(module)])
    assert imported(SESSION / f"{module}.py") - lower == set()


def test_the_state_is_data() -> None:
    assert imported(SESSION / "_state.py") == OF_THE_STATE
