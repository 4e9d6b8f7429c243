"""What is common to all that reads captures on Spark: which rows a mode lets through."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from .columns import Plan

__all__ = ["BATCH_ROWS", "by_mode", "with_error"]

#: Rows of a batch. Spark is as fast with more, and they would cost its JVM memory.
BATCH_ROWS = 16384

#: Columns that say where a row is from.
_PLACE = ("file", "packet", "packet_offset", "position")


def with_error(made: Plan, mode: str) -> Plan:
    """With the fields that by_mode needs: bad rows are those with an error."""
    needed = {"PERMISSIVE": (), "DROPMALFORMED": ("error",), "FAILFAST": ("error", *_PLACE)}[mode]
    missing = [name for name in needed if name not in made.fields]
    return replace(made, fields=(*made.fields, *missing))


def by_mode(rows: pa.RecordBatch, plan: Plan, mode: str) -> pa.RecordBatch:
    """The rows that go on.

    Raises:
        ValueError: mode is FAILFAST and a row has an error; it says where the row is from.
    """
    if mode == "PERMISSIVE":
        return rows
    error = rows.column(plan.fields.index("error"))
    if error.null_count == len(error):
        return rows
    if mode == "FAILFAST":
        at = pc.index(error.is_valid(), True).as_py()
        file, packet, offset, position = (
            rows.column(plan.fields.index(name))[at].as_py() for name in _PLACE
        )
        raise ValueError(
            f"{file}: packet {packet} (packet_offset {offset}), position {position}: {error[at]}"
        )
    return rows.filter(error.is_null())
