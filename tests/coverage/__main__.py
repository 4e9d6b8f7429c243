"""Lines of the core that tests reach: python -m tests.coverage [--add] [PYTEST'S ARGUMENTS]

Builds the core with gcc's counters and the lines of its sources (`.cache/coverage`), runs the tests
of the rooms, and prints a table by room and each line that no test reached and `left_out.toml` does
not name. --add: count what these tests reach to what earlier ones did. Exit status: 1 below
--least percent of the lines, those left out counted as not reached, or where a line is not named.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

from tests.coverage.table import Table
from tests.paths import REPO
from tests.support.core_build import (
    PACKAGE,
    BuildError,
    compile_tree,
    copy_tree,
    environment_of,
    room_tests,
    statements,
)

CACHE = REPO / ".cache" / "coverage"
LEFT_OUT = Path(__file__).with_name("left_out.toml")


#: Line -> how often it ran.
Counts = Counter[int]


def build() -> None:
    """Compile with counters."""
    copy_tree(CACHE, {})
    flags = {"CFLAGS": f"{sysconfig.get_config_var('CFLAGS')} --coverage", "LDFLAGS": "--coverage"}
    problem = compile_tree(CACHE, AMQPCODEC_OPTIMIZE="0", **flags)
    if problem:
        raise BuildError(problem[-4000:])


def run(arguments: list[str]) -> int:
    """The tests of the rooms, or those that the arguments name."""
    command = [sys.executable, "-m", "pytest", "-q", *(arguments or room_tests())]
    return subprocess.run(command, cwd=REPO, env=environment_of(CACHE)).returncode


def read() -> dict[str, Counts]:
    """File below the package -> line with code -> how often it ran, over all modules."""
    sources: dict[str, Counts] = defaultdict(Counter)
    for notes in sorted(CACHE.glob("build/**/*.gcno")):
        command = [os.environ.get("GCOV", "gcov"), "--json-format", "--stdout", str(notes)]
        process = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=True)
        for text in process.stdout.splitlines():
            for file in json.loads(text)["files"]:
                path = Path(file["file"])
                counts = {line["line_number"]: line["count"] for line in file["lines"]}
                if path.parent == PACKAGE and path.suffix == ".c":
                    add_module(sources, CACHE / path, counts)
                elif path.is_relative_to(PACKAGE):
                    sources[path.relative_to(PACKAGE).as_posix()].update(counts)
    return dict(sorted(sources.items()))


def add_module(sources: dict[str, Counts], c_file: Path, counts: dict[int, int]) -> None:
    """A statement runs as often as that line of C that ran most of those it became."""
    for span, name, line in statements(c_file):
        ran = [counts[number] for number in span if number in counts]
        if ran:
            sources[name][line] += max(ran)


def headers(text: list[str], line: int) -> str:
    """The lines before it that begin the blocks it is in, the innermost first."""
    out = []
    block_indent = len(text[line]) - len(text[line].lstrip())
    for line_text in reversed(text[1:line]):
        indent = len(line_text) - len(line_text.lstrip())
        if line_text.strip() and indent < block_indent:
            out.append(line_text)
            block_indent = indent
    return "\n".join(out)


def reasons(name: str, text: list[str], missed: list[int]) -> dict[int, str]:
    """Missed lines that are left out, with the reason."""
    entries = tomllib.loads(LEFT_OUT.read_text(encoding="utf-8")).get("lines", [])
    return named_lines(entries, name, text, missed)


def named_lines(
    entries: list[dict[str, str]], name: str, text: list[str], missed: list[int]
) -> dict[int, str]:
    """Missed lines of a file that an entry of a list names, with the reason."""
    reasons_by_line = {}
    for line in missed:
        for entry in entries:
            if (
                fnmatchcase(name, entry.get("file", "*"))
                and re.search(entry.get("line", ""), text[line])
                and re.search(entry.get("after", ""), text[line - 1])
                and re.search(entry.get("under", ""), headers(text, line))
            ):
                reasons_by_line[line] = entry["reason"]
                break
    return reasons_by_line


def report(least: float) -> int:
    """Print what was reached; the exit status."""
    table = Table("room", "lines")
    for name, counts in read().items():
        text = ["", *(REPO / PACKAGE / name).read_text(encoding="utf-8").splitlines()]
        missed = sorted(line for line, count in counts.items() if not count)
        reasons_by_line = reasons(name, text, missed)
        for line in missed:
            if line not in reasons_by_line:
                print(f"{name}:{line}: {text[line].strip()}")
        table.add(name.split("/")[-2], len(counts), len(missed), len(reasons_by_line))
    table.print()
    _, without, out = table.rows["all"]
    return int(without > out or table.percent() < least)


def main() -> int:
    """Build, run, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("--add", action="store_true", help="to what earlier runs reached")
    parser.add_argument("--report", action="store_true", help="of earlier runs alone")
    parser.add_argument("--least", type=float, default=97, metavar="PERCENT", help="of all lines")
    options, arguments = parser.parse_known_args()
    if not options.report:
        if shutil.which("gcov") is None:
            print("gcov is missing: it comes with gcc", file=sys.stderr)
            return 2
        try:
            build()
        except BuildError as problem:
            print(problem, file=sys.stderr)
            return 2
        if not options.add:
            for counts in CACHE.glob("build/**/*.gcda"):
                counts.unlink()
        if run(arguments):
            return 1
    return report(options.least)


if __name__ == "__main__":
    sys.exit(main())
