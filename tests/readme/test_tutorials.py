"""The tutorials of docs/, followed in an empty folder: their files written, their commands run."""

from __future__ import annotations

import doctest
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import amqpcodec
from tests.paths import REPO

#: Where the package under test is: src, or where it was installed.
SOURCES = str(Path(amqpcodec.__file__).parents[1])
TUTORIALS = sorted((REPO / "docs" / "tutorials").glob("*.md"))
#: A fence, its language, the name of its file where it is one, and its content.
BLOCK = re.compile(r'^```(\w+)(?: title="([\w./-]+)")?\n(.*?)^```$', re.M | re.S)


def environment(folder: Path) -> dict[str, str]:
    """The commands of this Python first; the package of this repository for all of them."""
    programs = folder / "programs"
    programs.mkdir()
    for name, module in {"python": "", "amqpcodec": " -m amqpcodec"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
        (programs / name).chmod(0o755)
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "1"}


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def shown(output: str) -> str:
    """What a command printed, without blanks at the ends of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


@contextmanager
def background(command: str, work: Path, variables: dict[str, str]) -> Iterator[str]:
    """A command that ends with `&`, ended afterwards; the one line that it may print."""
    log = work / "background.log"
    with (
        log.open("w") as stream,
        subprocess.Popen(
            f"exec {command.rstrip(' &')}",
            shell=True, cwd=work, env=variables, stdout=stream, stderr=subprocess.STDOUT,
        ) as process,
    ):  # fmt: skip
        try:
            deadline = time.monotonic() + 120
            while not log.read_text() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            output = log.read_text()
            yield output
        finally:
            process.terminate()
    assert log.read_text() == output, "it prints among what the reader types"


def follow(page: Path, folder: Path) -> None:
    """What a reader does: write each file, type each command, compare what it prints.

    Blocks of `sh` set up what is there already, but for the copies of files of the repository.
    """
    (folder / "amqpcodec").symlink_to(REPO)
    work = folder / "work"
    work.mkdir()
    variables = environment(folder)
    text = page.read_text(encoding="utf-8").replace("5673", str(free_port()))
    with ExitStack() as stack:
        for language, title, content in BLOCK.findall(text):
            if title:
                (work / title).write_text(content, encoding="utf-8")
            elif language == "sh":
                for command in re.findall(r"^cp .*$", content, re.M):
                    subprocess.run(command, shell=True, cwd=work, check=True)
            elif language == "console":
                for command, expected in commands(content):
                    if command.endswith("&"):
                        output = stack.enter_context(background(command, work, variables))
                    else:
                        output = subprocess.run(
                            command, shell=True, cwd=work, env=variables, text=True, timeout=300,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                        ).stdout  # fmt: skip
                    output = shown(output)
                    matches = doctest.OutputChecker().check_output(
                        expected, output, doctest.ELLIPSIS
                    )
                    assert matches, f"{command}\n{output}"


def commands(content: str) -> list[tuple[str, str]]:
    """Each command of a block, and the text below it."""
    parts = (part.partition("\n") for part in re.split(r"^\$ ", content, flags=re.M)[1:])
    return [(command, expected) for command, _, expected in parts]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page: Path, tmp_path: Path) -> None:
    for module in ("duckdb", "pyarrow", "rich", "pika"):
        pytest.importorskip(module)
    follow(page, tmp_path)


def test_there_are_three_tutorials() -> None:
    assert [page.stem for page in TUTORIALS] == ["capture", "drop-in", "session"]
    for page in TUTORIALS:
        text = page.read_text(encoding="utf-8")
        assert text.count("```console") >= 3
        assert len(BLOCK.findall(text)) == text.count("```") // 2, "a fence of another form"
