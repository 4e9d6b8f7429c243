"""Values of columns as a person reads them in a table.

Text of the wire is shown with its control characters escaped: it cannot move the cursor.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from .._facade.escaping import escaped
from .jsonl import shown_value
from .naming import JSON_VALUE
from .times import Clock

__all__ = ["MAX_CHARACTERS", "bytes_text", "cells", "clean"]

#: How bytes and texts of one value are shortened before anything else is done with them.
MAX_CHARACTERS = 4096
MAX_HEX = 64  # bytes: nobody reads more of them in a table


def cells(column: pa.Array, field: pa.Field | None = None, clock: Clock | None = None) -> list[str]:
    """Every value as a person reads it; nothing for null."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        name = "" if field is None else field.name
        shown = clock if clock is not None and "." not in name else Clock()
        return [(text or "").replace("T", " ") for text in shown.texts(column, name)]
    if pa.types.is_duration(kind):
        ticks = column.cast(pa.duration("us")).cast(pa.int64()).to_pylist()
        return ["" if tick is None else f"{tick / 1e6:.6f}" for tick in ticks]
    if pa.types.is_struct(kind):
        return _members(column)
    if field is not None and field.metadata and JSON_VALUE.items() <= field.metadata.items():
        texts = column.to_pylist()
        return ["" if text is None else clean(shown_value(text)) for text in texts]
    return ["" if value is None else _shown(value) for value in column.to_pylist()]


def _members(column: pa.StructArray) -> list[str]:
    members = [field.name for field in column.type]
    # A member is named as a column of its own would be.
    fields = [field.with_name(f".{field.name}") for field in column.type]
    parts = [cells(column.field(at), field) for at, field in enumerate(fields)]
    absent = column.is_null().to_pylist()
    return [
        "" if missing else " ".join(f"{k}={v}" for k, v in zip(members, row, strict=True) if v)
        for missing, row in zip(absent, zip(*parts, strict=True), strict=True)
    ]


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return bytes_text(value)
    if isinstance(value, list):
        return ",".join(_shown(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return clean(str(value))


def bytes_text(value: bytes) -> str:
    """Text where it is text, otherwise hex."""
    start = value[:MAX_CHARACTERS]
    # A character may have been cut in two.
    for excess in range(4 if len(value) > MAX_CHARACTERS else 1):
        try:
            text = start[: len(start) - excess].decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return clean(text)
    return "0x" + value[:MAX_HEX].hex() + ("…" if len(value) > MAX_HEX else "")


def clean(text: str) -> str:
    """One line of text that moves no cursor."""
    return escaped(text[:MAX_CHARACTERS])
