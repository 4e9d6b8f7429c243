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
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from re import search

from tests.paths import REPO
from tests.support.core_build import (
    PACKAGE,
    BuildError,
    compile_tree,
    copy_tree,
    environment_of,
    room_tests,
)

CACHE = REPO / ".cache" / "coverage"
LEFT_OUT = Path(__file__).with_name("left_out.toml")


@dataclass
class Source:
    """Lines of a file that have code, and how often they ran; the functions that they are in."""

    counts: dict[int, int] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)

    @property
    def missed(self) -> list[int]:
        """Lines that nothing ran."""
        return sorted(line for line, count in self.counts.items() if not count)


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


def read() -> dict[str, Source]:
    """What gcov says of each source below the package, over all modules."""
    sources: dict[str, Source] = defaultdict(Source)
    for notes in sorted(CACHE.glob("build/**/*.gcno")):
        command = [os.environ.get("GCOV", "gcov"), "--json-format", "--stdout", str(notes)]
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=True)
        for text in done.stdout.splitlines():
            for each in json.loads(text)["files"]:
                name = each["file"].removeprefix(f"{PACKAGE.as_posix()}/")
                if name.startswith(("_core/", "_gen/")):
                    _add(sources[name], each)
    return dict(sorted(sources.items()))


def _add(source: Source, each: dict[str, list[dict[str, object]]]) -> None:
    for line in each["lines"]:
        number, count = line["line_number"], line["count"]
        assert isinstance(number, int)
        assert isinstance(count, int)
        source.counts[number] = source.counts.get(number, 0) + count
        source.functions[number] = str(line.get("function_name", ""))


def reasons(name: str, source: Source) -> dict[int, str]:
    """Missed lines that are left out, with the reason."""
    listed = tomllib.loads(LEFT_OUT.read_text(encoding="utf-8")).get("lines", [])
    text = ["", *(REPO / PACKAGE / name).read_text(encoding="utf-8").splitlines()]
    found = {}
    for line in source.missed:
        before = " ".join(each.strip() for each in text[max(1, line - 1) : line])
        for entry in listed:
            if (
                fnmatchcase(name, entry["file"])
                and search(rf"\d{entry.get('function', '')}$", source.functions[line])
                and search(entry.get("after", ""), before)
                and search(entry.get("line", ""), text[line])
            ):
                found[line] = entry["reason"]
                break
    return found


def report(least: float) -> int:
    """Print what was reached; the exit status."""
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name, source in read().items():
        named = reasons(name, source)
        text = ["", *(REPO / PACKAGE / name).read_text(encoding="utf-8").splitlines()]
        for line in source.missed:
            if line not in named:
                print(f"{name}:{line}: {text[line].strip()}")
        room = name.split("/")[-2]
        for row in (rooms[room], rooms["all"]):
            row[0] += len(source.counts)
            row[1] += len(source.missed)
            row[2] += len(named)
    print(f"\n{'room':<12}{'lines':>9}{'missed':>9}{'left out':>10}{'reached':>10}")
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        lines, missed, named = rooms[room]
        share = 100 * (lines - missed) / lines
        print(f"{room:<12}{lines:>9}{missed:>9}{named:>10}{share:>9.1f}%")
    lines, missed, named = rooms["all"]
    return int(missed > named or 100 * (lines - missed) < least * lines)


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
