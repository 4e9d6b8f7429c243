"""What the type checkers keep from run to run."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def mypy_cache(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    cache: pytest.Cache | None = getattr(request.config, "cache", None)
    return tmp_path if cache is None else cache.mkdir("amqpcodec-mypy")
