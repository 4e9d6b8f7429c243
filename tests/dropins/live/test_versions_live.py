"""A round trip by the oldest and the newest version of each client, without and with its drop-in.

AMQPCODEC_ALL_VERSIONS=1 takes all versions that `python -m tests.dropins.versions fetch` installed.
"""

from __future__ import annotations

import os

import pytest

from tests.dropins.live.round_trip import CLIENTS
from tests.dropins.versions import all_versions, ends, folder, python

VERSIONS = all_versions() if os.environ.get("AMQPCODEC_ALL_VERSIONS") else ends()


@pytest.mark.parametrize(("client", "version"), [one for one in VERSIONS if one[0] in CLIENTS])
def test_a_version_gives_the_same(broker: tuple[str, int], client: str, version: str) -> None:
    if not folder(client, version).is_dir():
        pytest.skip(f"{client} {version} is not there: python -m tests.dropins.versions fetch")
    host, port = broker
    process = python(
        client, version, "-m", "tests.dropins.live.round_trip", client, host, str(port)
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.startswith(f"{client} {version}: ")
