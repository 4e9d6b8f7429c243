"""Live tests of sessions: by a thin asyncio client, and by a plain socket."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests import live_broker
from tests.paths import REPO
from tests.support import asyncio_shell

BROKER = REPO / "scripts" / "broker.py"


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


def ctl(*arguments: str, **environment: str) -> str:
    """Run rabbitmqctl; what it prints."""
    process = subprocess.run(
        [sys.executable, str(BROKER), "ctl", "--", "-q", *arguments],
        timeout=40,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture
def rabbitmqctl() -> Callable[..., str]:
    """Administration; skips if scripts/broker.py has no such broker."""
    if "AMQPCODEC_BROKER_DIR" not in os.environ:
        pytest.skip("AMQPCODEC_BROKER_DIR is not set: not a broker of scripts/broker.py")
    return ctl
