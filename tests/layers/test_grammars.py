"""The grammars of contents and deliveries: docs/design.md has the tables that the core runs by."""

from __future__ import annotations

import re

import pytest

from tests.paths import REPO

CORE = REPO / "src" / "amqpcodec" / "_core"
PAGE = (REPO / "docs" / "design.md").read_text(encoding="utf-8").split("## The grammars")[1]
PAGE = PAGE.split("\n## ")[0]
#: Where a function or method begins.
FUNCTION = re.compile(r"^(?= {0,4}(?:cdef|def) [^=(\n]*\()", re.M)
GRAMMARS = {"CONTENT": "protocol/content.h", "DELIVERY": "v1/delivery.h"}


def enumeration(source: str, name: str, prefix: str) -> list[str]:
    (body,) = re.findall(r"typedef enum \{([^}]*)\} " + name + ";", source)
    return re.findall(rf"^    {prefix}_(\w+)", body, re.M)


@pytest.mark.parametrize(("prefix", "path"), GRAMMARS.items())
def test_the_page_has_the_table(prefix: str, path: str) -> None:
    source = (CORE / path).read_text(encoding="utf-8")
    states = enumeration(source, f"{prefix.title()}State", prefix)
    outcomes = enumeration(source, f"{prefix.title()}Outcome", prefix)
    grammar = source.split(f"#define {prefix}_GRAMMAR(EVENT)")[1].split("\n\n")[0]
    rows = {
        event: re.findall(r"\((\w+), (\w+)\)", cells)
        for event, cells in re.findall(r"EVENT\((\w+), (.*)\)", grammar)
    }
    assert all(len(cells) == len(states) for cells in rows.values())
    assert {state for cells in rows.values() for state, _ in cells} == set(states)
    assert {outcome for cells in rows.values() for _, outcome in cells} == set(outcomes)

    (table,) = re.findall(rf"`{path}`.*?\n\n(\| event .*?)\n\n", PAGE, re.S)
    head, _, *lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert head == ["event", *(f"in `{state}`" for state in states)]
    assert {line[0].strip("`"): line[1:] for line in lines} == {
        event: [f"`{state}`, {outcome}" for state, outcome in cells]
        for event, cells in rows.items()
    }


@pytest.mark.parametrize("prefix", GRAMMARS)
def test_the_page_names_the_users(prefix: str) -> None:
    """Each function that runs a grammar, and no other."""
    step = re.compile(rf"\b{prefix.lower()}_(?:step|frame)\(")
    users = {
        (re.findall(r"(\w+)\(", part)[0], path.relative_to(CORE).as_posix())
        for path in sorted(CORE.rglob("*.pxi"))
        for part in FUNCTION.split(path.read_text(encoding="utf-8"))
        if step.search(part)
    }
    assert len(users) > 4
    table = PAGE.split(f"| who runs {prefix} |")[1].split("\n\n")[0]
    listed = re.findall(r"`(\w+)` \(`([\w/]+\.pxi)`\)", table)
    assert sorted(users) == sorted(listed)
