"""docs/coming-from.md and docs/good-capture.md: each command runs on a recording."""

from __future__ import annotations

import doctest
import re
import shlex

import pytest

from tests.cli.test_readme_commands_unit import commands
from tests.paths import REPO

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

RECORDING = str(REPO / "demo" / "kombu_celery.pcap.gz")
KEYS = str(REPO / "demo" / "tls_keys.log")
PAGE = (REPO / "docs" / "coming-from.md").read_text(encoding="utf-8")
CAPTURING = (REPO / "docs" / "good-capture.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`(amqpcodec [^`]+)`", PAGE)
SHOWN = [
    pair
    for block in re.findall(r"^```console\n(.*?)^```$", CAPTURING, re.M | re.S)
    for pair in commands(block)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command(run, command):
    _, *arguments = shlex.split(command.replace("night.pcap", RECORDING).replace("keys.log", KEYS))
    result = run(*arguments)
    assert result.status == 0
    if "unacked" not in command:  # the recording has none
        assert len(result.lines) > 1


@pytest.mark.parametrize(("command", "expected"), SHOWN)
def test_what_a_good_capture_shows(run, monkeypatch, command, expected):
    monkeypatch.chdir(REPO)
    result = run(*shlex.split(command)[1:])
    assert result.status == 0
    assert doctest.OutputChecker().check_output(expected, result.out, doctest.ELLIPSIS), result.out


def test_commands_are_found():
    assert len(COMMANDS) > 25
    assert len(SHOWN) == 1
