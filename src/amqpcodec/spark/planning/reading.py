"""How captures are read on a task: what of them, and what happens where one cannot be read."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import pyarrow as pa
from pyspark.sql.types import StructType

from ... import capture
from ...capture.planning import (
    LIMITS,
    Arrangement,
    KeyLogSource,
    Limits,
    ServerPorts,
    Storage,
    locate,
    server_ports,
)
from .catalog import NO_PATH
from .columns import Plan, conform, plan, with_all
from .files import SELECTION, TOLERANT
from .options import CORRUPT, Options, limit_names, limits_of, mode_of, with_limit_options
from .ranges import Range, state_of
from .rows import (
    BATCH_ROWS,
    ROWS,
    RowFilter,
    aliases_of,
    by_mode,
    capture_columns,
    has_errors,
    small_columns,
    tell_midstream,
    tell_no_frames,
    unread_link_types,
    warn_of_skipped,
    with_error,
)
from .state_files import key_of
from .versions import InputPartition

__all__ = [
    "OPTIONS",
    "TASK_BYTES",
    "Files",
    "ReadOptions",
    "keylog_of",
    "open_reader",
    "paths_of",
    "ports_of",
    "read_chain",
    "read_file",
    "storage_of",
]

_log = logging.getLogger(__name__)

#: Spark's own size of a task.
TASK_BYTES = 128 << 20

OPTIONS = (
    *("path", "paths", "ports", "protocol", "level", "fields", "redact", "fieldTables", "mode"),
    *("columnNameOfCorruptRecord", "files", "maxPartitionBytes", "keylog"),
    *limit_names(Limits),
    *(*SELECTION, *TOLERANT, *ROWS),
    *("stateLocation", "maxFilesPerTrigger", "maxBytesPerTrigger", "closeAfter"),
)


@dataclass(frozen=True)
class Files(InputPartition):
    """Files that one task reads, one after the other, or as one chain."""

    paths: tuple[str, ...]
    chained: bool = False


@dataclass(frozen=True)
class ReadOptions:
    """What is read out of every file; it travels to the workers."""

    plan: Plan
    level: str
    ports: ServerPorts
    protocol: str | None
    redact: bool
    mode: str
    ignore_corrupt: bool
    ignore_missing: bool
    row_filter: RowFilter
    joined: bool
    keylog: KeyLogSource | None = field(default=None, repr=False)
    limits: Limits = LIMITS

    @classmethod
    def of(cls, options: Options, schema: StructType | None) -> ReadOptions:
        """What options and a schema of the user's ask for; unknown options are refused."""
        options.refuse_unknown(OPTIONS, ("fs.",))
        arrangement = arrangement_of(options)
        ignore_corrupt = options.flag("ignoreCorruptFiles", False)
        if arrangement in ("rotation", "taps") and ignore_corrupt:
            raise ValueError(
                f"option files {arrangement} needs each file: omit ignoreCorruptFiles, or use"
                " files auto or separate"
            )
        level = options.text("level", "frame").lower()
        protocol = options.optional("protocol")
        schema_of_names = capture_columns(level, protocol)
        fields = options.names("fields")
        requested_columns = (
            small_columns(schema_of_names, level)
            if fields is None
            else with_all(schema_of_names, fields)
        )
        if schema is not None and fields is not None and len(requested_columns) != len(schema):
            raise ValueError("give a schema or the option fields, not both")
        mode = mode_of(options.text("mode", "PERMISSIVE"))
        corrupt = options.text("columnNameOfCorruptRecord", CORRUPT)
        column_plan = plan(
            schema_of_names,
            requested_columns if schema is None else schema,
            corrupt,
            options.optional("fieldTables"),
            aliases_of(level),
        )
        return cls(
            with_error(column_plan, mode, level),
            level,
            ports_of(options),
            protocol,
            options.flag("redact", True),
            mode,
            ignore_corrupt,
            options.flag("ignoreMissingFiles", False),
            RowFilter.of(options, level),
            arrangement == "taps",
            keylog_of(options),
            limits_of(options, Limits),
        )

    def depends(self) -> tuple[object, ...]:
        """What the states of a reader depend on beside its files.

        States of 0.1.0 had the ports alone, and 5672 where none were named.
        """
        keys = repr(self.keylog).encode()
        digest = hashlib.blake2b(keys, digest_size=16).hexdigest()
        return (self.level, self.ports.numbers, self.protocol, self.redact, digest)

    def counting(self) -> ReadOptions:
        """The same, for a reader that gives no column but one of few bytes."""
        field = "error" if has_errors(self.level) else "event_id"
        return replace(self, plan=replace(self.plan, fields=(field,)))


def arrangement_of(options: Options) -> Arrangement:
    """The option files, as capture.read has it."""
    return options.word("files", "auto", {name: name for name in get_args(Arrangement)})


def paths_of(options: Options) -> list[str]:
    """``load(path)`` comes as path, ``load([path, ...])`` as paths, a JSON list."""
    paths: list[str] = json.loads(options.text("paths", "[]"))
    path = options.optional("path")
    if path is not None:
        paths.append(path)
    if not paths:
        raise ValueError(NO_PATH)
    return paths


def storage_of(options: Options, filesystem: Any = None) -> Storage:
    """How tasks reach files that are none of their machine's: by the options ``fs.*``.

    filesystem: what all paths are of; None: what their schemes say.
    """
    values = options.items()
    fs = {name: text for name, text in values.items() if name.startswith("fs.")}
    if fs and filesystem is not None:
        raise ValueError(f"a file system has its own options: {', '.join(fs)} go without one")
    return Storage(fs, filesystem)


def ports_of(options: Options) -> ServerPorts:
    """The servers' ports."""
    named = options.optional("ports") is not None
    ports = options.numbers("ports", ()) if named else None
    if not all(0 < port < 65536 for port in ports or ()):
        raise ValueError(f"option ports is numbers from 1 to 65535, not {ports!r}")
    return server_ports(ports, keylog=keylog_of(options) is not None)


def keylog_of(options: Options) -> KeyLogSource | None:
    """The option keylog: a path, which tasks open, or the lines of a key log."""
    text = options.optional("keylog")
    return text.splitlines() if text is not None and "\n" in text else text


def read_chain(
    paths: Sequence[str], read_options: ReadOptions, target: pa.Schema, storage: Storage
) -> Iterator[pa.RecordBatch]:
    """The rows of several files as one chain."""
    if read_options.ignore_missing:
        present_paths = [path for path in paths if storage.holds(path) or os.path.exists(path)]
        for path in sorted(set(paths) - set(present_paths)):
            _log.warning("skipped %s: it went away", path)
        paths = present_paths
    if paths:
        yield from read_file(paths, read_options, target, storage)


def read_file(
    path: str | Sequence[str],
    read_options: ReadOptions,
    target: pa.Schema,
    storage: Storage,
    part: Range | None = None,
) -> Iterator[pa.RecordBatch]:
    """A file, or several as one chain, or a part of them."""
    reader = open_reader(path, read_options, storage)
    read_options.row_filter.filter_reader(reader, read_options.mode, read_options.level)
    stop = None
    if part is not None:
        stop = part.stop
        state = state_of(part)
        if state is not None:
            reader.resume(state, key_of())
    before = unread_link_types(reader) if part is not None else {}
    try:
        for rows in reader.read(stop):
            if len(rows):
                batch = by_mode(pa.record_batch(rows), read_options.plan, read_options.mode)
                yield conform(batch, read_options.plan, target)
                del batch
            del rows  # so that the next ones can have their memory
        if part is not None and part.planned and part.stop and reader.offset < part.stop[1]:
            raise capture.CaptureError(
                f"{_path_text(path)}: {_NOT_REACHED % (reader.offset, part.stop[1])}"
            )
        _judge(reader, path, read_options)
        warn_of_skipped(reader, _path_text(path), read_options.mode, before)
        if part is None or (part.planned and part.stop is None):  # the state has all before it
            tell_no_frames(reader, _path_text(path), read_options.ports)
        if part is None and isinstance(path, str):
            tell_midstream(reader, path)
    except FileNotFoundError as problem:
        # It was there when the job was planned.
        if not read_options.ignore_missing:
            raise
        _log.warning("skipped %s: %s", _path_text(path), problem)
    except (capture.CaptureError, OSError) as problem:
        if not read_options.ignore_corrupt:
            problem.add_note(
                f"while reading {_path_text(path)} (ignoreCorruptFiles keeps what came before)"
            )
            raise
        _log.warning("skipped the rest of %s: %s", _path_text(path), problem)


#: The pass that planned a range got that far.
_NOT_REACHED = "it ends at byte %d, and its range at byte %d: another file than was planned"


def _path_text(path: str | Sequence[str]) -> str:
    """A file, or the first of a chain and how many there are."""
    if isinstance(path, str) or len(path) == 1:
        return path if isinstance(path, str) else path[0]
    return f"{path[0]} and {len(path) - 1} more"


def _judge(reader: capture.Reader, path: str | Sequence[str], read_options: ReadOptions) -> None:
    damage = with_limit_options(reader.damaged or "")
    if damage and read_options.mode == "FAILFAST":
        raise capture.CaptureError(damage)
    if damage:
        _log.warning("%s: %s", _path_text(path), damage)


def open_reader(
    path: str | Sequence[str], read_options: ReadOptions, storage: Storage
) -> capture.Reader:
    """A reader of a file, or of several as one chain."""
    single = isinstance(path, str)
    return capture.read(
        locate(path, storage) if single else [locate(file_path, storage) for file_path in path],
        level=read_options.level,
        fields=list(read_options.plan.fields),
        ports=read_options.ports.argument,
        protocol=read_options.protocol,
        batch_rows=BATCH_ROWS,
        redact=read_options.redact,
        files="taps" if read_options.joined else "rotation",  # a partition is one of these
        field_tables=read_options.plan.field_tables,
        order="none",  # as they are found, so that ranges give what one task would
        keylog=read_options.keylog,
        **read_options.limits.options,
    )
