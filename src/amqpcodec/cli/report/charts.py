"""Figures of plotly. Text of the wire is escaped: plotly takes some tags in labels."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as go

from ..cells import clean
from .collect import Contents, Frames
from .series import Series

__all__ = ["charts", "safe"]

#: Colours that differ for all eyes, on light and on dark ground.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8CD9", "#B5A000")
#: What is drawn of messages over time.
MESSAGES = ["published", "delivered", "settled", "confirmed", "redelivered", "returned", "nacked"]
#: Curves of one figure; bars; connections, and groups of connections by name.
MAX_CURVES, MAX_BARS, MAX_LINES, MAX_GROUPS = 8, 15, 40, 10
MAX_NAME_CHARACTERS = 40


def safe(text: object, longest: int = 400) -> str:
    """Text of the wire, as plotly and HTML show it and do not obey it."""
    plain_text = clean("" if text is None else str(text))
    return html.escape(
        plain_text if len(plain_text) <= longest else plain_text[: longest - 1] + "…"
    )


def _times(micros: Iterable[int | None]) -> list[datetime | None]:
    return [None if microseconds is None else _time(microseconds) for microseconds in micros]


def _time(micros: int) -> datetime | None:
    """None beyond the calendar."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None


def charts(frames: Frames, contents: Contents) -> list[tuple[str, str, str, go.Figure]]:
    """(id, title, what it shows, figure) of all that have something to show."""
    candidates = [
        ("rates", "Rates by method", "Frames a second.", _curves(frames.rates, None)),
        (
            "messages",
            "Messages",
            "A second, with redeliveries and returns.",
            _curves(contents.messages, MESSAGES),
        ),
        (
            "queues",
            "Busiest queues",
            "Messages published to and delivered from them.",
            _queues(contents),
        ),
        (
            "latency",
            "Latencies",
            "From a message to its answer, in ms: log scale.",
            _latency(contents),
        ),
        ("sizes", "Sizes", "Messages by the size of their bodies.", _sizes(contents)),
        ("errors", "What went wrong", "Each at its time.", _errors(contents)),
        (
            "connections",
            "Connections over time",
            f"Who was connected, and how it ended: {MAX_LINES} of them, and all others by name.",
            _lines(contents),
        ),
    ]
    return [chart for chart in candidates if chart[3].data]


def _figure(height: int, **layout: Any) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        height=height,
        template={},  # the page has colours of its own
        colorway=COLOURS,
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": "#8b949e", "activecolor": "#0072B2"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={
            **{"orientation": "h", "x": 0, "y": 0},
            **{"yanchor": "bottom", "yref": "container"},
        },
        hoverlabel={"align": "left"},
        **layout,
    )
    figure.update_xaxes(automargin=True, zeroline=False)
    figure.update_yaxes(automargin=True, zeroline=False, rangemode="tozero")
    return figure


def _curves(series: Series, names: list[str] | None) -> go.Figure:
    """Curves over time; what is not among the busiest is one of them."""
    # The hover box shows the nearest time, however far the mouse is from it.
    figure = _figure(380, hovermode="x unified", hoverdistance=-1)
    busiest = series.busiest(len(series.counts))
    shown = names if names is not None else busiest[: MAX_CURVES - 1]
    others = [] if names is not None else [name for name in busiest if name not in shown]
    for name in shown:
        if name in series.counts:
            _curve(figure, series, safe(name, MAX_NAME_CHARACTERS), [name])
    if others:
        _curve(figure, series, f"{len(others)} others", others)
    return figure


def _curve(figure: go.Figure, series: Series, label: str, names: list[str]) -> None:
    times, rates = series.curve(names)
    mode = "lines" if len(times) > 1 else "markers"
    figure.add_trace(go.Scatter(
        x=_times(times), y=rates, name=label, mode=mode, line={"width": 1.6, "shape": "hv"},
        hovertemplate="%{y:.4~s}/s",
    ))  # fmt: skip


def _queues(contents: Contents) -> go.Figure:
    rows = [row for row in contents.rows["queues"] if row["queue"] is not None]
    shown = sorted(rows, key=lambda row: -(row["delivered"] + (row["published"] or 0)))[:MAX_BARS]
    shown = [row for row in shown if row["delivered"] or row["published"]][::-1]
    figure = _figure(max(200, 90 + 26 * len(shown)), barmode="group")
    names = [row["queue"] for row in shown]
    labels, sizes = _labels(names), [safe(name) for name in names]
    for what in ("published", "delivered"):
        values = [row[what] for row in shown]
        if any(values):
            figure.add_trace(go.Bar(
                y=labels, x=values, name=what, orientation="h", customdata=sizes,
                hovertemplate="%{customdata}: %{x:,} %{fullData.name}<extra></extra>",
            ))  # fmt: skip
    return figure


def _labels(names: list[str]) -> list[str]:
    """Short labels that differ: two long names may begin alike."""
    labels: list[str] = []
    for name in names:
        label = safe(name, 26) or "(no name)"
        while label in labels:
            label += " "
        labels.append(label)
    return labels


def _latency(contents: Contents) -> go.Figure:
    rows = [row for row in contents.rows["latency"] if row["count"]]
    shown = sorted(rows, key=lambda row: -row["count"])[:MAX_BARS][::-1]
    figure = _figure(max(220, 100 + 40 * len(shown)), barmode="group")
    places = [
        row["queue"] or row["exchange"] or row["consumer_tag"] or "(default)" for row in shown
    ]
    names = [f"{place}: {row['span']}" for place, row in zip(places, shown, strict=True)]
    ends = [row["span"].rpartition(" to ")[2] for row in shown]
    labels = _labels([f"{end}, {place}" for end, place in zip(ends, places, strict=True)])
    customdata = [[safe(name), row["count"]] for name, row in zip(names, shown, strict=True)]
    for share in ("p99", "p90", "p50"):
        values = [max(row[f"{share}_ms"], 0.001) for row in shown]
        if values:
            figure.add_trace(go.Bar(
                y=labels, x=values, name=share, orientation="h",
                customdata=customdata,
                hovertemplate="%{customdata[0]}<br>%{fullData.name} %{x:.3f} ms"
                " of %{customdata[1]:,}<extra></extra>",
            ))  # fmt: skip
    figure.update_xaxes(type="log", ticksuffix=" ms")
    figure.update_layout(legend_traceorder="reversed")
    return figure


def _sizes(contents: Contents) -> go.Figure:
    figure = _figure(320, barmode="group", bargap=0.1)
    all_bits = {bits for counted in contents.sizes.values() for bits in counted}
    if not all_bits:
        return figure
    steps = range(min(all_bits), max(all_bits) + 1)
    for name, counted in contents.sizes.items():
        if counted:
            figure.add_trace(go.Bar(
                x=[_size(bits) for bits in steps], y=[counted.get(bits, 0) for bits in steps],
                name=name,
                hovertemplate="%{x}: %{y:,} %{fullData.name}<extra></extra>",
            ))  # fmt: skip
    figure.update_xaxes(type="category")
    return figure


def _size(bits: int) -> str:
    """The sizes of so many bits, by the smallest."""
    if bits == 0:
        return "empty"
    least = 1 << bits - 1
    for unit in ("B", "KiB", "MiB", "GiB"):
        if least < 1024:
            return f"≥ {least} {unit}"
        least >>= 10
    return f"≥ {least} TiB"


def _errors(contents: Contents) -> go.Figure:
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for row in contents.rows["incidents"]:
        by_kind.setdefault(" ".join(filter(None, (row["event"], row["outcome"]))), []).append(row)
    redelivered, rates = contents.messages.curve(["redelivered"])
    again = [time for time, rate in zip(redelivered, rates, strict=True) if rate]
    figure = _figure(max(200, 90 + 34 * (len(by_kind) + bool(again))), showlegend=False)
    for kind, errors in by_kind.items():
        figure.add_trace(go.Scatter(
            x=[row["timestamp"] for row in errors], y=[kind] * len(errors), name=kind,
            mode="markers", marker={"size": 9, "opacity": 0.75},
            customdata=[
                [safe(row["reply_code"]), safe(row["text"], 200), safe(row["connection_name"])]
                for row in errors
            ],
            hovertemplate="%{y} %{customdata[0]}<br>%{customdata[1]}<br>"
            "connection %{customdata[2]}<extra></extra>",
        ))  # fmt: skip
    if again:
        figure.add_trace(go.Scatter(
            x=_times(again), y=["redelivered"] * len(again), name="redelivered", mode="markers",
            marker={"size": 9, "symbol": "diamond", "opacity": 0.75},
            hovertemplate="messages redelivered<extra></extra>",
        ))  # fmt: skip
    figure.update_yaxes(type="category")
    return figure


ENDS = {"closed": "#0072B2", "lost": "#CC79A7", "refused": "#D55E00", "open": "#009E73"}


def _grouped(connections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are drawn: ones that did not end well first, and all others by their names."""
    ordered = sorted(connections, key=lambda row: row["ended"] not in ("lost", "refused"))
    shown = ordered[:MAX_LINES]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in ordered[MAX_LINES:]:
        groups.setdefault((row["connection_name"], row["ended"]), []).append(row)
    busiest = sorted(groups.values(), key=len, reverse=True)
    for rows in [*busiest[:MAX_GROUPS], [row for rest in busiest[MAX_GROUPS:] for row in rest]]:
        if rows:
            times = [row for row in rows if row["first_event"] is not None]
            alike = len({row["connection_name"] for row in rows}) == 1
            shown.append({
                **rows[0],
                "connection_name": rows[0]["connection_name"] if alike else "others",
                "client": f"{len(rows):,} connections",
                "first_event": min((row["first_event"] for row in times), default=None),
                "last_event": max((row["last_event"] for row in times), default=None),
            })  # fmt: skip
    return shown


def _lines(contents: Contents) -> go.Figure:
    rows = _grouped(contents.rows["connections"])
    shown = [row for row in rows if row["first_event"] is not None]
    shown.sort(key=lambda row: row["first_event"])
    figure = _figure(max(200, 90 + 18 * len(shown)))
    labels = _labels([f"{row['connection_name'] or ''} {row['client'] or ''}" for row in shown])
    for end in (*ENDS, None):
        xs: list[datetime | None] = []
        ys: list[str | None] = []
        details: list[list[str] | None] = []
        for label, row in zip(labels, shown, strict=True):
            if row["ended"] != end:
                continue
            why = [row["ended_by"], str(row["reply_code"] or ""), row["reason"]]
            words = [
                *map(safe, (row["connection_name"], row["client"], row["user"])),
                *(safe(row["virtual_host"]), safe(" ".join(filter(None, why)), 160)),
            ]
            xs += [row["first_event"], row["last_event"], None]
            ys += [label, label, None]
            details += [words, words, None]
        if xs:
            figure.add_trace(go.Scatter(
                x=xs, y=ys, customdata=details, name=end or "end not seen", mode="lines+markers",
                line={"width": 6, "color": ENDS.get(end or "", "#888888")}, marker={"size": 6},
                hovertemplate="%{customdata[0]} %{customdata[1]}<br>as %{customdata[2]} on"
                " %{customdata[3]}<br>%{customdata[4]}<extra>%{fullData.name}</extra>",
            ))  # fmt: skip
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=labels[::-1])
    return figure
