"""The commands of the README and of docs/ print what stands below them."""

from __future__ import annotations

import doctest
import re
import shlex

import pytest

from tests.paths import REPO

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

PAGES = (
    REPO / "README.md",
    REPO / "docs" / "index.md",
    *sorted((REPO / "docs/guide").glob("*.md")),
)
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(
        r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S
    )
]


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block, and the text below it."""
    blocks = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [tuple(text.split("\n", 1)) for text in blocks]


SHOWN = [pair for block in BLOCKS for pair in commands(block)]


@pytest.mark.parametrize(("command", "expected"), SHOWN, ids=[command for command, _ in SHOWN])
def test_command(run, monkeypatch, command, expected):
    """``...`` stands for anything, as in the tour."""
    monkeypatch.chdir(REPO)
    program, *arguments = shlex.split(command)
    assert program == "amqpcodec"
    result = run(*arguments)
    assert result.status == 0
    matches = doctest.OutputChecker().check_output(expected, result.out, doctest.ELLIPSIS)
    assert matches, result.out
