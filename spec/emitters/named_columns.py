"""Columns that have a name of their own, of both families: one line each, below.

What a line leaves out is an error: of Python here, of Cython where code names the column, or of
`check_columns` (`_core/columns/samples.pxi`) when `_columns` is loaded and a path of the decoder
does not fill the column. How to add one: docs/design.md.
"""

from __future__ import annotations

from typing import NamedTuple


class Named(NamedTuple):
    """A column.

    name: that of 0-x, and of 1.0 where v1_name is empty. arrow: its format in Arrow's C Data
    Interface. nullable: False where every row has a value. levels: frames and messages of 0-x, then
    those of 1.0: "d" it is there by default, "r" on request, "-" never. encode: what batch.encode
    does with it: "reads", "ignores" or "refuses". runs: whether runs of messages of 0-x
    write it (`_core/columns/run.pxi`); where another column is asked for there are none.
    """

    name: str
    arrow: str
    nullable: bool
    levels: str
    encode: str
    v1_name: str = ""
    runs: bool = False


#: In the order in which they stand where nobody asks for other ones. Arguments that are columns by
#: default at message level (ARGUMENTS) stand in the place of `arguments`.
TABLE = (
    Named("row", "l", False, "dddd", "ignores", runs=True),
    Named("offset", "l", False, "drdr", "ignores", runs=True),
    Named("frame_type", "u", True, "drdr", "ignores"),
    Named("channel", "i", True, "dddd", "reads", runs=True),
    Named("method", "u", True, "dddd", "reads", "performative", runs=True),
    Named("arguments", "u", True, "drdr", "reads"),
    Named("header", "+s", True, "---d", "reads"),
    Named("delivery_annotations", "u", True, "---d", "reads"),
    Named("message_annotations", "u", True, "---d", "reads"),
    Named("properties", "+s", True, "dd-d", "reads"),
    Named("body_size", "l", True, "dr--", "ignores", runs=True),
    Named("application_properties", "u", True, "---d", "reads"),
    Named("body_kind", "u", True, "---d", "reads"),
    Named("payload", "z", True, "d-d-", "refuses"),
    Named("body", "z", True, "-d-d", "reads", runs=True),
    Named("value", "u", True, "---d", "reads"),
    Named("footer", "u", True, "---d", "reads"),
    Named("message", "z", True, "---r", "reads"),
    Named("frame", "z", False, "drdd", "ignores"),
    Named("error", "u", True, "dddd", "reads", runs=True),
    Named("error_offset", "l", True, "drdr", "ignores", runs=True),
    Named("properties_json", "u", True, "rr--", "reads"),
    # The last one of 0-x: what is taken back of a bad property list begins here.
    Named("properties.raw_headers", "z", True, "rr--", "refuses", runs=True),
)

#: Arguments that are columns by default at message level, where they have that type: of 0-x, then
#: of 1.0.
ARGUMENTS = (
    (
        ("exchange", "u"),
        ("routing_key", "u"),
        ("consumer_tag", "u"),
        ("delivery_tag", "l"),
        ("redelivered", "b"),
        ("mandatory", "b"),
        ("reply_code", "i"),
        ("reply_text", "u"),
    ),
    (
        ("handle", "l"),
        ("delivery_id", "l"),
        ("delivery_tag", "z"),
        ("message_format", "l"),
        ("settled", "b"),
    ),
)


class Captured(NamedTuple):
    """A column of captures alone, which tells where a row is from.

    default: whether it is there where nobody asks for others.
    """

    name: str
    arrow: str
    nullable: bool
    default: bool


#: In the order in which they stand, before those of frames.
CAPTURED = (
    Captured("file", "u", False, True),
    Captured("connection", "u", False, True),
    Captured("connection_index", "i", False, True),
    Captured("direction", "u", False, True),
    Captured("timestamp", "tsu:UTC", True, True),
    Captured("timestamp_last", "tsu:UTC", True, True),
    Captured("src", "u", False, True),
    Captured("dst", "u", False, True),
    Captured("packet_offset", "l", False, True),
    Captured("position", "i", False, True),
    Captured("flags", "+l", False, True),
    Captured("timestamp_ns", "l", True, False),
    Captured("packet", "l", False, False),
    Captured("file_index", "l", False, False),
    Captured("peer", "u", True, False),
    Captured("time_us", "l", True, False),
    Captured("client", "u", False, False),
)


class EventColumn(NamedTuple):
    """A column of level "event", of captures alone."""

    name: str
    arrow: str
    nullable: bool


#: In the order in which they stand, after those of captures.
EVENTS = (
    EventColumn("event_id", "l", False),
    EventColumn("answers", "l", True),
    EventColumn("event", "u", False),
    EventColumn("outcome", "u", True),
    EventColumn("certainty", "u", False),
    EventColumn("connection_name", "u", True),
    EventColumn("user", "u", True),
    EventColumn("virtual_host", "u", True),
    EventColumn("channel", "i", True),
    EventColumn("initiator", "u", True),
    EventColumn("exchange", "u", True),
    EventColumn("routing_key", "u", True),
    EventColumn("queue", "u", True),
    EventColumn("route", "+l", True),
    EventColumn("consumer_tag", "u", True),
    EventColumn("delivery_tag", "l", True),
    EventColumn("redelivered", "b", True),
    EventColumn("settles", "u", True),
    EventColumn("message_id", "u", True),
    EventColumn("correlation_id", "u", True),
    EventColumn("body_size", "l", True),
    EventColumn("content", "l", True),
    EventColumn("message_count", "l", True),
    EventColumn("elapsed_us", "l", True),
    EventColumn("request", "u", True),
    EventColumn("reply_code", "i", True),
    EventColumn("reason", "u", True),
    EventColumn("reply_text", "u", True),
    EventColumn("heartbeat_s", "i", True),
    EventColumn("details", "u", True),
)


def is_of_v1_alone(column: Named) -> bool:
    """Whether 0-x has no such column: its number comes after theirs, among those of 1.0."""
    return column.levels.startswith("--")


def number_of(column: Named) -> str:
    """The name of a column's number."""
    prefix = "V1_COL_" if is_of_v1_alone(column) else "COL_"
    return prefix + column.name.rsplit(".", 1)[-1].upper()


def emit_named_columns() -> str:
    """Source of ``_gen/named_columns.pxi``."""
    check(TABLE)
    lines = [
        "# As `Named` there, with numbers: of a level 0 is never, 1 on request, 2 by default.",
        "",
    ]
    lines += ["cdef tuple NAMED_COLUMNS = ("]
    for column in TABLE:
        levels = ", ".join(str("-rd".index(level)) for level in column.levels)
        lines.append(
            f'    ({number_of(column)}, "{column.name}", "{column.v1_name or column.name}", '
            f'"{column.arrow}", {column.nullable}, ({levels}), "{column.encode}", '
            f"{column.runs}),"
        )
    lines += [")", "", "# At message level, of 0-x and of 1.0: name, format."]
    lines += ["cdef tuple ARGUMENTS = ("]
    lines += [f"    {arguments},".replace("'", '"') for arguments in ARGUMENTS]
    return "\n".join([*lines, ")"]) + "\n"


def emit_column_numbers() -> str:
    """Source of ``_gen/named_columns.pxd``."""
    legacy = [number_of(column) for column in TABLE if not is_of_v1_alone(column)]
    own = [number_of(column) for column in TABLE if is_of_v1_alone(column)]
    lines = [
        "# Numbers of columns. The children of properties come after N_COLUMNS, of AMQP 1.0 after"
    ]
    lines += ["# its own columns.", "cdef enum:", *(f"    {name}" for name in legacy)]
    lines += ["    N_COLUMNS", "", "cdef enum:", f"    {own[0]} = N_COLUMNS"]
    lines += [*(f"    {name}" for name in own[1:]), "    V1_N_COLUMNS"]
    return "\n".join(lines) + "\n"


def emit_capture_columns() -> str:
    """Source of ``_gen/capture_columns.pxi``."""
    lines = ["# Columns of captures, by number: name, format, nullable, there by default."]
    lines += ["cdef enum:", *(f"    CAP_{column.name.upper()}" for column in CAPTURED)]
    lines += ["    N_CAPTURE_COLUMNS", "", "cdef tuple CAPTURE_COLUMNS = ("]
    lines += [f"    {tuple(column)},".replace("'", '"') for column in CAPTURED]
    return "\n".join([*lines, ")"]) + "\n"


def emit_event_columns() -> str:
    """Source of ``_gen/event_columns.pxi``."""
    lines = ["# Columns of events, by number: name, format, nullable."]
    lines += ["cdef enum:", *(f"    EVENT_COL_{column.name.upper()}" for column in EVENTS)]
    lines += ["    N_EVENT_COLUMNS", "", "cdef tuple EVENT_COLUMNS = ("]
    lines += [f"    {tuple(column)},".replace("'", '"') for column in EVENTS]
    return "\n".join([*lines, ")"]) + "\n"


def check(table: tuple[Named, ...]) -> None:
    """Refuse lines that nothing below could be made of.

    Raises:
        ValueError: with the line's name, and what is wrong with it.
    """
    names: list[str] = []
    for column in table:
        names += {column.name, column.v1_name} - {""}
        if len(column.levels) != 4 or set(column.levels) - set("-rd") or column.levels == "----":
            raise ValueError(f"{column.name}: levels is four of d, r and -, not {column.levels!r}")
        if column.encode not in ("reads", "ignores", "refuses"):
            raise ValueError(f"{column.name}: encode is reads, ignores or refuses")
        if not column.nullable and "-" in column.levels:
            raise ValueError(f"{column.name}: not nullable, though it is not at every level")
    if len(names) != len(set(names)):
        raise ValueError(f"a column is there twice: {', '.join(names)}")
