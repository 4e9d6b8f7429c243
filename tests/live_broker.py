"""The broker that live tests talk to."""

from __future__ import annotations

import os

import pytest


def address(listener: str = "") -> tuple[str, int]:
    """Host and port of the RabbitMQ that AMQPCODEC_BROKER names, or a skip where it names none.

    listener: "_STREAM" for that of the stream protocol.
    """
    variable = f"AMQPCODEC_BROKER{listener}"
    host_and_port = os.environ.get(variable)
    if not host_and_port:
        pytest.skip(f"{variable} is not set: use scripts/broker.py run -- CMD")
    host, _, port = host_and_port.rpartition(":")
    return host, int(port)
