"""`pytest bench`: the cells of the table through pytest-benchmark."""

import pytest

from bench.measure import pin, settle_heap


@pytest.fixture(scope="session", autouse=True)
def _one_core() -> None:
    pin()
    settle_heap()
