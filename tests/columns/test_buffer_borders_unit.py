"""Rows say the same at every distance from the end of the memory of their columns."""

from __future__ import annotations

import pytest

from tests.support.borders_columns import CAPACITIES, CASES

#: Bytes of a row that are moved over the end; no multiple of a word, so that all places come.
REACH, STEP = 420, 3


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_same_rows_at_every_length(name: str) -> None:
    rows = CASES[name]
    for number, capacity in enumerate(CAPACITIES):
        for length in range(capacity - REACH + number, capacity + STEP, STEP):
            rows.check(length)
