"""``amqpcodec fields``: the columns of every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import pyarrow as pa

from ..analysis._questions import NAMES, load
from .errors import UsageError
from .naming import ALIASES, check_names
from .options import FieldsOptions
from .ordering import Ordering, sort_keys
from .output import Output, output_format
from .queries import schema_of_answer
from .selection import OPTIONAL_COLUMNS, columns_of, filter_rows, parse_where
from .show.command import SCHEMA as SHOWN
from .summary import COMPUTED_COLUMNS
from .table import Table
from .times import Clock

__all__ = ["fields"]

SCHEMA = pa.schema([
    ("command", pa.string()),
    ("protocol", pa.string()),
    ("level", pa.string()),
    ("name", pa.string()),
    ("type", pa.string()),
    ("note", pa.string()),
])  # fmt: skip
PARTS = "has parts: {}.NAME"


def fields(options: FieldsOptions) -> int:
    """Write what is known."""
    commands = ("dissect", "show", *NAMES)
    if options.of is not None and options.of not in commands:
        raise UsageError(f"{options.of!r} is no command with columns: {', '.join(commands)}")
    shown = options.rows
    format_name = output_format(shown)
    clock = Clock()
    predicate = parse_where(shown.where, {})
    keys = sort_keys(shown.sort)
    check_names(SCHEMA.names, shown.fields, predicate.names() if predicate else [], keys)
    rows = [row for row in _rows() if options.of in (None, row["command"])]
    batch = filter_rows(pa.RecordBatch.from_pylist(rows, SCHEMA), predicate)
    ordering = Ordering(keys, shown.limit)

    def table(out: IO[str]) -> Table:
        return Table(out, clock, limits={"type": 40})

    with Output(shown.output, format_name, clock, table, shown.csv_raw) as output:
        for ordered_rows in (*ordering.add(batch), *ordering.remaining_rows()):
            output.write(ordered_rows.select(shown.fields or SCHEMA.names))
    return 0


def _rows() -> Iterator[dict[str, str | None]]:
    for protocol, protocol_text in ((None, "any"), ("1.0", "1.0")):
        for level in ("frame", "message", *(["event"] if protocol is None else [])):
            for name, kind in columns_of(level, protocol).items():
                row = {
                    "command": "dissect",
                    "protocol": protocol_text,
                    "level": level,
                    "name": name,
                }
                yield {**row, "type": _type(kind), "note": _note(name, kind, level)}
    for field in SHOWN:
        yield {"command": "show", "name": field.name, "type": _type(field.type)}
    for command in NAMES:
        for field in schema_of_answer(load(command)):
            yield {"command": command, "name": field.name, "type": _type(field.type)}


def _type(kind: pa.DataType) -> str:
    return "struct" if pa.types.is_struct(kind) else str(kind)


def _note(name: str, kind: pa.DataType, level: str) -> str | None:
    if name in ALIASES:
        return f"the same as {ALIASES[name]}"
    if pa.types.is_struct(kind):
        return "has parts: " + ", ".join(f"{name}.{field.name}" for field in kind)
    if name == "arguments":
        return "has parts: arguments.queue and the like; those of 0-x also by name: queue"
    if name in COMPUTED_COLUMNS[level]:
        return "made for the table"
    return "where it is asked for" if name in OPTIONAL_COLUMNS else None
