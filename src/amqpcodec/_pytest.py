"""The plugin of pytest: a broker for each test, and one for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Broker

__all__ = ["amqp_broker", "amqp_broker_session"]


@pytest.fixture
def amqp_broker() -> Iterator[Broker]:
    """A fresh broker for tests: ``amqp_broker.url`` is where clients connect."""
    from .testing import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def amqp_broker_session() -> Iterator[Broker]:
    """One broker for all tests; ``amqp_broker_session.reset()`` makes it as new."""
    from .testing import Broker

    with Broker() as broker:
        yield broker
