"""The data source ``amqp_capture``: capture files to frames or messages."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from .. import capture
from ..capture._storage import Storage, is_remote, locate
from .catalog import NO_PATH, given_in_sql, recall, remember
from .columns import Plan, arrow_schema, conform, plan
from .files import SELECTION, TOLERANT, CaptureFile, Selection, check_paths, group, list_files
from .options import CORRUPT, Options, mode_of
from .ranges import Range, is_packed, key_of, ranges, state_of
from .rows import BATCH_ROWS, by_mode, with_error
from .versions import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

__all__ = ["AmqpCapture", "CaptureFiles", "Files"]

_log = logging.getLogger(__name__)

#: Spark's own size of a task.
TASK_OCTETS = 128 << 20

OPTIONS = (
    *("path", "paths", "ports", "protocol", "level", "fields", "redact", "tables", "mode"),
    *("columnNameOfCorruptRecord", "chain", "maxPartitionBytes", *SELECTION, *TOLERANT),
    *("stateLocation", "maxFilesPerTrigger", "closeAfter"),
)

#: Options of the contract that this source does not have yet, and the value that asks for nothing.
_LATER = {"maxFilesPerTrigger": "", "closeAfter": ""}


@dataclass(frozen=True)
class Files(InputPartition):
    """Files that one task reads, one after the other."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class _Read:
    """What is read out of every file; it travels to the workers."""

    plan: Plan
    level: str
    ports: tuple[int, ...]
    protocol: str | None
    redact: bool
    mode: str
    ignore_corrupt: bool
    ignore_missing: bool
    chain: bool

    @classmethod
    def of(cls, options: Options, schema: StructType | None) -> _Read:
        options.refuse_unknown(OPTIONS, ("fs.",))
        for name, nothing in _LATER.items():
            if options.text(name, nothing).lower() != nothing:
                raise ValueError(f"option {name} is not there yet")
        chain = options.flag("chain", False)
        ignore_corrupt = options.flag("ignoreCorruptFiles", False)
        if chain and ignore_corrupt:
            raise ValueError("option chain does not go with ignoreCorruptFiles: it needs each file")
        level = options.text("level", "frame").lower()
        fields = options.names("fields")
        wanted: Sequence[str] | StructType | None = fields
        if schema is not None:
            wanted = schema
            if fields is not None and len(fields) != len(schema):
                raise ValueError("give a schema or the option fields, not both")
        mode = mode_of(options.text("mode", "PERMISSIVE"))
        corrupt = options.text("columnNameOfCorruptRecord", CORRUPT)
        protocol = options.optional("protocol")

        def told(names: list[str] | None, tables: str) -> pa.Schema:
            return pa.schema(capture.schema(level, names, protocol, tables))

        return cls(
            with_error(plan(told, wanted, corrupt, options.optional("tables")), mode),
            level,
            _ports(options),
            protocol,
            options.flag("redact", True),
            mode,
            ignore_corrupt,
            options.flag("ignoreMissingFiles", False),
            chain,
        )


def storage_of(options: Options) -> Storage:
    """How tasks reach files that are none of their machine's: by the options ``fs.*``."""
    given = options.items()
    return Storage({name: text for name, text in given.items() if name.startswith("fs.")})


def _ports(options: Options) -> tuple[int, ...]:
    ports = options.numbers("ports", (5672,))
    if not all(0 < port < 65536 for port in ports):
        raise ValueError(f"option ports is numbers from 1 to 65535, not {ports!r}")
    return ports


class AmqpCapture(DataSource):
    """``spark.read.format("amqp_capture").load(path)``: a row a frame, or a message.

    Options, in any case: ``ports``, ``protocol``, ``level``, ``fields`` (names with commas, or a
    JSON list), ``redact``, ``tables`` ("json", "variant" or "map"; by default what the types of a
    schema say), ``mode``, ``columnNameOfCorruptRecord``,
    ``recursiveFileLookup``, ``pathGlobFilter``, ``modifiedBefore``, ``modifiedAfter``,
    ``timeZone`` (of those two; UTC), ``ignoreCorruptFiles``, ``ignoreMissingFiles``,
    ``maxPartitionBytes``, ``chain``. A schema of the user's prunes and orders as ``fields`` does.

    A file is read by one task; small files share one. With ``stateLocation``, a folder that driver
    and tasks have mounted, plain files (and chains of them) of more than ``maxPartitionBytes`` are
    cut into ranges of that size: the driver reads them once, counting only, and keeps there what
    each range goes on from, which later reads of the same files use again; it holds what was sent
    in part, so see amqpcodec.spark.ranges. Packed files stay one task. With ``chain`` all files are
    those of one
    rotation: one task reads them in order of their first packets, and frames go on from file to
    file. A capture that is cut or damaged gives what
    is before the damage, which mode FAILFAST refuses; capture_stats tells of it. A file that is no
    capture ends the job, unless ``ignoreCorruptFiles`` leaves it out.
    """

    @classmethod
    def name(cls) -> str:
        """What stands in ``format(...)`` and ``USING``."""
        return "amqp_capture"

    def schema(self) -> StructType:
        """The columns that the options ask for; no file is opened, but all options are checked."""
        told = Options(self.options)
        options = given_in_sql(told)
        schema = _Read.of(options, None).plan.schema
        Selection.of(options)
        options.octets("maxPartitionBytes", TASK_OCTETS)
        check_paths(_paths(options))
        return remember(schema, told, OPTIONS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """schema: what schema() said, or what the user gave."""
        reader = _Reader(recall(Options(self.options), schema), schema)
        reader.check()
        return reader

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Refused, in words: raising here would show as an UnboundLocalError of Spark's."""
        return _NoStream()


_NO_STREAM = (
    "amqp_capture is no streaming source yet: read the finished files of a folder with spark.read, "
    "for example in foreachBatch over a stream of their names"
)


class _NoStream(DataSourceStreamReader):
    """What stands for a stream until there is one."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The first thing that Spark asks for."""
        raise NotImplementedError(_NO_STREAM)

    def latestOffset(self, *args: Any) -> dict[str, Any]:  # noqa: N802
        """What it asks for where a query goes on."""
        raise NotImplementedError(_NO_STREAM)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Never asked for."""
        raise NotImplementedError(_NO_STREAM)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Never asked for."""
        raise NotImplementedError(_NO_STREAM)


class CaptureFiles(DataSourceReader):
    """What all readers of captures share: files to tasks."""

    # No pushFilters: where it is merely defined, every read fails unless a setting of Spark is on.

    def __init__(self, options: Options) -> None:
        """options: paths, which files of them, and how many go into a task."""
        self.options = options
        self.storage = storage_of(options)

    def check(self) -> None:
        """Refuse wrong options and paths that stand for nothing before a job starts."""
        Selection.of(self.options)
        self.options.octets("maxPartitionBytes", TASK_OCTETS)
        check_paths(_paths(self.options))

    def partitions(self) -> Sequence[InputPartition]:
        """Tasks by files' names and sizes; no file is opened."""
        files = list_files(_paths(self.options), Selection.of(self.options), self.storage)
        octets = self.options.octets("maxPartitionBytes", TASK_OCTETS)
        if self.options.flag("chain", False):
            return self.cut(files, octets) or [Files(tuple(file.path for file in files))]
        tasks: list[InputPartition] = []
        for paths in group(files, octets):
            large = [file for file in files if file.path in paths and file.size > octets]
            tasks += (self.cut(large, octets) if large else []) or [Files(paths)]
        return tasks or [Files(())]

    def cut(self, files: Sequence[CaptureFile], octets: int) -> Sequence[InputPartition]:
        """A file, or a chain, as ranges for several tasks; none where it stays one task."""
        return []


class _Reader(CaptureFiles):
    def __init__(self, options: Options, schema: StructType | None) -> None:
        super().__init__(options)
        self.what = _Read.of(options, schema)

    def cut(self, files: Sequence[CaptureFile], octets: int) -> Sequence[InputPartition]:
        """Ranges, where stateLocation says where states are kept, and files are not packed."""
        location = self.options.optional("stateLocation")
        if not location or sum(file.size for file in files) <= octets:
            return []
        if any(is_packed(file.path, self.storage) for file in files):
            _log.warning("packed captures are read by one task: %s", files[0].path)
            return []
        paths = [file.path for file in files]
        what = replace(self.what, plan=replace(self.what.plan, fields=("error",)))
        depends = (what.level, what.ports, what.protocol, what.redact)
        return ranges(files, octets, location, depends, lambda: _open(paths, what, self.storage))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What a task gives."""
        target = arrow_schema(self.what.plan.schema)
        if isinstance(partition, Range):
            yield from _read_file(partition.paths, self.what, target, self.storage, partition)
            return
        assert isinstance(partition, Files)
        if self.what.chain:
            yield from _read_chain(partition.paths, self.what, target, self.storage)
            return
        for path in partition.paths:
            yield from _read_file(path, self.what, target, self.storage)


def _paths(options: Options) -> list[str]:
    """``load(path)`` comes as path, ``load([path, ...])`` as paths, a JSON list."""
    paths: list[str] = json.loads(options.text("paths", "[]"))
    path = options.optional("path")
    if path is not None:
        paths.append(path)
    if not paths:
        raise ValueError(NO_PATH)
    return paths


def _read_chain(
    paths: Sequence[str], what: _Read, target: pa.Schema, storage: Storage
) -> Iterator[pa.RecordBatch]:
    if what.ignore_missing:
        there = [path for path in paths if is_remote(path) or os.path.exists(path)]
        for path in sorted(set(paths) - set(there)):
            _log.warning("left out %s: it went away", path)
        paths = there
    if paths:
        yield from _read_file(paths, what, target, storage)


def _read_file(
    path: str | Sequence[str],
    what: _Read,
    target: pa.Schema,
    storage: Storage,
    part: Range | None = None,
) -> Iterator[pa.RecordBatch]:
    """A file, or several as one chain, or a part of them."""
    reader = _open(path, what, storage)
    stop = None
    if part is not None:
        stop = part.stop
        state = state_of(part)
        if state is not None:
            reader.resume(state, key_of())
    try:
        for rows in reader.read(stop):
            yield conform(by_mode(pa.record_batch(rows), what.plan, what.mode), what.plan, target)
        _judge(reader, path, what)
    except FileNotFoundError as problem:
        # It was there when the job was planned.
        if not what.ignore_missing:
            raise
        _log.warning("left out %s: %s", path, problem)
    except (capture.CaptureError, OSError) as problem:
        if not what.ignore_corrupt:
            problem.add_note(f"while reading {path} (ignoreCorruptFiles keeps what came before)")
            raise
        _log.warning("left out the rest of %s: %s", path, problem)


def _judge(reader: capture.Reader, path: object, what: _Read) -> None:
    if reader.damaged and what.mode == "FAILFAST":
        raise capture.CaptureError(reader.damaged)
    if reader.damaged:
        _log.warning("%s: %s", path, reader.damaged)


def _open(path: str | Sequence[str], what: _Read, storage: Storage) -> capture.Reader:
    single = isinstance(path, str)
    return capture.read(
        locate(path, storage) if single else [locate(each, storage) for each in path],
        level=what.level,
        fields=list(what.plan.fields),
        ports=what.ports,
        protocol=what.protocol,
        batch_rows=BATCH_ROWS,
        redact=what.redact,
        chain=True,  # the paths of a partition are those of one
        tables=what.plan.tables,
        order="none",  # as they are found, so that ranges give what one task would
    )
