"""Lines and branches of the package's Python that tests reach: python -m tests.coverage.python

Runs tests under coverage.py, subprocesses and Spark's workers included, prints a table by folder
and each line that no test reached and `python_left_out.toml` does not name. Paths and other options
go to pytest; without paths the folders of `FOLDERS` are run. --add counts what these tests reach in
addition to what earlier runs reached; --report prints earlier runs alone. Exit status: 1 where a
test fails, or below --least percent of lines and branches together, those left out not counted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.coverage.__main__ import named_lines
from tests.paths import REPO

CACHE = REPO / ".cache" / "python-coverage"
LEFT_OUT = Path(__file__).with_name("python_left_out.toml")
PACKAGE = Path("src", "amqpcodec")

#: Folders of tests/ that between them run the package's Python. The others test the compiled core,
#: which `make coverage` measures.
FOLDERS = (
    "capture", "cli", "columns", "dropins", "dropins_v1", "encode", "layers", "objects",
    "protocol", "readme", "session", "spark", "spec", "traces", "v1",
)  # fmt: skip

CONFIGURATION = f"""\
[run]
branch = True
source_pkgs = amqpcodec
omit = */amqpcodec/_gen/*
parallel = True
concurrency = multiprocessing, thread
patch = subprocess, _exit
data_file = {CACHE / "data"}
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    ^\\s*\\.\\.\\.$
"""


def run(paths: list[str]) -> int:
    """The tests under coverage; pytest's exit status."""
    CACHE.mkdir(parents=True, exist_ok=True)
    settings = CACHE / "settings.ini"
    settings.write_text(CONFIGURATION, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "coverage",
        "run",
        f"--rcfile={settings}",
        "-m",
        "pytest",
        "-q",
    ]
    return subprocess.run([*command, *paths], cwd=REPO).returncode


def read() -> dict[str, Any]:
    """What coverage.py says of each file below the package."""
    settings = f"--rcfile={CACHE / 'settings.ini'}"
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", settings, "--keep", "-q"], cwd=REPO, check=True)
    path = CACHE / "report.json"
    subprocess.run([*coverage, "json", settings, "-q", "-o", str(path)], cwd=REPO, check=True)
    files = json.loads(path.read_text(encoding="utf-8"))["files"]
    return {Path(name).relative_to(PACKAGE).as_posix(): found for name, found in files.items()}


def report(least: float) -> int:
    """Print what was reached; the exit status."""
    entries = tomllib.loads(LEFT_OUT.read_text(encoding="utf-8")).get("lines", [])
    folders: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name, file in sorted(read().items()):
        text = ["", *(REPO / PACKAGE / name).read_text(encoding="utf-8").splitlines()]
        branches = [tuple(map(abs, branch)) for branch in file["missing_branches"]]
        lines = file["missing_lines"]
        named = named_lines(entries, name, text, sorted({*lines, *(a for a, _ in branches)}))
        missed = [line for line in lines if line not in named]
        partial = [(a, b) for a, b in branches if a not in named and b not in named]
        for line in missed:
            print(f"{name}:{line}: {text[line].strip()}")
        for line, target in partial:
            if line not in missed:
                print(f"{name}:{line}: {text[line].strip()}  (never goes on at line {target})")
        summary = file["summary"]
        total = summary["num_statements"] + summary["num_branches"]
        left_out = len(lines) - len(missed) + len(branches) - len(partial)
        folder = name.rpartition("/")[0].partition("/")[0] or "(top)"
        for row in (folders[folder], folders["all"]):
            row[0] += total - left_out
            row[1] += len(missed) + len(partial)
            row[2] += left_out
    print(f"\n{'folder':<12}{'lines+branches':>16}{'missed':>9}{'left out':>10}{'reached':>10}")
    for folder in sorted(folders, key=lambda folder: (folder == "all", folder)):
        total, without, out = folders[folder]
        share = 100 * (total - without) / max(total, 1)
        print(f"{folder:<12}{total:>16}{without:>9}{out:>10}{share:>9.1f}%")
    total, without, _ = folders["all"]
    return int(100 * (total - without) < least * total)


def main() -> int:
    """Run, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage.python", description=__doc__)
    parser.add_argument("--add", action="store_true", help="to what earlier runs reached")
    parser.add_argument("--report", action="store_true", help="of earlier runs alone")
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT", help="of all")
    options, paths = parser.parse_known_args()
    status = 0
    if not options.report:
        if not options.add:
            shutil.rmtree(CACHE, ignore_errors=True)
        folders = [f"tests/{name}" for name in FOLDERS]
        live = [f"--ignore={path.relative_to(REPO)}" for path in (REPO / "tests").glob("*/live")]
        status = run(paths or [*folders, *live])
    return report(options.least) or status


if __name__ == "__main__":
    sys.exit(main())
