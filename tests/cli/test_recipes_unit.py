"""docs/captures-cli.md: each command prints what stands below it, and each other one is one."""

from __future__ import annotations

import doctest
import re
import shlex

import pytest

from tests.cli.test_readme_commands_unit import commands
from tests.paths import REPO

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.cli.arguments import parser

PAGE = (REPO / "docs" / "captures-cli.md").read_text(encoding="utf-8")
SHOWN = [
    pair for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)
    for pair in commands(block)
]  # fmt: skip
OTHERS = re.findall(r"^(?:.*\| |.*\$\(|)(amqpcodec [^#\n\"|)]*)", "\n".join(
    re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
), re.M)  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), SHOWN, ids=[command for command, _ in SHOWN])
def test_recipe(run, monkeypatch, command, expected):
    monkeypatch.chdir(REPO)
    _, *arguments = shlex.split(command)
    result = run(*arguments)
    assert result.status == 0
    shown = "\n".join(line.rstrip() for line in result.lines) + "\n"
    assert doctest.OutputChecker().check_output(expected, shown, doctest.ELLIPSIS), result.out


@pytest.mark.parametrize("command", OTHERS)
def test_words_are_taken(command):
    """What cannot be run here is at least what the command line takes."""
    assert parser().parse_args(shlex.split(command)[1:]).name


def test_all_are_found():
    assert len(SHOWN) >= 12
    assert len(OTHERS) >= 8
