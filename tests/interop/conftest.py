"""Live tests: they run when AMQPCODEC_BROKER=HOST:PORT names a RabbitMQ (scripts/broker.py run)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import live_broker
from tests.interop.client import Client


@pytest.fixture(scope="session", autouse=True)
def broker() -> tuple[str, int]:
    """The broker's address."""
    return live_broker.address()


@pytest.fixture
def connect(broker: tuple[str, int]) -> Iterator[Callable[..., Client]]:
    """Make clients, open unless handshake=False; afterwards each must re-encode what it got."""
    clients: list[Client] = []

    def make(*, handshake: dict[str, Any] | bool = True, **options: Any) -> Client:
        client = Client(broker, **options)
        clients.append(client)
        if handshake is not False:
            client.handshake(**(handshake if isinstance(handshake, dict) else {}))
        return client

    yield make
    problems = []
    for client in clients:
        try:
            client.finish()
        except (AssertionError, OSError, EOFError, ValueError) as error:
            problems.append(f"{type(error).__name__}: {error}")
    assert not problems, "\n".join(problems)


@pytest.fixture(params=["frames", "messages"])
def client(connect: Callable[..., Client], request: pytest.FixtureRequest) -> Client:
    """A connection with channel 1 open, once through each decoder."""
    connection = connect(as_messages=request.param == "messages")
    connection.open_channel(1)
    return connection


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Names that no other test and no other run uses."""
    return lambda what: f"amqpcodec.{what}.{uuid.uuid4().hex[:12]}"


@pytest.fixture
def rabbitmqctl(broker: tuple[str, int]) -> Callable[..., str]:
    """Administration."""
    return live_broker.rabbitmqctl
