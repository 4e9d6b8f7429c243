"""Questions about recordings, answered by SQL over events; ``pip install "amqpcodec[analysis]"``.

::

    from amqpcodec import analysis

    analysis.queues("rabbit.pcap.gz")                       # a pyarrow.Table, a row a queue
    analysis.sql("SELECT event, count(*) FROM events GROUP BY event", "rabbit.pcap.gz")

Each question is a file of SQL over the view ``events``: the rows of ``capture.read(paths,
level="event")``. The recordings are read once, with the columns that the question names alone;
DuckDB runs it. ``query("queues")`` is the text of one, to be changed and run by sql();
``amqpcodec.spark.analysis`` runs the same files on Spark.

What the recording does not say is null; ``certainty`` is "exact", "inferred" or "unknown".
docs/guide/analysis.md has the questions with their columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._facade.public import listing
from ._questions import query

if TYPE_CHECKING:
    import pyarrow as pa

    from ..capture._files import Source

__all__ = [
    "connections",
    "diagnose",
    "errors",
    "incidents",
    "latency",
    "messages",
    "query",
    "queues",
    "sql",
    "top",
    "topology",
    "unacked",
]

__dir__ = listing(__name__)


def connections(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """The connections: who they were, what they did, how each ended. See sql()."""
    return _answer("connections", path_or_file, memory_bytes, options)


def diagnose(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """What a person would look into, the most severe first: a row a finding. See sql()."""
    return _answer("diagnose", path_or_file, memory_bytes, options)


def errors(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """What went wrong, grouped: for whom, how often, when first and last. See sql()."""
    return _answer("errors", path_or_file, memory_bytes, options)


def incidents(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """What went wrong, one by one: a row each of what errors() counts. See sql()."""
    return _answer("incidents", path_or_file, memory_bytes, options)


def latency(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """How long messages waited, were worked on, and took to be confirmed. See sql()."""
    return _answer("latency", path_or_file, memory_bytes, options)


def messages(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """Every publish, return and delivery, with what became of it. See sql()."""
    return _answer("messages", path_or_file, memory_bytes, options)


def queues(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """The queues: what came in and went out, what is left, how long messages took. See sql()."""
    return _answer("queues", path_or_file, memory_bytes, options)


def top(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """Exchanges, routing keys, queues and connection names by their messages. See sql()."""
    return _answer("top", path_or_file, memory_bytes, options)


def topology(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """Exchanges, queues, bindings and consumers, with when they began and ended. See sql()."""
    return _answer("topology", path_or_file, memory_bytes, options)


def unacked(
    path_or_file: Source | Iterable[Source], *, memory_bytes: int | None = None, **options: Any
) -> pa.Table:
    """The deliveries that nobody settled, the oldest first. See sql() for the arguments."""
    return _answer("unacked", path_or_file, memory_bytes, options)


def sql(
    query: str,
    path_or_file: Source | Iterable[Source],
    *,
    memory_bytes: int | None = None,
    **options: Any,
) -> pa.Table:
    """The rows of a SELECT over the events of recordings, run by DuckDB.

    Args:
        query: SQL of DuckDB, over the view ``events``. The recordings are read once, with the
            columns that the query names; with all, where it has ``*`` or the like.
        path_or_file: as capture.read takes it: files, folders and globs. Or traces of RabbitMQ, as
            traces.read takes them, which say nothing of settlements, confirms and connections.
        memory_bytes: rows of more bytes go to a temporary file of Parquet; None: 512 MiB.
        options: ``since`` and ``until``, aware datetimes or ISO 8601 text, of the part of the
            recording that is asked about, as --since and --until of the commands: what was open
            before counts as opened before the recording, what is open at its end waits there.
            ``consumers``, the path of what ``rabbitmqctl list_consumers`` printed, for
            the queues of consumers that began before the recording; and all others of
            capture.read (of traces: traces.read) but level and fields, such as ports and files.

    Raises:
        ImportError: DuckDB or pyarrow is missing.
        TypeError: ``level`` or ``fields`` was given.
        ValueError: the query is no SELECT, or a time is none or has no time zone.
        duckdb.Error: the query is wrong.
        CaptureError, OSError: as capture.read says.
    """
    from ._duckdb import columns_of, read_and_run

    return read_and_run(query, columns_of(query), path_or_file, memory_bytes, options)


def _answer(
    name: str,
    path_or_file: Source | Iterable[Source],
    memory_bytes: int | None,
    options: dict[str, Any],
) -> pa.Table:
    from ._duckdb import read_and_run
    from ._questions import load

    question = load(name)
    return read_and_run(question.query, question.columns, path_or_file, memory_bytes, options)
