"""Mutation of the package's Python: python -m tests.mutation.python [--sample N] [--seed N]

Takes a sample of the changes that cosmic-ray makes of sessions, captures, replay and what a Spark
stream keeps, runs for each the tests that reach its line, and prints each mutant that no test
kills, with the argument that no test can where `python_equivalent.toml` has one, and a table.
Results stay in `.cache/python-mutants`: a second run does again what changed. Exit status: 1 where
fewer than --least percent were killed or a survivor has no argument.
"""

from __future__ import annotations

import compileall
import py_compile
import shutil
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cosmic_ray.ast import get_ast

from tests.mutation.build import forget_other_sources
from tests.mutation.change import line_of
from tests.mutation.command import Suite, main
from tests.mutation.python_sites import candidates, mutant, sources, statement_lines
from tests.mutation.sites import Build, Site, sample
from tests.paths import REPO
from tests.support.core_build import PACKAGE, copy_tree

CACHE = REPO / ".cache" / "python-mutants"
#: The folders whose tests take part.
FOLDERS = ("session", "capture", "cli", "spark")


def build(count: int, seed: int) -> Build:
    """A copy of the package, and beside it the changed file of each mutant."""
    folder = CACHE / f"seed-{seed}"
    copy_tree(folder, {})
    for module in (REPO / PACKAGE).glob("*.so"):
        link = folder / PACKAGE / module.name
        link.unlink(missing_ok=True)
        link.symlink_to(module)
    # By their contents, so that no second decides which file an import takes.
    how = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / PACKAGE, quiet=2, invalidation_mode=how)
    package = REPO / PACKAGE
    texts = {p.relative_to(package).as_posix(): p.read_text("utf-8") for p in sources(package)}
    sites = _sites(texts, count, seed, folder / "mutants")
    paths = [folder / PACKAGE / name for name in texts]
    forget_other_sources(folder, [*paths, *sorted((folder / "mutants").glob("*.py"))])
    return Build(sites, folder)


def _sites(texts: Mapping[str, str], count: int, seed: int, folder: Path) -> list[Site]:
    """A sample of what compiles; the files with the changes, by number, in `folder`."""
    rooms: dict[str, list[Site]] = defaultdict(list)
    for name, text in texts.items():
        for site in candidates(name, text):
            rooms[site.room].append(site)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    refused: set[Site] = set()
    while True:
        sites, wrong = [], set()
        for number, site in enumerate(sample(dict(sorted(rooms.items())), count, seed, refused)):
            try:
                changed, site_with_line = mutant(texts[site.path], site)
            except SyntaxError:
                wrong.add(site)
            else:
                sites.append(site_with_line)
                (folder / f"{number}.py").write_text(changed, encoding="utf-8")
        if not wrong:
            return sites
        refused |= wrong


def plan(built: Build) -> dict[str, Any]:
    """What the plugin needs: where the texts of the mutants are, and the lines that reach them."""
    package = built.folder / PACKAGE
    trees: dict[str, tuple[str, Any]] = {}
    lines = {}
    for number, site in enumerate(built.sites):
        if site.path not in trees:
            text = (package / site.path).read_text(encoding="utf-8")
            trees[site.path] = text, get_ast(text)
        text, tree = trees[site.path]
        begin = site.change.begin
        span = statement_lines(tree, site.change.line, begin - line_of(text, begin)[0])
        lines[number] = (site.path, span.start, span.stop - 1)
    return {
        "package": str(package),
        "mutants": {n: str(built.folder / "mutants" / f"{n}.py") for n in lines},
        "sites": lines,
    }


def folder_of(site: Site) -> str:
    """The folder of tests/ that tests a module."""
    return site.path.partition("/")[0]


PYTHON = Suite(
    build=build,
    plan=plan,
    tests=[*(f"--ignore=tests/{name}/live" for name in FOLDERS), *(f"tests/{f}" for f in FOLDERS)],
    folder_of=folder_of,
    equivalent=Path(__file__).with_name("python_equivalent.toml"),
    least=90,
    seconds=5,
    environment={"PYTHONDONTWRITEBYTECODE": "1"},
)

if __name__ == "__main__":
    sys.exit(main(PYTHON, "python -m tests.mutation.python", __doc__))
