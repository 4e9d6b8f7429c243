"""Columns of the table and the width of a terminal."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from hypothesis import given
from hypothesis import strategies as st

from amqpcodec.cli import table


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


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(90, 300))
def test_all_fits(widths: list[int], width: int) -> None:
    fitted = table.fitted(widths, width)
    assert sum(fitted) + 2 * (len(fitted) - 1) <= width
    assert all(0 < have <= want for have, want in zip(fitted, widths, strict=True))
