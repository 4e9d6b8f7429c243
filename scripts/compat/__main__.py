"""`python -m scripts.compat`: the clients' own suites, with and without the drop-ins.

Fetches the clients (pinned) and their sdists from the package registry into .cache/compat, starts
private brokers, runs every suite twice and compares what came of every single test. `--all` does so
for each version of tests/dropins/versions.toml, `--ends` for the oldest and the newest of each
client; both for the oldest and the newest of what stands on these. `pika==1.3.2` is one version;
`--record` writes the counts into tests/dropins/versions.json and the guide. A test whose
outcome differs is run again alone, up to three times each way; only a difference that stays counts.
For each suite it prints both counts and how often the compiled codec was entered, and how many of
these calls it left to the client's own code.

Exit status: 0 the outcomes are the same and the codec was called; 1 they differ, or it was not
called, or a run was not whole; 2 wrong usage; 4 something could not be set up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.broker import BrokerError
from scripts.compat import environment, run
from scripts.compat.run import Run
from scripts.compat.suites import STACK_SUITES, SUITES, Suite
from tests.dropins import versions

RERUNS = 3
MISSING = "not run"


@dataclass
class Verdict:
    """Both runs of a suite, and where they differ."""

    suite: Suite
    without: Run
    with_: Run | None = None
    different: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Why this suite does not hold; empty if it does."""
        texts = [f"without: {self.without.trouble}"] if self.without.trouble else []
        if not self.without.outcomes:
            texts.append("no test was run")
        if self.with_ is None:
            return texts
        if self.with_.trouble:
            texts.append(f"with: {self.with_.trouble}")
        if self.with_.calls <= self.with_.fallbacks:
            texts.append("the compiled codec never did the work")
        return texts + self.different


def say(text: str) -> None:
    """One line of progress."""
    print(f"compat: {text}", file=sys.stderr, flush=True)


def differing(without: Run, with_: Run) -> list[str]:
    """The tests that did not do the same, in both runs' order."""
    names = dict.fromkeys([*without.outcomes, *with_.outcomes])
    return [name for name in names if without.outcomes.get(name) != with_.outcomes.get(name)]


def settle(verdict: Verdict, variables: dict[str, str]) -> None:
    """Run again, alone, what differed: a difference counts when it shows each time."""
    suite, without, with_ = verdict.suite, verdict.without, verdict.with_
    assert with_ is not None
    for name in differing(without, with_):
        before = without.outcomes.get(name, MISSING), with_.outcomes.get(name, MISSING)
        same = False
        if MISSING not in before:
            for _ in range(RERUNS):
                first = run.once(suite, (), variables, [name]).outcomes
                second = run.once(suite, suite.dropins, variables, [name]).outcomes
                if name in first and first.get(name) == second.get(name):
                    same = True
                    # What it gave twice counts, not what a busy machine made of it.
                    without.outcomes[name], with_.outcomes[name] = first[name], second[name]
                    break
        text = f"{name}: without {before[0]}, with {before[1]}"
        (verdict.flaky if same else verdict.different).append(text)


def both(suite: Suite, only_without: bool, logs: Path) -> Verdict:
    """Run a suite without and with its drop-ins, against one broker each."""
    with run.broker(suite.broker) as variables:
        say(f"{suite.label}: without")
        verdict = Verdict(suite, run.once(suite, (), variables))
        write(logs, suite, "without", verdict.without)
    if only_without:
        return verdict
    with run.broker(suite.broker) as variables:
        say(f"{suite.label}: {verdict.without.counts}; with {', '.join(suite.dropins)}")
        verdict.with_ = run.once(suite, suite.dropins, variables)
        write(logs, suite, "with", verdict.with_)
        settle(verdict, variables)
    return verdict


def write(logs: Path, suite: Suite, which: str, run: Run) -> None:
    """Keep the output and the outcomes of a run, to look into."""
    logs.mkdir(parents=True, exist_ok=True)
    base = f"{suite.label.replace(' ', '-')}-{which}"
    (logs / f"{base}.txt").write_text(run.output, encoding="utf-8")
    outcomes = json.dumps(run.outcomes, indent=1)
    (logs / f"{base}.json").write_text(outcomes, encoding="utf-8")


def table(verdicts: Sequence[Verdict]) -> None:
    """The counts, as text that any terminal and any pipe takes."""
    head = ("suite", "without", "with", "calls (left to the client)", "seconds", "")
    rows = [head]
    for verdict in verdicts:
        other = verdict.with_
        seconds = f"{verdict.without.seconds:.0f}"
        if other is not None:
            seconds += f" / {other.seconds:.0f}"
        rows.append(
            (
                verdict.suite.label,
                verdict.without.counts,
                other.counts if other else "",
                f"{other.calls:,} ({other.fallbacks:,})" if other else "",
                seconds,
                "DIFFERENT" if verdict.problems else "same" if other else "",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
    for verdict in verdicts:
        label = verdict.suite.label
        without = verdict.without.outcomes
        for test in (name for name, outcome in without.items() if outcome in ("failed", "error")):
            print(f"{label}: the client's own code fails here: {test}")
        if verdict.suite.expected and verdict.suite.expected != verdict.without.counts:
            print(f"{label}: usual without a drop-in: {verdict.suite.expected}")
        for text in verdict.problems:
            print(f"{label}: {text}")
        for text in verdict.flaky:
            print(f"{label}: the same when run again: {text}")


def below(client: str, version: str) -> tuple[str, ...]:
    """What a version of a client stood on."""
    stack = versions.STACKS[client]
    if version in stack:
        return stack[version]
    names = (pin.partition("==")[0] for pin in next(iter(stack.values())))
    return tuple(f"{name}=={environment.CLIENTS[name]}" for name in names)


def record(verdicts: Sequence[Verdict]) -> None:
    """Write the counts of versions of the matrix where the guide's table is made from."""
    results = versions.read_results()
    for verdict in verdicts:
        suite, other = verdict.suite, verdict.with_
        version = suite.version or environment.CLIENTS[suite.client]
        if other is None or suite.client not in (*versions.MATRIX, *versions.STACKS):
            continue
        entry = results.setdefault(suite.client, {}).setdefault(version, {})
        if suite.client in versions.STACKS:
            entry["on"] = ", ".join(one.replace("==", " ") for one in below(suite.client, version))
        suites = entry.setdefault("suites", {})
        suites[suite.name] = {"without": verdict.without.counts, "with": other.counts}
    versions.write_results(results)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.compat",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [suite.name for suite in SUITES]
    parser.add_argument(
        "suites",
        nargs="*",
        help=f"of: {', '.join(names)} (default: all), or CLIENT==VERSION",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="of all versions of the matrix")
    which.add_argument("--ends", action="store_true", help="of the oldest and the newest of each")
    parser.add_argument("--record", action="store_true", help="write the guide's table of versions")
    parser.add_argument("--without", action="store_true", help="only the runs without a drop-in")
    parser.add_argument("--setup", action="store_true", help="make the environment and stop")
    parser.add_argument(
        "--logs", type=Path, default=environment.HOME / "logs", help="where outputs are kept"
    )
    options = parser.parse_args()
    pairs = [*versions.all_versions(), *((one.client, one.version) for one in STACK_SUITES)]
    known = {*names, *(f"{client}=={version}" for client, version in pairs)}
    unknown = set(options.suites) - known
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    return options


def choose(names: Sequence[str], every: bool, ends: bool) -> list[Suite]:
    """The suites to run: of the pinned versions, of all of the matrix, or of the ends of each."""
    by_name = [suite for suite in SUITES if not names or suite.name in names]
    pairs = versions.all_versions() if every else versions.ends() if ends else []
    suites = [
        suite.of_version(version)
        for client, version in pairs
        for suite in by_name
        if suite.client == client
    ]
    if pairs:
        suites += [one for one in by_name if one.client in versions.STACKS]
        suites += [one for one in STACK_SUITES if not names or one.name in names]
    else:
        suites = by_name
    suites += [one for one in STACK_SUITES if f"{one.client}=={one.version}" in names]
    for client, version in versions.all_versions():
        if f"{client}=={version}" in names:
            suites += [one.of_version(version) for one in SUITES if one.client == client]
    return suites


def main() -> int:
    """Run what was asked for; the exit status."""
    options = arguments()
    chosen = choose(options.suites, options.all, options.ends)
    begin = time.monotonic()
    try:
        say(f"the clients are in {environment.python().parent.parent}")
        for suite in chosen:
            suite.folder()
        if options.setup:
            return 0
        verdicts = [both(suite, options.without, options.logs) for suite in chosen]
    except (environment.SetupError, BrokerError, subprocess.SubprocessError) as error:
        say(str(error))
        return 4
    table(verdicts)
    if options.record:
        record(verdicts)
    say(f"took {time.monotonic() - begin:.0f} s; outputs in {options.logs}")
    return 1 if any(verdict.problems for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
