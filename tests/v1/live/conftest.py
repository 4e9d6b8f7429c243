"""Live tests of AMQP 1.0; those against RabbitMQ where AMQPCODEC_BROKER names one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from amqpcodec import v1_0 as amqp
from tests import live_broker
from tests.v1.live.client import Client


@pytest.fixture(scope="session")
def rabbitmq() -> tuple[str, int]:
    """The broker's address."""
    return live_broker.address()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Names that no other test and no other run uses."""
    return lambda what: f"amqpcodec.{what}.{uuid.uuid4().hex[:12]}"


@pytest.fixture
def client(rabbitmq: tuple[str, int]) -> Iterator[Client]:
    """A connection with session 0 begun."""
    connection = Client(rabbitmq)
    assert connection.sasl("PLAIN", b"\0guest\0guest") == amqp.SaslCode.OK
    connection.open()
    connection.begin(0)
    yield connection
    connection.close()
