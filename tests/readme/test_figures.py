"""The figures of the documents are those of bench/figures.json."""

from __future__ import annotations

import copy
import json
import re

import pytest

from scripts import figures
from tests.paths import REPO

FIGURES = json.loads(figures.FILE.read_text(encoding="utf-8"))
#: Pages with measured figures, and those that must show none of their own.
PAGES = (*figures.PAGES, "docs/index.md", "docs/guide/drop-ins.md", "CHANGELOG.md")


@pytest.mark.parametrize("name", figures.ALL_PAGES)
def test_pages_have_the_figures_of_the_file(name: str) -> None:
    page = (REPO / name).read_text(encoding="utf-8")
    assert figures.written(page, FIGURES) == page
    # Markdown takes a comment at the beginning of a line for a block of its own.
    assert not re.search(r"^<!-- (?:figure:|end -->)", page, re.M)


@pytest.mark.parametrize("name", PAGES)
def test_every_ratio_is_a_marked_one(name: str) -> None:
    page = (REPO / name).read_text(encoding="utf-8")
    text = figures.FIGURE.sub("", figures.TABLE.sub("", page))
    assert re.findall(r"\d\s?×|tshark \d|\d times (?:tshark|pamqp|pika|one|the CPU)", text) == []


def test_a_stale_figure_is_seen() -> None:
    changed = copy.deepcopy(FIGURES)
    for row in (figures.CAPTURE, figures.DECODE):
        for peer in changed["rows"][row]:
            changed["rows"][row][peer] *= 2
    for name in figures.PAGES:
        page = (REPO / name).read_text(encoding="utf-8")
        assert figures.written(page, changed) != page


def test_what_a_measurement_changes() -> None:
    changed = copy.deepcopy(FIGURES)
    measurement = {
        "environment": {"python": "3.13.5"},
        "rows": [
            {
                "what": figures.DECODE,
                "ns": {"median": 99.96},
                "against": [{"peer": "pamqp", "ratio": {"median": 40.123}}],
            },
            {
                "what": "construct + encode, W4, the others",
                "ns": {"median": 1.0},
                "against": [{"peer": "msgspec", "ratio": {"median": 2.0}}],
            },
            {"what": "a row without a table", "ns": {"median": 1.0}, "against": []},
            {"what": figures.CAPTURE, "ns": None, "against": []},
        ],
    }
    figures.take(changed, measurement)
    assert changed["rows"][figures.DECODE] == {
        **FIGURES["rows"][figures.DECODE],
        "ns": 100.0,
        "pamqp": 40.12,
    }
    constructed = changed["rows"]["construct + encode, W4"]
    assert constructed == {**FIGURES["rows"]["construct + encode, W4"], "msgspec": 2.0}
    assert changed["rows"].keys() == FIGURES["rows"].keys()
    assert changed["rows_3_11"] == FIGURES["rows_3_11"]


def test_rows_are_those_of_the_benchmark() -> None:
    targets = pytest.importorskip("bench.targets")
    names = {row.what for row in targets.ROWS}
    assert set(FIGURES["rows"]) <= names
    assert set(figures.SAME) <= names


def test_what_a_measurement_of_programs_changes() -> None:
    changed = copy.deepcopy(FIGURES)
    cell = {"stock_us": 50.04, "dropin_us": 25.0, "gain": 2.0, "most": 2.5, "share": 0.8333}
    low = {**cell, "gain": 1.1, "share": 0.151}
    nothing = {**cell, "gain": 1.0, "most": 1.01, "share": None}
    programs = {
        "pika Blocking confirm": cell,
        "Celery publish": low,
        "aio-pika consume": nothing,
    }
    figures.take(changed, {"programs": programs})
    table = dict(figures.tables(changed))["programs"]
    assert "| pika Blocking | confirm | 50.0 | 25.0 | 2.00× | 2.50× | 83 % |" in table
    assert "| Celery | publish | 50.0 | 25.0 | 1.10× | 2.50× | 15 %, missed |" in table
    assert "| aio-pika | consume | 50.0 | 25.0 | 1.00× | 1.01× | nothing to gain |" in table
    assert {**changed, "programs": {}} == {**FIGURES, "programs": {}}
    page = "<!-- figures: programs -->\n<!-- end of figures -->"
    assert table in figures.written(page, changed)


def test_gains_of_programs_are_columns_of_clients() -> None:
    cells = {"py-amqp publish": {"gain": 1.75}, "Celery worker": {"gain": 1.22}}
    assert figures.gains(cells).splitlines() == [
        "| client | publish | worker |",
        "|---|---|---|",
        "| py-amqp | 1.8× |  |",
        "| Celery |  | 1.2× |",
    ]
