"""The RabbitMQ that these tests talk to."""

from __future__ import annotations

import uuid

import pytest

from tests import live_broker


@pytest.fixture
def url():
    host, port = live_broker.address()
    return f"amqp://guest:guest@{host}:{port}/%2F"


@pytest.fixture
def unique():
    """A name that no other test and no other run uses."""
    return f"amqpcodec.aio.{uuid.uuid4().hex[:12]}"
