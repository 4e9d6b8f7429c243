"""Print the newest CPython of this machine that can build amqpcodec; nothing if there is none.

    python scripts/newest_python.py [--not PYTHON]

Looked at: pythonX.Y on PATH and pyenv's versions. It has to be a released CPython with a GIL, with
the venv module and Python.h. ``--not``: say nothing where this one has the same X.Y already.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)

#: Run by each candidate: its version, where it can be built on; nothing otherwise.
PROBE = """
import os, sys, sysconfig
import ensurepip, venv
good = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
good = good and not sysconfig.get_config_var("Py_GIL_DISABLED")
if good and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print(*sys.version_info[:3])
"""


def candidates() -> Iterator[Path]:
    """Executables that may be a Python."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += sorted(pyenv.glob("versions/*/bin"))
    for folder in folders:
        for path in sorted(folder.glob("python3.*")) if folder.is_dir() else ():
            if re.fullmatch(r"python3\.\d+", path.name):
                yield path


def version_of(python: str | Path) -> tuple[int, ...] | None:
    """(3, 13, 0), or None for what does not run or cannot be built on."""
    try:
        process = subprocess.run(
            [str(python), "-c", PROBE], capture_output=True, text=True, timeout=30, check=False
        )
    except OSError:
        return None
    words = process.stdout.split()
    return tuple(int(word) for word in words) if process.returncode == 0 and words else None


def newest() -> tuple[tuple[int, ...], Path] | None:
    """(version, executable) of the newest."""
    versions = {}
    for path in candidates():
        # A shim of pyenv's is no Python: it starts one, or says that it is not the chosen one.
        if path.resolve() not in versions and "shims" not in path.parts:
            versions[path.resolve()] = (version_of(path), path)
    good = [(version, path) for version, path in versions.values() if version and version >= OLDEST]
    return max(good, default=None)


def main() -> int:
    """Exit status 0, whether there is one or not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--not", dest="other", metavar="PYTHON")
    other = parser.parse_args().other
    result = newest()
    if result is None:
        return 0
    version, path = result
    if other is not None:
        having = version_of(other)
        if having is not None and having[:2] >= version[:2]:
            return 0
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
