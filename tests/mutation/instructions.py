"""Survivors of the tests, judged by the instructions that the rows of `bench.instructions` take.

A fast way that is never gone gives what the general one gives: no test can see it, and the gate of
`make instructions` can. A mutant with which a row takes more than that gate allows is killed.

`python -m tests.mutation.instructions` prints which sites each row reaches, of the build that is on
the path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import instructions
from tests.mutation.plugin import PLAN, Core
from tests.mutation.sites import Build
from tests.support.core_build import PACKAGE, environment_of

#: Layouts of memory in which a row has to take more: one alone may be chance.
LAYOUTS = (0, 1)


def killed(built: Build, survivors: list[int]) -> Iterator[tuple[int, str]]:
    """Number of each of these that a row sees, and the row. None where there is no valgrind."""
    if not survivors or shutil.which("valgrind") is None:
        return
    source = built.folder / PACKAGE.parent
    reached = _reached(built.folder)
    visible = [row for row, sites in reached.items() if sites.intersection(survivors)]
    before = [_counts(source, layout, -1, visible) if visible else {} for layout in LAYOUTS]
    for number in survivors:
        rows = [row for row, sites in reached.items() if number in sites]
        for layout, counts in zip(LAYOUTS, before, strict=True):
            now = _counts(source, layout, number, rows) if rows else {}
            rows = [row for row in now if instructions.takes_more(counts[row], now[row])]
        if rows:
            yield number, rows[0]


def _counts(source: Path, layout: int, number: int, rows: list[str]) -> dict[str, float]:
    """Instructions a frame of these rows, or of all, with a mutant; without one for -1."""
    os.environ["AMQPCODEC_MUTANT"] = str(number)
    try:
        return instructions.count(source, layout, rows)
    finally:
        del os.environ["AMQPCODEC_MUTANT"]


def _reached(folder: Path) -> dict[str, set[int]]:
    """The sites by row."""
    count = json.loads((folder / PLAN).read_text())["count"]
    process = subprocess.run(
        [sys.executable, "-m", "tests.mutation.instructions", str(count)],
        env=environment_of(folder), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return {row: set(sites) for row, sites in map(json.loads, process.stdout.splitlines())}


def main() -> None:
    """Run each row once."""
    core = Core(int(sys.argv[1]))
    for name, work in instructions.rows():
        core.take_seen()
        work.run()
        print(json.dumps([name, core.take_seen()]), flush=True)


if __name__ == "__main__":
    main()
