"""The page: figures, tables and what they need, all in one file."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import resources
from string import Template
from typing import Any, cast

from bokeh.embed import json_item
from bokeh.plotting import figure
from bokeh.resources import INLINE

from .charts import safe

__all__ = ["findings", "page", "shown", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table. Numbers stand at the right."""
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        cells = "".join(
            f'<td class="n">{value:,}</td>' if _is_number(value) else
            f"<td>{safe(shown(value))}</td>"
            for value in row
        )  # fmt: skip
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def findings(rows: Sequence[tuple[int, Sequence[str], str]]) -> str:
    """An HTML list of (severity, sentences, command)."""
    if not rows:
        return "<p>Nothing was found of what diagnose looks for.</p>"
    items = []
    for severity, (head, *others), command in rows:
        lines = "".join(f"<div>{safe(line, 2000)}</div>" for line in others)
        items.append(
            f'<li class="s{severity}"><b>{safe(head)}</b>{lines}<code>{safe(command)}</code></li>'
        )
    return f'<ul class="findings">{"".join(items)}</ul>'


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: Any) -> Any:
    """Times to the millisecond, in UTC as all of the page."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03}"
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


def _section(heading: str, inner: str) -> str:
    return f"<section><h2>{safe(heading)}</h2>{inner}</section>"


def page(
    title: str,
    subtitle: str,
    cards: Sequence[tuple[str, str]],
    first: Sequence[tuple[str, str]],
    figures: Sequence[tuple[str, str, str, figure]],
    tables: Sequence[tuple[str, str]],
) -> str:
    """The whole page. subtitle: a line below the title. first, tables: (title, HTML), before
    the figures and after them."""
    parts = [_section(*entry) for entry in first]
    for name, heading, what, drawn in figures:
        # It may hold text of the wire: nothing in it ends the element.
        data = json.dumps(json_item(drawn, cast("Any", name))).replace("<", "\\u003c")
        parts.append(
            f"<section><h2>{safe(heading)}</h2><p>{html.escape(what)}</p>"
            f'<div class="figure" id="{name}"></div>'
            f'<script type="application/json">{data}</script></section>'
        )
    parts += [_section(*entry) for entry in tables]
    shown = "".join(
        f"<div><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>"
        for name, value in cards
    )
    library, *_ = INLINE.clone(components=["bokeh"]).js_raw
    template = Template(resources.files(__package__).joinpath("page.html").read_text("utf-8"))
    return template.substitute(
        title=safe(title),
        subtitle=safe(subtitle, 2000),
        cards=shown,
        body="\n".join(parts) or "<p>There is nothing to show: no frame was read.</p>",
        bokeh=base64.b64encode(gzip.compress(library.encode(), 9, mtime=0)).decode(),
    )
