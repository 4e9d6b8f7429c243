"""The data source ``amqp_capture``: capture files to frames, messages or events."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from ...capture.planning import Limits
from ..planning.catalog import recall, remember, with_sql_options
from ..planning.columns import arrow_schema
from ..planning.file_listing import listed, refuse_changed
from ..planning.files import Selection, StoredFile, check_paths, group, list_files
from ..planning.options import Options, limits_of
from ..planning.prescan import Outlined, write_outline
from ..planning.ranges import Range, ToCut, parts_to_outline, ranges, size_to_cut
from ..planning.reading import (
    OPTIONS,
    TASK_BYTES,
    Files,
    ReadOptions,
    arrangement_of,
    open_reader,
    paths_of,
    ports_of,
    read_chain,
    read_file,
    storage_of,
)
from ..planning.rotation import chains
from ..planning.versions import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from ..stream.capture_stream import CaptureStream, Refused

__all__ = ["AmqpCapture", "CaptureFiles", "CaptureRows", "with_paths"]

_log = logging.getLogger(__name__)


class AmqpCapture(DataSource):
    """``spark.read.format("amqp_capture").load(path)``: a row a frame, message or event.

    Without ``fields`` and a schema of the user's, the columns are those of bounded size: not the
    bytes of frames, payloads and bodies, nor ``arguments``, ``properties`` and other tables, which
    cost most of the time where nobody needs them. ``fields="*"`` is all, and "*" in a list is all
    others (``*,headers.n:long``).

    Options, in any case: ``ports``, ``protocol``, ``level``, ``fields`` (names with commas, or a
    JSON list), ``redact``, ``fieldTables`` ("json", "variant" or "map"; by default the type that a
    schema says), ``mode``, ``columnNameOfCorruptRecord``, ``recursiveFileLookup``,
    ``pathGlobFilter``, ``modifiedBefore``, ``modifiedAfter``, ``timeZone`` (of those two; UTC),
    ``ignoreCorruptFiles``, ``ignoreMissingFiles``, ``maxPartitionBytes``, ``stateLocation``,
    ``files`` ("auto", "rotation", "separate" or "taps"), ``keylog`` (a path that tasks can open,
    or its lines: the secrets of connections over TLS), the limits of capture.LimitOptions
    (``openConnections``, ``reorderBytes``, ...; bytes as ``64m``), ``methods``, ``directions``,
    ``connections``, ``timestampFrom`` and ``timestampBefore`` (only these rows). A schema of the
    user's prunes and orders as ``fields`` does. Options are text: read_captures takes a file
    system.

    A file is read by one task. So are the files of a rotation, which "auto" finds by their packets,
    as capture.read does, and with "taps" all files, which recorded the same traffic; small files
    share a task. With ``stateLocation``, a folder that driver and tasks have mounted, files and
    rotations of more than ``maxPartitionBytes`` are cut into ranges of that size. The driver reads
    them once, counting only, and keeps there what each range goes on from, which later reads of
    the same files use again; it holds what was sent in part, so see
    amqpcodec.spark.planning.ranges. Compressed files stay one task, but for zstd in its seekable
    format. A capture that is cut or damaged gives what is before the damage, which mode FAILFAST
    refuses; capture_stats reports it. A file that is no capture ends the job, unless
    ``ignoreCorruptFiles`` skips it.

    ``spark.readStream.format("amqp_capture")``: see amqpcodec.spark.stream; it needs
    ``stateLocation``, and takes ``closeAfter``, ``maxFilesPerTrigger``, ``maxBytesPerTrigger``.
    """

    @classmethod
    def name(cls) -> str:
        """What stands in ``format(...)`` and ``USING``."""
        return "amqp_capture"

    def schema(self) -> StructType:
        """The columns that the options ask for; no file is opened, but all options are checked."""
        settings = Options(self.options)
        options = with_sql_options(settings)
        schema = ReadOptions.of(options, None).plan.schema
        Selection.of(options)
        options.octets("maxPartitionBytes", TASK_BYTES)
        check_paths(paths_of(options))
        return remember(schema, settings, OPTIONS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """schema: what schema() said, or what the user gave."""
        reader = CaptureRows(recall(Options(self.options), schema), schema)
        reader.check()
        return reader

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """schema: what schema() said, or what the user gave."""
        try:
            return CaptureStream(Options(self.options), schema)
        except (OSError, ValueError) as problem:
            return Refused(problem)  # raised here, Spark shows an UnboundLocalError of its own


def with_paths(path: str | Iterable[str], options: Mapping[str, Any] | None) -> Options:
    """Options with the paths among them, as ``load()`` puts them there."""
    paths = [path] if isinstance(path, str) else list(path)
    return Options({**dict(options or {}), "paths": json.dumps(paths)})


class CaptureFiles(DataSourceReader):
    """What all readers of captures share: files to tasks."""

    # No pushFilters: where it is merely defined, every read fails unless a setting of Spark is on.

    def __init__(self, options: Options, filesystem: Any = None) -> None:
        """options: paths, which files of them, and how many go into a task."""
        self.options = options
        self.storage = storage_of(options, filesystem)

    def check(self) -> None:
        """Refuse wrong options and paths that stand for nothing before a job starts."""
        Selection.of(self.options)
        self.options.octets("maxPartitionBytes", TASK_BYTES)
        check_paths(paths_of(self.options), self.storage)

    def partitions(self) -> Sequence[InputPartition]:
        """Tasks: a chain is one, small files share one. With files="auto" files are looked at."""
        octets = self.options.octets("maxPartitionBytes", TASK_BYTES)
        tasks: list[InputPartition] = []
        alone: list[StoredFile] = []
        for chain in self.chains():
            if sum(file.size for file in chain) > octets:
                tasks += self.split_chain(chain, octets) or [_together(chain)]
            elif len(chain) > 1:
                tasks.append(_together(chain))
            else:
                alone += chain
        tasks += [Files(paths) for paths in group(alone, octets)]
        return tasks or [Files(())]

    def chains(self) -> list[list[StoredFile]]:
        """The files, those of a chain together."""
        files = list_files(paths_of(self.options), Selection.of(self.options), self.storage)
        ports, limits = ports_of(self.options), limits_of(self.options, Limits)
        return chains(files, arrangement_of(self.options), ports, self.storage, limits)

    def split_chain(self, files: Sequence[StoredFile], octets: int) -> Sequence[InputPartition]:
        """A file, or a chain, as ranges for several tasks; none where it stays one task."""
        return []


def _together(chain: Sequence[StoredFile]) -> Files:
    return Files(tuple(file.path for file in chain), len(chain) > 1)


_ONE_TASK = (
    "%s is read by one task, as each file or rotation of more than maxPartitionBytes is: option "
    "stateLocation has them cut into ranges"
)


class CaptureRows(CaptureFiles):
    """Reads frames, messages or events."""

    def __init__(self, options: Options, schema: StructType | None, filesystem: Any = None) -> None:
        super().__init__(options, filesystem)
        self.read_options = ReadOptions.of(options, schema)
        self._has_warned = False  # that a large file is one task

    @classmethod
    def of(
        cls,
        path: str | Iterable[str],
        options: Mapping[str, Any] | None,
        schema: StructType | None = None,
        filesystem: Any = None,
    ) -> CaptureRows:
        """The reader of these paths and options, which are checked."""
        reader = cls(with_paths(path, options), schema, filesystem)
        reader.check()
        return reader

    def split_chain(self, files: Sequence[StoredFile], octets: int) -> Sequence[InputPartition]:
        """Ranges, where stateLocation says where states are kept, and files can be cut."""
        to_cut = self._to_cut(files, octets)
        if to_cut is None:
            return []
        parts = ranges(to_cut)
        _log.info("%s: %d ranges", files[0].path, len(parts))
        return parts

    def to_outline(self, files: Sequence[StoredFile], octets: int) -> list[Outlined]:
        """What tasks may outline before split_chain(), which then takes less time.

        Nothing at level event: an outline has no frames, and its states hold what frames said."""
        if self.read_options.level == "event":
            return []
        to_cut = self._to_cut(files, octets)
        return [] if to_cut is None else parts_to_outline(to_cut)

    def outline(self, item: Outlined, octets: int) -> int:
        """Do so: how many bytes the outline has; 0: there is none."""
        reader = open_reader(item.path, self.read_options.counting(), self.storage)
        return write_outline(item, octets, reader)

    def _to_cut(self, files: Sequence[StoredFile], octets: int) -> ToCut | None:
        """What ranges() is given; None where the files stay one task."""
        location = self.options.optional("stateLocation")
        if not location:
            if not self._has_warned:
                _log.warning(_ONE_TASK, files[0].path)
                self._has_warned = True
            return None
        if self.read_options.joined:
            _log.warning("files that are joined are read by one task: %s", files[0].path)
            return None
        sizes = []
        for file in files:
            size = size_to_cut(file, self.storage)
            if size is None:
                _log.warning("%s is packed, with no table of frames: one task reads it", file.path)
                return None
            sizes.append(size)
        paths = [file.path for file in files]
        read_options = self.read_options.counting()
        return ToCut(
            [listed(file, self.storage) for file in files],
            sizes,
            octets,
            location,
            (*read_options.depends(), read_options.ports.detect, read_options.limits),
            lambda: open_reader(paths, read_options, self.storage),
            self.storage,
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What a task gives."""
        target = arrow_schema(self.read_options.plan.schema)
        if isinstance(partition, Range):
            yield from self._read_range(partition, target)
            return
        assert isinstance(partition, Files)
        if partition.chained:
            yield from read_chain(partition.paths, self.read_options, target, self.storage)
            return
        for path in partition.paths:
            yield from read_file(path, self.read_options, target, self.storage)

    def _read_range(self, part: Range, target: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a range, if its files are those that it was planned of."""
        try:
            refuse_changed(part.planned, self.storage)
        except (FileNotFoundError, ValueError) as problem:
            if not self.read_options.ignore_missing:
                raise
            _log.warning("skipped a range: %s", problem)
            return
        yield from read_file(part.paths, self.read_options, target, self.storage, part)
        refuse_changed(part.planned, self.storage)
