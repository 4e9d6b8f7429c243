"""Arrow batches to JSON Lines: one object a row, every column a key of it.

Bytes are base64, as DuckDB's from_base64, Spark's unbase64 and others read them. Columns that are
JSON text already stand there as they are, so that their long integers stay whole. Timestamps are
ISO 8601 in UTC. What is absent inside of a struct is left out, a column never is.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

__all__ = ["lines", "moments"]

#: Columns that hold JSON text, also inside of a struct.
JSON_TEXT = {
    *("arguments", "headers", "properties_json", "properties.headers", "application_properties"),
    *("message_annotations", "delivery_annotations", "footer", "value"),
}
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
START = datetime(1970, 1, 1, tzinfo=UTC)


def lines(batch: pa.RecordBatch) -> Iterator[str]:
    """A line a row, without its end."""
    keys = [json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in batch.schema.names]
    template = "{" + ",".join(f"{key}:%s" for key in keys) + "}"
    columns = [
        [text or "null" for text in _texts(name, column)]
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    for row in zip(*columns, strict=True):
        yield template % row


def _texts(name: str, column: pa.Array) -> list[str | None]:
    """The JSON text of every value; None for null."""
    kind = column.type
    if pa.types.is_struct(kind):
        return _objects(column)
    if pa.types.is_timestamp(kind):
        return [None if text is None else f'"{text}"' for text in moments(column)]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return list(column.cast(pa.string()).to_pylist())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [
            None if octets is None else f'"{base64.b64encode(octets).decode()}"'
            for octets in column.to_pylist()
        ]
    if name in JSON_TEXT:
        return list(column.to_pylist())
    if pa.types.is_string(kind):
        # Names repeat themselves: each different one is written once.
        coded = column.dictionary_encode()
        known = [_text(value) for value in coded.dictionary.to_pylist()]
        return [None if at is None else known[at] for at in coded.indices.to_pylist()]
    return [None if value is None else _text(value) for value in column.to_pylist()]


def _objects(column: pa.StructArray) -> list[str | None]:
    """A struct as an object of what is there."""
    rows: list[list[str]] = [[] for _ in range(len(column))]
    for at, field in enumerate(column.type):
        member = column.field(at)
        if member.null_count < len(member):
            key = json.dumps(field.name, ensure_ascii=False)
            for row, text in zip(rows, _texts(field.name, member), strict=True):
                if text is not None:
                    row.append(f"{key}:{text}")
    there = column.is_valid().to_pylist()
    return [
        "{" + ",".join(row) + "}" if valid else None for valid, row in zip(there, rows, strict=True)
    ]


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def moments(column: pa.Array) -> list[str | None]:
    """Timestamps in UTC as ISO 8601, to the column's own unit; also those beyond year 9999."""
    unit = UNITS[column.type.unit]
    digits = len(str(unit)) - 1
    found: list[str | None] = []
    for ticks in column.cast(pa.int64()).to_pylist():
        if ticks is None:
            found.append(None)
            continue
        seconds, rest = divmod(ticks, unit)
        try:
            text = (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        except OverflowError:
            found.append(str(ticks))
            continue
        found.append(f"{text}.{rest:0{digits}d}Z" if digits else f"{text}Z")
    return found
