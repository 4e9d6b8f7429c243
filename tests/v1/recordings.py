"""The recordings of AMQP 1.0 beside the repository, as their oracle tells them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.paths import shared_dir

NAMES = ("amqp10_rabbit", "amqp10_tx")


def recording(name: str) -> list[dict[str, Any]]:
    """What the oracle says of each frame, or a skip where the recordings are not there."""
    shared = shared_dir()
    path = shared / "captures" / "oracle" / f"{name}.frames.json.gz" if shared else None
    if path is None or not path.is_file():
        pytest.skip("the recordings are not beside the repository")
    rows: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return rows
