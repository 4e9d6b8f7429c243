"""How objects and batches show themselves in a notebook: escaped, bounded, without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["fields_html", "rows_html"]

#: Rows and characters of a value that are shown.
ROWS = 20
CHARACTERS = 120
FIELD_CHARACTERS = 2000

#: Names under which JSON text may hold a credential, as captures hide them.
_SECRET = re.compile("response|passw(or)?d|secret|token|credential|authorization", re.IGNORECASE)


def fields_html(name: str, fields: Iterable[tuple[str, str]]) -> str:
    """An object: its type, and a row for each (field, repr). A repr hides credentials."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(field)}</th>"
        "<td style='text-align:left'><code>"
        f"{escape(_clip(text, FIELD_CHARACTERS))}</code></td></tr>"
        for field, text in fields
    )
    return f"<table><caption>{escape(name)}</caption>{rows}</table>"


def rows_html(name: str, batch: Any) -> str:
    """A batch: its first rows where pyarrow is there, else what it has.

    Of binary columns the sizes are shown, of which nobody knows what is in them.
    """
    count = len(batch)
    try:
        import pyarrow as pa
    except ImportError:
        return f"<p>{escape(name)}: {count} rows of {escape(', '.join(batch.names))}</p>"
    first = pa.record_batch(batch).slice(0, ROWS)
    head = "".join(f"<th>{escape(column)}</th>" for column in first.schema.names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(*cell))}</td>" for cell in row.items()) + "</tr>"
        for row in first.to_pylist()
    )
    more = f", the first {ROWS} of them shown" if count > ROWS else ""
    return (
        f"<table><caption>{escape(name)}: {count} rows{more}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(column: str, value: Any) -> str:
    """What a row shows of a column."""
    return "***" if value is not None and _SECRET.search(column) else _shown(value)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, str) and value[:1] in ("{", "[") and _SECRET.search(value):
        value = _without_secrets(value)
    elif isinstance(value, dict):
        members = (f"{key}={_shown(member)}" for key, member in value.items() if member is not None)
        value = ", ".join(members)
    elif isinstance(value, list):
        value = ", ".join(map(_shown, value))
    return _clip(str(value), CHARACTERS)


def _without_secrets(text: str) -> str:
    """JSON text of an object with asterisks for credentials; text that is no JSON becomes three."""

    def hidden(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: "***" if _SECRET.search(key) else value for key, value in pairs}

    try:
        redacted = json.loads(text, object_pairs_hook=hidden)
    except (ValueError, RecursionError):
        return "***"
    return json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
