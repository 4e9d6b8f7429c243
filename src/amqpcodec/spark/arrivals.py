"""The files of a folder that fills: which of them are finished, and which were there before."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ..capture._files import open_source
from ..capture._storage import Storage, locate
from .files import CaptureFile

__all__ = ["Mark", "changed", "finished", "head_of"]

#: Bytes of the beginning of a file that tell it from the next one under the same name.
HEAD = 4096


class Mark(NamedTuple):
    """What tells a file from another one under its name: bytes, and a digest of the first ones."""

    path: str
    size: int
    head: str


def head_of(path: str, size: int, storage: Storage) -> str:
    """The digest of the first bytes of a file that had this size; "" where it is shorter now."""
    wanted = min(size, HEAD)
    with open_source(locate(path, storage)) as file:
        first = file.read(wanted)
    return hashlib.blake2b(first, digest_size=16).hexdigest() if len(first) == wanted else ""


def changed(marks: Iterable[Mark], storage: Storage) -> list[str]:
    """The files that are not what they were; one that only grew is.

    Raises:
        OSError: a file cannot be read.
    """
    return [mark.path for mark in marks if head_of(mark.path, mark.size, storage) != mark.head]


def finished(files: Iterable[CaptureFile], now: float, after: float) -> list[CaptureFile]:
    """Files that nobody writes to: a newer one of their rotation is there, or they are old.

    The files of a rotation are those of a folder whose names differ in digits alone. now: seconds
    since 1970. after: seconds without a change.
    """
    rotations: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        folder, name = os.path.split(file.path)
        rotations[os.path.join(folder, re.sub(r"[0-9]+", "", name))].append(file)
    return [
        file
        for rotation in rotations.values()
        for newest in [max(each.modified for each in rotation)]
        for file in rotation
        if file.modified < newest or file.modified + after <= now
    ]
