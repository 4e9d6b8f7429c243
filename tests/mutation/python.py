"""Mutation of the package's Python: python -m tests.mutation.python [--sample N] [--seed N]

Takes a sample of the changes that cosmic-ray makes of sessions, captures, replay and what a Spark
stream keeps, runs for each the tests that reach its line, and prints each mutant that no test
kills, with the argument that no test can where `python_equivalent.toml` has one, and a table.
Results stay in `.cache/python-mutants`: a second run does again what changed. Exit status: 1 where
fewer than --least percent were killed or a survivor has no argument.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import py_compile
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cosmic_ray.ast import get_ast

from tests.mutation.build import forget_other_sources
from tests.mutation.change import line_of
from tests.mutation.command import Suite, main
from tests.mutation.python_sites import candidates, mutant, sources, statement_lines, with_line
from tests.mutation.sites import Build, Site, sample
from tests.paths import REPO
from tests.support.core_build import PACKAGE, copy_tree, write

CACHE = REPO / ".cache" / "python-mutants"
#: In the folder of a build: the files of the mutants, and their names in the order of the sites.
MUTANTS, LIST = "mutants", "mutants.json"
#: The folders whose tests take part.
FOLDERS = ("session", "capture", "cli", "spark")


def build(count: int, seed: int) -> Build:
    """A copy of the package, and beside it the changed file of each mutant."""
    folder = CACHE / f"seed-{seed}"
    copy_tree(folder, {})
    for module in (REPO / PACKAGE).glob("*.so"):
        write(folder / PACKAGE / module.name, module.read_bytes())
    # By their contents, so that no second decides which file an import takes.
    how = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / PACKAGE, quiet=2, invalidation_mode=how)
    package = REPO / PACKAGE
    texts = {p.relative_to(package).as_posix(): p.read_text("utf-8") for p in sources(package)}
    sites, mutants = zip(*_sample(texts, count, seed, folder / MUTANTS), strict=True)
    forget_other_sources(folder, [*(folder / PACKAGE / name for name in texts), *mutants])
    (folder / LIST).write_text(json.dumps([path.name for path in mutants]), encoding="utf-8")
    return Build(list(sites), folder)


def _sample(
    texts: Mapping[str, str], count: int, seed: int, folder: Path
) -> list[tuple[Site, Path]]:
    """A sample of what compiles, each with the file that has the change, in `folder`."""
    rooms: dict[str, list[Site]] = defaultdict(list)
    for name, text in texts.items():
        for site in candidates(name, text):
            rooms[site.room].append(site)
    folder.mkdir(parents=True, exist_ok=True)
    refused: set[Site] = set()
    while True:
        chosen = sample(dict(sorted(rooms.items())), count, seed, refused)
        changed = {site: _mutant(texts[site.path], site, folder) for site in chosen}
        wrong = {site for site, mutant in changed.items() if mutant is None}
        if not wrong:
            break
        refused |= wrong
    mutants = [mutant for mutant in changed.values() if mutant is not None]
    for path in set(folder.iterdir()) - {path for _, path in mutants}:
        path.unlink()
    return mutants


def _mutant(text: str, site: Site, folder: Path) -> tuple[Site, Path] | None:
    """The file with a change, from an earlier run if it has it; None where it does not compile."""
    digest = hashlib.sha256(f"{site.path} {site.change.template} {text}".encode()).hexdigest()
    path = folder / f"{digest[:16]}.py"
    if path.is_file():
        return with_line(text, path.read_text(encoding="utf-8"), site), path
    try:
        changed = mutant(text, site)
    except SyntaxError:
        return None
    path.write_text(changed, encoding="utf-8")
    return with_line(text, changed, site), path


def plan(built: Build) -> dict[str, Any]:
    """What the plugin needs: where the texts of the mutants are, and the lines that reach them."""
    package = built.folder / PACKAGE
    names = json.loads((built.folder / LIST).read_text(encoding="utf-8"))
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
        "mutants": {n: str(built.folder / MUTANTS / name) for n, name in enumerate(names)},
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
    limit=20,
    environment={"PYTHONDONTWRITEBYTECODE": "1"},
)

if __name__ == "__main__":
    sys.exit(main(PYTHON, "python -m tests.mutation.python", __doc__))
