"""Names of columns: short ones of the tables' headings, parts of JSON columns, and near misses."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .errors import UsageError, did_you_mean
from .where import inside

__all__ = [
    "ALIASES",
    "COMPOUND",
    "JSON_VALUE",
    "check_names",
    "extract_part",
    "mark_json",
    "no_column",
    "pick_columns",
    "split",
]

#: Headings of tables that are short for a column of capture.read().
ALIASES = {
    "time": "timestamp",
    "conn": "connection_index",
    "from": "direction",
    "ch": "channel",
}
#: Columns that have parts: what follows the first dot is looked for inside of them.
COMPOUND = (
    *("arguments", "properties", "properties_json", "header", "application_properties"),
    *("message_annotations", "delivery_annotations", "footer", "value", "headers", "details"),
)
#: Metadata of a text column whose values are JSON texts: each of its own type.
JSON_VALUE = {b"amqpcodec.json": b"value"}


def mark_json(schema: pa.Schema) -> pa.Schema:
    """The schema of events, or of a question about them: their details are JSON."""
    at = schema.get_field_index("details")
    return schema if at < 0 else schema.set(at, schema.field(at).with_metadata(JSON_VALUE))


def no_column(name: str, columns: Iterable[str], option: str = "") -> UsageError:
    """The error for a name that is no column of the command."""
    hint = did_you_mean(name, columns) or "; amqpcodec fields lists them all"
    where = f"{option}: " if option else ""
    return UsageError(f"{where}there is no column {name!r}{hint}")


def check_names(
    columns: Collection[str],
    fields: Iterable[str] | None,
    where: Iterable[str],
    sort: Iterable[tuple[str, str]],
) -> None:
    """Refuse names that --fields, --where or --sort give and a command does not have."""
    keys = [name for name, _ in sort]
    for option, option_names in (("--fields", fields or ()), ("--where", where), ("--sort", keys)):
        for name in option_names:
            if name not in columns:
                raise no_column(name, columns, option)


def split(name: str, columns: Collection[str]) -> tuple[str, list[str]] | None:
    """(column, path inside of it) for the name of a part of a column, or None."""
    first, *path = name.split(".")
    if first == "headers" and "properties" in columns:
        first, path = "properties", ["headers", *path]
    if path and first in columns and first in COMPOUND:
        return first, path
    return None


def extract_part(batch: pa.RecordBatch, column: str, path: list[str]) -> tuple[pa.Field, pa.Array]:
    """The part of a compound column, as JSON texts; null where it is not there.

    Raises:
        UsageError: a struct has no such member.
    """
    array = batch.column(column)
    remaining_path = list(path)
    while remaining_path and pa.types.is_struct(array.type):
        members = [field.name for field in array.type]
        if remaining_path[0] not in members:
            raise no_column(".".join([column, *path]), [f"{column}.{name}" for name in members])
        array = pc.struct_field(array, remaining_path.pop(0))
    name = ".".join([column, *path])
    if not remaining_path:
        return pa.field(name, array.type), array
    coded = array.dictionary_encode()
    distinct_texts = [_part(text, remaining_path) for text in coded.dictionary.to_pylist()]
    texts = [None if at is None else distinct_texts[at] for at in coded.indices.to_pylist()]
    return pa.field(name, pa.string(), metadata=JSON_VALUE), pa.array(texts, pa.string())


def pick_columns(batch: pa.RecordBatch, names: Iterable[tuple[str, str]]) -> pa.RecordBatch:
    """Columns and parts of columns. names: (what it is called, which it is) of each."""
    fields, columns = [], []
    for name, source in names:
        if source in batch.schema.names:
            field, column = batch.schema.field(source), batch.column(source)
        else:
            parts = split(source, batch.schema.names)
            assert parts is not None
            field, column = extract_part(batch, *parts)
        fields.append(field.with_name(name))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _part(text: str | None, path: list[str]) -> str | None:
    value: Any = inside(json.loads(text), path) if text is not None else None
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
