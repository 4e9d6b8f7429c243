"""Every limit of captures as an option of the commands: at what is enough, and at too few."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from amqpcodec.capture._limits import Limits
from amqpcodec.cli.arguments import LIMITS
from tests.support.limit_cases import CASES, EACH, only_a_multiple

__all__ = ["only_a_multiple"]


@EACH
@pytest.mark.parametrize("command", ["dissect", "stats"])
def test_commands(run, tmp_path: Path, name: str, command: str) -> None:
    octets, enough, too_few, level = CASES[name]
    path = tmp_path / "x.pcap"
    path.write_bytes(octets)
    option = f"--{name.replace('_', '-')}"
    form = ["--format", "json", *(["--level", level] if command == "dissect" else [])]
    unlimited = run(command, path, *form, option, enough)
    assert unlimited.lines
    less = run(command, path, *form, option, too_few)
    if command == "stats" and level != "frame":
        assert less == unlimited  # frames are counted alone
        return
    assert less.out != unlimited.out
    if command == "dissect":
        assert (unlimited.status, less.status) in {(0, 1), (0, 0)}


def test_they_are_the_limits_of_captures() -> None:
    assert [name.replace("-", "_") for name in LIMITS] == list(CASES)


@pytest.mark.parametrize("command", ["dissect", "stats", "topology", "show", "report", "replay"])
def test_their_help_says_the_defaults(run, command: str) -> None:
    help_text = " ".join(run(command, "--help").out.split())
    for name in LIMITS:
        default = getattr(Limits(), name.replace("-", "_"))
        [entry] = re.findall(rf"--{name} N (.*?; default: [0-9]+)(?= --| [a-z])", help_text)
        assert entry.endswith(f"; default: {default}")


@EACH
def test_out_of_range(run, good: Path, name: str) -> None:
    option = f"--{name.replace('_', '-')}"
    for command in ("dissect", "stats", "connections"):
        assert run(command, good, option, -1).status == 2
    if not name.startswith("max_"):
        result = run("dissect", good, option, 1 << 40)
        assert result.status == 2
        assert f"dissect: error: argument {option}: the value is from " in result.err
        assert name not in result.err  # as the user typed it
