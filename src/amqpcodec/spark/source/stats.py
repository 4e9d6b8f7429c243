"""Counts of capture files, a row a file: the data source ``amqp_capture_stats``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import LongType, MapType, StringType, StructType

from ... import capture
from ...capture.planning import Arrangement, Limits, locate
from ..planning.columns import arrow_schema
from ..planning.files import SELECTION
from ..planning.options import Options, limit_names, limits_of, with_limit_options
from ..planning.reading import Files, arrangement_of, keylog_of, ports_of
from ..planning.refusals import refusing
from ..planning.versions import DATA_SOURCES, DataSource, DataSourceReader, InputPartition
from .captures import task_for_each
from .data_source import CaptureFiles, with_paths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["AmqpCaptureStats", "capture_stats"]

_OPTIONS = (
    *("path", "paths", "ports", "protocol", "maxPartitionBytes", "files", "keylog"),
    *limit_names(Limits),
    *SELECTION,
)

#: Counts by name, and plain ones; what they mean is told by capture.stats.
_BY_NAME = (
    *("versions", "frames", "methods", "skipped", "unread_link_types", "other_protocol_names"),
    *("tls_reasons", "detected_ports", "unread_header_ports"),
)
_COUNTS = (
    *("packets", "octets", "connections", "errors", "gaps", "lost_bytes", "resyncs"),
    *("midstream", "tls_connections", "tls_decrypted", "websockets", "other_protocols"),
    *("skipped_bytes", "retransmitted_bytes", "conflicting_bytes", "proxied_connections"),
    *("translated_connections", "ip_fragments", "ip_reassembled", "resets"),
    "reorder_overflows",
)


@refusing
def capture_stats(
    spark: SparkSession,
    path: str | Iterable[str],
    options: Mapping[str, Any] | None = None,
    *,
    filesystem: Any = None,
) -> DataFrame:
    """What capture files hold and what of them was not read, a row a file.

    Columns: file; damaged (text, where reading ended early or the file is no capture, else
    null); packets, octets (captured), connections, errors, gaps, lost_bytes, resyncs,
    midstream (directions), tls_connections, tls_decrypted (of these), websockets,
    other_protocols (connections), skipped_bytes, retransmitted_bytes, conflicting_bytes,
    proxied_connections, translated_connections, ip_fragments, ip_reassembled, resets,
    reorder_overflows; and maps of counts: versions (connections by protocol), frames (by type),
    methods (frames by method or performative), skipped (packets by reason), unread_link_types
    (packets by a link type that is not read), other_protocol_names (connections that were not
    read, by what they speak), tls_reasons (directions that were not read), detected_ports and
    unread_header_ports (as capture.stats has them). A file, or a rotation, is one task.

    Args:
        spark: a session.
        path: a file, folder or glob, or some of them.
        options: those of ``amqp_capture`` that choose files; ``ports``, ``protocol``, ``files``,
            ``keylog`` and the limits (``openConnections``: see capture.LimitOptions).
        filesystem: as read_captures has it; files are then listed now, as before Spark 4.0.

    Raises:
        An error of Spark when it runs: a path stands for nothing, an option is not known.
    """
    if filesystem is not None or not DATA_SOURCES:
        settings = with_paths(path, options)
        settings.refuse_unknown(_OPTIONS, ("fs.",))
        reader = _Reader(settings, _schema(), filesystem)
        reader.check()
        return task_for_each(spark, reader.partitions(), reader.read, reader.columns)
    spark.dataSource.register(AmqpCaptureStats)
    paths: Any = path if isinstance(path, str) else list(path)
    return spark.read.format("amqp_capture_stats").options(**dict(options or {})).load(paths)


class AmqpCaptureStats(DataSource):
    """The data source of capture_stats."""

    @classmethod
    def name(cls) -> str:
        """What stands in ``format(...)`` and ``USING``."""
        return "amqp_capture_stats"

    def schema(self) -> StructType:
        """Always the same; the options are checked."""
        Options(self.options).refuse_unknown(_OPTIONS, ("fs.",))
        return _schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """schema: what schema() said, or columns of it."""
        return _Reader(Options(self.options), schema)


def _schema() -> StructType:
    columns = StructType().add("file", StringType()).add("damaged", StringType())
    for name in _COUNTS:
        columns.add(name, LongType())
    for name in _BY_NAME:
        columns.add(name, MapType(StringType(), LongType()))
    return columns


class _Reader(CaptureFiles):
    def __init__(self, options: Options, schema: StructType, filesystem: Any = None) -> None:
        super().__init__(options, filesystem)
        self.ports = ports_of(options)
        self.protocol = options.optional("protocol")
        self.keylog = keylog_of(options)
        self.limits = limits_of(options, Limits)
        self.columns = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A batch of one row for each file."""
        assert isinstance(partition, Files)
        target = arrow_schema(self.columns)
        for counts in self._counts(partition):
            columns = [pa.array([_value(counts.get(field.name))], field.type) for field in target]
            yield pa.RecordBatch.from_arrays(columns, schema=target)

    def _counts(self, partition: Files) -> Iterator[dict[str, Any]]:
        """Of each file; a chain in which one cannot be read is counted file by file."""
        if partition.chained:
            sources = [locate(path, self.storage) for path in partition.paths]
            with suppress(capture.CaptureError, OSError):
                taps = arrangement_of(self.options) == "taps"
                yield from self._stats(sources, "taps" if taps else "rotation")
                return
        for path in partition.paths:
            try:
                source = locate(path, self.storage)
                yield from self._stats(source, "auto")
            except (capture.CaptureError, OSError) as problem:
                yield {"file": path, "damaged": str(problem)}

    def _stats(self, source: Any, arrangement: Arrangement) -> list[dict[str, Any]]:
        counted = capture.stats(
            source,
            self.ports.argument,
            self.protocol,
            arrangement,
            keylog=self.keylog,
            **self.limits.options,
        )
        files: list[dict[str, Any]] = counted["files"]
        return [{**of, "damaged": with_limit_options(of["damaged"] or "") or None} for of in files]


def _value(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value
