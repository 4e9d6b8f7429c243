"""Captures as a lazy frame of Polars; ``pip install "amqpcodec[polars]"``.

::

    from amqpcodec.polars import scan_captures

    frames = scan_captures("captures/*.pcap.gz")
    frames.filter(polars.col("method") == "basic.publish").select("timestamp", "channel").collect()
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

import polars
import pyarrow as pa
from polars.io.plugins import register_io_source

from . import capture
from ._facade.public import listing
from .capture._repeat import RepeatableSources

__all__ = ["scan_captures"]

__dir__ = listing(__name__)


def scan_captures(
    paths: str | os.PathLike[str] | IO[bytes] | Iterable[str | os.PathLike[str] | IO[bytes]],
    level: str = "frame",
    fields: Iterable[str] | None = None,
    **options: Any,
) -> polars.LazyFrame:
    """The frames or messages of captures, as a lazy frame: nothing is read before it is collected.

    Only the columns that the query uses are decoded; rows are filtered batch by batch, so that what
    does not fit is never held; and reading ends where enough rows were found (``head``). Each
    collect reads the files anew; an open file, from where it stood when this was called.

    Args:
        paths: as capture.read takes them: files, folders and globs.
        level, fields: as capture.read takes them. fields also names columns that are not there by
            themselves, such as "headers.n:long".
        options: all others of capture.read, such as ports, protocol, redact and order.

    Raises:
        FileNotFoundError: a path, a URI or a glob stands for nothing.
        ValueError, TypeError: as capture.read says of its arguments.
        CaptureError, OSError: when it is collected, as capture.read says.
        ReaderExhausted: when an open file that does not seek is collected again.
    """
    sources = RepeatableSources(paths, options.get("filesystem"))
    names = None if fields is None else list(fields)

    def reader(columns: list[str] | None) -> capture.Reader:
        return capture.read(sources.open(), level, names if columns is None else columns, **options)

    columns = pa.schema(reader(None).schema)
    for column in columns:
        if pa.types.is_decimal256(column.type):  # Polars would panic
            raise ValueError(
                f"{column.name!r}: decimals of Polars have at most 38 digits; ask for fewer, or "
                "for string"
            )
    schema = polars.DataFrame(columns.empty_table()).schema

    def read(
        columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        requested_columns = None
        if columns is not None:
            used = set(columns) | set(() if predicate is None else predicate.meta.root_names())
            # Rows are counted by one column, the cheapest.
            requested_columns = [name for name in schema if name in used] or ["channel"]
        remaining_rows = n_rows
        for batch in reader(requested_columns):
            frame = polars.DataFrame(batch)
            if remaining_rows is not None:
                frame = frame.head(remaining_rows)
                remaining_rows -= len(frame)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)
            if remaining_rows == 0:
                return

    return register_io_source(read, schema=schema)
