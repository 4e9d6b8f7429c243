"""The fixtures of the plugin, whether it is installed as one or not."""

from __future__ import annotations

import pytest

from amqpcodec._pytest import amqp_broker, amqp_broker_session
from amqpcodec.testing import Broker
from tests.testing.talk import Talk

__all__ = ["amqp_broker", "amqp_broker_session"]


@pytest.fixture
def talk(amqp_broker: Broker):
    """Connects to the broker of the test: a function."""
    talks = []

    def connect(**options):
        talks.append(Talk((amqp_broker.host, amqp_broker.port), **options))
        return talks[-1]

    yield connect
    for one in talks:
        one.line.close()
