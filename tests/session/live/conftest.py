"""Live tests of sessions: by a thin asyncio client, and by a plain socket."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests import live_broker
from tests.support import asyncio_shell


@pytest.fixture(scope="session")
def broker() -> tuple[str, int]:
    """Where the broker listens."""
    return live_broker.address()


@pytest.fixture
def url(broker: tuple[str, int]) -> str:
    """The same for the client."""
    return f"amqp://guest:guest@{broker[0]}:{broker[1]}/%2F"


@pytest.fixture
def unique() -> str:
    """A name that no other test and no other run uses."""
    return f"amqpcodec.session.{uuid.uuid4().hex[:12]}"


@pytest.fixture
def live(url: str) -> Callable[..., Any]:
    """Run a coroutine function with an open client; what it returns."""

    def run(work: Callable[[Any], Awaitable[Any]], seconds: float = 30, **options: Any) -> Any:
        async def connect_and_work() -> Any:
            async with await asyncio_shell.connect(url, **options) as client:
                return await asyncio.wait_for(work(client), seconds)

        return asyncio.run(connect_and_work())

    return run


@pytest.fixture
def rabbitmqctl() -> Callable[..., str]:
    """Administration."""
    return live_broker.rabbitmqctl
