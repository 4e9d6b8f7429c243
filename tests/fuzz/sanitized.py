"""The tests of the core on a sanitized build: python -m tests.fuzz.sanitized [PYTEST ARGUMENT...]

AddressSanitizer and UndefinedBehaviorSanitizer end the run at the first wrong access, with a stack.
Every Python object gets an allocation of its own, so that reading one byte past its end is seen.

Each folder has a process of its own: what pytest keeps of thousands of tests takes gigabytes where
the sanitizer adds to every object, and makes each later test slower.

Tests of memory (`_memory`) run only if they use guard pages: what the others measure is the
allocator of a plain build, and the sanitizer keeps freed memory back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.instrumented import ROOT, MissingError, build, compiler, environment, install
from tests.support.core_build import ROOMS

#: Folders of tests whose subject is the compiled core or its Python face.
FOLDERS = (*ROOMS, "session", "spec", "traces")
GUARD_PAGES = {
    ROOT / "tests/columns/test_guarded_memory.py",
    ROOT / "tests/protocol/test_prefixes_memory.py",
}


def package() -> Path:
    """A folder with the whole package in it: the sanitized core, and a copy of the Python face."""
    folder = build(coverage=False)
    shutil.copytree(
        ROOT / "src" / "amqpcodec",
        folder,
        ignore=shutil.ignore_patterns("*.so", "*.c", "*.pyx", "_core", "__pycache__"),
        dirs_exist_ok=True,
    )
    return folder.parent


def preload() -> str:
    """The sanitizers' code, and what catches C++'s exceptions, of pyarrow for one."""
    names = (f"libclang_rt.asan-{os.uname().machine}.so", "libstdc++.so.6")
    library_paths = []
    for name in names:
        command = [compiler(), f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if path == name:
            raise MissingError(f"clang has no {name}: install your system's package of it")
        library_paths.append(path)
    return ":".join(library_paths)


def runs(arguments: list[str]) -> list[list[str]]:
    """pytest's arguments, for each process: all folders unless an argument names tests."""
    live = [f"--ignore=tests/{folder}/live" for folder in FOLDERS]
    memory = [
        f"--ignore={path.relative_to(ROOT)}"
        for path in (ROOT / "tests").glob("*/test_*_memory.py")
        if path not in GUARD_PAGES
    ]
    options = [*live, *memory, *arguments]
    if any(argument.startswith("tests/") for argument in arguments):
        return [options]
    return [[f"tests/{folder}", *options] for folder in FOLDERS]


def main(arguments: list[str]) -> int:
    """The first of pytest's exit statuses that is no success, or 2 for missing tools.

    A folder in which the arguments select no test is a success where another one has some.
    """
    try:
        install()
        folder = package()
        variables = environment(preload())
    except MissingError as missing:
        print(missing, file=sys.stderr)
        return 2
    variables["PYTHONPATH"] = os.pathsep.join((str(folder), str(ROOT)))
    statuses: list[int] = []
    for run_arguments in runs(arguments):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *run_arguments]
        statuses.append(subprocess.run(command, cwd=ROOT, env=variables).returncode)
        if statuses[-1] == pytest.ExitCode.INTERRUPTED:
            break
        if statuses[-1] == pytest.ExitCode.TESTS_FAILED and {"-x", "--exitfirst"} & {*arguments}:
            break
    failures = [
        status
        for status in statuses
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    ]
    return failures[0] if failures else min(statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
