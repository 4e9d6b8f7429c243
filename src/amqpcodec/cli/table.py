"""Arrow batches to a table that a person can read, a line a row, as they come.

The widths are those that the first batch asks for, fitted to the terminal; in a pipe nothing is
shortened. Text of the wire is shown with its control characters escaped: it cannot move the cursor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TextIO

import pyarrow as pa
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from .jsonl import moments
from .performatives import carried, told

__all__ = ["DEFAULT_FIELDS", "V1_FIELDS", "Table"]

#: level -> the columns that the table is made of, where none are asked for.
DEFAULT_FIELDS = {
    "frame": [
        *("timestamp", "connection_index", "direction", "channel", "frame_type", "method"),
        *("arguments", "properties", "body_size", "payload", "error", "flags"),
    ],
    "message": [
        *("timestamp", "connection_index", "direction", "channel", "method", "exchange"),
        *("routing_key", "arguments", "properties", "body", "error", "flags"),
    ],
}
#: The same for protocol 1.0.
V1_FIELDS = {
    "frame": [
        *("timestamp", "connection_index", "direction", "channel", "frame_type", "performative"),
        *("arguments", "payload", "error", "flags"),
    ],
    "message": [
        *("timestamp", "connection_index", "direction", "channel", "performative", "arguments"),
        *("properties", "application_properties", "body", "value", "error", "flags"),
    ],
}
#: Never made narrower than this, and never wider to begin with (but for the last column).
NARROWEST, LAST_NARROWEST, WIDEST = 6, 12, 36
SEPARATOR = "  "
FIRM = ("time", "method", "frame")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: How bytes and texts of one value are shortened before anything else is done with them.
LONGEST = 4096
#: A terminal of fewer columns has times in milliseconds, and routing beside the other details.
NARROW = 110
MOST_HEX = 64  # octets: nobody reads more of them in a table
STYLES = {
    "time": "dim",
    "conn": "dim",
    "client": "green",
    "server": "blue",
    "frame": "bold",
    "error": "bold red",
}


class Table:
    """Writes batches; ``summary`` makes the default columns out of DEFAULT_FIELDS."""

    def __init__(self, out: TextIO, level: str, summary: bool, many_files: bool) -> None:
        """many_files: say in each row which it comes from."""
        self.console = Console(file=out, highlight=False, markup=False, emoji=False)
        self.fits = self.console.is_terminal
        self.level = level
        self.summary = summary
        self.many_files = many_files
        self.widths: list[int] = []
        self.right: list[bool] = []
        self.day = ""

    def write(self, batch: pa.RecordBatch, files: pa.Array) -> None:
        """Show the rows of a batch. files: where each is from."""
        if not batch.num_rows:
            return
        if self.summary:
            narrow = self.fits and self.console.width < NARROW
            columns = _summary(batch, self.level, full=not self.fits, narrow=narrow)
        else:
            columns = {name: _texts(batch.column(name)) for name in batch.schema.names}
        if self.many_files and "file" not in columns:
            columns = {"file": _texts(files), **columns}
        if not self.widths:
            self._begin(batch, columns)
        names = list(columns)
        days = _days(batch) if self.summary and self.fits else [""] * batch.num_rows
        for day, row in zip(days, zip(*columns.values(), strict=True), strict=True):
            if day != self.day:
                self.day = day
                self.console.print(f"-- {day} UTC --", style="dim")
            self._line(names, row)

    def _begin(self, batch: pa.RecordBatch, columns: dict[str, list[str]]) -> None:
        """The widths and the head, from what comes first."""
        wanted = [
            max([cell_len(name), *(cell_len(text) for text in texts)])
            for name, texts in columns.items()
        ]
        wanted[:-1] = [min(width, WIDEST) for width in wanted[:-1]]
        self.right = [_is_number(batch, name) for name in columns]
        if self.fits:
            firm = [at for at, name in enumerate(columns) if name in FIRM]
            wanted = fitted(wanted, self.console.width, firm)
        self.widths = wanted
        self._line(list(columns), list(columns), head=True)

    def _line(self, names: Sequence[str], row: Sequence[str], head: bool = False) -> None:
        cells = [
            self._cell(text, width, right)
            for text, width, right in zip(row, self.widths, self.right, strict=True)
        ]
        if not self.fits:
            self.console.file.write(SEPARATOR.join(cells).rstrip() + "\n")
            return
        line = Text(no_wrap=True)
        for name, text, cell in zip(names, row, cells, strict=True):
            style = "bold underline" if head else STYLES.get(text, STYLES.get(name, ""))
            if name == "details" and text.startswith("!"):
                style = STYLES["error"]
            line.append(cell, style)
            line.append(SEPARATOR)
        line.rstrip()
        line.truncate(self.console.width)
        self.console.print(line, soft_wrap=True)

    def _cell(self, text: str, width: int, right: bool) -> str:
        """A text as wide as its column; in a pipe, at least so wide."""
        missing = width - cell_len(text)
        if missing < 0:
            return set_cell_size(text, width - 1) + "…" if self.fits else text
        return " " * missing + text if right else text + " " * missing


def fitted(wanted: list[int], width: int, firm: Collection[int] = ()) -> list[int]:
    """Widths that fit together: the last column gives way first, then the widest, to NARROWEST.

    firm: columns that give way when no other can.
    """
    *widths, last = wanted
    room = width - len(SEPARATOR) * len(widths)
    soft = [at for at in range(len(widths)) if at not in firm]
    least = 0
    for group, enough in ((soft, width // 3), (soft, LAST_NARROWEST), (list(firm), LAST_NARROWEST)):
        least = min(last, max(enough, LAST_NARROWEST))
        while sum(widths) + least > room:
            widest = max(group, key=lambda at: widths[at], default=None)
            if widest is None or widths[widest] <= NARROWEST:
                break
            widths[widest] -= 1
    return [*widths, max(least, min(last, room - sum(widths)))]


def _summary(batch: pa.RecordBatch, level: str, full: bool, narrow: bool) -> dict[str, list[str]]:
    """The columns of the default table. full: the whole time and not the hour only."""
    times = _texts(batch.column("timestamp"))
    if not full:
        times = [text[11:23] if narrow else text[11:].removesuffix("Z") for text in times]
    shown = {
        "time": times,
        "conn": _texts(batch.column("connection_index")),
        "from": _texts(batch.column("direction")),
        "ch": _texts(batch.column("channel")),
    }
    given = {name: _texts(_column(batch, name)) for name in ("properties", "error", "flags")}
    if level == "frame":
        kinds, methods = _texts(batch.column("frame_type")), _texts(_methods(batch))
        shown["frame"] = [method or kind for kind, method in zip(kinds, methods, strict=True)]
        sizes = _column(batch, "body_size").to_pylist()
        payloads = batch.column("payload").to_pylist()
        shown["size"] = [
            str(size if size is not None else len(octets) if octets is not None else "")
            for size, octets in zip(sizes, payloads, strict=True)
        ]
        parts = [_arguments(batch), given["properties"], _payloads(batch)]
    elif "performative" in batch.schema.names:
        shown["frame"] = _texts(_methods(batch))
        bodies = batch.column("body").to_pylist()
        shown["size"] = ["" if body is None else str(len(body)) for body in bodies]
        parts = [_arguments(batch), given["properties"]]
        parts += [
            _texts(batch.column(name)) for name in ("application_properties", "body", "value")
        ]
    else:
        shown["method"] = _texts(batch.column("method"))
        routing = {name: _texts(batch.column(name)) for name in ("exchange", "routing_key")}
        if not narrow:
            shown.update(routing)
        bodies = batch.column("body").to_pylist()
        shown["size"] = ["" if body is None else str(len(body)) for body in bodies]
        # Of a method with content its own columns say what matters.
        arguments = [
            "" if body is not None else text
            for body, text in zip(bodies, _arguments(batch), strict=True)
        ]
        parts = [arguments, given["properties"], _texts(batch.column("body"))]
        if narrow:
            parts.insert(0, [
                "" if body is None else f"{exchange!r} {key}"
                for body, exchange, key in zip(bodies, *routing.values(), strict=True)
            ])  # fmt: skip
    shown["details"] = [
        SEPARATOR.join(
            part for part in (error and f"! {error}", flags and f"[{flags}]", *rest) if part
        )
        for error, flags, *rest in zip(given["error"], given["flags"], *parts, strict=True)
    ]
    return shown


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column, of nulls where there is none of that name."""
    if name in batch.schema.names:
        return batch.column(name)
    return pa.nulls(batch.num_rows)


def _methods(batch: pa.RecordBatch) -> pa.Array:
    """The methods' or performatives' names."""
    return batch.column("performative" if "performative" in batch.schema.names else "method")


def _arguments(batch: pa.RecordBatch) -> list[str]:
    """The arguments of methods that have some; of performatives, what a person looks for."""
    names, texts = _methods(batch).to_pylist(), batch.column("arguments").to_pylist()
    written = [told(*each) for each in zip(names, texts, strict=True)]
    return [
        _clean(short) if short is not None else "" if text == "{}" else text
        for short, text in zip(written, _texts(batch.column("arguments")), strict=True)
    ]


def _payloads(batch: pa.RecordBatch) -> list[str]:
    """Bodies; of transfers the message."""
    columns = _methods(batch).to_pylist(), batch.column("payload").to_pylist()
    read = carried(
        body if name == "transfer" else None for name, body in zip(*columns, strict=True)
    )
    return [
        text if said is None else _clean(said)
        for said, text in zip(read, _texts(batch.column("payload")), strict=True)
    ]


def _days(batch: pa.RecordBatch) -> list[str]:
    """The dates of the rows, which the default table says once."""
    return [(text or "")[:10] for text in moments(batch.column("timestamp"))]


def _is_number(batch: pa.RecordBatch, name: str) -> bool:
    if name in ("conn", "ch", "size"):
        return True
    at = batch.schema.get_field_index(name)
    kind = batch.schema.field(at).type if at >= 0 else pa.null()
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _texts(column: pa.Array) -> list[str]:
    """Every value as a person reads it; nothing for null."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [(text or "").replace("T", " ") for text in moments(column)]
    if pa.types.is_struct(kind):
        members = [field.name for field in kind]
        parts = [_texts(column.field(at)) for at in range(len(members))]
        absent = column.is_null().to_pylist()
        return [
            "" if missing else " ".join(f"{k}={v}" for k, v in zip(members, row, strict=True) if v)
            for missing, row in zip(absent, zip(*parts, strict=True), strict=True)
        ]
    return ["" if value is None else _shown(value) for value in column.to_pylist()]


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return _octets(value)
    if isinstance(value, list):
        return ",".join(_shown(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return _clean(str(value))


def _octets(value: bytes) -> str:
    """Text where it is text, otherwise hex."""
    start = value[:LONGEST]
    # A character may have been cut in two.
    for cut in range(4 if len(value) > LONGEST else 1):
        try:
            text = start[: len(start) - cut].decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return _clean(text)
    return "0x" + value[:MOST_HEX].hex() + ("…" if len(value) > MOST_HEX else "")


def _clean(text: str) -> str:
    """One line of text that moves no cursor."""
    return CONTROL.sub(_escaped, text[:LONGEST])


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
