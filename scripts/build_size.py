#!/usr/bin/env python3
"""How long the extension takes to build from nothing, and how large it is without its symbols.

    build_size.py [--check]     --check: exit status 1 where it is over the limits

The time judged is that of the processor, which neighbours on the machine do not lengthen; a build
keeps one core busy. It is built in a copy of the sources; the one in place stays as it is.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
MOST_SECONDS = 90.0
MOST_OCTETS = 2_000_000
SOURCES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "src")
BUILT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.c", "*.egg-info")


def build(folder: Path) -> tuple[float, float, Path]:
    """Seconds by the clock and of the processor, and the extension."""
    for name in SOURCES:
        source = REPO / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=BUILT)
        else:
            shutil.copy(source, folder / name)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", "lib"],
        cwd=folder,
        check=True,
    )
    spent = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    (found,) = (folder / "lib" / "amqpcodec").glob("_codec.*")
    return spent, used.ru_utime + used.ru_stime, found


def stripped(extension: Path) -> int:
    """Octets without symbols and debug information."""
    small = extension.with_suffix(".stripped")
    shutil.copy(extension, small)
    subprocess.run(["strip", str(small)], check=True)
    return small.stat().st_size


def main() -> int:
    """Build, and say what came of it."""
    parser = argparse.ArgumentParser(description="Build time and size of the extension.")
    parser.add_argument("--check", action="store_true", help="status 1 where over the limits")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory(prefix="amqpcodec-build-") as name:
        clock, seconds, extension = build(Path(name))
        octets = stripped(extension) if shutil.which("strip") else extension.stat().st_size
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(
        f"built in {seconds:.0f} s of the processor (at most {MOST_SECONDS:.0f}), {clock:.0f} s by "
        f"the clock ({cores} cores, load {load:.1f}); "
        f"{octets / 1e6:.2f} MB stripped (at most {MOST_OCTETS / 1e6:.0f})"
    )
    return int(check and (seconds > MOST_SECONDS or octets > MOST_OCTETS))


if __name__ == "__main__":
    sys.exit(main())
