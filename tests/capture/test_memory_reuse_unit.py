"""What a reader gave is not held by it while it makes the next: that can have its memory then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec.capture._chain import Chain
from scripts import looped
from tests.paths import REPO

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


class Core:
    """The core of a reader that counts the references to a batch as it makes the next."""

    def __init__(self, core: Any, kept: list[Any], counts: list[int]) -> None:
        self._core, self._kept, self._counts = core, kept, counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def take(self, *arguments: Any) -> Any:
        if self._kept:
            self._counts.append(sys.getrefcount(self._kept[0]))
        return self._core.take(*arguments)


def test_a_batch_is_let_go_of_before_the_next_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept: list[Any] = []
    counts: list[int] = []
    stock = Chain.read

    def read(chain: Chain, *arguments: Any) -> Any:
        chain.core = Core(chain.core, kept, counts)  # type: ignore[assignment]
        return stock(chain, *arguments)

    monkeypatch.setattr(Chain, "read", read)
    path = tmp_path / "long.pcap"
    looped.write(RECORDING, path, 1 << 20, 2, 0)
    for batch in capture.read(path, batch_rows=200):
        kept[:] = [batch]
        del batch
    assert len(counts) > 3
    assert set(counts) == {2}  # the list, and the argument of getrefcount
