"""mypy and pyright as subprocesses: which lines of a program do they find fault with?"""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import amqpcodec

PROGRAMS = Path(__file__).parent / "programs"
#: Where the package lies: src of the repository, or a site-packages.
PACKAGE = Path(amqpcodec.__file__).resolve().parents[1]
SECONDS = 300


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """What a Python module prints when it is run; its exit status says only what its text says."""
    path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return process.stdout + process.stderr


def search_path() -> dict[str, str]:
    """mypy takes no site-packages in MYPYPATH, and needs none there."""
    installed = {Path(folder).resolve() for folder in site.getsitepackages()}
    return {} if PACKAGE in installed else {"MYPYPATH": str(PACKAGE)}


@cache
def lacks(tool: str) -> str:
    """Why a tool cannot be used, or nothing. pyright fetches itself when it first runs."""
    output = run(tool, "--version", cwd=PROGRAMS)
    return "" if re.search(rf"^{tool} \d", output, re.M) else output.strip().splitlines()[-1]


def needs(tool: str) -> None:
    """Skip the test where the tool is missing."""
    if lacks(tool):
        pytest.skip(lacks(tool))


def mypy(program: str | Path, folder: Path, cache_folder: Path) -> dict[int, str]:
    """Line -> first error of mypy --strict in a program of PROGRAMS, or in one with a path."""
    shutil.copy(PROGRAMS / program, folder)
    program = Path(program).name
    text = run(
        *("mypy", "--strict", "--config-file=", "--python-version=3.11"),
        # As with an installed package, only the program itself is judged.
        *("--follow-imports=silent", "--no-pretty", f"--cache-dir={cache_folder}", program),
        cwd=folder,
        env=search_path(),
    )
    assert re.search(r"^(Found \d+ error|Success)", text, re.M), text
    errors = re.findall(rf"^{program}:(\d+): error: (.*)", text, re.M)
    return {int(line): message for line, message in reversed(errors)}


def pyright(program: str | Path, folder: Path, mode: str) -> dict[int, str]:
    """Line -> first error of pyright, as mypy(). mode: as its typeCheckingMode."""
    shutil.copy(PROGRAMS / program, folder)
    program = Path(program).name
    settings = {
        "include": [program],
        "extraPaths": [str(PACKAGE)],
        "pythonVersion": "3.11",
        "typeCheckingMode": mode,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    text = run("pyright", "--outputjson", "--pythonpath", sys.executable, cwd=folder)
    report = json.loads(text[text.index("{") :])
    assert report["summary"]["filesAnalyzed"] == 1, text
    return {
        fault["range"]["start"]["line"] + 1: fault["message"]
        for fault in reversed(report["generalDiagnostics"])
        if fault["severity"] == "error"
    }


def incomplete(folder: Path) -> list[str]:
    """Public names whose types pyright has to guess; those of all modules."""
    text = run(
        *("pyright", "--verifytypes", "amqpcodec", "--ignoreexternal", "--outputjson"),
        *("--pythonpath", sys.executable),
        cwd=folder,
    )
    public_symbols = json.loads(text[text.index("{") :])["typeCompleteness"]["symbols"]
    assert len(public_symbols) > 500, text
    return [
        symbol["name"]
        for symbol in public_symbols
        if symbol["isExported"] and (symbol["isTypeAmbiguous"] or not symbol["isTypeKnown"])
    ]
