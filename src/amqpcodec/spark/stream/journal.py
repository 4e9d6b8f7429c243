"""What a stream keeps below ``stateLocation``: its steps, and the states of the open chains.

A step is what one micro-batch reads, decided once: each is written before Spark is told of its
number, as a file of its own, so that the batch between two offsets is the same however often it is
read. States are named by the step that made them and never written again. What was committed is
removed. Every query that begins anew has a folder of its own here, which its offsets name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ...capture.planning import CaptureFile, Direction, Rotation
from ..planning.file_listing import Fingerprint
from ..planning.files import StoredFile
from ..planning.ranges import Range, state_folder
from ..planning.state_files import write_atomically
from ..planning.versions import InputPartition

__all__ = ["Journal", "OpenChain", "Position", "Task"]

#: The form of a step, raised where it changes; docs/versions.md says which are read.
VERSION = 1
#: All files that were read are told in every so manieth step; the others tell of new ones.
FULL_STATE_STEPS = 64
#: Directions of a chain whose last sequence numbers are known, at most.
DIRECTIONS = 8192

OTHER_OPTIONS = (
    "stateLocation and checkpointLocation are those of a query with other options: level, ports, "
    "protocol, redact, keylog and the key of the states stay as they were, or both folders are new"
)


@dataclass(frozen=True)
class OpenChain:
    """A chain that may go on. after: the file with its state at the end of its newest file.

    within: the same inside of that file, for when the file grows; None: it cannot.
    """

    path: str
    after: str
    within: str | None
    first_time: int
    last_time: int
    tail: Mapping[bytes, Direction]

    def rotation(self) -> Rotation:
        """As capture.read's own detection takes it."""
        file = CaptureFile(self.path, self.path, self.first_time, False)
        return Rotation([(self.first_time, self.last_time, file)], dict(self.tail))

    def followed(self, newer: OpenChain) -> OpenChain:
        """The chain after a file that goes on; directions that were seen last stand last."""
        tail = {key: way for key, way in self.tail.items() if key not in newer.tail}
        last_time = max(self.last_time, newer.last_time)
        return replace(newer, last_time=last_time, tail={**tail, **newer.tail})

    def to_json(self) -> dict[str, Any]:
        """What from_json() takes."""
        newest = list(self.tail.items())[-DIRECTIONS:]
        return {**vars(self), "tail": {key.hex(): way for key, way in newest}}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> OpenChain:
        """What to_json() gave."""
        tail = {bytes.fromhex(key): tuple(way) for key, way in values["tail"].items()}
        return cls(**{**values, "tail": tail})


@dataclass(frozen=True)
class Task(InputPartition):
    """What one task of a step reads, and what its files were when that was decided."""

    ranges: tuple[Range, ...]
    marks: tuple[Fingerprint, ...]


@dataclass(frozen=True)
class Position:
    """All that is known after a step. known_files: files that are there and were read, by path."""

    log: str = ""
    step: int = 0
    chains: tuple[OpenChain, ...] = ()
    known_files: Mapping[str, tuple[StoredFile, str]] = field(default_factory=dict)

    def offset(self) -> dict[str, Any]:
        """As Spark keeps it."""
        return {"log": self.log, "step": self.step}


class Journal:
    """The steps of a stream."""

    def __init__(self, location: str, depends: object) -> None:
        """location: a folder. depends: what states depend on beside the files; it is checked."""
        self.location = state_folder(location)
        self.depends = json.loads(json.dumps(depends))

    def at(self, offset: Mapping[str, Any]) -> Position:
        """What was known at an offset.

        Raises:
            ValueError: it is not here, or of a query with other options.
        """
        log, step = str(offset["log"]), int(offset["step"])
        if step == 0:
            return Position()
        known_files: dict[str, tuple[StoredFile, str]] = {}
        entry: dict[str, Any] = {}
        for number in range(step - (step - 1) % FULL_STATE_STEPS, step + 1):
            entry = self._read(log, number)
            for path in entry["gone"]:
                known_files.pop(path, None)
            for *file_values, head in entry["new"]:
                file = StoredFile(*file_values)
                known_files[file.path] = file, head
        chains = tuple(map(OpenChain.from_json, entry["chains"]))
        return Position(log, step, chains, known_files)

    def tasks(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[Task]:
        """What is read between two offsets."""
        planned_tasks = []
        for step in range(int(start["step"]) + 1, int(end["step"]) + 1):
            for task in self._read(str(end["log"]), step)["tasks"]:
                ranges = tuple(
                    Range(tuple(paths), self._path(end["log"], state), stop and tuple(stop))
                    for paths, state, stop in task["ranges"]
                )
                planned_tasks.append(
                    Task(ranges, tuple(Fingerprint(*mark) for mark in task["marks"]))
                )
        return planned_tasks

    def append(self, before: Position, after: Position, tasks: Iterable[Task]) -> None:
        """Keep a step; states that it names are here."""
        is_complete = (after.step - 1) % FULL_STATE_STEPS == 0
        earlier_files = {} if is_complete else before.known_files
        entry = {
            "version": VERSION,
            "depends": self.depends,
            "tasks": [
                {
                    "ranges": [
                        [part.paths, part.state and os.path.basename(part.state), part.stop]
                        for part in task.ranges
                    ],
                    "marks": task.marks,
                }
                for task in tasks
            ],
            "chains": [chain.to_json() for chain in after.chains],
            "new": [
                [*file, head]
                for path, (file, head) in after.known_files.items()
                if earlier_files.get(path) != (file, head)
            ],
            "gone": [path for path in earlier_files if path not in after.known_files],
        }
        write_atomically(self._step(after.log, after.step), json.dumps(entry).encode())

    def new_log(self) -> str:
        """A folder for the steps of a query that begins."""
        log = f"stream-{os.urandom(6).hex()}"
        os.makedirs(os.path.join(self.location, log), mode=0o700)
        return log

    def keep(self, log: str, name: str, state: bytes) -> str:
        """Write a state; the name of its file."""
        write_atomically(os.path.join(self.location, log, name), state)
        return name

    def state(self, log: str, name: str) -> bytes:
        """A state that was kept."""
        with open(os.path.join(self.location, log, name), "rb") as file:
            return file.read()

    def forget(self, end: Mapping[str, Any]) -> None:
        """Remove what nobody asks for once a step is committed."""
        log, step = str(end["log"]), int(end["step"])
        if step == 0:
            return
        chains = self.at(end).chains
        state_names = {name for chain in chains for name in (chain.after, chain.within)}
        first = step - (step - 1) % FULL_STATE_STEPS
        with os.scandir(os.path.join(self.location, log)) as entries:
            for entry in entries:
                number, _, kind = entry.name.partition(".")
                of = int(number.partition("-")[0])
                if (
                    (of < first)
                    if kind == "json"
                    else (of <= step and entry.name not in state_names)
                ):
                    with suppress(FileNotFoundError):
                        os.unlink(entry.path)

    def _step(self, log: str, step: int) -> str:
        return os.path.join(self.location, log, f"{step}.json")

    def _path(self, log: str, name: str | None) -> str | None:
        return None if name is None else os.path.join(self.location, log, name)

    def _read(self, log: str, step: int) -> dict[str, Any]:
        try:
            with open(self._step(log, step), encoding="utf-8") as file:
                entry: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            raise ValueError(
                f"step {step} of {log} is not in {self.location}: stateLocation is not that of "
                "this checkpointLocation, or was emptied; both are new, or neither is"
            ) from None
        if entry.get("version") != VERSION:
            raise ValueError(
                f"step {step} of {log} has version {entry.get('version')!r}, this release reads "
                f"{VERSION}: start the query with the release that wrote it"
            )
        if entry["depends"] != self.depends:
            raise ValueError(OTHER_OPTIONS)
        return entry
