"""Recordings for tests of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_talk import events, write

Read = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The events of packets."""

    def read_packets(talk: Iterable[Any], **options: Any) -> list[dict[str, Any]]:
        return events(write(tmp_path / "talk.pcap", talk), **options)

    return read_packets
