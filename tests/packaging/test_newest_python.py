"""newest_python finds the newest CPython that can build the package, and no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts import newest_python

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="shell scripts stand in for Pythons")


def stand_in(folder: Path, name: str, says: str) -> Path:
    """A program that says what a Python would say when it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH; and pyenv has nothing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


@POSIX_ONLY
def test_the_newest_of_several(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    versions = folder / "pyenv" / "versions" / "3.13.2" / "bin"
    versions.mkdir(parents=True)
    stand_in(folder, "python3.9", "3 9 18")
    stand_in(folder, "python3.11", "3 11 7")
    stand_in(folder, "python3.15", "")  # without Python.h, or no release
    stand_in(folder, "python3.13-config", "3 99 0")
    best = stand_in(versions, "python3.13", "3 13 2")
    assert newest_python.newest() == ((3, 13, 2), best)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["newest_python"])
        assert newest_python.main() == 0
        assert capsys.readouterr().out == f"{best}\n"
        patch.setattr("sys.argv", ["newest_python", "--not", str(folder / "python3.11")])
        assert newest_python.main() == 0
        assert capsys.readouterr().out == f"{best}\n"
        patch.setattr("sys.argv", ["newest_python", "--not", str(best)])
        assert newest_python.main() == 0
        assert capsys.readouterr().out == ""


@POSIX_ONLY
def test_none_is_new_enough(folder: Path) -> None:
    stand_in(folder, "python3.9", "3 9 18")
    assert newest_python.newest() is None


def test_what_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert newest_python.version_of(tmp_path / "python3.13") is None
