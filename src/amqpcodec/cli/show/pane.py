"""A tree and a hex dump, side by side where the terminal is wide enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

import pyarrow as pa
from rich.table import Table as Grid
from rich.text import Text

from ..cells import clean
from ..table import Table
from ..times import Clock

__all__ = ["Pane", "dump"]

#: Columns of a terminal that has room for both, and of a dump of 16 bytes.
WIDE, DUMP = 150, 74
#: Bytes that are dumped: nobody reads more of them.
MAX_BYTES = 4096
#: Characters of a value.
MAX_CHARACTERS = 300
COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")


class Pane(Table):
    """Writes the parts of one frame, and its bytes."""

    def __init__(self, out: IO[str], title: Iterable[str], raw: bytes) -> None:
        """title: lines above them."""
        super().__init__(out, Clock())
        self.title, self.raw = list(title), raw

    def write(self, batch: pa.RecordBatch) -> None:
        """Show the tree, and the dump. With other columns than all, a plain table."""
        if "name" not in batch.schema.names or "depth" not in batch.schema.names:
            super().write(batch)
            return
        console = self.console
        for line in self.title:
            if not self.fits:
                console.file.write(f"{line}\n")
                continue
            console.print(Text(line), style="bold red" if line.startswith("! ") else "bold")
        rows = batch.to_pylist()
        colours = _colours(rows, len(self.raw))
        if not self.fits:
            lines = [*_tree(rows), Text(), *dump(self.raw, colours)]
            console.file.writelines(f"{line.plain.rstrip()}\n" for line in lines)
            return
        tree = Text("\n").join(_tree(rows))
        hexed = Text("\n").join(dump(self.raw, colours))
        if console.width >= WIDE:
            grid = Grid.grid(padding=(0, 2))
            grid.add_column(width=console.width - DUMP - 4, no_wrap=True, overflow="ellipsis")
            grid.add_column(width=DUMP, no_wrap=True)
            grid.add_row(tree, hexed)
            console.print(grid)
        else:
            console.print(tree, no_wrap=True, overflow="ellipsis")
            console.print()
            console.print(hexed, soft_wrap=True)


def _tree(rows: list[dict[str, object]]) -> Iterator[Text]:
    for at, row in enumerate(rows):
        depth, offset, length = (int(str(row[name])) for name in ("depth", "offset", "length"))
        line = Text(f"{offset:04x}+{length:<4d} {'  ' * depth}")
        line.stylize("dim")
        line.append(clean(str(row["name"])), "" if row["text"] == "" else COLOURS[at % 6])
        line.append(": ")
        line.append(_short(clean(str(row["text"]))), "bold")
        line.append(f"  {row['type']}", "dim")
        if row["note"]:
            line.append(f"  {clean(str(row['note']))}", "italic dim")
        yield line


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "…"


def _colours(rows: list[dict[str, object]], size: int) -> list[str]:
    """The colour of each byte: that of the innermost part it belongs to."""
    colours = [""] * min(size, MAX_BYTES)
    for at, row in enumerate(rows):
        offset, length = int(str(row["offset"])), int(str(row["length"]))
        last = min(offset + length, len(colours))
        colours[offset:last] = [COLOURS[at % 6]] * max(0, last - offset)
    return colours


def dump(raw: bytes, colours: list[str]) -> Iterator[Text]:
    """Lines of 16 bytes: offset, hex, characters; a star for lines like the one before."""
    before, skipped = b"", False
    for start in range(0, min(len(raw), MAX_BYTES), 16):
        if raw[start : start + 16] == before:
            if not skipped:
                yield Text("*", "dim")
            skipped = True
            continue
        before, skipped = raw[start : start + 16], False
        line = Text(f"{start:04x}  ", "dim")
        row = raw[start : start + 16]
        for at, byte in enumerate(row):
            line.append(f"{byte:02x} ", colours[start + at])
        line.append("   " * (16 - len(row)) + " ")
        for at, byte in enumerate(row):
            line.append(chr(byte) if 32 <= byte < 127 else ".", colours[start + at])
        yield line
    if len(raw) > MAX_BYTES:
        yield Text(f"... {len(raw) - MAX_BYTES:,} bytes more", "dim")
