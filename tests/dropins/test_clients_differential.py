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
    found = run(package, CASES, seed=0, most=10)
    assert not found.differences, "\n".join(str(each) for each in found.differences)
    assert found.cases == CASES
    assert found.calls > CASES / 4  # the codec did it, not a way round it
    assert CASES * 0.15 < found.raised.total() < CASES * 0.75  # good and bad ones, both in earnest
