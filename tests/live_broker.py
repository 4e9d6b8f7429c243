"""The broker that live tests talk to."""

from __future__ import annotations

import os

import pytest


def address() -> tuple[str, int]:
    """Host and port of the RabbitMQ that AMQPCODEC_BROKER names, or a skip where it names none."""
    host_and_port = os.environ.get("AMQPCODEC_BROKER")
    if not host_and_port:
        pytest.skip("AMQPCODEC_BROKER is not set: use scripts/broker.py run -- CMD")
    host, _, port = host_and_port.rpartition(":")
    return host, int(port)
