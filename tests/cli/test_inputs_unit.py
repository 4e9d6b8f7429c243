"""An output never takes the place of an input, whatever name it has."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import environment

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.cli.arguments import parser


def commands_with_output() -> list[str]:
    [commands] = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return [
        name
        for name, command in commands.choices.items()
        if {"files", "output"} <= {action.dest for action in command._actions}
    ]


COMMANDS = commands_with_output()


def words(command: str) -> list[str]:
    return [command, "3"] if command == "show" else [command]


def test_the_commands():
    assert {"dissect", "show", "report", "errors", "topology"} <= set(COMMANDS)


@pytest.mark.parametrize("name", ["same", "symbolic link", "hard link", "other path"])
@pytest.mark.parametrize("which", ["recording", "second recording", "key log"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_is_an_input_is_refused(run, good, command, which, name):
    if command == "report":
        pytest.importorskip("bokeh")
    if command == "sql":
        pytest.importorskip("duckdb")
    folder = good.parent
    second, keys = folder / "second.pcap", folder / "keys.log"
    shutil.copy(good, second)
    keys.write_text("# precious\n")
    victim = {"recording": good, "second recording": second, "key log": keys}[which]
    before = victim.read_bytes()
    out = folder / "out.html"
    if name == "symbolic link":
        out.symlink_to(victim)
    elif name == "hard link":
        os.link(victim, out)
    else:
        victim = victim.rename(folder / f"{victim.stem}.html")
        out = victim if name == "same" else folder / "." / ".." / folder.name / victim.name
    files = [
        good if good.exists() else victim,
        folder / "missing.pcap",  # says nothing of the others
        second if second.exists() else victim,
    ]
    key_log = keys if keys.exists() else victim
    form = [] if command == "report" else ["--format", "json"]
    query = ["SELECT 1"] if command == "sql" else []
    result = run(*words(command), *files, *query, "--keylog", key_log, "-o", out, *form)
    assert result.status == 2
    assert "is a file that this command reads" in result.err
    assert victim.read_bytes() == before
    assert out.read_bytes() == before


def test_standard_input_from_the_file(good):
    before = good.read_bytes()
    command = [sys.executable, "-m", "amqpcodec", "dissect", "-", "-o", good, "--format", "json"]
    with open(good, "rb") as file:
        ended = subprocess.run(command, stdin=file, env=environment(), capture_output=True)
    assert ended.returncode == 2
    assert b"is a file that this command reads" in ended.stderr
    assert good.read_bytes() == before


def test_a_uri_of_the_file(run, good):
    before = good.read_bytes()
    result = run("dissect", f"file://{good}", "-o", good, "--format", "json")
    assert result.status == 2
    assert good.read_bytes() == before


def test_another_output_is_written(run, good, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    assert run("dissect", good, Path(good), "-o", out).status == 0
    assert out.read_text().startswith("{")
