"""Arrow batches to JSON Lines: one object a row, every column a key of it.

Bytes are base64, as DuckDB's from_base64, Spark's unbase64 and others read them. Columns that are
JSON text already stand there as they are, so that their long integers stay whole. Timestamps are
ISO 8601 in UTC. A null inside of a struct has no key; a column always has one.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from .._facade.escaping import escaped_json
from .naming import JSON_VALUE
from .times import Clock

__all__ = ["lines", "shown_value", "texts"]

#: Columns that hold JSON text, also inside of a struct.
JSON_TEXT = {
    *("arguments", "headers", "properties_json", "properties.headers", "application_properties"),
    *("message_annotations", "delivery_annotations", "footer", "value"),
}


def lines(batch: pa.RecordBatch, clock: Clock | None = None) -> Iterator[str]:
    """A line a row, without its end."""
    clock = clock or Clock()
    keys = [json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in batch.schema.names]
    template = "{" + ",".join(f"{key}:%s" for key in keys) + "}"
    columns = [
        [text or "null" for text in texts(field, column, clock)]
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    for row in zip(*columns, strict=True):
        yield escaped_json(template % row)


def texts(field: pa.Field, column: pa.Array, clock: Clock) -> list[str | None]:
    """The JSON text of every value; None for null."""
    kind = column.type
    if pa.types.is_struct(kind):
        return _objects(column)
    if pa.types.is_timestamp(kind):
        # What a message says of itself is no time of the capture.
        shown = (Clock() if "." in field.name else clock).texts(column, field.name)
        if clock.mode == "relative" and "." not in field.name:
            return shown
        return [None if text is None else f'"{text}"' for text in shown]
    if field.metadata and JSON_VALUE.items() <= field.metadata.items():
        return list(column.to_pylist())
    if pa.types.is_duration(kind):
        ticks = column.cast(pa.duration("us")).cast(pa.int64()).to_pylist()
        return [None if tick is None else f"{tick / 1e6:.6f}" for tick in ticks]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return list(column.cast(pa.string()).to_pylist())
    if pa.types.is_decimal(kind):  # as text: parsers read a number as a double
        return [None if value is None else f'"{value:f}"' for value in column.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [
            None if raw is None else f'"{base64.b64encode(raw).decode()}"'
            for raw in column.to_pylist()
        ]
    if field.name in JSON_TEXT:
        return list(column.to_pylist())
    if pa.types.is_string(kind):
        # Names repeat themselves: each different one is written once.
        coded = column.dictionary_encode()
        distinct_texts = [_text(value) for value in coded.dictionary.to_pylist()]
        return [None if at is None else distinct_texts[at] for at in coded.indices.to_pylist()]
    return [None if value is None else _text(value) for value in column.to_pylist()]


def _objects(column: pa.StructArray) -> list[str | None]:
    """A struct as an object of what is there."""
    rows: list[list[str]] = [[] for _ in range(len(column))]
    for at, field in enumerate(column.type):
        member = column.field(at)
        if member.null_count < len(member):
            key = json.dumps(field.name, ensure_ascii=False)
            for row, text in zip(rows, texts(field, member, Clock()), strict=True):
                if text is not None:
                    row.append(f"{key}:{text}")
    validity = column.is_valid().to_pylist()
    return [
        "{" + ",".join(row) + "}" if valid else None
        for valid, row in zip(validity, rows, strict=True)
    ]


def shown_value(text: str) -> str:
    """A value of JSON as text: a string without its quotes."""
    return str(json.loads(text)) if text.startswith('"') else text


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
