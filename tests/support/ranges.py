"""What is asked of a store."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec.capture._ranges import RangeFile


def asked_ranges(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Start and size in bytes of each range that any file asks for from now on."""
    requested_ranges: list[tuple[int, int]] = []

    def load(*arguments: Any, plain: Any = RangeFile._load) -> None:
        requested_ranges.append(arguments[1:3])
        plain(*arguments)

    monkeypatch.setattr(RangeFile, "_load", load)
    return requested_ranges
