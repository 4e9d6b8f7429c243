"""Finds the frame, takes it apart, and shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..cells import clean
from ..errors import USAGE, UsageError
from ..live import Cancelled
from ..naming import check_names
from ..options import FramePosition, ShowOptions
from ..ordering import Ordering, sort_keys
from ..output import Output, check_output, output_format
from ..progress import Progress
from ..selection import filter_rows, parse_where
from ..sources import Reading
from ..times import Clock
from .pane import Pane
from .tree import Node, Walk

__all__ = ["SCHEMA", "show"]

SCHEMA = pa.schema([
    ("depth", pa.int64()),
    ("offset", pa.int64()),
    ("length", pa.int64()),
    ("name", pa.string()),
    ("type", pa.string()),
    ("text", pa.string()),
    ("note", pa.string()),
    ("bytes", pa.binary()),
])  # fmt: skip
FIELDS = [
    *("connection_index", "direction", "timestamp", "src", "dst", "packet", "packet_offset"),
    *("position", "frame_type", "channel", "method", "frame", "error", "flags", "file"),
]


def show(options: ShowOptions) -> int:
    """Write one frame."""
    shown = options.rows
    check_output(shown.output, options.source)
    format_name = output_format(shown)
    predicate = parse_where(shown.where, {})
    keys = sort_keys(shown.sort)
    check_names(SCHEMA.names, shown.fields, predicate.names() if predicate else [], keys)
    clock = Clock(options.clock)
    with Cancelled() as stop, Progress(shown.output) as bar:
        reading = Reading(options.source, bar, stop)
        if options.clock == "relative":
            reading.clock = clock
        row, before = _find(options.number, reading, clock)
    if row is None:
        if reading.status == USAGE:
            return USAGE
        raise UsageError(f"there is no frame {_number_text(options.number)}: {before:,} were read")
    walk = dissect_frame(row)

    def pane(out: IO[str]) -> Any:
        return Pane(out, _title(row, options.number, clock), row["frame"] or b"")

    ordering = Ordering(keys, shown.limit)
    with Output(shown.output, format_name, clock, pane, shown.csv_raw) as output:
        batch = filter_rows(_batch(walk), predicate)
        for ordered_rows in (*ordering.add(batch), *ordering.remaining_rows()):
            output.write(ordered_rows.select(shown.fields or SCHEMA.names))
    return 0


def _number_text(position: FramePosition) -> str:
    number, place = position
    return str(number) if place is None else f"{place[0]}:{place[1]}"


def _find(
    frame: FramePosition, reading: Reading, clock: Clock
) -> tuple[dict[str, Any] | None, int]:
    """(the frame, how many there were before it)"""
    number, place = frame
    before = 0
    for group in reading.groups():
        for batch in reading.batches(group, "frame", FIELDS):
            clock.begin(batch.column("timestamp"))
            if number is not None:
                if before < number <= before + batch.num_rows:
                    reading.stop_early(f"frame {_number_text(frame)}")
                    return _row(batch, number - before - 1), number
            elif place is not None:
                at_place = pc.and_(
                    pc.equal(batch.column("packet_offset"), place[0]),
                    pc.equal(batch.column("position"), place[1]),
                )
                rows = batch.filter(at_place)
                if rows.num_rows:
                    reading.stop_early(f"frame {_number_text(frame)}")
                    return _row(rows, 0), before
            before += batch.num_rows
    return None, before


def _row(batch: pa.RecordBatch, at: int) -> dict[str, Any]:
    """A row; its timestamp stays Arrow's, which goes beyond the calendar of Python."""
    names = [name for name in batch.schema.names if name != "timestamp"]
    [row] = batch.select(names).slice(at, 1).to_pylist()
    return {**row, "timestamp": batch.column("timestamp").slice(at, 1)}


def dissect_frame(row: dict[str, Any]) -> Walk:
    """The parts of the frame of a row."""
    from ... import v0_8, v0_9, v0_9_1, v1_0
    from . import amqp0, amqp1

    raw = row["frame"] or b""
    if row["frame_type"] in ("amqp", "sasl") or (
        row["frame_type"] == "heartbeat" and raw[:4] == b"\0\0\0\x08"
    ):
        table: Any = vars(v1_0)["TABLE"]
        return amqp1.frame(raw, table)
    module: Any = v0_9_1
    for module in (v0_9_1, v0_9, v0_8):
        number = (int.from_bytes(raw[7:9], "big"), int.from_bytes(raw[9:11], "big"))
        method: Any = module.METHODS.get(number)
        if row["method"] is None or (method is not None and row["method"] == method.NAME):
            break
    return amqp0.frame(raw, module.TABLE)


def _batch(walk: Walk) -> pa.RecordBatch:
    rows = [(*_values(node), walk.raw[node.offset : node.offset + node.length]) for node in walk]
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _values(node: Node) -> tuple[Any, ...]:
    return (
        *(node.depth, node.offset, node.length, node.name, node.type, node.value),
        node.note or None,
    )


def _title(row: dict[str, Any], number: FramePosition, clock: Clock) -> Iterator[str]:
    """Lines above the tree."""
    name = row["method"] or row["frame_type"]
    size = len(row["frame"] or b"")
    (time,) = clock.texts(row["timestamp"])
    yield f"{name}  channel {row['channel']}, {size} bytes, from the {row['direction']}"
    yield f"{time or 'no time'}  {row['src']} -> {row['dst']}, connection {row['connection_index']}"
    yield clean(
        f"{row['file']}  packet {row['packet']} (offset {row['packet_offset']}),"
        f" frame {row['position']} in it"
    )
    if row["flags"]:
        yield f"flags: {', '.join(row['flags'])}"
    if row["error"]:
        yield clean(f"! {row['error']}")
