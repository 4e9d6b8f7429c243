"""The tests of the core on a sanitized build: python -m tests.fuzz.sanitized [PYTEST ARGUMENT...]

AddressSanitizer and UndefinedBehaviorSanitizer end the run at the first wrong access, with a stack.
Every Python object gets an allocation of its own, so that reading one byte past its end is seen.

Tests of memory (`_memory`) are left out, but for those with guard pages: what they measure is the
allocator of a plain build, and the sanitizer keeps freed memory back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def tests(arguments: list[str]) -> list[str]:
    """What pytest is to run: all of it unless an argument names a folder or file of tests."""
    has_paths = any(argument.startswith("tests/") for argument in arguments)
    folders = [] if has_paths else [f"tests/{folder}" for folder in FOLDERS]
    live = [f"--ignore=tests/{folder}/live" for folder in FOLDERS]
    memory = [
        f"--ignore={path.relative_to(ROOT)}"
        for path in (ROOT / "tests").glob("*/test_*_memory.py")
        if path not in GUARD_PAGES
    ]
    return [*folders, *live, *memory, *arguments]


def main(arguments: list[str]) -> int:
    """pytest's exit status, or 2 for missing tools."""
    try:
        install()
        folder = package()
        variables = environment(preload())
    except MissingError as missing:
        print(missing, file=sys.stderr)
        return 2
    variables["PYTHONPATH"] = os.pathsep.join((str(folder), str(ROOT)))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests(arguments)]
    return subprocess.run(command, cwd=ROOT, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
