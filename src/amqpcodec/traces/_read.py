"""Records of traces out of files, and out of messages that were captured."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import pyarrow as pa

from .._facade.scalars import as_int
from ..capture._files import Pieces, Source, source_name
from ..capture._limits import LIMITS, Unpacking, respell_limits
from ..capture._storage import Storage, locate
from . import _events, _rows
from ._rows import RecordError

__all__ = ["BATCH_ROWS", "Reader", "are_traces", "is_trace", "read", "schema", "unwrap"]

#: Rows of a batch, at most, and bytes of their records.
BATCH_ROWS = 8192
BATCH_BYTES = 1 << 23
#: Bytes of a record that are read; the rest of a longer one is skipped.
RECORD_LIMIT = 1 << 27
#: The exchange of the firehose.
EXCHANGE = "amq.rabbitmq.trace"

#: What stands before a record of the text log, but for the line end of the payload before it.
_BETWEEN = re.compile(
    rb"(?:^|\n)={80}\r?\n(?=[^\n]{1,60}: Message (?:published|received)\r?\n\r?\n)"
)
#: Bytes of it, with those that follow it, at most.
_LONGEST = 256


def schema(level: str = "message") -> pa.Schema:
    """The columns of what read() gives at a level, "message" or "event".

    Raises:
        ValueError: the level is another one.
    """
    if level not in ("message", "event"):
        raise ValueError(f'level is "message" or "event" for a trace, not {level!r}')
    return _events.schema() if level == "event" else _rows.schema()


class Reader:
    """Iterates over the batches of a trace; see read()."""

    def __init__(
        self,
        source: Source,
        fields: Iterable[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        format: str = "auto",
        *,
        level: str = "message",
        max_decompressed_bytes: int = 0,
        max_compression_ratio: int = LIMITS.max_compression_ratio,
    ) -> None:
        """Nothing is opened yet."""
        if format not in ("auto", "json", "text"):
            raise ValueError(f'format is "auto", "json" or "text", not {format!r}')
        batch_rows = as_int(batch_rows)
        if batch_rows < 1:
            raise ValueError(f"batch_rows is at least 1, not {batch_rows}")
        complete_schema = schema(level)
        names = complete_schema.names if fields is None else list(fields)
        unknown = [name for name in names if name not in complete_schema.names]
        if unknown:
            raise ValueError(
                f"a trace has no column {unknown[0]!r}, only {', '.join(complete_schema.names)}"
            )
        #: The schema of the batches.
        self.schema: pa.Schema = pa.schema([complete_schema.field(name) for name in names])
        self._source = source
        self._batch_rows = batch_rows
        self._format = format
        self._level = level
        self._unpacking = Unpacking(max_decompressed_bytes, max_compression_ratio)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The batches, from the beginning."""
        name = source_name(self._source)
        rows: list[dict[str, Any]] = []
        size = 0
        events = _events.Events() if self._level == "event" else None
        for offset, record, parse in self._records():
            row = _row(record, parse)
            row["file"], row["offset"] = name, offset
            rows.append(row if events is None else events.of_row(row))
            size += len(record)
            if len(rows) == self._batch_rows or size >= BATCH_BYTES:
                yield self._batch(rows)
                rows, size = [], 0
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(rows, self.schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches as Arrow's stream in a PyCapsule.

        Raises:
            ValueError: the file is no trace. While it is read, Arrow makes an exception of its own.
            OSError: as open() does.
        """
        if isinstance(self._source, str | os.PathLike) and self._format == "auto":
            first = bytes(next(iter(Pieces(locate(self._source, Storage()))), b""))
            if first and _format_of(first) is None:
                raise _no_trace(self._source)
        stream = pa.RecordBatchReader.from_batches(self.schema, iter(self))
        return stream.__arrow_c_stream__(requested_schema)

    def _records(self) -> Iterator[tuple[int, bytes, Any]]:
        """(offset, the record, what reads it); at last, why the file could not be unpacked."""
        source = Pieces(locate(self._source, Storage()), unpacking=self._unpacking)
        for offset, record, parse, separated in self._of(iter(source)):
            if separated or source.fault is None:
                yield offset, record, parse
            elif len(record) <= RECORD_LIMIT:
                # how much of the last record is missing is unknown, even where it can be parsed
                yield offset, record, _refusing(source.fault)
                return
        if source.fault is not None:
            yield source.unpacked, b"", _refusing(source.fault)

    def _of(self, pieces: Iterator[bytes | memoryview]) -> Iterator[tuple[int, bytes, Any, bool]]:
        """(offset, the record, what reads it, whether a separator follows it)."""
        first = bytes(next(pieces, b""))
        trace_format = _format_of(first) if self._format == "auto" else self._format
        if trace_format is None:
            if not first:
                return
            raise _no_trace(self._source)
        if trace_format == "json":
            for offset, line, separated in _split_records(first, pieces, re.compile(rb"\n"), 0):
                if line.strip():
                    yield offset, line, _rows.of_json, separated
            return
        for offset, record, separated in _split_records(first, pieces, _BETWEEN, _LONGEST):
            if record.strip():
                yield offset, record.removesuffix(b"\n"), _rows.of_text, separated


def _no_trace(source: Source) -> ValueError:
    return ValueError(f"no trace of RabbitMQ: {source_name(source) or 'the file'}")


def _refusing(text: str) -> Callable[[bytes], dict[str, Any]]:
    def parse(_record: bytes) -> dict[str, Any]:
        raise RecordError(text)

    return parse


def _row(record: bytes, parse: Any) -> dict[str, Any]:
    problem = f"a record of more than {RECORD_LIMIT} bytes"
    if len(record) <= RECORD_LIMIT:
        try:
            row: dict[str, Any] = parse(record)
            return row
        except RecordError as error:
            problem = str(error)
        except RecursionError:
            problem = "tables too deep within each other"
    return {**_rows.empty(), "error": problem, "record": record}


def _split_records(
    first: bytes, pieces: Iterator[bytes | memoryview], between: re.Pattern[bytes], overlap: int
) -> Iterator[tuple[int, bytes, bool]]:
    """(offset, what stands between two matches, True); of what is too long, the beginning.

    What stands after the last match comes with False: only the end of the file ends it.

    overlap: bytes at the end of what was read that may be a part of a match.
    """
    data = bytearray(first)
    offset = looked = 0  # of what is in data; of it, bytes without a match
    is_complete = True  # data begins with the beginning of a record
    while True:
        start = 0
        while (match := between.search(data, looked)) is not None:
            if is_complete:
                yield offset + start, bytes(data[start : match.start()]), True
            start = looked = match.end()
            is_complete = True
        offset += start
        del data[:start]
        looked = max(0, len(data) - overlap)
        if len(data) > RECORD_LIMIT + overlap:
            if is_complete:
                yield offset, bytes(data[: RECORD_LIMIT + 1]), True
            gone = len(data) - overlap
            offset += gone
            del data[:gone]
            looked, is_complete = 0, False
        if pieces is _END:
            if is_complete and data:
                yield offset, bytes(data), False
            return
        piece = next(pieces, None)
        if piece is None:
            pieces = _END
        else:
            data += piece


#: In place of pieces when all were read.
_END: Iterator[bytes | memoryview] = iter(())


def _format_of(first: bytes) -> str | None:
    if first.lstrip()[:1] == b"{":
        return "json"
    return "text" if _BETWEEN.search(first[:4096]) else None


def is_trace(source: Source) -> bool:
    """Whether a file is a trace, by its first bytes. An open file must be seekable."""
    if isinstance(source, str | os.PathLike):
        return _format_of(bytes(next(iter(Pieces(locate(source, Storage()))), b""))) is not None
    place = source.tell()
    first = bytes(next(iter(Pieces(source)), b""))
    source.seek(place)
    return _format_of(first) is not None


def are_traces(sources: Iterable[Source]) -> bool:
    """Whether files are traces, by their first bytes: those of the first file, and then of all.

    Pipes are none. A file that cannot be opened says nothing.

    Raises:
        ValueError: the first one is a trace, and another one is not.
    """
    found = False
    for source in sources:
        seems = _seems_trace(source)
        if found and seems is False:
            raise ValueError("traces and captures have other columns: name one kind of them")
        if seems is False:
            return False
        found = found or bool(seems)
    return found


def _seems_trace(source: Source) -> bool | None:
    """None: it cannot be opened."""
    try:
        if isinstance(source, str | os.PathLike):
            return not (os.path.exists(source) and not os.path.isfile(source)) and is_trace(source)
        return source.seekable() and is_trace(source)
    except OSError:
        return None
    except ValueError:
        return False


def read(
    path_or_file: str | os.PathLike[str] | IO[bytes],
    fields: Iterable[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    format: str = "auto",
    *,
    level: str = "message",
    max_decompressed_bytes: int = 0,
    max_compression_ratio: int = LIMITS.max_compression_ratio,
) -> Reader:
    """Iterates over a trace as Arrow batches: a row each message that went in or out.

    It reads the tracing plugin's text logs and JSON logs, and firehose messages as JSON Lines
    (objects with ``routing_key``, ``properties`` with ``headers``, and ``body_b64``); gzip, zstd
    and lz4 are unpacked, and paths may be URIs, as for capture.read().

    Columns with the names and types of capture.read(level="message"): file, direction ("client" of
    what was published), timestamp (when the broker traced it, µs UTC; the firehose has none), src
    and dst, channel, method ("basic.publish", or "basic.deliver", also for what was fetched with
    basic.get), exchange, routing_key (the first one), redelivered (the firehose's alone),
    properties (headers are JSON text), body, error. And those of traces: offset (int64; bytes, in
    the decompressed file, of the record: the order), connection_name, node, vhost, user, queue
    (that a delivery is from), routing_keys, routed_queues (list of utf8) and record (binary; the
    bytes of a record with an error).

    At level "event" the rows are events, with all columns of ``capture.read(level="event")``: each
    record is a "published" or a "delivered". route has the queues that the broker chose, content is
    a number of the payload, details has the node. What a trace does not say is null: settlements
    and confirms, so that ``settles`` and ``answers`` are, tags, and of the plugin's logs body_size,
    since these may be cut. A record with an error is a "protocol-error", with it in reason.

    The JSON log has lost the types of headers: a timestamp is a number there. A payload that was
    cut by the plugin's max_payload_bytes looks like a complete one, and one that holds what
    the text log writes between records is read as two.

    Args:
        path_or_file: a path, a URI or an open binary file.
        fields: names of columns, which chooses and orders them.
        batch_rows: rows of a batch, at most.
        format: "auto" (by the first bytes), "json" or "text".
        level: "message" or "event".
        max_decompressed_bytes, max_compression_ratio: what a compressed file may become, as
            capture.read has it. One that would become more, or is damaged, ends with a row with an
            error, which has in record what is there of the last record.

    Raises:
        ValueError: the file is no trace; an argument is unknown.
        OSError: as open() does.
    """
    return Reader(
        path_or_file,
        fields,
        batch_rows,
        format,
        level=level,
        max_decompressed_bytes=max_decompressed_bytes,
        max_compression_ratio=max_compression_ratio,
    )


def respell_limits_of_errors(
    batch: pa.RecordBatch, spell: Callable[[str, str], str], column: str = "error"
) -> pa.RecordBatch:
    """Rows as read() gives them, with the limit in an error as `spell` writes name and value.

    column: has the errors.
    """
    at = batch.schema.get_field_index(column)
    if at < 0 or batch.column(at).null_count == batch.num_rows:
        return batch
    errors = [text and respell_limits(text, spell) for text in batch.column(at).to_pylist()]
    columns = batch.columns
    columns[at] = pa.array(errors, batch.schema.field(at).type)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def unwrap(batches: Iterable[Any], level: str = "message") -> Iterator[pa.RecordBatch]:
    """Rows of traces, as read() gives them at this level, of messages that the firehose published.

    For captures of a client that consumed from amq.rabbitmq.trace. Messages of other exchanges give
    no row. file, timestamp and offset (packet_offset) are those of the firehose's message.

    Args:
        batches: of capture.read(level="message"), or the like, with the columns exchange,
            routing_key, properties and body.
        level: "message" or "event".

    Raises:
        ValueError: the level is another one.
    """
    columns = schema(level)
    events = _events.Events() if level == "event" else None
    for batch in batches:
        rows = []
        for row in pa.record_batch(batch).to_pylist():
            if row["exchange"] != EXCHANGE or row.get("method") == "basic.publish":
                continue
            trace_row = _row(row["body"] or b"", lambda body, row=row: _unwrapped(row, body))
            trace_row.update(file=row.get("file"), offset=row.get("packet_offset"))
            trace_row["timestamp"] = row.get("timestamp")
            rows.append(trace_row if events is None else events.of_row(trace_row))
        if rows:
            yield pa.RecordBatch.from_pylist(rows, columns)


def _unwrapped(row: dict[str, Any], body: bytes) -> dict[str, Any]:
    text = (row["properties"] or {}).get("headers")
    headers = json.loads(text) if text else {}
    return _rows.of_firehose(row["routing_key"], headers, body, _rows.json_text)
