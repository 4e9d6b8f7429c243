"""Stock client and drop-in give the same for the same bytes and the same values.

A few thousand cases each; `python -m tests.dropins.fuzz --cases 1000000` runs as many as wanted.
"""

from __future__ import annotations

import pytest

from tests.dropins.case import run
from tests.dropins.conftest import need

CASES = 4000


@pytest.mark.parametrize("package", ["pamqp", "pika", "amqp"])
def test_same_value_or_same_exception(package: str) -> None:
    need(package)
    totals = run(package, CASES, seed=0, most=10)
    assert not totals.differences, "\n".join(str(difference) for difference in totals.differences)
    assert totals.cases == CASES
    assert totals.calls > CASES / 4  # the codec did it, not a way round it
    assert CASES * 0.15 < totals.raised.total() < CASES * 0.75  # good and bad ones, both in earnest
