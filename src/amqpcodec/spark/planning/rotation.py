"""Which files are read as one rotation, decided where a job is planned."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...capture import CaptureError
from ...capture.planning import (
    LIMITS,
    Arrangement,
    Endpoints,
    Groups,
    ServerPorts,
    Storage,
    Unpacking,
    endpoints_of,
    group_by_rotation,
    locate,
    look_at_same_ports,
    separation_warning,
)
from .files import StoredFile

__all__ = ["chains", "look_at"]

_log = logging.getLogger(__name__)

#: Files that are looked at at once: most of the time is spent waiting for storage.
THREADS = 8


def look_at(
    files: Sequence[StoredFile], ports: ServerPorts, storage: Storage, unpacking: Unpacking
) -> list[Endpoints | CaptureError | OSError]:
    """Both ends of each file, or why they cannot be seen."""

    def one(file: StoredFile, ports: ServerPorts) -> Endpoints | CaptureError | OSError:
        try:
            return endpoints_of(locate(file.path, storage), ports, unpacking)
        except (CaptureError, OSError) as problem:
            return problem

    def look(ports: ServerPorts) -> list[Endpoints | CaptureError | OSError]:
        return list(pool.map(lambda file: one(file, ports), files))

    with ThreadPoolExecutor(min(THREADS, len(files) or 1), "amqpcodec-look") as pool:
        return list(look_at_same_ports(look, ports))


def chains(
    files: Sequence[StoredFile],
    arrangement: Arrangement,
    ports: ServerPorts,
    storage: Storage,
    unpacking: Unpacking = LIMITS,
) -> list[list[StoredFile]]:
    """Files in groups, each a chain; those that are read alone come last, in the order given.

    With "auto" both ends of each file are looked at, as capture.read does it, and what begins in
    the middle is told. A file that cannot be read is alone: the task that reads it says why.
    """
    if arrangement in ("rotation", "taps"):
        return [list(files)] if files else []
    if arrangement == "separate" or len(files) < 2:
        return [[file] for file in files]
    endpoints = look_at(files, ports, storage, unpacking)
    by_file = {
        id(ends.file): (file, ends)
        for file, ends in zip(files, endpoints, strict=True)
        if isinstance(ends, Endpoints)
    }
    found = group_by_rotation(ends for _, ends in by_file.values())
    _tell(found, {ends.file.name: ends for _, ends in by_file.values()})
    linked = [
        [by_file[id(member)][0] for member in group] for group in found.groups if len(group) > 1
    ]
    linked_paths = {file.path for group in linked for file in group}
    return [*linked, *([file] for file in files if file.path not in linked_paths)]


def _tell(found: Groups, ends: dict[str, Endpoints]) -> None:
    """Warn of files that go on with no other one, with what that may have cut."""
    begun = {
        name: sum(not begins for _first, _after, begins in ends[name].head.values())
        for name in found.reasons
    }
    if text := separation_warning(found.reasons, found.shared, begun):
        _log.warning(
            "%s; option files: rotation reads all as one rotation, separate each by itself", text
        )
