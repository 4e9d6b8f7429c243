"""Where the core's sources can be changed: in Cython by tokens, in headers by patterns.

A site is one small change of one statement: a comparison, a sign, a number beside either, `and` for
`or`, a check that is left out, a counter that does not move. Its statement is written twice, and
`mutant(k)` chooses.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutation import c_sites, cython_sites
from tests.mutation.change import Change
from tests.support.core_build import statements

SOURCES = ("_core/*/*.pxi", "_core/*/*.pxd", "_core/*/*.h", "_gen/*.pxi", "_gen/*.h")
#: However small a room is.
LEAST = 10
NUMBER = "@mutant@"
#: An error of Cython or the C compiler: path, line.
PROBLEM = r"^src/amqpcodec/([\w/.]+):(\d+):\d+: (?!warning|note)"


@dataclass(frozen=True)
class Site:
    """A change of one statement, and where it is."""

    path: str  # below src/amqpcodec
    change: Change

    @property
    def room(self) -> str:
        """The folder below _core, or _gen."""
        parts = self.path.split("/")
        return parts[0] if len(parts) == 2 else parts[1]

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same while other lines move."""
        return self.path, self.change.function, self.change.text

    def __str__(self) -> str:
        return f"{self.path}:{self.change.line} {self.change.function}: {self.change.text}"


@dataclass(frozen=True)
class Build:
    """Mutants by number, and where the package is that has them."""

    sites: list[Site]
    folder: Path


def all_sites(package: Path) -> dict[str, list[Site]]:
    """Room -> its sites, in the order of the files."""
    rooms: dict[str, list[Site]] = defaultdict(list)
    for pattern in SOURCES:
        for path in sorted(package.glob(pattern)):
            name = path.relative_to(package).as_posix()
            find = c_sites.changes if path.suffix == ".h" else cython_sites.changes
            for change in find(path.read_text(encoding="utf-8")):
                site = Site(name, change)
                rooms[site.room].append(site)
    return dict(sorted(rooms.items()))


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """How many of `count` each room gives: LEAST, and the rest by size."""
    least = {room: min(LEAST, size) for room, size in sizes.items()}
    remainder = max(0, count - sum(least.values()))
    exact = {room: remainder * size / sum(sizes.values()) for room, size in sizes.items()}
    extra = {room: int(share) for room, share in exact.items()}
    by_remainder = sorted(exact, key=lambda room: extra[room] - exact[room])
    for room in by_remainder[: remainder - sum(extra.values())]:
        extra[room] += 1
    return {room: least[room] + extra[room] for room in sizes}


def sample(rooms: dict[str, list[Site]], count: int, seed: int, refused: set[Site]) -> list[Site]:
    """`count` sites over all rooms: the same for the same sources and seed.

    One of a statement, and none that did not compile.
    """
    quota = shares({room: len(sites) for room, sites in rooms.items()}, count)
    chosen: list[Site] = []
    for room, sites in rooms.items():
        # By the text of each, so that a change elsewhere leaves the others in the sample.
        alike: Counter[tuple[str, str, str]] = Counter()
        marks = {}
        for site in sites:
            alike[site.key] += 1
            text = f"{seed} {site.key} {alike[site.key]}"
            marks[site] = hashlib.sha256(text.encode()).digest()
        chosen += _apart(sorted(sites, key=marks.__getitem__), quota[room], refused)
    return chosen


def _apart(sites: list[Site], count: int, refused: set[Site]) -> Iterator[Site]:
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for site in sites:
        begin, end = site.change.begin, site.change.end
        if site in refused or any(begin < to and at < end for at, to in spans[site.path]):
            continue
        spans[site.path].append((begin, end))
        yield site
        count -= 1
        if not count:
            return


def rewrite(text: str, sites: dict[int, Site]) -> tuple[str, dict[int, range]]:
    """A file with its sites, by their numbers; and the lines of the result that each takes."""
    parts: list[str] = []
    lines: dict[int, range] = {}
    at, line = 0, 1
    for number, site in sorted(sites.items(), key=lambda item: item[1].change.begin):
        change = site.change
        before = text[at : change.begin]
        new = change.template.replace(NUMBER, str(number))
        line += before.count("\n")
        lines[number] = range(line, line + new.count("\n") + 1)
        line += new.count("\n")
        parts += [before, new]
        at = change.end
    return "".join([*parts, text[at:]]), lines


def blamed(output: str, package: Path, lines: dict[str, dict[int, range]]) -> set[int]:
    """The sites that errors of a compiler point at, in the sources or in C made from them."""
    numbers = set()
    for path, line in {(path, int(line)) for path, line in re.findall(PROBLEM, output, re.M)}:
        source = (path, line)
        if path.endswith(".c"):
            for span, name, number in statements(package / path):
                if line in span:
                    source = (name, number)
        for number, span in lines.get(source[0], {}).items():
            if source[1] in span:
                numbers.add(number)
    return numbers
