"""The pictures of docs/: boxes and arrows as SVG, from the lists below.

python scripts/pictures.py           # writes docs/pictures
python scripts/pictures.py --check   # exit status 1 where a file is another one
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 46, 46, 30, 12

#: Colours that can be read on white and on dark pages.
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1c2733; text-anchor: middle }
.more { font-size: 11px; fill: #44525f }
rect { rx: 6; fill: #e8eef5; stroke: #8aa0b6 }
.core rect { fill: #dcecdf; stroke: #7fa98a }
.outside rect { fill: #f4f1e4; stroke: #b5a878 }
path { stroke: #7b8794; stroke-width: 1.5; fill: none; marker-end: url(#head) }
"""


class Box(NamedTuple):
    """A box at a place of the grid. style: "", "core" or "outside"."""

    column: float
    row: float
    text: str
    more: str = ""
    style: str = ""

    @property
    def x(self) -> float:
        """Its left side."""
        return MARGIN + self.column * (WIDTH + GAP_X)

    @property
    def y(self) -> float:
        """Its upper side."""
        return MARGIN + self.row * (HEIGHT + GAP_Y)


class Picture(NamedTuple):
    """Boxes by a name, and arrows from one to another."""

    title: str
    boxes: dict[str, Box]
    arrows: tuple[tuple[str, str], ...]


PICTURES = {
    "ways": Picture(
        "From bytes to objects or columns, and back",
        {
            "bytes": Box(0, 1, "bytes", "a socket, a table, a file", "outside"),
            "frames": Box(1, 1, "frames", "boundaries, limits", "core"),
            "reader": Box(2, 0, "readers", "0-x · 1.0", "core"),
            "writer": Box(2, 2, "writers", "0-x · 1.0", "core"),
            "values": Box(3, 1, "value array", "borrows the input", "core"),
            "objects": Box(4, 0, "objects", "methods, messages", ""),
            "columns": Box(4, 1, "Arrow columns", "batches, captures", ""),
            "clients": Box(4, 2, "clients' objects", "drop-ins", ""),
        },
        (
            ("bytes", "frames"),
            ("frames", "reader"),
            ("reader", "values"),
            ("values", "writer"),
            ("writer", "frames"),
            ("values", "objects"),
            ("values", "columns"),
            ("values", "clients"),
            ("objects", "values"),
            ("columns", "values"),
            ("clients", "values"),
            ("frames", "bytes"),
        ),
    ),
    "tables": Picture(
        "A protocol is a table made from its XML",
        {
            "xml": Box(0, 0.5, "spec/*.xml", "facts of the wire", "outside"),
            "model": Box(1, 0.5, "model", "amqpcodec.spec", ""),
            "lowered": Box(2, 0.5, "lowered table", "ids, fields, types", ""),
            "generated": Box(3, 0, "_gen", "fast readers, stubs", "core"),
            "loaded": Box(3, 1, "load_xml_spec", "at run time", "core"),
            "module": Box(4, 0.5, "protocol module", "classes, functions", ""),
        },
        (
            ("xml", "model"),
            ("model", "lowered"),
            ("lowered", "generated"),
            ("lowered", "loaded"),
            ("generated", "module"),
            ("loaded", "module"),
        ),
    ),
    "package": Picture(
        "The package: who uses what",
        {
            "wire": Box(0, 1.5, "_codec, _v1", "bytes and values", "core"),
            "modules": Box(1, 1, "protocol modules", "v0_9_1 ... v1_0", ""),
            "batch": Box(1, 2, "batch", "bytes and Arrow", ""),
            "capture": Box(1, 3, "capture, traces", "files to Arrow", ""),
            "compat": Box(2, 0, "compat", "drop-ins", ""),
            "session": Box(2, 1, "session", "state machine", ""),
            "spark": Box(2, 3, "spark", "functions, format", ""),
            "cli": Box(2, 2, "cli", "amqpcodec COMMAND", ""),
            "clients": Box(3, 0, "pika, Celery, Azure", "existing clients", "outside"),
            "programs": Box(3, 1, "clients, brokers", "with I/O of their own", "outside"),
            "tables": Box(3, 3, "DataFrames, SQL", "Spark, Polars, DuckDB", "outside"),
            "people": Box(3, 2, "tables, reports", "CSV, JSON, Parquet", "outside"),
        },
        (
            ("wire", "modules"),
            ("wire", "batch"),
            ("wire", "capture"),
            ("wire", "compat"),
            ("modules", "session"),
            ("batch", "spark"),
            ("capture", "spark"),
            ("capture", "cli"),
            ("compat", "clients"),
            ("session", "programs"),
            ("session", "cli"),
            ("spark", "tables"),
            ("capture", "tables"),
            ("cli", "people"),
        ),
    ),
    "session": Picture(
        "States of a connection and of a channel",
        {
            "new": Box(0, 0, "handshake", "start, tune, login", ""),
            "open": Box(1, 0, "connection open", "ConnectionOpened", "core"),
            "closing": Box(2, 0, "closing", "close() was called", ""),
            "closed": Box(3, 0, "connection closed", "ConnectionClosed", "outside"),
            "c_new": Box(1, 1, "channel opening", "open_channel()", ""),
            "c_open": Box(2, 1, "channel open", "ChannelOpened", "core"),
            "c_closing": Box(3, 1, "closing", "channel.close()", ""),
            "c_closed": Box(3, 2, "channel closed", "ChannelClosed", "outside"),
            "works": Box(2, 2, "work", "Replied, Acked, Delivered", ""),
        },
        (
            ("new", "open"),
            ("open", "closing"),
            ("closing", "closed"),
            ("open", "c_new"),
            ("c_new", "c_open"),
            ("c_open", "c_closing"),
            ("c_closing", "c_closed"),
            ("c_open", "works"),
            ("works", "c_closed"),
        ),
    ),
    "capture": Picture(
        "A capture becomes columns",
        {
            "file": Box(0, 0, "file", "pcap, pcapng, gzip, zstd", "outside"),
            "records": Box(1, 0, "records", "packets with times", "core"),
            "segments": Box(2, 0, "TCP segments", "tunnels, fragments", "core"),
            "stream": Box(3, 0, "streams in order", "gaps are rows", "core"),
            "frames": Box(4, 0, "frames", "found again after gaps", "core"),
            "rows": Box(4, 1, "rows in order", "of their packets", "core"),
            "batch": Box(3, 1, "Arrow batches", "credentials hidden", ""),
            "users": Box(2, 1, "SQL, Polars, Spark", "the command line", "outside"),
        },
        (
            ("file", "records"),
            ("records", "segments"),
            ("segments", "stream"),
            ("stream", "frames"),
            ("frames", "rows"),
            ("rows", "batch"),
            ("batch", "users"),
        ),
    ),
}


def arrow(start: Box, end: Box) -> str:
    """A line between the sides that face each other."""
    if start.column == end.column:
        down = end.row > start.row
        x = start.x + WIDTH / 2
        y, to = (start.y + HEIGHT, end.y - 4) if down else (start.y, end.y + HEIGHT + 4)
        return f"M{x:g} {y:g}V{to:g}"
    right = end.column > start.column
    x, to = (start.x + WIDTH, end.x - 4) if right else (start.x, end.x + WIDTH + 4)
    # Two arrows between the same boxes lie beside each other.
    shift = -7 if right else 7
    y, last = start.y + HEIGHT / 2 + shift, end.y + HEIGHT / 2 + shift
    middle = (x + to) / 2
    return f"M{x:g} {y:g}C{middle:g} {y:g} {middle:g} {last:g} {to:g} {last:g}"


def drawn(picture: Picture) -> Iterator[str]:
    """The lines of the file."""
    boxes = picture.boxes.values()
    width = max(box.x for box in boxes) + WIDTH + MARGIN
    height = max(box.y for box in boxes) + HEIGHT + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
    )
    yield f"<title>{escape(picture.title)}</title>"
    yield f"<style>\n{STYLE}</style>"
    yield (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"'
        ' style="fill:#7b8794;stroke:none;marker-end:none"/></marker></defs>'
    )
    for start, end in picture.arrows:
        yield f'<path d="{arrow(picture.boxes[start], picture.boxes[end])}"/>'
    for box in boxes:
        middle = box.x + WIDTH / 2
        text = box.y + (20 if box.more else 28)
        yield f'<g class="{box.style}">'
        yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{WIDTH}" height="{HEIGHT}"/>'
        yield f'<text x="{middle:g}" y="{text:g}">{escape(box.text)}</text>'
        if box.more:
            yield f'<text class="more" x="{middle:g}" y="{box.y + 36:g}">{escape(box.more)}</text>'
        yield "</g>"
    yield "</svg>"


def main() -> int:
    """Write the files, or say which are not as they would be written."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    other = 0
    for name, picture in PICTURES.items():
        path = FOLDER / f"{name}.svg"
        text = "\n".join(drawn(picture)) + "\n"
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                print(f"{path.name} is not what scripts/pictures.py draws", file=sys.stderr)
                other += 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
