"""Runs SQL over events with DuckDB: the events are read once, and held in memory or in a file."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from .. import capture, traces
from ..capture import CaptureWarning
from ..capture._files import Source
from ..capture._storage import Storage, locate_each

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ._consumers import NEEDED, Consumers
    from ._interval import NEEDED as FOR_PART
    from ._interval import moment, part
except ImportError as missing:
    raise ImportError(
        f"amqpcodec.analysis needs {missing.name}; install amqpcodec[analysis]"
    ) from missing

__all__ = ["MEMORY_BYTES", "answer", "columns_of", "connect", "read_and_run", "recorded", "run"]

#: Bytes of Arrow rows that are held in memory; more of them go to a file.
MEMORY_BYTES = 512 * 1024 * 1024

_PRELUDE = Path(__file__).with_name("prelude.sql")

#: Kinds of nodes of a parsed query that stand for columns without their names.
_ALL_COLUMNS = ("STAR", "POSITIONAL_REFERENCE", "NATURAL", "SHOW_REF", "PIVOT")
#: The keys of nodes that say their kind; of a literal, "type" is a node itself.
_KINDS = ("class", "type", "ref_type", "join_type")


def columns_of(query: str) -> list[str] | None:
    """The columns of events that a query names; None where it may need all of them.

    A column that is missing here makes DuckDB refuse the query: it never changes the answer.
    """
    names = set(pa.schema(capture.schema("event")).names)
    with connect() as connection:
        row = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        return None
    texts: set[str] = set()
    rows: set[str] = set()
    tables = {"events"}
    for node in _nodes(tree["statements"]):
        if any(node.get(key) in _ALL_COLUMNS for key in _KINDS):
            return None
        if node.get("type") == "BASE_TABLE":
            tables.add(str(node.get("alias")).lower())
        if node.get("class") == "COLUMN_REF":
            rows.add(str(node["column_names"][-1]).lower())
        for value in node.values():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str):
                    texts.add(text.lower())
    if rows & (tables - names):
        return None
    return sorted(texts & names) or ["event"]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a tree of JSON."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def read_and_run(
    query: str,
    columns: Iterable[str] | None,
    path_or_file: Source | Iterable[Source],
    memory_bytes: int | None,
    options: dict[str, Any],
) -> pa.Table:
    """Read the events of recordings, with these columns or all, and run a query over them.

    options: of sql(); all but its own are those of capture.read.

    Raises:
        TypeError: options of capture.read are chosen by the query itself.
    """
    for name in {"level", "fields"} & options.keys():
        raise TypeError(f"{name!r} is chosen by the query: leave it away")
    path = options.pop("consumers", None)
    listed = None if path is None else Consumers(path)
    if listed and columns is not None:
        columns = dict.fromkeys([*columns, *NEEDED])
    since, until = (moment(options.pop(name, None), name) for name in ("since", "until"))
    of_part = since is not None or until is not None
    if of_part and columns is not None:
        columns = dict.fromkeys([*columns, *FOR_PART])

    def view(connection: duckdb.DuckDBPyConnection) -> str:
        return part(connection, schema.names, since, until) if of_part else "FROM recorded"

    schema = _schema(columns)
    sources: Any = path_or_file
    if not isinstance(sources, str | os.PathLike) and not hasattr(sources, "read"):
        path_or_file = sources = list(sources)
    if files := trace_files(path_or_file, options.get("filesystem")):
        options.pop("filesystem", None)
        batches = (traces.read(file, columns, level="event", **options) for file in files)
        return run(query, chain.from_iterable(batches), schema, memory_bytes, view)
    reader = capture.read(path_or_file, "event", columns, **options)
    events = map(pa.record_batch, reader)
    filled = listed.fill_all(events) if listed else events
    rows = run(query, filled, schema, memory_bytes, view)
    for file in reader.file_stats():
        if file["damaged"]:
            warnings.warn(f"{file['file']}: {file['damaged']}", CaptureWarning, stacklevel=4)
    return rows


def trace_files(path_or_file: Any, filesystem: Any = None) -> list[Any]:
    """The traces of RabbitMQ that this stands for; none where they are captures.

    Raises:
        ValueError: the first one is a trace, and another one is not.
    """
    sources = path_or_file if isinstance(path_or_file, list) else [path_or_file]
    try:
        files = locate_each(sources, Storage(filesystem=filesystem))
    except (OSError, TypeError):
        return []  # capture.read says what is wrong
    return files if files and traces.are_traces(files) else []


def _schema(columns: Iterable[str] | None) -> pa.Schema:
    return pa.schema(capture.schema("event", None if columns is None else list(columns)))


def run(
    query: str,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    memory_bytes: int | None = None,
    view: Callable[[duckdb.DuckDBPyConnection], str] = lambda _: "FROM recorded",
) -> pa.Table:
    """Run a query over a view ``events`` of these rows.

    memory_bytes: rows of more bytes go to a temporary file; None: MEMORY_BYTES. view: given the
    database when its view ``recorded`` has all rows, says which SELECT over that events is.

    Raises:
        ValueError: the query is no SELECT.
        duckdb.Error: the query is wrong.
    """
    with recorded(batches, schema, memory_bytes) as connection:
        return answer(connection, view(connection), query)


@contextlib.contextmanager
def recorded(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, memory_bytes: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with a view ``recorded`` of these rows. memory_bytes: see run()."""
    most = MEMORY_BYTES if memory_bytes is None else memory_bytes
    with tempfile.TemporaryDirectory(prefix="amqpcodec-") as folder, connect() as connection:
        events = _materialize(batches, schema, most, Path(folder) / "events.parquet")
        if isinstance(events, Path):
            connection.read_parquet(str(events)).create_view("recorded")
        else:
            connection.register("recorded", events)
        yield connection


def answer(connection: duckdb.DuckDBPyConnection, view: str, query: str) -> pa.Table:
    """Run a query over a view ``events``. view: the SELECT over ``recorded`` that events is.

    Raises:
        ValueError: the query is no SELECT.
        duckdb.Error: the query is wrong.
    """
    kinds = [statement.type for statement in connection.extract_statements(query)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise ValueError("a query is one SELECT: it reads, and changes nothing")
    connection.execute(f"CREATE OR REPLACE VIEW events AS {view}")
    return _in_utc(connection.sql(query).to_arrow_table())


def _materialize(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int, path: Path
) -> pa.Table | Path:
    """All rows as a table, or in a file where they have more bytes than that."""
    held: list[pa.RecordBatch] = []
    size = 0
    remaining = iter(batches)
    for batch in remaining:
        held.append(batch)
        size += batch.nbytes
        if size > most:
            break
    else:
        return pa.Table.from_batches(held, schema)
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as file:
        while held:
            file.write_batch(held.pop(0))
        for batch in remaining:
            file.write_batch(batch)
    return path


def _in_utc(table: pa.Table) -> pa.Table:
    """Times in UTC, as all others of this package; DuckDB gives them in the machine's time zone."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            utc = pa.timestamp(field.type.unit, "UTC")
            table = table.set_column(at, field.with_type(utc), table.column(at).cast(utc))
    return table


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory that fetches nothing and sees no variables of Python."""
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "python_enable_replacements": "false",
        }
    )
    connection.execute(_PRELUDE.read_text(encoding="utf-8"))
    return connection
