"""Recordings for tests of the questions, and what these answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import analysis
from tests.support.event_talk import write

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """The rows of a question about packets, without columns that are null."""
    pytest.importorskip("duckdb")

    def ask_packets(name: str, talk: Iterable[Any], **options: Any) -> list[dict[str, Any]]:
        table = getattr(analysis, name)(write(tmp_path / "talk.pcap", talk), **options)
        return [
            {key: value for key, value in row.items() if value is not None}
            for row in table.to_pylist()
        ]

    return ask_packets
