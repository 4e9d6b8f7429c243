"""A round trip by the oldest and the newest version of each client, without and with its drop-in.

AMQPCODEC_ALL_VERSIONS=1 takes all versions that `python -m tests.dropins.versions fetch` installed.

The peer of Azure's clients is python-qpid-proton. RabbitMQ 3.10 cannot be: it refuses the long form
of a boolean, in which they write `role`, and its flow has no delivery-count, on which they detach.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests import live_broker
from tests.dropins.live.relay import relay
from tests.dropins.live.round_trip import CLIENTS
from tests.dropins.versions import all_versions, ends, folder, python

VERSIONS = all_versions() if os.environ.get("AMQPCODEC_ALL_VERSIONS") else ends()


AZURE = ("azure-eventhub", "azure-servicebus")
OTHERS = [client for client in CLIENTS if client not in AZURE]


@pytest.fixture(scope="module")
def proton() -> Iterator[tuple[str, int]]:
    """Where a broker of proton's listens, which writes all fields of its performatives."""
    pytest.importorskip("proton")
    from tests.v1.live.proton_broker import Running

    running = Running()
    with relay(running.address) as address:
        yield address
    running.stop()


def _round_trip(client: str, version: str, address: tuple[str, int]) -> None:
    if not folder(client, version).is_dir():
        pytest.skip(f"{client} {version} is not there: python -m tests.dropins.versions fetch")
    host, port = address
    process = python(
        client, version, "-m", "tests.dropins.live.round_trip", client, host, str(port)
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.startswith(f"{client} {version}: ")


@pytest.mark.parametrize(("client", "version"), [one for one in VERSIONS if one[0] in OTHERS])
def test_a_version_gives_the_same(client: str, version: str) -> None:
    is_stream = client == "rstream"
    _round_trip(client, version, live_broker.address("_STREAM" if is_stream else ""))


@pytest.mark.parametrize(("client", "version"), [one for one in VERSIONS if one[0] in AZURE])
def test_a_version_of_azure_gives_the_same(
    proton: tuple[str, int], client: str, version: str
) -> None:
    _round_trip(client, version, proton)
