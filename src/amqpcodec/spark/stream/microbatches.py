"""What one micro-batch reads: files to chains, chains to tasks, with the states between them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ...capture import CaptureError
from ...capture.planning import (
    UNRELATED,
    Arrangement,
    CaptureFile,
    Endpoints,
    Storage,
    continuation,
    endpoints_of,
    locate,
    separate_file_warning,
    separation_reason,
)
from ..planning.file_listing import Fingerprint, changed
from ..planning.files import StoredFile
from ..planning.ranges import Range, cuts, size_to_cut
from ..planning.reading import ReadOptions, open_reader
from ..planning.state_files import key_of
from .journal import Journal, OpenChain, Position, Task

__all__ = ["Candidate", "Planner"]

_log = logging.getLogger(__name__)

#: Rotations that may go on; of more, those that are silent longest are closed.
MAX_CHAINS = 64
#: Further than any file reaches.
_END = 1 << 62


class Candidate(NamedTuple):
    """A file that is to be read. grown: it was read before, and is longer now."""

    file: StoredFile
    head: str
    first: CaptureFile
    grown: bool

    @property
    def mark(self) -> Fingerprint:
        """What tells it from the next file of its name."""
        return Fingerprint(self.file.path, self.file.size, self.head)


class Survey(NamedTuple):
    """What a reader says of a file without its rows.

    states: at each cut, with its place. stop: where reading ends. within, after: states at the end,
    inside of the file and after it; within is None where the file cannot go on.
    """

    states: list[tuple[int, bytes]]
    stop: int
    within: bytes | None
    after: bytes


class _Run:
    """Files of a chain, one after the other, for one task."""

    def __init__(self, path: str, state: str | None) -> None:
        self.paths: list[str] = []
        self.chain = path
        self.state = state
        self.stop: tuple[int, int] | None = None
        self.marks: list[Fingerprint] = []
        self.octets = 0

    def add(self, mark: Fingerprint, stop: int | None) -> None:
        """stop: bytes of the file to read; None: all, and what connections have open ends there."""
        self.stop = None if stop is None else (len(self.paths), stop)
        self.paths.append(mark.path)
        self.marks.append(mark)
        self.octets += mark.size


class Planner:
    """Decides a step. A chain that goes on in it has no name of a state yet, but a survey."""

    def __init__(
        self,
        journal: Journal,
        read_options: ReadOptions,
        arrangement: Arrangement,
        storage: Storage,
        raw: int,
    ) -> None:
        """raw: bytes of a task."""
        self.journal = journal
        self.read_options = read_options
        self.arrangement = arrangement
        self.storage = storage
        self.octets = raw

    def step(
        self,
        before: Position,
        log: str,
        files: Iterable[Candidate],
        known_files: dict[str, tuple[StoredFile, str]],
    ) -> tuple[Position | None, list[Task]]:
        """The position after these files, and how they are read; None: there is nothing to say.

        Raises:
            CaptureError, OSError: a file cannot be read, and ignoreCorruptFiles is not on.
            ValueError: a file went on that was taken as finished.
        """
        self.log, self.number, self.state_count = log, before.step + 1, 0
        self.chains = list(before.chains)
        self.surveys: dict[str, Survey] = {}
        self.runs: list[_Run] = []
        self.tasks: list[Task] = []
        known_files = dict(known_files)
        is_empty = True
        for file in files:
            try:
                self._take(file)
            except FileNotFoundError as problem:
                _log.warning("%s went away before it was read: %s", file.file.path, problem)
                continue
            except (CaptureError, OSError) as problem:
                if not self.read_options.ignore_corrupt:
                    raise
                _log.warning("skipped %s: %s", file.file.path, problem)
            known_files[file.file.path] = file.file, file.head
            is_empty = False
        if is_empty:
            return None, []
        for run in self.runs:
            self._finish(run)
        for chain in self.chains[:-MAX_CHAINS]:
            _log.warning("the rotation that ends with %s is closed: it is silent", chain.path)
        chains = tuple(self._with_states(chain) for chain in self.chains[-MAX_CHAINS:])
        return Position(log, self.number, chains, known_files), self.tasks

    def _take(self, file: Candidate) -> None:
        path = file.file.path
        if self.arrangement == "separate":
            if file.grown:
                raise ValueError(_GREW % path)
            self._alone(file)
            return
        ends = endpoints_of(
            locate(path, self.storage), self.read_options.ports, self.read_options.limits
        )
        chain = self._chain_of(file, ends)
        late = chain is None and self.arrangement == "rotation" and bool(self.chains)
        if late:
            self._alone(file)
            return
        self._go_on(file, ends, chain)

    # ---- chains ----

    def _chain_of(self, file: Candidate, ends: Endpoints) -> OpenChain | None:
        """The chain that a file goes on with."""
        path, time = file.file.path, file.first.time or 0
        if file.grown:
            same = [
                chain for chain in self.chains if chain.path == path and chain.within is not None
            ]
            if not same:
                raise ValueError(_GREW % path)
            return same[0]
        matches = [chain for chain in self.chains if chain.first_time <= time]
        if self.arrangement == "auto":
            certain = [continuation(chain.rotation(), ends) for chain in matches]
            best = max(certain, default=UNRELATED)
            matches = [
                chain
                for chain, how in zip(matches, certain, strict=True)
                if how == best > UNRELATED
            ] or [
                chain
                for chain in matches
                if time >= chain.last_time and not chain.tail.keys() & ends.head.keys()
            ]
        if matches:
            return max(matches, key=lambda chain: chain.last_time)
        if self.chains:
            rotations = [chain.rotation() for chain in self.chains]
            reason = separation_reason(rotations, ends)
            midstream = sum(not begins for _first, _after, begins in ends.head.values())
            _log.warning("%s", separate_file_warning(path, midstream, reason))
        return None

    def _go_on(self, file: Candidate, ends: Endpoints, chain: OpenChain | None) -> None:
        path = file.file.path
        state = None if chain is None else self._state(chain, file.grown)
        large = file.file.size > self.octets
        survey = self._survey(file, state, self.octets if large else None)
        if chain is not None:
            self.chains.remove(chain)
        time = file.first.time or 0
        newer = OpenChain(path, "", None, time, ends.last_time or time, ends.tail)
        self.chains.append(newer if chain is None else chain.followed(newer))
        run = None
        if chain is not None and not file.grown:
            run = next((open_run for open_run in self.runs if open_run.chain == chain.path), None)
        if run is None or run.octets + file.file.size > self.octets:
            run = _Run(path, self._keep(state))
            self.runs.append(run)
        run.chain = path
        self.surveys[path] = survey
        for at, inside in survey.states:
            run.add(file.mark, at)
            self._finish(run)
            self.runs[self.runs.index(run)] = run = _Run(path, self._keep(inside))
        run.add(file.mark, survey.stop)

    def _alone(self, file: Candidate) -> None:
        """A file that is no part of a chain; it ends what it has open."""
        states: list[tuple[int, bytes]] = []
        if file.file.size > self.octets:
            states = self._survey(file, None, self.octets).states
        state = None
        for at, inside in states:
            run = _Run("", state)
            run.add(file.mark, at)
            self._finish(run)
            state = self._keep(inside)
        run = _Run("", state)
        run.add(file.mark, None)
        self._finish(run)

    def _state(self, chain: OpenChain, grown: bool) -> bytes:
        """What a file goes on from."""
        if not chain.after:
            fresh = self.surveys[chain.path]
            state = fresh.within if grown else fresh.after
            assert state is not None
            return state
        name = chain.within if grown else chain.after
        assert name is not None
        return self.journal.state(self.log, name)

    def _survey(self, file: Candidate, state: bytes | None, step: int | None) -> Survey:
        """Read a file, counting only; step: bytes between two cuts, None: it is not cut."""
        path, key = file.file.path, key_of()
        reader = open_reader([path], self.read_options.counting(), self.storage)
        if state is not None:
            reader.resume(state, key)
        states = []
        size = None if step is None else size_to_cut(file.file, self.storage)
        if step is not None and size is not None:
            for _, at in cuts([size], step):
                for _rows in reader.read((0, at)):
                    pass
                if reader.damaged:
                    break
                states.append((at, reader.state(key, encrypt=key is not None)))
        for _rows in reader.read((0, _END)):
            pass
        stop, within = reader.offset, None
        if reader.damaged:
            stop += 1  # so that the task comes upon the damage, too
        else:
            within = reader.state(key, encrypt=key is not None)
        for _rows in reader.read(end=False):
            pass
        after = reader.state(key, encrypt=key is not None)
        if changed([file.mark], self.storage):
            raise FileNotFoundError(f"{path} was written anew")
        return Survey(states, stop, within, after)

    # ---- what is kept ----

    def _keep(self, state: bytes | None) -> str | None:
        if state is None:
            return None
        self.state_count += 1
        return self.journal.keep(self.log, f"{self.number}-{self.state_count}.state", state)

    def _with_states(self, chain: OpenChain) -> OpenChain:
        """A chain with the names of its states."""
        if chain.after:
            return chain
        survey = self.surveys[chain.path]
        return replace(
            chain, after=self._keep(survey.after) or "", within=self._keep(survey.within)
        )

    def _finish(self, run: _Run) -> None:
        """A run as a task, or a small file that is alone with those before it."""
        task = Task((Range(tuple(run.paths), run.state, run.stop),), tuple(run.marks))
        before = self.tasks[-1] if self.tasks else None
        if before is not None and not run.chain:
            raw = sum(mark.size for mark in (*before.marks, *task.marks))
            if raw <= self.octets and before.ranges[-1].stop is None:
                task = Task(before.ranges + task.ranges, before.marks + task.marks)
                self.tasks.pop()
        self.tasks.append(task)


_GREW = (
    "%s grew after it was read as finished: closeAfter is too short for it, or something writes to "
    "a file that is not the newest of its rotation"
)
