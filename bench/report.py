"""The results as a table: for a terminal, as Markdown, as JSON."""

import gc
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from bench import peers
from bench.measure import Spread, Timings
from bench.targets import Against, Cell, Row
from bench.work import Absent

COLUMNS = ("pamqp", "pika", "py-amqp", "msgspec")


@dataclass(frozen=True)
class Result:
    """One peer of one row, measured."""

    against: Against
    ratio: Spread

    @property
    def verdict(self) -> str:
        """FAIL, pass, goal, or nothing where there is no gate."""
        gate, goal, ratio = self.against.gate, self.against.goal, self.ratio.median
        if gate is None or goal is None:
            return ""
        if self.against.at_most:
            return "goal" if ratio <= goal else "pass" if ratio <= gate else "FAIL"
        return "goal" if ratio >= goal else "pass" if ratio >= gate else "FAIL"

    def text(self) -> str:
        """Ratio, half the distance of its quartiles, gate and goal, and FAIL if so."""
        text = f"{_figure(self.ratio.median)}× ±{self.ratio.percent:.0f}%"
        if not self.verdict:
            return text
        text += f" {self.against.limits}"
        return f"{text} FAIL" if self.verdict == "FAIL" else text


@dataclass(frozen=True)
class Line:
    """A row with what was found."""

    row: Row
    ours: Spread | None
    results: tuple[Result, ...]

    @property
    def verdict(self) -> str:
        """The worst verdict of the row; a gate whose peer was not measured is not passed."""
        if self.ours is None:
            return "absent"  # the notes say why
        if not self.row.is_target:
            return ""
        verdicts = {result.verdict for result in self.results if result.verdict}
        missing = [
            against.peer
            for against in self.row.against
            if against.gate is not None
            and against.cell not in {result.against.cell for result in self.results}
        ]
        if "FAIL" in verdicts:
            return "FAIL"
        worst = "pass" if "pass" in verdicts else "goal" if verdicts else "no peer"
        return f"{worst}, without {', '.join(missing)}" if missing else worst

    def other(self) -> str:
        """The peers that have no column of their own."""
        return "; ".join(
            f"{item.peer}: {self._text(item)}"
            for item in self.row.against
            if item.peer not in COLUMNS
        )

    def column(self, peer: str) -> str:
        """The result against this peer; where it was not measured, gate and goal alone."""
        return "; ".join(self._text(item) for item in self.row.against if item.peer == peer)

    def _text(self, against: Against) -> str:
        measured = next((item for item in self.results if item.against == against), None)
        return measured.text() if measured else against.limits


def lines(rows: Sequence[Row], timings: Timings) -> list[Line]:
    """Every row, measured or not."""
    result_lines = []
    for row in rows:
        measured = row.ours in timings.samples
        results = tuple(
            Result(against, timings.ratio(row.ours, against))
            for against in row.against
            if measured and against.cell in timings.samples
        )
        result_lines.append(Line(row, timings.cell(row.ours) if measured else None, results))
    return result_lines


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


# ---------------------------------------------------------------- the tables as rows of text

HEAD = ("what", "ns a frame", *COLUMNS, "other", "verdict")


def _target_rows(result_lines: Sequence[Line]) -> list[tuple[str, ...]]:
    return [
        (
            line.row.what,
            f"{_figure(line.ours.median)} ±{line.ours.percent:.0f}%" if line.ours else "–",
            *(line.column(peer) for peer in COLUMNS),
            line.other(),
            line.verdict,
        )
        for line in result_lines
    ]


def _absolute_rows(timings: Timings) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """ns a frame by operation and workload, a column a peer."""
    kinds = dict.fromkeys((workload, operation) for _, operation, workload in timings.samples)
    rows = []
    for workload, operation in kinds:
        cells = [(peer, operation, workload) for peer in peers.ALL]
        rows.append(
            (
                f"{workload} {operation}",
                *(
                    f"{_figure(timings.cell(cell).median)} ±{timings.cell(cell).percent:.0f}%"
                    if cell in timings.samples
                    else ""
                    for cell in cells
                ),
            )
        )
    return ("ns a frame", *peers.ALL), rows


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    texts = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    texts += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(texts)


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "from source"  # importable, not installed


def environment(core: int | None, build: str, timings: Timings) -> dict[str, Any]:
    """The machine and the versions, as far as figures depend on them."""
    names = {}
    for name in peers.ALL:
        try:
            distribution = peers.get(name).distribution
        except Absent:
            continue
        if distribution:
            names[name] = _version(distribution)
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "core": core,
        "build": build,
        "gc": gc.get_threshold() if gc.isenabled() else "off",
        "rounds": timings.rounds,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "versions": names,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as text:
            return next(
                line.split(":")[1].strip() for line in text if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor()


def _caption(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"CPU time on one core ({about['processor']}), CPython {about['python']}, {versions}, "
        f"amqpcodec's build {about['build']}. "
        f"Medians of {about['rounds']} rounds in several processes, all cells in turn, "
        f"± half the distance of the quartiles; GC on, thresholds {about['gc']}; "
        f"load average {about['load']:.1f}. In brackets gate and goal. "
        "Ratios: how many times faster amqpcodec is; ≤: its time over the other's."
    )


def _notes(absent: dict[Cell, Absent]) -> list[str]:
    return sorted({f"{cell[0]}: {reason}" for cell, reason in absent.items()})


def markdown(
    result_lines: Sequence[Line],
    timings: Timings,
    about: dict[str, Any],
    absent: dict[Cell, Absent],
) -> str:
    """Both tables, with what they were measured on."""
    targets = [line for line in result_lines if line.row.is_target]
    others = [line for line in result_lines if not line.row.is_target]
    parts = []
    if targets:
        parts += ["### Targets", _markdown(HEAD, _target_rows(targets))]
    if others:
        rows = [row[:-1] for row in _target_rows(others)]
        parts += ["### Without gates", _markdown(HEAD[:-1], rows)]
    if timings.samples:
        parts += ["### Times", _markdown(*_absolute_rows(timings))]
    parts.append(_caption(about))
    parts += ["\n".join(f"- {note}" for note in _notes(absent))] if absent else []
    return "\n\n".join(parts) + "\n"


def terminal(
    result_lines: Sequence[Line],
    timings: Timings,
    about: dict[str, Any],
    absent: dict[Cell, Absent],
) -> None:
    """The same with rich, for eyes."""
    from rich.console import Console
    from rich.table import Table

    console = Console()

    def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table = Table(title=title, show_lines=False, title_justify="left")
        for index, name in enumerate(head):
            table.add_column(name, justify="left" if index in (0, len(head) - 1) else "right")
        for row in rows:
            style = "red" if row[-1] == "FAIL" else "dim" if row[-1] == "absent" else None
            table.add_row(*row, style=style)
        console.print(table)

    targets = [line for line in result_lines if line.row.is_target]
    others = [line for line in result_lines if not line.row.is_target]
    if targets:
        show("Targets", HEAD, _target_rows(targets))
    if others:
        show("Without gates", HEAD, _target_rows(others))
    if timings.samples:
        show("Times", *_absolute_rows(timings))
    console.print(_caption(about), style="dim", highlight=False)
    for note in _notes(absent):
        console.print(f"- {note}", style="dim", highlight=False)


def as_json(
    result_lines: Sequence[Line],
    timings: Timings,
    about: dict[str, Any],
    absent: dict[Cell, Absent],
) -> dict[str, Any]:
    """All of it, samples included."""

    def spread(item: Spread) -> dict[str, float]:
        return {"median": item.median, "q1": item.low, "q3": item.high}

    return {
        "environment": about,
        "rows": [
            {
                "what": line.row.what,
                "target": line.row.is_target,
                "ns": spread(line.ours) if line.ours else None,
                "verdict": line.verdict,
                "against": [
                    {
                        "peer": item.against.peer,
                        "ratio": spread(item.ratio),
                        "gate": item.against.gate,
                        "goal": item.against.goal,
                        "at_most": item.against.at_most,
                        "verdict": item.verdict,
                    }
                    for item in line.results
                ],
            }
            for line in result_lines
        ],
        "cells": [
            {"peer": peer, "operation": operation, "workload": workload, "ns": samples}
            for (peer, operation, workload), samples in timings.samples.items()
        ],
        "absent": [
            {"peer": cell[0], "operation": cell[1], "workload": cell[2], "reason": str(reason)}
            for cell, reason in absent.items()
        ],
    }


def failed(result_lines: Sequence[Line]) -> list[str]:
    """The rows whose gate is missed."""
    return [line.row.what for line in result_lines if line.verdict == "FAIL"]
