"""A folder that a rotating capture fills, as a stream: ``readStream.format("amqp_capture")``.

The driver decides what a micro-batch reads: files that are finished, in the order of their first
packets. It reads them once, counting only, and keeps in the journal what the next file of each
chain goes on from. So every task stands for itself, and what a query does with its rows has no
part in what the next batch reads.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from ...batch import _protocol
from ...capture import CaptureError
from ...capture.planning import CaptureFile, capture_file_of, in_order, locate
from ..planning.columns import arrow_schema
from ..planning.file_listing import changed, finished, head_of
from ..planning.files import Selection, StoredFile, list_files
from ..planning.options import Options
from ..planning.reading import (
    TASK_BYTES,
    ReadOptions,
    arrangement_of,
    paths_of,
    read_file,
    storage_of,
)
from ..planning.versions import (
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from .journal import Journal, Position, Task
from .microbatches import Candidate, Planner

__all__ = ["CaptureStream", "Refused"]

_log = logging.getLogger(__name__)

#: Files of a micro-batch, where nothing else is said: as many as Delta's source takes.
MAX_FILES = 1000
#: Bytes of a range, at least: each costs a state.
SHORTEST_RANGE = 1024
#: A file is finished that did not change for so many seconds.
CLOSE_AFTER = 300.0


class CaptureStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are numbers of steps in a journal. It is made on the driver and for each task."""

    def __init__(self, options: Options, schema: StructType) -> None:
        """schema: what the source said, or what the user gave.

        Raises:
            ValueError: an option is wrong, or stateLocation is missing.
        """
        self.read_options = ReadOptions.of(options, schema)
        self.arrangement = arrangement_of(options)
        if self.arrangement == "taps":
            raise ValueError("option files: a stream cannot join taps; use load()")
        self.storage = storage_of(options)
        self.paths = paths_of(options)
        self.selection = Selection.of(options)
        self.octets = max(options.octets("maxPartitionBytes", TASK_BYTES), SHORTEST_RANGE)
        self.close_after = options.seconds("closeAfter", CLOSE_AFTER)
        self.max_files, self.max_bytes = _limits(options)
        location = options.optional("stateLocation")
        if not location:
            raise ValueError(
                "a stream needs the option stateLocation: a folder that the driver and all tasks "
                "have mounted, one of its own for each checkpointLocation"
            )
        self.journal = Journal(location, self.read_options.depends())
        self._position = Position()
        self._last_offset: dict[str, Any] | None = None
        self._present: set[StoredFile] | None = None
        self._first: dict[StoredFile, tuple[str, CaptureFile]] = {}

    # ---- what Spark asks on the driver ----

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first file."""
        return Position().offset()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """What the options say of a micro-batch's size."""
        if self.max_bytes is not None:
            return ReadMaxBytes(self.max_bytes)
        return ReadMaxFiles(self.max_files or MAX_FILES)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Of files that are finished later the query reads none."""
        self._present = set(self._finished(self._listed()))

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """The step after `start`, made where there are files for one; before Spark 4.2 no start."""
        start = dict(start or self._last_offset or self.initialOffset())
        if self._position.offset() != start:
            self._position = self.journal.at(start)
        chosen, known_files = self._candidates()
        chosen = self._admitted(chosen, limit)
        self._last_offset = start
        if chosen:
            log = self._position.log or self.journal.new_log()
            planner = Planner(
                self.journal, self.read_options, self.arrangement, self.storage, self.octets
            )
            position, tasks = planner.step(self._position, log, chosen, known_files)
            if position is not None:
                self.journal.append(self._position, position, tasks)
                self._position = position
                self._last_offset = position.offset()
        return self._last_offset

    def partitions(
        self, start: Mapping[str, Any], end: Mapping[str, Any]
    ) -> Sequence[InputPartition]:
        """The tasks of the steps between; also called with where a query goes on from."""
        self._last_offset = dict(end)
        return self.journal.tasks(start, end)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Forget what nobody asks for any more."""
        self.journal.forget(end)

    # ---- what a task does ----

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task.

        Raises:
            ValueError: a file is another one now under the same name.
        """
        assert isinstance(partition, Task)
        target = arrow_schema(self.read_options.plan.schema)
        if not self._same(partition):
            return
        for part in partition.ranges:
            yield from read_file(part.paths, self.read_options, target, self.storage, part)
        if changed(partition.marks, self.storage):
            raise ValueError(_OVERWRITTEN % changed(partition.marks, self.storage)[0])

    def _same(self, partition: Task) -> bool:
        try:
            others = changed(partition.marks, self.storage)
        except FileNotFoundError as problem:
            if not self.read_options.ignore_missing:
                raise
            _log.warning("skipped a task's files: %s", problem)
            return False
        if others and not self.read_options.ignore_missing:
            raise ValueError(_OVERWRITTEN % others[0])
        if others:
            _log.warning("skipped: " + _OVERWRITTEN, others[0])
        return not others

    # ---- which files ----

    def _listed(self) -> list[StoredFile]:
        return list_files(self.paths, self.selection, self.storage)

    def _finished(self, files: list[StoredFile]) -> list[StoredFile]:
        return [file for file in finished(files, time.time(), self.close_after) if file.size]

    def _candidates(self) -> tuple[list[Candidate], dict[str, tuple[StoredFile, str]]]:
        """Files that were not read, by their first packets; and those that were and are there."""
        candidates = []
        files = self._listed()
        present_paths = {file.path for file in files}
        # A file is known while it is there, also while it is written anew.
        known_files = {
            path: entry
            for path, entry in self._position.known_files.items()
            if path in present_paths
        }
        for file in self._finished(files):
            entry = known_files.get(file.path)
            if entry is not None and entry[0] == file:
                continue
            if self._present is not None and file not in self._present:
                continue
            try:
                head, first = self._look(file)
                before = entry[0].size if entry is not None else 0
                grown = entry is not None and head_of(file.path, before, self.storage) == entry[1]
            except FileNotFoundError:
                continue
            if grown and file.size <= before:
                known_files[file.path] = file, head  # touched
            elif first.time is not None:
                candidates.append(Candidate(file, head, first, grown))
        self._first = {
            candidate.file: (candidate.head, candidate.first) for candidate in candidates
        }
        by_first = {id(candidate.first): candidate for candidate in candidates}
        return [
            by_first[id(first)] for first in in_order(candidate.first for candidate in candidates)
        ], known_files

    def _look(self, file: StoredFile) -> tuple[str, CaptureFile]:
        """A digest of the file's beginning, and its first packet."""
        if file not in self._first:
            head = head_of(file.path, file.size, self.storage)
            source = locate(file.path, self.storage)
            try:
                first = capture_file_of(source, _protocol("0-9-1"), self.read_options.limits)
            except CaptureError:
                # Reading it skips it, or ends the query.
                first = CaptureFile(source, file.path, 0, False)
            self._first[file] = head, first
        return self._first[file]

    def _admitted(self, files: list[Candidate], limit: Any) -> list[Candidate]:
        """As many as a micro-batch may have, one at least."""
        max_files, max_bytes = self.max_files, self.max_bytes
        if ReadAllAvailable is not None and isinstance(limit, ReadAllAvailable):
            max_files = max_bytes = None
        elif ReadMaxFiles is not None and isinstance(limit, ReadMaxFiles):
            max_files = limit.max_files
        if max_files is not None:
            files = files[:max_files]
        if max_bytes is None:
            return files
        selection: list[Candidate] = []
        raw = 0
        for candidate in files:
            raw += candidate.file.size
            if selection and raw > max_bytes:
                break
            selection.append(candidate)
        return selection


_OVERWRITTEN = (
    "%s was written anew before it was read: the ring of files is too small for the stream, which "
    "option ignoreMissingFiles makes a warning"
)


def _limits(options: Options) -> tuple[int | None, int | None]:
    """(files, bytes) of a micro-batch, where that is said."""
    files = options.count("maxFilesPerTrigger")
    raw = options.optional("maxBytesPerTrigger")
    if raw is None:
        return files, None
    if files is not None:
        raise ValueError("give maxFilesPerTrigger or maxBytesPerTrigger, not both")
    return None, options.octets("maxBytesPerTrigger", 0)


class Refused(DataSourceStreamReader):
    """What stands for a stream that cannot be: raised while it is made, Spark loses the error."""

    def __init__(self, problem: Exception) -> None:
        """problem: what the first question is answered with."""
        self.problem = problem

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The first thing that Spark asks for."""
        raise self.problem

    def latestOffset(self, *args: Any) -> dict[str, Any]:  # noqa: N802
        """What it asks for where a query goes on."""
        raise self.problem

    def partitions(self, start: Any, end: Any) -> Sequence[InputPartition]:
        """Asked for first before Spark 4.2, where a query goes on."""
        raise self.problem

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Never asked for."""
        raise self.problem
