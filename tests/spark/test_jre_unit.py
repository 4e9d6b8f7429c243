"""Which Java is taken, and what is made of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import jre


@pytest.fixture
def fake(tmp_path: Path):
    """Makes a program that tells a version as Java does, and its arguments otherwise."""

    def make(folder: str, version: str, status: int = 0) -> Path:
        program = tmp_path / folder / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(
            f"#!/bin/sh\n[ \"$1\" = -version ] && {{ echo '{version}' >&2; exit {status}; }}\n"
            'for argument do echo "<$argument>"; done\n'
        )
        program.chmod(0o755)
        return program

    return make


@pytest.mark.parametrize(
    ("version_text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_401"', 8),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("something else", None),
    ],
)
def test_version(fake, version_text, version):
    assert jre.version(fake("one", version_text)) == version


def test_version_of_what_does_not_run(fake, tmp_path):
    assert jre.version(tmp_path / "missing") is None
    assert jre.version(fake("one", 'openjdk version "17"', status=1)) is None


def test_the_first_that_is_new_enough(fake, monkeypatch):
    old = fake("old", 'java version "1.8.0_401"')
    new = fake("new", 'openjdk version "17.0.1"')
    newer = fake("newer", 'openjdk version "21.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(newer.parent.parent))
    monkeypatch.setenv("PATH", str(new.parent), prepend=":")
    assert jre.find_java() == newer
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    assert jre.find_java() == new
    monkeypatch.delenv("JAVA_HOME")
    assert jre.find_java() == new


def test_no_java(fake, monkeypatch):
    old = fake("old", 'java version "1.8.0_401"')
    monkeypatch.setattr(jre, "candidates", lambda: iter([old]))
    with pytest.raises(jre.NoJava, match="17 or later"):
        jre.find_java()


def test_the_home_drops_the_module_and_nothing_else(fake, monkeypatch, tmp_path):
    java = fake("with a 'quote'", 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    home = jre.java_home(tmp_path / "home")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "$HOME", "", "--add-modules=x"]
    process = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    assert process.stdout.splitlines() == ["<-cp>", "<a b>", "<$HOME>", "<>", "<--add-modules=x>"]
    # What it makes serves as JAVA_HOME itself, and making it again changes nothing.
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert jre.java_home(tmp_path / "home") == home
    assert jre.version(home / "bin" / "java") == 17
