"""The page of questions names every question and column that there is."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

pytest.importorskip("duckdb")

from amqpcodec import analysis, capture
from amqpcodec.analysis import _duckdb, _questions
from tests.paths import REPO

PAGE = (REPO / "docs" / "guide" / "analysis.md").read_text(encoding="utf-8")


def test_every_question_has_its_section_in_the_order_of_the_functions() -> None:
    assert re.findall(r"^### (\w+)$", PAGE, re.M) == list(_questions.NAMES)


@pytest.mark.parametrize("name", _questions.NAMES)
def test_every_column_is_in_its_table(name: str) -> None:
    section = PAGE.split(f"\n### {name}\n")[1].split("\n### ")[0]
    first_cells = re.findall(r"^\|([^|]*)\|", section, re.M)
    events = pa.schema(capture.schema("event"))
    answer = _duckdb.run(analysis.query(name), [], events)
    assert sorted(re.findall(r"`(\w+)`", "\n".join(first_cells))) == sorted(answer.schema.names)


def test_the_size_that_goes_to_a_file() -> None:
    assert f"({_duckdb.MEMORY_BYTES >> 20} MiB)" in PAGE
    assert f"{_duckdb.MEMORY_BYTES >> 20} MiB" in (analysis.sql.__doc__ or "")
