"""Arrow batches to a table that a person can read, a line a row, as they come.

The widths are those that the first batch asks for, fitted to the terminal; in a pipe nothing is
shortened. On a narrow terminal a long text of the last column has lines of its own below its row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import IO

import pyarrow as pa
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from .cells import cells, clean
from .times import Clock

__all__ = ["Table", "best_head", "fitted", "narrow_terminal", "shortened"]

#: Never made narrower than this, and never wider to begin with (but for the last column).
NARROWEST, LAST_NARROWEST, WIDEST = 6, 12, 36
SEPARATOR = "  "
#: How a time begins that is within the calendar.
DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2} ")
FIRM = (
    *("time", "timestamp", "began_at", "delivered_at", "first_event", "last_event"),
    *("method", "kind", "event", "from", "ended", "outcome", "reply_code", "span"),
)
#: A terminal of fewer columns has times in milliseconds, and routing beside the other details.
NARROW = 110
#: So much of a name is enough there where another column would have no room; of a queue's, more.
NARROW_NAME = 16
NARROW_QUEUE = 24
#: Columns that a table shows in any case have as little as this each before one of them goes.
SHORTEST_NAME = 9
#: Names that often begin alike, or end alike: these are shortened in the middle.
NAMES = (
    *("queue", "exchange", "routing_key", "consumer_tag", "message_id", "correlation_id"),
    *("connection_name", "client", "virtual_host", "name"),
)
#: The texts by which a column's places to cut are judged, at most.
COMPARED_TEXTS = 1000
#: Last columns of long texts, which are written below their rows where they have less room than so;
#: shorter texts have a column as others have.
LONG_TEXTS = ("details", "example", "reason", "reply_text", "text")
LONG_TEXT_ROOM = 40
SHORT_TEXT = 16
#: How far these lines stand to the right.
INDENT = 4
#: How wide columns are where rows come one by one.
LIVE = {
    **{"n": 5, "conn": 4, "from": 6, "ch": 3, "kind": 18, "method": 18, "size": 7, "event": 8},
    **{"exchange": 16, "routing_key": 20, "queue": 20, "details": 40},
}
STYLES = {
    "n": "dim",
    "time": "dim",
    "conn": "dim",
    "client": "green",
    "server": "blue",
    "kind": "bold",
    "event": "bold",
    "error": "bold red",
}


def narrow_terminal(out: IO[str]) -> bool:
    """Whether rows go to a terminal that has few columns."""
    console = Console(file=out)
    return console.is_terminal and console.width < NARROW


class Table:
    """Writes batches: a column each of theirs."""

    def __init__(
        self,
        out: IO[str],
        clock: Clock,
        lines: int = 1,
        styles: dict[str, str] | None = None,
        limits: dict[str, int] | None = None,
        optional: Sequence[str] = (),
        essential: Collection[str] = (),
    ) -> None:
        """lines: that the last column takes on a terminal, at most; 0: as many as its text needs.

        styles: of values and of columns. limits: how wide columns may be, where not as wide as
        others. optional: columns that a terminal too narrow for all does not show, in this order;
        a line above the head names them. essential: those of them for which others are shortened.
        """
        self.console = Console(file=out, highlight=False, markup=False, emoji=False)
        self.fits = self.console.is_terminal
        self.clock = clock
        self.lines = lines
        self.styles = {**STYLES, **(styles or {})}
        self.limits = limits or {}
        self.optional = optional
        self.essential = essential
        self.hidden: list[str] = []
        self.widths: list[int] = []
        self.right: list[bool] = []
        self.heads: list[int] = []  # how much of a shortened text is its beginning
        self.room = 0  # for the last column
        self.below = False  # where it does not fit, it stands below its row
        self.day = ""
        self.live = False  # rows come one by one: the first says little about the others

    def write(self, batch: pa.RecordBatch) -> None:
        """Show the rows of a batch."""
        if not batch.num_rows:
            return
        columns = {
            field.name: cells(column, field, self.clock)
            for field, column in zip(batch.schema, batch.columns, strict=True)
        }
        days = [""] * batch.num_rows
        if self.fits and self.clock.mode != "relative":
            days = self._shorten(batch, columns)
        if not self.widths:
            self._begin(batch, columns)
        columns = {name: texts for name, texts in columns.items() if name not in self.hidden}
        names = list(columns)
        if not any(pa.types.is_timestamp(batch.schema.field(name).type) for name in names):
            days = [""] * batch.num_rows
        for day, row in zip(days, zip(*columns.values(), strict=True), strict=True):
            if day and day != self.day:
                self.day = day
                self.console.print(f"-- {day} {self.clock.name} --", style="dim")
            self._line(names, row)

    def note(self, text: str) -> None:
        """A line that is no row, before those that follow."""
        self.console.print(Text(clean(text), "dim"), soft_wrap=not self.fits)

    def close(self) -> None:
        """Nothing is held back."""

    def _shorten(self, batch: pa.RecordBatch, columns: dict[str, list[str]]) -> list[str]:
        """Times without their date, which is said once: the dates of the rows."""
        end = 23 if self.console.width < NARROW else 26
        days = [""] * batch.num_rows
        for field in batch.schema:
            if not pa.types.is_timestamp(field.type) or "." in field.name:
                continue
            texts = columns[field.name]
            if not any(days):
                days = [text[:10] if DATE.match(text) else "" for text in texts]
            columns[field.name] = [
                text[11:end].removesuffix("Z") if day and text[:10] == day else text[:end]
                for text, day in zip(texts, days, strict=True)
            ]
        return days

    def _begin(self, batch: pa.RecordBatch, columns: dict[str, list[str]]) -> None:
        """The widths and the head, from what comes first."""
        if self.fits:
            self._leave_out(columns)
        columns = {name: texts for name, texts in columns.items() if name not in self.hidden}
        widths = [
            max([cell_len(clean(name)), *(cell_len(text) for text in texts)])
            for name, texts in columns.items()
        ]
        names = list(columns)
        if self.live:
            widths = [
                max(width, LIVE.get(name, 0)) for name, width in zip(names, widths, strict=True)
            ]
        widths[:-1] = [
            min(width, max(self.limits.get(name, WIDEST), cell_len(name)))
            for name, width in zip(names[:-1], widths[:-1], strict=True)
        ]
        self.right = [_is_number(batch, name) for name in columns]
        if self.fits:
            widths = self._fitted(names, widths)
        self.widths = widths
        self.heads = [
            best_head(texts, width) if name in NAMES else width - 1
            for (name, texts), width in zip(columns.items(), widths, strict=True)
        ]
        if self.hidden:
            hidden = ", ".join(self.hidden)
            self.note(f"no room for {hidden}: a wider terminal or --fields shows them")
        self._line(names, names, head=True)

    def _fitted(self, names: Sequence[str], widths: list[int]) -> list[int]:
        """Widths for the terminal, and whether the last column may stand below its rows."""
        firm = [at for at, name in enumerate(names) if name in FIRM]
        width = self.console.width
        self.room = width - sum(widths[:-1]) - len(SEPARATOR) * (len(widths) - 1)
        self.below = (
            self.lines != 1
            and names[-1] in LONG_TEXTS
            and len(names) > 1
            and widths[-1] > SHORT_TEXT
            and self.room < min(widths[-1], LONG_TEXT_ROOM)
        )
        heads = [max(SHORTEST_NAME, cell_len(name)) for name in names]
        if not self.below:
            return fitted(widths, width, firm, heads)
        *widths, _ = fitted([*widths[:-1], 0], width, firm, heads)
        self.room = max(0, width - sum(widths) - len(SEPARATOR) * len(widths))
        return [*widths, self.room]

    def _leave_out(self, columns: dict[str, list[str]]) -> None:
        """Find out which columns there is no room for."""
        wide = {
            name: min(max(map(cell_len, [name, *texts])), self.limits.get(name, WIDEST))
            for name, texts in columns.items()
        }
        narrow = wide
        if self.console.width < NARROW:
            narrow = {
                name: width
                if name in FIRM or name in LONG_TEXTS
                else min(width, NARROW_QUEUE if name == "queue" else NARROW_NAME)
                for name, width in wide.items()
            }
        shortest = {
            name: min(width, SHORTEST_NAME) if name in NAMES else width
            for name, width in narrow.items()
        }
        present = [name for name in self.optional if name in columns]
        # Columns that say nothing go first.
        empty = [
            name
            for name in present
            if name not in self.essential and set(columns[name]) <= {"", "0"}
        ]
        for name in [*empty, *(name for name in present if name not in empty)]:
            if self._fit(shortest if name in self.essential else narrow):
                break
            self.hidden.append(name)
        for name in reversed(self.hidden[:]):  # a wide one has gone after it
            self.hidden.remove(name)
            if name in LONG_TEXTS or not self._fit(wide):
                self.hidden.insert(0, name)

    def _fit(self, wide: dict[str, int]) -> bool:
        """Whether the columns that are not hidden have room. wide: how wide they are."""
        return self._total(wide) <= self.console.width

    def _total(self, wide: dict[str, int]) -> int:
        """How wide the columns are together that are not hidden."""
        widths = {name: width for name, width in wide.items() if name not in self.hidden}
        last = list(widths)[-1]
        if self.lines != 1 and last in LONG_TEXTS and widths[last] > SHORT_TEXT:
            del widths[last]  # it stands below
        elif self.lines != 1:
            widths[last] = min(widths[last], self.console.width // 4)
        return sum(widths.values()) + len(SEPARATOR) * (len(widths) - 1)

    def _line(self, names: Sequence[str], row: Sequence[str], head: bool = False) -> None:
        *row, last = map(clean, names) if head else row
        if self.below and cell_len(last) > self.room:
            self._print(names, [*row, ""], head)
            for line in self._folded(last, self.console.width - INDENT):
                self.console.print(Text(" " * INDENT + line, self._style(names[-1], last)))
            return
        folds = self.fits and self.lines != 1 and not self.below
        rows = self._folded(last, self.widths[-1]) if folds else [last]
        self._print(names, [*row, rows[0]], head)
        for more in rows[1:]:
            self._print(names, [*("" for _ in row), more], head)

    def _folded(self, text: str, width: int) -> list[str]:
        """A text in lines of a width; the last one that there may be says whether it goes on."""
        if self.lines:
            text = text[: width * (self.lines + 1)]
        lines = Text(text).wrap(self.console, width)
        folded = [line.plain.rstrip() for line in lines] or [""]
        if self.lines and len(folded) > self.lines:
            folded = folded[: self.lines]
            folded[-1] = set_cell_size(folded[-1], min(cell_len(folded[-1]), width - 1)) + "…"
        return folded

    def _print(self, names: Sequence[str], row: Sequence[str], head: bool) -> None:
        written = [
            self._cell(text, width, right, width - 1 if head else beginning)
            for text, width, right, beginning in zip(
                row, self.widths, self.right, self.heads, strict=True
            )
        ]
        if not self.fits:
            self.console.file.write(SEPARATOR.join(written).rstrip() + "\n")
            return
        line = Text(no_wrap=True)
        for name, text, cell in zip(names, row, written, strict=True):
            style = "bold underline" if head else self._style(name, text)
            line.append(cell, style)
            line.append(SEPARATOR)
        line.rstrip()
        line.truncate(self.console.width)
        self.console.print(line, soft_wrap=True)

    def _style(self, name: str, text: str) -> str:
        """How a value of a column is written."""
        if name == "details" and text.startswith("!"):
            return self.styles["error"]
        return self.styles.get(text, self.styles.get(name, ""))

    def _cell(self, text: str, width: int, right: bool, head: int) -> str:
        """A text as wide as its column; in a pipe, at least so wide.

        head: how much of a text that is too long stands before the ellipsis.
        """
        missing = width - cell_len(text)
        if missing < 0:
            return shortened(text, width, head) if self.fits else text
        return " " * missing + text if right else text + " " * missing


def shortened(text: str, width: int, head: int) -> str:
    """The beginning and the end of a text. head: how wide the beginning is."""
    end = set_cell_size(text[::-1], max(0, width - 1 - head))[::-1]
    return f"{set_cell_size(text, head)}…{end}"


def best_head(texts: Sequence[str], width: int) -> int:
    """How wide the beginning of shortened texts is, with which most of them differ.

    It is as close to half of the width as that allows.
    """
    long_texts = [text for text in dict.fromkeys(texts) if cell_len(text) > width]
    heads = sorted(range(1, width - 1), key=lambda head: abs(2 * head - width + 1))
    return max(
        heads,
        key=lambda head: len(
            {shortened(text, width, head) for text in long_texts[:COMPARED_TEXTS]}
        ),
        default=width - 1,
    )


def fitted(
    requested_widths: list[int],
    width: int,
    firm: Collection[int] = (),
    enough: Sequence[int] = (),
) -> list[int]:
    """Widths that fit together: the last column gives way first, then the widest, to NARROWEST.

    firm: columns that give way when no other can. enough: widths that columns keep while others
    have more than that.
    """
    *widths, last = requested_widths
    room = width - len(SEPARATOR) * len(widths)
    soft = [at for at in range(len(widths)) if at not in firm]
    least = 0
    first = last if len(widths) in firm else width // 3
    for group, for_last, floors in (
        (soft, first, enough),
        (soft, first, ()),
        (soft, LAST_NARROWEST, ()),
        (list(firm), LAST_NARROWEST, ()),
    ):
        least = min(last, max(for_last, LAST_NARROWEST))
        lowest = [max(NARROWEST, floor) for floor in floors] or [NARROWEST] * len(widths)
        while sum(widths) + least > room:
            wide = [at for at in group if at < len(widths) and widths[at] > lowest[at]]
            if not wide:
                break
            widths[max(wide, key=lambda at: widths[at])] -= 1
    return [*widths, max(least, min(last, room - sum(widths)))]


def _is_number(batch: pa.RecordBatch, name: str) -> bool:
    kind = batch.schema.field(name).type
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_duration(kind)
    )
