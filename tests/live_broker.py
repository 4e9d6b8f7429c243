"""The broker that live tests talk to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.paths import REPO


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


def rabbitmqctl(*arguments: str, **environment: str) -> str:
    """What rabbitmqctl prints; a skip where the broker is not one of scripts/broker.py."""
    if "AMQPCODEC_BROKER_DIR" not in os.environ:
        pytest.skip("AMQPCODEC_BROKER_DIR is not set: not a broker of scripts/broker.py")
    process = subprocess.run(
        [sys.executable, str(REPO / "scripts" / "broker.py"), "ctl", "--", "-q", *arguments],
        timeout=200,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout
