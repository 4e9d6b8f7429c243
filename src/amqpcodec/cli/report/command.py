"""Reads recordings twice, frame by frame and message by message, and writes the page."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from ..errors import OK, USAGE, UsageError
from ..groups import Group
from ..live import Cancelled, is_live
from ..options import ReportOptions, WindowOptions
from ..output import AtomicFile, check_output
from ..progress import Progress
from ..sources import Reading
from ..times import Clock, Window
from .collect import Contents, Frames

__all__ = ["report"]

#: Said where the command ends with status 1.
DAMAGED = (
    "Something in these files is damaged, cut off or no AMQP, and is not on this page:"
    " <code>amqpcodec stats</code> says what."
)
#: Columns in which null is a number that the recording does not tell.
NUMBERS = {
    *("published", "delivered", "redelivered", "acknowledged", "rejected", "requeued"),
    *("unacknowledged", "backlog"),
}
UNKNOWN = "unknown"
#: The tables of the page: the question, its title, and which of its columns.
TABLES = (
    (
        "queues",
        "Queues",
        (
            *("virtual_host", "queue", "published", "delivered", "redelivered", "acknowledged"),
            *("rejected", "requeued", "unacknowledged", "backlog", "wait_p99_ms", "work_p99_ms"),
        ),
    ),
    (
        "unacked",
        "Unacknowledged",
        (
            *("delivered_at", "age_us", "queue", "connection_name", "consumer_tag"),
            *("delivery_tag", "redelivered", "certainty", "message_id"),
        ),
    ),
    (
        "errors",
        "What went wrong, counted",
        (
            *("count", "event", "outcome", "initiator", "connection_name", "queue", "exchange"),
            *("request", "reply_code", "first_event", "certainty", "example"),
        ),
    ),
    (
        "latency",
        "Latencies",
        (
            *("span", "queue", "exchange", "consumer_tag", "count", "p50_ms", "p90_ms"),
            *("p99_ms", "max_ms", "certainty"),
        ),
    ),
    (
        "connections",
        "Connections",
        (
            *("connection_name", "client", "user", "virtual_host", "first_event", "channels"),
            *("published", "delivered", "requeued", "ended", "ended_by", "reply_code", "reason"),
        ),
    ),
)


def report(options: ReportOptions) -> int:
    """Write one page about all files."""
    try:
        import bokeh  # noqa: F401
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
        _write(options.output, _page(names, folds, reading.status != OK))
        return reading.interrupted()


def _fold_group(time: WindowOptions, reading: Reading, group: Group) -> tuple[Frames, Contents]:
    window = Window(time.since, time.until, Clock())
    if time.is_part:
        reading.clock = window.clock
    frames, contents = Frames(window), Contents()
    for batch in reading.batches(group, "frame", list(frames.FIELDS)):
        window.begin(batch.column("timestamp"))
        frames.update(batch)
    quiet = Group(group.files)
    with contextlib.redirect_stderr(io.StringIO()):  # what is wrong with the files was said
        contents.fill(reading.batches(quiet, "event", contents.query().columns), window)
    return frames, contents


def _page(names: list[str], folds: list[tuple[Frames, Contents]], damaged: bool) -> str:
    from .charts import charts
    from .page import page

    findings, figures, tables = [], [], []
    for at, (name, (frames, contents)) in enumerate(zip(names, folds, strict=True)):
        more = f" of {os.path.basename(name)}" if len(folds) > 1 else ""
        suffix = f"-{at}" if len(folds) > 1 else ""
        figures += [
            (f"{key}{suffix}", f"{title}{more}", what, figure)
            for key, title, what, figure in charts(frames, contents)
        ]
        findings.append((f"Findings{more}", _findings(contents)))
        tables += _tables(contents, more)
    title = ", ".join(os.path.basename(name) for name in names[:3])
    subtitle = f"{_span(folds)} · {', '.join(names)}"
    if not any(frames.count for frames, _ in folds):
        findings = []
    elif damaged:
        findings.append(("Incomplete", f"<p>{DAMAGED}</p>"))
    return page(f"AMQP report: {title}", subtitle, _cards(folds), findings, figures, tables)


def _cards(folds: list[tuple[Frames, Contents]]) -> list[tuple[str, str]]:
    def total(name: str) -> str:
        return f"{sum(contents.messages.total(name) for _, contents in folds):,}"

    def rows(name: str) -> str:
        return f"{sum(contents.counts[name] for _, contents in folds):,}"

    unacknowledged = [contents.unacknowledged for _, contents in folds]
    return [
        ("frames", f"{sum(frames.count for frames, _ in folds):,}"),
        ("connections", rows("connections")),
        ("queues", rows("queues")),
        ("published", total("published")),
        ("delivered", total("delivered")),
        ("redelivered", total("redelivered")),
        ("returned", total("returned")),
        (
            "unacknowledged",
            UNKNOWN if None in unacknowledged else f"{sum(filter(None, unacknowledged)):,}",
        ),
        ("went wrong", rows("incidents")),
        ("gaps", f"{sum(contents.gaps for _, contents in folds):,}"),
    ]


def _span(folds: list[tuple[Frames, Contents]]) -> str:
    first = min((f.rates.first for f, _ in folds if f.rates.first is not None), default=None)
    last = max((f.rates.last for f, _ in folds if f.rates.last is not None), default=None)
    if first is None or last is None:
        return "no time is known"
    from .charts import moment

    begin, end = moment(first), moment(last)
    if begin is None or end is None:
        return f"times beyond the calendar: {first} to {last} µs since 1970"
    return f"{begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} UTC"


def _findings(contents: Contents) -> str:
    """The findings of diagnose as HTML, the most severe first."""
    from ..diagnose import command, sentences
    from .page import findings, shown

    return findings(
        [
            (
                row["severity"],
                sentences(row, shown(row["first_event"]), shown(row["last_event"])),
                f"amqpcodec {command(row['finding'])}",
            )
            for row in contents.rows["diagnose"]
        ]
    )


def _tables(contents: Contents, more: str) -> list[tuple[str, str]]:
    """(title, HTML) of each table that has rows."""
    from .page import table

    tables = []
    for question, title, columns in TABLES:
        rows = contents.rows[question]
        if rows:
            left_out = contents.counts[question] - len(rows)
            heading = f"{title}{more}" + (f", without {left_out:,} more" if left_out else "")
            names = [
                name
                for name in columns
                if name in NUMBERS or any(row[name] is not None for row in rows)
            ]
            listed = [
                [UNKNOWN if row[name] is None and name in NUMBERS else row[name] for name in names]
                for row in rows
            ]
            tables.append((heading, table(names, listed)))
    return tables


def _write(path: str, text: str) -> None:
    try:
        with AtomicFile(path) as into, open(into.name, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
