"""Mutation of the core: python -m tests.mutation [--sample N] [--seed N]

Builds the core with a sample of small changes in it (`.cache/mutants`), runs for each the tests
that reach it, then, of those that survive, the benchmark's rows that do, under valgrind. What is
compiled to the same code as no mutant counts as none. Prints each mutant that nothing kills, with
the argument that none can where `equivalent.toml` has one, and a table by room. A second run does
again what changed: mutants that were killed stay so while the file of that test is the same. Exit
status: 1 where fewer than --least percent were killed or a survivor has no argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.mutation.build import build
from tests.mutation.command import Suite, main
from tests.mutation.instructions import killed
from tests.mutation.machine_code import unchanged
from tests.mutation.sites import Site
from tests.support.core_build import ROOMS, room_tests


def folder_of(site: Site) -> str:
    """Where the tests of a room are."""
    return site.room if site.room in ROOMS else "protocol"


CORE = Suite(
    build=build,
    tests=room_tests(),
    folder_of=folder_of,
    equivalent=Path(__file__).with_name("equivalent.toml"),
    least=95,
    seconds=20,
    limit=60,
    second=killed,
    unchanged=unchanged,
)

if __name__ == "__main__":
    sys.exit(main(CORE, "python -m tests.mutation", __doc__))
