"""The parts of a huge file or chain that tasks outline at once, for the pass that follows them.

An outline holds packets as they are, credentials included: it is kept as states are, until the pass
has used it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from ...capture import Reader
from ...capture.planning import Part, apply_outlines, make_outline, parts_between, seal, unseal
from .state_files import key_of, write_atomically
from .versions import InputPartition

__all__ = ["FEW", "Outlined", "follow_outlines", "outlined", "write_outline"]

#: Ranges that are not worth it: their pass reads them in one go.
FEW = 8
#: An outline has at most so much of the bytes of its range, and so many: more saves nothing.
SHARE = 4
LARGEST = 64 << 20


@dataclass(frozen=True)
class Outlined(InputPartition):
    """A part that a task outlines. path: its file; name: where the outline is kept."""

    path: str
    part: Part
    name: str


def outlined(
    folder: str, paths: Sequence[str], stops: Sequence[tuple[int, int]]
) -> list[list[Outlined]]:
    """The parts before each of these places of a chain, from the place before on.

    paths: of its files in order.
    """
    return [
        [
            Outlined(paths[part.file], part, os.path.join(folder, f"{number}-{i}.outline"))
            for i, part in enumerate(parts_between(begin, end))
        ]
        for number, (begin, end) in enumerate(pairwise([(0, 0), *stops]))
    ]


def write_outline(item: Outlined, step: int, reader: Reader) -> int:
    """Keep an outline for the pass: how many bytes it has; 0: its part has to be read.

    step: bytes of a range. reader: of the file.
    """
    data = make_outline(reader, item.part, min(step // SHARE, LARGEST))
    os.makedirs(os.path.dirname(item.name), mode=0o700, exist_ok=True)
    if data is None:
        with suppress(FileNotFoundError):
            os.unlink(item.name)
        return 0
    key = key_of()
    write_atomically(item.name, seal(data, key, key is not None))
    return len(data)


def follow_outlines(
    items: Sequence[Outlined], open_at_start: Callable[[], Reader]
) -> Reader | None:
    """The reader of a chain after these parts; None: they have to be read.

    open_at_start: gives it where they begin. The outlines are removed.
    """
    outlines = []
    for item in items:
        with suppress(FileNotFoundError):
            with open(item.name, "rb") as file:
                outlines.append((item.part, unseal(file.read(), key_of())))
            os.unlink(item.name)
    if not items or len(outlines) < len(items):
        return None
    reader = open_at_start()
    return reader if apply_outlines(reader, outlines) else None
