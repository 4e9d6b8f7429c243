"""Which files a path stands for, and which of them go into one task. Only names are looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ...capture.planning import Storage, expand_braces, files_below, local_path, matching_paths
from .options import Options

__all__ = [
    "Selection",
    "StoredFile",
    "check_paths",
    "group",
    "list_files",
    "moment",
    "stat_file",
    "time_of",
]

#: What opening a file costs, told in bytes, as Spark's own readers count it.
OPEN_COST = 4 << 20

#: Options that choose files, and those that say what happens where one cannot be read.
SELECTION = ("recursiveFileLookup", "pathGlobFilter", "modifiedBefore", "modifiedAfter", "timeZone")
TOLERANT = ("ignoreCorruptFiles", "ignoreMissingFiles")


class StoredFile(NamedTuple):
    """A file to read. size: bytes. modified: seconds since 1970 UTC, None where its store says no
    time. tag: what a store says of its content (an ETag), "" where it says nothing.
    """

    path: str
    size: int
    modified: float | None
    tag: str = ""


class Selection(NamedTuple):
    """Which files of a folder are wanted. after, before: seconds since 1970 UTC, neither within."""

    recursive: bool = False
    name: str | None = None
    after: float | None = None
    before: float | None = None

    @classmethod
    def of(cls, options: Options) -> Selection:
        """The selection that options under Spark's names ask for."""
        zone = options.text("timeZone", "UTC")
        return cls(
            options.flag("recursiveFileLookup", False),
            options.optional("pathGlobFilter"),
            moment("modifiedAfter", options.optional("modifiedAfter"), zone),
            moment("modifiedBefore", options.optional("modifiedBefore"), zone),
        )

    def takes(self, file: StoredFile) -> bool:
        """Whether a file is wanted.

        Raises:
            ValueError: a time is asked for, and the file's store says none.
        """
        if self.name is not None and not any(
            fnmatchcase(os.path.basename(file.path), pattern)
            for pattern in expand_braces(self.name)
        ):
            return False
        if self.after is None and self.before is None:
            return True
        modified = time_of(file, "modifiedAfter and modifiedBefore")
        if self.after is not None and modified <= self.after:
            return False
        return self.before is None or modified < self.before


def time_of(file: StoredFile, what: str) -> float:
    """When a file was modified, in seconds since 1970 UTC. what: needs to know it.

    Raises:
        ValueError: its store does not say.
    """
    if file.modified is None:
        raise ValueError(f"{what} need the times of files, and of {file.path} its store says none")
    return file.modified


def moment(name: str, text: str | None, zone: str) -> float | None:
    """Seconds since 1970 UTC of an option that is a time.

    Raises:
        ValueError: it is none.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"option {name} is a time as 2026-05-01T13:00:00, not {text!r}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return moment.timestamp()


def list_files(
    paths: Iterable[str], selection: Selection, storage: Storage | None = None
) -> list[StoredFile]:
    """The files that paths stand for: files, folders and globs; each once, in order of its path.

    In folders it skips names that begin with ``.`` or ``_``, as Spark does.

    Raises:
        FileNotFoundError: a path stands for nothing at all.
        OSError, ValueError: a store cannot be reached, or nothing here knows its scheme.
    """
    files_by_path: dict[str, StoredFile] = {}
    storage = storage or Storage()
    for path in paths:
        if storage.holds(path):
            for stored in storage.find(path, selection.recursive):
                file = StoredFile(*stored)
                if selection.takes(file):
                    files_by_path[file.path] = file
            continue
        for place in matching_paths(os.path.abspath(local_path(path))):
            for file_path in files_below(place, selection.recursive):
                try:
                    file = stat_file(file_path, storage)
                except FileNotFoundError:
                    continue  # it went away since its folder was listed
                if selection.takes(file):
                    files_by_path[file_path] = file
    return [files_by_path[path] for path in sorted(files_by_path)]


def stat_file(path: str, storage: Storage) -> StoredFile:
    """A file as it is now.

    Raises:
        FileNotFoundError: it is not there.
    """
    if storage.holds(path):
        return StoredFile(path, *storage.stat(path))
    status = os.stat(path)
    return StoredFile(path, status.st_size, status.st_mtime)


def check_paths(paths: Iterable[str], storage: Storage | None = None) -> None:
    """FileNotFoundError where one of this machine stands for nothing at all; nothing is listed."""
    storage = storage or Storage()
    for path in paths:
        if not storage.holds(path):
            matching_paths(os.path.abspath(local_path(path)))


def group(files: Iterable[StoredFile], n_bytes: int) -> list[tuple[str, ...]]:
    """Files to tasks: none is cut, small neighbours share a task of about so many bytes."""
    tasks: list[tuple[str, ...]] = []
    task: list[str] = []
    filled = 0
    for file in files:
        cost = file.size + OPEN_COST
        if task and filled + cost > n_bytes:
            tasks.append(tuple(task))
            task, filled = [], 0
        task.append(file.path)
        filled += cost
    if task:
        tasks.append(tuple(task))
    return tasks
