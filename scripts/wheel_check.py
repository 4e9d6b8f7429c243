"""Build the sdist, a wheel out of it, and try the wheel where nothing else is installed.

    python scripts/wheel_check.py [--python PYTHON] [--keep FOLDER]

What users install is tried, not what lies in src: first alone with wheel_smoke.py, then by mypy and
pyright, then with the extras and the README's tour. All of it happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from setup_requirements import requirements

ROOT = Path(__file__).resolve().parent.parent
#: What the tour needs beside the wheel: extras, and dependency groups.
EXTRAS, GROUPS = "arrow,cli,spec", ["test", "clients"]
#: What users check types with, and a program that needs the stubs of 0-8 and 0-9.
TYPE_CHECKERS, PROGRAM = ("mypy", "pyright"), "tests/typing/programs/older_versions.py"
#: As pyproject.toml has it for the wheels that are published: no debug symbols.
STRIPPED = {"CFLAGS": "-g0", "LDFLAGS": "-Wl,--strip-debug"} if sys.platform == "linux" else {}


class Differs(Exception):
    """What should be the same is not."""


def run(*command: str | Path, cwd: Path, quiet: bool = False) -> None:
    """Say what is run and run it; a failure ends all. quiet: show its output only then."""
    words = [str(word) for word in command]
    print("$", *(Path(words[0]).name, *words[1:]), flush=True)
    output = subprocess.PIPE if quiet else None
    process = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **STRIPPED},
        stdout=output,
        stderr=output and subprocess.STDOUT,
    )
    if process.returncode:
        sys.stdout.buffer.write(process.stdout or b"")
        sys.stdout.flush()
        process.check_returncode()


def environment(python: str, folder: Path) -> Path:
    """A new virtual environment; its Python."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def only(folder: Path, pattern: str) -> Path:
    """The one file that fits."""
    (path,) = folder.glob(pattern)
    return path


def check(python: str, folder: Path) -> None:
    """All steps, in an empty folder."""
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    builder = environment(python, folder / "builder")
    run(builder, *pip, "build", cwd=folder)
    build = (builder, "-m", "build", "--outdir", folder)
    for again in (folder, folder / "again"):
        run(builder, ROOT / "scripts" / "sdist.py", "--outdir", again, cwd=folder, quiet=True)
    sdist = only(folder, "*.tar.gz")
    if sdist.read_bytes() != only(folder / "again", "*.tar.gz").read_bytes():
        raise Differs("two source archives of one commit differ")
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # 3.11.4 and later
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder / "source")
    # The tour is run here: what is not in the archive cannot help it.
    source = only(folder / "source", "amqpcodec-*")
    run(*build, "--wheel", source, cwd=folder, quiet=True)
    wheel = only(folder, "*.whl")
    run(sys.executable, ROOT / "scripts" / "dist_check.py", sdist, wheel, cwd=folder)
    bare = environment(python, folder / "bare")
    run(bare, *pip, wheel, cwd=folder)
    run(bare, source / "scripts" / "wheel_smoke.py", cwd=folder)
    # What a user's type checkers see: also the stubs that the build has written.
    run(bare, *pip, *TYPE_CHECKERS, cwd=folder)
    program = shutil.copy(source / PROGRAM, folder)
    run(bare, program, cwd=folder)
    run(bare, "-m", "mypy", "--strict", "--config-file=", program, cwd=folder)
    run(bare, "-m", "pyright", "--pythonpath", bare, program, cwd=folder)
    run(bare, *pip, f"{wheel}[{EXTRAS}]", *requirements(GROUPS), cwd=folder)
    run(bare, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/readme", cwd=source)


def main() -> int:
    """Check, and say which step failed if one did."""
    parser = argparse.ArgumentParser(description="Build a wheel as users get it, and try it.")
    parser.add_argument("--python", default=sys.executable, help="the Python to build and try with")
    parser.add_argument("--keep", type=Path, help="copy the sdist and the wheel into this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="amqpcodec-wheel-") as name:
        folder = Path(name)
        try:
            check(options.python, folder)
        except subprocess.CalledProcessError as failed:
            print(f"wheel_check: exit status {failed.returncode}", file=sys.stderr)
            return 1
        except Differs as differs:
            print(f"wheel_check: {differs}", file=sys.stderr)
            return 1
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in (only(folder, "*.tar.gz"), only(folder, "*.whl")):
                print(shutil.copy(path, options.keep))
    return 0


if __name__ == "__main__":
    sys.exit(main())
