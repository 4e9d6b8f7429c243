"""Live tests: they run when AMQPCODEC_BROKER=HOST:PORT names a RabbitMQ (scripts/broker.py run)."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import live_broker
from tests.interop.client import Client

BROKER = Path(__file__).resolve().parents[2] / "scripts" / "broker.py"


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
    """Administration, returning what it prints; skips if scripts/broker.py has no such broker."""
    if "AMQPCODEC_BROKER_DIR" not in os.environ:
        pytest.skip("AMQPCODEC_BROKER_DIR is not set: not a broker of scripts/broker.py")

    def run(*arguments: str) -> str:
        command = [sys.executable, str(BROKER), "ctl", "--", "-q", *arguments]
        process = subprocess.run(
            command, timeout=40, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    return run
