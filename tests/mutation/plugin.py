"""A pytest that runs mutants: collects the tests once, then forks for each mutant.

First each file of tests runs once, in a process of its own, to learn which sites each test reaches
and how long it takes. Then each mutant runs the tests that reach it, some of each file first, until
one fails. What is learnt stays in the folder of the build: a test that changed is run again, others
are not.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MODULES = ("_codec", "_v1", "_columns", "_encode", "_capture", "_dropins", "_dropins_v1")
#: A test that takes longer than so many times what it took without a mutant, and the plan's
#: seconds, hangs.
SLOWER = 30
#: So many tests of each file come before all others: tests of one file are much alike.
QUICKEST = 3
#: More memory than this is what no test needs.
MEMORY = 8 << 30
PLAN, LEARNT, RESULTS = "plan.json", "learnt.json", "results.jsonl"
#: Tests that depend on time, threads of others or a random state judge nothing.
NOT_REPEATABLE = ("_fuzz", "_live", "_session")


def pytest_configure(config: pytest.Config) -> None:
    """This file is the plugin's module; its state is in one object."""
    config.pluginmanager.register(Mutants(Path(os.environ["AMQPCODEC_MUTANTS"])), "mutants")


class Core:
    """The compiled modules: which mutant they run, which sites were reached."""

    def __init__(self, count: int) -> None:
        self.libraries = [
            ctypes.CDLL(str(importlib.import_module(f"amqpcodec.{name}").__file__))
            for name in MODULES
        ]
        self.reached_flags = [
            (ctypes.c_ubyte * count).in_dll(library, "mutant_seen") for library in self.libraries
        ]
        self.told: Path | None = None

    def record(self) -> None:
        """The build notes what is reached all the time; processes that tests start tell it."""
        self.told = Path(os.environ["AMQPCODEC_MUTANTS"], f"reached-{os.getpid()}")
        os.environ["AMQPCODEC_MUTANTS_SEEN"] = str(self.told)

    def pause(self) -> None:
        """The same."""

    def place(self, number: int) -> None:
        """The build has all mutants."""

    def is_of_import(self, number: int) -> bool:
        """Whether an import runs the mutant: that is known by what the imports reached."""
        return False

    def select(self, number: int) -> None:
        """For this process and those that it starts."""
        os.environ["AMQPCODEC_MUTANT"] = str(number)
        for library in self.libraries:
            ctypes.c_int.in_dll(library, "mutant_selected").value = number

    def take_seen(self) -> list[int]:
        """The sites reached since the last call."""
        sites: set[int] = set()
        for flags in self.reached_flags:
            sites.update(k for k, reached in enumerate(bytes(flags)) if reached)
            ctypes.memset(flags, 0, len(flags))
        if self.told is not None and self.told.is_file():
            data = self.told.read_bytes()
            self.told.unlink()
            sites.update(at % len(flags) for at, reached in enumerate(data) if reached)
        return sorted(sites)


class Mutants:
    """Runs what the plan asks for in place of pytest's loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan: dict[str, Any] = json.loads((folder / PLAN).read_text())
        self.core: Any = None
        if "package" in self.plan:  # before the modules are imported, which is recorded
            from tests.mutation.python_code import PythonCode

            self.core = PythonCode(self.plan)
        self.failed = ""
        self.checked: dict[
            str, bool
        ] = {}  # tests that failed with a mutant: whether they are sound

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what cannot be repeated, and what starts a Java."""
        items[:] = [
            item
            for item in items
            if not item.path.stem.endswith(NOT_REPEATABLE)
            and "spark" not in getattr(item, "fixturenames", ())
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a child: note a failure."""
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn, then run the mutants."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        if self.core is None:
            self.core = Core(self.plan["count"])
        at_import = set(self.core.take_seen())
        self.core.pause()
        self.items = {item.nodeid: item for item in session.items}
        self.sums = {path: _sum(path) for path in {item.path for item in session.items}}
        # Collections in the children need not look at what all tests' modules hold.
        gc.collect()
        gc.freeze()
        self.learn()
        self.reaching: dict[int, list[str]] = defaultdict(list)
        for nodeid in self.items:
            for number in self.learnt.get(nodeid, {}).get("sites", ()):
                self.reaching[number].append(nodeid)
        results = self.read_results()
        for number in self.plan["numbers"]:
            before = results.get(number, {})
            if before.get("killed") and before["sum"] == self.sum_of(before["killed"]):
                continue
            if before.get("unchanged"):
                continue
            result = self.run_mutant(number, before.get("passed", {}))
            if not result["killed"] and (number in at_import or self.core.is_of_import(number)):
                result["killed"] = self.run_anew(number)
            self.write_result(result)
        return True

    # ---- what the tests reach ----

    def cost(self, nodeid: str) -> float:
        """Seconds of the processor that a test takes."""
        return float(self.learnt.get(nodeid, {}).get("seconds", 0))

    def sum_of(self, nodeid: str) -> str:
        """Of the file of a test; an empty text where there is no such test."""
        item = self.items.get(nodeid)
        return self.sums[item.path] if item else ""

    def learn(self) -> None:
        """Run what changed since it ran last, each file in a process."""
        place = self.folder / LEARNT
        self.learnt: dict[str, dict[str, Any]] = (
            json.loads(place.read_text()) if place.is_file() else {}
        )
        files: dict[Path, list[pytest.Item]] = defaultdict(list)
        for nodeid, item in self.items.items():
            if self.learnt.get(nodeid, {}).get("sum") != self.sums[item.path]:
                files[item.path].append(item)
        for path, items in files.items():
            lines = list(self.in_child(-1, items, learning=True))
            for line in lines:
                if line["passed"]:
                    self.learnt[line["test"]] = {**line, "sum": self.sums[path]}
            _say(f"{path.name}: {len(items)} tests")
            place.write_text(json.dumps(self.learnt))

    # ---- mutants ----

    def run_mutant(self, number: int, passed: dict[str, str]) -> dict[str, Any]:
        """Which test kills it. passed: tests that did not, with the sums of their files."""
        reaching = self.in_order(self.reaching[number], self.plan["rooms"][str(number)])
        result = {"number": number, "killed": "", "sum": "", "reached": len(reaching), "unrun": 0}
        passed = {test: at for test, at in passed.items() if at == self.sum_of(test)}
        spent, items = 0.0, []
        for nodeid in reaching:
            if nodeid not in passed:
                spent += self.cost(nodeid)
                if spent > self.plan["limit"] and items:
                    result["unrun"] += 1
                else:
                    items.append(self.items[nodeid])
        while items and not result["killed"]:
            last = None
            for line in self.in_child(number, items):
                last = line
                if line["passed"]:
                    passed[line["test"]] = self.sum_of(line["test"])
            failed = last["test"] if last and not last["passed"] else ""
            if not failed:
                break
            if self.is_sound(failed) and self.fails(number, failed):
                result["killed"], result["sum"] = failed, self.sum_of(failed)
            items = [item for item in items if item.nodeid not in passed and item.nodeid != failed]
        return {**result, "passed": passed}

    def in_order(self, nodeids: list[str], folder: str) -> list[str]:
        """The quickest of each file first, of the mutant's room before others; then the rest."""
        ranks: dict[str, int] = defaultdict(int)
        order = []
        for nodeid in sorted(nodeids, key=self.cost):
            file = nodeid.split("::")[0]
            ranks[file] += 1
            order.append((ranks[file] > QUICKEST, not file.startswith(f"{folder}/"), file, nodeid))
        cost = defaultdict(float)
        for late, _, file, nodeid in order:
            cost[late, file] += self.cost(nodeid)
        order.sort(key=lambda entry: (*entry[:2], cost[entry[0], entry[2]], entry[2]))
        return [nodeid for *_, nodeid in order]

    def is_sound(self, nodeid: str) -> bool:
        """Whether a test passes alone, without a mutant."""
        if nodeid not in self.checked:
            self.checked[nodeid] = not self.fails(-1, nodeid)
        return self.checked[nodeid]

    def fails(self, number: int, nodeid: str) -> bool:
        """Whether a test fails alone; also asked of one that has failed, as chance may have it."""
        lines = list(self.in_child(number, [self.items[nodeid]]))
        return not (lines and lines[-1]["passed"])

    def run_anew(self, number: int) -> str:
        """The quick tests of the room in a new process: the import runs the mutant."""
        folder = self.plan["rooms"][str(number)]
        of_room = [test for test in self.items if test.startswith(f"{folder}/")]
        spent, chosen = 0.0, []
        for nodeid in self.in_order(of_room, folder):
            spent += self.cost(nodeid)
            if spent <= self.plan["limit"]:
                chosen.append(nodeid)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *chosen]
        environment = {**os.environ, "AMQPCODEC_MUTANT": str(number)}
        most = int(10 * self.plan["limit"])  # of the processor, as a busy machine makes all slow

        def bound() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))

        try:
            self.core.place(number)
            process = subprocess.run(
                command, env=environment, capture_output=True, timeout=6 * most, preexec_fn=bound
            )
        except subprocess.TimeoutExpired:
            return f"{folder} (hangs)"
        return folder if process.returncode else ""

    def in_child(
        self, number: int, items: list[pytest.Item], learning: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Run tests in a fork until one fails: a line for each. What hangs or crashes failed.

        learning: go on after a failure.
        """
        self.core.place(number)
        reading, writing = os.pipe()
        with warnings.catch_warnings(action="ignore"):  # pyarrow's threads wait, and hold no lock
            child = os.fork()
        if not child:
            os.close(reading)
            _leave(lambda: self.run_items(number, items, writing, learning))
        os.close(writing)
        partial_line = b""
        pending_tests = [item.nodeid for item in items]
        try:
            while pending_tests:
                limit = (
                    10
                    * (
                        self.plan["seconds"]
                        + SLOWER * (0 if learning else self.cost(pending_tests[0]))
                    )
                    + 600 * learning
                )
                if not select.select([reading], [], [], limit)[0] or not (
                    got := os.read(reading, 65536)
                ):
                    yield {"test": pending_tests[0], "passed": False, "seconds": 0, "sites": []}
                    return
                *lines, partial_line = (partial_line + got).split(b"\n")
                for line in map(json.loads, lines):
                    pending_tests.remove(line["test"])
                    yield line
                    if not (line["passed"] or learning):
                        return
        finally:
            os.close(reading)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def run_items(
        self, number: int, items: list[pytest.Item], writing: int, learning: bool
    ) -> None:
        """In the child."""
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        if not learning:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        self.core.select(number)
        if learning:
            self.core.record()
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.failed = ""
            begin = _processor_seconds()
            if not learning:
                own = time.process_time() + self.plan["seconds"] + SLOWER * self.cost(item.nodeid)
                most = int(own)
                resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            self.core.take_seen()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            line = {
                "test": item.nodeid,
                "passed": not self.failed,
                "seconds": round(_processor_seconds() - begin, 4),
                "sites": self.core.take_seen() if learning else [],
            }
            os.write(writing, json.dumps(line).encode() + b"\n")

    # ---- results: a line a mutant, the last one counts ----

    def read_results(self) -> dict[int, dict[str, Any]]:
        """What earlier runs found."""
        place = self.folder / RESULTS
        lines = place.read_text().splitlines() if place.is_file() else []
        return {result["number"]: result for result in map(json.loads, lines)}

    def write_result(self, result: dict[str, Any]) -> None:
        """At once, so that a run that ends early is continued."""
        with (self.folder / RESULTS).open("a") as file:
            print(json.dumps(result), file=file)
        _say(f"mutant {result['number']}: {result['killed'] or 'SURVIVED'}")


def _leave(action: Callable[[], None]) -> None:
    """End a forked process without anything of pytest's."""
    try:
        action()
    finally:
        os._exit(0)


def _processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _say(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
