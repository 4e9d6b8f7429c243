"""The measurement in several processes, one after the other.

Where a process happens to lay out its memory and how it salts its hashes moves a ratio by a few per
cent, the same way in every round, so that no number of rounds shows it. Rounds of several processes
put together do.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

from bench import apart
from bench.measure import QUICK, Plan, measure, pin
from bench.prepare import prepare
from bench.targets import Cell
from bench.work import Absent


class MixedBuildsError(Exception):
    """amqpcodec was built anew during the run: its figures would be of two codecs."""


@dataclass(frozen=True)
class Gathered:
    """What the processes found: samples, what could not be measured and why, where, and of what."""

    samples: dict[Cell, list[float]]
    absent: dict[Cell, Absent]
    core: int | None
    build: str


def collect(cells: list[Cell], plan: Plan, core: int | None) -> Gathered:
    """All processes of the plan put together."""
    samples: dict[Cell, list[float]] = {}
    parts: list[Gathered] = []
    alone = [cell for cell in cells if apart.is_apart(cell)]
    cells = [cell for cell in cells if not apart.is_apart(cell)]
    for number in range(plan.processes):
        title = f"process {number + 1} of {plan.processes}, "
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            parts.append(pool.submit(_gather, cells, plan, core, title).result())
        for cell, values in parts[-1].samples.items():
            samples.setdefault(cell, []).extend(values)
        if parts[-1].build != parts[0].build:
            raise MixedBuildsError(f"{parts[0].build}, then {parts[-1].build}; run again")
    absent = dict(parts[-1].absent)
    for operation in dict.fromkeys(operation for _, operation, _ in alone):
        progress(f"{operation}, in a program of its own")
        mine = [cell for cell in alone if cell[1] == operation]
        try:
            apart_samples, missing = apart.run(operation, plan is QUICK)
        except Absent as reason:
            absent.update(dict.fromkeys(mine, reason))
        else:
            samples.update(
                {cell: apart_samples[cell[0]] for cell in mine if cell[0] in apart_samples}
            )
            absent.update({cell: missing[cell[0]] for cell in mine if cell[0] in missing})
    progress("")
    return Gathered(samples, absent, parts[-1].core, parts[-1].build)


def _build() -> str:
    """A short hash of the package's extension modules, or "none"."""
    module = sys.modules.get("amqpcodec._codec")
    if module is None or not module.__file__:
        return "none"
    path = Path(module.__file__)
    suffix = path.name.removeprefix("_codec")  # of this Python's modules
    digest = sha256()
    for library in sorted(path.parent.glob(f"_*{suffix}")):
        digest.update(library.read_bytes())
    return digest.hexdigest()[:12]


def _gather(cells: list[Cell], plan: Plan, core: int | None, title: str) -> Gathered:
    """One process: check everything, then time it."""
    used = pin(core)

    def say(line: str) -> None:
        progress(title + line)

    works, absent = prepare(cells, say)
    build = _build()  # now: a later build would replace the file, not what is loaded
    samples = measure(works, plan, say).samples if works else {}
    return Gathered(samples, absent, used, build)


def progress(line: str) -> None:
    """One line that the next one overwrites, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
