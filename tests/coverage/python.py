"""Lines and branches of the package's Python that tests reach: python -m tests.coverage.python

record [--add] [PYTEST'S ARGUMENTS]: run tests under coverage.py, subprocesses and Spark's workers
included; --add counts what they reach in addition to what earlier runs reached. report: print a
table by folder and each line that no test reached and `python_left_out.toml` does not name; exit
status 1 below --least percent of lines and branches together, those left out not counted.
`make test COVERAGE=1` and `make broker-test COVERAGE=1` record, the second one in addition;
`make python-coverage` records the first and reports.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.coverage.__main__ import named_lines
from tests.coverage.table import Table
from tests.paths import REPO

CACHE = REPO / ".cache" / "python-coverage"
LEFT_OUT = Path(__file__).with_name("python_left_out.toml")
PACKAGE = Path("src", "amqpcodec")

CONFIGURATION = f"""\
[run]
branch = True
source = {REPO / PACKAGE}
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


def record(arguments: list[str]) -> int:
    """Run tests under coverage; pytest's exit status."""
    CACHE.mkdir(parents=True, exist_ok=True)
    settings = CACHE / "settings.ini"
    settings.write_text(CONFIGURATION, encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}"]
    command += ["-m", "pytest", "-p", "tests.coverage.untraced", *arguments]
    return subprocess.run(command, cwd=REPO).returncode


def read() -> dict[str, Any]:
    """What coverage.py says of each file below the package."""
    settings = f"--rcfile={CACHE / 'settings.ini'}"
    coverage = [sys.executable, "-m", "coverage"]
    for path in CACHE.glob("data.*"):
        if not path.stat().st_size:  # of a process that was killed
            path.unlink()
    if any(CACHE.glob("data.*")):
        subprocess.run([*coverage, "combine", settings, "--append", "-q"], cwd=REPO, check=True)
    path = CACHE / "report.json"
    subprocess.run([*coverage, "json", settings, "-q", "-o", str(path)], cwd=REPO, check=True)
    files = json.loads(path.read_text(encoding="utf-8"))["files"]
    return {
        Path(name).relative_to(PACKAGE).as_posix(): file_report
        for name, file_report in files.items()
    }


def report(least: float) -> int:
    """Print what was reached; the exit status."""
    entries = tomllib.loads(LEFT_OUT.read_text(encoding="utf-8")).get("lines", [])
    table = Table("folder", "lines and branches")
    for name, file in sorted(read().items()):
        text = ["", *(REPO / PACKAGE / name).read_text(encoding="utf-8").splitlines()]
        branches = [tuple(map(abs, branch)) for branch in file["missing_branches"]]
        lines = file["missing_lines"]
        reasons_by_line = named_lines(
            entries, name, text, sorted({*lines, *(a for a, _ in branches)})
        )
        missed = [line for line in lines if line not in reasons_by_line]
        partial = [
            (a, b) for a, b in branches if a not in reasons_by_line and b not in reasons_by_line
        ]
        for line in missed:
            print(f"{name}:{line}: {text[line].strip()}")
        for line, target in partial:
            if line not in missed:
                print(f"{name}:{line}: {text[line].strip()}  (never goes on at line {target})")
        summary = file["summary"]
        total = summary["num_statements"] + summary["num_branches"]
        left_out = len(lines) - len(missed) + len(branches) - len(partial)
        folder = name.rpartition("/")[0].partition("/")[0] or "(top)"
        table.add(folder, total - left_out, len(missed) + len(partial), left_out)
    table.print()
    return int(table.percent() < least)


def main() -> int:
    """Record or report."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage.python", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="run tests")
    recording.add_argument("--add", action="store_true", help="to what earlier runs reached")
    reporting = commands.add_parser("report", help="what was not reached")
    reporting.add_argument("--least", type=float, default=95, metavar="PERCENT", help="of all")
    options, arguments = parser.parse_known_args()
    if options.command == "report":
        if not any(CACHE.glob("data*")):
            print("nothing was recorded: run make test COVERAGE=1", file=sys.stderr)
            return 2
        return report(options.least)
    if not options.add:
        shutil.rmtree(CACHE, ignore_errors=True)
    return record(arguments)


if __name__ == "__main__":
    sys.exit(main())
