"""``amqpcodec diagnose``: what a person would look into, the most severe first."""

from __future__ import annotations

import shlex
from typing import IO, Any

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from ..analysis._questions import load
from ..capture._notices import counted_noun
from .answers import write_answer
from .cells import cells, clean
from .options import DiagnoseOptions
from .output import Writer
from .table import Table
from .times import Clock

__all__ = ["command", "diagnose", "sentences"]

#: A person reads no more of them; the other formats have all.
MOST = 12
#: Proposed commands name so many files at most.
NAMED_FILES = 4
#: The command that shows the rows behind a finding; errors has those of all others.
COMMANDS = {
    "backlog": "queues",
    "connection closed with an error": "connections",
    "connection refused": "connections",
    "deliveries not settled": "unacked",
    "heartbeat missed": "connections",
    "lost with unconfirmed publishes": "connections",
    "lost with unsettled messages": "errors --all",
    "lost without a close": "connections",
    "malformed frames": "dissect --level message --where error",
    "many short connections": "connections",
    "poison message": "messages",
    "recording incomplete": "stats",
    "request without an answer": 'dissect --level event --where "event == waiting"',
    "slow work": "latency",
}
NOTHING = "nothing was found of what diagnose looks for"
SEVERITIES = {1: "bold red", 2: "bold yellow", 3: "bold", 4: "dim"}


def diagnose(options: DiagnoseOptions) -> int:
    """Read the events of every file once, and write what went wrong."""
    question = load("diagnose")
    files = shlex.join(str(file) for file in options.source.files[: NAMED_FILES + 1])
    if len(options.source.files) > NAMED_FILES:
        files = "FILE..."
    reading = " ".join(filter(None, (shlex.join(options.source.words), files)))

    def findings(out: IO[str], clock: Clock) -> Writer:
        if options.rows.fields is not None:
            return Table(out, clock, lines=0)
        return Findings(out, clock, reading)

    return write_answer(options, question.query, list(question.columns), findings, nothing=NOTHING)


class Findings:
    """Writes findings as paragraphs of two or three lines."""

    def __init__(self, out: IO[str], clock: Clock, reading: str) -> None:
        """reading: the files that the proposed commands read, after the options for that."""
        self.console = Console(file=out, highlight=False, markup=False, emoji=False)
        self.clock = clock
        self.reading = reading
        self.live = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Show the findings of a batch, all that there are."""
        times = [
            cells(batch.column(name), batch.schema.field(name), self.clock)
            for name in ("first_event", "last_event")
        ]
        rows = batch.slice(0, MOST).to_pylist()
        for row, first, last in zip(rows, *times, strict=False):
            self._finding(row, first, last)
        if batch.num_rows > MOST:
            self._print(f"{batch.num_rows - MOST} more: --format json or csv has them all")

    def close(self) -> None:
        """Nothing is held back."""

    def _finding(self, row: dict[str, Any], first: str, last: str) -> None:
        head, *others = sentences(row, first, last)
        self._print(f"{row['severity']}  {head}", SEVERITIES[row["severity"]])
        for line in others:
            self._print(line, indent=3)
        proposal = f"amqpcodec {command(row['finding'])} {self.reading}"
        self._print(proposal, "dim", indent=3, pasted=True)

    def _print(self, line: str, style: str = "", indent: int = 0, pasted: bool = False) -> None:
        """A line, never cut in a pipe, and in a terminal as far to the right where it goes on.

        pasted: people copy it, and a shell takes one line.
        """
        folded = [Text(line, style)]
        if self.console.is_terminal and not pasted:
            folded = list(folded[0].wrap(self.console, self.console.width - indent))
        for text in folded:
            text.rstrip()
            self.console.print(Text(" " * indent) + text, soft_wrap=True)


def sentences(row: dict[str, Any], first: str, last: str) -> list[str]:
    """The lines of a finding: what it is and where, its text if it has one, how often and when.

    Text of the wire in it moves no cursor. first, last: when it happened.
    """
    places = [clean(row["connection_name"])] if row["connection_name"] else []
    places += [
        f"{name} {clean(row[name]) or '(default)'}"
        for name in ("queue", "exchange")
        if row[name] is not None
    ]
    head = row["finding"] + ": " * bool(places) + ", ".join(places)
    said = [str(row["reply_code"])] if row["reply_code"] is not None else []
    said += [clean(row["text"])] if row["text"] else []
    if row["messages"] is None:
        numbers = [counted_noun(row["count"], "time")]
    else:
        # What was inferred of a damaged connection may not be all that it held.
        least = "at least " * (row["certainty"] == "inferred" and row["finding"] != "backlog")
        numbers = []
        if row["connections"]:
            numbers.append(counted_noun(row["connections"], "connection"))
        if row["messages"]:
            numbers.append(least + counted_noun(row["messages"], "message"))
    when = first if first == last else f"{first} to {last}"
    certainty = "" if row["certainty"] == "exact" else f"; {row['certainty']}"
    return [head, *([" ".join(said)] if said else []), f"{', '.join(numbers)}, {when}{certainty}"]


def command(finding: str) -> str:
    """The command, without its files, that shows the rows behind a finding."""
    return COMMANDS.get(finding, "errors")
