"""RabbitMQ's own traces: logs of its tracing plugin, and messages of the firehose."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StringType

from ... import traces
from ...capture.planning import Unpacking, locate
from ...traces._read import respell_limits_of_errors
from ..planning.columns import Plan, arrow_schema, conform, plan
from ..planning.files import SELECTION, Selection, group, list_files
from ..planning.options import Options, limit_names, limit_option, limits_of
from ..planning.reading import TASK_BYTES, storage_of
from ..planning.refusals import refusing
from .captures import task_for_each

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["decode_traces", "read_traces"]

_log = logging.getLogger(__name__)

_OPTIONS = (
    *("fields", "format", "ignoreCorruptFiles"),
    *limit_names(Unpacking),
    *SELECTION,
)
#: What a message of the firehose is read from, and what more is taken of it.
_NEEDED = ("exchange", "routing_key", "properties", "body")
_MORE = ("method", "file", "timestamp", "packet_offset")


@refusing
def read_traces(
    spark: SparkSession,
    path: str | Iterable[str],
    options: Mapping[str, Any] | None = None,
    *,
    filesystem: Any = None,
) -> DataFrame:
    """The logs of RabbitMQ's tracing plugin, text and JSON, and firehose messages as JSON Lines.

    A row for each message that went in or out, with the columns of amqpcodec.traces.read, which are
    those of messages of captures where a trace has them. A log is one task; small ones share one.

    Args:
        spark: a session.
        path: a file, folder or glob, or some of them; URIs as for captures.
        options: ``fields``; ``format`` ("json" or "text"; "auto" as it is, by each file's first
            bytes); ``ignoreCorruptFiles`` (skip what is no trace, with a warning);
            ``maxDecompressedBytes``, ``maxCompressionRatio``, ``fs.*`` and those of captures that
            choose files.
        filesystem: as read_captures has it.

    Raises:
        ValueError: an option is wrong, or a column is not known.
        FileNotFoundError: a path stands for nothing.
    """
    settings = Options(options)
    settings.refuse_unknown(_OPTIONS, ("fs.",))
    decoded = _plan(settings.names("fields"))
    kind, storage = settings.text("format", "auto").lower(), storage_of(settings, filesystem)
    traces.read("", format=kind)  # refuses wrong ones here
    tolerant = settings.flag("ignoreCorruptFiles", False)
    unpacking = limits_of(settings, Unpacking)
    paths = [path] if isinstance(path, str) else list(path)
    files = list_files(paths, Selection.of(settings), storage)
    target = arrow_schema(decoded.schema)

    def rows(paths: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        for log_path in paths:
            try:
                for batch in traces.read(
                    locate(log_path, storage),
                    decoded.fields,
                    format=kind,
                    **unpacking.options,
                ):
                    batch = respell_limits_of_errors(batch, limit_option)
                    yield conform(batch, decoded, target)
            except ValueError as problem:
                if not tolerant:
                    raise
                _log.warning("skipped %s: %s", log_path, problem)

    return task_for_each(spark, group(files, TASK_BYTES), rows, decoded.schema)


@refusing
def decode_traces(df: DataFrame, fields: Iterable[str] | None = None) -> DataFrame:
    """Rows of traces, of messages that a client consumed from amq.rabbitmq.trace, the firehose.

    ::

        messages = read_captures(spark, "captures/", {"level": "message", "fields": "*"})
        decode_traces(messages)

    Args:
        df: messages, with the columns exchange, routing_key, properties (headers as JSON text) and
            body, as captures have them. Those of other exchanges give no row. ``file``,
            ``timestamp`` and ``packet_offset``, where they are there, become those of the rows.
        fields: names of the columns of amqpcodec.traces.read. None: all.

    Raises:
        ValueError: a column is missing or not known.
        TypeError: headers are no JSON text.
    """
    missing = [name for name in _NEEDED if name not in df.columns]
    if missing:
        raise ValueError(f"messages have {', '.join(_NEEDED)}: there is no {missing[0]}")
    messages = df.select(*_NEEDED, *(name for name in _MORE if name in df.columns))
    if messages.selectExpr("properties.headers").schema[0].dataType != StringType():
        raise TypeError("headers of messages are JSON text here: field_tables is 'json'")
    decoded = _plan(fields)
    target = arrow_schema(decoded.schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in traces.unwrap(batches):
            yield conform(batch.select(decoded.fields), decoded, target)

    return messages.mapInArrow(run, decoded.schema)


def _plan(fields: Iterable[str] | None) -> Plan:
    return plan(lambda names, _tables: traces.read("", names).schema, fields, None)
