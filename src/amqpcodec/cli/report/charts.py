"""Figures of plotly. Text of the wire is escaped: plotly takes some tags in labels."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as go

from ..cells import clean
from .collect import Flow, Frames
from .series import Series

__all__ = ["charts", "safe"]

#: Colours that differ for all eyes, on light and on dark ground.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8CD9", "#B5A000")
#: Curves of one figure; bars; connections.
MAX_CURVES, MAX_BARS, MAX_LINES = 8, 15, 150
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


def charts(frames: Frames, flow: Flow) -> list[tuple[str, str, str, go.Figure]]:
    """(id, title, what it shows, figure) of all that have something to show."""
    candidates = [
        ("rates", "Rates by method", "Frames a second.", _curves(frames.rates, None)),
        ("messages", "Messages", "A second, with redeliveries and returns.", _messages(flow)),
        (
            "queues",
            "Busiest queues",
            "Messages published to and delivered from them.",
            _queues(flow),
        ),
        ("latency", "Latencies", "From a message to its answer, in ms: log scale.", _latency(flow)),
        ("sizes", "Sizes", "Messages by the size of their bodies.", _sizes(flow)),
        ("errors", "Errors, redeliveries and gaps", "Each at its time.", _errors(frames, flow)),
        (
            "connections",
            "Connections over time",
            "Who was connected, and how it ended.",
            _lines(frames),
        ),
    ]
    return [chart for chart in candidates if chart[3].data]


def _figure(height: int, **layout: Any) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        height=height,
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
    figure = _figure(380, hovermode="x unified")
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


def _messages(flow: Flow) -> go.Figure:
    names = ["published", "delivered", "settled", "confirmed", "redelivered", "returned", "refused"]
    return _curves(flow.events, names)


def _queues(flow: Flow) -> go.Figure:
    tallies = sorted(flow.top.counted["queue"].items(), key=lambda entry: -entry[1].messages)
    shown = tallies[:MAX_BARS][::-1]
    figure = _figure(max(200, 90 + 26 * len(shown)), barmode="stack")
    labels = _labels([name for name, _ in shown])
    sizes = [safe(name) for name, _ in shown]
    for what in ("published", "delivered"):
        values = [getattr(tally, what) for _, tally in shown]
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


def _latency(flow: Flow) -> go.Figure:
    samples = sorted(flow.latency.samples.items(), key=lambda entry: -entry[1].n)[:MAX_BARS][::-1]
    figure = _figure(max(220, 100 + 40 * len(samples)), barmode="group")
    names = [f"{what} {queue or exchange or '(default)'}" for (what, queue, exchange), _ in samples]
    labels = _labels(names)
    customdata = [[safe(name), entry.n] for name, (_, entry) in zip(names, samples, strict=True)]
    for share in (0.99, 0.9, 0.5):
        values = [max(entry.at(share)[0], 1) / 1000 for _, entry in samples]
        if values:
            figure.add_trace(go.Bar(
                y=labels, x=values, name=f"p{share * 100:.0f}", orientation="h",
                customdata=customdata,
                hovertemplate="%{customdata[0]}<br>%{fullData.name} %{x:.3f} ms"
                " of %{customdata[1]:,}<extra></extra>",
            ))  # fmt: skip
    figure.update_xaxes(type="log", ticksuffix=" ms")
    figure.update_layout(legend_traceorder="reversed")
    return figure


def _sizes(flow: Flow) -> go.Figure:
    figure = _figure(320, barmode="group", bargap=0.1)
    all_bits = {bits for counted in flow.sizes.values() for bits in counted}
    if not all_bits:
        return figure
    steps = range(min(all_bits), max(all_bits) + 1)
    for name, counted in flow.sizes.items():
        if counted:
            figure.add_trace(go.Bar(
                x=[_size(bits) for bits in steps], y=[counted[bits] for bits in steps], name=name,
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


def _errors(frames: Frames, flow: Flow) -> go.Figure:
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for error in frames.errors:
        by_kind.setdefault(error["what"], []).append(error)
    redelivered, rates = flow.events.curve(["redelivered"])
    again = [time for time, rate in zip(redelivered, rates, strict=True) if rate]
    rows = len(by_kind) + bool(again)
    figure = _figure(max(200, 90 + 34 * rows), showlegend=False)
    for kind, errors in by_kind.items():
        figure.add_trace(go.Scatter(
            x=_times(error["time"] for error in errors), y=[kind] * len(errors), name=kind,
            mode="markers", marker={"size": 9, "opacity": 0.75},
            customdata=[
                [safe(row["code"]), safe(row["text"], 200), row["conn"], safe(row["client"])]
                for row in errors
            ],
            hovertemplate="%{y} %{customdata[0]}<br>%{customdata[1]}<br>"
            "connection %{customdata[2]} of %{customdata[3]}<extra></extra>",
        ))  # fmt: skip
    if again:
        figure.add_trace(go.Scatter(
            x=_times(again), y=["redelivered"] * len(again), name="redelivered", mode="markers",
            marker={"size": 9, "symbol": "diamond", "opacity": 0.75},
            hovertemplate="messages redelivered<extra></extra>",
        ))  # fmt: skip
    figure.update_yaxes(type="category")
    return figure


ENDS = {"closed": "#0072B2", "refused": "#D55E00", "open": "#009E73"}


def _lines(frames: Frames) -> go.Figure:
    shown = [connection for connection in frames.connections if connection["since"] is not None][
        :MAX_LINES
    ]
    figure = _figure(max(200, 90 + 18 * len(shown)))
    for end in (*ENDS, None):
        rows = [connection for connection in shown if connection["ended"] == end]
        if not rows:
            continue
        xs: list[datetime | None] = []
        ys: list[str | None] = []
        details: list[list[str] | None] = []
        for connection in rows:
            label = f"{connection['conn']} {safe(connection['client'], 24)}"
            words = [
                safe(connection["product"] or connection["name"]),
                safe(connection["user"]),
                safe(connection["vhost"]),
            ]
            why = safe(
                " ".join(
                    filter(None, (connection["by"], connection["code"], connection["reason"]))
                ),
                160,
            )
            xs += [*_times((connection["since"], connection["until"])), None]
            ys += [label, label, None]
            details += [[*words, why]] * 2 + [None]
        figure.add_trace(go.Scatter(
            x=xs, y=ys, customdata=details, name=end or "end not seen", mode="lines+markers",
            line={"width": 6, "color": ENDS.get(end or "", "#888888")}, marker={"size": 6},
            hovertemplate="%{y}<br>%{customdata[0]} as %{customdata[1]} on %{customdata[2]}<br>"
            "%{customdata[3]}<extra>%{fullData.name}</extra>",
        ))  # fmt: skip
    order = [f"{connection['conn']} {safe(connection['client'], 24)}" for connection in shown][::-1]
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=order)
    return figure
