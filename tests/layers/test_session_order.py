"""The modules of sessions import in one direction, also where only type checkers see it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.paths import REPO

SESSION = REPO / "src" / "amqpcodec" / "session"
V1 = SESSION / "_v1"

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
#: The same of AMQP 1.0.
V1_ORDER = (
    # numbers, limits, options and mechanisms
    *("serial", "conditions", "heartbeats", "limits", "options", "scram", "sasl"),
    # what of a delivery is compared, found and held back, whatever its class
    *("resumption", "unsettled", "windows"),
    # what is known of a connection, a session, a link and a delivery: what users hold
    *("endpoint", "objects", "events", "faults"),
    # rules: what goes out, how things end, what comes in
    *("attaching", "sending", "settling", "ending", "transactions", "receiving"),
    *("link_incoming", "session_incoming", "layers", "incoming", "rules"),
    "connection",
)
#: What the state may know: data, and what the protocol's classes say.
OF_THE_STATE = {"_heartbeats", "_model", "_tags"}


def imported(path: Path, level: int = 1) -> set[str]:
    """The modules of the same package that a module imports, wherever in it.

    level: 2 for those of the package above.
    """
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == level:
            if node.module is None:
                names |= {alias.name for alias in node.names}
            else:
                names.add(node.module.partition(".")[0])
    return names


def test_every_module_has_its_place() -> None:
    assert {path.stem for path in SESSION.glob("*.py")} == {*ORDER, "__init__", "v1"}
    assert {path.stem for path in V1.glob("*.py")} == {*V1_ORDER, "__init__"}


@pytest.mark.parametrize("module", ORDER)
def test_a_module_imports_lower_ones_only(module: str) -> None:
    lower = set(ORDER[: ORDER.index(module)])
    assert imported(SESSION / f"{module}.py") - lower == set()


@pytest.mark.parametrize("module", V1_ORDER)
def test_a_module_of_1_0_imports_lower_ones_only(module: str) -> None:
    lower = set(V1_ORDER[: V1_ORDER.index(module)])
    assert imported(V1 / f"{module}.py") - lower == set()


@pytest.mark.parametrize("module", V1_ORDER)
def test_a_module_of_1_0_shares_types_and_errors_alone_with_0_x(module: str) -> None:
    assert imported(V1 / f"{module}.py", level=2) <= {"_types", "errors"}


def test_the_state_is_data() -> None:
    assert imported(SESSION / "_state.py") == OF_THE_STATE
