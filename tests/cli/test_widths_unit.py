"""Columns of the table and the width of a terminal."""

from __future__ import annotations

import io
import re

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from amqpcodec.cli import table
from amqpcodec.cli.times import Clock


@pytest.mark.parametrize(
    ("widths", "width", "expected"),
    [
        ([15, 4, 20], 100, [15, 4, 20]),  # room to spare
        ([15, 4, 200], 60, [15, 4, 37]),  # the last one takes what is left
        ([15, 4, 200], 35, [15, 4, 12]),
        ([15, 4, 200], 30, [10, 4, 12]),  # then the widest
        ([15, 4, 5], 20, [7, 4, 5]),
        ([15, 4, 200], 10, [6, 4, 12]),  # no terminal is that narrow
        ([200], 50, [50]),
    ],
)
def test_who_gives_way(widths: list[int], width: int, expected: list[int]) -> None:
    assert table.fitted(widths, width) == expected


def test_firm_columns_give_way_last() -> None:
    assert table.fitted([15, 20, 20, 40], 66, firm=[0]) == [15, 11, 12, 22]
    assert table.fitted([15, 20, 20, 40], 40, firm=[0]) == [10, 6, 6, 12]
    assert table.fitted([15, 30, 20], 50, firm=[2]) == [13, 13, 20]


def test_columns_keep_their_heads_while_others_have_more() -> None:
    assert table.fitted([11, 40, 40, 8], 60, enough=[11, 9, 10, 7]) == [11, 17, 18, 8]
    assert table.fitted([11, 40, 40, 8], 45, enough=[11, 9, 10, 7]) == [11, 10, 10, 8]
    assert table.fitted([11, 40, 40, 8], 40, enough=[11, 9, 10, 7]) == [8, 9, 9, 8]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["short"], ["short"]),
        (["orders.europe.created"], ["orde…eated"]),
        (["orders.europe-1", "orders.asia-1"], ["orde…ope-1", "orde…sia-1"]),
        (["a.long.name.x1", "b.long.name.x1", "c.long.name.x1"], None),
        (["aa.long.name.of.one.x", "ab.long.name.of.one.x", "ab.long.name.of.two.y"], None),
        (["long.name.number.000017", "long.name.number.100017", "long.name.number.200017"], None),
        (["\u4e2d\u6587\u961f\u5217\u540d\u79f0\u4e00", "\u4e2d\u6587"], None),
    ],
)
def test_names_are_shortened_where_they_are_alike(texts: list[str], expected: object) -> None:
    head = table.best_head(texts, 10)
    short = [text if cell_len(text) <= 10 else table.shortened(text, 10, head) for text in texts]
    assert expected is None or short == expected
    assert len(set(short)) == len(texts)
    assert all(cell_len(text) <= 10 for text in short)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("queue", "columns"), [("jobs", 65), ("a.queue.with.a.longer.name", 75)])
def test_what_no_row_has_keeps_no_other_column(monkeypatch, queue: str, columns: int) -> None:
    """An essential column that is not there shortens nothing: a column that may go does."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    row = {"event": "delivered", "routing_key": "k", "queue": queue, "delivery_tag": 1}
    batch = pa.RecordBatch.from_pylist([{**row, "redelivered": False, "body_size": 7}])
    out = Terminal()
    optional = ("delivery_tag", "redelivered", "body_size", "message_id")
    table.Table(out, Clock(), lines=0, optional=optional, essential=("message_id",)).write(batch)
    note, head, *_ = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert note.startswith("no room for delivery_tag: ")
    assert "…" not in head


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(90, 300))
def test_all_fits(widths: list[int], width: int) -> None:
    fitted = table.fitted(widths, width)
    assert sum(fitted) + 2 * (len(fitted) - 1) <= width
    assert all(0 < have <= want for have, want in zip(fitted, widths, strict=True))
