"""Figures of Bokeh, which escapes the values in the boxes that it shows at the mouse."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    FactorRange,
    HoverTool,
    NumeralTickFormatter,
)
from bokeh.models.annotations import Legend, LegendItem
from bokeh.models.labeling import NoOverlap
from bokeh.plotting import figure
from bokeh.transform import dodge

from ...capture._notices import counted_noun
from ..cells import clean
from .collect import Contents, Frames
from .series import Series

__all__ = ["charts", "moment", "safe"]

#: Colours that differ for all eyes, on light and on dark ground.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8CD9", "#B5A000")
#: What is drawn of messages over time.
MESSAGES = ["published", "delivered", "settled", "confirmed", "redelivered", "returned", "nacked"]
#: Curves of one figure; bars; connections, and groups of connections by name.
MAX_CURVES, MAX_BARS, MAX_LINES, MAX_GROUPS = 8, 15, 40, 10
MAX_NAME_CHARACTERS = 40
#: The time of a row in a box below the mouse.
AT = "@time{%F %T.%3N}"
#: What the reader can do: zoom, move, save; no button leads elsewhere.
TOOLS = "xbox_zoom,xpan,xwheel_zoom,reset,save"
#: The shortest time that a scale of logarithms shows.
LEAST_MS = 0.001
#: How axes show numbers.
NUMBER = "0,0.[000]"


def plain(text: object, longest: int = 400) -> str:
    """Text of the wire without characters that a screen obeys."""
    cleaned = clean("" if text is None else str(text))
    return cleaned if len(cleaned) <= longest else cleaned[: longest - 1] + "…"


def safe(text: object, longest: int = 400) -> str:
    """Text of the wire, as HTML shows it and does not obey it."""
    return html.escape(plain(text, longest))


def moment(micros: int) -> datetime | None:
    """The time of µs since 1970; None beyond the calendar."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None


def _times(times: Iterable[datetime | int | None]) -> list[float]:
    """Bokeh's times, ms since 1970, of times or of µs."""
    return [
        math.nan if time is None
        else time / 1000 if isinstance(time, int)
        else time.timestamp() * 1000
        for time in times
    ]  # fmt: skip


def charts(frames: Frames, contents: Contents) -> list[tuple[str, str, str, figure]]:
    """(id, title, what it shows, figure) of all that have something to show."""
    span = _span(frames, contents)
    candidates = [
        ("rates", "Rates by method", "Frames a second.", _curves(frames.rates, None, span)),
        (
            "messages",
            "Messages",
            "A second, with redeliveries and returns.",
            _curves(contents.messages, MESSAGES, span),
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
        ("errors", "What went wrong", "Each at its time.", _errors(contents, span)),
        (
            "connections",
            "Connections over time",
            f"Who was connected, and how it ended: {MAX_LINES} of them, and all others by name.",
            _lines(contents, span),
        ),
    ]
    return [
        (name, title, what, drawn) for name, title, what, drawn in candidates if drawn is not None
    ]


def _span(frames: Frames, contents: Contents) -> dict[str, Any]:
    """What all figures over time have: an axis of time, from the first of all rows to the last."""
    series = [one for one in (frames.rates, contents.messages) if one.first is not None]
    if not series:
        return {"x_axis_type": "datetime"}
    first = min(one.first or 0 for one in series) / 1000
    last = max((one.last or 0) + one.width for one in series) / 1000
    room = (last - first) * 0.02
    return {"x_axis_type": "datetime", "x_range": (first - room, last + room)}


def _figure(height: int, **options: Any) -> figure:
    drawn = figure(height=height, sizing_mode="stretch_width", tools=TOOLS, **options)
    drawn.toolbar.logo = None
    drawn.toolbar.autohide = True
    # The page has colours of its own.
    drawn.background_fill_color = drawn.border_fill_color = drawn.outline_line_color = None
    drawn.axis.major_label_policy = NoOverlap()
    drawn.axis.minor_tick_line_color = None
    return drawn


def _hover(drawn: figure, tooltips: Sequence[tuple[str, str]], **options: Any) -> None:
    """Show these of the row below the mouse."""
    tool = HoverTool(
        tooltips=[*tooltips],
        formatters={"@time": "datetime", "@last": "datetime"},
        point_policy="follow_mouse",
        **options,
    )
    drawn.add_tools(tool)


def _legend(drawn: figure, shown: Sequence[tuple[str, Any]]) -> None:
    """Name what is shown, below; a click hides it. The page sets the number of columns."""
    items = [
        LegendItem(label={"value": name}, renderers=glyph if isinstance(glyph, list) else [glyph])
        for name, glyph in shown
    ]
    legend = Legend(
        items=items,
        orientation="horizontal",
        click_policy="hide",
        ncols=2,
        border_line_color=None,
        location="top_left",
    )
    legend.background_fill_color = None
    drawn.add_layout(legend, "below")


def _curves(series: Series, names: list[str] | None, span: dict[str, Any]) -> figure | None:
    """Curves over time; what is not among the busiest is one of them."""
    busiest = series.busiest(len(series.counts))
    shown = names if names is not None else busiest[: MAX_CURVES - 1]
    curves = [(plain(name, MAX_NAME_CHARACTERS), [name]) for name in shown if name in series.counts]
    others = [] if names is not None else [name for name in busiest if name not in shown]
    if others:
        curves.append((f"{len(others)} others", others))
    if not curves:
        return None
    times, _ = series.curve(())
    source = ColumnDataSource({"time": _times(times)})
    drawn = _figure(360, y_range=DataRange1d(start=0), **span)
    drawn.yaxis.formatter = NumeralTickFormatter(format=NUMBER)
    glyphs = []
    for at, (label, members) in enumerate(curves):
        key = f"rate{at}"
        source.data[key] = series.curve(members)[1]
        colour = COLOURS[at % len(COLOURS)]
        glyph: Any
        if len(times) > 1:
            glyph = drawn.step(
                "time", key, source=source, mode="after", line_width=1.6, color=colour
            )
        else:
            glyph = drawn.scatter("time", key, source=source, size=8, color=colour)
        glyphs.append((label, glyph))
    rates = [(label, f"@rate{at}{{{NUMBER}}}/s") for at, (label, _) in enumerate(glyphs)]
    # One box for all of them, at the nearest time however far the mouse is from the curves: steps
    # do not tell where the mouse is.
    nearest = drawn.line("time", "rate0", source=source, alpha=0)
    _hover(drawn, [("at", AT), *rates], mode="vline", renderers=[nearest])
    _legend(drawn, glyphs)
    return drawn


def _bars(
    labels: list[str], values: Mapping[str, list[Any]], more: dict[str, list[Any]], **options: Any
) -> tuple[figure, list[tuple[str, Any]]]:
    """Horizontal bars, of each label one a name of values; the first label stands at the top."""
    logarithmic = options.get("x_axis_type") == "log"
    if not logarithmic:
        options["x_range"] = DataRange1d(start=0)
    thick = 0.8 / len(values)
    height = 90 + len(labels) * max(26, 13 * len(values))
    drawn = _figure(max(200, height), y_range=FactorRange(factors=labels[::-1]), **options)
    source = ColumnDataSource({"label": labels, **values, **more})
    drawn.xaxis.formatter = NumeralTickFormatter(format=NUMBER)
    least = min(value for numbers in values.values() for value in numbers)
    origin = 10.0 ** math.floor(math.log10(least * 0.7)) if logarithmic else 0
    glyphs = []
    for at, name in enumerate(values):
        place = dodge("label", 0.4 - thick * (at + 0.5), range=drawn.y_range)
        glyph = drawn.hbar(
            y=place, right=name, left=origin, height=thick * 0.9,
            source=source, color=COLOURS[at],
        )  # fmt: skip
        glyphs.append((name, glyph))
    drawn.ygrid.grid_line_color = None
    _legend(drawn, glyphs)
    return drawn, glyphs


def _queues(contents: Contents) -> figure | None:
    rows = [row for row in contents.rows["queues"] if row["queue"] is not None]
    shown = sorted(rows, key=lambda row: -(row["delivered"] + (row["published"] or 0)))[:MAX_BARS]
    shown = [row for row in shown if row["delivered"] or row["published"]]
    values = {
        # A number that is not known has no bar, and no 0 where the mouse is.
        name: [math.nan if number is None else number for number in numbers]
        for name in ("published", "delivered")
        if any(numbers := [row[name] for row in shown])
    }
    if not values:
        return None
    names = [row["queue"] for row in shown]
    drawn, _ = _bars(_labels(names), values, {"queue": [plain(name) for name in names]})
    _hover(drawn, [("queue", "@queue"), *((name, f"@{name}{{0,0}}") for name in values)])
    return drawn


def _labels(names: list[str]) -> list[str]:
    """Short labels that differ: two long names may begin alike."""
    labels: list[str] = []
    for name in names:
        label = plain(name, 26) or "(no name)"
        while label in labels:
            label += " "
        labels.append(label)
    return labels


def _latency(contents: Contents) -> figure | None:
    rows = [row for row in contents.rows["latency"] if row["count"]]
    shown = sorted(rows, key=lambda row: -row["count"])[:MAX_BARS]
    if not shown:
        return None
    places = [
        row["queue"] or row["exchange"] or row["consumer_tag"] or "(default)" for row in shown
    ]
    ends = [row["span"].rpartition(" to ")[2] for row in shown]
    labels = _labels([f"{end}, {place}" for end, place in zip(ends, places, strict=True)])
    shares = ("p50", "p90", "p99")
    drawn, _ = _bars(
        labels,
        {share: [max(row[f"{share}_ms"], LEAST_MS) for row in shown] for share in shares},
        {
            "place": [plain(place) for place in places],
            "span": [row["span"] for row in shown],
            "count": [row["count"] for row in shown],
        },
        x_axis_type="log",
    )
    drawn.xaxis.axis_label = "ms"
    percentiles = [(share, f"@{share}{{0,0.000}} ms") for share in shares]
    _hover(drawn, [("of", "@place"), ("from", "@span"), *percentiles, ("messages", "@count{0,0}")])
    return drawn


def _sizes(contents: Contents) -> figure | None:
    all_bits = {bits for counted in contents.sizes.values() for bits in counted}
    if not all_bits:
        return None
    steps = range(min(all_bits), max(all_bits) + 1)
    labels = [_size(bits) for bits in steps]
    drawn = _figure(320, y_range=DataRange1d(start=0), x_range=FactorRange(factors=labels))
    kinds = [(name, counted) for name, counted in contents.sizes.items() if counted]
    counts = {name: [counted.get(bits, 0) for bits in steps] for name, counted in kinds}
    source = ColumnDataSource({"label": labels, **counts})
    thick = 0.9 / len(kinds)
    glyphs = []
    for at, name in enumerate(counts):
        place = dodge("label", thick * (at + 0.5) - 0.45, range=drawn.x_range)
        glyph = drawn.vbar(x=place, top=name, width=thick * 0.95, source=source, color=COLOURS[at])
        glyphs.append((name, glyph))
    drawn.yaxis.formatter = NumeralTickFormatter(format=NUMBER)
    drawn.xgrid.grid_line_color = None
    drawn.xaxis.major_label_orientation = math.pi / 4
    _hover(drawn, [("size", "@label"), *((name, f"@{name}{{0,0}}") for name in counts)])
    _legend(drawn, glyphs)
    return drawn


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


def _errors(contents: Contents, span: dict[str, Any]) -> figure | None:
    rows = contents.rows["incidents"]
    redelivered, rates = contents.messages.curve(["redelivered"])
    again = [time for time, rate in zip(redelivered, rates, strict=True) if rate]
    kinds = [" ".join(filter(None, (row["event"], row["outcome"]))) for row in rows]
    shown = [*dict.fromkeys(kinds), *(["redelivered"] if again else [])]
    if not shown:
        return None
    drawn = _figure(
        max(180, 80 + 34 * len(shown)), y_range=FactorRange(factors=shown[::-1]), **span
    )
    source = ColumnDataSource({
        "time": _times([*(row["timestamp"] for row in rows), *again]),
        "kind": [*kinds, *["redelivered"] * len(again)],
        "colour": [COLOURS[shown.index(kind) % len(COLOURS)] for kind in kinds]
        + [COLOURS[(len(shown) - 1) % len(COLOURS)]] * len(again),
        "code": [*(plain(row["reply_code"]) for row in rows), *[""] * len(again)],
        "text": [*(plain(row["text"], 200) for row in rows), *["redelivered"] * len(again)],
        "who": [*(plain(row["connection_name"]) for row in rows), *[""] * len(again)],
    })  # fmt: skip
    drawn.scatter("time", "kind", source=source, size=9, alpha=0.75, color="colour")
    _hover(drawn, [("at", AT), ("what", "@kind @code"), ("text", "@text"), ("connection", "@who")])
    return drawn


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
                "client": counted_noun(len(rows), "connection"),
                "first_event": min((row["first_event"] for row in times), default=None),
                "last_event": max((row["last_event"] for row in times), default=None),
            })  # fmt: skip
    return shown


def _lines(contents: Contents, span: dict[str, Any]) -> figure | None:
    rows = _grouped(contents.rows["connections"])
    shown = [row for row in rows if row["first_event"] is not None]
    if not shown:
        return None
    shown.sort(key=lambda row: row["first_event"])
    labels = _labels([_label(row) for row in shown])
    drawn = _figure(
        max(200, 90 + 22 * len(shown)), y_range=FactorRange(factors=labels[::-1]), **span
    )
    glyphs = []
    for end in (*ENDS, None):
        ended = [
            (label, row) for label, row in zip(labels, shown, strict=True) if row["ended"] == end
        ]
        if not ended:
            continue
        source = ColumnDataSource({
            "label": [label for label, _ in ended],
            "time": _times(row["first_event"] for _, row in ended),
            "last": _times(row["last_event"] for _, row in ended),
            "name": [plain(row["connection_name"]) for _, row in ended],
            "client": [plain(row["client"]) for _, row in ended],
            "user": [plain(row["user"]) for _, row in ended],
            "host": [plain(row["virtual_host"]) for _, row in ended],
            "why": [plain(_why(row), 160) for _, row in ended],
        })  # fmt: skip
        colour = ENDS.get(end or "", "#888888")
        line = drawn.segment(
            "time", "label", "last", "label", source=source, line_width=6, color=colour
        )
        # Of a connection of one moment there is nothing but its ends.
        dots = [
            drawn.scatter(x, "label", source=source, size=6, color=colour) for x in ("time", "last")
        ]
        glyphs.append((end or "end not seen", [line, *dots]))
    _hover(drawn, [
        ("connection", "@name @client"), ("as", "@user"), ("on", "@host"), ("from", AT),
        ("to", "@last{%F %T.%3N}"), ("end", "@why"),
    ])  # fmt: skip
    _legend(drawn, glyphs)
    return drawn


def _label(row: Mapping[str, Any]) -> str:
    """A connection's name and the port of its client; of a group, how many they are."""
    return f"{plain(row['connection_name'], 18)} {(row['client'] or '').rpartition(':')[2]}"


def _why(row: Mapping[str, Any]) -> str:
    words = (row["ended"], row["ended_by"], str(row["reply_code"] or ""), row["reason"])
    return " ".join(filter(None, words))
