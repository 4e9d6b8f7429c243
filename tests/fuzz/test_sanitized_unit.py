"""Which processes run the tests on the sanitized core, and what their statuses give."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import sanitized

Run = Callable[..., tuple[int, list[list[str]]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command with processes that end with these statuses, and lists their arguments."""
    monkeypatch.setattr(sanitized, "install", lambda: None)
    monkeypatch.setattr(sanitized, "package", lambda: tmp_path)
    monkeypatch.setattr(sanitized, "preload", lambda: "")

    def main(arguments: list[str], *statuses: int) -> tuple[int, list[list[str]]]:
        commands: list[list[str]] = []

        def end(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
            commands.append(command[5:])
            return subprocess.CompletedProcess(command, [*statuses, *[0] * 99][len(commands) - 1])

        monkeypatch.setattr(sanitized.subprocess, "run", end)
        return sanitized.main(arguments), commands

    return main


def test_each_folder_has_a_process(run: Run) -> None:
    status, commands = run(["-q"])
    assert status == 0
    assert [command[0] for command in commands] == [f"tests/{name}" for name in sanitized.FOLDERS]
    assert all(command[-1] == "-q" for command in commands)


def test_named_tests_have_one_process(run: Run) -> None:
    status, commands = run(["tests/wire", "tests/v1/test_values_unit.py"], 1)
    assert status == 1
    assert [command[-2:] for command in commands] == [
        ["tests/wire", "tests/v1/test_values_unit.py"]
    ]


def test_a_failure_is_the_status_and_later_folders_run(run: Run) -> None:
    status, commands = run([], 0, 1, 0)
    assert status == 1
    assert len(commands) == len(sanitized.FOLDERS)


@pytest.mark.parametrize(("arguments", "status"), [(["-x"], 1), (["--exitfirst"], 1), ([], 2)])
def test_an_end_that_was_asked_for_ends_all(run: Run, arguments: list[str], status: int) -> None:
    result, commands = run(arguments, 0, status)
    assert result == status
    assert len(commands) == 2


def test_only_no_test_in_any_folder_is_no_success(run: Run) -> None:
    assert run(["-k", "name"], *[5] * 3)[0] == 0
    assert run(["-k", "name"], *[5] * len(sanitized.FOLDERS))[0] == 5
