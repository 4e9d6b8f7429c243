"""The page of events names all events, columns and values that there are."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from amqpcodec import _capture, capture
from tests.paths import REPO

PAGE = (REPO / "docs" / "guide" / "events.md").read_text(encoding="utf-8")


def rows_of(heading: str) -> list[list[str]]:
    """Cells of the table after its first row."""
    table = PAGE.split(heading)[1].split("\n\n")[0]
    return [line.strip("|").split(" | ") for line in table.splitlines()[2:]]


def first_cells(heading: str) -> list[str]:
    return [re.findall(r"`([\w-]+)`", cells[0])[0] for cells in rows_of(heading)]


def test_every_event_has_its_row() -> None:
    events = first_cells("| `event` | 0-8, 0-9 and 0-9-1 | AMQP 1.0 |")
    assert events == _capture.event_values()["event"]


def test_each_row_says_something_of_both_families() -> None:
    for cells in rows_of("| `event` | 0-8, 0-9 and 0-9-1 | AMQP 1.0 |"):
        assert len(cells) == 3
        assert all(cell.strip() for cell in cells)


def test_every_column_is_on_the_page() -> None:
    names = pa.schema(capture.schema("event")).names
    shared = re.findall(r"`(\w+)`", PAGE.split("## Columns")[1].split("are those of")[0])
    assert shared == names[: len(shared)]
    assert first_cells("| column | what it holds |") == [
        "time_us",
        "client",
        *[name for name in names[len(shared) :] if name not in ("time_us", "client")],
    ]


def test_values_are_on_the_page() -> None:
    for column, values in _capture.event_values().items():
        if column not in ("event", "certainty"):
            cells = next(
                row[1] for row in rows_of("| column | what it holds |") if f"`{column}`" in row[0]
            )
            assert re.findall(r'"([\w-]+)"', cells) == values, column
    assert first_cells("| `certainty` | what it means |") == _capture.event_values()["certainty"]


def test_a_column_that_no_code_fills_is_refused() -> None:
    columns = (("event_id", "u", False),)
    with pytest.raises(ImportError, match="no code fills the column 'event_id' of events as 'u'"):
        _capture.check_event_columns(columns)
