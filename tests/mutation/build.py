"""A build of the core with all mutants of a sample in it, in `.cache/mutants`."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.plugin import LEARNT, RESULTS
from tests.mutation.sites import SOURCES, Build, Site, all_sites, blamed, rewrite, sample
from tests.paths import REPO
from tests.support.core_build import PACKAGE, BuildError, compile_tree, copy_tree, write

CACHE = REPO / ".cache" / "mutants"
HEADER = Path(__file__).with_name("mutants.h")
DECLARED = "cdef extern from * nogil:\n    bint mutant(int number)\n\n"
#: Headers demand that a switch names every kind: a mutant in one branch leaves those of the others.
DEMAND = '#pragma GCC diagnostic error "-Wswitch-enum"'
#: In the folder of a build: its sites that do not compile.
REFUSED = "refused.txt"
#: Each round leaves out the sites that the compilers refuse, and takes others.
ROUNDS = 12


def build(count: int, seed: int) -> Build:
    """Compile the mutants of a sample, but those that do not compile."""
    rooms = all_sites(REPO / PACKAGE)
    folder = CACHE / f"seed-{seed}"
    header = folder / HEADER.name
    text = HEADER.read_text(encoding="utf-8").replace("@count@", str(count))
    if write(header, text.encode()):
        # setuptools does not know what CFLAGS include.
        shutil.rmtree(folder / "build", ignore_errors=True)
    flags = {
        "AMQPCODEC_OPTIMIZE": "1",
        "CFLAGS": f"{sysconfig.get_config_var('CFLAGS')} -include {header}",
    }
    refused_path = folder / REFUSED
    names = (
        set(refused_path.read_text(encoding="utf-8").splitlines())
        if refused_path.is_file()
        else set()
    )
    refused = {site for sites in rooms.values() for site in sites if str(site) in names}
    for _ in range(ROUNDS):
        sites = sample(rooms, count, seed, refused)
        texts, lines = with_mutants(sites)
        copy_tree(folder, texts)
        print(f"building {len(sites)} mutants", file=sys.stderr, flush=True)
        problem = compile_tree(folder, **flags)
        if not problem:
            _forget_other_sources(folder)
            return Build(sites, folder)
        wrong = blamed(problem, folder / PACKAGE, lines)
        if not wrong:
            raise BuildError(problem[-4000:])
        for number in wrong:
            print(f"does not compile: {sites[number]}", file=sys.stderr, flush=True)
        refused |= {sites[number] for number in wrong}
        refused_path.write_text("".join(f"{site}\n" for site in refused), encoding="utf-8")
    raise BuildError(f"still a mutant that does not compile after {ROUNDS} rounds")


def _forget_other_sources(folder: Path) -> None:
    """What was learnt and found is of these sources with these mutants alone."""
    package = folder / PACKAGE
    forget_other_sources(
        folder, [path for pattern in SOURCES for path in sorted(package.glob(pattern))]
    )


def forget_other_sources(folder: Path, paths: Iterable[Path]) -> None:
    """Remove what earlier runs learnt and found where these files have changed since."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    place = folder / "sources.txt"
    if not place.is_file() or place.read_text() != digest.hexdigest():
        for name in (LEARNT, RESULTS):
            (folder / name).unlink(missing_ok=True)
        place.write_text(digest.hexdigest())


def with_mutants(sites: list[Site]) -> tuple[dict[str, str], dict[str, dict[int, range]]]:
    """File -> its text with mutants; file -> number -> the lines of that mutant."""
    package = REPO / PACKAGE
    by_file: dict[str, dict[int, Site]] = defaultdict(dict)
    for number, site in enumerate(sites):
        by_file[site.path][number] = site
    texts, lines = {}, {}
    for path in package.glob("_*.pxd"):
        text = path.read_text(encoding="utf-8")
        head = re.match(r"(?:#.*\n|\n)*", text)
        assert head is not None
        texts[path.name] = head[0] + DECLARED + text[head.end() :]
    for name, chosen in by_file.items():
        text = (package / name).read_text(encoding="utf-8")
        texts[name], lines[name] = rewrite(text, chosen)
    for path in package.glob("_core/*/*.h"):
        name = path.relative_to(package).as_posix()
        text = texts[name] if name in texts else path.read_text(encoding="utf-8")
        if DEMAND in text:
            texts[name] = text.replace(DEMAND, "")
    return texts, lines
