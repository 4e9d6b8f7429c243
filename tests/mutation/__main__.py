"""Mutation of the core: python -m tests.mutation [--sample N] [--seed N]

Builds the core with a sample of small changes in it (`.cache/mutants`), runs for each the tests
that reach it, and prints each mutant that no test kills, with the argument that no test can where
`equivalent.toml` has one, and a table by room. A second run does again what changed: mutants that
were killed stay so while the file of that test is the same. Exit status: 1 where fewer than
--least percent were killed or a survivor has no argument.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from tests.mutation.build import Build, build
from tests.mutation.plugin import PLAN, RESULTS
from tests.mutation.sites import Site
from tests.paths import REPO
from tests.support.core_build import ROOMS, BuildError, environment_of, room_tests

EQUIVALENT = Path(__file__).with_name("equivalent.toml")


def run(built: Build, numbers: list[int], limit: float) -> None:
    """All chosen mutants, in one pytest."""
    plan = {
        "count": len(built.sites),
        # Over all rooms from the start: a run that is ended early says something, too.
        "numbers": random.Random(0).sample(numbers, len(numbers)),
        "limit": limit,
        "rooms": {k: f"tests/{_folder(site.room)}" for k, site in enumerate(built.sites)},
    }
    (built.folder / PLAN).write_text(json.dumps(plan))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.plugin"]
    command += ["-p", "no:cacheprovider", *room_tests()]
    environment = {
        **environment_of(built.folder),
        "AMQPCODEC_MUTANTS": str(built.folder),
        "AMQPCODEC_HYPOTHESIS": "amqpcodec-mutants",
    }
    done = subprocess.run(command, cwd=REPO, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 5):
        raise BuildError(f"pytest ended with {done.returncode}:\n{done.stdout[-4000:]}")


def _folder(room: str) -> str:
    """Where the tests of a room are."""
    return room if room in ROOMS else "protocol"


def arguments() -> dict[tuple[str, str, str], str]:
    """Why no test can see a mutant."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(each["file"], each["function"], each["change"]): each["reason"] for each in listed}


def report(built: Build, numbers: list[int], least: float) -> int:
    """Print what became of the mutants; the exit status."""
    lines = (built.folder / RESULTS).read_text().splitlines()
    results = {result["number"]: result for result in map(json.loads, lines)}
    numbers = [number for number in numbers if number in results]
    known = arguments()
    sites = {number: built.sites[number] for number in numbers}
    alive = {number: site for number, site in sites.items() if not results[number]["killed"]}
    unargued = [number for number, site in alive.items() if site.key not in known]
    for number, site in alive.items():
        _show(number, site, results[number], known.get(site.key))
    print(f"\n{'room':<12}{'sampled':>9}{'killed':>9}{'survived':>10}{'argued':>9}{'no test':>9}")
    total: Counter[str] = Counter()
    for room in sorted({site.room for site in sites.values()}):
        row: Counter[str] = Counter()
        for number, site in sites.items():
            if site.room == room:
                row["sampled"] += 1
                row["killed"] += number not in alive
                row["argued"] += number in alive and site.key in known
                row["no test"] += not results[number]["reached"] and number in alive
        _row(room, row)
        total += row
    _row("all", total)
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


def main() -> int:
    """Build, run, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "--sample", type=int, default=300, metavar="N", help="mutants, of all rooms"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another: another sample")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="K", help="these mutants of the sample"
    )
    parser.add_argument("--room", help="those of one room")
    parser.add_argument(
        "--limit", type=float, default=60, metavar="SECONDS", help="of tests a mutant"
    )
    parser.add_argument("--report", action="store_true", help="of what earlier runs found alone")
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT", help="to be killed")
    parser.add_argument("--list", action="store_true", help="show the sample and run nothing")
    options = parser.parse_args()
    try:
        built = build(options.sample, options.seed)
        numbers = [
            number
            for number, site in enumerate(built.sites)
            if (options.room in (None, site.room)) and number in (options.only or [number])
        ]
        if options.list:
            print(*(f"{number} {built.sites[number]}" for number in numbers), sep="\n")
            return 0
        if not options.report:
            run(built, numbers, options.limit)
    except BuildError as problem:
        print(problem, file=sys.stderr)
        return 2
    return report(built, numbers, options.least)


if __name__ == "__main__":
    sys.exit(main())
