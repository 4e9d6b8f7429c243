"""The files of a folder that fills: which of them are finished, and which were there before."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ...capture.planning import Storage, locate, open_source
from .files import StoredFile, stat_file, time_of

__all__ = ["Fingerprint", "Listed", "changed", "finished", "head_of", "listed", "refuse_changed"]

#: Bytes of the beginning of a file that tell it from the next one under the same name.
HEAD = 4096


class Fingerprint(NamedTuple):
    """What tells a file from another one under its name: bytes, and a digest of the first ones."""

    path: str
    size: int
    head: str


def head_of(path: str, size: int, storage: Storage) -> str:
    """The digest of the first bytes of a file that had this size; "" where it is shorter now."""
    length = min(size, HEAD)
    with open_source(locate(path, storage), HEAD) as file:
        first = file.read(length)
    return hashlib.blake2b(first, digest_size=16).hexdigest() if len(first) == length else ""


def changed(marks: Iterable[Fingerprint], storage: Storage) -> list[str]:
    """The files that are not what they were; one that only grew is.

    Raises:
        OSError: a file cannot be read.
    """
    return [mark.path for mark in marks if head_of(mark.path, mark.size, storage) != mark.head]


class Listed(NamedTuple):
    """A file as it was when a read was planned, and the digest of its first bytes."""

    file: StoredFile
    head: str


def listed(file: StoredFile, storage: Storage) -> Listed:
    """What refuse_changed() compares.

    Raises:
        OSError: the file cannot be read.
    """
    return Listed(file, head_of(file.path, file.size, storage))


def refuse_changed(planned: Iterable[Listed], storage: Storage) -> None:
    """ValueError where a file is not what it was; one that only grew is.

    Raises:
        OSError: a file cannot be read; FileNotFoundError: it went away.
    """
    for entry in planned:
        if not _is_same(entry, storage):
            raise ValueError(_CHANGED % entry.file.path)


def _is_same(planned: Listed, storage: Storage) -> bool:
    before = planned.file
    now = stat_file(before.path, storage)
    has_version = before.tag != "" or before.modified is not None
    if now.size < before.size or (now.size == before.size and has_version):
        return now == before
    return head_of(before.path, before.size, storage) == planned.head


_CHANGED = (
    "%s is another file now than when its ranges were planned: plan the read anew; option "
    "ignoreMissingFiles skips what was not begun, with a warning"
)


def finished(files: Iterable[StoredFile], now: float, after: float) -> list[StoredFile]:
    """Files that nobody writes to: a newer one of their rotation is there, or they are old.

    The files of a rotation are those of a folder whose names differ in digits alone. now: seconds
    since 1970. after: seconds without a change.

    Raises:
        ValueError: of a file its store says no time.
    """
    rotations: dict[str, list[tuple[float, StoredFile]]] = defaultdict(list)
    for file in files:
        folder, name = os.path.split(file.path)
        of = os.path.join(folder, re.sub(r"[0-9]+", "", name))
        rotations[of].append((time_of(file, "streams"), file))
    return [
        file
        for rotation in rotations.values()
        for newest in [max(time for time, _ in rotation)]
        for time, file in rotation
        if time < newest or time + after <= now
    ]
