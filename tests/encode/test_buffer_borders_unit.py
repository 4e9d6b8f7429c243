"""batch.encode writes the same at every distance from the end of its memory."""

from __future__ import annotations

import pytest

from tests.support.borders import check
from tests.support.borders_encode import BATCHES, ROWS, batches

#: Capacities of the scratch block, and bytes of all messages of a batch beside the filler.
SCRATCH = (1024, 2048, 4096)
REACH = {"rows": 1000, "blocks": 400, "v1-rows": 900}


@pytest.mark.parametrize("name", ROWS)
def test_one_row_at_every_length(name: str) -> None:
    check(ROWS[name], SCRATCH)


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("capacity", [1024, 2048])
def test_the_rows_after_at_every_length(name: str, capacity: int) -> None:
    for length, values, expected in batches(
        name, iter(range(capacity - REACH[name], capacity + 8))
    ):
        assert values == expected, length
