"""What both commands share, of the core and of Python: run a sample, report, exit status.

Results stay in the folder of the build. A second run does again what changed: mutants that were
killed stay so while the file of that test is the same.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutation.plugin import PLAN, RESULTS
from tests.mutation.sites import Build, Site
from tests.paths import REPO
from tests.support.core_build import BuildError, environment_of


@dataclass(frozen=True)
class Suite:
    """What is mutated, and what judges it.

    folder_of: the folder of tests/ that runs first for a site. seconds: of the processor, after
    which a test hangs that took no time without a mutant. limit: seconds of tests for a mutant
    that none of them kills. plan: what the plugin needs besides. unchanged: which of those that
    survive the tests are none. second: what judges the others: number and name of what kills it.
    """

    build: Callable[[int, int], Build]
    tests: list[str]
    folder_of: Callable[[Site], str]
    equivalent: Path
    least: float
    seconds: int
    limit: float
    plan: Callable[[Build], Mapping[str, Any]] = lambda built: {}
    environment: Mapping[str, str] = field(default_factory=dict)
    second: Callable[[Build, list[int]], Iterable[tuple[int, str]]] = lambda built, alive: ()
    unchanged: Callable[[Build, list[int]], Iterable[int]] = lambda built, alive: ()


def run(suite: Suite, built: Build, numbers: list[int], options: argparse.Namespace) -> None:
    """All chosen mutants, in one pytest."""
    plan = {
        "count": len(built.sites),
        # Over all rooms from the start: a run that is ended early says something, too.
        "numbers": random.Random(0).sample(numbers, len(numbers)),
        "limit": options.limit,
        "seconds": suite.seconds,
        "rooms": {k: f"tests/{suite.folder_of(site)}" for k, site in enumerate(built.sites)},
        **suite.plan(built),
    }
    (built.folder / PLAN).write_text(json.dumps(plan))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.plugin"]
    command += ["-p", "no:cacheprovider", *options.tests]
    environment = {
        **environment_of(built.folder),
        "AMQPCODEC_MUTANTS": str(built.folder),
        "AMQPCODEC_HYPOTHESIS": "amqpcodec-mutants",
        **suite.environment,
    }
    process = subprocess.run(command, cwd=REPO, env=environment, stdout=subprocess.PIPE, text=True)
    if process.returncode not in (0, 5):
        raise BuildError(f"pytest ended with {process.returncode}:\n{process.stdout[-4000:]}")
    results = results_of(built)
    alive = [number for number in numbers if not results[number]["killed"]]
    with (built.folder / RESULTS).open("a") as file:
        for number in suite.unchanged(built, alive):
            print(json.dumps({**results[number], "unchanged": True}), file=file)
            alive.remove(number)
        for number, killer in suite.second(built, alive):
            print(json.dumps({**results[number], "killed": killer, "sum": ""}), file=file)


def results_of(built: Build) -> dict[int, dict[str, Any]]:
    """What the last run of each mutant found."""
    lines = (built.folder / RESULTS).read_text().splitlines()
    return {result["number"]: result for result in map(json.loads, lines)}


def arguments(equivalent: Path) -> dict[tuple[str, str, str], str]:
    """Why no test can see a mutant."""
    entries = tomllib.loads(equivalent.read_text(encoding="utf-8")).get("mutant", [])
    return {
        (entry["file"], entry["function"], entry["change"]): entry["reason"] for entry in entries
    }


def report(suite: Suite, built: Build, numbers: list[int], least: float) -> int:
    """Print what became of the mutants; the exit status."""
    results = results_of(built)
    numbers = [number for number in numbers if number in results]
    none = [number for number in numbers if results[number].get("unchanged")]
    numbers = [number for number in numbers if number not in none]
    reasons = arguments(suite.equivalent)
    sites = {number: built.sites[number] for number in numbers}
    alive = {number: site for number, site in sites.items() if not results[number]["killed"]}
    unargued = [number for number, site in alive.items() if site.key not in reasons]
    for number, site in alive.items():
        _show(number, site, results[number], reasons.get(site.key))
    print(f"\n{'room':<12}{'sampled':>9}{'killed':>9}{'survived':>10}{'argued':>9}{'no test':>9}")
    total: Counter[str] = Counter()
    for room in sorted({site.room for site in sites.values()}):
        row: Counter[str] = Counter()
        for number, site in sites.items():
            if site.room == room:
                row["sampled"] += 1
                row["killed"] += number not in alive
                row["argued"] += number in alive and site.key in reasons
                row["no test"] += not results[number]["reached"] and number in alive
        _row(room, row)
        total += row
    _row("all", total)
    if none:
        print(f"not counted, since compiled to the same code as no mutant: {len(none)}")
    share = 100 * total["killed"] / max(1, total["sampled"])
    print(f"killed: {share:.1f} %; survivors without an argument: {len(unargued)}")
    return int(share < least or bool(unargued))


def _row(name: str, row: Counter[str]) -> None:
    survived = row["sampled"] - row["killed"]
    print(
        f"{name:<12}{row['sampled']:>9}{row['killed']:>9}{survived:>10}"
        f"{row['argued']:>9}{row['no test']:>9}"
    )


def _show(number: int, site: Site, result: dict[str, int], reason: str | None) -> None:
    print(f"\n{number} {site.path}:{site.change.line} {site.change.function}")
    print(f"    {site.change.text}")
    reached, unrun = result["reached"], result["unrun"]
    survived = f"survived {reached - unrun} of the {reached} tests that reach it"
    print(f"    {reason or survived}")


def main(suite: Suite, program: str, description: str | None) -> int:
    """Build, run, report."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument(
        "--sample", type=int, default=300, metavar="N", help="mutants, of all rooms"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another: another sample")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="K", help="these mutants of the sample"
    )
    parser.add_argument("--room", nargs="+", metavar="ROOM", help="those of these rooms")
    parser.add_argument(
        "--tests", nargs="+", metavar="PATH", default=suite.tests, help="by these tests alone"
    )
    parser.add_argument(
        "--limit", type=float, default=suite.limit, metavar="SECONDS", help="of tests a mutant"
    )
    parser.add_argument("--report", action="store_true", help="of what earlier runs found alone")
    parser.add_argument(
        "--least", type=float, default=suite.least, metavar="PERCENT", help="to be killed"
    )
    parser.add_argument("--list", action="store_true", help="show the sample and run nothing")
    options = parser.parse_args()
    try:
        built = suite.build(options.sample, options.seed)
        numbers = [
            number
            for number, site in enumerate(built.sites)
            if site.room in (options.room or [site.room]) and number in (options.only or [number])
        ]
        if options.list:
            print(*(f"{number} {built.sites[number]}" for number in numbers), sep="\n")
            return 0
        if not options.report:
            run(suite, built, numbers, options)
    except BuildError as problem:
        print(problem, file=sys.stderr)
        return 2
    return report(suite, built, numbers, options.least)
