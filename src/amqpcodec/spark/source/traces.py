"""RabbitMQ's own traces: logs of its tracing plugin, and messages of the firehose."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType

from ... import traces
from ...capture.planning import Unpacking, locate
from ...traces._read import EXCHANGE, respell_limits_of_errors
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
    *("fields", "level", "format", "ignoreCorruptFiles"),
    *limit_names(Unpacking),
    *SELECTION,
)
#: What a message of the firehose is read from, and what more is taken of it.
_NEEDED = ("exchange", "routing_key", "properties", "body")
_MORE = ("method", "file", "timestamp", "packet_offset")
#: What says which messages of the firehose are of one recording, and their order in it.
_PLACE = ("file", "packet_offset", "position")


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
    At level "event" the rows are events, with the columns of those of captures, which ``analysis``
    takes; what a trace does not say is null.

    Args:
        spark: a session.
        path: a file, folder or glob, or some of them; URIs as for captures.
        options: ``fields``; ``level`` ("message" or "event"); ``format`` ("json" or "text"; "auto"
            as it is, by each file's first bytes); ``ignoreCorruptFiles`` (skip what is no trace,
            with a warning); ``maxDecompressedBytes``, ``maxCompressionRatio``, ``fs.*`` and those
            of captures that choose files.
        filesystem: as read_captures has it.

    Raises:
        ValueError: an option is wrong, or a column is not known.
        FileNotFoundError: a path stands for nothing.
    """
    settings = Options(options)
    settings.refuse_unknown(_OPTIONS, ("fs.",))
    level = settings.text("level", "message").lower()
    decoded = _plan(settings.names("fields"), level)
    kind, storage = settings.text("format", "auto").lower(), storage_of(settings, filesystem)
    traces.read("", format=kind)  # refuses wrong ones here
    tolerant = settings.flag("ignoreCorruptFiles", False)
    unpacking = limits_of(settings, Unpacking)
    paths = [path] if isinstance(path, str) else list(path)
    files = list_files(paths, Selection.of(settings), storage)
    target = arrow_schema(decoded.schema)
    errors = "reason" if level == "event" else "error"

    def rows(paths: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        for log_path in paths:
            try:
                for batch in traces.read(
                    locate(log_path, storage),
                    decoded.fields,
                    format=kind,
                    level=level,
                    **unpacking.options,
                ):
                    batch = respell_limits_of_errors(batch, limit_option, errors)
                    yield conform(batch, decoded, target)
            except ValueError as problem:
                if not tolerant:
                    raise
                _log.warning("skipped %s: %s", log_path, problem)

    return task_for_each(spark, group(files, TASK_BYTES), rows, decoded.schema)


@refusing
def decode_traces(
    df: DataFrame, fields: Iterable[str] | None = None, *, level: str = "message"
) -> DataFrame:
    """Rows of traces, of messages that a client consumed from amq.rabbitmq.trace, the firehose.

    ::

        messages = read_captures(spark, "captures/", {"level": "message", "fields": "*"})
        decode_traces(messages)
        decode_traces(messages, level="event")

    At level "event" df is shuffled by file, and sorted, since events are numbered in the order of
    their messages: the messages of a file are one task.

    Args:
        df: messages, with the columns exchange, routing_key, properties (headers as JSON text) and
            body, as captures have them. Those of other exchanges give no row. ``file``,
            ``timestamp`` and ``packet_offset``, where they are there, become those of the rows.
            Level "event" needs ``file``, ``packet_offset`` and ``position``.
        fields: names of the columns of amqpcodec.traces.read at this level. None: all.
        level: "message", or "event" for rows of events, which ``analysis`` takes.

    Raises:
        ValueError: a column is missing or not known; the level is another one; events of a stream.
        TypeError: headers are no JSON text.
    """
    level = level.lower()
    decoded = _plan(fields, level)
    missing = [name for name in _NEEDED if name not in df.columns]
    if missing:
        raise ValueError(f"messages have {', '.join(_NEEDED)}: there is no {missing[0]}")
    if level == "event":
        df = _in_order(df)
    messages = df.select(*_NEEDED, *(name for name in _MORE if name in df.columns))
    if messages.selectExpr("properties.headers").schema[0].dataType != StringType():
        raise TypeError("headers of messages are JSON text here: field_tables is 'json'")
    target = arrow_schema(decoded.schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in traces.unwrap(batches, level):
            yield conform(batch.select(decoded.fields), decoded, target)

    return messages.mapInArrow(run, decoded.schema)


def _in_order(df: DataFrame) -> DataFrame:
    """The messages of the firehose, those of a file together, in the order of its packets."""
    missing = [name for name in _PLACE if name not in df.columns]
    if missing:
        raise ValueError(
            f"level='event' numbers events by {', '.join(_PLACE)}: there is no {missing[0]}"
        )
    if df.isStreaming:
        raise ValueError(
            "level='event' needs all messages of a file at once, which a stream does not have: "
            "decode the stream at level='message'"
        )
    wrapped = df.where(sf.col("exchange") == EXCHANGE)
    return wrapped.repartition("file").sortWithinPartitions(*_PLACE)


def _plan(fields: Iterable[str] | None, level: str) -> Plan:
    return plan(lambda names, _tables: traces.read("", names, level=level).schema, fields, None)
