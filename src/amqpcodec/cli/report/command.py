"""Reads recordings twice, frame by frame and message by message, and writes the page."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

from ..analysis.latency import Latency
from ..errors import USAGE, UsageError
from ..groups import Group
from ..live import Cancelled, is_live
from ..options import ReportOptions, WindowOptions
from ..output import AtomicFile, check_output
from ..progress import Progress
from ..sources import Reading
from ..times import Clock, Window
from .collect import Flow, Frames

__all__ = ["report"]

#: Rows of the tables.
MAX_ROWS = 500
#: What they say of a connection.
CONNECTION = (
    *("conn", "client", "user", "vhost", "product", "version", "channels", "frames", "ended"),
    *("by", "code", "reason"),
)


def report(options: ReportOptions) -> int:
    """Write one page about all files."""
    try:
        import plotly  # noqa: F401
    except ImportError as error:
        raise UsageError(f'{error.name} is needed: pip install "amqpcodec[report]"') from None
    if any(str(file) == "-" or is_live(str(file)) for file in options.source.files):
        raise UsageError("a report reads its files twice: save what comes by the pipe first")
    if Path(options.output).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{options.output}: a report is a page, and its name ends in .html")
    check_output(options.output, options.source)
    with Cancelled() as stop, Progress(options.output) as bar:
        reading = Reading(options.source, bar, stop)
        folds = [_fold_group(options.time, reading, group) for group in reading.groups()]
        if reading.status == USAGE and not any(frames.count for frames, _ in folds):
            return USAGE
        names = [str(group) for group in reading.all_groups]
        _write(options.output, _page(names, folds))
        return reading.interrupted()


def _fold_group(time: WindowOptions, reading: Reading, group: Group) -> tuple[Frames, Flow]:
    window = Window(time.since, time.until, Clock())
    frames, flow = Frames(window), Flow(window, MAX_ROWS)
    for batch in reading.batches(group, "frame", list(frames.FIELDS), redact=False):
        window.begin(batch.column("timestamp"))
        frames.update(window.before_end(batch))
    frames.errors_analyzer.resets = reading.resets
    frames.finish()
    quiet = Group(group.files)
    fields = [*dict.fromkeys([*flow.FIELDS, "timestamp", "error", "file"])]
    with contextlib.redirect_stderr(io.StringIO()):  # what is wrong with the files was said
        for batch in reading.batches(quiet, "message", fields):
            flow.update(window.before_end(batch))
        flow.latency_rows = list(flow.latency.finish())
    return frames, flow


def _page(names: list[str], folds: list[tuple[Frames, Flow]]) -> str:
    from .charts import charts
    from .page import page

    parts: list[tuple[list[Any], list[tuple[str, str]]]] = []
    for name, (frames, flow) in zip(names, folds, strict=True):
        more = f" of {os.path.basename(name)}" if len(folds) > 1 else ""
        suffix = f"-{len(parts)}" if len(folds) > 1 else ""
        figures = [
            (f"{key}{suffix}", f"{title}{more}", what, figure)
            for key, title, what, figure in charts(frames, flow)
        ]
        parts.append((figures, _tables(frames, flow, more)))
    title = ", ".join(os.path.basename(name) for name in names[:3])
    subtitle = f"{_span(folds)} · {', '.join(names)}"
    figures = [entry for part, _ in parts for entry in part]
    tables = [entry for _, part in parts for entry in part]
    return page(f"AMQP report: {title}", subtitle, _cards(folds), figures, tables)


def _cards(folds: list[tuple[Frames, Flow]]) -> list[tuple[str, str]]:
    def total(name: str) -> str:
        return f"{sum(flow.events.total(name) for _, flow in folds):,}"

    wrong = [sum(frames.reasons.values()) for frames, _ in folds]
    gaps = [
        count
        for frames, _ in folds
        for (what, _, _), count in frames.reasons.items()
        if what == "not captured"
    ]
    return [
        ("frames", f"{sum(frames.count for frames, _ in folds):,}"),
        ("connections", f"{sum(len(frames.connections) for frames, _ in folds):,}"),
        ("published", total("published")),
        ("delivered", total("delivered")),
        ("redelivered", total("redelivered")),
        ("returned", total("returned")),
        ("errors", f"{sum(wrong):,}"),
        ("gaps", f"{sum(gaps):,}"),
    ]


def _span(folds: list[tuple[Frames, Flow]]) -> str:
    first = min((f.rates.first for f, _ in folds if f.rates.first is not None), default=None)
    last = max((f.rates.last for f, _ in folds if f.rates.last is not None), default=None)
    if first is None or last is None:
        return "no time is known"
    from .charts import _times

    begin, end = _times([first, last])
    if begin is None or end is None:
        return f"times beyond the calendar: {first} to {last} µs since 1970"
    return f"{begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} UTC"


def _tables(frames: Frames, flow: Flow, more: str) -> list[tuple[str, str]]:
    from .page import table

    tables = []
    if frames.reasons:
        rows = [(n, *key) for key, n in frames.reasons.most_common(MAX_ROWS)]
        head = ("count", "what", "code", "reason")
        tables.append((f"Closes, refusals and their reasons{more}", table(head, rows)))
    latencies = sorted(flow.latency_rows, key=lambda row: -row[3])[:MAX_ROWS]
    if latencies:
        tables.append((f"Latencies in ms{more}", table(Latency.SCHEMA.names, latencies)))
    if frames.connections:
        connections = frames.connections[:MAX_ROWS]
        listed = [tuple(connection[name] for name in CONNECTION) for connection in connections]
        tables.append((f"Connections{more}", table(CONNECTION, listed)))
    return tables


def _write(path: str, text: str) -> None:
    try:
        with AtomicFile(path) as into, open(into.name, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
