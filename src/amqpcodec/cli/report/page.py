"""The page: figures, tables and what they need, all in one file."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template
from typing import Any

import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs

from .charts import safe

__all__ = ["page", "table"]

#: What the reader of a page can do: zoom by mouse and finger, no button that leads elsewhere.
CONFIG = {
    "displaylogo": False,
    # plotly's own button would upload what is shown.
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "scrollZoom": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table. Numbers stand at the right."""
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        cells = "".join(
            f'<td class="n">{value:,}</td>' if isinstance(value, int | float) else
            f"<td>{safe(value)}</td>"
            for value in row
        )  # fmt: skip
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def page(
    title: str,
    subtitle: str,
    cards: Sequence[tuple[str, str]],
    figures: Sequence[tuple[str, str, str, go.Figure]],
    tables: Sequence[tuple[str, str]],
) -> str:
    """The whole page. subtitle: a line below the title. tables: (title, HTML)."""
    parts = []
    for name, heading, what, figure in figures:
        drawn = plotly.io.to_html(
            figure, config=CONFIG, include_plotlyjs=False, full_html=False, div_id=name
        )
        parts.append(
            f"<section><h2>{safe(heading)}</h2><p>{html.escape(what)}</p>{drawn}</section>"
        )
    for heading, listed in tables:
        parts.append(f"<section><h2>{safe(heading)}</h2>{listed}</section>")
    shown = "".join(
        f"<div><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>"
        for name, value in cards
    )
    template = Template(resources.files(__package__).joinpath("page.html").read_text("utf-8"))
    return template.substitute(
        title=safe(title),
        subtitle=safe(subtitle, 2000),
        cards=shown,
        body="\n".join(parts) or "<p>There is nothing to show: no frame was read.</p>",
        plotly=get_plotlyjs(),
    )
