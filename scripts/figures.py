"""Figures of the documents, all of them out of bench/figures.json.

    python scripts/figures.py                 # write the marked tables and figures into the pages
    python scripts/figures.py --check         # exit status 1 where a page has others
    python scripts/figures.py --take FILE...  # take what `python -m bench --json FILE` measured,
                                              # or `python -m bench.live --json FILE`,
                                              # or `python -m bench.session --json FILE`

A page marks a table by `<!-- figures: NAME -->` and `<!-- end of figures -->` around it, and a
figure in a sentence by `<!-- figure: NAME -->64<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "bench" / "figures.json"
#: Pages with rows of `python -m bench`, and with them the one with what bench.live measured.
PAGES = ("README.md", "docs/performance.md", "docs/comparison.md")
ALL_PAGES = (*PAGES, "docs/guide/drop-ins.md")
TABLE = re.compile(r"(<!-- figures: ([\w.-]+) -->\n).*?(<!-- end of figures -->)", re.S)
FIGURE = re.compile(r"(<!-- figure: ([\w.-]+) -->)[^<]*(<!-- end -->)")

DECODE, ENCODE = "one frame a call, W1 decode", "one frame a call, W1 encode"
VIEWS, FULL = "batch decode to views", "batch decode to a full Arrow table"
CAPTURE = "capture file to all columns, one core, vs tshark with out-of-order reassembly"
THREADS = "two threads on pre-split input, full table, wall time, vs one"
SPARK = "Spark: decode of 20 columns vs identity mapInArrow writing the same columns"
#: The part of what a free codec saves that a drop-in has to save: bench/live.
PROGRAMS_GATE = 0.8
PROGRAMS_HEAD = ("client", "direction", "stock, µs", "drop-in, µs", "faster", "at most", "share")
#: Rows that the documents show as one.
SAME = {"construct + encode, W4, the others": "construct + encode, W4"}

#: Rows of the tables in docs/performance.md: what they are called there, and by the benchmark.
CODEC = {
    "deliver, header, body (371 bytes): one frame a call, decode": DECODE,
    "… encode": ENCODE,
    "the same as a stream of messages, headers and timestamp read": "message stream, eager, W1",
    "… left alone": "message stream, lazy headers, W1",
    "… `encode_message`": "message stream encode, W1",
    "ack and publish, decode": "one frame a call, W4 decode",
    "… constructed and encoded": "construct + encode, W4",
    "headers of 20 mixed entries, decode": "W3 decode",
    "… encode (20 entries)": "W3 encode",
    "bodies of 64 KiB in frames of 4 KiB, stream": (
        "bodies of 64 KiB, frame_max 4096, message stream, eager (W2b)"
    ),
    "… in frames of 128 KiB": "bodies of 64 KiB, frame_max 131072, message stream, eager (W2a)",
    "nothing repeats, half is not ASCII: decode": "cache-hostile decode, one frame a call",
    "… encode (nothing repeats)": "cache-hostile encode, one frame a call",
}
COLUMNS = {
    'messages to views of 26 columns (`layout="view"`)': VIEWS,
    "frames to a full Arrow table (`batch.decode`)": FULL,
    "columns to frames (`batch.encode`), headers as a struct": "batch encode, headers as a struct",
}
PEERS = ("pamqp", "pika", "py-amqp", "msgspec")
SESSIONS = {
    "publish": "publish, 1,000 wait for their confirms",
    "awaited": "publish, one after the other",
    "consume": "consume, an ack each",
}
CLIENTS = ("aio-pika", "aio-pika with drop-in", "aiormq", "pika Select", "pika Select with drop-in")
C_PEERS = ("pamqp", "msgspec", "rabbitmq-c")

Rows = dict[str, dict[str, float]]


def figure(number: float) -> str:
    """Three digits."""
    return (
        f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
    )


def short(number: float) -> str:
    """Two digits, for a text."""
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [f"| {' | '.join(cells)} |\n" for cells in (head, *rows)]
    lines.insert(1, f"|{'---|' * len(head)}\n")
    return "".join(lines)


def measured(names: dict[str, str], rows: Rows, peers: Sequence[str]) -> str:
    """Rows of the benchmark: ns a frame, and how many times as fast as each peer."""
    cells = [
        [
            name,
            figure(rows[row]["ns"]) if "ns" in rows[row] else "",
            *(f"{figure(rows[row][peer])}×" if peer in rows[row] else "" for peer in peers),
        ]
        for name, row in names.items()
        if row in rows
    ]
    return table(["what", "ns a frame", *peers], cells)


def against(figures: dict[str, Any], row: str, *peers: str) -> str:
    """`pamqp 29× (35×)`: in brackets on CPython 3.11, where it differs by more than a tenth."""
    texts = []
    for peer in peers:
        ratio, older = figures["rows"][row][peer], figures["rows_3_11"].get(row, {}).get(peer)
        text = f"{peer} {short(ratio)}×"
        if older and abs(older - ratio) > ratio / 10:
            text += f" ({short(older)}×)"
        texts.append(text)
    return ", ".join(texts)


def part_saved(share: float | None) -> str:
    """The part of what a free codec saves; None where that is nothing."""
    if share is None:
        return "nothing to gain"
    return f"{100 * share:.0f} %" + ", missed" * (share < PROGRAMS_GATE)


def programs(cells: dict[str, dict[str, Any]]) -> str:
    """Clients against a live broker; nothing before the first measurement."""
    rows = [
        [
            *name.rsplit(" ", 1),
            figure(cell["stock_us"]),
            figure(cell["dropin_us"]),
            f"{cell['gain']:.2f}×",
            f"{cell['most']:.2f}×",
            part_saved(cell["share"]),
        ]
        for name, cell in cells.items()
    ]
    return table(PROGRAMS_HEAD, rows) if rows else ""


def gains(cells: dict[str, dict[str, Any]]) -> str:
    """How many times less CPU time: a row for each client, a column for each direction."""
    ways = list(dict.fromkeys(name.rsplit(" ", 1)[1] for name in cells))
    clients = dict.fromkeys(name.rsplit(" ", 1)[0] for name in cells)
    found = {name: f"{cell['gain']:.1f}×" for name, cell in cells.items()}
    rows = [[client, *(found.get(f"{client} {way}", "") for way in ways)] for client in clients]
    return table(["client", *ways], rows) if rows else ""


def sessions(cells: dict[str, dict[str, float]]) -> str:
    """amqpcodec.aio: µs a message, and how many times as much other clients take."""
    rows = [
        [text, figure(cells[way]["us"]), *(f"{figure(cells[way][name])}×" for name in CLIENTS)]
        for way, text in SESSIONS.items()
        if way in cells
    ]
    return table(["what", "µs a message", *CLIENTS], rows) if rows else ""


def tables(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The tables, by their names."""
    rows = figures["rows"]
    yield "codec", measured(CODEC, rows, PEERS)
    yield "columns", measured(COLUMNS, rows, C_PEERS)
    yield "codec-3.11", measured(CODEC | COLUMNS, figures["rows_3_11"], PEERS)
    summary = [
        ["decode, one frame a call", against(figures, DECODE, *PEERS)],
        ["encode, one frame a call", against(figures, ENCODE, *PEERS)],
        ["frames to a full Arrow table", against(figures, FULL, "pamqp", "msgspec")],
        ["a capture to all columns", against(figures, CAPTURE, "tshark")],
    ]
    yield "summary", table(["what", "against"], summary)
    compared = [
        [what, "1", *(figure(rows[row][peer]) for peer in PEERS[:3])]
        for what, row in {"decode one frame a call": DECODE, "encode": ENCODE}.items()
    ]
    yield "compared", table(["CPU time", "amqpcodec", *PEERS[:3]], compared)
    yield "session", sessions(figures.get("session", {}))
    yield "programs", programs(figures.get("programs", {}))
    yield "gains", gains(figures.get("programs", {}))
    for name, cells in figures["tables"].items():
        yield name, table(cells[0], cells[1:])


def values(figures: dict[str, Any]) -> dict[str, str]:
    """Figures of sentences, by their names."""
    rows = figures["rows"]
    return {
        "tshark": short(rows[CAPTURE]["tshark"]),
        "threads": figure(rows[THREADS]["one thread"]),
        "spark": figure(rows[SPARK]["identity"]),
        "msgspec-decode": short(rows[DECODE]["msgspec"]),
        "msgspec-encode": short(rows[ENCODE]["msgspec"]),
        **figures["values"],
    }


def written(page: str, figures: dict[str, Any]) -> str:
    """The page with the figures of the file; KeyError for a name that is none."""
    by_name, texts = dict(tables(figures)), values(figures)
    page = TABLE.sub(lambda match: match[1] + by_name[match[2]] + match[3], page)
    return FIGURE.sub(lambda match: match[1] + texts[match[2]] + match[3], page)


def take(figures: dict[str, Any], measurement: dict[str, Any]) -> None:
    """Put what `python -m bench --json` wrote into the rows that are there.

    What `python -m bench.live --json` wrote replaces its rows, and is added where there are none;
    so does what `python -m bench.session --json` wrote.
    """
    if "programs" in measurement:
        shown = ("stock_us", "dropin_us", "gain", "most", "share")
        for name, cell in measurement["programs"].items():
            rounded = {key: None if cell[key] is None else round(cell[key], 3) for key in shown}
            figures.setdefault("programs", {})[name] = rounded
        return
    if "session" in measurement:
        figures["session"] = {
            way: {name: round(number, 2) for name, number in cell.items()}
            for way, cell in measurement["session"].items()
        }
        return
    python = measurement["environment"]["python"]
    rows = figures["rows_3_11" if python.startswith("3.11.") else "rows"]
    for line in measurement["rows"]:
        row = SAME.get(line["what"], line["what"])
        if row not in figures["rows"] or line["ns"] is None:
            continue
        cells = rows.setdefault(row, {})
        if row == line["what"]:
            cells["ns"] = round(line["ns"]["median"], 1)
        for item in line["against"]:
            cells[item["peer"]] = round(item["ratio"]["median"], 2)
    figures["environment"][python] = measurement["environment"]


def main() -> int:
    """Write the pages, or name those that have other figures."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--check", action="store_true", help="exit status 1 where a page differs")
    options.add_argument("--take", nargs="+", type=Path, default=[], metavar="FILE")
    arguments = options.parse_args()
    figures = json.loads(FILE.read_text(encoding="utf-8"))
    for path in arguments.take:
        take(figures, json.loads(path.read_text(encoding="utf-8")))
    if arguments.take:
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        FILE.write_text(text + "\n", encoding="utf-8")
    stale = 0
    for name in ALL_PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        text = written(page, figures)
        if text == page:
            continue
        if arguments.check:
            print(f"{name} has other figures than bench/figures.json", file=sys.stderr)
            stale = 1
        else:
            (ROOT / name).write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
